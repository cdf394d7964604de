#[allow(clippy::used_underscore_binding)]
#[inline(always)]
fn wave(x: f32) -> f32 {
    <wave>::__call(x)
}
#[allow(non_camel_case_types)]
#[doc(hidden)]
struct wave {}
unsafe impl ::quadrants::macro_support::body::Func for wave {}
impl ::quadrants::macro_support::body::SiteTable for wave {
    const IDENTITIES: &'static [&'static ::quadrants::macro_support::body::Identity] = <wave>::__FOUND
        .1;
}
impl wave {
    #[allow(unused)]
    #[doc(hidden)]
    const __SIGNATURE: ::quadrants::macro_support::core::primitive::bool = {
        let _ = <f32 as ::quadrants::macro_support::KernelValue>::LAYOUT;
        true
    };
    #[allow(unused, clippy::too_many_arguments)]
    #[doc(hidden)]
    #[inline(always)]
    pub fn __call_at<
        __Sites: ::quadrants::macro_support::body::SiteTable,
        const __SITE: ::quadrants::macro_support::core::primitive::usize,
        __F: ::quadrants::macro_support::core::ops::Fn(f32) -> f32,
    >(
        _: ::quadrants::macro_support::body::CallSite<__Sites, __SITE, __F>,
        x: f32,
    ) -> f32 {
        const {
            ::quadrants::macro_support::body::check_site::<
                __Sites,
                __SITE,
            >(Self::__types())
        }
        Self::__call(x)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __types() -> &'static ::quadrants::macro_support::body::Identity {
        const {
            &::quadrants::macro_support::body::Identity {
                name: "func",
                parts: &[
                    ::quadrants::macro_support::body::TypePart::Type(
                        <f32 as ::quadrants::macro_support::KernelValue>::TYPE_IDENTITY,
                    ),
                    ::quadrants::macro_support::body::TypePart::Type(
                        <f32 as ::quadrants::macro_support::KernelValue>::TYPE_IDENTITY,
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
    pub fn __call(mut x: f32) -> f32 {
        const __OK: ::quadrants::macro_support::core::primitive::bool = {
            let _ = <wave>::__FOUND;
            true
        };
        let mut x = ::quadrants::macro_support::body::gate::<__OK, _>(x);
        {
            ::quadrants::macro_support::body::call_method::<
                9387930553559073965u64,
                _,
                _,
                _,
            >(
                ::quadrants::macro_support::body::typed::<
                    _,
                    wave,
                    1,
                >(::quadrants::macro_support::body::gate::<__OK, _>(x * 0.01)),
                (),
            )
        }
    }
    #[allow(unused)]
    #[doc(hidden)]
    const __FOUND: (
        &'static ::quadrants::macro_support::frontend::EmittedSource,
        &'static [&'static ::quadrants::macro_support::body::Identity],
    ) = {
        const __PARAMS: [::quadrants::macro_support::ir::types::ParamType; 1usize] = [
            ::quadrants::macro_support::ir::types::ParamType::Value(
                <f32 as ::quadrants::macro_support::KernelValue>::LAYOUT,
            ),
        ];
        const __SIGNATURE: ::quadrants::macro_support::core::primitive::bool = {
            let _ = __PARAMS;
            let _ = <f32 as ::quadrants::macro_support::KernelValue>::LAYOUT;
            true
        };
        const __PROBED: (
            [::quadrants::macro_support::ir::types::Type; 2usize],
            [fn() -> ::quadrants::macro_support::body::Callee; 1usize],
            [&'static ::quadrants::macro_support::body::Identity; 3usize],
            [::quadrants::macro_support::core::primitive::bool; 0usize],
        ) = {
            #[allow(unused_imports)]
            use ::quadrants::macro_support::body::in_scope::*;
            let probes: ::quadrants::macro_support::body::Gated<
                __SIGNATURE,
                ::quadrants::macro_support::body::Probes,
            > = ::quadrants::macro_support::body::Probes;
            let probe1 = &probes.probe();
            let result0 = &probes.probe();
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
            let _ = |x: f32| -> f32 {
                ::quadrants::macro_support::core::convert::identity(
                    match probe1.pass(x * 0.01).sin() {
                        given => {
                            result0.observe(&given);
                            given
                        }
                    },
                )
            };
            let __calls = (
                (
                    ::quadrants::macro_support::body::method_of::<
                        9387930553559073965u64,
                        _,
                        _,
                        _,
                    >(probe1, result0),
                    ::quadrants::macro_support::body::Identity::STATED,
                ),
            );
            (
                [
                    <f32 as ::quadrants::macro_support::KernelValue>::LAYOUT,
                    ::quadrants::macro_support::body::type_of(probe1),
                ],
                [__calls.0.0],
                [
                    ::quadrants::macro_support::body::Identity::STATED,
                    ::quadrants::macro_support::body::identity_of(probe1),
                    ::quadrants::macro_support::body::Identity::STATED,
                ],
                [],
            )
        };
        const __IDENTITIES: [&'static ::quadrants::macro_support::body::Identity; 3usize] = __PROBED
            .2;
        const __TYPES: [::quadrants::macro_support::ir::types::Type; 2usize] = __PROBED
            .0;
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
            consts: &[],
        };
        (&__SOURCE, &__IDENTITIES)
    };
    #[allow(unused)]
    #[doc(hidden)]
    pub fn __callee() -> ::quadrants::macro_support::body::Callee {
        ::quadrants::macro_support::body::Callee::Func(Self::__FOUND.0)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __callee_of<__F: ::quadrants::macro_support::core::ops::Fn(f32) -> f32>(
        _: &::quadrants::macro_support::body::Probe<__F>,
    ) -> (
        fn() -> ::quadrants::macro_support::body::Callee,
        &'static ::quadrants::macro_support::body::Identity,
    ) {
        (Self::__callee, Self::__types())
    }
}
