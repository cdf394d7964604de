//! References to values in tensor memory: [`ElementRef`] and the location types of scalars and aggregates.
//!
//! The scalars of an element need not be contiguous: a tensor of structs can store each field in a plane of its own. A
//! body therefore never holds a Rust reference to an element. It holds an [`ElementRef`], which knows where each scalar
//! is, selects fields and elements of the value, and is read and written by value. Scalars that the body does not use
//! are not loaded.

use std::fmt;

use super::failure::check_index;
use crate::{Element, KernelValue, tensor::element::load};

/// A reference to a value in a tensor's memory, or to nothing if the index was out of range: then reads return zeros
/// and writes do nothing. Several threads may hold references to the same value.
pub struct ElementRef<T: KernelValue>(T::Location);

/// The location of a scalar, or `None` if the index was out of range.
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
pub struct Dense<T>(*mut T);

/// The memory of one component of a tensor of aggregates.
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

/// A type with a field or tuple member whose name has the number `NAME`.
///
/// # Safety
/// `field` must return the location of that field of the value at `location`.
pub unsafe trait HasField<const NAME: u64>: KernelValue {
    /// The field's type.
    type Of: KernelValue;

    /// The location of the field.
    fn field(location: Self::Location) -> <Self::Of as KernelValue>::Location;
}

/// A type with elements that are indexed by `I`: an array, vector or matrix.
///
/// # Safety
/// `element_of` must return the location of that element of the value at `location`, and panic if there is none.
pub unsafe trait HasElement<I>: KernelValue {
    /// The type of the elements.
    type Of: KernelValue;

    /// The location of the element.
    ///
    /// # Panics
    /// If the index is out of range.
    #[track_caller]
    fn element_of(location: Self::Location, at: I) -> <Self::Of as KernelValue>::Location;
}

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
        T: HasField<NAME>,
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
    #[inline(always)]
    pub(super) const fn from_ptr(element: Option<*mut T>) -> Self {
        Self(ScalarRef(element))
    }

    /// The address, or `None` if the index was out of range.
    #[inline(always)]
    pub(super) const fn address(self) -> Option<*mut T> {
        self.0.0
    }
}

impl<T: Element> ScalarRef<T> {
    #[inline(always)]
    pub(crate) fn read(self) -> T {
        // SAFETY: the maker of the [`Memory`] guarantees its scalars, and nothing writes this one at the same time.
        self.0.map_or_else(T::default, |scalar| unsafe { load(scalar) })
    }

    #[inline(always)]
    pub(crate) fn write(self, value: T) {
        if let Some(scalar) = self.0 {
            // SAFETY: as in `read`, and nothing else accesses the scalar at the same time.
            unsafe { scalar.write(value) }
        }
    }
}

impl<T> Dense<T> {
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

macro_rules! copies {
    ($([$($generic:tt)*] $ty:ty;)*) => {$(
        impl<$($generic)*> Clone for $ty {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<$($generic)*> Copy for $ty {}
    )*};
}

copies! {
    [T: KernelValue] ElementRef<T>;
    [T] ScalarRef<T>;
    [T] Dense<T>;
    [T] Strided<T>;
}

impl fmt::Debug for Memory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}
