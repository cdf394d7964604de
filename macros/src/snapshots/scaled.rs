#[allow(unused_variables)]
fn scaled<T: Float, const N: usize>(x: &Tensor<T, 1>, at: usize) -> T {
    ::quadrants::__private::core::panic!(
        "`scaled` takes tensors: it can be called in kernels only"
    )
}
#[allow(non_camel_case_types)]
#[doc(hidden)]
struct scaled {}
unsafe impl ::quadrants::__private::body::Func for scaled {}
#[allow(non_camel_case_types)]
#[doc(hidden)]
struct __sites_of_scaled<T, const N: usize>(
    ::quadrants::__private::core::marker::PhantomData<(T,)>,
);
impl<T: Float, const N: usize> ::quadrants::__private::body::SiteTable
for __sites_of_scaled<T, N> {
    const IDENTITIES: &'static [&'static ::quadrants::__private::body::Identity] = <scaled>::__found::<
        T,
        N,
    >()
        .1;
}
impl scaled {
    #[allow(unused, clippy::too_many_arguments)]
    #[doc(hidden)]
    #[inline(always)]
    pub fn __call_at<
        T: Float,
        const N: usize,
        __Sites: ::quadrants::__private::body::SiteTable,
        const __SITE: ::quadrants::__private::core::primitive::usize,
        const __CHECKED: ::quadrants::__private::core::primitive::bool,
        __F: ::quadrants::__private::core::ops::Fn(&Tensor<T, 1>, usize) -> T,
    >(
        _: ::quadrants::__private::body::CallSite<__Sites, __SITE, __CHECKED, __F>,
        x: <Tensor<T, 1> as ::quadrants::__private::body::TensorParam>::View<__CHECKED>,
        at: usize,
    ) -> T {
        const {
            ::quadrants::__private::body::check_site::<
                __Sites,
                __SITE,
            >(Self::__types::<T, N>())
        }
        Self::__call::<T, N, __CHECKED>(x, at)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __types<T: Float, const N: usize>() -> &'static ::quadrants::__private::body::Identity {
        const {
            &::quadrants::__private::body::Identity {
                name: "func",
                parts: &[
                    ::quadrants::__private::body::Part::Type(
                        <Tensor<
                            T,
                            1,
                        > as ::quadrants::__private::body::TensorParam>::TYPE_IDENTITY,
                    ),
                    ::quadrants::__private::body::Part::Type(
                        <usize as ::quadrants::__private::KernelValue>::TYPE_IDENTITY,
                    ),
                    ::quadrants::__private::body::Part::Type(
                        <T as ::quadrants::__private::body::FuncResult>::RESULT_IDENTITY,
                    ),
                    ::quadrants::__private::body::Part::Number(
                        N as ::quadrants::__private::core::primitive::u128,
                    ),
                ],
            }
        }
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
    pub fn __call<
        T: Float,
        const N: usize,
        const __CHECKED: ::quadrants::__private::core::primitive::bool,
    >(
        mut x: <Tensor<
            T,
            1,
        > as ::quadrants::__private::body::TensorParam>::View<__CHECKED>,
        mut at: usize,
    ) -> T {
        const __OK: ::quadrants::__private::core::primitive::bool = true;
        {
            ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(
                <half>::__call_at::<T, _, _, _, _>,
            )(
                ::quadrants::__private::body::CallSite::<
                    __sites_of_scaled<T, N>,
                    3,
                    __CHECKED,
                    _,
                >::of(half::<T>),
                ::quadrants::__private::body::Elements::element_ref(&x, at).read(),
            ) * <T as ::quadrants::__private::body::Number>::from_usize(N)
        }
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __found<T: Float, const N: usize>() -> (
        &'static ::quadrants::__private::frontend::Source,
        &'static [&'static ::quadrants::__private::body::Identity],
    ) {
        struct __Of<T, const N: usize>(
            ::quadrants::__private::core::marker::PhantomData<(T,)>,
        );
        impl<T: Float, const N: usize> __Of<T, N> {
            const __PROBED: (
                [::quadrants::__private::ir::types::Type; 3usize],
                [fn() -> ::quadrants::__private::body::Callee; 1usize],
                [&'static ::quadrants::__private::body::Identity; 4usize],
                [::quadrants::__private::core::primitive::bool; 1usize],
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
                    clippy::unnecessary_operation,
                    clippy::needless_range_loop,
                    clippy::manual_memcpy,
                    clippy::manual_swap,
                    clippy::explicit_counter_loop,
                    clippy::match_single_binding
                )]
                let _ = |x: &Tensor<T, 1>, at: usize| -> T {
                    __func0.pass(half::<T>)(x[at]) * T::from_usize(N)
                };
                let __calls = (
                    {
                        ::quadrants::__private::core::assert!(
                            < half as ::quadrants::__private::body::Func > ::IS,
                            "`half : : < T >` is not a `#[func]`; kernels and funcs call only functions with that attribute"
                        );
                        let (callee, identity) = <half>::__callee_of::<T, _>(__func0);
                        (
                            callee,
                            identity,
                            <half as ::quadrants::__private::body::Func>::IS,
                        )
                    },
                );
                (
                    [
                        <T as ::quadrants::__private::KernelValue>::LAYOUT,
                        ::quadrants::__private::body::number_type::<T>(),
                        <::quadrants::__private::core::primitive::usize as ::quadrants::__private::KernelValue>::LAYOUT,
                    ],
                    [__calls.0.0],
                    [
                        ::quadrants::__private::body::Identity::STATED,
                        ::quadrants::__private::body::Identity::STATED,
                        ::quadrants::__private::body::Identity::STATED,
                        __calls.0.1,
                    ],
                    [__calls.0.2],
                )
            };
            const __IDENTITIES: [&'static ::quadrants::__private::body::Identity; 4usize] = Self::__PROBED
                .2;
            const __TYPES: [::quadrants::__private::ir::types::Type; 3usize] = Self::__PROBED
                .0;
            const __PARAMS: [::quadrants::__private::ir::types::ParamType; 2usize] = [
                <Tensor<T, 1> as ::quadrants::__private::body::TensorParam>::PARAM
                    .passed(false),
                ::quadrants::__private::ir::types::ParamType::Value(
                    <usize as ::quadrants::__private::KernelValue>::LAYOUT,
                ),
            ];
            const __SOURCE: &'static ::quadrants::__private::frontend::Source = &::quadrants::__private::frontend::Source {
                file: ::quadrants::__private::core::file!(),
                tree: b"...",
                params: || Self::__PARAMS.to_vec(),
                types: || Self::__TYPES.to_vec(),
                funcs: &[Self::__PROBED.1[0usize]],
                consts: &[|| ::quadrants::__private::constant(N)],
            };
        }
        const __OK: ::quadrants::__private::core::primitive::bool = true;
        (__Of::<T, N>::__SOURCE, &__Of::<T, N>::__IDENTITIES)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub fn __callee<T: Float, const N: usize>() -> ::quadrants::__private::body::Callee {
        ::quadrants::__private::body::Callee::Func(Self::__found::<T, N>().0)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __callee_of<
        T: Float,
        const N: usize,
        __F: ::quadrants::__private::core::ops::Fn(&Tensor<T, 1>, usize) -> T,
    >(
        _: &::quadrants::__private::body::Probe<__F>,
    ) -> (
        fn() -> ::quadrants::__private::body::Callee,
        &'static ::quadrants::__private::body::Identity,
    ) {
        (Self::__callee::<T, N>, Self::__types::<T, N>())
    }
}
