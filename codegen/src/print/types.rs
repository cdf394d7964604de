//! The printed names of scalar types.

use quadrants_ir::ScalarType;

/// The definitions of the names; there are no headers to take them from.
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

/// The type of a tensor's element: a bool is a byte there, which memory that was never written may
/// hold any value of.
pub(super) const fn element(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "u8",
        _ => ty.name(),
    }
}

/// The unsigned type of an integer type's width, in which arithmetic wraps.
pub(super) const fn unsigned(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::I8 => ScalarType::U8,
        ScalarType::I16 => ScalarType::U16,
        ScalarType::I32 => ScalarType::U32,
        ScalarType::I64 => ScalarType::U64,
        _ => ty,
    }
}
