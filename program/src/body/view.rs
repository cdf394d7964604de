//! Tensors as a body sees them.

use std::{
    cell::UnsafeCell,
    ops::{Index, IndexMut},
    panic::Location,
};

use quadrants_ir::abi::MAX_RANK;

use super::failure::{Bounded, Errors, Kind};
use crate::{Element, tensor::count};

/// A tensor in a body: where its elements lie, and its extents. Indexing is unchecked in the proven
/// form, whose launch has proven every access; in the checked form a read out of range gives zero, a
/// write goes nowhere, and the error is recorded.
#[derive(Clone, Copy)]
pub struct View<T, const N: usize, const CHECKED: bool> {
    data: *mut T,
    shape: [usize; N],
    errors: Errors,
    /// Whether the launch has proven the accesses of the iterations under way, though its form is the
    /// checked one.
    proven: bool,
}

/// What stands for tensors in a body, in iterations of which it is known whether they are proven.
pub trait Formed: Copy {
    /// The same for iterations whose accesses the launch has proven, or has not.
    #[must_use]
    fn formed(self, proven: bool) -> Self;
}

/// An element as a raw place, for atomics: several threads may hold it at once.
#[derive(Clone, Copy)]
pub struct Place<T>(Option<*mut T>);

/// A tensor that has places for indices of type `I`.
pub trait Places<I> {
    /// The type of an element.
    type Element;

    /// Whether indices are checked, and reported.
    const CHECKED: bool;

    /// The place of the element at `index`.
    fn place(&self, index: I) -> Place<Self::Element>;

    /// The place of the element at `index`, where there is one; nothing is reported.
    fn place_within(&self, index: I) -> Place<Self::Element>;
}

// SAFETY: a view is an address; the launch that made it vouches that its iterations do not race.
unsafe impl<T: Send, const N: usize, const CHECKED: bool> Send for View<T, N, CHECKED> {}
// SAFETY: as above.
unsafe impl<T: Sync, const N: usize, const CHECKED: bool> Sync for View<T, N, CHECKED> {}

impl<T, const N: usize, const CHECKED: bool> View<T, N, CHECKED> {
    /// # Safety
    /// `data` is valid for reads and, where the kernel may write the tensor, writes of the product
    /// of `shape` elements, as long as the view and its copies are used. In the proven form every
    /// index used is within `shape`.
    #[inline(always)]
    pub(super) const unsafe fn new(data: *mut T, shape: [usize; N], errors: Errors) -> Self {
        Self { data, shape, errors, proven: false }
    }

    /// How many elements there are.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // kernels have `len` alone
    pub fn len(&self) -> usize {
        count(&self.shape)
    }

    /// The extents.
    #[inline(always)]
    #[must_use]
    pub fn shape(&self) -> [usize; N] {
        self.shape
    }

    /// The address of an element, or none where the index is checked and out of range.
    #[inline(always)]
    fn at(&self, index: [usize; N], caller: &Location<'_>) -> Option<*mut T> {
        if CHECKED && !self.proven && !index.iter().zip(&self.shape).all(|(at, extent)| at < extent)
        {
            self.out_of_range(index, caller);
            return None;
        }
        let (mut flat, mut axis) = (0usize, 0);
        while axis < N {
            flat = flat.wrapping_mul(self.shape[axis]).wrapping_add(index[axis]);
            axis += 1;
        }
        // SAFETY: the index is within the shape, by the check above or by the launch's proof of all
        // iterations or of those that run now, and
        // the maker of the view vouches for so many elements.
        Some(unsafe { self.data.add(flat) })
    }

    #[cold]
    #[inline(never)]
    fn out_of_range(&self, index: [usize; N], caller: &Location<'_>) {
        let mut values = [0; 2 * MAX_RANK];
        for (value, from) in values.iter_mut().zip(index.iter().chain(&self.shape)) {
            *value = *from as u64;
        }
        self.errors.report(Kind::Index, caller, &values[..2 * N]);
    }
}

impl<I, T, const N: usize, const CHECKED: bool> Bounded<I> for View<T, N, CHECKED> {
    #[inline(always)]
    fn bounded(&self, index: I) -> I {
        index
    }
}

impl<T: Copy, const N: usize, const CHECKED: bool> Formed for View<T, N, CHECKED> {
    #[inline(always)]
    fn formed(self, proven: bool) -> Self {
        Self { proven, ..self }
    }
}

impl<T: Element, const N: usize, const CHECKED: bool> View<T, N, CHECKED> {
    #[inline(always)]
    fn shared(&self, index: [usize; N], caller: &Location<'_>) -> &T {
        static ZERO: u64 = 0;
        match self.at(index, caller) {
            // SAFETY: the address is that of an element; the launch vouches that nothing writes it
            // meanwhile.
            Some(element) => unsafe { &*element },
            // SAFETY: `ZERO` has the size and alignment of the largest element, and zero bits are a
            // value of every element type.
            None => unsafe { &*(&raw const ZERO).cast() },
        }
    }

    #[inline(always)]
    fn exclusive(&mut self, index: [usize; N], caller: &Location<'_>) -> &mut T {
        match self.at(index, caller) {
            // SAFETY: the address is that of an element; the launch vouches that nothing else
            // touches it meanwhile.
            Some(element) => unsafe { &mut *element },
            None => waste(),
        }
    }
}

/// A cell for a write that goes nowhere, as zero.
#[cold]
fn waste<'a, T: Element>() -> &'a mut T {
    thread_local! {
        static CELL: UnsafeCell<u64> = const { UnsafeCell::new(0) };
    }
    CELL.with(|cell| {
        // SAFETY: the cell has the size and alignment of the largest element, and zero bits are a
        // value of every element type. Only this thread reaches it, and a kernel holds at most one
        // exclusive reference to an element at a time: the language has no reference bindings. The
        // thread outlives the statement that uses it.
        unsafe {
            cell.get().write(0);
            &mut *cell.get().cast()
        }
    })
}

impl<T> Place<T> {
    /// The place of an element, whose address is valid for atomics as long as the place is used, or of
    /// none. Only [`address`](Self::address) gives it, to code that says why it is.
    #[inline(always)]
    pub(super) const fn within(element: Option<*mut T>) -> Self {
        Self(element)
    }

    /// The address, or none where the index was out of range.
    #[inline(always)]
    pub(super) fn address(self) -> Option<*mut T> {
        self.0
    }

    /// # Safety
    /// The element is valid for reads and writes by atomics as long as the place is used.
    #[cfg(test)]
    pub(super) unsafe fn of(element: *mut T) -> Self {
        Self(Some(element))
    }
}

macro_rules! indexing {
    ($([$($generic:tt)*] $rank:tt by $index:ty, |$i:ident| $array:expr;)*) => {$(
        impl<T: Element, $($generic)* const CHECKED: bool> Index<$index>
            for View<T, $rank, CHECKED>
        {
            type Output = T;
            #[inline(always)]
            #[track_caller]
            fn index(&self, $i: $index) -> &T {
                self.shared($array, Location::caller())
            }
        }

        impl<T: Element, $($generic)* const CHECKED: bool> IndexMut<$index>
            for View<T, $rank, CHECKED>
        {
            #[inline(always)]
            #[track_caller]
            fn index_mut(&mut self, $i: $index) -> &mut T {
                self.exclusive($array, Location::caller())
            }
        }

        impl<T: Element, $($generic)* const CHECKED: bool> Places<$index>
            for View<T, $rank, CHECKED>
        {
            type Element = T;
            const CHECKED: bool = CHECKED;
            #[inline(always)]
            #[track_caller]
            fn place(&self, $i: $index) -> Place<T> {
                Place(self.at($array, Location::caller()))
            }
            #[inline(always)]
            fn place_within(&self, $i: $index) -> Place<T> {
                let inside = $array.iter().zip(&self.shape).all(|(at, extent)| at < extent);
                if inside { self.place($i) } else { Place(None) }
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
    use quadrants_ir::abi::ErrorRecord;

    use super::*;
    use crate::body::failure::PLACE_SITE;

    fn view<const CHECKED: bool>(
        data: &mut [f32; 6],
        record: *mut ErrorRecord,
    ) -> View<f32, 2, CHECKED> {
        // SAFETY: six elements, and a record that outlives the view.
        unsafe { View::new(data.as_mut_ptr(), [2, 3], Errors::new(record, 1)) }
    }

    #[test]
    fn rows_follow_each_other() {
        let mut data = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let mut proven = view::<false>(&mut data, std::ptr::null_mut());
        assert_eq!(proven[[1, 1]], 4.0);
        proven[[0, 2]] += 7.0;
        assert_eq!((proven.len(), proven.shape()), (6, [2, 3]));
        assert_eq!(data[2], 9.0);
    }

    #[test]
    fn out_of_range_reads_zero_drops_writes_and_is_recorded() {
        let mut data = [1.0; 6];
        let mut record = ErrorRecord::default();
        let mut checked = view::<true>(&mut data, &raw mut record);
        checked[[1, 3]] = 9.0;
        let line = line!() - 1;
        assert_eq!(checked[[2, 0]], 0.0);
        checked[[5, 5]] += 2.0;
        assert_eq!(checked[[1, 2]], 1.0);
        assert_eq!(data, [1.0; 6]);
        assert_eq!(record.state, ErrorRecord::FULL);
        assert_eq!(record.site, PLACE_SITE);
        assert_eq!(record.count, 4);
        assert_eq!(record.values[..6], [1, 3, 2, 3, 0, 0]);
        let [.., at_line, at_column] = record.values;
        assert_eq!(at_line, u64::from(line));
        assert!((9..=16).contains(&at_column), "the tensor or its bracket");
    }
}
