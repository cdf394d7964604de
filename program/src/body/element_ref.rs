//! Values in the memory of tensors: elements, and components of them.
//!
//! An element of several scalars need not lie in one piece. So a body never holds a reference to one; it
//! holds a [`ElementRef`], which knows where each scalar is, follows the author's fields and indices to a part,
//! and is read and written by value. What no one reads is not loaded.

use std::fmt;

use super::failure::check_index;
use crate::{Element, KernelValue, tensor::element::load};

/// A value in a tensor's memory, or none where the index was out of range: that reads as zeros, and a write
/// to it goes nowhere. Several threads may hold it at once.
pub struct ElementRef<T: KernelValue>(T::Location);

/// A scalar in memory.
pub struct ScalarRef<T>(Option<*mut T>);

/// A value of several scalars in memory.
#[derive(Clone, Copy)]
pub struct AggregateRef<P> {
    /// Where the scalars of all elements lie.
    pub components: P,
    /// The element.
    pub element: Option<usize>,
    /// Which of the scalars that each component has in an element, counted in values of this type.
    pub offset: usize,
}

/// Where the elements of a tensor of scalars lie.
pub struct Dense<T>(*mut T);

/// Where the scalars of a component lie.
pub struct Strided<T> {
    first: *mut T,
    step: usize,
    plane: usize,
}

/// The memory of a tensor, from which each type takes the components that it has, in their order.
pub struct Memory<'a>(&'a mut dyn FnMut(usize) -> Component);

/// Where a component lies: its first scalar, and the distances in scalars to the next element and to the
/// next scalar of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    pub(crate) first: *mut u8,
    pub(crate) step: usize,
    pub(crate) plane: usize,
}

/// A type with a field, or a numbered part, whose name has this number.
///
/// # Safety
/// `field` gives where that field of what is at `location` lies.
pub unsafe trait HasField<const NAME: u64>: KernelValue {
    /// The field's type.
    type Of: KernelValue;

    /// The field of a value in memory.
    fn field(location: Self::Location) -> <Self::Of as KernelValue>::Location;
}

/// A type with elements, by indices of type `I`.
///
/// # Safety
/// `element_of` gives where that element of what is at `location` lies, and panics where there is none.
pub unsafe trait HasElement<I>: KernelValue {
    /// The elements' type.
    type Of: KernelValue;

    /// The element of a value in memory.
    ///
    /// # Panics
    /// Where it has no such element.
    #[track_caller]
    fn element_of(location: Self::Location, at: I) -> <Self::Of as KernelValue>::Location;
}

impl<T: KernelValue> ElementRef<T> {
    pub(super) fn of(location: T::Location) -> Self {
        Self(location)
    }

    /// The value.
    #[inline(always)]
    #[must_use]
    pub fn read(self) -> T {
        T::read(self.0)
    }

    /// Puts a value there.
    #[inline(always)]
    pub fn write(self, value: T) {
        value.write(self.0);
    }

    /// A field of the value.
    #[inline(always)]
    #[must_use]
    pub fn field<const NAME: u64>(self) -> ElementRef<T::Of>
    where
        T: HasField<NAME>,
    {
        ElementRef(T::field(self.0))
    }

    /// An element of the value.
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
    /// The place of an element, whose address is valid for atomics as long as the place is used, or of
    /// none. Only [`address`](Self::address) gives it, to code that says why it is.
    #[inline(always)]
    pub(super) const fn from_ptr(element: Option<*mut T>) -> Self {
        Self(ScalarRef(element))
    }

    /// The address, or none where the index was out of range.
    #[inline(always)]
    pub(super) const fn address(self) -> Option<*mut T> {
        self.0.0
    }
}

impl<T: Element> ScalarRef<T> {
    #[inline(always)]
    pub(crate) fn read(self) -> T {
        // SAFETY: the maker of the memory vouches for its scalars, and nothing writes this one meanwhile.
        self.0.map_or_else(T::default, |scalar| unsafe { load(scalar) })
    }

    #[inline(always)]
    pub(crate) fn write(self, value: T) {
        if let Some(scalar) = self.0 {
            // SAFETY: as above, and nothing else touches it meanwhile.
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
        // SAFETY: the element is within the tensor, by the check or the proof of its index.
        ScalarRef(element.map(|at| unsafe { self.0.add(at) }))
    }
}

impl<T> Strided<T> {
    #[inline(always)]
    pub(crate) fn take(scalars: usize, memory: &mut Memory<'_>) -> Self {
        if scalars == 0 {
            // It lies nowhere, and no place in it can be reached.
            return Self { first: std::ptr::null_mut(), step: 0, plane: 0 };
        }
        let Component { first, step, plane } = (memory.0)(scalars);
        Self { first: first.cast(), step, plane }
    }

    #[inline(always)]
    pub(crate) fn at(self, element: Option<usize>, offset: usize) -> ScalarRef<T> {
        ScalarRef(element.map(|at| {
            let further = at.wrapping_mul(self.step).wrapping_add(offset.wrapping_mul(self.plane));
            // SAFETY: the element is within the tensor, by the check or the proof of its index, and the
            // offset among the component's scalars, by the types that the place was followed through.
            unsafe { self.first.add(further) }
        }))
    }
}

impl<'a> Memory<'a> {
    /// # Safety
    /// What is given is where the components lie of the type that takes them, in order, and their memory is
    /// valid for what is done with the places in it.
    #[inline(always)]
    pub(crate) unsafe fn new(next: &'a mut dyn FnMut(usize) -> Component) -> Self {
        Self(next)
    }
}

impl<P> AggregateRef<P> {
    /// Element `at` of `of`, in an array of `len`.
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
