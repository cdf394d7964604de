//! Questions about the author's syntax (`syn`'s types) that need no state. The syntax tree and the CPU body are made
//! from the same code by the same answers.

mod assertion;
mod calls;
mod exprs;
mod loops;
mod visit;

pub(crate) use self::{assertion::Assert, calls::*, exprs::*, loops::*, visit::*};
