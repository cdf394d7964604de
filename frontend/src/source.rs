//! What the macro emits beside a kernel's CPU body: a tree and the tables that rustc filled for it.

use quadrants_ir::types::{Constant, ParamType, Type};

/// The source of a kernel or a func: a `static` or an associated constant of the emitted code.
///
/// The tables are functions, so that they cost nothing until a kernel is first launched on a device
/// that needs its IR.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The source file: `file!()`.
    pub file: &'static str,
    /// A [`Function`](crate::syntax::Function), encoded.
    pub tree: &'static [u8],
    /// What each parameter is, in order.
    pub params: fn() -> Vec<ParamType>,
    /// The types behind each [`TypeIx`](crate::syntax::TypeIx): of bindings and loop variables as rustc
    /// inferred them, of cast targets and results as written.
    pub types: fn() -> Vec<Type>,
    /// The funcs called. Functions, so that a recursive one is an error here and not a cycle for rustc.
    pub funcs: &'static [fn() -> &'static Source],
    /// The constants named.
    pub consts: &'static [fn() -> Constant],
}

/// The source of a kernel.
pub type KernelSource = Source;

/// The source of a func.
pub type FuncSource = Source;
