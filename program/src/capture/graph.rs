//! [`Graph`] and [`GraphLaunch`]: launches of captured graphs, with replaced arguments.

use std::{fmt, sync::Arc};

use smallvec::SmallVec;

use super::{
    args::{NONE, NameCache, NamedArgs, ReplacedLaunch, Replacements},
    executable::{Change, Executables, wanted},
    graph_hazards,
    recorded::{CapturedCopy, Dependencies, OwnedArg, Recorded, RecordedWork},
};
use crate::{
    Error, Result, Stream,
    arguments::{
        Arg, ArgKind, ReusedArgList, TensorArg, launch_uses::LaunchUses, target::LaunchTarget,
    },
    error::captured,
    launcher::param_code::ParamCode,
    state::{ProgramShared, StreamState, device_tensor::DeviceTensor, order::order_after},
    thread_state::{
        capture::refuse, current_stream::with_current_or_default, mode::is_observed, regions,
    },
    value::layout::count,
};

/// A recorded set of launches and copies, made by [`Program::capture`](crate::Program::capture), that can be launched
/// repeatedly.
///
/// It keeps its tensors and kernels. Each stream that it is launched on has a copy of its own, so that launches on two
/// streams may overlap, like other launches.
///
/// In error reports, its launches have the launch numbers of the captured launches.
pub struct Graph {
    // First: its drop uses what the recording keeps.
    executables: Executables,
    recorded: Recorded,
    /// The dependencies of each operation.
    dependencies: Vec<Dependencies>,
    names: NameCache,
}

/// A launch of a graph with replaced arguments, not submitted yet.
#[must_use = "a launch does nothing until `launch` or `launch_on` submits it"]
#[derive(Debug)]
pub struct GraphLaunch<'a> {
    graph: &'a mut Graph,
    given: SmallVec<[NamedArgs<'a>; 2]>,
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("operations", &self.len()).finish_non_exhaustive()
    }
}

impl Graph {
    pub(super) fn new(recorded: Recorded, dependencies: Vec<Dependencies>) -> Self {
        let (executables, names) = (Executables::default(), NameCache::default());
        Self { executables, recorded, dependencies, names }
    }

    /// The number of captured launches and copies.
    #[must_use]
    pub fn len(&self) -> usize {
        self.recorded.ops.len()
    }

    /// Whether nothing was captured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.recorded.ops.is_empty()
    }

    /// The full names of all arguments: `kernel[number].parameter`. The launches of each kernel are numbered in the
    /// order of the capture. A kernel value or a tensor of structs has a name for each scalar or component.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        self.recorded.arguments()
    }

    /// A launch with a replaced argument, for this launch only. `name` selects all launches that have a parameter with
    /// the name, as in `"dt"`; those of one kernel, as in `"step.dt"`; or one launch, as in `"step[0].dt"`. Tensors may
    /// have other extents: the launch analysis is then done again.
    pub fn with<'a>(&'a mut self, name: &'a str, arg: impl Arg<'a>) -> GraphLaunch<'a> {
        GraphLaunch { graph: self, given: SmallVec::new() }.with(name, arg)
    }

    /// Submits the launch to this thread's current stream, as [`Launch::launch`](crate::Launch::launch) does.
    ///
    /// # Errors
    /// As for [`launch_on`](Self::launch_on).
    pub fn launch(&mut self) -> Result<()> {
        self.submit_to_current(&[])
    }

    /// Submits the launch to `stream`.
    ///
    /// # Errors
    /// [`Error::Kernel`](crate::Error::Kernel) where an earlier kernel on the stream reported an error that was not
    /// returned yet; [`Error::OtherProgram`](crate::Error::OtherProgram); or an error of the device.
    pub fn launch_on(&mut self, stream: &Stream) -> Result<()> {
        self.submit_to(&[], stream)
    }

    fn submit_to_current(&mut self, given: &[NamedArgs<'_>]) -> Result<()> {
        let program = self.recorded.program.clone();
        with_current_or_default(&program, |stream| self.submit(given, stream))
    }

    fn submit_to(&mut self, given: &[NamedArgs<'_>], stream: &Stream) -> Result<()> {
        self.recorded.program.check_same(&stream.program, "the stream")?;
        self.submit(given, &stream.state)
    }

    fn submit(&mut self, given: &[NamedArgs<'_>], stream: &Arc<StreamState>) -> Result<()> {
        let Self { executables, recorded, dependencies, names } = self;
        let shared = &*recorded.program.shared;
        refuse(shared, "the launch of a graph")?;
        stream.refuse_captured()?;
        let is_ordinary = shared.context.is_ordinary();
        if !is_ordinary {
            shared.context.check()?;
        }
        if given.is_empty() && recorded.is_plain && is_ordinary && !is_observed() {
            stream.check()?;
            let guard = RecordedStampGuard { recorded, stream };
            // SAFETY: the guard stamps what the graph uses afterwards.
            if let Some(launched) = unsafe { executables.launch_unchanged(stream) } {
                return launched;
            }
            std::mem::forget(guard);
        }
        given.iter().try_for_each(|given| given.check(&recorded.program))?;
        // SAFETY: only calls of this device are made, and no user code runs: devices that run native functions have no
        // contexts.
        let _current = unsafe { shared.context.make_current()? };
        stream.check()?;
        let resolved = if given.is_empty() { &NONE } else { names.resolve(recorded, given)? };
        let replacements = Replacements { recorded, resolved, given };
        let changes = changes(replacements, stream)?;
        if replacements.has_tensors()
            && graph_hazards::check(recorded, dependencies, Some(replacements))?
        {
            executables.clear();
        }
        if recorded.has_distinct {
            check_distinct(replacements)?;
        }
        let guard = GraphUseGuard { replacements, stream };
        guard.check_hazards(shared)?;
        let may_report = match &changes[..] {
            [] => recorded.may_report,
            changes => recorded.may_report_with(changes),
        };
        if may_report {
            if recorded.launches().any(|(_, launch)| recorded.context(launch).prints) {
                stream.prepare_messages()?;
            }
            stream.report_anew(&shared.context)?;
        }
        let _exclusion = shared.host_exclusion.lock(|| true);
        // Dropped before the lock, so that the next user sees the stamps.
        let _guard = guard;
        if recorded.ops.is_empty() {
            Ok(())
        } else if shared.graphs.enabled {
            executables.launch(replacements, dependencies, &changes, stream, is_ordinary)
        } else {
            replay(replacements, &changes, stream)
        }
    }
}

impl<'a> GraphLaunch<'a> {
    /// Replaces another argument, as [`Graph::with`] does.
    pub fn with(mut self, name: &'a str, arg: impl Arg<'a>) -> Self {
        let mut args = ReusedArgList::new();
        arg.push_to(&mut args);
        let mut device_tensors = args.tensors.iter().filter_map(TensorArg::device_tensor);
        if device_tensors.any(DeviceTensor::needs_strides) {
            // Only a launch that was captured with such a tensor accepts it.
            let mut with_strides = ReusedArgList::new();
            args.iter().for_each(|arg| with_strides.push(arg));
            args = with_strides;
        }
        self.given.push(NamedArgs { name, args });
        self
    }

    /// Submits the launch to this thread's current stream.
    ///
    /// # Errors
    /// As for [`launch_on`](Self::launch_on).
    pub fn launch(self) -> Result<()> {
        self.graph.submit_to_current(&self.given)
    }

    /// Submits the launch to `stream`.
    ///
    /// # Errors
    /// As for [`Graph::launch_on`]; [`Error::UnknownArgument`](crate::Error::UnknownArgument);
    /// [`Error::Argument`](crate::Error::Argument) where the kernel does not accept an argument;
    /// [`Error::Overlap`](crate::Error::Overlap) where a tensor shares memory with another argument of a launch; and
    /// the errors of deciding the launch again. Then nothing is launched.
    pub fn launch_on(self, stream: &Stream) -> Result<()> {
        self.graph.submit_to(&self.given, stream)
    }
}

impl Recorded {
    /// Whether a launch with these changes may report errors. It has the launch numbers of the graph's previous launch.
    #[cold]
    fn may_report_with(&self, changes: &[Change<'_>]) -> bool {
        self.launches().any(|(at, launch)| wanted(launch, changes, at).may_report())
    }
}

/// Decides again the launches with replaced arguments that their decision depends on.
fn changes<'a>(replacements: Replacements<'a>, stream: &StreamState) -> Result<Vec<Change<'a>>> {
    let recorded = replacements.recorded;
    let (shared, has_tensors) = (&recorded.program.shared, replacements.has_tensors());
    let mut changes = Vec::new();
    let accepted = replacements.are_accepted();
    if accepted && !has_tensors && !replacements.resolved.has_inputs {
        return Ok(changes);
    }
    let change = |replaced: ReplacedLaunch<'a>| {
        let launch = replaced.launch;
        let context = || recorded.context(launch);
        if !(replaced.keeps_inputs() && (accepted || replaced.is_accepted(context()))) {
            replaced.check_counts(recorded)?;
            let (number, args) = (launch.number, replaced.args().into_iter());
            let prepared = context().prepare(
                &shared.loader,
                number,
                args,
                launch.checks,
                stream.stream.id(),
            )?;
            changes.push(Change { op: replaced.op, launch, prepared });
        }
        if has_tensors { replaced.check_overlap(recorded) } else { Ok(()) }
    };
    replacements.iter().try_for_each(change)?;
    Ok(changes)
}

/// Checks that tensors with distinct elements were not written since they were checked, and that this launch writes
/// none of them by a replaced argument.
///
/// # Errors
/// [`Error::NoLongerDistinct`]
#[cold]
fn check_distinct(replacements: Replacements<'_>) -> Result<()> {
    let recorded = replacements.recorded;
    for (at, launch) in recorded.launches() {
        let args: Vec<_> = match replacements.get(at) {
            Some(replaced) => replaced.args(),
            None => recorded.ops[at].args.iter().map(OwnedArg::as_arg).collect(),
        };
        for (param, arg) in recorded.params(launch).iter().zip(args) {
            let ArgKind::Tensor(code, tensor) = arg else { continue };
            let Some(device_tensor) = tensor.device_tensor().filter(|_| code.is_distinct()) else {
                continue;
            };
            let is_written = |(code, other): (ParamCode, TensorArg<'_>)| {
                let other = other.device_tensor().filter(|_| code.is_writable());
                other.is_some_and(|other| Arc::ptr_eq(&other.buffer, &device_tensor.buffer))
            };
            let is_distinct = device_tensor.is_distinct(count(tensor.shape));
            if !is_distinct || replacements.tensors().any(is_written) {
                let (kernel, parameter) = (recorded.name(launch).to_owned(), param.name.clone());
                return Err(Error::NoLongerDistinct { kernel, parameter });
            }
        }
    }
    Ok(())
}

/// Enqueues the operations one after another, in the order of the capture.
fn replay(
    replacements: Replacements<'_>,
    changes: &[Change<'_>],
    stream: &Arc<StreamState>,
) -> Result<()> {
    let recorded = replacements.recorded;
    let shared = &recorded.program.shared;
    for (at, op) in recorded.ops.iter().enumerate() {
        match &op.work {
            RecordedWork::Launch(launch) => {
                let prepared = wanted(launch, changes, at);
                let target = LaunchTarget { stream, checks: launch.checks, at: op.at };
                let (id, context) = (launch.kernel.id, recorded.context(launch));
                let mut words = prepared.words.clone();
                if let Some(replaced) = replacements.get(at) {
                    replaced.write(&mut words, 0);
                }
                context.enqueue_prepared(shared, id, prepared, words, target)?;
            }
            // Not captured on devices without graphs.
            RecordedWork::Foreign(_) => return Err(Error::Capture { what: captured::FOREIGN }),
            RecordedWork::Copy(CapturedCopy { from, to, spans, .. }) => {
                for span in spans {
                    let (dst, src) = (to.address(), from.address());
                    let (dst, src) = (dst.offset(span.device), src.offset(span.host));
                    // SAFETY: the graph keeps both buffers, which are different and have the bytes; the stream is live
                    // as long as its state.
                    let copied = unsafe {
                        let device = shared.context.device();
                        device.copy_dtod_async(dst, src, span.bytes, stream.stream.handle())
                    };
                    shared.context.observe(copied)?;
                }
            }
        }
    }
    Ok(())
}

/// Stamps what a graph keeps when it is dropped: after a launch with the captured arguments, also where the device
/// panics.
struct RecordedStampGuard<'a> {
    recorded: &'a Recorded,
    stream: &'a StreamState,
}

impl Drop for RecordedStampGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let stamp = self.stream.stream.next_stamp();
        for (buffer, written) in &self.recorded.buffers {
            buffer.stamp(stamp, *written);
        }
    }
}

/// A launch of a graph. Records its uses of memory when it is dropped, after all that was enqueued.
struct GraphUseGuard<'a> {
    replacements: Replacements<'a>,
    stream: &'a StreamState,
}

impl GraphUseGuard<'_> {
    fn check_hazards(&self, shared: &ProgramShared) -> Result<()> {
        let recorded = self.replacements.recorded;
        // Like other copies, these wait for all earlier uses of their tensors.
        let ops = if recorded.has_host_copies { &recorded.ops[..] } else { &[] };
        for op in ops {
            if let RecordedWork::Copy(copy) = &op.work
                && copy.is_of_host
            {
                order_after(shared, self.stream, copy.to.users())?;
            }
        }
        if is_observed() {
            self.each(|uses| regions::check(shared, uses, self.stream))?;
        }
        let Some(tracker) = &shared.hazards else { return Ok(()) };
        self.each(|uses| shared.check_launch(tracker, uses, self.stream))
    }

    fn each(&self, mut visit: impl FnMut(&LaunchUses<'_>) -> Result<()>) -> Result<()> {
        let recorded = self.replacements.recorded;
        for (at, op) in recorded.ops.iter().enumerate() {
            let tensors: SmallVec<[TensorArg<'_>; 8]> = match self.replacements.get(at) {
                Some(replaced) => replaced.args().into_iter().filter_map(ArgKind::tensor).collect(),
                None => op.args.iter().filter_map(|arg| arg.as_arg().tensor()).collect(),
            };
            let (params, kernel) = recorded.uses(op);
            visit(&LaunchUses { kernel, params, tensors: &tensors, at: op.at })?;
        }
        Ok(())
    }
}

impl Drop for GraphUseGuard<'_> {
    fn drop(&mut self) {
        let recorded = self.replacements.recorded;
        let stamp = self.stream.stream.next_stamp();
        if let Some(tracker) = &recorded.program.shared.hazards {
            let recorded_uses = self.each(|uses| {
                tracker.record_launch(uses, stamp);
                Ok(())
            });
            debug_assert!(recorded_uses.is_ok());
        }
        for (buffer, written) in &recorded.buffers {
            buffer.stamp(stamp, *written);
        }
        if !self.replacements.has_tensors() {
            return;
        }
        for (code, tensor) in self.replacements.tensors() {
            let Some(device_tensor) = tensor.device_tensor() else { continue };
            device_tensor.buffer.stamp(stamp, code.is_writable());
        }
    }
}
