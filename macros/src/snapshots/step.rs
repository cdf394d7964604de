#[inline(always)]
fn step<'launch>(
    dt: f32,
    a: &'launch mut Tensor<f32, 1>,
    b: &'launch mut Tensor<i32, 2>,
) -> ::quadrants::macro_support::Launch<'launch, ()> {
    const __PARAMS: [::quadrants::macro_support::ir::types::ParamType; 3usize] = [
        ::quadrants::macro_support::ir::types::ParamType::Value(
            <f32 as ::quadrants::macro_support::KernelValue>::LAYOUT,
        ),
        <Tensor<f32, 1> as ::quadrants::macro_support::body::TensorParam>::PARAM
            .passed(true),
        <Tensor<i32, 2> as ::quadrants::macro_support::body::TensorParam>::PARAM
            .passed(true),
    ];
    const __SIGNATURE: ::quadrants::macro_support::core::primitive::bool = {
        let _ = __PARAMS;
        true
    };
    const __PROBED: (
        [::quadrants::macro_support::ir::types::Type; 4usize],
        [fn() -> ::quadrants::macro_support::body::Callee; 1usize],
        [&'static ::quadrants::macro_support::body::Identity; 5usize],
        [::quadrants::macro_support::core::primitive::bool; 1usize],
    ) = {
        #[allow(unused_imports)]
        use ::quadrants::macro_support::body::in_scope::*;
        let probes: ::quadrants::macro_support::body::Gated<
            __SIGNATURE,
            ::quadrants::macro_support::body::Probes,
        > = ::quadrants::macro_support::body::Probes;
        let probe0 = &probes.probe();
        let probe1 = &probes.probe();
        let probe2 = &probes.probe();
        let probe3 = &probes.probe();
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
        let _ = |dt: f32, a: &mut Tensor<f32, 1>, b: &mut Tensor<i32, 2>| -> () {
            let half = 0.5 * dt;
            probe0.observe(&half);
            qd::stream_parallel(|| {
                for i in 0..a.len() {
                    probe1.observe(&i);
                    a[i] += __func0.pass(wave)(half) / dt;
                }
            });
            qd::stream_parallel(|| {
                for (i, j) in qd::ndrange(b.shape()) {
                    probe2.observe(&i);
                    probe3.observe(&j);
                    ::quadrants::macro_support::core::assert!(i != j, "diagonal");
                    qd::atomic_add(&mut b[[i, LAST]], 1);
                }
            });
        };
        let _ = |
            qd::stream_parallel(
                _,
            ): ::quadrants::macro_support::dsl::stream_parallel<fn()>|
        {};
        let _ = |
            qd::stream_parallel(
                _,
            ): ::quadrants::macro_support::dsl::stream_parallel<fn()>|
        {};
        let _ = |
            qd::ndrange(
                ..,
            ): ::quadrants::macro_support::dsl::ndrange<
                [::quadrants::macro_support::core::primitive::usize; 1],
            >|
        {};
        let _ = || ::quadrants::macro_support::body::same_function(
            ::quadrants::macro_support::dsl::atomic_add::<i32>,
            qd::atomic_add,
        );
        let __calls = (
            {
                #[allow(unused)]
                type __Callee = ::quadrants::macro_support::body::NotAFunc<()>;
                {
                    #[allow(unused, nonstandard_style)]
                    fn wave() {}
                    #[allow(unused_imports)]
                    use wave as __Callee;
                    {
                        let (callee, identity) = <__Callee>::__callee_of(__func0);
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
                ::quadrants::macro_support::body::type_of(probe0),
                ::quadrants::macro_support::body::type_of(probe1),
                ::quadrants::macro_support::body::type_of(probe2),
                ::quadrants::macro_support::body::type_of(probe3),
            ],
            [__calls.0.0],
            [
                ::quadrants::macro_support::body::identity_of(probe0),
                ::quadrants::macro_support::body::identity_of(probe1),
                ::quadrants::macro_support::body::identity_of(probe2),
                ::quadrants::macro_support::body::identity_of(probe3),
                __calls.0.1,
            ],
            [__calls.0.2],
        )
    };
    const __IDENTITIES: [&'static ::quadrants::macro_support::body::Identity; 5usize] = __PROBED
        .2;
    const __TYPES: [::quadrants::macro_support::ir::types::Type; 4usize] = __PROBED.0;
    const _: () = ::quadrants::macro_support::body::accept(
        <Tensor<f32, 1> as ::quadrants::macro_support::body::TensorParam>::REFUSED,
    );
    const _: () = ::quadrants::macro_support::body::accept(
        <Tensor<i32, 2> as ::quadrants::macro_support::body::TensorParam>::REFUSED,
    );
    const _: () = {
        ::quadrants::macro_support::core::assert!(
            __PROBED.3[0],
            "`wave` is not a `#[func]`; kernels and funcs call only functions with that attribute"
        );
    };
    const __OK: ::quadrants::macro_support::core::primitive::bool = {
        let _ = (__TYPES, __PARAMS);
        true
    };
    static __SOURCE: ::quadrants::macro_support::frontend::EmittedSource = ::quadrants::macro_support::frontend::EmittedSource {
        file: ::quadrants::macro_support::core::file!(),
        tree: b"...",
        params: || __PARAMS.to_vec(),
        types: || __TYPES.to_vec(),
        funcs: &[__PROBED.1[0usize]],
        consts: &[|| ::quadrants::macro_support::constant(LAST)],
    };
    struct __Body;
    impl ::quadrants::macro_support::body::SiteTable for __Body {
        const IDENTITIES: &'static [&'static ::quadrants::macro_support::body::Identity] = &__IDENTITIES;
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
    unsafe impl ::quadrants::macro_support::body::Body for __Body {
        const NAME: &'static ::core::primitive::str = "step";
        fn ir() -> ::quadrants::macro_support::core::result::Result<
            ::quadrants::macro_support::ir::Kernel,
            ::quadrants::macro_support::BoxError,
        > {
            ::quadrants::macro_support::core::result::Result::Ok(
                ::quadrants::macro_support::frontend::lower_checked(
                    &__SOURCE,
                    &[1usize, 2usize],
                )?,
            )
        }
        #[inline(always)]
        fn run<
            __Level: ::quadrants::macro_support::body::Level,
            const __WIDE: ::quadrants::macro_support::core::primitive::usize,
        >(cx: &::quadrants::macro_support::body::Cx<'_, __Level>) {
            let args = &mut ::quadrants::macro_support::body::Cx::args(cx);
            let mut dt = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <f32 as ::quadrants::macro_support::KernelValue>::from_scalars(
                    &mut || args.word(),
                ),
            );
            let mut a = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <::quadrants::macro_support::body::Gated<
                    __OK,
                    Tensor<f32, 1>,
                > as ::quadrants::macro_support::body::TensorParam>::take(args),
            );
            let mut b = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <::quadrants::macro_support::body::Gated<
                    __OK,
                    Tensor<i32, 2>,
                > as ::quadrants::macro_support::body::TensorParam>::take(args),
            );
            let elements = ::quadrants::macro_support::core::cmp::Ord::max(
                ::quadrants::macro_support::core::cmp::Ord::max(
                    0usize,
                    ::quadrants::macro_support::body::ElementCount::element_count(&a),
                ),
                ::quadrants::macro_support::body::ElementCount::element_count(&b),
            );
            let mut half = ::quadrants::macro_support::body::typed::<
                _,
                __Body,
                0,
            >(::quadrants::macro_support::body::gate::<__OK, _>(0.5 * dt));
            let block0 = cx
                .block(
                    #[inline(always)]
                    move || {
                        let mut half = half;
                        let mut a = a;
                        let mut dt = dt;
                        cx.par_for(
                            ::quadrants::macro_support::body::LoopAt::range(
                                0usize,
                                0usize,
                            ),
                            0..::quadrants::macro_support::body::ElementCount::element_count(
                                &a,
                            ),
                            10u32,
                            #[inline(always)]
                            move |([(begin0, end0)], chunk)| {
                                let mut half = half;
                                let mut a = ::quadrants::macro_support::body::WithCheckMode::with_check_mode(
                                    a,
                                    chunk.check_mode,
                                );
                                let mut dt = dt;
                                let mut ok = true;
                                let mut a = ::quadrants::macro_support::body::WithCheckMode::inspect_boxes(
                                    a,
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
                                        ::quadrants::macro_support::body::seen::<_, __Body, 1>(&i);
                                        {
                                            let by = ::quadrants::macro_support::body::identity({
                                                let dividend = ::quadrants::macro_support::body::gate::<
                                                    __OK,
                                                    _,
                                                >({
                                                    #[allow(unused)]
                                                    type __Callee = ::quadrants::macro_support::body::NotAFunc<
                                                        (::quadrants::macro_support::body::ByValue,),
                                                    >;
                                                    {
                                                        #[allow(unused, nonstandard_style)]
                                                        fn wave() {}
                                                        #[allow(unused_imports)]
                                                        use wave as __Callee;
                                                        <__Callee>::__call_at
                                                    }
                                                })(
                                                    ::quadrants::macro_support::body::CallSite::<
                                                        __Body,
                                                        4,
                                                        _,
                                                    >::of(wave),
                                                    half,
                                                );
                                                dividend
                                                    / ::quadrants::macro_support::body::divisor_of(
                                                        &dividend,
                                                        dt,
                                                    )
                                            });
                                            let at = ::quadrants::macro_support::body::Elements::element_ref(
                                                &a,
                                                i,
                                            );
                                            let mut value = at.read();
                                            value += by;
                                            at.write(value);
                                        };
                                    }
                                }
                            },
                        );
                    },
                );
            let block1 = cx
                .block(
                    #[inline(always)]
                    move || {
                        let mut b = b;
                        let copies0_owner = ::quadrants::macro_support::body::Scatter::new();
                        {
                            let copies0 = &copies0_owner;
                            cx.nd_for(
                                ::quadrants::macro_support::body::LoopAt::range(
                                    1usize,
                                    2usize,
                                ),
                                qd::ndrange(b.shape()),
                                10u32,
                                #[inline(always)]
                                move |([(begin0, end0), (begin1, end1)], chunk)| {
                                    let mut b = ::quadrants::macro_support::body::WithCheckMode::with_check_mode(
                                        b,
                                        chunk.check_mode,
                                    );
                                    let (mut b, private0) = ::quadrants::macro_support::body::gate::<
                                        __OK,
                                        _,
                                    >(
                                        ::quadrants::macro_support::body::scatter_begin_add::<
                                            false,
                                            _,
                                            _,
                                        >(copies0, b, chunk),
                                    );
                                    let mut ok = true;
                                    let mut b = ::quadrants::macro_support::body::WithCheckMode::inspect_boxes(
                                        b,
                                        &mut ok,
                                        &[
                                            &[
                                                ::quadrants::macro_support::body::indices_of(
                                                    begin0,
                                                    end0,
                                                    0i64,
                                                    0i64,
                                                ),
                                                ::quadrants::macro_support::body::index_of(LAST, 0i64, 0i64),
                                            ],
                                        ],
                                    );
                                    if !ok {
                                        return;
                                    }
                                    {
                                        for i in ::quadrants::macro_support::body::gate::<
                                            __OK,
                                            _,
                                        >(begin0..end0) {
                                            'iteration: for j in ::quadrants::macro_support::body::gate::<
                                                __OK,
                                                _,
                                            >(begin1..end1) {
                                                ::quadrants::macro_support::body::seen::<_, __Body, 2>(&i);
                                                ::quadrants::macro_support::body::seen::<_, __Body, 3>(&j);
                                                if !::quadrants::macro_support::body::Cx::holds(
                                                    cx,
                                                    !::quadrants::macro_support::body::equal(i, j),
                                                ) {
                                                    continue 'iteration;
                                                }
                                                ::quadrants::macro_support::body::scatter_add(
                                                    private0,
                                                    ::quadrants::macro_support::body::Elements::element_ref(
                                                        &b,
                                                        [i, LAST],
                                                    ),
                                                    1,
                                                );
                                            }
                                        }
                                    }
                                },
                            );
                        }
                        ::quadrants::macro_support::body::scatter_total_add(
                            copies0_owner,
                            b,
                        );
                    },
                );
            cx.region(&[&block0, &block1], elements, 20u32);
        }
    }
    static __DEF: ::quadrants::macro_support::KernelDef = ::quadrants::macro_support::KernelDef::of::<
        __Body,
    >();
    let __def = &__DEF;
    #[allow(unused_mut)]
    let mut __launch: ::quadrants::macro_support::body::Gated<
        __OK,
        ::quadrants::macro_support::Launch<'launch, ()>,
    > = ::quadrants::macro_support::Launch::new(__def);
    ::quadrants::macro_support::Launch::push(
        &mut __launch,
        ::quadrants::macro_support::body::gate::<__OK, _>(dt),
    );
    ::quadrants::macro_support::Launch::push(
        &mut __launch,
        ::quadrants::macro_support::body::gate::<__OK, _>(a),
    );
    ::quadrants::macro_support::Launch::push(
        &mut __launch,
        ::quadrants::macro_support::body::gate::<__OK, _>(b),
    );
    __launch
}
