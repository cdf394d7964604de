#[inline(always)]
fn sum<'launch>(
    x: &'launch Tensor<f32, 1>,
    total: &'launch mut Tensor<f32, 1>,
) -> ::quadrants::__private::Launch<'launch, ()> {
    const __PROBED: (
        [::quadrants::__private::ir::types::Type; 1usize],
        [fn() -> ::quadrants::__private::body::Callee; 0usize],
        [&'static ::quadrants::__private::body::Identity; 1usize],
        [::quadrants::__private::core::primitive::bool; 0usize],
    ) = {
        #[allow(unused_imports)]
        use ::quadrants::__private::body::in_scope::*;
        let probe0 = &::quadrants::__private::body::Probe::new();
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
        let _ = |x: &Tensor<f32, 1>, total: &mut Tensor<f32, 1>| -> () {
            for i in 0..x.len() {
                probe0.observe(&i);
                qd::atomic_add(&mut total[0], x[i]);
            }
        };
        let _ = || ::quadrants::__private::body::same_function(
            ::quadrants::__private::dsl::atomic_add::<i32>,
            qd::atomic_add,
        );
        let __calls = ();
        (
            [::quadrants::__private::body::type_of(probe0)],
            [],
            [::quadrants::__private::body::identity_of(probe0)],
            [],
        )
    };
    const __IDENTITIES: [&'static ::quadrants::__private::body::Identity; 1usize] = __PROBED
        .2;
    const __TYPES: [::quadrants::__private::ir::types::Type; 1usize] = __PROBED.0;
    const __PARAMS: [::quadrants::__private::ir::types::ParamType; 2usize] = [
        <Tensor<f32, 1> as ::quadrants::__private::body::TensorParam>::PARAM
            .passed(false),
        <Tensor<f32, 1> as ::quadrants::__private::body::TensorParam>::PARAM.passed(true),
    ];
    const __OK: ::quadrants::__private::core::primitive::bool = {
        let _ = (__TYPES, __PARAMS);
        true
    };
    static __SOURCE: ::quadrants::__private::frontend::Source = ::quadrants::__private::frontend::Source {
        file: ::quadrants::__private::core::file!(),
        tree: b"...",
        params: || __PARAMS.to_vec(),
        types: || __TYPES.to_vec(),
        funcs: &[],
        consts: &[],
    };
    struct __Body;
    impl ::quadrants::__private::body::SiteTable for __Body {
        const IDENTITIES: &'static [&'static ::quadrants::__private::body::Identity] = &__IDENTITIES;
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
    unsafe impl ::quadrants::__private::body::Body for __Body {
        const NAME: &'static ::core::primitive::str = "sum";
        fn ir() -> ::quadrants::__private::core::result::Result<
            ::quadrants::__private::ir::Kernel,
            ::quadrants::__private::BoxError,
        > {
            ::quadrants::__private::core::result::Result::Ok(
                ::quadrants::__private::frontend::lower_checked(&__SOURCE)?,
            )
        }
        #[inline(always)]
        fn run<
            __Level: ::quadrants::__private::body::Level,
            const __CHECKED: ::quadrants::__private::core::primitive::bool,
            const __WIDE: ::quadrants::__private::core::primitive::usize,
        >(cx: &::quadrants::__private::body::Cx<'_, __Level, __CHECKED>) {
            let args = &mut ::quadrants::__private::body::Cx::args(cx);
            let mut x = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(<Tensor<f32, 1> as ::quadrants::__private::body::TensorParam>::take(args));
            let mut total = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(<Tensor<f32, 1> as ::quadrants::__private::body::TensorParam>::take(args));
            cx.par_for(
                ::quadrants::__private::core::option::Option::Some(0usize),
                0..::quadrants::__private::body::ElementCount::element_count(&x),
                10u32,
                #[inline(always)]
                move |((begin0, end0), proven)| {
                    let mut total = ::quadrants::__private::body::WithProven::with_proven(
                        total,
                        proven,
                    );
                    let mut x = ::quadrants::__private::body::WithProven::with_proven(
                        x,
                        proven,
                    );
                    let mut part0 = ::quadrants::__private::body::partial_add::<
                        _,
                        64usize,
                    >();
                    let mut rest0 = ::quadrants::__private::body::partial_add::<
                        _,
                        64usize,
                    >();
                    {
                        let mut begin0 = begin0;
                        if !__CHECKED {
                            #[allow(unused_variables, unused_assignments)]
                            for from in ::quadrants::__private::body::whole_strips::<
                                _,
                                64usize,
                            >(&mut begin0, end0) {
                                ::quadrants::__private::body::optimization_barrier();
                                'iteration: for at in 0..64usize {
                                    let lane0 = ::quadrants::__private::body::Partial::lane(
                                        &mut part0,
                                        at,
                                    );
                                    let i = ::quadrants::__private::body::gate::<
                                        __OK,
                                        _,
                                    >(::quadrants::__private::body::lane_of(from, at));
                                    {
                                        ::quadrants::__private::body::seen::<_, __Body, 0>(&i);
                                        ::quadrants::__private::body::reduce_add::<
                                            false,
                                            _,
                                            _,
                                        >(
                                            &mut *lane0,
                                            &total,
                                            0,
                                            ::quadrants::__private::body::Elements::element_ref(&x, i)
                                                .read(),
                                        );
                                    }
                                }
                            }
                        }
                        for (from, to) in ::quadrants::__private::body::strips::<
                            _,
                            64usize,
                        >(begin0, end0) {
                            'iteration: for (lane0, i) in ::quadrants::__private::core::iter::Iterator::zip(
                                ::quadrants::__private::body::Partial::lanes(&mut rest0),
                                ::quadrants::__private::body::gate::<__OK, _>(from..to),
                            ) {
                                ::quadrants::__private::body::seen::<_, __Body, 0>(&i);
                                ::quadrants::__private::body::reduce_add::<
                                    false,
                                    _,
                                    _,
                                >(
                                    &mut *lane0,
                                    &total,
                                    0,
                                    ::quadrants::__private::body::Elements::element_ref(&x, i)
                                        .read(),
                                );
                            }
                        }
                    }
                    ::quadrants::__private::body::finish_add::<
                        false,
                        _,
                        _,
                        _,
                    >((part0, rest0), &total, 0);
                },
            );
        }
    }
    static __DEF: ::quadrants::__private::KernelDef = ::quadrants::__private::KernelDef::of::<
        __Body,
    >();
    let __def = &__DEF;
    #[allow(unused_mut)]
    let mut __launch = ::quadrants::__private::Launch::new(__def);
    ::quadrants::__private::Launch::push(
        &mut __launch,
        ::quadrants::__private::body::gate::<__OK, _>(x),
    );
    ::quadrants::__private::Launch::push(
        &mut __launch,
        ::quadrants::__private::body::gate::<__OK, _>(total),
    );
    __launch
}
