//! Names of the built-in methods and functions of kernel values.

use quadrants_ir::MathFn;

/// Methods of numbers, in addition to those of [`MathFn`].
const NUMBER_METHODS: [&str; 51] = [
    "wrapping_add",
    "wrapping_sub",
    "wrapping_mul",
    "wrapping_neg",
    "wrapping_shl",
    "wrapping_shr",
    "saturating_add",
    "saturating_sub",
    "rotate_left",
    "rotate_right",
    "swap_bytes",
    "reverse_bits",
    "count_ones",
    "count_zeros",
    "leading_ones",
    "leading_zeros",
    "trailing_ones",
    "trailing_zeros",
    "is_power_of_two",
    "next_power_of_two",
    "is_multiple_of",
    "next_multiple_of",
    "div_euclid",
    "rem_euclid",
    "div_ceil",
    "midpoint",
    "ilog2",
    "isqrt",
    "pow",
    "clamp",
    "signum",
    "abs_diff",
    "unsigned_abs",
    "is_positive",
    "is_negative",
    "recip",
    "log",
    "sin_cos",
    "fract",
    "copysign",
    "to_radians",
    "to_degrees",
    "is_nan",
    "is_finite",
    "is_infinite",
    "is_sign_negative",
    "is_sign_positive",
    "to_bits",
    "from_bits",
    "total_cmp",
    "cmp",
];

/// Methods of `Ordering`.
const ORDERING_METHODS: [&str; 8] =
    ["is_eq", "is_ne", "is_lt", "is_gt", "is_le", "is_ge", "reverse", "then"];

/// Methods of vectors and matrices, and `len` of arrays.
const LINALG_METHODS: [&str; 12] = [
    "dot",
    "cross",
    "norm",
    "norm_squared",
    "normalized",
    "sum",
    "component_mul",
    "transpose",
    "trace",
    "determinant",
    "inverse",
    "len",
];

/// Associated functions of vectors and matrices.
const LINALG_FUNCTIONS: [&str; 4] = ["splat", "zero", "identity", "diagonal"];

/// The method with which the macros make `map` of a vector: a vector of the same length, whose components all are the
/// argument. Of an array likewise.
pub const FILLED: &str = "__filled";

/// The types `t` of the conversions `from_t` and `to_t` of numbers.
pub const CONVERSIONS: [&str; 7] = ["f32", "f64", "i32", "i64", "u32", "u64", "usize"];

/// The names of the built-in methods of numbers, `Ordering`, arrays, vectors and matrices. Some have several.
pub fn builtin_methods() -> impl Iterator<Item = &'static str> {
    let numbers = MathFn::ALL.into_iter().map(MathFn::name).chain(NUMBER_METHODS);
    numbers.chain(ORDERING_METHODS).chain(LINALG_METHODS)
}

/// The names of the built-in associated functions of vectors and matrices.
pub fn builtin_functions() -> impl Iterator<Item = &'static str> {
    LINALG_FUNCTIONS.into_iter()
}

/// Whether `name` is a built-in method of numbers, arrays, vectors or matrices.
#[must_use]
pub fn is_builtin_method(name: &str) -> bool {
    builtin_methods().any(|known| known == name) || name == FILLED
}

/// Whether `name` is a built-in associated function of vectors or matrices.
#[must_use]
pub fn is_builtin_function(name: &str) -> bool {
    builtin_functions().any(|known| known == name)
}
