//! The errors of launches: wrong arguments, races, and failures of the device.

use quadrants_ir::{
    Array, Offloaded,
    launch_analysis::{Cause, OverflowingCounter, Race, ValueOrigin},
    types::Type,
};
use quadrants_runtime as rt;

use super::param_code::ParamCode;
use crate::{CounterOverflow, Error, RaceExample, RaceReason};

/// The error for arguments with these codes, which the kernel does not accept: the first such argument.
#[cold]
pub(crate) fn argument_error(kernel: &Offloaded, codes: &[ParamCode]) -> Error {
    let accepted = |index: &usize| match (codes.get(*index), kernel.params.get(*index)) {
        (Some(code), Some(param)) => code.accepted_by(ParamCode::of_param(param)),
        _ => false,
    };
    let index = (0..).find(|index| !accepted(index)).unwrap_or(0);
    let param = kernel.params.get(index).map(ParamCode::of_param);
    let describe = |code: Option<ParamCode>| {
        code.map_or_else(|| "nothing".to_owned(), |code| code.to_string())
    };
    Error::Argument {
        kernel: kernel.name.clone(),
        position: index + 1,
        given: describe(codes.get(index).copied()),
        expected: describe(param),
    }
}

/// The error for a kernel's value that is requested with another type.
#[cold]
pub(crate) fn result_error(kernel: &Offloaded, requested: Option<Type>) -> Error {
    let types: Vec<String> = kernel.results.iter().map(ToString::to_string).collect();
    let returns = match &types[..] {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        types => format!("({})", types.join(", ")),
    };
    let asked = requested.map_or_else(|| "nothing".to_owned(), |ty| ty.to_string());
    Error::ResultType { kernel: kernel.name.clone(), asked, returns }
}

/// The error for a launch that may race.
#[cold]
pub(super) fn race_error(kernel: &Offloaded, race: Race) -> Error {
    let task = &kernel.tasks[race.task.index()];
    let tensor = name_of(kernel, race.object);
    let reason =
        if let Some(OverflowingCounter { array, bits, increments, may_decrease }) = race.counter {
            let tensor = name_of(kernel, array);
            RaceReason::CounterOverflow(CounterOverflow {
                tensor,
                bits,
                draws: increments,
                may_decrease,
            })
        } else if let Some(example) = race.example {
            let dims = task.kind.dims().into_iter().flatten();
            let mut variables: Vec<String> =
                dims.map(|dim| kernel.locals[dim.var].name.clone()).collect();
            let thread = race.thread.map(|local| kernel.locals[local].name.clone());
            variables
                .extend(task.kind.threads().map(|_| thread.unwrap_or_else(|| "thread".to_owned())));
            RaceReason::Example(RaceExample {
                variables,
                iterations: example.iterations.map(|values| values.to_vec()),
                tensor: tensor.clone(),
                element: example.element.to_vec(),
            })
        } else {
            RaceReason::Unproven(unproven(kernel, race.object, race.cause))
        };
    Error::Race {
        kernel: kernel.name.clone(),
        file: kernel.file.clone(),
        line: task.line,
        tensor,
        lines: race.sites.map(|site| kernel.sites[site.index()].line),
        reason: Box::new(reason),
    }
}

fn name_of(kernel: &Offloaded, array: Array) -> String {
    match array {
        Array::Tensor(tensor) => kernel.params[tensor.index()].name.clone(),
        Array::Shared(array) | Array::Local(array) => kernel.locals[array].name.clone(),
    }
}

/// What prevents the proof that accesses to an array do not race.
fn cause_text(kernel: &Offloaded, list: Array, cause: Cause) -> String {
    let line = |site: quadrants_ir::SiteId| kernel.sites[site.index()].line;
    match cause {
        Cause::Unknown(ValueOrigin::Read(array @ Array::Local(_), site)) => format!(
            "an index depends on an element of the local array `{}` (line {}), which the race check does not follow",
            name_of(kernel, array),
            line(site)
        ),
        Cause::Unknown(ValueOrigin::Read(array, site)) => format!(
            "an index depends on an element of `{}` (line {}), which only the device knows",
            name_of(kernel, array),
            line(site)
        ),
        Cause::Unknown(ValueOrigin::OldValue(array, site)) => format!(
            "an index depends on the old value of an atomic on `{}` (line {}), which may repeat: only \
             `atomic_add` on an integer counter returns values that differ (tickets)",
            name_of(kernel, array),
            line(site)
        ),
        Cause::Unknown(ValueOrigin::Changed(local)) => {
            format!("an index depends on `{}`, which changes in a loop", kernel.locals[local].name)
        }
        Cause::Counters(array) => format!(
            "the values that `atomic_add` on different counters in `{}` returns (tickets) may be equal, and the counter's index is not part of the list's \
             index, as the `c` of `count[c]` is in `list[[c, at]]`; help: write to `{}` by \
             `atomic_exchange`, which needs no proof",
            name_of(kernel, array),
            name_of(kernel, list)
        ),
        Cause::Ticket(sums @ Array::Local(_)) => format!(
            "an index made of the prefix sums `{}` must be the sum before the thread plus a number less than the \
             thread's own value, under a condition that makes this value positive; the race check knows nothing else \
             of the sums",
            name_of(kernel, sums)
        ),
        Cause::Ticket(array) => format!(
            "the values that `atomic_add` on `{}` returns (tickets) differ from each other by the amount that is added, and nothing else is known of them: \
             an index must be the ticket, or the ticket plus less than that amount",
            name_of(kernel, array)
        ),
        Cause::Rows { counted, rows, counters } => {
            let (list, tensor) = (name_of(kernel, list), name_of(kernel, counted));
            format!(
                "`{list}` has {rows} rows for {counters} counters in `{tensor}`, and a counter outside of `{tensor}` \
                 always gives 0; help: let `{list}` have no more rows than there are counters"
            )
        }
        Cause::Obstacle { kind, in_condition } => {
            let place = if in_condition { "a condition" } else { "an index" };
            format!("{place} depends on {kind}, which the race check does not follow in all cases")
        }
        Cause::NotProven => {
            "the race check cannot prove that they access different elements".to_owned()
        }
    }
}

/// What prevents the proof, and the remedy.
fn unproven(kernel: &Offloaded, list: Array, cause: Cause) -> String {
    let mut text = cause_text(kernel, list, cause);
    if !text.contains("; help: ") {
        text.push_str(
            "; help: use a tensor with one dimension per index (`reshape`), write by `qd::atomic_exchange`, or assert \
             in `unsafe { … }` that no two are the same",
        );
    }
    text
}

/// The error for a launch that failed at the device. `started` is whether some of its tasks had been enqueued.
#[cold]
pub(crate) fn launch_error(kernel: &Offloaded, started: bool, source: rt::Error) -> Error {
    if let rt::Error::Device(quadrants_rhi::Error::Panicked { message, line }) = source {
        let (kernel, file) = (kernel.name.clone(), kernel.file.clone());
        return Error::Panicked { kernel, file, line, message };
    }
    Error::Launch { kernel: kernel.name.clone(), started, source }
}
