//! [`View`]: a tensor in a CPU body.

use std::panic::Location;

use quadrants_ir::Const;

use super::{
    check_mode::CheckMode,
    element_ref::ElementRef,
    failure::Errors,
    index::{flat_index, is_inside, outside},
};
use crate::value::{
    KernelValue,
    element::Element,
    layout::count,
    memory::{Component, Memory},
};

/// A tensor in a CPU body: its memory and its extents.
///
/// Its [`CheckMode`] says what happens to an index that is out of range. In loops it is a constant after inlining, so
/// that each loop is compiled once for each.
pub struct View<T: KernelValue, const N: usize> {
    storage: T::Storage,
    shape: [usize; N],
    errors: Errors,
    check_mode: CheckMode,
}

// Not derived: that would require `T: Copy`, and be a second error of a struct that is not `Copy`.
impl<T: KernelValue, const N: usize> Clone for View<T, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: KernelValue, const N: usize> Copy for View<T, N> {}

/// A view, or a struct of views, whose check mode can be chosen.
pub trait WithCheckMode: Copy {
    /// The same view with another check mode.
    #[must_use]
    fn with_check_mode(self, check_mode: CheckMode) -> Self;

    /// In an inspection, checks boxes of indices, each given by its smallest and largest index along each axis. Sets
    /// `ok` to false if an index is out of range. The result must not be used in this case: its accesses are not
    /// checked any more.
    #[inline(always)]
    #[must_use]
    fn inspect_boxes(self, ok: &mut bool, boxes: &[&[(usize, usize)]]) -> Self {
        let _ = (ok, boxes);
        self
    }
}

/// The smallest and the largest of the indices `((at + before) as usize) + after` with `begin <= at < end`. If an
/// addition wraps in `T`, at least one of the two is out of range of every tensor.
#[inline(always)]
#[must_use]
pub fn indices_of<T: Element>(begin: T, end: T, before: i64, after: i64) -> (usize, usize) {
    let (low, _) = index_of(begin, before, after);
    let last = as_i64(end).map_or(end, |end| T::from_bits64(end.wrapping_sub(1) as u64));
    let (high, _) = index_of(last, before, after);
    (low, high)
}

/// The index `((at + before) as usize) + after`, as the smallest and the largest index. It is out of range of every
/// tensor if the first addition wraps, and if `at` is not an integer.
#[inline(always)]
#[must_use]
pub fn index_of<T: Element>(at: T, before: i64, after: i64) -> (usize, usize) {
    let sum = as_i64(at).map(|at| at.wrapping_add(before));
    let index = match sum {
        Some(sum) if as_i64(T::from_bits64(sum as u64)) == Some(sum) => {
            sum.wrapping_add(after) as usize
        }
        _ => usize::MAX,
    };
    (index, index)
}

#[inline(always)]
fn as_i64<T: Element>(value: T) -> Option<i64> {
    Into::<Const>::into(value).as_int().map(|value| value as i64)
}

/// A view or shared array whose elements are indexed by `I`.
pub trait Elements<I> {
    /// The type of the elements.
    type Element: KernelValue;

    /// A reference to the element at `index`.
    fn element_ref(&self, index: I) -> ElementRef<Self::Element>;

    /// Reports an index that is out of range, if it is checked.
    fn check(&self, index: I);

    /// A reference to the element at `index`, or to nothing if the index is out of range; reports no error.
    fn element_ref_or_none(&self, index: I) -> ElementRef<Self::Element>;
}

/// A view, shared array or struct of views with a number of elements.
pub trait ElementCount {
    /// The number of elements; for a struct of tensors, that of its largest.
    fn element_count(&self) -> usize;
}

// SAFETY: a view is an address and extents; the launch guarantees that its iterations do not race.
unsafe impl<T: KernelValue, const N: usize> Send for View<T, N> {}
// SAFETY: as above.
unsafe impl<T: KernelValue, const N: usize> Sync for View<T, N> {}

impl<T: KernelValue, const N: usize> View<T, N> {
    /// # Safety
    /// As long as the view and its copies are used, the memory must be valid for reads of the elements, and for writes
    /// if the kernel may write the tensor. In the mode `Unchecked`, every index used must be within `shape`.
    #[inline(always)]
    pub(super) const unsafe fn new(
        storage: T::Storage,
        shape: [usize; N],
        errors: Errors,
        check_mode: CheckMode,
    ) -> Self {
        Self { storage, shape, errors, check_mode }
    }

    /// The number of elements.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // kernels have `len` only
    pub fn len(self) -> usize {
        count(&self.shape)
    }

    /// The extents.
    #[inline(always)]
    #[must_use]
    pub fn shape(self) -> [usize; N] {
        self.shape
    }

    /// Whether the last extent is `extent`.
    #[inline(always)]
    #[must_use]
    pub fn has_last_extent(&self, extent: usize) -> bool {
        N > 0 && self.shape[N - 1] == extent
    }

    /// The same view, whose last extent LLVM knows. The extent must be `EXTENT`; otherwise the view is as it was.
    #[inline(always)]
    #[must_use]
    pub fn with_last_extent<const EXTENT: usize>(mut self) -> Self {
        if self.has_last_extent(EXTENT) {
            self.shape[N - 1] = EXTENT;
        }
        self
    }

    /// A reference to an element; to nothing if the index is checked and out of range.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at(&self, index: [usize; N], caller: &Location<'_>) -> ElementRef<T> {
        let inside = self.check_mode.allows(&index, &self.shape, self.errors, caller);
        let flat = if inside { Some(flat_index(&index, &self.shape)) } else { None };
        ElementRef::of(T::element_location(self.storage, flat), self.check_mode)
    }
}

impl<T: Element, const N: usize> View<T, N> {
    /// The view with other memory: `first` and the elements after it.
    ///
    /// # Safety
    /// As for [`new`](Self::new), for as many elements as the view has.
    #[inline(always)]
    pub(super) unsafe fn with_memory(self, first: *mut T) -> Self {
        let mut component = |_| Component { first: first.cast(), step: 1, plane: 0 };
        // SAFETY: a scalar takes one component; the caller vouches for the memory.
        let storage = unsafe { T::storage(&mut Memory::new(&mut component)) };
        Self { storage, ..self }
    }

    /// A reference to the element at a position in row-major order, which must be below [`len`](Self::len).
    #[inline(always)]
    pub(super) fn at_flat(self, at: usize) -> ElementRef<T> {
        debug_assert!(at < self.len(), "the position is within the tensor");
        ElementRef::of(T::element_location(self.storage, Some(at)), CheckMode::Unchecked)
    }
}

impl<T: KernelValue, const N: usize> ElementCount for View<T, N> {
    #[inline(always)]
    fn element_count(&self) -> usize {
        self.len()
    }
}

impl<T: KernelValue, const N: usize> WithCheckMode for View<T, N> {
    #[inline(always)]
    fn with_check_mode(self, check_mode: CheckMode) -> Self {
        Self { check_mode, ..self }
    }

    #[inline(always)]
    fn inspect_boxes(self, ok: &mut bool, boxes: &[&[(usize, usize)]]) -> Self {
        let CheckMode::Inspect(inspection) = self.check_mode else { return self };
        let mut wrong = 0;
        for bounds in boxes {
            for (&(low, high), &extent) in bounds.iter().zip(&self.shape) {
                wrong |= outside(low, extent) | outside(high, extent);
            }
        }
        if *ok {
            inspection.record(wrong);
            *ok = wrong >= 0;
        }
        self.with_check_mode(CheckMode::Inspected)
    }
}

macro_rules! indexing {
    ($([$($generic:tt)*] $rank:tt by $index:ty, |$i:ident| $array:expr;)*) => {$(
        impl<T: KernelValue, $($generic)*> Elements<$index> for View<T, $rank>
        {
            type Element = T;
            #[inline(always)]
            #[track_caller]
            fn element_ref(&self, $i: $index) -> ElementRef<T> {
                self.at($array, Location::caller())
            }
            #[inline(always)]
            #[track_caller]
            fn check(&self, $i: $index) {
                self.check_mode.allows(&$array, &self.shape, self.errors, Location::caller());
            }
            #[inline(always)]
            fn element_ref_or_none(&self, $i: $index) -> ElementRef<T> {
                if is_inside(&$array, &self.shape) {
                    self.element_ref($i)
                } else {
                    ElementRef::of(T::element_location(self.storage, None), self.check_mode)
                }
            }
        }
    )*};
}

indexing! {
    [] 1 by usize, |i| [i];
    [const N: usize,] N by [usize; N], |i| i;
}

#[cfg(test)]
mod tests {
    use quadrants_ir::{abi::ErrorRecord, types::name_number};

    use super::*;
    use crate::body::check_mode::Inspection;
    use crate::body::failure::LOCATION_SITE;

    fn view(data: &mut [f32; 6], record: *mut ErrorRecord, check_mode: CheckMode) -> View<f32, 2> {
        let first = data.as_mut_ptr().cast();
        // SAFETY: six elements, and a record that outlives the view.
        unsafe {
            let mut next = |_| Component { first, step: 1, plane: 0 };
            let storage = f32::storage(&mut Memory::new(&mut next));
            View::new(storage, [2, 3], Errors::new(record, 1), check_mode)
        }
    }

    #[test]
    fn elements_are_in_row_major_order() {
        let mut data = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let proven = view(&mut data, std::ptr::null_mut(), CheckMode::Unchecked);
        assert_eq!(proven.element_ref([1, 1]).read(), 4.0);
        proven.element_ref([0, 2]).write(9.0);
        assert_eq!((proven.len(), proven.shape()), (6, [2, 3]));
        assert_eq!(data[2], 9.0);
    }

    #[test]
    fn out_of_range_reads_zero_drops_writes_and_is_recorded() {
        let mut data = [1.0; 6];
        let mut record = ErrorRecord::default();
        let checked = view(&mut data, &raw mut record, CheckMode::Checked);
        checked.element_ref([1, 3]).write(9.0);
        let line = line!() - 1;
        assert_eq!(checked.element_ref([2, 0]).read(), 0.0);
        assert_eq!(checked.element_ref([1, 2]).read(), 1.0);
        assert_eq!(data, [1.0; 6]);
        assert_eq!(record.state, ErrorRecord::FULL);
        assert_eq!(record.site, LOCATION_SITE);
        assert_eq!(record.count, 4);
        assert_eq!(record.values[..6], [1, 3, 2, 3, 0, 0]);
        let [.., at_line, at_column] = record.values;
        assert_eq!(at_line, u64::from(line));
        assert!((9..=17).contains(&at_column), "the tensor or its index");
    }

    #[test]
    fn an_inspection_finds_wrong_indices_and_writes_nothing() {
        let mut data = [1.0; 6];
        let mut record = ErrorRecord::default();
        let checked = view(&mut data, &raw mut record, CheckMode::Checked);
        for (index, inside) in [
            ([0, 0], true),
            ([1, 2], true),
            ([2, 0], false),
            ([0, 3], false),
            ([usize::MAX, 1], false),
            ([0, usize::MAX / 2 + 1], false),
            ([usize::MAX / 2, 0], false),
        ] {
            let found = Inspection::run(|inspection| {
                let view = checked.with_check_mode(CheckMode::Inspect(inspection));
                assert_eq!(view.element_ref(index).read(), if inside { 1.0 } else { 0.0 });
                view.element_ref(index).write(2.0);
                crate::body::atomic_add(view.element_ref([0, 0]), 2.0);
            });
            assert_eq!(found, inside, "{index:?}");
        }
        assert_eq!((data, record.state), ([1.0; 6], ErrorRecord::EMPTY));
    }

    #[test]
    fn the_ends_of_a_box_are_out_of_range_if_anything_in_it_is() {
        assert_eq!(indices_of(2_usize, 9, 0, -1), (1, 7));
        assert_eq!(indices_of(-3_i32, 5, 3, 0), (0, 7));
        assert_eq!(indices_of(-3_i32, 5, 0, 3), (0, 7));
        assert_eq!(index_of(7_u8, 0, 4), (11, 11));
        // Wrapped: in the type of the variable, and below zero.
        assert_eq!(indices_of(250_u8, 255, 3, 0), (253, usize::MAX));
        assert_eq!(indices_of(0_u32, 5, -2, 0), (usize::MAX, 2));
        assert_eq!(indices_of(0_usize, 5, 0, -2).0, usize::MAX - 1);
        assert_eq!(indices_of(i32::MAX - 1, i32::MAX, 2, 0).1, usize::MAX);
        // What is no integer is not known.
        assert_eq!(index_of(3.0_f32, 0, 0), (usize::MAX, usize::MAX));
    }

    /// Elements whose scalars are in planes (structure of arrays).
    #[test]
    fn parts_are_where_the_components_say() {
        type Pair = (f32, [i16; 2]);
        let mut floats = [0.0_f32; 3];
        let mut numbers = [0_i16; 6];
        let mut components = vec![
            Component { first: numbers.as_mut_ptr().cast(), step: 1, plane: 3 },
            Component { first: floats.as_mut_ptr().cast(), step: 1, plane: 3 },
        ];
        // SAFETY: three elements of each, which outlive the view.
        let view: View<Pair, 1> = unsafe {
            let mut next = |_| components.pop().unwrap();
            let storage = Pair::storage(&mut Memory::new(&mut next));
            View::new(storage, [3], Errors::new(std::ptr::null_mut(), 1), CheckMode::Unchecked)
        };
        view.element_ref(1).write((2.5, [3, 4]));
        view.element_ref(2).field::<{ name_number("1") }>().element(1).write(9);
        assert_eq!(view.element_ref(1).read(), (2.5, [3, 4]));
        assert_eq!(view.element_ref(1).field::<{ name_number("0") }>().read(), 2.5);
        assert_eq!((floats, numbers), ([0.0, 2.5, 0.0], [0, 3, 0, 0, 4, 9]));
    }
}
