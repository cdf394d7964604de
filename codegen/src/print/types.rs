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

/// The type of a tensor's element in memory. A bool is a byte, because uninitialized memory may hold any value.
pub(super) const fn element(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "u8",
        _ => ty.name(),
    }
}
