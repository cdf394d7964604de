//! How the emitted code asks rustc for types, and keeps it from saying the same thing twice.

use std::marker::PhantomData;

use quadrants_ir::types::{GroupField, ParamType, Type};

use super::TensorParam;
use crate::{Element, KernelValue, Matrix, Number, Vector};

/// A type that inference fills in: the never-called copy of a kernel shows it a binding, and
/// the code around that copy reads the binding's type.
///
/// # Examples
/// ```
/// use quadrants_program::body::{Probe, type_of};
/// use quadrants_ir::{ScalarType, types::Type};
/// const TYPE: Type = {
///     let probe = Probe::new();
///     let _ = |n: usize| {
///         let half = n / 2;
///         probe.see(&half);
///     };
///     type_of(&probe)
/// };
/// assert_eq!(TYPE, Type::Scalar(ScalarType::U64));
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
    pub const fn observe(&self, _binding: &T) {}

    /// Says that the type is that of `value`, which it gives back.
    pub const fn pass(&self, value: T) -> T {
        value
    }

    /// As [`pass`](Self::pass). A pattern of the type is given too: what stands in it is no function's name.
    pub const fn pass_constructed(&self, value: T, _pattern: fn(T)) -> T
    where
        T: Copy,
    {
        value
    }
}

/// The type that a probe found.
#[must_use]
pub const fn type_of<T: KernelValue>(_probe: &Probe<T>) -> Type {
    T::LAYOUT
}

/// The type that a probe found, of a value made by a function of that type: of a vector or matrix.
#[must_use]
pub const fn linear_type_of<T: Linear>(_probe: &Probe<T>) -> Type {
    T::LAYOUT
}

/// A vector or matrix: the types whose functions kernels know.
#[diagnostic::on_unimplemented(
    message = "kernels know no functions of `{Self}`",
    label = "a function of a type that is no `Vector` and no `Matrix`",
    note = "write a `#[func]` and call it"
)]
pub trait Linear: KernelValue {}

impl<T: Element, const N: usize> Linear for Vector<T, N> {}
impl<T: Element, const R: usize, const C: usize> Linear for Matrix<T, R, C> {}

/// What a number is to the IR.
#[must_use]
pub const fn number_type<T: Number>() -> Type {
    T::LAYOUT
}

/// What a parameter by value is to the IR.
#[must_use]
pub const fn value_type<T: KernelValue>() -> ParamType {
    ParamType::Value(T::LAYOUT)
}

/// A tensor in a struct of tensors.
#[must_use]
pub const fn group_field<P: TensorParam>(name: &'static str, writable: bool) -> GroupField {
    match P::PARAM {
        ParamType::Tensor { elem, rank, .. } => GroupField { name, elem, rank, writable },
        _ => panic!("a struct of tensors has tensors alone"),
    }
}

/// What a parameter by reference is to the IR.
#[must_use]
pub const fn tensor_type<P: TensorParam>(writable: bool) -> ParamType {
    P::PARAM.passed(writable)
}

/// Gives a value back: emitted code puts into a call what would need parentheses.
#[inline(always)]
pub const fn identity<T: Copy>(value: T) -> T {
    value
}

/// Says that two functions are one: that a name means this crate's.
pub const fn same_function<F: Copy>(_one: F, _other: F) {}

/// The form of the body that calls a func with generic arguments of its own.
#[derive(Clone, Copy, Debug)]
pub struct BodyForm<const CHECKED: bool>;

/// Whether the never-called copy of a kernel is free of errors; see [`gate`].
#[derive(Debug)]
pub enum Gate<const OK: bool> {}

/// A [`Gate`] that lets values pass.
pub trait Open {
    /// The type of a value that has passed: `T`.
    type Passed<T>;
    /// Passes the value on.
    fn pass<T>(value: T) -> Self::Passed<T>;
}

impl Open for Gate<true> {
    type Passed<T> = T;
    #[inline(always)]
    fn pass<T>(value: T) -> T {
        value
    }
}

/// Passes a value on as it is.
///
/// `OK` comes from a constant that holds the never-called copy of a kernel. Where rustc finds errors in
/// that copy, `OK` is an error too, and so is the type of what passes here; and rustc says nothing about
/// what is done with a value of such a type. So a mistake that the body repeats is reported for
/// the copy alone.
#[inline(always)]
pub fn gate<const OK: bool, T>(value: T) -> <Gate<OK> as Open>::Passed<T>
where
    Gate<OK>: Open,
{
    Gate::<OK>::pass(value)
}
