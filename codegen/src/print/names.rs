//! Names in the printed text: the source's own, made unique where C++ or shadowing needs it.

use std::collections::{HashMap, HashSet};

use quadrants_ir::{Param, ParamKind};

/// Hands out names that are unique within one function.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    counts: HashMap<String, u32>,
}

/// The names of one parameter: of its value or address, and of its extents.
#[derive(Clone, Debug)]
pub(super) struct ParamNames {
    pub(super) value: String,
    pub(super) dims: Vec<String>,
    /// Of a component: how many scalars an element has of it, where that is more than one.
    pub(super) choices: Option<String>,
    /// Of a component: the distances from one element and from one scalar to the next.
    pub(super) strides: Option<[String; 2]>,
}

impl ParamNames {
    /// What stands behind the address in the argument block.
    pub(super) fn words(&self) -> impl Iterator<Item = &String> {
        self.dims.iter().chain(&self.choices).chain(self.strides.iter().flatten())
    }
}

impl Names {
    /// `wanted` itself where it is free and no reserved word, else with a number behind it.
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

/// Names for a kernel's parameters, and what remains for the locals of each of its functions.
pub(super) fn name_params(params: &[Param]) -> (Vec<ParamNames>, Names) {
    let mut names = Names::default();
    let params = params
        .iter()
        .map(|param| {
            let value = names.unique(&param.name);
            let dims = (0..param.kind.rank()).map(|axis| format!("{value}_dim{axis}"));
            let dims = dims.map(|name| names.unique(&name)).collect();
            let choices = param.kind.choices().map(|_| names.unique(&format!("{value}_scalars")));
            let strides = matches!(param.kind, ParamKind::Component { .. })
                .then(|| ["step", "plane"].map(|name| names.unique(&format!("{value}_{name}"))));
            ParamNames { value, dims, choices, strides }
        })
        .collect();
    (params, names)
}

/// `name` with everything that is not allowed in every C++ compiler's identifiers spelt out.
fn identifier(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for (i, c) in name.chars().enumerate() {
        match c {
            'a'..='z' | 'A'..='Z' | '_' => text.push(c),
            '0'..='9' if i > 0 => text.push(c),
            // `particles[].place`
            '[' | ']' => {}
            '.' => text.push('_'),
            _ => text.push_str(&format!("u{:x}_", u32::from(c))),
        }
    }
    if text.is_empty() { "unnamed".to_owned() } else { text }
}

/// Words that a local must not be called: our own, C++'s, and what compilers for devices predefine.
fn is_reserved(name: &str) -> bool {
    name.starts_with("qd_")
        || name.starts_with("__")
        || RESERVED.binary_search(&name).is_ok()
        || is_library_function(name)
}

/// Functions that printed expressions call, and that a local of the same name would hide.
fn is_library_function(name: &str) -> bool {
    let base = name.strip_suffix('f').unwrap_or(name);
    name.starts_with("atomic")
        || [base, name].iter().any(|name| super::expr::LIBRARY_FUNCTIONS.contains(name))
}

/// Sorted, for the search.
const RESERVED: &[&str] = &[
    "INFINITY",
    "NAN",
    "NULL",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "args",
    "asm",
    "assert",
    "auto",
    "bitand",
    "bitor",
    "blockDim",
    "blockIdx",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "f16",
    "f32",
    "f64",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "gridDim",
    "hipBlockDim_x",
    "i16",
    "i32",
    "i64",
    "i8",
    "if",
    "inline",
    "int",
    "linux",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "threadIdx",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "u16",
    "u32",
    "u64",
    "u8",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "warpSize",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserved_words_are_sorted() {
        assert!(RESERVED.is_sorted());
    }

    #[test]
    fn names_stay_where_they_can() {
        let mut names = Names::default();
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
