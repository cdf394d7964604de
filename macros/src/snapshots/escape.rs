#[inline(always)]
fn escape<'launch>(
    limit: i32,
    c: &'launch Tensor<f32, 1>,
    steps: &'launch mut Tensor<i32, 1>,
) -> ::quadrants::macro_support::Launch<'launch, ()> {
    const __PARAMS: [::quadrants::macro_support::ir::types::ParamType; 3usize] = [
        ::quadrants::macro_support::ir::types::ParamType::Value(
            <i32 as ::quadrants::macro_support::KernelValue>::LAYOUT,
        ),
        <Tensor<f32, 1> as ::quadrants::macro_support::body::TensorParam>::PARAM
            .passed(false),
        <Tensor<i32, 1> as ::quadrants::macro_support::body::TensorParam>::PARAM
            .passed(true),
    ];
    const __SIGNATURE: ::quadrants::macro_support::core::primitive::bool = {
        let _ = __PARAMS;
        true
    };
    const __PROBED: (
        [::quadrants::macro_support::ir::types::Type; 4usize],
        [fn() -> ::quadrants::macro_support::body::Callee; 0usize],
        [&'static ::quadrants::macro_support::body::Identity; 4usize],
        [::quadrants::macro_support::core::primitive::bool; 0usize],
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
        let _ = |limit: i32, c: &Tensor<f32, 1>, steps: &mut Tensor<i32, 1>| -> () {
            for i in 0..c.len() {
                probe0.observe(&i);
                let mut z = 0.0f32;
                probe1.observe(&z);
                let mut n = 0;
                probe2.observe(&n);
                while n < limit && z * z < 4.0 {
                    z = z * z + c[i];
                    n += 1;
                }
                for k in 0..c.len() {
                    probe3.observe(&k);
                    if c[k] == z {
                        n -= 1;
                    }
                }
                steps[i] = n;
            }
        };
        let __calls = ();
        (
            [
                ::quadrants::macro_support::body::type_of(probe0),
                ::quadrants::macro_support::body::type_of(probe1),
                ::quadrants::macro_support::body::type_of(probe2),
                ::quadrants::macro_support::body::type_of(probe3),
            ],
            [],
            [
                ::quadrants::macro_support::body::identity_of(probe0),
                ::quadrants::macro_support::body::identity_of(probe1),
                ::quadrants::macro_support::body::identity_of(probe2),
                ::quadrants::macro_support::body::identity_of(probe3),
            ],
            [],
        )
    };
    const __IDENTITIES: [&'static ::quadrants::macro_support::body::Identity; 4usize] = __PROBED
        .2;
    const __TYPES: [::quadrants::macro_support::ir::types::Type; 4usize] = __PROBED.0;
    const _: () = ::quadrants::macro_support::body::accept(
        <Tensor<f32, 1> as ::quadrants::macro_support::body::TensorParam>::REFUSED,
    );
    const _: () = ::quadrants::macro_support::body::accept(
        <Tensor<i32, 1> as ::quadrants::macro_support::body::TensorParam>::REFUSED,
    );
    const _: () = {
        ::quadrants::macro_support::core::assert!(
            ::quadrants::macro_support::body::has_operators(__PROBED.0[2], true),
            "kernels order numbers only; compare parts of these values, or write a method with `#[func]`"
        );
        ::quadrants::macro_support::core::assert!(
            ::quadrants::macro_support::body::has_operators(__PROBED.0[1], false),
            "kernels have no operators of your own; write a method with `#[func]` and call it by its name"
        );
        ::quadrants::macro_support::core::assert!(
            ::quadrants::macro_support::body::has_operators(__PROBED.0[2], false),
            "kernels have no operators of your own; write a method with `#[func]` and call it by its name"
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
        funcs: &[],
        consts: &[],
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
        const NAME: &'static ::core::primitive::str = "escape";
        fn ir() -> ::quadrants::macro_support::core::result::Result<
            ::quadrants::macro_support::ir::Kernel,
            ::quadrants::macro_support::BoxError,
        > {
            ::quadrants::macro_support::core::result::Result::Ok(
                ::quadrants::macro_support::frontend::lower_checked(
                    &__SOURCE,
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
            let mut limit = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <i32 as ::quadrants::macro_support::KernelValue>::from_scalars(
                    &mut || args.word(),
                ),
            );
            let mut c = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <::quadrants::macro_support::body::Gated<
                    __OK,
                    Tensor<f32, 1>,
                > as ::quadrants::macro_support::body::TensorParam>::take(args),
            );
            let mut steps = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <::quadrants::macro_support::body::Gated<
                    __OK,
                    Tensor<i32, 1>,
                > as ::quadrants::macro_support::body::TensorParam>::take(args),
            );
            cx.par_for_strips(
                ::quadrants::macro_support::body::LoopAt::range(0usize, 0usize),
                0..::quadrants::macro_support::body::ElementCount::element_count(&c),
                {
                    #[allow(overflowing_literals, unused_mut, unused_variables)]
                    let cost = ::quadrants::macro_support::body::total_cost(
                        346u32,
                        &[
                            ::quadrants::macro_support::body::loop_cost(
                                0,
                                ::quadrants::macro_support::body::ElementCount::element_count(
                                    &c,
                                ),
                                10u32,
                            ),
                        ],
                    );
                    cost
                },
                32usize,
                #[inline(always)]
                move |([(begin0, end0)], chunk)| {
                    let mut steps = ::quadrants::macro_support::body::WithCheckMode::with_check_mode(
                        steps,
                        chunk.check_mode,
                    );
                    let mut c = ::quadrants::macro_support::body::WithCheckMode::with_check_mode(
                        c,
                        chunk.check_mode,
                    );
                    let mut limit = limit;
                    let mut ok = true;
                    let mut steps = ::quadrants::macro_support::body::WithCheckMode::inspect_boxes(
                        steps,
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
                        let mut begin0 = begin0;
                        if chunk.check_mode.is_unchecked() {
                            #[allow(unused_variables, unused_assignments)]
                            for strip in ::quadrants::macro_support::body::whole_strips::<
                                _,
                                32usize,
                            >(&mut begin0, end0) {
                                let mut lanes0 = ::quadrants::macro_support::body::lanes::<
                                    _,
                                    32usize,
                                >(
                                    #[inline(always)]
                                    |lane| {
                                        let i = ::quadrants::macro_support::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::macro_support::body::lane_of(strip, lane));
                                        {
                                            let mut z = ::quadrants::macro_support::body::typed::<
                                                _,
                                                __Body,
                                                1,
                                            >(
                                                ::quadrants::macro_support::body::gate::<__OK, _>(0.0f32),
                                            );
                                            z
                                        }
                                    },
                                );
                                let mut lanes1 = ::quadrants::macro_support::body::lanes::<
                                    _,
                                    32usize,
                                >(
                                    #[inline(always)]
                                    |lane| {
                                        let i = ::quadrants::macro_support::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::macro_support::body::lane_of(strip, lane));
                                        {
                                            let mut n = ::quadrants::macro_support::body::typed::<
                                                _,
                                                __Body,
                                                2,
                                            >(::quadrants::macro_support::body::gate::<__OK, _>(0));
                                            n
                                        }
                                    },
                                );
                                {
                                    let mut active = [1u32; 32usize];
                                    loop {
                                        ::quadrants::macro_support::body::optimization_barrier();
                                        let mut any = 0u32;
                                        for lane in 0..32usize {
                                            let i = ::quadrants::macro_support::body::gate::<
                                                __OK,
                                                _,
                                            >(::quadrants::macro_support::body::lane_of(strip, lane));
                                            let mut z = lanes0[lane];
                                            let mut n = lanes1[lane];
                                            let mut go = active[lane];
                                            if go != 0 {
                                                'round: {
                                                    if n < limit && z * z < 4.0 {
                                                        z = z * z
                                                            + ::quadrants::macro_support::body::Elements::element_ref(
                                                                    &c,
                                                                    i,
                                                                )
                                                                .read();
                                                        n += 1;
                                                    } else {
                                                        go = 0;
                                                    }
                                                }
                                            }
                                            any |= go;
                                            active[lane] = go;
                                            lanes0[lane] = z;
                                            lanes1[lane] = n;
                                        }
                                        if any == 0 {
                                            break;
                                        }
                                    }
                                }
                                for k in ::quadrants::macro_support::body::gate::<
                                    __OK,
                                    _,
                                >(
                                    0..::quadrants::macro_support::body::ElementCount::element_count(
                                        &c,
                                    ),
                                ) {
                                    ::quadrants::macro_support::body::optimization_barrier();
                                    for lane in 0..32usize {
                                        let i = ::quadrants::macro_support::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::macro_support::body::lane_of(strip, lane));
                                        let mut z = lanes0[lane];
                                        let mut n = lanes1[lane];
                                        {
                                            if ::quadrants::macro_support::body::equal(
                                                ::quadrants::macro_support::body::Elements::element_ref(
                                                        &c,
                                                        k,
                                                    )
                                                    .read(),
                                                z,
                                            ) {
                                                n -= 1;
                                            }
                                        }
                                        lanes1[lane] = n;
                                    }
                                }
                                for lane in 0..32usize {
                                    let i = ::quadrants::macro_support::body::gate::<
                                        __OK,
                                        _,
                                    >(::quadrants::macro_support::body::lane_of(strip, lane));
                                    let mut n = lanes1[lane];
                                    {
                                        {
                                            let value = n;
                                            ::quadrants::macro_support::body::Elements::element_ref(
                                                    &steps,
                                                    i,
                                                )
                                                .write(value);
                                        };
                                    }
                                }
                            }
                            #[allow(unused_variables, unused_assignments)]
                            for strip in ::quadrants::macro_support::body::whole_strips::<
                                _,
                                8usize,
                            >(&mut begin0, end0) {
                                let mut lanes0 = ::quadrants::macro_support::body::lanes::<
                                    _,
                                    8usize,
                                >(
                                    #[inline(always)]
                                    |lane| {
                                        let i = ::quadrants::macro_support::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::macro_support::body::lane_of(strip, lane));
                                        {
                                            let mut z = ::quadrants::macro_support::body::typed::<
                                                _,
                                                __Body,
                                                1,
                                            >(
                                                ::quadrants::macro_support::body::gate::<__OK, _>(0.0f32),
                                            );
                                            z
                                        }
                                    },
                                );
                                let mut lanes1 = ::quadrants::macro_support::body::lanes::<
                                    _,
                                    8usize,
                                >(
                                    #[inline(always)]
                                    |lane| {
                                        let i = ::quadrants::macro_support::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::macro_support::body::lane_of(strip, lane));
                                        {
                                            let mut n = ::quadrants::macro_support::body::typed::<
                                                _,
                                                __Body,
                                                2,
                                            >(::quadrants::macro_support::body::gate::<__OK, _>(0));
                                            n
                                        }
                                    },
                                );
                                {
                                    let mut active = [1u32; 8usize];
                                    loop {
                                        ::quadrants::macro_support::body::optimization_barrier();
                                        let mut any = 0u32;
                                        for lane in 0..8usize {
                                            let i = ::quadrants::macro_support::body::gate::<
                                                __OK,
                                                _,
                                            >(::quadrants::macro_support::body::lane_of(strip, lane));
                                            let mut z = lanes0[lane];
                                            let mut n = lanes1[lane];
                                            let mut go = active[lane];
                                            if go != 0 {
                                                'round: {
                                                    if n < limit && z * z < 4.0 {
                                                        z = z * z
                                                            + ::quadrants::macro_support::body::Elements::element_ref(
                                                                    &c,
                                                                    i,
                                                                )
                                                                .read();
                                                        n += 1;
                                                    } else {
                                                        go = 0;
                                                    }
                                                }
                                            }
                                            any |= go;
                                            active[lane] = go;
                                            lanes0[lane] = z;
                                            lanes1[lane] = n;
                                        }
                                        if any == 0 {
                                            break;
                                        }
                                    }
                                }
                                for k in ::quadrants::macro_support::body::gate::<
                                    __OK,
                                    _,
                                >(
                                    0..::quadrants::macro_support::body::ElementCount::element_count(
                                        &c,
                                    ),
                                ) {
                                    ::quadrants::macro_support::body::optimization_barrier();
                                    for lane in 0..8usize {
                                        let i = ::quadrants::macro_support::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::macro_support::body::lane_of(strip, lane));
                                        let mut z = lanes0[lane];
                                        let mut n = lanes1[lane];
                                        {
                                            if ::quadrants::macro_support::body::equal(
                                                ::quadrants::macro_support::body::Elements::element_ref(
                                                        &c,
                                                        k,
                                                    )
                                                    .read(),
                                                z,
                                            ) {
                                                n -= 1;
                                            }
                                        }
                                        lanes1[lane] = n;
                                    }
                                }
                                for lane in 0..8usize {
                                    let i = ::quadrants::macro_support::body::gate::<
                                        __OK,
                                        _,
                                    >(::quadrants::macro_support::body::lane_of(strip, lane));
                                    let mut n = lanes1[lane];
                                    {
                                        {
                                            let value = n;
                                            ::quadrants::macro_support::body::Elements::element_ref(
                                                    &steps,
                                                    i,
                                                )
                                                .write(value);
                                        };
                                    }
                                }
                            }
                        }
                        {
                            'iteration: for i in ::quadrants::macro_support::body::gate::<
                                __OK,
                                _,
                            >(begin0..end0) {
                                ::quadrants::macro_support::body::seen::<_, __Body, 0>(&i);
                                let mut z = ::quadrants::macro_support::body::typed::<
                                    _,
                                    __Body,
                                    1,
                                >(
                                    ::quadrants::macro_support::body::gate::<__OK, _>(0.0f32),
                                );
                                let mut n = ::quadrants::macro_support::body::typed::<
                                    _,
                                    __Body,
                                    2,
                                >(::quadrants::macro_support::body::gate::<__OK, _>(0));
                                while n < limit && z * z < 4.0 {
                                    z = z * z
                                        + ::quadrants::macro_support::body::Elements::element_ref(
                                                &c,
                                                i,
                                            )
                                            .read();
                                    n += 1;
                                }
                                {
                                    let range = ::quadrants::macro_support::body::gate::<
                                        __OK,
                                        _,
                                    >(
                                        0..::quadrants::macro_support::body::ElementCount::element_count(
                                            &c,
                                        ),
                                    );
                                    let mut ok = range.start < range.end;
                                    let mut c = ::quadrants::macro_support::body::WithCheckMode::inspect_boxes(
                                        c,
                                        &mut ok,
                                        &[
                                            &[
                                                ::quadrants::macro_support::body::indices_of(
                                                    range.start,
                                                    range.end,
                                                    0i64,
                                                    0i64,
                                                ),
                                            ],
                                        ],
                                    );
                                    if ok {
                                        for k in range {
                                            ::quadrants::macro_support::body::seen::<_, __Body, 3>(&k);
                                            if ::quadrants::macro_support::body::equal(
                                                ::quadrants::macro_support::body::Elements::element_ref(
                                                        &c,
                                                        k,
                                                    )
                                                    .read(),
                                                z,
                                            ) {
                                                n -= 1;
                                            }
                                        }
                                    }
                                }
                                {
                                    let value = n;
                                    ::quadrants::macro_support::body::Elements::element_ref(
                                            &steps,
                                            i,
                                        )
                                        .write(value);
                                };
                            }
                        }
                    }
                },
            );
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
        ::quadrants::macro_support::body::gate::<__OK, _>(limit),
    );
    ::quadrants::macro_support::Launch::push(
        &mut __launch,
        ::quadrants::macro_support::body::gate::<__OK, _>(c),
    );
    ::quadrants::macro_support::Launch::push(
        &mut __launch,
        ::quadrants::macro_support::body::gate::<__OK, _>(steps),
    );
    __launch
}
