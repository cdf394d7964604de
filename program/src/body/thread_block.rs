//! Thread blocks (`block_for`) in CPU bodies. One thread runs a block: phases are loops, and shared arrays belong to
//! the block.

use std::{
    cell::UnsafeCell,
    ops::{Index, IndexMut, Range},
    panic::Location,
};

use super::{
    cx::Cx,
    element_ref::ElementRef,
    failure::{Bounded, Errors},
    level::Level,
    print::Printer,
    view::{ElementCount, Elements, flat_index, is_inside},
};
use crate::Element;

/// A thread block.
#[derive(Clone, Copy)]
pub struct ThreadBlock<const CHECKED: bool, G = usize> {
    index: G,
    threads: usize,
    errors: Errors,
}

/// A shared array of a thread block. Out-of-range indices behave as those of a [`View`](super::View).
pub struct SharedArray<T, const N: usize, const CHECKED: bool> {
    elements: Box<[UnsafeCell<T>]>,
    shape: [usize; N],
    /// Referenced in place of an element that is out of range.
    out_of_range_element: T,
    errors: Errors,
}

/// The cost of a block whose threads cost `weight` each.
#[inline(always)]
#[must_use]
pub fn block_weight(threads: usize, weight: u32) -> u32 {
    weight.saturating_mul(u32::try_from(threads).unwrap_or(u32::MAX))
}

/// Returns grid and block size. Its signature gives them the types that [`block_for`](crate::dsl::block_for) requires.
#[inline(always)]
pub fn grid<G: crate::dsl::Grid>(blocks: G, threads: usize) -> (G, usize) {
    (blocks, threads)
}

/// The number of blocks in a grid, saturating.
#[inline(always)]
#[must_use]
pub fn block_count<const N: usize>(grid: [usize; N]) -> usize {
    let none = grid.contains(&0);
    if none { 0 } else { grid.iter().fold(1, |all, count| all.saturating_mul(*count)) }
}

/// The block at `position` in row-major order of its grid: the last dimension's number changes fastest.
#[inline(always)]
#[must_use]
pub fn block_index<const N: usize>(grid: [usize; N], mut position: usize) -> [usize; N] {
    let mut index = [0; N];
    for (index, count) in index.iter_mut().zip(grid).rev() {
        (position, *index) = (position / count, position % count);
    }
    index
}

impl<L: Level, const CHECKED: bool> Cx<'_, L, CHECKED> {
    /// The block with this index, of `threads` threads.
    #[inline(always)]
    #[must_use]
    pub fn threads<G: crate::dsl::Grid>(
        &self,
        index: G,
        threads: usize,
    ) -> ThreadBlock<CHECKED, G> {
        if self.prints() {
            Printer::move_to(&index.numbers());
        }
        ThreadBlock { index, threads, errors: self.errors }
    }
}

impl<const CHECKED: bool, G: Copy> ThreadBlock<CHECKED, G> {
    /// The block's index in the grid.
    #[inline(always)]
    #[must_use]
    pub fn index(self) -> G {
        self.index
    }

    /// The number of threads of the block.
    #[inline(always)]
    #[must_use]
    pub fn threads(self) -> usize {
        self.threads
    }

    /// The numbers of the threads, for a phase.
    #[inline(always)]
    #[must_use]
    pub fn each(&self) -> Range<usize> {
        0..self.threads
    }

    /// A one-dimensional shared array of zeros.
    #[inline(always)]
    #[must_use]
    pub fn shared<T: Element>(self, len: usize) -> SharedArray<T, 1, CHECKED> {
        self.array([len])
    }

    /// A two-dimensional shared array of zeros.
    #[inline(always)]
    #[must_use]
    pub fn shared_2d<T: Element>(self, shape: [usize; 2]) -> SharedArray<T, 2, CHECKED> {
        self.array(shape)
    }

    #[inline(always)]
    fn array<T: Element, const N: usize>(self, shape: [usize; N]) -> SharedArray<T, N, CHECKED> {
        let len: usize = shape.iter().product();
        let elements = (0..len).map(|_| UnsafeCell::new(T::default())).collect();
        SharedArray { elements, shape, out_of_range_element: T::default(), errors: self.errors }
    }
}

impl<T, const N: usize, const CHECKED: bool> SharedArray<T, N, CHECKED> {
    /// The number of elements.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // kernels have `len` only
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// The cell of an element; `None` if the index is checked and out of range.
    #[inline(always)]
    fn at(&self, index: [usize; N], caller: &Location<'_>) -> Option<&UnsafeCell<T>> {
        if CHECKED && !is_inside(&index, &self.shape) {
            self.errors.report_index(index, self.shape, caller);
            return None;
        }
        debug_assert!(is_inside(&index, &self.shape), "a proven index is within the extents");
        // SAFETY: the index is within the extents: checked above, or, in the proven form, proven by the launch. The
        // array has as many elements as the product of its extents.
        Some(unsafe { self.elements.get_unchecked(flat_index(&index, &self.shape)) })
    }
}

impl<T, const N: usize, const CHECKED: bool> ElementCount for SharedArray<T, N, CHECKED> {
    #[inline(always)]
    fn element_count(&self) -> usize {
        self.len()
    }
}

impl<I, T, const N: usize, const CHECKED: bool> Bounded<I> for SharedArray<T, N, CHECKED> {
    #[inline(always)]
    fn bounded(&self, index: I) -> I {
        index
    }
}

macro_rules! indexing {
    ($($rank:literal by $index:ty, |$i:ident| $array:expr;)*) => {$(
        impl<T: Element, const CHECKED: bool> Index<$index> for SharedArray<T, $rank, CHECKED> {
            type Output = T;
            #[inline(always)]
            #[track_caller]
            fn index(&self, $i: $index) -> &T {
                match self.at($array, Location::caller()) {
                    // SAFETY: one thread runs the block, and a reference to an element lives within one expression: the
                    // kernel language has no bindings of references.
                    Some(cell) => unsafe { &*cell.get() },
                    None => &self.out_of_range_element,
                }
            }
        }

        impl<T: Element, const CHECKED: bool> IndexMut<$index> for SharedArray<T, $rank, CHECKED> {
            #[inline(always)]
            #[track_caller]
            fn index_mut(&mut self, $i: $index) -> &mut T {
                let cell = self.at($array, Location::caller()).map(UnsafeCell::get);
                match cell {
                    // SAFETY: the cell belongs to `self`, which is borrowed exclusively.
                    Some(element) => unsafe { &mut *element },
                    None => {
                        // Zero, in case the expression reads it before it writes.
                        self.out_of_range_element = T::default();
                        &mut self.out_of_range_element
                    }
                }
            }
        }

        impl<T: Element, const CHECKED: bool> Elements<$index> for SharedArray<T, $rank, CHECKED> {
            type Element = T;
            const CHECKED: bool = CHECKED;
            #[inline(always)]
            #[track_caller]
            fn element_ref(&self, $i: $index) -> ElementRef<T> {
                ElementRef::from_ptr(self.at($array, Location::caller()).map(UnsafeCell::get))
            }
            #[inline(always)]
            fn element_ref_or_none(&self, $i: $index) -> ElementRef<T> {
                let inside = is_inside(&$array, &self.shape);
                let cell = if inside { self.elements.get(flat_index(&$array, &self.shape)) } else { None };
                ElementRef::from_ptr(cell.map(UnsafeCell::get))
            }
        }
    )*};
}

indexing! {
    1 by usize, |i| [i];
    2 by [usize; 2], |i| i;
}
