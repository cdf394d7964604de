#[inline(always)]
fn escape<'launch>(
    limit: i32,
    c: &'launch Tensor<f32, 1>,
    steps: &'launch mut Tensor<i32, 1>,
) -> ::quadrants::__private::Launch<'launch, ()> {
    const __PROBED: (
        [::quadrants::__private::ir::types::Type; 4usize],
        [fn() -> ::quadrants::__private::body::Callee; 0usize],
        [&'static ::quadrants::__private::body::Identity; 4usize],
        [::quadrants::__private::core::primitive::bool; 0usize],
    ) = {
        #[allow(unused_imports)]
        use ::quadrants::__private::body::in_scope::*;
        let probe0 = &::quadrants::__private::body::Probe::new();
        let probe1 = &::quadrants::__private::body::Probe::new();
        let probe2 = &::quadrants::__private::body::Probe::new();
        let probe3 = &::quadrants::__private::body::Probe::new();
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
                ::quadrants::__private::body::type_of(probe0),
                ::quadrants::__private::body::type_of(probe1),
                ::quadrants::__private::body::type_of(probe2),
                ::quadrants::__private::body::type_of(probe3),
            ],
            [],
            [
                ::quadrants::__private::body::identity_of(probe0),
                ::quadrants::__private::body::identity_of(probe1),
                ::quadrants::__private::body::identity_of(probe2),
                ::quadrants::__private::body::identity_of(probe3),
            ],
            [],
        )
    };
    const __IDENTITIES: [&'static ::quadrants::__private::body::Identity; 4usize] = __PROBED
        .2;
    const __TYPES: [::quadrants::__private::ir::types::Type; 4usize] = __PROBED.0;
    const __PARAMS: [::quadrants::__private::ir::types::ParamType; 3usize] = [
        ::quadrants::__private::ir::types::ParamType::Value(
            <i32 as ::quadrants::__private::KernelValue>::LAYOUT,
        ),
        <Tensor<f32, 1> as ::quadrants::__private::body::TensorParam>::PARAM
            .passed(false),
        <Tensor<i32, 1> as ::quadrants::__private::body::TensorParam>::PARAM.passed(true),
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
        const NAME: &'static ::core::primitive::str = "escape";
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
            let mut limit = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(
                <i32 as ::quadrants::__private::KernelValue>::from_scalars(
                    &mut || args.word(),
                ),
            );
            let mut c = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(<Tensor<f32, 1> as ::quadrants::__private::body::TensorParam>::take(args));
            let mut steps = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(<Tensor<i32, 1> as ::quadrants::__private::body::TensorParam>::take(args));
            cx.par_for_strips(
                ::quadrants::__private::core::option::Option::Some(0usize),
                0..::quadrants::__private::body::ElementCount::element_count(&c),
                554u32,
                32usize,
                #[inline(always)]
                move |((begin0, end0), proven)| {
                    let mut steps = ::quadrants::__private::body::WithProven::with_proven(
                        steps,
                        proven,
                    );
                    let mut c = ::quadrants::__private::body::WithProven::with_proven(
                        c,
                        proven,
                    );
                    let mut limit = limit;
                    {
                        let mut begin0 = begin0;
                        if !__CHECKED {
                            #[allow(unused_variables, unused_assignments)]
                            for strip in ::quadrants::__private::body::whole_strips::<
                                _,
                                32usize,
                            >(&mut begin0, end0) {
                                let mut lanes0 = ::quadrants::__private::body::lanes::<
                                    _,
                                    32usize,
                                >(
                                    #[inline(always)]
                                    |lane| {
                                        let i = ::quadrants::__private::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::__private::body::lane_of(strip, lane));
                                        {
                                            let mut z = ::quadrants::__private::body::typed::<
                                                _,
                                                __Body,
                                                1,
                                            >(::quadrants::__private::body::gate::<__OK, _>(0.0f32));
                                            z
                                        }
                                    },
                                );
                                let mut lanes1 = ::quadrants::__private::body::lanes::<
                                    _,
                                    32usize,
                                >(
                                    #[inline(always)]
                                    |lane| {
                                        let i = ::quadrants::__private::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::__private::body::lane_of(strip, lane));
                                        {
                                            let mut n = ::quadrants::__private::body::typed::<
                                                _,
                                                __Body,
                                                2,
                                            >(::quadrants::__private::body::gate::<__OK, _>(0));
                                            n
                                        }
                                    },
                                );
                                {
                                    let mut active = [1u32; 32usize];
                                    loop {
                                        ::quadrants::__private::body::optimization_barrier();
                                        let mut any = 0u32;
                                        for lane in 0..32usize {
                                            let i = ::quadrants::__private::body::gate::<
                                                __OK,
                                                _,
                                            >(::quadrants::__private::body::lane_of(strip, lane));
                                            let mut z = lanes0[lane];
                                            let mut n = lanes1[lane];
                                            let mut go = active[lane];
                                            if go != 0 {
                                                'round: {
                                                    if n < limit && z * z < 4.0 {
                                                        z = z * z
                                                            + ::quadrants::__private::body::Elements::element_ref(&c, i)
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
                                for k in ::quadrants::__private::body::gate::<
                                    __OK,
                                    _,
                                >(
                                    0..::quadrants::__private::body::ElementCount::element_count(
                                        &c,
                                    ),
                                ) {
                                    ::quadrants::__private::body::optimization_barrier();
                                    for lane in 0..32usize {
                                        let i = ::quadrants::__private::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::__private::body::lane_of(strip, lane));
                                        let mut z = lanes0[lane];
                                        let mut n = lanes1[lane];
                                        {
                                            if ::quadrants::__private::body::equal(
                                                ::quadrants::__private::body::Elements::element_ref(&c, k)
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
                                    let i = ::quadrants::__private::body::gate::<
                                        __OK,
                                        _,
                                    >(::quadrants::__private::body::lane_of(strip, lane));
                                    let mut n = lanes1[lane];
                                    {
                                        {
                                            let value = n;
                                            ::quadrants::__private::body::Elements::element_ref(
                                                    &steps,
                                                    i,
                                                )
                                                .write(value);
                                        };
                                    }
                                }
                            }
                            #[allow(unused_variables, unused_assignments)]
                            for strip in ::quadrants::__private::body::whole_strips::<
                                _,
                                8usize,
                            >(&mut begin0, end0) {
                                let mut lanes0 = ::quadrants::__private::body::lanes::<
                                    _,
                                    8usize,
                                >(
                                    #[inline(always)]
                                    |lane| {
                                        let i = ::quadrants::__private::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::__private::body::lane_of(strip, lane));
                                        {
                                            let mut z = ::quadrants::__private::body::typed::<
                                                _,
                                                __Body,
                                                1,
                                            >(::quadrants::__private::body::gate::<__OK, _>(0.0f32));
                                            z
                                        }
                                    },
                                );
                                let mut lanes1 = ::quadrants::__private::body::lanes::<
                                    _,
                                    8usize,
                                >(
                                    #[inline(always)]
                                    |lane| {
                                        let i = ::quadrants::__private::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::__private::body::lane_of(strip, lane));
                                        {
                                            let mut n = ::quadrants::__private::body::typed::<
                                                _,
                                                __Body,
                                                2,
                                            >(::quadrants::__private::body::gate::<__OK, _>(0));
                                            n
                                        }
                                    },
                                );
                                {
                                    let mut active = [1u32; 8usize];
                                    loop {
                                        ::quadrants::__private::body::optimization_barrier();
                                        let mut any = 0u32;
                                        for lane in 0..8usize {
                                            let i = ::quadrants::__private::body::gate::<
                                                __OK,
                                                _,
                                            >(::quadrants::__private::body::lane_of(strip, lane));
                                            let mut z = lanes0[lane];
                                            let mut n = lanes1[lane];
                                            let mut go = active[lane];
                                            if go != 0 {
                                                'round: {
                                                    if n < limit && z * z < 4.0 {
                                                        z = z * z
                                                            + ::quadrants::__private::body::Elements::element_ref(&c, i)
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
                                for k in ::quadrants::__private::body::gate::<
                                    __OK,
                                    _,
                                >(
                                    0..::quadrants::__private::body::ElementCount::element_count(
                                        &c,
                                    ),
                                ) {
                                    ::quadrants::__private::body::optimization_barrier();
                                    for lane in 0..8usize {
                                        let i = ::quadrants::__private::body::gate::<
                                            __OK,
                                            _,
                                        >(::quadrants::__private::body::lane_of(strip, lane));
                                        let mut z = lanes0[lane];
                                        let mut n = lanes1[lane];
                                        {
                                            if ::quadrants::__private::body::equal(
                                                ::quadrants::__private::body::Elements::element_ref(&c, k)
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
                                    let i = ::quadrants::__private::body::gate::<
                                        __OK,
                                        _,
                                    >(::quadrants::__private::body::lane_of(strip, lane));
                                    let mut n = lanes1[lane];
                                    {
                                        {
                                            let value = n;
                                            ::quadrants::__private::body::Elements::element_ref(
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
                            'iteration: for i in ::quadrants::__private::body::gate::<
                                __OK,
                                _,
                            >(begin0..end0) {
                                ::quadrants::__private::body::seen::<_, __Body, 0>(&i);
                                let mut z = ::quadrants::__private::body::typed::<
                                    _,
                                    __Body,
                                    1,
                                >(::quadrants::__private::body::gate::<__OK, _>(0.0f32));
                                let mut n = ::quadrants::__private::body::typed::<
                                    _,
                                    __Body,
                                    2,
                                >(::quadrants::__private::body::gate::<__OK, _>(0));
                                while n < limit && z * z < 4.0 {
                                    z = z * z
                                        + ::quadrants::__private::body::Elements::element_ref(&c, i)
                                            .read();
                                    n += 1;
                                }
                                for k in ::quadrants::__private::body::gate::<
                                    __OK,
                                    _,
                                >(
                                    0..::quadrants::__private::body::ElementCount::element_count(
                                        &c,
                                    ),
                                ) {
                                    ::quadrants::__private::body::seen::<_, __Body, 3>(&k);
                                    if ::quadrants::__private::body::equal(
                                        ::quadrants::__private::body::Elements::element_ref(&c, k)
                                            .read(),
                                        z,
                                    ) {
                                        n -= 1;
                                    }
                                }
                                {
                                    let value = n;
                                    ::quadrants::__private::body::Elements::element_ref(
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
    static __DEF: ::quadrants::__private::KernelDef = ::quadrants::__private::KernelDef::of::<
        __Body,
    >();
    let __def = &__DEF;
    #[allow(unused_mut)]
    let mut __launch = ::quadrants::__private::Launch::new(__def);
    ::quadrants::__private::Launch::push(
        &mut __launch,
        ::quadrants::__private::body::gate::<__OK, _>(limit),
    );
    ::quadrants::__private::Launch::push(
        &mut __launch,
        ::quadrants::__private::body::gate::<__OK, _>(c),
    );
    ::quadrants::__private::Launch::push(
        &mut __launch,
        ::quadrants::__private::body::gate::<__OK, _>(steps),
    );
    __launch
}
