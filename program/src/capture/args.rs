//! The replacement of the arguments of captured launches by name.

use std::{ops::Range, sync::Arc};

use quadrants_ir::{
    Param, ParamId,
    abi::{ArgLayout, FIRST_PARAM_WORD},
};
use smallvec::SmallVec;

use super::recorded::{CapturedLaunch, OwnedArg, Recorded};
use crate::{
    Error, Result,
    arguments::{ArgKind, ReusedArgList, TensorArg, TensorMemory},
    error::captured,
    launcher::{kernel_context::KernelContext, param_code::ParamCode},
    state::ProgramInner,
};

/// Arguments that replace captured ones with this name. A kernel value or tensor of structs is several.
#[derive(Debug)]
pub(super) struct NamedArgs<'a> {
    pub(super) name: &'a str,
    pub(super) args: ReusedArgList<'a>,
}

/// The parameters that a list of names stands for. Resolved once per list of names.
#[derive(Debug)]
pub(super) struct ResolvedNames {
    /// Identifies the list of names for executables; 0 for the empty list.
    pub(super) id: u64,
    names: Vec<String>,
    /// The launches that have a parameter with one of the names, in order.
    pub(super) launches: Vec<ResolvedLaunch>,
    /// The distinct parameters of those launches: the index of the name, the kernel's number, and the parameters.
    parameters: Vec<(usize, u32, Range<usize>)>,
    /// Whether a launch decision depends on one of the parameters.
    pub(super) has_inputs: bool,
}

/// The resolved lists of names of a graph.
#[derive(Debug, Default)]
pub(super) struct NameCache {
    cached: Vec<ResolvedNames>,
    last_id: u64,
}

/// The named parameters of one launch.
#[derive(Debug)]
pub(super) struct ResolvedLaunch {
    pub(super) op: usize,
    params: SmallVec<[ResolvedParams; 1]>,
}

/// The parameters of a launch that one name stands for.
#[derive(Debug)]
struct ResolvedParams {
    name: usize,
    parameters: Range<usize>,
    /// Their first word in the argument block.
    word: usize,
    /// Which of their words the launch decision depends on, counted from the first.
    inputs: SmallVec<[usize; 4]>,
}

/// The replaced arguments of a graph's launch, with the parameters that they replace.
#[derive(Clone, Copy)]
pub(super) struct Replacements<'a> {
    pub(super) recorded: &'a Recorded,
    pub(super) resolved: &'a ResolvedNames,
    pub(super) given: &'a [NamedArgs<'a>],
}

#[derive(Clone, Copy)]
pub(super) struct ReplacedLaunch<'a> {
    pub(super) op: usize,
    pub(super) launch: &'a CapturedLaunch,
    captured_args: &'a [OwnedArg],
    params: &'a [ResolvedParams],
    given: &'a [NamedArgs<'a>],
}

/// The empty list of names.
pub(super) static NONE: ResolvedNames = ResolvedNames {
    id: 0,
    names: Vec::new(),
    launches: Vec::new(),
    parameters: Vec::new(),
    has_inputs: false,
};

const MAX_NAME_LISTS: usize = 16;

impl NamedArgs<'_> {
    /// The words of the arguments in an argument block.
    #[inline]
    fn words(&self) -> &[u64] {
        self.args.words.get(FIRST_PARAM_WORD..).unwrap_or_default()
    }

    /// Checks that the tensors can be arguments in a program, and waits for their first fills.
    pub(super) fn check(&self, program: &Arc<ProgramInner>) -> Result<()> {
        self.args.tensors.iter().try_for_each(|tensor| match tensor.memory {
            TensorMemory::Host(_) => Err(Error::Capture { what: captured::HOST_ARRAY }),
            TensorMemory::Device(device_tensor) => {
                device_tensor.check_argument_of(program, None)?;
                device_tensor.check_contiguous("an argument of a graph's launch")?;
                device_tensor.finish_fill()
            }
        })
    }
}

impl NameCache {
    /// Resolves the names of the given arguments.
    ///
    /// # Errors
    /// [`Error::UnknownArgument`]
    #[inline]
    pub(super) fn resolve(
        &mut self,
        recorded: &Recorded,
        given: &[NamedArgs<'_>],
    ) -> Result<&ResolvedNames> {
        let same_names = |resolved: &ResolvedNames| {
            resolved.names.len() == given.len()
                && resolved.names.iter().zip(given).all(|(name, given)| name == given.name)
        };
        let index = match self.cached.iter().position(same_names) {
            Some(index) => index,
            None => self.resolve_uncached(recorded, given)?,
        };
        Ok(&self.cached[index])
    }

    #[cold]
    fn resolve_uncached(&mut self, recorded: &Recorded, given: &[NamedArgs<'_>]) -> Result<usize> {
        let mut launches: Vec<ResolvedLaunch> = Vec::new();
        let (mut distinct, mut has_inputs) = (Vec::new(), false);
        for (index, NamedArgs { name, .. }) in given.iter().enumerate() {
            let matches = |name: Name<'_>| {
                let launches = recorded.launches().filter_map(|(op, launch)| {
                    Some((op, launch, name.parameters_of(recorded, launch)?))
                });
                launches.collect::<Vec<_>>()
            };
            // A kernel's name is tried before a parameter with fields, so that full names are unambiguous.
            let mut matching = Name::of_kernel(name).map(matches).unwrap_or_default();
            if matching.is_empty() {
                matching = matches(Name::of_all(name));
            }
            if matching.is_empty() {
                let known = recorded.arguments();
                return Err(Error::UnknownArgument { name: (*name).to_owned(), known });
            }
            for (op, launch, parameters) in matching {
                let at = launches.binary_search_by_key(&op, |launch| launch.op);
                let at = at.unwrap_or_else(|at| {
                    launches.insert(at, ResolvedLaunch { op, params: SmallVec::new() });
                    at
                });
                let parameter = (index, launch.kernel.id, parameters.clone());
                if !distinct.contains(&parameter) {
                    distinct.push(parameter);
                }
                let params = ResolvedParams::new(recorded, launch, index, parameters);
                has_inputs |= !params.inputs.is_empty();
                launches[at].params.push(params);
            }
        }
        if self.cached.len() == MAX_NAME_LISTS {
            self.cached.remove(0);
        }
        self.last_id += 1;
        let names = given.iter().map(|given| given.name.to_owned()).collect();
        let (id, parameters) = (self.last_id, distinct);
        self.cached.push(ResolvedNames { id, names, launches, parameters, has_inputs });
        Ok(self.cached.len() - 1)
    }
}

impl ResolvedLaunch {
    /// Writes the given words into an argument block without its first `skipped` words. Returns whether that changed
    /// it.
    #[inline]
    pub(super) fn write(&self, given: &[NamedArgs<'_>], block: &mut [u64], skipped: usize) -> bool {
        write_words(&self.params, given, block, skipped)
    }
}

#[inline]
fn write_words(
    params: &[ResolvedParams],
    given: &[NamedArgs<'_>],
    block: &mut [u64],
    skipped: usize,
) -> bool {
    let mut changed = false;
    for params in params {
        let old = block.get_mut(params.word - skipped..).unwrap_or_default();
        for (old, new) in old.iter_mut().zip(given[params.name].words()) {
            changed |= old != new;
            *old = *new;
        }
    }
    changed
}

impl ResolvedParams {
    fn new(
        recorded: &Recorded,
        launch: &CapturedLaunch,
        name: usize,
        parameters: Range<usize>,
    ) -> Self {
        let layout = ArgLayout::new(recorded.params(launch));
        let first_word = |parameter: usize| {
            let exists = parameter < recorded.params(launch).len();
            if exists { layout.word(ParamId::new(parameter as u32)) } else { layout.len() }
        };
        let words = first_word(parameters.start)..first_word(parameters.end);
        let inputs = recorded.context(launch).host.inputs().iter();
        let inputs = inputs.filter(|word| words.contains(word)).map(|word| word - words.start);
        Self { name, parameters, word: words.start, inputs: inputs.collect() }
    }
}

impl<'a> Replacements<'a> {
    pub(super) fn are_accepted(self) -> bool {
        self.resolved.parameters.iter().all(|(name, kernel, parameters)| {
            let context = self.recorded.program.shared.launcher.get(*kernel);
            let codes = &self.given[*name].args.codes;
            context.is_some_and(|context| context.accepts_for(parameters, codes))
        })
    }

    pub(super) fn iter(self) -> impl Iterator<Item = ReplacedLaunch<'a>> {
        self.resolved.launches.iter().filter_map(move |launch| self.replaced(launch))
    }

    /// Their indices among all operations.
    pub(super) fn ops(self) -> impl Iterator<Item = usize> {
        self.resolved.launches.iter().map(|launch| launch.op)
    }

    /// The launch with this index among all operations, where it has replaced arguments.
    pub(super) fn get(self, op: usize) -> Option<ReplacedLaunch<'a>> {
        let at = self.resolved.launches.binary_search_by_key(&op, |launch| launch.op).ok()?;
        self.replaced(&self.resolved.launches[at])
    }

    fn replaced(self, resolved: &'a ResolvedLaunch) -> Option<ReplacedLaunch<'a>> {
        let op = self.recorded.ops.get(resolved.op)?;
        let (launch, given, params) = (op.launch()?, self.given, &resolved.params);
        Some(ReplacedLaunch { op: resolved.op, launch, captured_args: &op.args, params, given })
    }

    pub(super) fn tensors(self) -> impl Iterator<Item = (ParamCode, TensorArg<'a>)> {
        self.given.iter().flat_map(|given| given.args.iter()).filter_map(|arg| match arg {
            ArgKind::Scalar(..) => None,
            ArgKind::Tensor(code, tensor) => Some((code, tensor)),
        })
    }

    pub(super) fn has_tensors(self) -> bool {
        self.given.iter().any(|given| !given.args.tensors.is_empty())
    }
}

impl<'a> ReplacedLaunch<'a> {
    /// The arguments, as given.
    pub(super) fn args(&self) -> Vec<ArgKind<'a>> {
        let mut args: Vec<ArgKind<'a>> = self.captured_args.iter().map(OwnedArg::as_arg).collect();
        for params in self.params {
            let given = self.given[params.name].args.iter();
            args[params.parameters.clone()].iter_mut().zip(given).for_each(|(arg, new)| *arg = new);
        }
        args
    }

    /// Rejects a number of arguments that differs from the number of parameters that their name stands for.
    ///
    /// # Errors
    /// [`Error::Argument`]
    pub(super) fn check_counts(&self, recorded: &Recorded) -> Result<()> {
        for params in self.params {
            let codes = &self.given[params.name].args.codes;
            if params.parameters.len() != codes.len() {
                let first = params.parameters.start;
                let param = recorded.params(self.launch).get(first);
                return Err(Error::Argument {
                    kernel: recorded.name(self.launch).to_owned(),
                    position: first + 1,
                    given: format!("{} arguments", codes.len()),
                    expected: param
                        .map_or_else(String::new, |param| ParamCode::of_param(param).to_string()),
                });
            }
        }
        Ok(())
    }

    pub(super) fn is_accepted(&self, context: &KernelContext) -> bool {
        self.params.iter().all(|params| {
            let codes = &self.given[params.name].args.codes;
            context.accepts_for(&params.parameters, codes)
        })
    }

    /// Whether all inputs of the launch decision are as captured.
    #[inline]
    pub(super) fn keeps_inputs(&self) -> bool {
        self.params.iter().all(|params| {
            let captured = self.launch.prepared.words.get(params.word..).unwrap_or_default();
            let new = self.given[params.name].words();
            params.inputs.iter().all(|&word| new.get(word) == captured.get(word))
        })
    }

    /// As [`ResolvedLaunch::write`].
    pub(super) fn write(&self, block: &mut [u64], skipped: usize) -> bool {
        write_words(self.params, self.given, block, skipped)
    }

    /// Rejects a given tensor that shares bytes with another argument of the launch, where one of them is written. The
    /// borrow checker rules this out among the given arguments, but not for those that the graph keeps.
    pub(super) fn check_overlap(&self, recorded: &Recorded) -> Result<()> {
        let tensors = self.params.iter().filter(|params| {
            let given = &self.given[params.name].args;
            !given.tensors.is_empty()
        });
        for params in tensors {
            for one in params.parameters.clone() {
                for other in (0..self.captured_args.len()).filter(|other| *other != one) {
                    self.check_pair(recorded, one, other)?;
                }
            }
        }
        Ok(())
    }

    fn check_pair(&self, recorded: &Recorded, one: usize, other: usize) -> Result<()> {
        let (ArgKind::Tensor(_, a), ArgKind::Tensor(_, b)) = (self.arg(one), self.arg(other))
        else {
            return Ok(());
        };
        let (Some(in_a), Some(in_b)) = (a.device_tensor(), b.device_tensor()) else {
            return Ok(());
        };
        if !Arc::ptr_eq(&in_a.buffer, &in_b.buffer) {
            return Ok(());
        }
        let context = recorded.context(self.launch);
        let (Some(writes), Some(written)) = (context.writes(one), context.writes(other)) else {
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

    /// The argument for a parameter, replaced where one is given.
    fn arg(&self, parameter: usize) -> ArgKind<'a> {
        let given = self.params.iter().rev().find_map(|params| {
            let at = parameter.checked_sub(params.parameters.start)?;
            self.given[params.name].args.iter().nth(at)
        });
        given.unwrap_or_else(|| self.captured_args[parameter].as_arg())
    }
}

/// A name of arguments, parsed.
#[derive(Clone, Copy)]
struct Name<'a> {
    /// The kernel, and the number of one of its launches.
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
        // As `Graph::arguments` writes it: no sign, no leading zeros.
        (number.to_string() == digits)
            .then_some(Self { launch: Some((kernel, Some(number))), path })
    }

    /// The parameters of a launch that the name stands for.
    fn parameters_of(self, recorded: &Recorded, launch: &CapturedLaunch) -> Option<Range<usize>> {
        let is_meant = self.launch.is_none_or(|(kernel, number)| {
            kernel == recorded.name(launch)
                && number.is_none_or(|number| number == launch.number_of_kernel)
        });
        if is_meant { parameters_at(recorded.params(launch), self.path) } else { None }
    }
}

/// The parameters at a path and below it: a kernel value or tensor of structs has one per scalar or component.
fn parameters_at(params: &[Param], path: &str) -> Option<Range<usize>> {
    if path.is_empty() {
        return None;
    }
    // Identifiers have no points or brackets, so that what follows these is below the path.
    let is_below = |param: &Param| {
        param
            .name
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with("[]"))
    };
    let first = params.iter().position(is_below)?;
    let count = params[first..].iter().take_while(|param| is_below(param)).count();
    Some(first..first + count)
}
