#[inline(always)]
/// y += a x
pub fn saxpy<'launch>(
    a: f32,
    x: &'launch Tensor<f32, 1>,
    y: &'launch mut Tensor<f32, 1>,
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
        let _ = |a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>| -> () {
            for i in 0..x.len() {
                probe0.observe(&i);
                y[i] += a * x[i];
            }
        };
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
    const __PARAMS: [::quadrants::__private::ir::types::ParamType; 3usize] = [
        ::quadrants::__private::ir::types::ParamType::Value(
            <f32 as ::quadrants::__private::KernelValue>::LAYOUT,
        ),
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
        const NAME: &'static ::core::primitive::str = "saxpy";
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
            let mut a = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(
                <f32 as ::quadrants::__private::KernelValue>::from_scalars(
                    &mut || args.word(),
                ),
            );
            let mut x = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(<Tensor<f32, 1> as ::quadrants::__private::body::TensorParam>::take(args));
            let mut y = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(<Tensor<f32, 1> as ::quadrants::__private::body::TensorParam>::take(args));
            cx.par_for(
                ::quadrants::__private::core::option::Option::Some(0usize),
                0..::quadrants::__private::body::ElementCount::element_count(&x),
                ::quadrants::__private::body::Simple(10u32),
                #[inline(always)]
                move |((begin0, end0), proven)| {
                    let mut y = ::quadrants::__private::body::WithProven::with_proven(
                        y,
                        proven,
                    );
                    let mut x = ::quadrants::__private::body::WithProven::with_proven(
                        x,
                        proven,
                    );
                    let mut a = a;
                    {
                        'iteration: for i in ::quadrants::__private::body::gate::<
                            __OK,
                            _,
                        >(begin0..end0) {
                            ::quadrants::__private::body::seen::<_, __Body, 0>(&i);
                            {
                                let by = a
                                    * ::quadrants::__private::body::Elements::element_ref(&x, i)
                                        .read();
                                let at = ::quadrants::__private::body::Elements::element_ref(
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
    static __DEF: ::quadrants::__private::KernelDef = ::quadrants::__private::KernelDef::of::<
        __Body,
    >();
    let __def = &__DEF;
    #[allow(unused_mut)]
    let mut __launch = ::quadrants::__private::Launch::new(__def);
    ::quadrants::__private::Launch::push(
        &mut __launch,
        ::quadrants::__private::body::gate::<__OK, _>(a),
    );
    ::quadrants::__private::Launch::push(
        &mut __launch,
        ::quadrants::__private::body::gate::<__OK, _>(x),
    );
    ::quadrants::__private::Launch::push(
        &mut __launch,
        ::quadrants::__private::body::gate::<__OK, _>(y),
    );
    __launch
}
