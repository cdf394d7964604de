//! Prints an offloaded kernel as C-family text.
//!
//! The text is meant to be read: locals keep the names of the source, a loop has a comment with its
//! place, and of the helper functions only those are there that the kernel uses. What it computes is
//! what [`quadrants_ir`] says and C++ leaves undefined is spelt out: integers wrap in their unsigned
//! types, shift counts are masked, conversions saturate, divisions are guarded.
//!
//! Each task is one `extern "C" __global__` function. It takes the argument block of
//! [`quadrants_ir::abi`] as the struct `qd_args`, by value or by address. No header is needed.
//!
//! A loop of n dimensions is to be launched with a grid and blocks of n dimensions, x for the
//! innermost; of any size. A serial task may be launched with any grid: one thread runs it. A task of
//! blocks is to be launched with any grid of the blocks that it says, along x.

mod address;
mod blocks;
mod coarsen;
mod collective;
mod consts;
mod cse;
mod expr;
mod helpers;
mod loop_versioning;
mod names;
mod privatize;
mod reduce;
mod shared_init;
mod speculate;
mod stmt;
mod task;
mod types;

use std::{collections::BTreeSet, fmt::Write as _};

use quadrants_ir::{
    Offloaded, ParamKind,
    abi::{ErrorRecord, Form, Passing, block_words},
};

use self::{
    helpers::Helper,
    names::ParamNames,
    task::{Context, TaskPrinter},
};
use crate::Dialect;

/// The layout of [`ErrorRecord`].
const ERROR_RECORD: &str = "\
struct qd_error_record {
    u32 state;
    u32 site;
    u64 launch;
    u32 task;
    u32 count;
    u64 values[14];
    u64* claim;
};
";

const _: () = assert!(ErrorRecord::VALUES == 14, "as the text says");

/// Prints all tasks of a verified kernel as one text.
#[must_use]
pub fn print_kernel(
    kernel: &Offloaded,
    dialect: &dyn Dialect,
    form: Form,
    passing: Passing,
) -> String {
    let (params, names) = names::name_params(&kernel.params);
    let shared = cse::find(kernel);
    let cx = Context { kernel, dialect, form, passing, params: &params, shared: &shared };
    let mut helpers = BTreeSet::new();
    let mut functions = String::new();
    for (task, _) in kernel.tasks() {
        let printer = TaskPrinter::new(cx, task, names.clone(), &mut helpers);
        functions.push('\n');
        functions.push_str(&printer.print());
    }
    let mut text = types::TYPEDEFS.to_owned();
    text.push('\n');
    text.push_str(ERROR_RECORD);
    text.push('\n');
    text.push_str(&argument_struct(kernel, &params, form));
    for helper in helpers {
        text.push('\n');
        text.push_str(&Helper::definition(helper, dialect));
    }
    text + &functions
}

/// The argument block: every field on a word of its own, as [`quadrants_ir::abi`] lays it out.
fn argument_struct(kernel: &Offloaded, params: &[ParamNames], form: Form) -> String {
    let mut text = "\
struct qd_args {
    qd_error_record* qd_error;
    u64* qd_scratch;
    u64 qd_launch;
"
    .to_owned();
    for (param, names) in kernel.params.iter().zip(params) {
        let name = &names.value;
        let _ = match param.kind {
            ParamKind::Scalar(ty) => writeln!(text, "    alignas(8) {} {name};", types::name(ty)),
            ParamKind::Tensor { elem, writable, .. }
            | ParamKind::Component { elem, writable, .. } => {
                writeln!(text, "    {} {name};", task::pointer(elem, writable))
            }
        };
        for word in names.words() {
            let _ = writeln!(text, "    u64 {word};");
        }
    }
    let inside = block_words(kernel, form) - block_words(kernel, Form::Proven);
    if inside > 0 {
        let _ = writeln!(text, "    u64 qd_inside[{inside}];");
    }
    text + "};\n"
}
