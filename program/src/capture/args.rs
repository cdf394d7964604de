//! The arguments of captured launches: kept by the graph, and replaced by name.

use std::{ops::Range, ptr, sync::Arc};

use quadrants_ir::{
    Param, ParamId, ParamKind,
    abi::{ArgLayout, FIRST_PARAM_WORD},
};
use smallvec::SmallVec;

use super::record::{CapturedLaunch, Recorded};
use crate::{
    Error, Result,
    launch::{
        arguments::{ArgKind, Args, Code, Place, TensorArg, describe},
        context::KernelContext,
    },
    program::ProgramInner,
    tensor::{TensorCore, layout::ComponentAt},
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

/// Where arguments that are given by name go. Found once for the same names.
#[derive(Debug)]
pub(super) struct Named {
    /// By which executables know it; 0 where there are no names.
    pub(super) number: u64,
    names: Vec<String>,
    /// The launches that have a parameter of one of the names, in order.
    pub(super) launches: Vec<NamedLaunch>,
    /// The different parameters among those: the name's number, the kernel's, and which they are.
    parameters: Vec<(usize, u32, Range<usize>)>,
    /// Whether a verdict depends on one of them.
    pub(super) has_inputs: bool,
}

/// Names that were found already.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    known: Vec<Named>,
    made: u64,
}

#[derive(Debug)]
pub(super) struct NamedLaunch {
    pub(super) op: usize,
    places: SmallVec<[NamedPlace; 1]>,
}

/// The parameters of a launch that a name stands for.
#[derive(Debug)]
struct NamedPlace {
    /// The name's number.
    given: usize,
    parameters: Range<usize>,
    /// Where in the argument block they begin.
    word: usize,
    /// Those of their words that the verdict on the launch depends on, from there.
    inputs: SmallVec<[usize; 4]>,
}

/// The arguments that are given to a graph's launch, and where they go.
#[derive(Clone, Copy)]
pub(super) struct Replacements<'a> {
    pub(super) recorded: &'a Recorded,
    pub(super) named: &'a Named,
    pub(super) given: &'a [Given<'a>],
}

/// A launch, some of whose arguments are replaced.
#[derive(Clone, Copy)]
pub(super) struct Replaced<'a> {
    pub(super) op: usize,
    pub(super) launch: &'a CapturedLaunch,
    own: &'a [OwnedArg],
    places: &'a [NamedPlace],
    given: &'a [Given<'a>],
}

/// No names.
pub(super) static NONE: Named = Named {
    number: 0,
    names: Vec::new(),
    launches: Vec::new(),
    parameters: Vec::new(),
    has_inputs: false,
};

/// So many combinations of names are known.
const NAMES_AT_MOST: usize = 16;

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
    /// The arguments as words of an argument block.
    #[inline]
    fn words(&self) -> &[u64] {
        self.args.words.get(FIRST_PARAM_WORD..).unwrap_or_default()
    }

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

impl KnownNames {
    /// Where these names stand.
    ///
    /// # Errors
    /// [`Error::UnknownArgument`]
    #[inline]
    pub(super) fn find(&mut self, recorded: &Recorded, given: &[Given<'_>]) -> Result<&Named> {
        let same = |named: &Named| {
            named.names.len() == given.len()
                && named.names.iter().zip(given).all(|(name, given)| name == given.name)
        };
        let at = match self.known.iter().position(same) {
            Some(at) => at,
            None => self.find_anew(recorded, given)?,
        };
        Ok(&self.known[at])
    }

    #[cold]
    fn find_anew(&mut self, recorded: &Recorded, given: &[Given<'_>]) -> Result<usize> {
        let mut launches: Vec<NamedLaunch> = Vec::new();
        let (mut different, mut has_inputs) = (Vec::new(), false);
        for (number, Given { name, .. }) in given.iter().enumerate() {
            let places = |name: Name<'_>| {
                let its = recorded.launches();
                let its = its
                    .filter_map(|(op, launch)| Some((op, launch, name.place(recorded, launch)?)));
                its.collect::<Vec<_>>()
            };
            // A kernel's name goes before that of a parameter with fields, so that full names have one meaning.
            let mut found = Name::of_kernel(name).map(places).unwrap_or_default();
            if found.is_empty() {
                found = places(Name::of_all(name));
            }
            if found.is_empty() {
                let known = recorded.arguments();
                return Err(Error::UnknownArgument { name: (*name).to_owned(), known });
            }
            for (op, launch, parameters) in found {
                let at = launches.binary_search_by_key(&op, |named| named.op);
                let at = at.unwrap_or_else(|at| {
                    launches.insert(at, NamedLaunch { op, places: SmallVec::new() });
                    at
                });
                let parameter = (number, launch.kernel.id, parameters.clone());
                if !different.contains(&parameter) {
                    different.push(parameter);
                }
                let place = NamedPlace::new(recorded, launch, number, parameters);
                has_inputs |= !place.inputs.is_empty();
                launches[at].places.push(place);
            }
        }
        if self.known.len() == NAMES_AT_MOST {
            self.known.remove(0);
        }
        self.made += 1;
        let names = given.iter().map(|given| given.name.to_owned()).collect();
        let (number, parameters) = (self.made, different);
        self.known.push(Named { number, names, launches, parameters, has_inputs });
        Ok(self.known.len() - 1)
    }
}

impl NamedLaunch {
    /// Puts the words that were given into an argument block that lacks its first words, and says whether that changed
    /// anything.
    #[inline]
    pub(super) fn put(&self, given: &[Given<'_>], block: &mut [u64], lacking: usize) -> bool {
        put(&self.places, given, block, lacking)
    }
}

#[inline]
fn put(places: &[NamedPlace], given: &[Given<'_>], block: &mut [u64], lacking: usize) -> bool {
    let mut changed = false;
    for place in places {
        let old = block.get_mut(place.word - lacking..).unwrap_or_default();
        for (old, new) in old.iter_mut().zip(given[place.given].words()) {
            changed |= old != new;
            *old = *new;
        }
    }
    changed
}

impl NamedPlace {
    fn new(
        recorded: &Recorded,
        launch: &CapturedLaunch,
        given: usize,
        parameters: Range<usize>,
    ) -> Self {
        let layout = ArgLayout::new(recorded.params(launch));
        let start = |parameter: usize| {
            let there = parameter < recorded.params(launch).len();
            if there { layout.word(ParamId::new(parameter as u32)) } else { layout.len() }
        };
        let words = start(parameters.start)..start(parameters.end);
        let inputs = recorded.context(launch).host.inputs().iter();
        let inputs = inputs.filter(|word| words.contains(word)).map(|word| word - words.start);
        Self { given, parameters, word: words.start, inputs: inputs.collect() }
    }
}

impl<'a> Replacements<'a> {
    /// Whether all that was given fits all kernels.
    pub(super) fn fit(self) -> bool {
        self.named.parameters.iter().all(|(given, kernel, parameters)| {
            let context = self.recorded.program.shared.launcher.retained(*kernel);
            let codes = &self.given[*given].args.codes;
            context.is_some_and(|context| context.takes_at(parameters, codes))
        })
    }

    /// The launches, in order.
    pub(super) fn iter(self) -> impl Iterator<Item = Replaced<'a>> {
        self.named.launches.iter().filter_map(move |named| self.of(named))
    }

    /// Their numbers among all operations.
    pub(super) fn ops(self) -> impl Iterator<Item = usize> {
        self.named.launches.iter().map(|named| named.op)
    }

    /// What is replaced of an operation.
    pub(super) fn get(self, op: usize) -> Option<Replaced<'a>> {
        let at = self.named.launches.binary_search_by_key(&op, |named| named.op).ok()?;
        self.of(&self.named.launches[at])
    }

    fn of(self, named: &'a NamedLaunch) -> Option<Replaced<'a>> {
        let op = self.recorded.ops.get(named.op)?;
        let (launch, given) = (op.launch()?, self.given);
        Some(Replaced { op: named.op, launch, own: &op.args, places: &named.places, given })
    }

    /// The tensors that were given.
    pub(super) fn tensors(self) -> impl Iterator<Item = (Code, TensorArg<'a>)> {
        self.given.iter().flat_map(|given| given.args.iter()).filter_map(|arg| match arg {
            ArgKind::Scalar(..) => None,
            ArgKind::Tensor(code, tensor) => Some((code, tensor)),
        })
    }

    /// Whether there are any.
    pub(super) fn has_tensors(self) -> bool {
        self.given.iter().any(|given| !given.args.tensors.is_empty())
    }
}

impl<'a> Replaced<'a> {
    /// The arguments, as given.
    pub(super) fn args(&self) -> Vec<ArgKind<'a>> {
        let mut args: Vec<ArgKind<'a>> = self.own.iter().map(OwnedArg::as_arg).collect();
        for place in self.places {
            let given = self.given[place.given].args.iter();
            args[place.parameters.clone()].iter_mut().zip(given).for_each(|(arg, new)| *arg = new);
        }
        args
    }

    /// Refuses what is not as many arguments as its name stands for.
    ///
    /// # Errors
    /// [`Error::Argument`]
    pub(super) fn check_counts(&self, recorded: &Recorded) -> Result<()> {
        for place in self.places {
            let codes = &self.given[place.given].args.codes;
            if place.parameters.len() != codes.len() {
                let first = place.parameters.start;
                let param = recorded.params(self.launch).get(first);
                return Err(Error::Argument {
                    kernel: recorded.name(self.launch).to_owned(),
                    position: first + 1,
                    given: format!("{} arguments", codes.len()),
                    expected: param.map_or_else(String::new, |param| describe(param.kind)),
                });
            }
        }
        Ok(())
    }

    /// Whether the arguments that were given fit the kernel.
    pub(super) fn fits(&self, context: &KernelContext) -> bool {
        self.places.iter().all(|place| {
            let codes = &self.given[place.given].args.codes;
            context.takes_at(&place.parameters, codes)
        })
    }

    /// Whether all that the verdict on the launch depends on is as it was captured.
    #[inline]
    pub(super) fn keeps_inputs(&self) -> bool {
        self.places.iter().all(|place| {
            let captured = self.launch.prepared.words.get(place.word..).unwrap_or_default();
            let new = self.given[place.given].words();
            place.inputs.iter().all(|&word| new.get(word) == captured.get(word))
        })
    }

    /// As [`NamedLaunch::put`].
    pub(super) fn put(&self, block: &mut [u64], lacking: usize) -> bool {
        put(self.places, self.given, block, lacking)
    }

    /// Refuses a tensor that shares bytes with another argument of the launch, one of them written. What is given
    /// together is borrowed together, but what the graph keeps is not.
    pub(super) fn check_overlap(&self, recorded: &Recorded) -> Result<()> {
        let tensors = self.places.iter().filter(|place| {
            let given = &self.given[place.given].args;
            !given.tensors.is_empty()
        });
        for place in tensors {
            for one in place.parameters.clone() {
                for other in (0..self.own.len()).filter(|other| *other != one) {
                    self.check_two(recorded, one, other)?;
                }
            }
        }
        Ok(())
    }

    fn check_two(&self, recorded: &Recorded, one: usize, other: usize) -> Result<()> {
        let (ArgKind::Tensor(_, a), ArgKind::Tensor(_, b)) = (self.arg(one), self.arg(other))
        else {
            return Ok(());
        };
        let (Some(in_a), Some(in_b)) = (a.core(), b.core()) else { return Ok(()) };
        if !Arc::ptr_eq(&in_a.buffer, &in_b.buffer) {
            return Ok(());
        }
        let context = recorded.context(self.launch);
        let (Some(writes), Some(written)) = (context.touch(one), context.touch(other)) else {
            return Ok(());
        };
        if (writes || written) && a.bytes().overlap(&b.bytes()) {
            let name = |at: usize| recorded.params(self.launch)[at].name.clone();
            return Err(Error::Overlap {
                kernel: recorded.name(self.launch).to_owned(),
                parameters: [name(one), name(other)],
            });
        }
        Ok(())
    }

    /// One of the arguments, as given.
    fn arg(&self, parameter: usize) -> ArgKind<'a> {
        let given = self.places.iter().rev().find_map(|place| {
            let at = parameter.checked_sub(place.parameters.start)?;
            self.given[place.given].args.iter().nth(at)
        });
        given.unwrap_or_else(|| self.own[parameter].as_arg())
    }
}

/// A name that an argument is given by.
#[derive(Clone, Copy)]
struct Name<'a> {
    /// The kernel, and which of its launches.
    launch: Option<(&'a str, Option<usize>)>,
    /// A parameter of the source, or a path in one.
    path: &'a str,
}

impl<'a> Name<'a> {
    /// `parameter`
    fn of_all(name: &'a str) -> Self {
        Self { launch: None, path: name }
    }

    /// `kernel.parameter` or `kernel[number].parameter`
    fn of_kernel(name: &'a str) -> Option<Self> {
        let (kernel, path) = name.split_once('.')?;
        let Some((kernel, number)) = kernel.split_once('[') else {
            return Some(Self { launch: Some((kernel, None)), path });
        };
        let digits = number.strip_suffix(']')?;
        let number: usize = digits.parse().ok()?;
        // As `Graph::arguments` writes it: without a sign or leading zeros.
        (number.to_string() == digits)
            .then_some(Self { launch: Some((kernel, Some(number))), path })
    }

    /// The parameters of a launch that it stands for.
    fn place(self, recorded: &Recorded, launch: &CapturedLaunch) -> Option<Range<usize>> {
        let is_its = self.launch.is_none_or(|(kernel, number)| {
            kernel == recorded.name(launch)
                && number.is_none_or(|number| number == launch.number_of_kernel)
        });
        if is_its { parameters(recorded.params(launch), self.path) } else { None }
    }
}

/// The parameters that are what a path names or a part of it: a value or tensor of several numbers is one for each.
fn parameters(params: &[Param], path: &str) -> Option<Range<usize>> {
    if path.is_empty() {
        return None;
    }
    // No identifier has points or brackets, so that what comes behind them is below the path.
    let is_part = |param: &Param| {
        param
            .name
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with("[]"))
    };
    let first = params.iter().position(is_part)?;
    let count = params[first..].iter().take_while(|param| is_part(param)).count();
    Some(first..first + count)
}
