//! Questions about the user's syntax (`syn`'s types) that need no state. The syntax tree and the CPU body are made
//! from the same code by the same answers.

mod calls;
mod exprs;
mod invocation;
mod loops;
mod patterns;
mod visit;

pub(crate) use self::{
    calls::*,
    exprs::*,
    invocation::{AssertCall, AssertCheck, ExpectedType, FormatText, Invocation, is_invocation},
    loops::*,
    patterns::alternatives,
    visit::*,
};
