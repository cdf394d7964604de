//! [`ElementRef`]: references to values in tensor memory.
//!
//! The scalars of an element need not be contiguous: a tensor of structs can store each field in a plane of its own. A
//! body therefore never holds a Rust reference to an element. It holds an [`ElementRef`], which knows where each scalar
//! is, selects fields and elements of the value, and is read and written by value. Scalars that the body does not use
//! are not loaded.

use crate::{
    tensor::element::Element,
    value::{HasElement, HasField, KernelValue},
};

/// A reference to a value in a tensor's memory, or to nothing if the index was out of range: then reads return zeros
/// and writes do nothing. Several threads may hold references to the same value.
#[derive(Clone, Copy)]
pub struct ElementRef<T: KernelValue>(T::Location);

impl<T: KernelValue> ElementRef<T> {
    pub(super) fn of(location: T::Location) -> Self {
        Self(location)
    }

    /// Reads the value.
    #[inline(always)]
    #[must_use]
    pub fn read(self) -> T {
        T::read(self.0)
    }

    /// Writes the value.
    #[inline(always)]
    pub fn write(self, value: T) {
        value.write(self.0);
    }

    /// A reference to a field of the value.
    #[inline(always)]
    #[must_use]
    pub fn field<const NAME: u64>(self) -> ElementRef<T::Of>
    where
        T: HasField<NAME, Whole = <T as KernelValue>::Location>,
    {
        ElementRef(T::field(self.0))
    }

    /// A reference to an element of the value.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn element<I>(self, at: I) -> ElementRef<T::Of>
    where
        T: HasElement<I>,
    {
        ElementRef(T::element_of(self.0, at))
    }
}

impl<T: Element> ElementRef<T> {
    /// A reference to the scalar at an address, or to nothing. The address must be valid for atomic operations as long
    /// as the reference is used; code that takes it back by [`address`](Self::address) relies on that.
    #[cfg(test)]
    pub(super) const fn from_ptr(element: Option<*mut T>) -> Self {
        Self(crate::value::memory::ScalarRef::new(element))
    }

    /// The address, or `None` if the index was out of range.
    #[inline(always)]
    pub(super) const fn address(self) -> Option<*mut T> {
        self.0.address()
    }
}
