#[inline(always)]
fn step<'launch>(
    dt: f32,
    a: &'launch mut Tensor<f32, 1>,
    b: &'launch mut Tensor<i32, 2>,
) -> ::quadrants::__private::Launch<'launch, ()> {
    const __PROBED: (
        [::quadrants::__private::ir::types::Type; 4usize],
        [fn() -> ::quadrants::__private::body::Callee; 1usize],
        [&'static ::quadrants::__private::body::Identity; 5usize],
        [::quadrants::__private::core::primitive::bool; 1usize],
    ) = {
        #[allow(unused_imports)]
        use ::quadrants::__private::body::in_scope::*;
        let probe0 = &::quadrants::__private::body::Probe::new();
        let probe1 = &::quadrants::__private::body::Probe::new();
        let probe2 = &::quadrants::__private::body::Probe::new();
        let probe3 = &::quadrants::__private::body::Probe::new();
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
                    ::quadrants::__private::core::assert!(i != j, "diagonal");
                    qd::atomic_add(&mut b[[i, LAST]], 1);
                }
            });
        };
        let _ = |
            qd::stream_parallel(_): ::quadrants::__private::dsl::stream_parallel<fn()>|
        {};
        let _ = |
            qd::stream_parallel(_): ::quadrants::__private::dsl::stream_parallel<fn()>|
        {};
        let _ = |
            qd::ndrange(
                ..,
            ): ::quadrants::__private::dsl::ndrange<
                [::quadrants::__private::core::primitive::usize; 1],
            >|
        {};
        let _ = || ::quadrants::__private::body::same_function(
            ::quadrants::__private::dsl::atomic_add::<i32>,
            qd::atomic_add,
        );
        let __calls = (
            {
                #[allow(unused)]
                type __Callee = ::quadrants::__private::body::NotAFunc<()>;
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
                            <__Callee as ::quadrants::__private::body::Func>::IS,
                        )
                    }
                }
            },
        );
        (
            [
                ::quadrants::__private::body::type_of(probe0),
                ::quadrants::__private::body::type_of(probe1),
                ::quadrants::__private::body::type_of(probe2),
                ::quadrants::__private::body::type_of(probe3),
            ],
            [__calls.0.0],
            [
                ::quadrants::__private::body::identity_of(probe0),
                ::quadrants::__private::body::identity_of(probe1),
                ::quadrants::__private::body::identity_of(probe2),
                ::quadrants::__private::body::identity_of(probe3),
                __calls.0.1,
            ],
            [__calls.0.2],
        )
    };
    const __IDENTITIES: [&'static ::quadrants::__private::body::Identity; 5usize] = __PROBED
        .2;
    const __TYPES: [::quadrants::__private::ir::types::Type; 4usize] = __PROBED.0;
    const __PARAMS: [::quadrants::__private::ir::types::ParamType; 3usize] = [
        ::quadrants::__private::ir::types::ParamType::Value(
            <f32 as ::quadrants::__private::KernelValue>::LAYOUT,
        ),
        <Tensor<f32, 1> as ::quadrants::__private::body::TensorParam>::PARAM
            .passed(true),
        <Tensor<i32, 2> as ::quadrants::__private::body::TensorParam>::PARAM.passed(true),
    ];
    const _: () = {
        ::quadrants::__private::core::assert!(
            __PROBED.3[0],
            "`wave` is not a `#[func]`; kernels and funcs call only functions with that attribute"
        );
    };
    const __OK: ::quadrants::__private::core::primitive::bool = {
        let _ = (__TYPES, __PARAMS);
        true
    };
    static __SOURCE: ::quadrants::__private::frontend::Source = ::quadrants::__private::frontend::Source {
        file: ::quadrants::__private::core::file!(),
        tree: b"...",
        params: || __PARAMS.to_vec(),
        types: || __TYPES.to_vec(),
        funcs: &[__PROBED.1[0usize]],
        consts: &[|| ::quadrants::__private::constant(LAST)],
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
        const NAME: &'static ::core::primitive::str = "step";
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
            let mut dt = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(
                <f32 as ::quadrants::__private::KernelValue>::from_scalars(
                    &mut || args.word(),
                ),
            );
            let mut a = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(<Tensor<f32, 1> as ::quadrants::__private::body::TensorParam>::take(args));
            let mut b = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(<Tensor<i32, 2> as ::quadrants::__private::body::TensorParam>::take(args));
            let elements = ::quadrants::__private::core::cmp::Ord::max(
                ::quadrants::__private::core::cmp::Ord::max(
                    0usize,
                    ::quadrants::__private::body::ElementCount::element_count(&a),
                ),
                ::quadrants::__private::body::ElementCount::element_count(&b),
            );
            let mut half = ::quadrants::__private::body::typed::<
                _,
                __Body,
                0,
            >(::quadrants::__private::body::gate::<__OK, _>(0.5 * dt));
            let block0 = cx
                .block(
                    #[inline(always)]
                    move || {
                        let mut half = half;
                        let mut a = a;
                        let mut dt = dt;
                        cx.par_for(
                            ::quadrants::__private::core::option::Option::Some(0usize),
                            0..::quadrants::__private::body::ElementCount::element_count(
                                &a,
                            ),
                            10u32,
                            #[inline(always)]
                            move |((begin0, end0), proven)| {
                                let mut half = half;
                                let mut a = ::quadrants::__private::body::WithProven::with_proven(
                                    a,
                                    proven,
                                );
                                let mut dt = dt;
                                {
                                    'iteration: for i in ::quadrants::__private::body::gate::<
                                        __OK,
                                        _,
                                    >(begin0..end0) {
                                        ::quadrants::__private::body::seen::<_, __Body, 1>(&i);
                                        {
                                            let by = ::quadrants::__private::body::identity({
                                                let dividend = ::quadrants::__private::body::gate::<
                                                    __OK,
                                                    _,
                                                >({
                                                    #[allow(unused)]
                                                    type __Callee = ::quadrants::__private::body::NotAFunc<
                                                        (::quadrants::__private::body::ByValue,),
                                                    >;
                                                    {
                                                        #[allow(unused, nonstandard_style)]
                                                        fn wave() {}
                                                        #[allow(unused_imports)]
                                                        use wave as __Callee;
                                                        <__Callee>::__call_at
                                                    }
                                                })(
                                                    ::quadrants::__private::body::CallSite::<
                                                        __Body,
                                                        4,
                                                        __CHECKED,
                                                        _,
                                                    >::of(wave),
                                                    half,
                                                );
                                                dividend
                                                    / ::quadrants::__private::body::divisor_of(&dividend, dt)
                                            });
                                            let at = ::quadrants::__private::body::Elements::element_ref(
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
                        cx.nd_for(
                            ::quadrants::__private::core::option::Option::Some(2usize),
                            qd::ndrange(b.shape()),
                            10u32,
                            #[inline(always)]
                            move |([(begin0, end0), (begin1, end1)], proven)| {
                                let mut b = ::quadrants::__private::body::WithProven::with_proven(
                                    b,
                                    proven,
                                );
                                {
                                    for i in ::quadrants::__private::body::gate::<
                                        __OK,
                                        _,
                                    >(begin0..end0) {
                                        'iteration: for j in ::quadrants::__private::body::gate::<
                                            __OK,
                                            _,
                                        >(begin1..end1) {
                                            ::quadrants::__private::body::seen::<_, __Body, 2>(&i);
                                            ::quadrants::__private::body::seen::<_, __Body, 3>(&j);
                                            if !::quadrants::__private::body::Cx::holds(
                                                cx,
                                                !::quadrants::__private::body::equal(i, j),
                                            ) {
                                                continue 'iteration;
                                            }
                                            ::quadrants::__private::body::atomic_add(
                                                ::quadrants::__private::body::Elements::element_ref(
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
                    },
                );
            cx.region(&[&block0, &block1], elements, 20u32);
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
        ::quadrants::__private::body::gate::<__OK, _>(dt),
    );
    ::quadrants::__private::Launch::push(
        &mut __launch,
        ::quadrants::__private::body::gate::<__OK, _>(a),
    );
    ::quadrants::__private::Launch::push(
        &mut __launch,
        ::quadrants::__private::body::gate::<__OK, _>(b),
    );
    __launch
}
