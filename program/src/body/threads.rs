//! Blocks of threads in a body: the phases are loops, and what the threads share is the block's own.

use std::{
    cell::UnsafeCell,
    ops::{Index, IndexMut, Range},
    panic::Location,
};

use super::{
    cx::Cx,
    failure::{Bounded, Errors, Kind},
    level::Level,
    view::{Place, Places},
};
use crate::Element;

/// A block of threads.
#[derive(Clone, Copy)]
pub struct Threads<const CHECKED: bool> {
    index: usize,
    threads: usize,
    errors: Errors,
}

/// An array that the threads of a block share. Indexing is as that of a [`View`](super::View).
pub struct Shared<T, const CHECKED: bool> {
    elements: Box<[UnsafeCell<T>]>,
    /// Stands for what is out of range.
    nothing: T,
    errors: Errors,
}

/// What a block costs whose threads cost `weight`.
#[inline(always)]
#[must_use]
pub fn weight_of_block(threads: usize, weight: u32) -> u32 {
    weight.saturating_mul(u32::try_from(threads).unwrap_or(u32::MAX))
}

impl<L: Level, const CHECKED: bool> Cx<'_, L, CHECKED> {
    /// The block of this number, of so many threads.
    #[inline(always)]
    #[must_use]
    pub fn threads(&self, index: usize, threads: usize) -> Threads<CHECKED> {
        Threads { index, threads, errors: self.errors }
    }
}

impl<const CHECKED: bool> Threads<CHECKED> {
    /// The block's number.
    #[inline(always)]
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many threads the block has.
    #[inline(always)]
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The numbers of the threads, for a phase.
    #[inline(always)]
    #[must_use]
    pub fn each(&self) -> Range<usize> {
        0..self.threads
    }

    /// An array of zeros.
    #[inline(always)]
    #[must_use]
    pub fn shared<T: Element>(&self, len: usize) -> Shared<T, CHECKED> {
        let elements = (0..len).map(|_| UnsafeCell::new(T::default())).collect();
        Shared { elements, nothing: T::default(), errors: self.errors }
    }
}

impl<T, const CHECKED: bool> Shared<T, CHECKED> {
    /// How many elements there are.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // kernels have `len` alone
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// An element's cell, or none where the index is checked and out of range.
    #[inline(always)]
    fn at(&self, index: usize, caller: &Location<'_>) -> Option<&UnsafeCell<T>> {
        if CHECKED {
            let cell = self.elements.get(index);
            if cell.is_none() {
                self.out_of_range(index, caller);
            }
            return cell;
        }
        // SAFETY: in the proven form the launch has proven that every index is below the length.
        Some(unsafe { self.elements.get_unchecked(index) })
    }

    #[cold]
    #[inline(never)]
    fn out_of_range(&self, index: usize, caller: &Location<'_>) {
        self.errors.report(Kind::Index, caller, &[index as u64, self.len() as u64]);
    }
}

impl<I, T, const CHECKED: bool> Bounded<I> for Shared<T, CHECKED> {
    #[inline(always)]
    fn bounded(&self, index: I) -> I {
        index
    }
}

impl<T: Element, const CHECKED: bool> Index<usize> for Shared<T, CHECKED> {
    type Output = T;
    #[inline(always)]
    #[track_caller]
    fn index(&self, index: usize) -> &T {
        match self.at(index, Location::caller()) {
            // SAFETY: one thread runs the block, and a reference to an element lives within one
            // expression of it: the language has no bindings of references.
            Some(cell) => unsafe { &*cell.get() },
            None => &self.nothing,
        }
    }
}

impl<T: Element, const CHECKED: bool> IndexMut<usize> for Shared<T, CHECKED> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let cell = self.at(index, Location::caller()).map(UnsafeCell::get);
        match cell {
            // SAFETY: the cell is one of `self`, which is borrowed exclusively.
            Some(element) => unsafe { &mut *element },
            None => {
                // As zero, for what reads it first.
                self.nothing = T::default();
                &mut self.nothing
            }
        }
    }
}

impl<T: Element, const CHECKED: bool> Places<usize> for Shared<T, CHECKED> {
    type Element = T;
    const CHECKED: bool = CHECKED;
    #[inline(always)]
    #[track_caller]
    fn place(&self, index: usize) -> Place<T> {
        Place::within(self.at(index, Location::caller()).map(UnsafeCell::get))
    }
    #[inline(always)]
    fn place_within(&self, index: usize) -> Place<T> {
        Place::within(self.elements.get(index).map(UnsafeCell::get))
    }
}
