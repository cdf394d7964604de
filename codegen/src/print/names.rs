//! Unique names: the names of the source, changed where C++ or shadowing requires it.

use std::collections::{HashMap, HashSet};

use quadrants_ir::{Param, ParamKind};

/// Allocates names that are unique within a function.
#[derive(Clone, Debug, Default)]
pub(super) struct NameAllocator {
    taken: HashSet<String>,
    counts: HashMap<String, u32>,
}

/// The names of a parameter: of its value or address, and of its other words.
#[derive(Clone, Debug)]
pub(super) struct ParamNames {
    pub(super) value: String,
    pub(super) dims: Vec<String>,
    /// For a component: the number of scalars per element, if it is more than one.
    pub(super) component_extent: Option<String>,
    /// For a component: the step and the plane.
    pub(super) strides: Option<[String; 2]>,
    /// For a strided parameter: the distance between neighbours along each axis.
    pub(super) element_strides: Vec<String>,
}

impl ParamNames {
    /// The words after the address in the argument block.
    pub(super) fn words(&self) -> impl Iterator<Item = &String> {
        let strides = self.strides.iter().flatten().chain(&self.element_strides);
        self.dims.iter().chain(&self.component_extent).chain(strides)
    }
}

impl NameAllocator {
    /// `wanted` if it is free and not reserved, else with a number appended.
    pub(super) fn unique(&mut self, wanted: &str) -> String {
        let base = identifier(wanted);
        if !is_reserved(&base) && self.taken.insert(base.clone()) {
            return base;
        }
        let count = self.counts.entry(base.clone()).or_default();
        loop {
            *count += 1;
            let name = format!("{base}_{count}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// The names of a kernel's parameters, and an allocator for the locals of its functions.
pub(super) fn name_params(params: &[Param]) -> (Vec<ParamNames>, NameAllocator) {
    let mut names = NameAllocator::default();
    let params = params
        .iter()
        .map(|param| {
            let value = names.unique(&param.name);
            let dims = (0..param.kind.rank()).map(|axis| format!("{value}_dim{axis}"));
            let dims = dims.map(|name| names.unique(&name)).collect();
            let component_extent =
                param.kind.component_extent().map(|_| names.unique(&format!("{value}_scalars")));
            let strides = matches!(param.kind, ParamKind::Component { .. })
                .then(|| ["step", "plane"].map(|name| names.unique(&format!("{value}_{name}"))));
            let element_strides = (0..param.strides()).map(|axis| format!("{value}_stride{axis}"));
            let element_strides = element_strides.map(|name| names.unique(&name)).collect();
            ParamNames { value, dims, component_extent, strides, element_strides }
        })
        .collect();
    (params, names)
}

/// Replaces all characters that are not portable in C++ identifiers.
fn identifier(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for (i, c) in name.chars().enumerate() {
        match c {
            'a'..='z' | 'A'..='Z' | '_' => text.push(c),
            '0'..='9' if i > 0 => text.push(c),
            // In the name of a component: `particles[].place`.
            '[' | ']' => {}
            '.' => text.push('_'),
            _ => text.push_str(&format!("u{:x}_", u32::from(c))),
        }
    }
    if text.is_empty() { "unnamed".to_owned() } else { text }
}

/// Whether a local cannot have this name: the printer's own names, C++ keywords, and names that device compilers
/// predefine.
fn is_reserved(name: &str) -> bool {
    name.starts_with("qd_")
        || name.starts_with("__")
        || RESERVED.split_whitespace().any(|word| word == name)
        || is_library_function(name)
}

/// Whether printed expressions call a function of this name, which a local would hide.
fn is_library_function(name: &str) -> bool {
    let base = name.strip_suffix('f').unwrap_or(name);
    name.starts_with("atomic") || [base, name].iter().any(|name| LIBRARY_FUNCTIONS.contains(name))
}

/// The library functions that expressions call, without the suffix `f` of the single-precision versions.
const LIBRARY_FUNCTIONS: &[&str] = &[
    "sqrt", "sin", "cos", "tan", "exp", "log", "pow", "fabs", "fmin", "fmax", "floor", "ceil",
    "round", "fma", "atan2", "tanh", "fmod", "trunc", "exp2", "log2", "log10", "cbrt", "asin",
    "acos", "atan", "sinh", "cosh", "hypot", "expm1", "log1p", "asinh", "acosh", "atanh", "rint",
];

/// Sorted words.
const RESERVED: &str = "
    INFINITY NAN NULL alignas alignof and and_eq args asm assert auto bitand bitor blockDim
    blockIdx bool break case catch char char16_t char32_t char8_t class co_await co_return
    co_yield compl concept const const_cast consteval constexpr constinit continue decltype
    default delete do double dynamic_cast else enum errno explicit export extern f16 f32 f64 false
    float for friend goto gridDim hipBlockDim_x i16 i32 i64 i8 if inline int linux long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct
    switch template this threadIdx thread_local throw true try typedef typeid typename typeof u16
    u32 u64 u8 union unix unsigned using virtual void volatile warpSize wchar_t while xor xor_eq
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserved_words_are_sorted() {
        assert!(RESERVED.split_whitespace().is_sorted());
    }

    #[test]
    fn names_stay_where_they_can() {
        let mut names = NameAllocator::default();
        assert_eq!(names.unique("x"), "x");
        assert_eq!(names.unique("x"), "x_1");
        assert_eq!(names.unique("x_1"), "x_1_1");
        assert_eq!(names.unique("x"), "x_2");
        assert_eq!(names.unique("int"), "int_1");
        assert_eq!(names.unique("sinf"), "sinf_1");
        assert_eq!(names.unique("qd_fail"), "qd_fail_1");
        assert_eq!(names.unique("größe"), "gruf6_udf_e");
        assert_eq!(names.unique(""), "unnamed");
    }
}
