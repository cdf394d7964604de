#[inline(always)]
fn scale<'launch, T: Float>(
    a: T,
    x: &'launch Tensor<T, 1>,
    y: &'launch mut Tensor<T, 1>,
) -> ::quadrants::__private::Launch<'launch, ()> {
    struct __Of<T>(::quadrants::__private::core::marker::PhantomData<(T,)>);
    impl<T: Float> __Of<T> {
        const __PROBED: (
            [::quadrants::__private::ir::types::Type; 1usize],
            [fn() -> ::quadrants::__private::body::Callee; 1usize],
            [&'static ::quadrants::__private::body::Identity; 2usize],
            [::quadrants::__private::core::primitive::bool; 1usize],
        ) = {
            #[allow(unused_imports)]
            use ::quadrants::__private::body::in_scope::*;
            let probe0 = &::quadrants::__private::body::Probe::new();
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
            let _ = |a: T, x: &Tensor<T, 1>, y: &mut Tensor<T, 1>| -> () {
                for i in 0..x.len() {
                    probe0.observe(&i);
                    y[i] = a * __func0.pass(scaled::<_, 2>)(x, i);
                }
            };
            let __calls = (
                {
                    ::quadrants::__private::core::assert!(
                        < scaled as ::quadrants::__private::body::Func > ::IS,
                        "`scaled : : < _ , 2 >` is not a `#[func]`; kernels and funcs call only functions with that attribute"
                    );
                    let (callee, identity) = <scaled>::__callee_of::<_, 2, _>(__func0);
                    (
                        callee,
                        identity,
                        <scaled as ::quadrants::__private::body::Func>::IS,
                    )
                },
            );
            (
                [::quadrants::__private::body::type_of(probe0)],
                [__calls.0.0],
                [::quadrants::__private::body::identity_of(probe0), __calls.0.1],
                [__calls.0.2],
            )
        };
        const __IDENTITIES: [&'static ::quadrants::__private::body::Identity; 2usize] = Self::__PROBED
            .2;
        const __TYPES: [::quadrants::__private::ir::types::Type; 1usize] = Self::__PROBED
            .0;
        const __PARAMS: [::quadrants::__private::ir::types::ParamType; 3usize] = [
            ::quadrants::__private::ir::types::ParamType::Value(
                <T as ::quadrants::__private::KernelValue>::LAYOUT,
            ),
            <Tensor<T, 1> as ::quadrants::__private::body::TensorParam>::PARAM
                .passed(false),
            <Tensor<T, 1> as ::quadrants::__private::body::TensorParam>::PARAM
                .passed(true),
        ];
        const __SOURCE: &'static ::quadrants::__private::frontend::Source = &::quadrants::__private::frontend::Source {
            file: ::quadrants::__private::core::file!(),
            tree: b"...",
            params: || Self::__PARAMS.to_vec(),
            types: || Self::__TYPES.to_vec(),
            funcs: &[Self::__PROBED.1[0usize]],
            consts: &[],
        };
    }
    const __OK: ::quadrants::__private::core::primitive::bool = true;
    impl<T: Float> ::quadrants::__private::body::SiteTable for __Of<T> {
        const IDENTITIES: &'static [&'static ::quadrants::__private::body::Identity] = &__Of::<
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
    unsafe impl<T: Float> ::quadrants::__private::body::Body for __Of<T> {
        const NAME: &'static ::core::primitive::str = "scale";
        fn ir() -> ::quadrants::__private::core::result::Result<
            ::quadrants::__private::ir::Kernel,
            ::quadrants::__private::BoxError,
        > {
            ::quadrants::__private::core::result::Result::Ok(
                ::quadrants::__private::frontend::lower_checked(__Of::<T>::__SOURCE)?,
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
                <T as ::quadrants::__private::KernelValue>::from_scalars(
                    &mut || args.word(),
                ),
            );
            let mut x = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(<Tensor<T, 1> as ::quadrants::__private::body::TensorParam>::take(args));
            let mut y = ::quadrants::__private::body::gate::<
                __OK,
                _,
            >(<Tensor<T, 1> as ::quadrants::__private::body::TensorParam>::take(args));
            cx.par_for(
                ::quadrants::__private::core::option::Option::Some(0usize),
                0..::quadrants::__private::body::ElementCount::element_count(&x),
                12u32,
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
                            ::quadrants::__private::body::seen::<_, __Of<T>, 0>(&i);
                            {
                                let value = a
                                    * ::quadrants::__private::body::gate::<
                                        __OK,
                                        _,
                                    >(
                                        <scaled>::__call_at::<_, 2, _, _, _, _>,
                                    )(
                                        ::quadrants::__private::body::CallSite::<
                                            __Of<T>,
                                            1,
                                            __CHECKED,
                                            _,
                                        >::of(scaled::<_, 2>),
                                        x,
                                        i,
                                    );
                                ::quadrants::__private::body::Elements::element_ref(&y, i)
                                    .write(value);
                            };
                        }
                    }
                },
            );
        }
    }
    static __INSTANCES: ::quadrants::__private::Monomorphizations = ::quadrants::__private::Monomorphizations::new();
    let __def = ::quadrants::__private::Monomorphizations::of::<__Of<T>>(&__INSTANCES);
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
