#[allow(unused_variables)]
fn scaled<T: Float, const N: usize>(x: &Tensor<T, 1>, at: usize) -> T {
    ::quadrants::macro_support::core::panic!(
        "`scaled` takes tensors: it can be called in kernels only"
    )
}
#[allow(non_camel_case_types)]
#[doc(hidden)]
struct scaled {}
unsafe impl ::quadrants::macro_support::body::Func for scaled {}
#[allow(non_camel_case_types)]
#[doc(hidden)]
struct __sites_of_scaled<T, const N: usize>(
    ::quadrants::macro_support::core::marker::PhantomData<(T,)>,
);
impl<T: Float, const N: usize> ::quadrants::macro_support::body::SiteTable
for __sites_of_scaled<T, N> {
    const IDENTITIES: &'static [&'static ::quadrants::macro_support::body::Identity] = <scaled>::__found::<
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
        __Sites: ::quadrants::macro_support::body::SiteTable,
        const __SITE: ::quadrants::macro_support::core::primitive::usize,
        __F: ::quadrants::macro_support::core::ops::Fn(&Tensor<T, 1>, usize) -> T,
    >(
        _: ::quadrants::macro_support::body::CallSite<__Sites, __SITE, __F>,
        x: <Tensor<T, 1> as ::quadrants::macro_support::body::TensorParam>::View,
        at: usize,
    ) -> T {
        const {
            ::quadrants::macro_support::body::check_site::<
                __Sites,
                __SITE,
            >(Self::__types::<T, N>())
        }
        Self::__call::<T, N>(x, at)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __types<T: Float, const N: usize>() -> &'static ::quadrants::macro_support::body::Identity {
        const {
            &::quadrants::macro_support::body::Identity {
                name: "func",
                parts: &[
                    ::quadrants::macro_support::body::TypePart::Type(
                        <Tensor<
                            T,
                            1,
                        > as ::quadrants::macro_support::body::TensorParam>::TYPE_IDENTITY,
                    ),
                    ::quadrants::macro_support::body::TypePart::Type(
                        <usize as ::quadrants::macro_support::KernelValue>::TYPE_IDENTITY,
                    ),
                    ::quadrants::macro_support::body::TypePart::Type(
                        <T as ::quadrants::macro_support::KernelValue>::TYPE_IDENTITY,
                    ),
                    ::quadrants::macro_support::body::TypePart::Number(
                        N as ::quadrants::macro_support::core::primitive::u128,
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
    pub fn __call<T: Float, const N: usize>(
        mut x: <Tensor<T, 1> as ::quadrants::macro_support::body::TensorParam>::View,
        mut at: usize,
    ) -> T {
        const __OK: ::quadrants::macro_support::core::primitive::bool = true;
        let mut x = ::quadrants::macro_support::body::gate::<__OK, _>(x);
        let mut at = ::quadrants::macro_support::body::gate::<__OK, _>(at);
        {
            ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >({
                #[allow(dead_code, non_camel_case_types)]
                struct __Callee;
                #[allow(unsafe_code)]
                unsafe impl ::quadrants::macro_support::body::Func for __Callee {
                    const IS: ::quadrants::macro_support::core::primitive::bool = false;
                }
                #[allow(dead_code, clippy::too_many_arguments)]
                impl __Callee {
                    const fn __callee_of<__G0, __F>(
                        _: &::quadrants::macro_support::body::Probe<__F>,
                    ) -> (
                        fn() -> ::quadrants::macro_support::body::Callee,
                        &'static ::quadrants::macro_support::body::Identity,
                    ) {
                        (
                            || ::quadrants::macro_support::body::Callee::Builtin,
                            ::quadrants::macro_support::body::Identity::STATED,
                        )
                    }
                    fn __call_at<
                        __G0,
                        __Sites,
                        const __SITE: ::quadrants::macro_support::core::primitive::usize,
                        __F,
                    >(
                        _: ::quadrants::macro_support::body::CallSite<
                            __Sites,
                            __SITE,
                            __F,
                        >,
                        _: impl ::quadrants::macro_support::core::marker::Sized,
                    ) -> ! {
                        ::quadrants::macro_support::core::unreachable!()
                    }
                }
                {
                    #[allow(unused, nonstandard_style)]
                    fn half() {}
                    #[allow(unused_imports)]
                    use half as __Callee;
                    <__Callee>::__call_at::<T, _, _, _>
                }
            })(
                ::quadrants::macro_support::body::CallSite::<
                    __sites_of_scaled<T, N>,
                    3,
                    _,
                >::of(half::<T>),
                ::quadrants::macro_support::body::Elements::element_ref(&x, at).read(),
            ) * <T as ::quadrants::macro_support::body::Number>::from_usize(N)
        }
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __found<T: Float, const N: usize>() -> (
        &'static ::quadrants::macro_support::frontend::EmittedSource,
        &'static [&'static ::quadrants::macro_support::body::Identity],
    ) {
        struct __Of<T, const N: usize>(
            ::quadrants::macro_support::core::marker::PhantomData<(T,)>,
        );
        impl<T: Float, const N: usize> __Of<T, N> {
            const __PARAMS: [::quadrants::macro_support::ir::types::ParamType; 2usize] = [
                {
                    ::quadrants::macro_support::body::accept(
                        <Tensor<
                            T,
                            1,
                        > as ::quadrants::macro_support::body::TensorParam>::REFUSED,
                    );
                    <Tensor<
                        T,
                        1,
                    > as ::quadrants::macro_support::body::TensorParam>::PARAM
                        .passed(false)
                },
                ::quadrants::macro_support::ir::types::ParamType::Value(
                    <usize as ::quadrants::macro_support::KernelValue>::LAYOUT,
                ),
            ];
            const __PROBED: (
                [::quadrants::macro_support::ir::types::Type; 3usize],
                [fn() -> ::quadrants::macro_support::body::Callee; 1usize],
                [&'static ::quadrants::macro_support::body::Identity; 4usize],
                [::quadrants::macro_support::core::primitive::bool; 1usize],
            ) = {
                #[allow(unused_imports)]
                use ::quadrants::macro_support::body::in_scope::*;
                let probes: ::quadrants::macro_support::body::Gated<
                    true,
                    ::quadrants::macro_support::body::Probes,
                > = ::quadrants::macro_support::body::Probes;
                let __func0 = &probes.probe();
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
                    clippy::match_single_binding,
                    clippy::redundant_pattern,
                    clippy::precedence
                )]
                let _ = |x: &Tensor<T, 1>, at: usize| -> T {
                    __func0.pass(half::<T>)(x[at]) * T::from_usize(N)
                };
                let __calls = (
                    {
                        #[allow(dead_code, non_camel_case_types)]
                        struct __Callee;
                        #[allow(unsafe_code)]
                        unsafe impl ::quadrants::macro_support::body::Func for __Callee {
                            const IS: ::quadrants::macro_support::core::primitive::bool = false;
                        }
                        #[allow(dead_code, clippy::too_many_arguments)]
                        impl __Callee {
                            const fn __callee_of<__G0, __F>(
                                _: &::quadrants::macro_support::body::Probe<__F>,
                            ) -> (
                                fn() -> ::quadrants::macro_support::body::Callee,
                                &'static ::quadrants::macro_support::body::Identity,
                            ) {
                                (
                                    || ::quadrants::macro_support::body::Callee::Builtin,
                                    ::quadrants::macro_support::body::Identity::STATED,
                                )
                            }
                            fn __call_at<
                                __G0,
                                __Sites,
                                const __SITE: ::quadrants::macro_support::core::primitive::usize,
                                __F,
                            >(
                                _: ::quadrants::macro_support::body::CallSite<
                                    __Sites,
                                    __SITE,
                                    __F,
                                >,
                            ) -> ! {
                                ::quadrants::macro_support::core::unreachable!()
                            }
                        }
                        {
                            #[allow(unused, nonstandard_style)]
                            fn half() {}
                            #[allow(unused_imports)]
                            use half as __Callee;
                            {
                                ::quadrants::macro_support::core::assert!(
                                    < __Callee as ::quadrants::macro_support::body::Func > ::IS,
                                    "`half : : < T >` is not a `#[func]`; kernels and funcs call only functions with that attribute"
                                );
                                let (callee, identity) = <__Callee>::__callee_of::<
                                    T,
                                    _,
                                >(__func0);
                                (
                                    callee,
                                    identity,
                                    <__Callee as ::quadrants::macro_support::body::Func>::IS,
                                )
                            }
                        }
                    },
                );
                (
                    [
                        <T as ::quadrants::macro_support::KernelValue>::LAYOUT,
                        ::quadrants::macro_support::body::number_type::<T>(),
                        <::quadrants::macro_support::core::primitive::usize as ::quadrants::macro_support::KernelValue>::LAYOUT,
                    ],
                    [__calls.0.0],
                    [
                        ::quadrants::macro_support::body::Identity::STATED,
                        ::quadrants::macro_support::body::Identity::STATED,
                        ::quadrants::macro_support::body::Identity::STATED,
                        __calls.0.1,
                    ],
                    [__calls.0.2],
                )
            };
            const __IDENTITIES: [&'static ::quadrants::macro_support::body::Identity; 4usize] = Self::__PROBED
                .2;
            const __TYPES: [::quadrants::macro_support::ir::types::Type; 3usize] = Self::__PROBED
                .0;
            const __SOURCE: &'static ::quadrants::macro_support::frontend::EmittedSource = &::quadrants::macro_support::frontend::EmittedSource {
                file: ::quadrants::macro_support::core::file!(),
                tree: b"...",
                params: || Self::__PARAMS.to_vec(),
                types: || Self::__TYPES.to_vec(),
                funcs: &[Self::__PROBED.1[0usize]],
                consts: &[|| ::quadrants::macro_support::constant(N)],
            };
        }
        const __OK: ::quadrants::macro_support::core::primitive::bool = true;
        (__Of::<T, N>::__SOURCE, &__Of::<T, N>::__IDENTITIES)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub fn __callee<T: Float, const N: usize>() -> ::quadrants::macro_support::body::Callee {
        ::quadrants::macro_support::body::Callee::Func(Self::__found::<T, N>().0)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __callee_of<
        T: Float,
        const N: usize,
        __F: ::quadrants::macro_support::core::ops::Fn(&Tensor<T, 1>, usize) -> T,
    >(
        _: &::quadrants::macro_support::body::Probe<__F>,
    ) -> (
        fn() -> ::quadrants::macro_support::body::Callee,
        &'static ::quadrants::macro_support::body::Identity,
    ) {
        (Self::__callee::<T, N>, Self::__types::<T, N>())
    }
}
