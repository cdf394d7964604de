//! [`ElementRef`]: references to values in tensor memory.
//!
//! The scalars of an element need not be contiguous: a tensor of structs can store each field in a plane of its own. A
//! body therefore never holds a Rust reference to an element. It holds an [`ElementRef`], which knows where each scalar
//! is, selects fields and elements of the value, and is read and written by value. Scalars that the body does not use
//! are not loaded.

use super::check_mode::CheckMode;
use crate::value::{HasElement, HasField, KernelValue, element::Element};

/// A reference to a value in a tensor's memory, or to nothing if the index was out of range: then reads return zeros
/// and writes do nothing. Several threads may hold references to the same value.
#[derive(Clone, Copy)]
pub struct ElementRef<T: KernelValue> {
    location: T::Location,
    /// Whether writes and atomic operations are done. An inspection does none.
    writes: bool,
}

impl<T: KernelValue> ElementRef<T> {
    #[inline(always)]
    pub(super) fn of(location: T::Location, check_mode: CheckMode) -> Self {
        Self { location, writes: !check_mode.is_inspection() }
    }

    /// Reads the value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[must_use]
    pub fn read(self) -> T {
        T::read(self.location)
    }

    /// Writes the value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn write(self, value: T) {
        if self.writes {
            value.write(self.location);
        }
    }

    /// A reference to a field of the value.
    #[inline(always)]
    #[must_use]
    pub fn field<const NAME: u64>(self) -> ElementRef<T::Of>
    where
        T: HasField<NAME, Whole = <T as KernelValue>::Location>,
    {
        ElementRef { location: T::field(self.location), writes: self.writes }
    }

    /// A reference to an element of the value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    #[must_use]
    pub fn element<I>(self, at: I) -> ElementRef<T::Of>
    where
        T: HasElement<I>,
    {
        ElementRef { location: T::element_of(self.location, at), writes: self.writes }
    }
}

impl<T: Element> ElementRef<T> {
    /// A reference to the scalar at an address, or to nothing. The address must be valid for atomic operations as long
    /// as the reference is used; code that takes it back by [`address`](Self::address) relies on that.
    #[cfg(test)]
    pub(super) const fn from_ptr(element: Option<*mut T>) -> Self {
        Self { location: crate::value::memory::ScalarRef::new(element), writes: true }
    }

    /// The address for an atomic operation, or `None` if the index was out of range, or nothing is written.
    #[inline(always)]
    pub(super) const fn address(self) -> Option<*mut T> {
        if self.writes { self.location.address() } else { None }
    }
}
