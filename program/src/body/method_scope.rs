//! The traits whose methods kernels can call without an import.
//!
//! The never-called copy of a kernel, from which rustc infers types, has them in scope. If a user's trait has a method
//! of the same name, rustc reports the call as ambiguous. The CPU body does not resolve methods by traits in scope.

/// The traits, imported anonymously.
pub mod in_scope {
    pub use std::{cmp::Ord as _, convert::From as _, iter::Iterator as _};

    pub use super::ArrayMethods as _;
    pub use crate::Number as _;
}

/// `len` of arrays by value; arrays themselves have it by reference only.
#[allow(clippy::len_without_is_empty)] // kernels have `len` only
pub trait ArrayMethods {
    /// The number of elements.
    #[must_use]
    fn len(self) -> usize;
}

impl<T, const N: usize> ArrayMethods for [T; N] {
    #[inline(always)]
    fn len(self) -> usize {
        N
    }
}
