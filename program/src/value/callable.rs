//! The traits of what kernels can call: methods, associated functions and funcs.
//!
//! One impl per name and receiver type defines both what a call is in the IR and what it runs on the CPU. So IR and CPU
//! body cannot resolve a call differently: neither depends on the traits in the caller's scope.

pub use quadrants_ir::source::Callee;
use quadrants_ir::source::EmittedSource;

use super::identity::Identity;

/// A type with a method or associated function that kernels can call. `NAME` is the number of its name. `By` is `()`,
/// or for an `impl` of a trait a type that `#[func]` emits beside it: so a trait of the user's can have an `impl` for a
/// type of another crate. rustc infers it at each call, from the only `impl` for the name and the receiver's type;
/// where there are several, the call does not compile.
///
/// # Safety
/// Only `#[func]` may implement it. `SOURCE` must do in the IR what [`Method::call`] and [`Function::call`] of the same
/// name do on the CPU: the CPU relies on proofs that are made on the IR. `MUTATES` must be true if they change the
/// receiver.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such method in kernels",
    label = "not a method or function that kernels can call",
    note = "kernels have methods of numbers, arrays, `Vector` and `Matrix`, and those of `impl` blocks with `#[func]`; \
            a type parameter has those of its bounds (`Number`, `Signed`, `Float`, `Int`, or a trait with `#[func]`); \
            instead of iterators and `swap`, write loops and assignments"
)]
pub unsafe trait HasMethod<const NAME: u64, By = ()> {
    /// The type of the result.
    type Output;

    /// The source of a func and the table of its [type sites](crate::body::SiteTable); `None` for built-in methods.
    const SOURCE: Option<(&'static EmittedSource, &'static [&'static Identity])>;

    /// What a call is in the IR.
    const CALLEE: Callee = match Self::SOURCE {
        Some((source, _)) => Callee::Func(source),
        None => Callee::Builtin,
    };

    /// The identities of the types at its type sites.
    const IDENTITIES: &'static [&'static Identity] = match Self::SOURCE {
        Some((_, identities)) => identities,
        None => &[],
    };

    /// Whether the method takes `&mut self`.
    const MUTATES: bool;

    /// Evaluates the source of the method, so that an error in the method is reported only there: see
    /// [`gate`](crate::body::gate).
    const OK: bool = {
        let _ = Self::CALLEE;
        true
    };

    /// Returns [`CALLEE`](Self::CALLEE).
    #[must_use]
    fn callee() -> Callee {
        Self::CALLEE
    }
}

/// A method, for arguments of the types in the tuple `Args`.
///
/// # Safety
/// As [`HasMethod`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such method in kernels, with these arguments",
    label = "not a method that kernels can call"
)]
pub unsafe trait Method<const NAME: u64, Args, By = ()>: HasMethod<NAME, By> {
    /// Calls the method.
    #[track_caller]
    fn call(this: &mut Self, args: Args) -> Self::Output;
}

/// An associated function, for arguments of the types in the tuple `Args`. A method is one too; its first argument is
/// the receiver.
///
/// # Safety
/// As [`HasMethod`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such function in kernels, with these arguments",
    label = "not a function that kernels can call"
)]
pub unsafe trait Function<const NAME: u64, Args, By = ()>: HasMethod<NAME, By> {
    /// Calls the function.
    #[track_caller]
    fn call(args: Args) -> Self::Output;
}

/// A struct of tensors with a method. `NAME` is the number of its name.
///
/// # Safety
/// Only `#[func]` may implement it: see [`Func`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such method in kernels",
    label = "not a method that kernels can call",
    note = "structs of tensors have methods of `impl` blocks with `#[func]`; tensors have only `len()` and `shape()`"
)]
pub unsafe trait HasTensorMethod<const NAME: u64> {
    /// The type with the method's source and body.
    type Func: Func;
    /// The type of the result.
    type Output;
    /// What a call is in the IR.
    const CALLEE: fn() -> Callee;
    /// The identity of the types of parameters and result.
    const TYPES: &'static Identity;
}

/// Implemented by the type that `#[func]` emits under the name of a func.
///
/// # Safety
/// Only `#[func]` may implement it: the type's associated functions must be the func's source and body.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a func",
    label = "kernels can call only functions with `#[func]`"
)]
pub unsafe trait Func {
    /// Whether this is a func. Callers require it.
    const IS: bool = true;
}
