#[allow(clippy::used_underscore_binding)]
#[inline(always)]
fn wave(x: f32) -> f32 {
    <wave>::__call(x)
}
#[allow(non_camel_case_types)]
#[doc(hidden)]
struct wave {}
unsafe impl ::quadrants::__private::body::Func for wave {}
impl ::quadrants::__private::body::SiteTable for wave {
    const IDENTITIES: &'static [&'static ::quadrants::__private::body::Identity] = <wave>::__FOUND
        .1;
}
impl wave {
    #[allow(unused, clippy::too_many_arguments)]
    #[doc(hidden)]
    #[inline(always)]
    pub fn __call_at<
        __Sites: ::quadrants::__private::body::SiteTable,
        const __SITE: ::quadrants::__private::core::primitive::usize,
        const __CHECKED: ::quadrants::__private::core::primitive::bool,
        __F: ::quadrants::__private::core::ops::Fn(f32) -> f32,
    >(
        _: ::quadrants::__private::body::CallSite<__Sites, __SITE, __CHECKED, __F>,
        x: f32,
    ) -> f32 {
        const {
            ::quadrants::__private::body::check_site::<__Sites, __SITE>(Self::__types())
        }
        Self::__call(x)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __types() -> &'static ::quadrants::__private::body::Identity {
        const {
            &::quadrants::__private::body::Identity {
                name: "func",
                parts: &[
                    ::quadrants::__private::body::Part::Type(
                        <f32 as ::quadrants::__private::KernelValue>::TYPE_IDENTITY,
                    ),
                    ::quadrants::__private::body::Part::Type(
                        <f32 as ::quadrants::__private::body::FuncResult>::RESULT_IDENTITY,
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
        const __OK: ::quadrants::__private::core::primitive::bool = {
            let _ = <wave>::__FOUND;
            true
        };
        const __CHECKED: ::quadrants::__private::core::primitive::bool = true;
        {
            ::quadrants::__private::body::call::<
                9387930553559073965u64,
                _,
                _,
            >(
                ::quadrants::__private::body::typed::<
                    _,
                    wave,
                    1,
                >(::quadrants::__private::body::gate::<__OK, _>(x * 0.01)),
                (),
            )
        }
    }
    #[allow(unused)]
    #[doc(hidden)]
    const __FOUND: (
        &'static ::quadrants::__private::frontend::Source,
        &'static [&'static ::quadrants::__private::body::Identity],
    ) = {
        const __PROBED: (
            [::quadrants::__private::ir::types::Type; 2usize],
            [fn() -> ::quadrants::__private::body::Callee; 1usize],
            [&'static ::quadrants::__private::body::Identity; 3usize],
            [::quadrants::__private::core::primitive::bool; 0usize],
        ) = {
            #[allow(unused_imports)]
            use ::quadrants::__private::body::in_scope::*;
            let probe1 = &::quadrants::__private::body::Probe::new();
            let result0 = &::quadrants::__private::body::Probe::new();
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
            let _ = |x: f32| -> f32 { result0.pass(probe1.pass(x * 0.01).sin()) };
            let __calls = (
                (
                    ::quadrants::__private::body::method_of::<
                        9387930553559073965u64,
                        _,
                        _,
                    >(probe1, result0),
                    ::quadrants::__private::body::Identity::STATED,
                ),
            );
            (
                [
                    <f32 as ::quadrants::__private::KernelValue>::LAYOUT,
                    ::quadrants::__private::body::type_of(probe1),
                ],
                [__calls.0.0],
                [
                    ::quadrants::__private::body::Identity::STATED,
                    ::quadrants::__private::body::identity_of(probe1),
                    ::quadrants::__private::body::Identity::STATED,
                ],
                [],
            )
        };
        const __IDENTITIES: [&'static ::quadrants::__private::body::Identity; 3usize] = __PROBED
            .2;
        const __TYPES: [::quadrants::__private::ir::types::Type; 2usize] = __PROBED.0;
        const __PARAMS: [::quadrants::__private::ir::types::ParamType; 1usize] = [
            ::quadrants::__private::ir::types::ParamType::Value(
                <f32 as ::quadrants::__private::KernelValue>::LAYOUT,
            ),
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
            funcs: &[__PROBED.1[0usize]],
            consts: &[],
        };
        (&__SOURCE, &__IDENTITIES)
    };
    #[allow(unused)]
    #[doc(hidden)]
    pub fn __callee() -> ::quadrants::__private::body::Callee {
        ::quadrants::__private::body::Callee::Func(Self::__FOUND.0)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __callee_of<__F: ::quadrants::__private::core::ops::Fn(f32) -> f32>(
        _: &::quadrants::__private::body::Probe<__F>,
    ) -> (
        fn() -> ::quadrants::__private::body::Callee,
        &'static ::quadrants::__private::body::Identity,
    ) {
        (Self::__callee, Self::__types())
    }
}
