//! The errors of launches: wrong arguments, races, and failures of the device.

use quadrants_ir::{
    Array, Offloaded,
    launch_analysis::{Overflow, Race},
    types::Type,
};
use quadrants_runtime as rt;

use super::param_code::ParamCode;
use crate::{CounterOverflow, Error, RaceExample, RaceReason};

/// The error for arguments with these codes, which the kernel does not accept: the first such argument.
#[cold]
pub(super) fn argument_error(kernel: &Offloaded, codes: &[ParamCode]) -> Error {
    let accepted = |index: &usize| match (codes.get(*index), kernel.params.get(*index)) {
        (Some(code), Some(param)) => code.accepted_by(ParamCode::of(param.kind)),
        _ => false,
    };
    let index = (0..).find(|index| !accepted(index)).unwrap_or(0);
    let param = kernel.params.get(index).map(|param| ParamCode::of(param.kind));
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
pub(super) fn result_error(kernel: &Offloaded, requested: Option<Type>) -> Error {
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
    let tensor = match race.object {
        Array::Tensor(tensor) => kernel.params[tensor.index()].name.clone(),
        Array::Shared(array) => kernel.locals[array].name.clone(),
    };
    let reason = if let Some(Overflow { tensor, bits, increments }) = race.counter {
        let tensor = kernel.params[tensor.index()].name.clone();
        Some(RaceReason::CounterOverflow(CounterOverflow { tensor, bits, draws: increments }))
    } else if let Some(example) = race.example {
        let dims = task.kind.dims().into_iter().flatten();
        let mut variables: Vec<String> =
            dims.map(|dim| kernel.locals[dim.var].name.clone()).collect();
        variables.extend(task.kind.threads().map(|_| "thread".to_owned()));
        Some(RaceReason::Example(RaceExample {
            variables,
            iterations: example.iterations.map(|values| values.to_vec()),
            tensor: tensor.clone(),
            element: example.element.to_vec(),
        }))
    } else {
        race.is_data_dependent.then_some(RaceReason::DataDependent)
    };
    Error::Race {
        kernel: kernel.name.clone(),
        file: kernel.file.clone(),
        line: task.line,
        tensor,
        lines: race.sites.map(|site| kernel.sites[site.index()].line),
        reason: reason.map(Box::new),
    }
}

/// The error for a launch that failed at the device. `started` is whether some of its tasks had been enqueued.
#[cold]
pub(super) fn launch_error(kernel: &Offloaded, started: bool, source: rt::Error) -> Error {
    if let rt::Error::Device(quadrants_rhi::Error::Panicked { message }) = source {
        return Error::Panicked { kernel: kernel.name.clone(), message };
    }
    Error::Launch { kernel: kernel.name.clone(), started, source }
}
