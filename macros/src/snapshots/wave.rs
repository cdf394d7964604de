#[allow(clippy::used_underscore_binding)]
#[inline(always)]
fn wave(x: f32) -> f32 {
    <wave>::__call(x)
}
#[allow(non_camel_case_types)]
#[doc(hidden)]
struct wave {}
impl wave {
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
    pub fn __call(x: f32) -> f32 {
        const __OK: bool = {
            let _ = <wave>::__FOUND;
            true
        };
        const __CHECKED: bool = true;
        #[allow(unused_imports)]
        use ::quadrants::__private::body::in_scope::*;
        { (x * 0.01).sin() }
    }
    #[allow(unused)]
    #[doc(hidden)]
    const __FOUND: &'static ::quadrants::__private::frontend::Source = {
        const __PROBED: (
            [::quadrants::__private::ir::types::Type; 1usize],
            [fn() -> &'static ::quadrants::__private::frontend::Source; 0usize],
        ) = {
            #[allow(unused_imports)]
            use ::quadrants::__private::body::in_scope::*;
            #[allow(
                unused_unsafe,
                unused_variables,
                unused_assignments,
                unused_qualifications,
                clippy::no_effect,
                clippy::unnecessary_operation
            )]
            let _ = |x: f32| -> f32 { (x * 0.01).sin() };
            ([<f32 as ::quadrants::__private::Device>::LAYOUT], [])
        };
        const __TYPES: [::quadrants::__private::ir::types::Type; 1usize] = __PROBED.0;
        const __PARAMS: [::quadrants::__private::ir::types::ParamType; 1usize] = [
            ::quadrants::__private::body::value_type::<f32>(),
        ];
        const __OK: bool = {
            let _ = (__TYPES, __PARAMS);
            true
        };
        static __SOURCE: ::quadrants::__private::frontend::Source = ::quadrants::__private::frontend::Source {
            file: ::core::file!(),
            tree: b"...",
            params: || __PARAMS.to_vec(),
            types: || __TYPES.to_vec(),
            funcs: &[],
            consts: &[],
        };
        &__SOURCE
    };
    #[allow(unused)]
    #[doc(hidden)]
    pub fn __source() -> &'static ::quadrants::__private::frontend::Source {
        Self::__FOUND
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __source_of<__F: ::core::ops::Fn(f32) -> f32>(
        _: &::quadrants::__private::body::Probe<__F>,
    ) -> fn() -> &'static ::quadrants::__private::frontend::Source {
        Self::__source
    }
}
