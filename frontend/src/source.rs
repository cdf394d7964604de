//! What the macros emit for a kernel or a func, by its names here.

pub use quadrants_ir::source::{Callee, Source};

/// The source of a kernel.
pub type KernelSource = Source;

/// The source of a func.
pub type FuncSource = Source;
