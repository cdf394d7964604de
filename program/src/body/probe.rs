//! Type inference for emitted code: [`Probe`] reads the types that rustc infers, and [`gate`] avoids duplicate errors.

use std::marker::PhantomData;

use quadrants_ir::types::Type;

use crate::{Element, KernelValue, Number, Vector, value::identity::Identity};

/// A type that rustc infers. The type-inference copy of a kernel passes a binding to [`observe`](Self::observe); the
/// code around the copy then reads the binding's type from the probe.
///
/// # Examples
/// ```
/// use quadrants_program::body::{Probe, type_of};
/// use quadrants_ir::{ScalarType, types::Type};
/// const TYPE: Type = {
///     let probe = Probe::new();
///     let _ = |n: usize| {
///         let half = n / 2;
///         probe.observe(&half);
///     };
///     type_of(&probe)
/// };
/// assert_eq!(TYPE, Type::Scalar(ScalarType::U64));
/// ```
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

impl<T> Probe<T> {
    /// A probe of a type that is still to be inferred.
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
    /// Unifies the probe's type with that of `binding`.
    pub const fn observe(&self, _binding: &T) {}

    /// Unifies the probe's type with that of `value`, and returns `value`.
    pub const fn pass(&self, value: T) -> T {
        value
    }

    /// As [`pass`](Self::pass), for a tuple, array or struct expression. Never called: its result is of an error type
    /// if the value is not a kernel value, so that rustc reports nothing else.
    pub fn pass_aggregate(&self, _value: T) -> T::Same
    where
        T: KernelValue,
    {
        unreachable!("the code with probes is never called")
    }

    /// Unifies the probe's type with that of `value`, which a loop iterates over. Never called: its result is of an
    /// error type if the value has no elements, so that rustc reports nothing else.
    pub fn elements(&self, _value: T) -> <T as Iterated>::Same
    where
        T: Iterated,
    {
        unreachable!("the code with probes is never called")
    }

    /// Returns the value of a call, which is a kernel value or nothing. Never called: its result is of an error type if
    /// the value is neither, so that rustc reports nothing else.
    pub fn returned<V: FuncResult>(&self, _value: V) -> V::Same {
        unreachable!("the code with probes is never called")
    }

    /// As [`pass_aggregate`](Self::pass_aggregate), for a struct or variant expression that could also be a function
    /// call. The closure uses the same path in a pattern, where a function's name is an error.
    pub fn pass_constructed(&self, _value: T, _pattern: fn(T)) -> T::Same
    where
        T: KernelValue,
    {
        unreachable!("the code with probes is never called")
    }
}

/// The inferred type as the IR's.
#[must_use]
pub const fn type_of<T: KernelValue>(_probe: &Probe<T>) -> Type {
    T::LAYOUT
}

/// An array or vector: what a loop in a kernel can iterate over, by value.
#[diagnostic::on_unimplemented(
    message = "kernels cannot iterate over `{Self}`",
    label = "not an array or `Vector`",
    note = "loop over a range, an `ndrange`, an array or a `Vector`"
)]
pub trait Iterated: KernelValue {
    /// The type itself.
    type Same;
}

impl<T: KernelValue, const N: usize> Iterated for [T; N] {
    type Same = Self;
}

impl<T: Element, const N: usize> Iterated for Vector<T, N> {
    type Same = Self;
}

/// The result of a func: a kernel value or nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as a value in kernels",
    label = "not a kernel value",
    note = "kernel values are numbers, bools, tuples, arrays, `Vector`s, `Matrix`es, \
            and structs and enums that derive `KernelValue`"
)]
pub trait FuncResult {
    /// The type itself, or an error type, about which rustc reports nothing else.
    type Same;
    /// The identity of its type.
    const RESULT_IDENTITY: &'static Identity;
}

impl FuncResult for () {
    type Same = ();
    const RESULT_IDENTITY: &'static Identity = &Identity { name: "nothing", parts: &[] };
}

#[diagnostic::do_not_recommend]
impl<T: KernelValue> FuncResult for T {
    type Same = T::Same;
    const RESULT_IDENTITY: &'static Identity = T::TYPE_IDENTITY;
}

/// A number type as the IR's.
#[must_use]
pub const fn number_type<T: Number>() -> Type {
    T::LAYOUT
}

/// Returns its argument. Emitted code wraps blocks in a call of it instead of parentheses, which would raise a lint.
#[inline(always)]
pub const fn identity<T: Copy>(value: T) -> T {
    value
}

/// Requires that two functions have the same type, and so that a name in a kernel means this crate's function.
pub const fn same_function<F: Copy>(_one: F, _other: F) {}

/// Whether the type-inference copy of a kernel is free of errors; see [`gate`].
#[derive(Debug)]
pub enum Gate<const OK: bool> {}

/// Implemented by `Gate<true>` only: the gate that values can pass.
pub trait OpenGate {
    /// The type of the value after the gate: `T`.
    type Passed<T>;
    /// Returns the value.
    fn pass<T>(value: T) -> Self::Passed<T>;
}

impl OpenGate for Gate<true> {
    type Passed<T> = T;
    #[inline(always)]
    fn pass<T>(value: T) -> T {
        value
    }
}

/// `T`, or an error type; see [`gate`].
pub type Gated<const OK: bool, T> = <Gate<OK> as OpenGate>::Passed<T>;

/// Makes probes.
#[derive(Debug)]
pub struct Probes;

impl Probes {
    /// As [`Probe::new`].
    #[must_use]
    pub const fn probe<T>(&self) -> Probe<T> {
        Probe::new()
    }
}

/// Returns a value unchanged, and suppresses duplicate errors.
///
/// `OK` is a constant that contains the type-inference copy of a kernel. If rustc finds errors in that copy, then `OK`
/// is an error, and so is the type of this function's result; rustc reports nothing about uses of a value of an error
/// type. So a mistake that the CPU body repeats is reported for the copy only.
#[inline(always)]
pub fn gate<const OK: bool, T>(value: T) -> <Gate<OK> as OpenGate>::Passed<T>
where
    Gate<OK>: OpenGate,
{
    Gate::<OK>::pass(value)
}
