//! The errors of launches: wrong arguments, races, and failures of the device.

use quadrants_ir::{
    Offloaded, ScalarType,
    launch_analysis::{Overflow, Race, RaceObject},
};
use quadrants_runtime as rt;

use crate::{
    CounterOverflow, Error,
    launch::arguments::{ArgList, Code, describe},
};

/// Why a kernel does not take the arguments.
#[cold]
pub(super) fn argument_error(kernel: &Offloaded, args: &ArgList<'_>) -> Error {
    let fits = |at: &usize| match (args.codes.get(*at), kernel.params.get(*at)) {
        (Some(code), Some(param)) => code.fits(Code::of(param.kind)),
        _ => false,
    };
    let at = (0..).find(|at| !fits(at)).unwrap_or(0);
    let nothing = || "nothing".to_owned();
    Error::Argument {
        kernel: kernel.name.clone(),
        position: at + 1,
        given: args.codes.get(at).map_or_else(nothing, |code| describe(code.kind())),
        expected: kernel.params.get(at).map_or_else(nothing, |param| describe(param.kind)),
    }
}

#[cold]
pub(super) fn result_error(kernel: &Offloaded, asked: Option<ScalarType>) -> Error {
    let name =
        |ty: Option<ScalarType>| ty.map_or_else(|| "nothing".to_owned(), |ty| ty.to_string());
    Error::ResultType {
        kernel: kernel.name.clone(),
        asked: name(asked),
        returns: name(kernel.result),
    }
}

#[cold]
pub(super) fn race_error(kernel: &Offloaded, race: Race) -> Error {
    Error::Race {
        kernel: kernel.name.clone(),
        file: kernel.file.clone(),
        line: kernel.tasks[race.task.index()].line,
        tensor: match race.object {
            RaceObject::Tensor(tensor) => kernel.params[tensor.index()].name.clone(),
            RaceObject::Shared(array) => kernel.locals[array].name.clone(),
        },
        lines: race.sites.map(|site| kernel.sites[site.index()].line),
        counter: race.counter.map(|Overflow { tensor, bits, increments }| {
            let tensor = kernel.params[tensor.index()].name.clone();
            Box::new(CounterOverflow { tensor, bits, draws: increments })
        }),
    }
}

#[cold]
pub(super) fn launch_error(kernel: &Offloaded, started: bool, source: rt::Error) -> Error {
    if let rt::Error::Device(quadrants_rhi::Error::Panicked { message }) = source {
        return Error::Panicked { kernel: kernel.name.clone(), message };
    }
    Error::Launch { kernel: kernel.name.clone(), started, source }
}
