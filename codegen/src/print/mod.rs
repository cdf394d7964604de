//! Prints an offloaded kernel as C-family text.
//!
//! Precondition: the kernel passes `verify_offloaded`. The text is readable: locals keep their source names, loops have
//! a comment with their source location, and only the helper functions that a kernel uses are printed. It has the
//! semantics of [`quadrants_ir`] where C++ has undefined behaviour: integers wrap in their unsigned types, shift counts
//! are masked, conversions saturate, divisions are guarded.
//!
//! Each task is one `extern "C" __global__` function. Its parameter is the argument block of [`quadrants_ir::abi`] as
//! the struct `qd_args`, by value or by address. No headers are needed.
//!
//! Launch geometry: a range loop of n dimensions needs a grid and blocks of n dimensions, x for the innermost, of any
//! size. A serial task accepts any grid; one thread executes it. A block loop accepts any grid of blocks with the
//! declared block size, with the threads along x.

mod atomics;
mod blocks;
mod coarsen;
mod collective;
mod collective_functions;
mod consts;
mod cse;
mod division;
mod expr;
mod helpers;
mod linear_index;
mod loop_versioning;
mod names;
mod params;
mod privatize;
mod ranges;
mod reduce;
mod shared_init;
mod speculate;
mod stmt;
mod task;
mod types;

use std::{collections::BTreeSet, fmt::Write as _};

use quadrants_ir::{
    Offloaded, ParamKind, Task,
    abi::{ErrorRecord, Forms, MESSAGE_VALUES, Message, MessageBuffer, Passing, block_words},
};

pub use self::speculate::WITHOUT_FAILURES;
use self::{
    helpers::Helper,
    names::ParamNames,
    task::{PrintContext, TaskPrinter},
};
use crate::Dialect;

/// [`ErrorRecord`] in C++, as kernels without messages need it.
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

/// [`ErrorRecord`], [`MessageBuffer`] and [`Message`] in C++.
const ERROR_RECORD_WITH_MESSAGES: &str = "\
struct qd_message {
    u64 number;
    u64 launch;
    u64 site;
    u64 next;
    u64 values[28];
};

struct qd_message_buffer {
    u64* counter;
    u64 printed;
    qd_message messages[1024];
};

struct qd_error_record {
    u32 state;
    u32 site;
    u64 launch;
    u32 task;
    u32 count;
    u64 values[14];
    u64* claim;
    qd_message_buffer* messages;
};
";

const _: () = assert!(
    MESSAGE_VALUES == 28 && MessageBuffer::MESSAGES == 1024 && size_of::<Message>() == 256,
    "`ERROR_RECORD_WITH_MESSAGES` has these sizes"
);

const _: () = assert!(ErrorRecord::VALUES == 14, "`ERROR_RECORD` has the number of values");

/// Prints all tasks of a verified kernel as one text. `forms` are those that the kernel was
/// [scheduled](quadrants_ir::schedule::schedule) for. A task that is not scheduled runs as written, with checks.
#[must_use]
pub fn print_kernel(
    kernel: &Offloaded,
    dialect: &dyn Dialect,
    forms: impl Into<Forms>,
    passing: Passing,
) -> String {
    let forms = forms.into();
    let (params, names) = names::name_params(&kernel.params);
    let shared = cse::find_shared(kernel);
    let mut helpers = BTreeSet::new();
    let mut functions = String::new();
    for (task, Task { schedule, kind, .. }) in kernel.tasks() {
        let form = schedule.form;
        let cx = PrintContext { kernel, dialect, form, passing, params: &params, shared: &shared };
        if let (true, Some(dims)) = (schedule.speculative_iterations, kind.dims()) {
            let printer = TaskPrinter::new(cx, task, names.clone(), &mut helpers);
            functions.push('\n');
            functions.push_str(&printer.checked_iteration(dims));
        }
        let printer = TaskPrinter::new(cx, task, names.clone(), &mut helpers);
        functions.push('\n');
        functions.push_str(&printer.print());
    }
    let mut text = types::TYPEDEFS.to_owned();
    text.push('\n');
    text.push_str(if kernel.prints() { ERROR_RECORD_WITH_MESSAGES } else { ERROR_RECORD });
    text.push('\n');
    text.push_str(&argument_struct(kernel, &params, forms));
    for helper in helpers {
        text.push('\n');
        text.push_str(&Helper::definition(helper, dialect));
    }
    text + &functions
}

/// The argument block as a struct. Every field has a word of its own, as in [`quadrants_ir::abi`].
fn argument_struct(kernel: &Offloaded, params: &[ParamNames], forms: Forms) -> String {
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
            ParamKind::Scalar(ty) => writeln!(text, "    alignas(8) {} {name};", ty.name()),
            ParamKind::Tensor { elem, writable, .. }
            | ParamKind::Component { elem, writable, .. } => {
                writeln!(text, "    {} {name};", params::pointer(elem, writable))
            }
        };
        for word in names.words() {
            let _ = writeln!(text, "    u64 {word};");
        }
    }
    let interior_words = block_words(kernel, forms) - block_words(kernel, Forms::PROVEN);
    if interior_words > 0 {
        let _ = writeln!(text, "    u64 qd_interior[{interior_words}];");
    }
    text + "};\n"
}
