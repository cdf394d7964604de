//! Device errors that CPU bodies raise as panics: failed assertions, divisions by zero, and indices of local values
//! that are out of range.

use std::{
    any::TypeId,
    cell::Cell,
    panic::{Location, resume_unwind},
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ErrorKind {
    Index = 0,
    Assert = 1,
    DivideByZero = 2,
    Bounds = 3,
    /// An index of a local value, or of an array in an element of a tensor. Values: the index.
    ArrayIndex = 4,
}

/// The panic payload of a device error.
pub(crate) struct RaisedError {
    pub(crate) kind: ErrorKind,
    pub(crate) location: &'static Location<'static>,
    pub(crate) values: Vec<u64>,
}

thread_local! {
    pub(crate) static IN_BODY: Cell<u32> = const { Cell::new(0) };
}

/// `assert!` in serial code and in funcs: reports a device error and ends the caller's chunk of the loop. In an
/// iteration itself, `assert!` is [`Cx::holds`](crate::body::Cx::holds).
///
/// # Panics
/// Outside of kernels, as `assert!` does.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn check(condition: bool, message: &'static str) {
    if !condition {
        raise(ErrorKind::Assert, Vec::new(), || format!("assertion failed: {message}"));
    }
}

/// Checks the divisor of `/` and `%` in a kernel: zero of an integer type is a device error.
///
/// Takes any type, because the macro that emits the call does not know the operands' types.
///
/// # Panics
/// Outside of kernels, as the division would.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn divisor<T: Copy + 'static>(value: T) -> T {
    if is_zero_int(value) {
        raise(ErrorKind::DivideByZero, Vec::new(), || "attempt to divide by zero".to_owned());
    }
    value
}

/// A type that can be indexed in kernels. An index of a local array, vector or matrix that is out of range is a device
/// error, as on GPUs. Tensors and shared arrays check their indices themselves.
pub trait Bounded<I> {
    /// Returns the index if it is in range.
    ///
    /// # Panics
    /// If it is out of range: in a kernel with a device error, as [`check`] does.
    fn bounded(&self, index: I) -> I;
}

impl<T, const N: usize> Bounded<usize> for [T; N] {
    #[inline(always)]
    #[track_caller]
    fn bounded(&self, index: usize) -> usize {
        check_index(index, N)
    }
}

/// Checks the index of a local array or vector of `len` elements.
///
/// # Panics
/// If it is out of range: in a kernel with a device error, as [`check`] does.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn check_index(index: usize, len: usize) -> usize {
    let [index] = check_indices([index], [len]);
    index
}

/// Checks the indices of a local array, vector or matrix with these extents.
///
/// # Panics
/// If one is out of range: in a kernel with a device error, as [`check`] does.
#[inline(always)]
#[track_caller]
pub(crate) fn check_indices<const N: usize>(index: [usize; N], shape: [usize; N]) -> [usize; N] {
    if !index.iter().zip(shape).all(|(index, extent)| *index < extent) {
        raise_index(&index, &shape);
    }
    index
}

#[cold]
#[inline(never)]
#[track_caller]
fn raise_index(index: &[usize], shape: &[usize]) -> ! {
    let values = index.iter().map(|index| *index as u64).collect();
    raise(ErrorKind::ArrayIndex, values, || {
        format!("index {index:?} is out of range for the shape {shape:?}")
    })
}

#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn raise(kind: ErrorKind, values: Vec<u64>, message: impl FnOnce() -> String) -> ! {
    if IN_BODY.get() == 0 {
        // A func called by ordinary host code: an ordinary panic.
        panic!("{}", message());
    }
    // Without the panic hook, which would print what the launch returns as an error.
    resume_unwind(Box::new(RaisedError { kind, location: Location::caller(), values }))
}

/// Checks the divisor of `dividend / value` and `dividend % value`, as [`divisor`]. If the quotient would overflow
/// (`MIN / -1`), it returns 1: dividing by 1 gives the wrapped result, as on GPUs.
///
/// # Panics
/// As [`divisor`].
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn divisor_of<A: Copy + 'static, T: Copy + 'static>(dividend: &A, value: T) -> T {
    macro_rules! wrapping {
        ($($int:ty)*) => {
            $(if TypeId::of::<T>() == TypeId::of::<$int>() && TypeId::of::<A>() == TypeId::of::<$int>() {
                // SAFETY: the types are the same.
                let (a, b): ($int, $int) = unsafe {
                    (std::mem::transmute_copy(dividend), std::mem::transmute_copy(&value))
                };
                let safe: $int = if a == <$int>::MIN && b == -1 { 1 } else { b };
                // SAFETY: as above.
                return divisor(unsafe { std::mem::transmute_copy::<$int, T>(&safe) });
            })*
        };
    }
    wrapping!(i8 i16 i32 i64 isize);
    divisor(value)
}

/// Whether `value` is zero and of an integer type. The type is known at compile time, so at most one comparison
/// remains.
#[inline(always)]
fn is_zero_int<T: Copy + 'static>(value: T) -> bool {
    macro_rules! any {
        ($($int:ty)*) => {
            false $(|| (TypeId::of::<T>() == TypeId::of::<$int>() && {
                // SAFETY: the types are the same.
                unsafe { std::mem::transmute_copy::<T, $int>(&value) == 0 }
            }))*
        };
    }
    any!(i8 u8 i16 u16 i32 u32 i64 u64 isize usize)
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn an_overflowing_quotient_wraps() {
        for (a, b) in [(i32::MIN, -1), (i32::MIN, 2), (7, -1), (-7, 2)] {
            assert_eq!(a / divisor_of(&a, b), a.wrapping_div(b));
            assert_eq!(a % divisor_of(&a, b), a.wrapping_rem(b));
        }
        assert_eq!(i8::MIN / divisor_of(&i8::MIN, -1), i8::MIN);
        assert_eq!(divisor_of(&1.0_f32, -1.0_f32), -1.0);
    }

    #[test]
    fn only_integer_zero_divisors_are_errors() {
        assert_eq!(divisor(0.0_f32), 0.0);
        assert_eq!(divisor(3_u64), 3);
        assert!(!divisor(false));
        for zero in [
            catch_unwind(|| divisor(0_i32) == 0),
            catch_unwind(|| divisor(0_u32) == 0),
            catch_unwind(|| divisor(0_i64) == 0),
            catch_unwind(|| divisor(0_u64) == 0),
            catch_unwind(|| divisor(0_usize) == 0),
        ] {
            assert!(zero.is_err());
        }
    }
}
