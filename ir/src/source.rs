//! What the `#[kernel]` and `#[func]` macros emit for a function: the encoded syntax tree and the tables that rustc
//! filled for it. The frontend lowers it to IR.

use crate::types::{Constant, ParamType, Type};

/// The source of a kernel or a func: a `static` or an associated constant of the emitted code.
///
/// The tables are functions, so that they cost nothing until the kernel's IR is first needed.
#[derive(Clone, Copy, Debug)]
pub struct EmittedSource {
    /// The source file: `file!()`.
    pub file: &'static str,
    /// The syntax tree, encoded by the frontend.
    pub tree: &'static [u8],
    /// The type of each parameter, in order.
    pub params: fn() -> Vec<ParamType>,
    /// The types that the tree refers to by index: of bindings and loop variables as inferred by rustc, of cast targets
    /// and results as written.
    pub types: fn() -> Vec<Type>,
    /// The callees that the tree refers to by index. They are functions, so that a recursive func is an error of the
    /// frontend, not a cycle for rustc.
    pub funcs: &'static [fn() -> Callee],
    /// The constants that the tree refers to by index.
    pub consts: &'static [fn() -> Constant],
}

/// The target of a call in a kernel, as resolved by rustc's trait selection.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// A built-in method or function of numbers, arrays, vectors or matrices, which the frontend looks up by name.
    Builtin,
    /// A user's `#[func]`.
    Func(&'static EmittedSource),
}
