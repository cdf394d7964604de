//! The types that atomics and block collectives support, and the operations of each.

use std::sync::atomic::{
    AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::Relaxed,
};

use quadrants_ir::ExactFloat;

use super::{
    accumulate::{Accumulate, AccumulateBits, AccumulateMinMax},
    element::Element,
};

/// A type that [`atomic_add`](crate::dsl::atomic_add) supports: `f32`, `f64`, `i32`, `i64`, `u32`, `u64`, `usize`,
/// `isize`.
#[diagnostic::on_unimplemented(
    message = "`atomic_add` is not defined for `{Self}`",
    note = "supported types: `f32`, `f64`, `i32`, `i64`, `u32`, `u64`, `usize`, `isize`; of a vector or struct, add to \
            each part: `qd::atomic_add(&mut t[i][k], v[k])`"
)]
pub trait AtomicAdd: Element + Accumulate {
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn fetch_add(element: *mut Self, value: Self) -> Self;
}

/// A type that [`atomic_min`](crate::dsl::atomic_min) and [`atomic_max`](crate::dsl::atomic_max) support: `f32`, `f64`,
/// `i32`, `i64`, `u32`, `u64`, `usize`, `isize`.
#[diagnostic::on_unimplemented(
    message = "`atomic_min` and `atomic_max` are not defined for `{Self}`",
    note = "supported types: `f32`, `f64`, `i32`, `i64`, `u32`, `u64`, `usize`, `isize`"
)]
pub trait AtomicMinMax: Element + AccumulateMinMax {
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn fetch_min(element: *mut Self, value: Self) -> Self;
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn fetch_max(element: *mut Self, value: Self) -> Self;
}

/// A type that [`atomic_and`](crate::dsl::atomic_and), [`atomic_or`](crate::dsl::atomic_or) and
/// [`atomic_xor`](crate::dsl::atomic_xor) support: `bool`, `i32`, `i64`, `u32`, `u64`, `usize`, `isize`.
#[diagnostic::on_unimplemented(
    message = "`atomic_and`, `atomic_or` and `atomic_xor` are not defined for `{Self}`",
    note = "supported types: `bool`, `i32`, `i64`, `u32`, `u64`, `usize`, `isize`"
)]
pub trait AtomicBits: Element + AccumulateBits {
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn fetch_and(element: *mut Self, value: Self) -> Self;
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn fetch_or(element: *mut Self, value: Self) -> Self;
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn fetch_xor(element: *mut Self, value: Self) -> Self;
}

/// A type that [`atomic_exchange`](crate::dsl::atomic_exchange) and
/// [`atomic_compare_exchange`](crate::dsl::atomic_compare_exchange) support: `f32`, `f64`, `i32`, `i64`, `u32`, `u64`,
/// `usize`, `isize`.
#[diagnostic::on_unimplemented(
    message = "`atomic_exchange` and `atomic_compare_exchange` are not defined for `{Self}`",
    note = "supported types: `f32`, `f64`, `i32`, `i64`, `u32`, `u64`, `usize`, `isize`"
)]
pub trait AtomicExchange: Element {
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn exchange(element: *mut Self, value: Self) -> Self;
    /// # Safety
    /// `element` must be valid for atomic reads and writes.
    #[doc(hidden)]
    unsafe fn compare_exchange(element: *mut Self, expected: Self, value: Self) -> Self;
    #[doc(hidden)]
    fn same_bits(self, other: Self) -> bool;
}

/// A type that block collectives combine: `f32`, `f64`, `i32`, `i64`, `u32`, `u64`, `usize`, `isize`.
#[diagnostic::on_unimplemented(
    message = "the threads of a block cannot combine values of type `{Self}`",
    note = "supported types: `f32`, `f64`, `i32`, `i64`, `u32`, `u64`, `usize`, `isize`"
)]
pub trait Combine: AtomicAdd + AtomicMinMax {
    #[doc(hidden)]
    const ZERO: Self;
    #[doc(hidden)]
    const SMALLEST: Self;
    #[doc(hidden)]
    const LARGEST: Self;
}

macro_rules! atomic_bits {
    ($ty:ty, $atomic:ident) => {
        impl AtomicBits for $ty {
            #[inline(always)]
            unsafe fn fetch_and(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(element) }.fetch_and(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn fetch_or(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(element) }.fetch_or(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn fetch_xor(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(element) }.fetch_xor(value, Relaxed)
            }
        }
    };
}

impl AtomicBits for bool {
    // As bytes, because the bool of a tensor may have any bits.
    #[inline(always)]
    unsafe fn fetch_and(element: *mut Self, value: Self) -> Self {
        let bits = if value { u8::MAX } else { 0 };
        // SAFETY: the caller's promise; a bool is a byte.
        unsafe { AtomicU8::from_ptr(element.cast()) }.fetch_and(bits, Relaxed) != 0
    }
    #[inline(always)]
    unsafe fn fetch_or(element: *mut Self, value: Self) -> Self {
        // SAFETY: as above.
        unsafe { AtomicU8::from_ptr(element.cast()) }.fetch_or(value.into(), Relaxed) != 0
    }
    #[inline(always)]
    unsafe fn fetch_xor(element: *mut Self, value: Self) -> Self {
        // SAFETY: as above.
        unsafe { AtomicU8::from_ptr(element.cast()) }.fetch_xor(value.into(), Relaxed) != 0
    }
}

macro_rules! integers {
    ($($int:ty, $atomic:ident;)*) => {$(
        impl AtomicAdd for $int {
            #[inline(always)]
            unsafe fn fetch_add(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(element) }.fetch_add(value, Relaxed)
            }
        }

        impl AtomicMinMax for $int {
            #[inline(always)]
            unsafe fn fetch_min(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(element) }.fetch_min(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn fetch_max(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(element) }.fetch_max(value, Relaxed)
            }
        }

        atomic_bits! { $int, $atomic }

        impl AtomicExchange for $int {
            #[inline(always)]
            unsafe fn exchange(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(element) }.swap(value, Relaxed)
            }
            #[inline(always)]
            unsafe fn compare_exchange(element: *mut Self, expected: Self, value: Self) -> Self {
                // SAFETY: the caller's promise.
                let element = unsafe { $atomic::from_ptr(element) };
                element.compare_exchange(expected, value, Relaxed, Relaxed).unwrap_or_else(|old| old)
            }
            #[inline(always)]
            fn same_bits(self, other: Self) -> bool {
                self == other
            }
        }
    )*};
}

/// Replaces a float in memory by `update` of it, atomically; returns the old one. Writes nothing if its bits stay.
macro_rules! fetch_update {
    ($atomic:ident, $element:expr, |$old:ident| $update:expr) => {{
        // SAFETY: the caller's promise; the integer has the float's size and alignment.
        let bits = unsafe { $atomic::from_ptr($element.cast()) };
        let mut seen = bits.load(Relaxed);
        loop {
            let $old = Self::from_bits(seen);
            let new = $update.to_bits();
            if new == seen {
                return $old;
            }
            match bits.compare_exchange_weak(seen, new, Relaxed, Relaxed) {
                Ok(_) => return $old,
                Err(now) => seen = now,
            }
        }
    }};
}

macro_rules! floats {
    ($($float:ty, $atomic:ident;)*) => {$(
        impl AtomicAdd for $float {
            #[inline(always)]
            unsafe fn fetch_add(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise; the integer has the float's size and alignment.
                let bits = unsafe { $atomic::from_ptr(element.cast()) };
                let mut old = bits.load(Relaxed);
                loop {
                    let new = (Self::from_bits(old) + value).to_bits();
                    match bits.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                        Ok(_) => return Self::from_bits(old),
                        Err(now) => old = now,
                    }
                }
            }
        }

        impl AtomicMinMax for $float {
            #[inline(always)]
            unsafe fn fetch_min(element: *mut Self, value: Self) -> Self {
                fetch_update!($atomic, element, |old| old.minimum_number(value))
            }
            #[inline(always)]
            unsafe fn fetch_max(element: *mut Self, value: Self) -> Self {
                fetch_update!($atomic, element, |old| old.maximum_number(value))
            }
        }

        impl AtomicExchange for $float {
            #[inline(always)]
            unsafe fn exchange(element: *mut Self, value: Self) -> Self {
                // SAFETY: the caller's promise; the integer has the float's size and alignment.
                let bits = unsafe { $atomic::from_ptr(element.cast()) };
                Self::from_bits(bits.swap(value.to_bits(), Relaxed))
            }
            #[inline(always)]
            unsafe fn compare_exchange(element: *mut Self, expected: Self, value: Self) -> Self {
                // SAFETY: as above.
                let bits = unsafe { $atomic::from_ptr(element.cast()) };
                let (expected, value) = (expected.to_bits(), value.to_bits());
                let old = bits.compare_exchange(expected, value, Relaxed, Relaxed);
                Self::from_bits(old.unwrap_or_else(|old| old))
            }
            #[inline(always)]
            fn same_bits(self, other: Self) -> bool {
                self.to_bits() == other.to_bits()
            }
        }
    )*};
}

integers! {
    i32, AtomicI32;
    i64, AtomicI64;
    isize, AtomicIsize;
    u32, AtomicU32;
    u64, AtomicU64;
    usize, AtomicUsize;
}

floats! {
    f32, AtomicU32;
    f64, AtomicU64;
}

macro_rules! combine {
    ($($ty:ty)*, $zero:literal, $smallest:expr, $largest:expr) => {$(
        impl Combine for $ty {
            const ZERO: Self = $zero;
            const SMALLEST: Self = $smallest;
            const LARGEST: Self = $largest;
        }
    )*};
}

combine!(i32 i64 isize u32 u64 usize, 0, Self::MIN, Self::MAX);
combine!(f32 f64, 0.0, Self::NEG_INFINITY, Self::INFINITY);
