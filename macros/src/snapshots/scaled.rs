#[allow(unused_variables)]
fn scaled<T: Float, const N: usize>(x: &Tensor<T, 1>, at: usize) -> T {
    ::core::panic!("`scaled` takes tensors: it can be called in kernels alone")
}
#[allow(non_camel_case_types)]
#[doc(hidden)]
struct scaled {}
unsafe impl ::quadrants::__private::body::Func for scaled {}
impl scaled {
    #[allow(unused, clippy::too_many_arguments)]
    #[doc(hidden)]
    #[inline(always)]
    pub fn __call_with<
        T: Float,
        const N: usize,
        const __CHECKED: ::core::primitive::bool,
    >(
        _: ::quadrants::__private::body::BodyForm<__CHECKED>,
        x: <Tensor<T, 1> as ::quadrants::__private::body::TensorParam>::View<__CHECKED>,
        at: usize,
    ) -> T {
        Self::__call::<T, N, __CHECKED>(x, at)
    }
    #[allow(
        deprecated,
        nonstandard_style,
        path_statements,
        trivial_casts,
        trivial_numeric_casts,
        unreachable_code,
        unused_braces,
        unused_comparisons,
        unused_labels,
        unused_must_use,
        unused_mut,
        unused_parens,
        unused_qualifications,
        unused_unsafe,
        clippy::all,
        clippy::pedantic
    )]
    #[allow(dead_code, private_interfaces)]
    #[doc(hidden)]
    #[inline(always)]
    pub fn __call<T: Float, const N: usize, const __CHECKED: ::core::primitive::bool>(
        mut x: <Tensor<
            T,
            1,
        > as ::quadrants::__private::body::TensorParam>::View<__CHECKED>,
        mut at: usize,
    ) -> T {
        const __OK: ::core::primitive::bool = true;
        {
            ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(
                <half>::__call_with::<T, _>,
            )(
                ::quadrants::__private::body::BodyForm::<__CHECKED>,
                ::quadrants::__private::body::Elements::element_ref(&x, at).read(),
            ) * <T as ::quadrants::__private::body::Number>::from_usize(N)
        }
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub fn __callee<T: Float, const N: usize>() -> ::quadrants::__private::body::Callee {
        ::quadrants::__private::body::Callee::Func({
            struct __Of<T, const N: usize>(::core::marker::PhantomData<(T,)>);
            impl<T: Float, const N: usize> __Of<T, N> {
                const __PROBED: (
                    [::quadrants::__private::ir::types::Type; 3usize],
                    [fn() -> ::quadrants::__private::body::Callee; 1usize],
                ) = {
                    #[allow(unused_imports)]
                    use ::quadrants::__private::body::in_scope::*;
                    let __func0 = &::quadrants::__private::body::Probe::new();
                    #[allow(
                        unused_unsafe,
                        unused_variables,
                        unused_assignments,
                        unused_qualifications,
                        clippy::no_effect,
                        clippy::unit_arg,
                        clippy::unnecessary_operation
                    )]
                    let _ = |x: &Tensor<T, 1>, at: usize| -> T {
                        __func0.pass(half::<T>)(x[at]) * T::from_usize(N)
                    };
                    (
                        [
                            <T as ::quadrants::__private::KernelValue>::LAYOUT,
                            ::quadrants::__private::body::number_type::<T>(),
                            <::core::primitive::usize as ::quadrants::__private::KernelValue>::LAYOUT,
                        ],
                        [
                            {
                                let () = <half as ::quadrants::__private::body::Func>::IS;
                                <half>::__callee_of::<T, _>(__func0)
                            },
                        ],
                    )
                };
                const __TYPES: [::quadrants::__private::ir::types::Type; 3usize] = Self::__PROBED
                    .0;
                const __PARAMS: [::quadrants::__private::ir::types::ParamType; 2usize] = [
                    ::quadrants::__private::body::tensor_type::<Tensor<T, 1>>(false),
                    ::quadrants::__private::body::value_type::<usize>(),
                ];
                const __SOURCE: &'static ::quadrants::__private::frontend::Source = &::quadrants::__private::frontend::Source {
                    file: ::core::file!(),
                    tree: b"...",
                    params: || Self::__PARAMS.to_vec(),
                    types: || Self::__TYPES.to_vec(),
                    funcs: &[Self::__PROBED.1[0usize]],
                    consts: &[|| ::quadrants::__private::constant(N)],
                };
            }
            const __OK: ::core::primitive::bool = true;
            __Of::<T, N>::__SOURCE
        })
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __callee_of<
        T: Float,
        const N: usize,
        __F: ::core::ops::Fn(&Tensor<T, 1>, usize) -> T,
    >(
        _: &::quadrants::__private::body::Probe<__F>,
    ) -> fn() -> ::quadrants::__private::body::Callee {
        Self::__callee::<T, N>
    }
}
