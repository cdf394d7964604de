//! Thread blocks (`block_for`) in CPU bodies. One thread runs a block: phases are loops, and shared arrays belong to
//! the block.

use std::{ops::Range, panic::Location};

use smallvec::{SmallVec, smallvec};

use super::{
    check_mode::CheckMode,
    cx::Cx,
    element_ref::ElementRef,
    failure::Errors,
    index::{flat_index, is_inside},
    level::Level,
    parallel::Chunk,
    println::Printer,
    view::{ElementCount, Elements},
};
use crate::{
    device_error::Bounded,
    dsl::collective::Contributions,
    value::{
        KernelValue,
        layout::{ComponentLayout, Layout, StorageLayout, count},
        memory::{Component, Memory},
    },
};

/// A thread block.
#[derive(Clone, Copy)]
pub struct ThreadBlock<G = usize> {
    index: G,
    threads: usize,
    errors: Errors,
    check_mode: CheckMode,
}

/// A shared array of a thread block. Out-of-range indices behave as those of a [`View`](super::View).
pub struct SharedArray<T: KernelValue, const N: usize> {
    _memory: Zeros,
    /// Where the components are in the memory.
    storage: T::Storage,
    shape: [usize; N],
    errors: Errors,
    check_mode: CheckMode,
}

impl<G: Copy> ThreadBlock<G> {
    /// The contributions of all threads.
    #[inline(always)]
    #[must_use]
    pub fn contributions<T>(&self, of: impl FnMut(usize) -> T) -> Contributions<T> {
        Contributions::new(self.threads(), of)
    }
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

impl<L: Level> Cx<'_, L> {
    /// The block with this index, of `threads` threads, in a chunk of the loop.
    #[inline(always)]
    #[must_use]
    pub fn threads<G: crate::dsl::Grid>(
        &self,
        index: G,
        threads: usize,
        chunk: Chunk,
    ) -> ThreadBlock<G> {
        if self.launch.run.prints {
            Printer::move_to(&index.numbers());
        }
        ThreadBlock { index, threads, errors: self.launch.errors, check_mode: chunk.check_mode }
    }
}

impl<G: Copy> ThreadBlock<G> {
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
    pub fn shared<T: KernelValue>(self, len: usize) -> SharedArray<T, 1> {
        self.array([len])
    }

    /// A two-dimensional shared array of zeros.
    #[inline(always)]
    #[must_use]
    pub fn shared_2d<T: KernelValue>(self, shape: [usize; 2]) -> SharedArray<T, 2> {
        self.array(shape)
    }

    #[inline(always)]
    fn array<T: KernelValue, const N: usize>(self, shape: [usize; N]) -> SharedArray<T, N> {
        const {
            assert!(!T::LAYOUT.is_empty(), "the elements of a shared array must have numbers");
            assert!(
                !T::LAYOUT.has_enum(),
                "a shared array cannot have elements with enums; store a number such as `value as u32`"
            );
        };
        let (memory, storage) = zeros::<T>(count(&shape));
        SharedArray {
            _memory: memory,
            storage,
            shape,
            errors: self.errors,
            check_mode: self.check_mode,
        }
    }
}

/// Memory that is zero at first. It is accessed through copies of the pointer.
struct Zeros(*mut [u64]);

impl Zeros {
    #[inline(always)]
    fn new(bytes: usize) -> Self {
        Self(Box::into_raw(vec![0; bytes.div_ceil(8)].into_boxed_slice()))
    }
}

impl Drop for Zeros {
    fn drop(&mut self) {
        // SAFETY: the pointer is from a box, and nothing else frees it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Allocates `len` elements of zeros, as an array of structs. Also returns where their components are.
#[inline(always)]
fn zeros<T: KernelValue>(len: usize) -> (Zeros, T::Storage) {
    let (memory, mut components): (_, SmallVec<[_; 8]>) = match T::LAYOUT.scalar() {
        Some(ty) => (Zeros::new(len.saturating_mul(ty.size())), smallvec![(0, 1, 1)]),
        None => match StorageLayout::new(T::LAYOUT, Layout::ArrayOfStructs, len) {
            // Too many bytes for a layout are too many to allocate as well.
            None => (Zeros::new(usize::MAX), SmallVec::new()),
            Some(layout) => {
                let of = |each: &ComponentLayout| (each.offset, each.step, each.plane);
                (Zeros::new(layout.bytes), layout.components.iter().map(of).collect())
            }
        },
    };
    components.reverse();
    let start = memory.0.cast::<u8>();
    let mut next = |_| {
        let (offset, step, plane) = components.pop().unwrap_or_default();
        Component { first: start.wrapping_add(offset), step, plane }
    };
    // SAFETY: the components are those of the type's layout, in order. Each is aligned in the memory, which starts at
    // a word, and zero, which is a value of each scalar type. The memory lives as long as the array, and a reference to
    // an element lives within one expression: the kernel language has no bindings of references.
    let storage = unsafe { T::storage(&mut Memory::new(&mut next)) };
    (memory, storage)
}

impl<T: KernelValue, const N: usize> SharedArray<T, N> {
    /// The number of elements.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // kernels have `len` only
    pub fn len(&self) -> usize {
        count(&self.shape)
    }

    /// A reference to an element; to nothing if the index is checked and out of range.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at(&self, index: [usize; N], caller: &Location<'_>) -> ElementRef<T> {
        let inside = self.check_mode.allows(&index, &self.shape, self.errors, caller);
        let flat = if inside { Some(flat_index(&index, &self.shape)) } else { None };
        ElementRef::of(T::element_location(self.storage, flat), self.check_mode)
    }
}

impl<T: KernelValue, const N: usize> ElementCount for SharedArray<T, N> {
    #[inline(always)]
    fn element_count(&self) -> usize {
        self.len()
    }
}

impl<I, T: KernelValue, const N: usize> Bounded<I> for SharedArray<T, N> {
    #[inline(always)]
    fn bounded(&self, index: I) -> I {
        index
    }
}

macro_rules! indexing {
    ($($rank:literal by $index:ty, |$i:ident| $array:expr;)*) => {$(
        impl<T: KernelValue> Elements<$index>
            for SharedArray<T, $rank>
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
                let inside = is_inside(&$array, &self.shape);
                let element = inside.then(|| flat_index(&$array, &self.shape));
                ElementRef::of(T::element_location(self.storage, element), self.check_mode)
            }
        }
    )*};
}

indexing! {
    1 by usize, |i| [i];
    2 by [usize; 2], |i| i;
}
