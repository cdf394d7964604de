//! What the `#[kernel]` and `#[func]` macros emit for a function: its syntax tree, encoded, and the tables that
//! rustc filled for it. The frontend turns it into IR.

use crate::types::{Constant, ParamType, Type};

/// The source of a kernel or a func: a `static` or an associated constant of the emitted code.
///
/// The tables are functions, so that they cost nothing until a kernel is first launched on a device
/// that needs its IR.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The source file: `file!()`.
    pub file: &'static str,
    /// The syntax tree, encoded by the frontend.
    pub tree: &'static [u8],
    /// The type of each parameter, in order.
    pub params: fn() -> Vec<ParamType>,
    /// The types behind the type indices of the tree: of bindings and loop variables as rustc
    /// inferred them, of cast targets and results as written.
    pub types: fn() -> Vec<Type>,
    /// The callees of the tree. Functions, so that a recursive func is an error of the frontend and not a cycle
    /// for rustc.
    pub funcs: &'static [fn() -> Callee],
    /// The constants named.
    pub consts: &'static [fn() -> Constant],
}

/// What a call in a kernel resolves to, as rustc's trait selection decided.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// A method or function that the IR knows by its name: of numbers, arrays, vectors and matrices.
    Builtin,
    /// A func.
    Func(&'static Source),
}
