//! The traits that a kernel's never-called copy has in scope, for the methods that kernels have without an import.
//! Where a user's trait has a method of the same name, rustc reports the call as ambiguous. The body that runs resolves
//! no method by what is in scope.

/// The traits, without their names.
pub mod in_scope {
    pub use std::{cmp::Ord as _, convert::From as _, iter::Iterator as _};

    pub use super::ArrayMethods as _;
    pub use crate::Number as _;
}

/// The methods of arrays, which arrays themselves have by reference.
#[allow(clippy::len_without_is_empty)] // kernels have `len` alone
pub trait ArrayMethods {
    /// How many elements there are.
    #[must_use]
    fn len(self) -> usize;
}

impl<T, const N: usize> ArrayMethods for [T; N] {
    #[inline(always)]
    fn len(self) -> usize {
        N
    }
}

/// What has so many elements.
pub trait ElementCount {
    /// How many.
    fn element_count(&self) -> usize;
}
