//! The arguments of captured launches: kept by the graph, and replaced by name.

use std::{ops::Range, ptr, sync::Arc};

use quadrants_ir::{Param, ParamKind};
use smallvec::SmallVec;

use super::record::{CapturedLaunch, Recorded};
use crate::{
    Error, Result,
    arg::{ArgKind, Args, Code, Place, TensorArg, describe},
    layout::ComponentAt,
    program::ProgramInner,
    tensor::TensorCore,
};

/// An argument that needs no borrow.
#[derive(Debug)]
pub(super) enum OwnedArg {
    Scalar(Code, u64),
    Tensor {
        core: TensorCore,
        shape: SmallVec<[usize; 4]>,
        code: Code,
        component: Option<ComponentAt>,
    },
}

/// What is given for a name.
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub(super) name: &'a str,
    pub(super) args: Args<'a>,
}

/// The arguments of a launch, some of them replaced.
pub(super) struct Replaced<'a> {
    pub(super) op: usize,
    pub(super) launch: &'a CapturedLaunch,
    pub(super) args: Vec<ArgKind<'a>>,
    /// Which are tensors that were given.
    tensors: SmallVec<[usize; 4]>,
}

impl OwnedArg {
    pub(super) fn new(arg: &ArgKind<'_>) -> Result<Self> {
        match arg {
            ArgKind::Scalar(code, bits) => Ok(Self::Scalar(*code, *bits)),
            ArgKind::Tensor(code, TensorArg { place, shape, component }) => match place {
                Place::Host(_) => Err(Error::Capture { what: "an array of the host" }),
                Place::Device(core) => Ok(Self::Tensor {
                    core: core.part(0),
                    shape: SmallVec::from_slice(shape),
                    code: *code,
                    component: component.copied(),
                }),
            },
        }
    }

    /// The first elements of a tensor, as arguments that are written.
    pub(super) fn written(core: &TensorCore, elements: usize) -> Vec<Self> {
        let components = core.stored.components.iter();
        let of = |component: &ComponentAt| Self::Tensor {
            core: core.part(0),
            shape: SmallVec::from_slice(&[elements]),
            code: Code::of(ParamKind::Tensor { elem: component.ty, rank: 1, writable: true }),
            component: Some(*component),
        };
        components.map(of).collect()
    }

    pub(super) fn as_arg(&self) -> ArgKind<'_> {
        match self {
            Self::Scalar(code, bits) => ArgKind::Scalar(*code, *bits),
            Self::Tensor { core, shape, code, component } => {
                let (place, component) = (Place::Device(core), component.as_ref());
                ArgKind::Tensor(*code, TensorArg { place, shape, component })
            }
        }
    }
}

impl Given<'_> {
    /// Whether it can be given to a graph of the program.
    pub(super) fn check(&self, program: &ProgramInner) -> Result<()> {
        self.args.tensors.iter().try_for_each(|tensor| match tensor.place {
            Place::Host(_) => Err(Error::Capture { what: "an array of the host" }),
            Place::Device(core) => {
                if !ptr::eq(Arc::as_ptr(&core.program), program) {
                    return Err(Error::OtherProgram { what: "a tensor argument" });
                }
                core.home.check()
            }
        })
    }
}

impl<'a> Replaced<'a> {
    /// The launches that the names stand for, in order, with their arguments as given.
    ///
    /// # Errors
    /// [`Error::UnknownArgument`]; [`Error::Argument`] where there are not as many as the parameter has.
    pub(super) fn all(recorded: &'a Recorded, given: &'a [Given<'_>]) -> Result<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        for Given { name, args } in given {
            let mut found = false;
            for (at, launch) in recorded.launches() {
                let Some(place) = place(recorded, launch, name) else { continue };
                found = true;
                if place.len() != args.codes.len() {
                    let param = recorded.params(launch).get(place.start);
                    return Err(Error::Argument {
                        kernel: recorded.name(launch).to_owned(),
                        position: place.start + 1,
                        given: format!("{} arguments", args.codes.len()),
                        expected: param.map_or_else(String::new, |param| describe(param.kind)),
                    });
                }
                let known = all.binary_search_by_key(&at, |replaced| replaced.op);
                let known = known.unwrap_or_else(|known| {
                    let args = recorded.ops[at].args.iter().map(OwnedArg::as_arg).collect();
                    all.insert(known, Self { op: at, launch, args, tensors: SmallVec::new() });
                    known
                });
                let replaced = &mut all[known];
                for (parameter, arg) in place.zip(args.iter()) {
                    if matches!(arg, ArgKind::Tensor(..)) && !replaced.tensors.contains(&parameter)
                    {
                        replaced.tensors.push(parameter);
                    }
                    replaced.args[parameter] = arg;
                }
            }
            if !found {
                let known = recorded.arguments();
                return Err(Error::UnknownArgument { name: (*name).to_owned(), known });
            }
        }
        Ok(all)
    }

    /// Whether a tensor was given.
    pub(super) fn has_tensors(&self) -> bool {
        !self.tensors.is_empty()
    }

    /// Refuses a tensor that shares bytes with another argument of the launch, one of them written. What is given
    /// together is borrowed together, but what the graph keeps is not.
    pub(super) fn check_overlap(&self, recorded: &Recorded) -> Result<()> {
        let touches = recorded.context(self.launch).touches();
        for &one in &self.tensors {
            for other in (0..self.args.len()).filter(|other| *other != one) {
                let (ArgKind::Tensor(_, a), ArgKind::Tensor(_, b)) =
                    (&self.args[one], &self.args[other])
                else {
                    continue;
                };
                let (Some(in_a), Some(in_b)) = (a.core(), b.core()) else { continue };
                let (Some(writes), Some(written)) = (touches[one], touches[other]) else {
                    continue;
                };
                if (writes || written)
                    && Arc::ptr_eq(&in_a.buffer, &in_b.buffer)
                    && a.bytes().overlap(&b.bytes())
                {
                    let name = |at: usize| recorded.params(self.launch)[at].name.clone();
                    return Err(Error::Overlap {
                        kernel: recorded.name(self.launch).to_owned(),
                        parameters: [name(one), name(other)],
                    });
                }
            }
        }
        Ok(())
    }
}

/// The parameters of a launch that a name stands for: `parameter`, `kernel.parameter` or `kernel[number].parameter`.
fn place(recorded: &Recorded, launch: &CapturedLaunch, name: &str) -> Option<Range<usize>> {
    let params = recorded.params(launch);
    let of_launch = || {
        let rest = name.strip_prefix(recorded.name(launch))?;
        if let Some(parameter) = rest.strip_prefix('.') {
            return parameters(params, parameter);
        }
        let (number, rest) = rest.strip_prefix('[')?.split_once(']')?;
        let its = number.parse::<usize>().is_ok_and(|number| number == launch.number_of_kernel);
        if its { parameters(params, rest.strip_prefix('.')?) } else { None }
    };
    parameters(params, name).or_else(of_launch)
}

/// The parameters that the kernel's author calls so: a value or tensor of several numbers is one for each.
fn parameters(params: &[Param], name: &str) -> Option<Range<usize>> {
    if name.is_empty() {
        return None;
    }
    if let Some(at) = params.iter().position(|param| param.name == name) {
        return Some(at..at + 1);
    }
    let is_part = |param: &Param| {
        param.name.strip_prefix(name).is_some_and(|rest| match param.kind {
            ParamKind::Scalar(_) => rest.starts_with('_'),
            _ => rest.starts_with("[]") || rest.starts_with('.'),
        })
    };
    let first = params.iter().position(is_part)?;
    let count = params[first..].iter().take_while(|param| is_part(param)).count();
    Some(first..first + count)
}
