//! The traits whose methods kernels can call without an import.
//!
//! The type-inference copy of a kernel, from which rustc infers types, has them in scope. If a user's trait has a
//! method of the same name, rustc reports the call as ambiguous. The CPU body does not resolve methods by traits in
//! scope.

use crate::{Element, Vector};

/// The traits, imported anonymously.
pub mod in_scope {
    pub use std::{cmp::Ord as _, convert::From as _, iter::Iterator as _};

    pub use super::MapMethods as _;
    pub use crate::Number as _;
}

/// The method that the expansion of `map` of vectors and arrays calls, for components of type `U` in the result.
pub trait MapMethods<U> {
    /// The type of the result.
    type Mapped;
    /// A vector or array of the same length, whose components all are `value`.
    #[must_use]
    fn __filled(self, value: U) -> Self::Mapped;
}

impl<T: Element, U: Element, const N: usize> MapMethods<U> for Vector<T, N> {
    type Mapped = Vector<U, N>;
    #[inline(always)]
    fn __filled(self, value: U) -> Vector<U, N> {
        Vector([value; N])
    }
}

impl<T, U: Copy, const N: usize> MapMethods<U> for [T; N] {
    type Mapped = [U; N];
    #[inline(always)]
    fn __filled(self, value: U) -> [U; N] {
        [value; N]
    }
}
