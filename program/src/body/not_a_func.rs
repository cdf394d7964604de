//! Stand-ins for called functions without `#[func]`, so that rustc reports only the missing attribute.
//!
//! Emitted code imports the type that has the name of a called function. If there is no such type, the name is that of
//! [`NotAFunc`], which a scope outside of the import declares. All code then compiles but for the check of
//! [`Func::IS`].

use std::marker::PhantomData;

use super::{probe::Probe, site::CallSite};
use crate::value::{
    callable::{Callee, Func},
    identity::Identity,
};

/// A function that is not a func. `ParamAdapter` is how each argument is passed.
#[derive(Debug)]
pub struct NotAFunc<ParamAdapter>(PhantomData<ParamAdapter>);

// SAFETY: callers do not compile.
#[diagnostic::do_not_recommend]
unsafe impl<ParamAdapter> Func for NotAFunc<ParamAdapter> {
    const IS: bool = false;
}

/// How the parameter of a function has its argument `A`, which kernels pass by value.
pub trait ParamAdapter<A, Parameter> {}

/// `a`
#[derive(Debug)]
pub struct ByValue;

/// `&a`
#[derive(Debug)]
pub struct ByRef;

/// `&mut a`
#[derive(Debug)]
pub struct ByMut;

/// A tensor.
#[derive(Debug)]
pub struct ByView;

impl<A> ParamAdapter<A, A> for ByValue {}
impl<A> ParamAdapter<A, &A> for ByRef {}
impl<A> ParamAdapter<A, &mut A> for ByMut {}
impl<A, Parameter> ParamAdapter<A, Parameter> for ByView {}

impl<Of> NotAFunc<Of> {
    /// As that of a func.
    #[must_use]
    pub const fn __callee_of<F>(_: &Probe<F>) -> (fn() -> Callee, &'static Identity) {
        (|| Callee::Builtin, Identity::STATED)
    }
}

macro_rules! callable {
    ($($($how:ident $arg:ident $parameter:ident)*;)*) => { $(
        impl<$($how),*> NotAFunc<($($how,)*)> {
            /// As that of a func, with the result of the function.
            ///
            /// # Panics
            /// Always. Callers do not compile.
            #[allow(clippy::too_many_arguments, non_snake_case)]
            pub fn __call_at<
                F: Fn($($parameter),*) -> R,
                R,
                $($arg, $parameter,)*
                S,
                const IX: usize,
            >(
                _: CallSite<S, IX, F>,
                $(_: $arg),*
            ) -> R
            where
                $($how: ParamAdapter<$arg, $parameter>,)*
            {
                unreachable!("this function is not a func")
            }
        }
    )* };
}

callable! {
    ;
    H0 A0 P0;
    H0 A0 P0 H1 A1 P1;
    H0 A0 P0 H1 A1 P1 H2 A2 P2;
    H0 A0 P0 H1 A1 P1 H2 A2 P2 H3 A3 P3;
    H0 A0 P0 H1 A1 P1 H2 A2 P2 H3 A3 P3 H4 A4 P4;
    H0 A0 P0 H1 A1 P1 H2 A2 P2 H3 A3 P3 H4 A4 P4 H5 A5 P5;
    H0 A0 P0 H1 A1 P1 H2 A2 P2 H3 A3 P3 H4 A4 P4 H5 A5 P5 H6 A6 P6;
    H0 A0 P0 H1 A1 P1 H2 A2 P2 H3 A3 P3 H4 A4 P4 H5 A5 P5 H6 A6 P6 H7 A7 P7;
}
