//! The C++ names of scalar types.

use quadrants_ir::ScalarType;

/// Definitions of the type names, since no headers are included.
pub(super) const TYPEDEFS: &str = "\
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef unsigned short f16;
";

/// The type of a value in a register.
pub(super) const fn name(ty: ScalarType) -> &'static str {
    ty.name()
}

/// The type of a tensor's element in memory. A bool is a byte, because uninitialized memory may hold any value.
pub(super) const fn element(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "u8",
        _ => ty.name(),
    }
}

/// The unsigned type of the same width, in which arithmetic wraps.
pub(super) const fn unsigned(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::I8 => ScalarType::U8,
        ScalarType::I16 => ScalarType::U16,
        ScalarType::I32 => ScalarType::U32,
        ScalarType::I64 => ScalarType::U64,
        _ => ty,
    }
}
