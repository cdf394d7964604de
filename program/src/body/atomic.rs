//! Atomic operations of CPU bodies: `atomic_add` and the others of kernels, on an [`ElementRef`].
//!
//! They never go through `&mut`, because many iterations refer to the same element at once.

use super::element_ref::ElementRef;
use crate::value::atomic::{AtomicAdd, AtomicBits, AtomicExchange, AtomicMinMax};

/// Adds `value` and returns the old element; does nothing and returns zero if the reference is out of range.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn atomic_add<T: AtomicAdd>(element: ElementRef<T>, value: T) -> T {
    // SAFETY: a reference to an element of a tensor or shared array; the loop's iterations access it only atomically.
    element.address().map_or_else(T::default, |address| unsafe { T::fetch_add(address, value) })
}

/// Keeps the smaller value and returns the old element; returns zero if the reference is out of range.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn atomic_min<T: AtomicMinMax>(element: ElementRef<T>, value: T) -> T {
    // SAFETY: as for `atomic_add`.
    element.address().map_or_else(T::default, |address| unsafe { T::fetch_min(address, value) })
}

/// Keeps the larger value and returns the old element; returns zero if the reference is out of range.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn atomic_max<T: AtomicMinMax>(element: ElementRef<T>, value: T) -> T {
    // SAFETY: as for `atomic_add`.
    element.address().map_or_else(T::default, |address| unsafe { T::fetch_max(address, value) })
}

/// Stores the bitwise and, and returns the old element; returns zero if the reference is out of range.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn atomic_and<T: AtomicBits>(element: ElementRef<T>, value: T) -> T {
    // SAFETY: as for `atomic_add`.
    element.address().map_or_else(T::default, |address| unsafe { T::fetch_and(address, value) })
}

/// Stores the bitwise or, and returns the old element; returns zero if the reference is out of range.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn atomic_or<T: AtomicBits>(element: ElementRef<T>, value: T) -> T {
    // SAFETY: as for `atomic_add`.
    element.address().map_or_else(T::default, |address| unsafe { T::fetch_or(address, value) })
}

/// Stores the bitwise exclusive or, and returns the old element; returns zero if the reference is out of range.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn atomic_xor<T: AtomicBits>(element: ElementRef<T>, value: T) -> T {
    // SAFETY: as for `atomic_add`.
    element.address().map_or_else(T::default, |address| unsafe { T::fetch_xor(address, value) })
}

/// Stores `value` and returns the old element; returns zero if the reference is out of range.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn atomic_exchange<T: AtomicExchange>(element: ElementRef<T>, value: T) -> T {
    // SAFETY: as for `atomic_add`.
    element.address().map_or_else(T::default, |address| unsafe { T::exchange(address, value) })
}

/// Stores `value` if the element has the bits of `expected`, and returns the old element; returns zero if the reference
/// is out of range.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn atomic_compare_exchange<T: AtomicExchange>(
    element: ElementRef<T>,
    expected: T,
    value: T,
) -> T {
    // SAFETY: as for `atomic_add`.
    let exchange = |address| unsafe { T::compare_exchange(address, expected, value) };
    element.address().map_or_else(T::default, exchange)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds one from four threads and checks that no addition is lost.
    fn count_up<T: AtomicAdd + PartialEq + std::fmt::Debug>(one: T, total: T) {
        let mut cell = T::default();
        let address = &raw mut cell as usize;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        // The cell outlives the scope and is accessed only atomically.
                        atomic_add(ElementRef::from_ptr(Some(address as *mut T)), one);
                    }
                });
            }
        });
        assert_eq!(cell, total);
    }

    #[test]
    fn no_addition_is_lost() {
        count_up(1_i32, 4000);
        count_up(1_u32, 4000);
        count_up(1_i64, 4000);
        count_up(1_u64, 4000);
        count_up(1_usize, 4000);
        count_up(1.0_f32, 4000.0);
        count_up(1.0_f64, 4000.0);
    }

    #[test]
    fn min_and_max_return_the_old_element() {
        let mut cell = -3_i32;
        let element = ElementRef::from_ptr(Some(&raw mut cell));
        assert_eq!(atomic_min(element, -5), -3);
        assert_eq!(atomic_min(element, 4), -5);
        assert_eq!(atomic_max(element, 4), -5);
        assert_eq!(atomic_add(element, i32::MAX), 4);
        assert_eq!(cell, i32::MIN + 3);
    }
}
