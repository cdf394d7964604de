#[inline(always)]
/// y += a x
pub fn saxpy<'launch>(
    a: f32,
    x: &'launch Tensor<f32, 1>,
    y: &'launch mut Tensor<f32, 1>,
) -> ::quadrants::macro_support::Launch<'launch, ()> {
    const __PARAMS: [::quadrants::macro_support::ir::types::ParamType; 3usize] = [
        ::quadrants::macro_support::ir::types::ParamType::Value(
            <f32 as ::quadrants::macro_support::KernelValue>::LAYOUT,
        ),
        <Tensor<f32, 1> as ::quadrants::macro_support::body::TensorParam>::PARAM
            .passed(false),
        <Tensor<f32, 1> as ::quadrants::macro_support::body::TensorParam>::PARAM
            .passed(true),
    ];
    const __SIGNATURE: ::quadrants::macro_support::core::primitive::bool = {
        let _ = __PARAMS;
        true
    };
    const __PROBED: (
        [::quadrants::macro_support::ir::types::Type; 1usize],
        [fn() -> ::quadrants::macro_support::body::Callee; 0usize],
        [&'static ::quadrants::macro_support::body::Identity; 1usize],
        [::quadrants::macro_support::core::primitive::bool; 0usize],
    ) = {
        #[allow(unused_imports)]
        use ::quadrants::macro_support::body::in_scope::*;
        let probes: ::quadrants::macro_support::body::Gated<
            __SIGNATURE,
            ::quadrants::macro_support::body::Probes,
        > = ::quadrants::macro_support::body::Probes;
        let probe0 = &probes.probe();
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
        let _ = |a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>| -> () {
            for i in 0..x.len() {
                probe0.observe(&i);
                y[i] += a * x[i];
            }
        };
        let __calls = ();
        (
            [::quadrants::macro_support::body::type_of(probe0)],
            [],
            [::quadrants::macro_support::body::identity_of(probe0)],
            [],
        )
    };
    const __IDENTITIES: [&'static ::quadrants::macro_support::body::Identity; 1usize] = __PROBED
        .2;
    const __TYPES: [::quadrants::macro_support::ir::types::Type; 1usize] = __PROBED.0;
    const _: () = ::quadrants::macro_support::body::accept(
        <Tensor<f32, 1> as ::quadrants::macro_support::body::TensorParam>::REFUSED,
    );
    const _: () = ::quadrants::macro_support::body::accept(
        <Tensor<f32, 1> as ::quadrants::macro_support::body::TensorParam>::REFUSED,
    );
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
        const NAME: &'static ::core::primitive::str = "saxpy";
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
            let mut a = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <f32 as ::quadrants::macro_support::KernelValue>::from_scalars(
                    &mut || args.word(),
                ),
            );
            let mut x = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <::quadrants::macro_support::body::Gated<
                    __OK,
                    Tensor<f32, 1>,
                > as ::quadrants::macro_support::body::TensorParam>::take(args),
            );
            let mut y = ::quadrants::macro_support::body::gate::<
                __OK,
                _,
            >(
                <::quadrants::macro_support::body::Gated<
                    __OK,
                    Tensor<f32, 1>,
                > as ::quadrants::macro_support::body::TensorParam>::take(args),
            );
            cx.par_for(
                ::quadrants::macro_support::body::LoopAt::range(0usize, 0usize),
                0..::quadrants::macro_support::body::ElementCount::element_count(&x),
                ::quadrants::macro_support::body::LightIterationCost(10u32),
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
                    let mut x = ::quadrants::macro_support::body::WithCheckMode::inspect_boxes(
                        x,
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
                            ::quadrants::macro_support::body::seen::<_, __Body, 0>(&i);
                            {
                                let by = a
                                    * ::quadrants::macro_support::body::Elements::element_ref(
                                            &x,
                                            i,
                                        )
                                        .read();
                                let at = ::quadrants::macro_support::body::Elements::element_ref(
                                    &y,
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
