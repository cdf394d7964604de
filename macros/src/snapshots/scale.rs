#[inline(always)]
fn scale<'launch, T: Float>(
    a: T,
    x: &'launch Tensor<T, 1>,
    y: &'launch mut Tensor<T, 1>,
) -> ::quadrants::macro_support::Launch<'launch, ()> {
    struct __Of<T>(::quadrants::macro_support::core::marker::PhantomData<(T,)>);
    impl<T: Float> __Of<T> {
        const __PARAMS: [::quadrants::macro_support::ir::types::ParamType; 3usize] = [
            ::quadrants::macro_support::ir::types::ParamType::Value(
                <T as ::quadrants::macro_support::KernelValue>::LAYOUT,
            ),
            {
                ::quadrants::macro_support::body::accept(
                    <Tensor<
                        T,
                        1,
                    > as ::quadrants::macro_support::body::TensorParam>::REFUSED,
                );
                <Tensor<T, 1> as ::quadrants::macro_support::body::TensorParam>::PARAM
                    .passed(false)
            },
            {
                ::quadrants::macro_support::body::accept(
                    <Tensor<
                        T,
                        1,
                    > as ::quadrants::macro_support::body::TensorParam>::REFUSED,
                );
                <Tensor<T, 1> as ::quadrants::macro_support::body::TensorParam>::PARAM
                    .passed(true)
            },
        ];
        const __PROBED: (
            [::quadrants::macro_support::ir::types::Type; 1usize],
            [fn() -> ::quadrants::macro_support::body::Callee; 1usize],
            [&'static ::quadrants::macro_support::body::Identity; 2usize],
            [::quadrants::macro_support::core::primitive::bool; 1usize],
        ) = {
            #[allow(unused_imports)]
            use ::quadrants::macro_support::body::in_scope::*;
            let probes: ::quadrants::macro_support::body::Gated<
                true,
                ::quadrants::macro_support::body::Probes,
            > = ::quadrants::macro_support::body::Probes;
            let probe0 = &probes.probe();
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
            let _ = |a: T, x: &Tensor<T, 1>, y: &mut Tensor<T, 1>| -> () {
                for i in 0..x.len() {
                    probe0.observe(&i);
                    y[i] = a * __func0.pass(scaled::<_, 2>)(x, i);
                }
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
                        const fn __callee_of<
                            __G0,
                            const __G1: ::quadrants::macro_support::core::primitive::usize,
                            __F,
                        >(
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
                            const __G1: ::quadrants::macro_support::core::primitive::usize,
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
                        fn scaled() {}
                        #[allow(unused_imports)]
                        use scaled as __Callee;
                        {
                            ::quadrants::macro_support::core::assert!(
                                < __Callee as ::quadrants::macro_support::body::Func > ::IS,
                                "`scaled : : < _ , 2 >` is not a `#[func]`; kernels and funcs call only functions with that attribute"
                            );
                            let (callee, identity) = <__Callee>::__callee_of::<
                                _,
                                2,
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
                [::quadrants::macro_support::body::type_of(probe0)],
                [__calls.0.0],
                [::quadrants::macro_support::body::identity_of(probe0), __calls.0.1],
                [__calls.0.2],
            )
        };
        const __IDENTITIES: [&'static ::quadrants::macro_support::body::Identity; 2usize] = Self::__PROBED
            .2;
        const __TYPES: [::quadrants::macro_support::ir::types::Type; 1usize] = Self::__PROBED
            .0;
        const __SOURCE: &'static ::quadrants::macro_support::frontend::EmittedSource = &::quadrants::macro_support::frontend::EmittedSource {
            file: ::quadrants::macro_support::core::file!(),
            tree: b"...",
            params: || Self::__PARAMS.to_vec(),
            types: || Self::__TYPES.to_vec(),
            funcs: &[Self::__PROBED.1[0usize]],
            consts: &[],
        };
    }
    const __OK: ::quadrants::macro_support::core::primitive::bool = true;
    impl<T: Float> ::quadrants::macro_support::body::SiteTable for __Of<T> {
        const IDENTITIES: &'static [&'static ::quadrants::macro_support::body::Identity] = &__Of::<
            T,
        >::__IDENTITIES;
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
    unsafe impl<T: Float> ::quadrants::macro_support::body::Body for __Of<T> {
        const NAME: &'static ::core::primitive::str = "scale";
        fn ir() -> ::quadrants::macro_support::core::result::Result<
            ::quadrants::macro_support::ir::Kernel,
            ::quadrants::macro_support::BoxError,
        > {
            ::quadrants::macro_support::core::result::Result::Ok(
                ::quadrants::macro_support::frontend::lower_checked(
                    __Of::<T>::__SOURCE,
                    &[1usize],
                )?,
            )
        }
        #[inline(always)]
        fn run<
            __Level: ::quadrants::macro_support::body::Level,
            const __WIDE: ::quadrants::macro_support::core::primitive::usize,
        >(cx: &::quadrants::macro_support::body::Cx<'_, __Level>) {
            let args = &mut ::quadrants::macro_support::body::Cx::args(cx);
            let mut a = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <T as ::quadrants::macro_support::KernelValue>::from_scalars(
                    &mut || args.word(),
                ),
            );
            let mut x = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <::quadrants::macro_support::body::Gated<
                    __OK,
                    Tensor<T, 1>,
                > as ::quadrants::macro_support::body::TensorParam>::take(args),
            );
            let mut y = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <::quadrants::macro_support::body::Gated<
                    __OK,
                    Tensor<T, 1>,
                > as ::quadrants::macro_support::body::TensorParam>::take(args),
            );
            cx.par_for(
                ::quadrants::macro_support::body::LoopAt::range(0usize, 0usize),
                0..::quadrants::macro_support::body::ElementCount::element_count(&x),
                12u32,
                #[inline(always)]
                move |([(begin0, end0)], chunk)| {
                    let mut y = ::quadrants::macro_support::body::WithCheckMode::with_check_mode(
                        y,
                        chunk.check_mode,
                    );
                    let mut x = ::quadrants::macro_support::body::WithCheckMode::with_check_mode(
                        x,
                        chunk.check_mode,
                    );
                    let mut a = a;
                    let mut ok = true;
                    let mut y = ::quadrants::macro_support::body::WithCheckMode::inspect_boxes(
                        y,
                        &mut ok,
                        &[
                            &[
                                ::quadrants::macro_support::body::indices_of(
                                    begin0,
                                    end0,
                                    0i64,
                                    0i64,
                                ),
                            ],
                        ],
                    );
                    if !ok {
                        return;
                    }
                    {
                        'iteration: for i in ::quadrants::macro_support::body::gate::<
                            __OK,
                            _,
                        >(begin0..end0) {
                            ::quadrants::macro_support::body::seen::<_, __Of<T>, 0>(&i);
                            {
                                let value = a
                                    * ::quadrants::macro_support::body::gate::<
                                        __OK,
                                        _,
                                    >({
                                        #[allow(dead_code, non_camel_case_types)]
                                        struct __Callee;
                                        #[allow(unsafe_code)]
                                        unsafe impl ::quadrants::macro_support::body::Func
                                        for __Callee {
                                            const IS: ::quadrants::macro_support::core::primitive::bool = false;
                                        }
                                        #[allow(dead_code, clippy::too_many_arguments)]
                                        impl __Callee {
                                            const fn __callee_of<
                                                __G0,
                                                const __G1: ::quadrants::macro_support::core::primitive::usize,
                                                __F,
                                            >(
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
                                                const __G1: ::quadrants::macro_support::core::primitive::usize,
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
                                                _: impl ::quadrants::macro_support::core::marker::Sized,
                                            ) -> ! {
                                                ::quadrants::macro_support::core::unreachable!()
                                            }
                                        }
                                        {
                                            #[allow(unused, nonstandard_style)]
                                            fn scaled() {}
                                            #[allow(unused_imports)]
                                            use scaled as __Callee;
                                            <__Callee>::__call_at::<_, 2, _, _, _>
                                        }
                                    })(
                                        ::quadrants::macro_support::body::CallSite::<
                                            __Of<T>,
                                            1,
                                            _,
                                        >::of(scaled::<_, 2>),
                                        x,
                                        i,
                                    );
                                ::quadrants::macro_support::body::Elements::element_ref(
                                        &y,
                                        i,
                                    )
                                    .write(value);
                            };
                        }
                    }
                },
            );
        }
    }
    static __INSTANCES: ::quadrants::macro_support::Monomorphizations = ::quadrants::macro_support::Monomorphizations::new();
    let __def = ::quadrants::macro_support::Monomorphizations::of::<
        __Of<T>,
    >(&__INSTANCES);
    #[allow(unused_mut)]
    let mut __launch: ::quadrants::macro_support::body::Gated<
        __OK,
        ::quadrants::macro_support::Launch<'launch, ()>,
    > = ::quadrants::macro_support::Launch::new(__def);
    ::quadrants::macro_support::Launch::push(
        &mut __launch,
        ::quadrants::macro_support::body::gate::<__OK, _>(a),
    );
    ::quadrants::macro_support::Launch::push(
        &mut __launch,
        ::quadrants::macro_support::body::gate::<__OK, _>(x),
    );
    ::quadrants::macro_support::Launch::push(
        &mut __launch,
        ::quadrants::macro_support::body::gate::<__OK, _>(y),
    );
    __launch
}
