//! The memory of a tensor's elements, and the locations of scalars ([`ScalarRef`]) and aggregates ([`AggregateRef`]) in
//! it.

use std::fmt;

use crate::device_error::check_index;

/// The location of a scalar, or `None` if the index was out of range.
#[derive(Clone, Copy)]
pub struct ScalarRef<T>(Option<*mut T>);

/// The location of a value of several scalars.
#[derive(Clone, Copy)]
pub struct AggregateRef<P> {
    /// Where the scalars of all elements are.
    pub components: P,
    /// The index of the element, in row-major order; `None` if it was out of range.
    pub element: Option<usize>,
    /// The position of the value among the values of its type in the element's components.
    pub offset: usize,
}

/// The memory of a tensor of scalars.
#[derive(Clone, Copy)]
pub struct ScalarMemory<T>(*mut T);

/// The memory of one component of a tensor of aggregates.
#[derive(Clone, Copy)]
pub struct Strided<T> {
    first: *mut T,
    step: usize,
    plane: usize,
}

/// The components of a tensor, in order. Each type takes those that it consists of.
pub struct Memory<'a>(&'a mut dyn FnMut(usize) -> Component);

/// The memory of one component: the address of its first scalar, and the distances, in scalars, to the next element and
/// to the next scalar of the same element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    pub(crate) first: *mut u8,
    pub(crate) step: usize,
    pub(crate) plane: usize,
}

impl<T> ScalarRef<T> {
    #[cfg(test)]
    pub(crate) const fn new(address: Option<*mut T>) -> Self {
        Self(address)
    }

    /// The address, or `None` if the index was out of range.
    #[inline(always)]
    pub(crate) const fn address(self) -> Option<*mut T> {
        self.0
    }
}

impl<T> ScalarMemory<T> {
    #[inline(always)]
    pub(crate) fn take(memory: &mut Memory<'_>) -> Self {
        Self((memory.0)(1).first.cast())
    }

    #[inline(always)]
    pub(crate) fn at(self, element: Option<usize>) -> ScalarRef<T> {
        // SAFETY: the element is within the tensor: its index was checked or proven.
        ScalarRef(element.map(|at| unsafe { self.0.add(at) }))
    }
}

impl<T> Strided<T> {
    #[inline(always)]
    pub(crate) fn take(scalars: usize, memory: &mut Memory<'_>) -> Self {
        if scalars == 0 {
            // A type of no scalars, such as an array of length 0: no location is ever computed from it.
            return Self { first: std::ptr::null_mut(), step: 0, plane: 0 };
        }
        let Component { first, step, plane } = (memory.0)(scalars);
        Self { first: first.cast(), step, plane }
    }

    #[inline(always)]
    pub(crate) fn at(self, element: Option<usize>, offset: usize) -> ScalarRef<T> {
        ScalarRef(element.map(|at| {
            let distance = at.wrapping_mul(self.step).wrapping_add(offset.wrapping_mul(self.plane));
            // SAFETY: the element is within the tensor: its index was checked or proven. The offset is within the
            // component, by the types through which the location was computed.
            unsafe { self.first.add(distance) }
        }))
    }
}

impl<'a> Memory<'a> {
    /// # Safety
    /// `next` must return, in order, the components of the type that takes them, and their memory must be valid for the
    /// accesses through all references that are made from it.
    #[inline(always)]
    pub(crate) unsafe fn new(next: &'a mut dyn FnMut(usize) -> Component) -> Self {
        Self(next)
    }
}

impl<P> AggregateRef<P> {
    /// The offset of element `at` of an array of `len` elements.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn offset_of(self, at: usize, len: usize) -> usize {
        self.offset * len + check_index(at, len)
    }
}

impl fmt::Debug for Memory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}
