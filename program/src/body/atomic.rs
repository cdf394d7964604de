//! Atomics on raw places: what `atomic_add` and its like are in a body.
//!
//! Never through `&mut`: many iterations hold the same place at once.

use super::element_ref::ElementRef;
use crate::dsl::{AtomicAdd, AtomicMinMax};

/// Adds and gives the old element; zero where the place is out of range.
#[inline(always)]
pub fn atomic_add<T: AtomicAdd>(place: ElementRef<T>, value: T) -> T {
    // SAFETY: the place is an element that the loop's iterations touch by atomics alone.
    place.address().map_or_else(T::default, |element| unsafe { T::fetch_add(element, value) })
}

/// Keeps the smaller and gives the old element; zero where the place is out of range.
#[inline(always)]
pub fn atomic_min<T: AtomicMinMax>(place: ElementRef<T>, value: T) -> T {
    // SAFETY: as for `atomic_add`.
    place.address().map_or_else(T::default, |element| unsafe { T::fetch_min(element, value) })
}

/// Keeps the larger and gives the old element; zero where the place is out of range.
#[inline(always)]
pub fn atomic_max<T: AtomicMinMax>(place: ElementRef<T>, value: T) -> T {
    // SAFETY: as for `atomic_add`.
    place.address().map_or_else(T::default, |element| unsafe { T::fetch_max(element, value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds one from four threads, and sees that no addition is lost.
    fn count_up<T: AtomicAdd + PartialEq + std::fmt::Debug>(one: T, total: T) {
        let mut cell = T::default();
        let address = &raw mut cell as usize;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        // The cell outlives the scope and is touched by atomics alone.
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
    fn smaller_and_larger_are_kept_and_the_old_returned() {
        let mut cell = -3_i32;
        let place = ElementRef::from_ptr(Some(&raw mut cell));
        assert_eq!(atomic_min(place, -5), -3);
        assert_eq!(atomic_min(place, 4), -5);
        assert_eq!(atomic_max(place, 4), -5);
        assert_eq!(atomic_add(place, i32::MAX), 4);
        assert_eq!(cell, i32::MIN + 3);
    }
}
