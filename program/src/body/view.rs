//! [`View`]: a tensor in a CPU body.

use std::panic::Location;

use quadrants_ir::abi::MAX_RANK;

use super::{element_ref::ElementRef, failure::Errors};
use crate::{tensor::layout::count, value::KernelValue};

/// A tensor in a CPU body: its memory and its extents.
///
/// Where the launch has proven every access, indexing is unchecked. Else an out-of-range read returns zero, an
/// out-of-range write does nothing, and both record an error. In loops this is a constant after inlining, so that each
/// loop is compiled without and with checks.
#[derive(Clone, Copy)]
pub struct View<T: KernelValue, const N: usize> {
    storage: T::Storage,
    shape: [usize; N],
    errors: Errors,
    /// Whether the launch has proven the accesses of the current statements or iterations.
    proven: bool,
}

/// A view, or a struct of views, that knows whether the accesses of the current iterations are proven.
pub trait WithProven: Copy {
    /// The same view for iterations whose accesses are proven, or not.
    #[must_use]
    fn with_proven(self, proven: bool) -> Self;
}

/// A view or shared array whose elements are indexed by `I`.
pub trait Elements<I> {
    /// The type of the elements.
    type Element: KernelValue;

    /// A reference to the element at `index`.
    fn element_ref(&self, index: I) -> ElementRef<Self::Element>;

    /// Reports an index that is out of range, unless it is proven.
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
    /// if the kernel may write the tensor. If `proven`, every index used must be within `shape`.
    #[inline(always)]
    pub(super) const unsafe fn new(
        storage: T::Storage,
        shape: [usize; N],
        errors: Errors,
        proven: bool,
    ) -> Self {
        Self { storage, shape, errors, proven }
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

    /// A reference to an element; to nothing if the index is checked and out of range.
    #[inline(always)]
    fn at(&self, index: [usize; N], caller: &Location<'_>) -> ElementRef<T> {
        if !self.proven && !is_inside(&index, &self.shape) {
            self.errors.report_index(&index, &self.shape, caller);
            return ElementRef::of(T::element_location(self.storage, None));
        }
        debug_assert!(is_inside(&index, &self.shape), "a proven index is within the extents");
        let flat = flat_index(&index, &self.shape);
        ElementRef::of(T::element_location(self.storage, Some(flat)))
    }
}

/// Whether an index is within the extents.
#[inline(always)]
pub(super) fn is_inside<const N: usize>(index: &[usize; N], shape: &[usize; N]) -> bool {
    let mut inside = true;
    along_axes::<N>(|axis| inside &= index[axis] < shape[axis]);
    inside
}

/// The position of an index in row-major order.
#[inline(always)]
pub(super) fn flat_index<const N: usize>(index: &[usize; N], shape: &[usize; N]) -> usize {
    let mut flat = 0usize;
    along_axes::<N>(|axis| flat = flat.wrapping_mul(shape[axis]).wrapping_add(index[axis]));
    flat
}

/// Calls `f` with each axis below `N`.
///
/// A loop would access the index by a variable position. The index then stays in memory until the loop is unrolled,
/// often after the last pass that would move it to registers, and the kernel's loop is not vectorized.
#[inline(always)]
pub(super) fn along_axes<const N: usize>(mut f: impl FnMut(usize)) {
    let mut call = |axis| {
        if axis < N {
            f(axis);
        }
    };
    call(0);
    call(1);
    call(2);
    call(3);
    call(4);
    call(5);
    (MAX_RANK..N).for_each(f);
}

impl<T: KernelValue, const N: usize> ElementCount for View<T, N> {
    #[inline(always)]
    fn element_count(&self) -> usize {
        self.len()
    }
}

impl<T: KernelValue, const N: usize> WithProven for View<T, N> {
    #[inline(always)]
    fn with_proven(self, proven: bool) -> Self {
        Self { proven, ..self }
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
                if !self.proven && !is_inside(&$array, &self.shape) {
                    self.errors.report_index(&$array, &self.shape, Location::caller());
                }
            }
            #[inline(always)]
            fn element_ref_or_none(&self, $i: $index) -> ElementRef<T> {
                if is_inside(&$array, &self.shape) {
                    self.element_ref($i)
                } else {
                    ElementRef::of(T::element_location(self.storage, None))
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
    use crate::{
        body::failure::LOCATION_SITE,
        value::memory::{Component, Memory},
    };

    fn view(data: &mut [f32; 6], record: *mut ErrorRecord, proven: bool) -> View<f32, 2> {
        let first = data.as_mut_ptr().cast();
        // SAFETY: six elements, and a record that outlives the view.
        unsafe {
            let mut next = |_| Component { first, step: 1, plane: 0 };
            let storage = f32::storage(&mut Memory::new(&mut next));
            View::new(storage, [2, 3], Errors::new(record, 1), proven)
        }
    }

    #[test]
    fn elements_are_in_row_major_order() {
        let mut data = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let proven = view(&mut data, std::ptr::null_mut(), true);
        assert_eq!(proven.element_ref([1, 1]).read(), 4.0);
        proven.element_ref([0, 2]).write(9.0);
        assert_eq!((proven.len(), proven.shape()), (6, [2, 3]));
        assert_eq!(data[2], 9.0);
    }

    #[test]
    fn out_of_range_reads_zero_drops_writes_and_is_recorded() {
        let mut data = [1.0; 6];
        let mut record = ErrorRecord::default();
        let checked = view(&mut data, &raw mut record, false);
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
            View::new(storage, [3], Errors::new(std::ptr::null_mut(), 1), true)
        };
        view.element_ref(1).write((2.5, [3, 4]));
        view.element_ref(2).field::<{ name_number("1") }>().element(1).write(9);
        assert_eq!(view.element_ref(1).read(), (2.5, [3, 4]));
        assert_eq!(view.element_ref(1).field::<{ name_number("0") }>().read(), 2.5);
        assert_eq!((floats, numbers), ([0.0, 2.5, 0.0], [0, 3, 0, 0, 4, 9]));
    }
}
