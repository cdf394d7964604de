//! Calls of methods and associated functions in kernels, through the traits in `value/callable.rs`.

use std::ops::Deref;

use super::{
    element_ref::ElementRef,
    probe::{FuncResult, Probe},
    site::{ArgumentTypes, SiteTable, check_site, signature},
};
use crate::{
    KernelValue,
    value::{
        callable::{Callee, Function, HasMethod, HasTensorMethod, Method},
        identity::Identity,
    },
};

/// Runs the body of a method. The traits' functions have their caller's location, as built-in methods need it; errors
/// in the body have their own.
#[inline(always)]
pub fn in_func<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// Calls a method on a value that is not a local or element. The method must not take `&mut self`: the change would be
/// lost.
#[inline(always)]
#[track_caller]
pub fn call_method<const NAME: u64, T: Method<NAME, A, By>, A, By>(
    mut this: T,
    args: A,
) -> T::Output {
    const {
        assert!(
            !T::MUTATES,
            "a method that takes `&mut self` must be called on a local or an element"
        );
    }
    T::call(&mut this, args)
}

/// Calls an associated function of the type `T`, which a pattern or [`TypeOfCall`] identifies.
#[inline(always)]
#[track_caller]
pub fn call_associated<const NAME: u64, T: Function<NAME, A, By>, A, By>(
    _of: fn(T),
    args: A,
) -> T::Output {
    T::call(args)
}

/// Calls an associated function of a type, and checks that the types of arguments and result are those at a type site.
#[inline(always)]
#[track_caller]
pub fn call_function<const NAME: u64, T, A, By, S, const IX: usize>(args: A) -> T::Output
where
    T: Function<NAME, A, By, Output: FuncResult>,
    A: ArgumentTypes,
    S: SiteTable,
{
    const { check_site::<S, IX>(signature::<A, T::Output>()) }
    T::call(args)
}

/// A function that takes a value of a type. By the path `Type::__taking`, rustc infers the type's generic arguments.
/// Another function of this name changes nothing: the type that it takes is the one whose function is called.
pub trait TypeOfCall: Sized {
    /// Does nothing.
    fn __taking(self) {}
}

impl<T> TypeOfCall for T {}

/// As [`call_function`], of the type of which [`TypeOfCall`] takes a value.
#[inline(always)]
#[track_caller]
pub fn call_by_type<const NAME: u64, T, A, By, S, const IX: usize>(_of: fn(T), args: A) -> T::Output
where
    T: Function<NAME, A, By, Output: FuncResult>,
    A: ArgumentTypes,
    S: SiteTable,
{
    call_function::<NAME, T, A, By, S, IX>(args)
}

/// Calls a method on a copy of its receiver, which [`write_back`] or [`write_back_local`] stores afterwards.
#[inline(always)]
#[track_caller]
pub fn call_in_place<const NAME: u64, T: Method<NAME, A, By>, A, By>(
    this: &mut T,
    args: A,
) -> T::Output {
    T::call(this, args)
}

/// Reads the receiver again after the arguments were evaluated, if the method changes it in place.
#[inline(always)]
pub fn reload_receiver<const NAME: u64, T: HasMethod<NAME, By>, By>(receiver: &mut T, now: T) {
    if T::MUTATES {
        *receiver = now;
    }
}

/// Writes the receiver of a method back to its element, if the method takes `&mut self`.
#[inline(always)]
pub fn write_back<const NAME: u64, T: HasMethod<NAME, By> + KernelValue, By>(
    element: ElementRef<T>,
    receiver: T,
) {
    if T::MUTATES {
        element.write(receiver);
    }
}

/// Writes the receiver of a method back to its local, if the method takes `&mut self`.
#[inline(always)]
pub fn write_back_local<const NAME: u64, T: HasMethod<NAME, By>, By>(local: &mut T, receiver: T) {
    if T::MUTATES {
        *local = receiver;
    }
}

/// What a method call is in the IR, for the receiver type that a probe inferred. It also requires that the type rustc
/// inferred for the call's result is the method's output type, so that IR and rustc agree on all types that depend on
/// it.
#[must_use]
pub const fn method_of<const NAME: u64, T, R, By>(
    _receiver: &Probe<T>,
    _result: &Probe<R>,
) -> fn() -> Callee
where
    R: KernelMethod<NAME, T, By>,
{
    R::CALLEE
}

/// The type of the result of a method of `T`. If `T` has no such method even on the host, rustc knows no such type, and
/// reports only that; so this is a trait of the result, not of `T`.
#[diagnostic::on_unimplemented(
    message = "`{T}` has no such method in kernels",
    label = "not a method or function that kernels can call",
    note = "kernels have methods of numbers, arrays, `Vector` and `Matrix`, and those of `impl` blocks with `#[func]`; \
            a type parameter has those of its bounds (`Number`, `Signed`, `Float`, `Int`, or a trait with `#[func]`); \
            instead of iterators and `swap`, write loops and assignments"
)]
pub trait KernelMethod<const NAME: u64, T, By> {
    /// Returns [`HasMethod::CALLEE`].
    const CALLEE: fn() -> Callee;
}

#[diagnostic::do_not_recommend]
impl<const NAME: u64, T: HasMethod<NAME, By, Output = R>, R, By> KernelMethod<NAME, T, By> for R {
    const CALLEE: fn() -> Callee = T::callee;
}

/// As [`method_of`], for a method of a struct of tensors; also returns the identity of the types of parameters and
/// result.
#[must_use]
pub const fn tensor_method_of<const NAME: u64, T, R>(
    _result: &Probe<R>,
) -> (fn() -> Callee, &'static Identity)
where
    R: KernelTensorMethod<NAME, T>,
{
    (R::CALLEE, R::TYPES)
}

/// As [`KernelMethod`], for a method of a struct of tensors.
#[diagnostic::on_unimplemented(
    message = "`{T}` has no such method in kernels",
    label = "not a method that kernels can call",
    note = "structs of tensors have the methods of `impl` blocks with `#[func]`; tensors have only `len()` and `shape()`"
)]
pub trait KernelTensorMethod<const NAME: u64, T> {
    /// Returns [`HasTensorMethod::CALLEE`].
    const CALLEE: fn() -> Callee;
    /// Returns [`HasTensorMethod::TYPES`].
    const TYPES: &'static Identity;
}

#[diagnostic::do_not_recommend]
impl<const NAME: u64, T: HasTensorMethod<NAME, Output = R>, R> KernelTensorMethod<NAME, T> for R {
    const CALLEE: fn() -> Callee = T::CALLEE;
    const TYPES: &'static Identity = T::TYPES;
}

/// As [`method_of`], for an associated function of `T`; also returns the identity of the types of arguments and result.
#[must_use]
pub const fn function_of<const NAME: u64, T, R, A, By>(
    _result: &Probe<R>,
) -> (fn() -> Callee, &'static Identity)
where
    R: KernelFunction<NAME, T, A, By>,
{
    (R::CALLEE, R::SIGNATURE)
}

/// The type of the result of an associated function of `T`, whose arguments are `A`. If there is no such function even
/// on the host, or if its result is not a kernel value, rustc knows no such type, and reports only that.
#[diagnostic::on_unimplemented(
    message = "`{T}` has no such function in kernels, with these arguments",
    label = "not a function that kernels can call"
)]
pub trait KernelFunction<const NAME: u64, T, A, By> {
    /// Returns [`HasMethod::CALLEE`].
    const CALLEE: fn() -> Callee;
    /// The identity of the types of arguments and result.
    const SIGNATURE: &'static Identity;
}

#[diagnostic::do_not_recommend]
impl<const NAME: u64, T, A, R, By> KernelFunction<NAME, T, A, By> for R
where
    T: Identified<NAME, A, By> + HasMethod<NAME, By, Output = R>,
{
    const CALLEE: fn() -> Callee = T::callee;
    const SIGNATURE: &'static Identity = T::FUNCTION_IDENTITY;
}

/// An associated function whose arguments and result have identities. By itself, so that rustc does not also report
/// the result of a function that kernels cannot call.
trait Identified<const NAME: u64, A, By> {
    const FUNCTION_IDENTITY: &'static Identity;
}

#[diagnostic::do_not_recommend]
impl<const NAME: u64, T, A: ArgumentTypes, By> Identified<NAME, A, By> for T
where
    T: Function<NAME, A, By>,
    T::Output: FuncResult,
{
    const FUNCTION_IDENTITY: &'static Identity = signature::<A, T::Output>();
}

/// As [`function_of`], of the type of which [`TypeOfCall`] takes a value.
#[must_use]
pub const fn function_by_type<const NAME: u64, T, R, A, By>(
    _of: fn(T),
    result: &Probe<R>,
) -> (fn() -> Callee, &'static Identity)
where
    R: KernelFunction<NAME, T, A, By>,
{
    function_of::<NAME, T, R, A, By>(result)
}

/// Whether a type has a method of this name that is built in or of an `impl` block without a trait. If it has, the
/// constant of the type hides that of [`NoMethod`].
#[derive(Debug)]
pub struct OwnMethod<T, const NAME: u64>(std::marker::PhantomData<T>);

impl<T: HasMethod<NAME>, const NAME: u64> OwnMethod<T, NAME> {
    /// Whether there is such a method.
    pub const EXISTS: bool = true;
}

/// See [`OwnMethod`].
pub trait NoMethod {
    /// Whether there is such a method.
    const EXISTS: bool = false;
}

impl<T> NoMethod for T {}

/// Rejects structs that derive `KernelValue` and implement `Deref`: for a private field, `value.field` could mean a
/// field of the target. For such a struct, this impl overlaps with the one that the derive emits.
pub trait ValuesDoNotDeref {}

impl<T: Deref> ValuesDoNotDeref for T {}

/// `a == b` in kernels: compares scalars by `==`, and aggregates scalar by scalar. With debug assertions it
/// panics where the user's `PartialEq` gives another result.
#[inline(always)]
#[must_use]
pub fn equal<T: KernelValue + PartialEq>(a: T, b: T) -> bool {
    let equal = a.kernel_eq(b);
    if cfg!(debug_assertions) {
        assert!(
            equal == (a == b),
            "kernels compare the fields of `{}`, as `#[derive(PartialEq)]` does; its own `PartialEq` has another result: \
             write a method with `#[func]` instead",
            std::any::type_name::<T>()
        );
    }
    equal
}
