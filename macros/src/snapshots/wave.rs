#[inline(always)]
fn wave(x: f32) -> f32 {
    #[allow(unused_imports)]
    use ::quadrants::__private::body::in_scope::*;
    { (x * 0.01).sin() }
}
#[allow(non_camel_case_types)]
#[doc(hidden)]
struct wave {}
impl wave {
    #[allow(unused)]
    #[doc(hidden)]
    #[inline(always)]
    pub fn __call(x: f32) -> f32 {
        wave(x)
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub fn __source() -> &'static ::quadrants::__private::frontend::Source {
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
    }
    #[allow(unused)]
    #[doc(hidden)]
    pub const fn __source_of<__F>(
        _: &::quadrants::__private::body::Probe<__F>,
    ) -> fn() -> &'static ::quadrants::__private::frontend::Source {
        Self::__source
    }
}
