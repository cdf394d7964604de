//! How the emitted code asks rustc for the type of a binding.

use std::marker::PhantomData;

use quadrants_ir::ScalarType;

use crate::Element;

/// A type that inference fills in: the never-called copy of a kernel shows it a binding, and
/// the code around that copy reads the binding's type.
///
/// # Examples
/// ```
/// use quadrants_program::body::{Probe, type_of};
/// const TYPE: quadrants_ir::ScalarType = {
///     let probe = Probe::new();
///     let _ = |n: usize| {
///         let half = n / 2;
///         probe.see(&half);
///     };
///     type_of(&probe)
/// };
/// assert_eq!(TYPE, quadrants_ir::ScalarType::U64);
/// ```
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

impl<T> Probe<T> {
    /// A probe of a type yet to be found.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Probe<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Probe<T> {
    /// Says that the type is that of `binding`.
    pub const fn see(&self, _binding: &T) {}
}

/// The type that a probe found.
#[must_use]
pub const fn type_of<T: Element>(_probe: &Probe<T>) -> ScalarType {
    T::TYPE
}
