//! The graph as its user has it.

use std::{fmt, sync::Arc};

use smallvec::SmallVec;

use super::{
    args::{Given, KnownNames, NONE, OwnedArg, Replaced, Replacements},
    executable::{Change, Executables, change_of},
    order,
    record::{Behind, CapturedCopy, Recorded, Work},
    refuse,
};
use crate::{
    Result, Stream,
    hazards::{LaunchUses, order_behind},
    launch::{
        arguments::{Arg, ArgKind, Args, TensorArg},
        submit::LaunchTarget,
    },
    program::ProgramShared,
    stream::{StreamState, current::with_current},
};

/// What [`Program::capture`](crate::Program::capture) recorded, to be launched again and again.
///
/// It keeps its tensors and kernels. Each stream that it is launched on has a copy of its own, so that launches on two
/// streams may overlap, as other launches there may.
///
/// Launches of a graph have the numbers of the launches that were captured, by which errors of the device name them.
pub struct Graph {
    // Before what it uses.
    executables: Executables,
    recorded: Recorded,
    /// What each operation comes behind.
    after: Vec<Behind>,
    names: KnownNames,
}

/// A launch of a graph under construction: with other arguments.
#[must_use = "a launch does nothing until `launch` or `launch_on` submits it"]
#[derive(Debug)]
pub struct GraphLaunch<'a> {
    graph: &'a mut Graph,
    given: SmallVec<[Given<'a>; 2]>,
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("operations", &self.len()).finish_non_exhaustive()
    }
}

impl Graph {
    pub(super) fn new(recorded: Recorded, after: Vec<Behind>) -> Self {
        let (executables, names) = (Executables::default(), KnownNames::default());
        Self { executables, recorded, after, names }
    }

    /// How many launches and copies were captured.
    #[must_use]
    pub fn len(&self) -> usize {
        self.recorded.ops.len()
    }

    /// Whether nothing was captured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.recorded.ops.is_empty()
    }

    /// The full names of all arguments: `kernel[number].parameter`, where launches of one kernel are numbered as
    /// they were captured. A value or tensor that is made of several numbers has several.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        self.recorded.arguments()
    }

    /// A launch with another argument than the captured one, for this once: of all launches that have a parameter of the
    /// name, as in `"dt"`; of those of one kernel, `"step.dt"`; or of one launch, `"step[0].dt"`. Tensors may have other
    /// extents; what was proven of the launch is proven anew.
    pub fn with<'a>(&'a mut self, name: &'a str, arg: impl Arg<'a>) -> GraphLaunch<'a> {
        GraphLaunch { graph: self, given: SmallVec::new() }.with(name, arg)
    }

    /// Submits the launch to this thread's current stream, as a kernel's
    /// [`launch`](crate::Launch::launch) does.
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
    /// yet returned; [`Error::OtherProgram`](crate::Error::OtherProgram); or what the device returns.
    pub fn launch_on(&mut self, stream: &Stream) -> Result<()> {
        self.submit_to(&[], stream)
    }

    fn submit_to_current(&mut self, given: &[Given<'_>]) -> Result<()> {
        let program = self.recorded.program.clone();
        with_current(Some(&program), |current| {
            self.submit(given, current.map_or(&program.default, |(_, stream)| stream))
        })
    }

    fn submit_to(&mut self, given: &[Given<'_>], stream: &Stream) -> Result<()> {
        if !Arc::ptr_eq(&stream.program, &self.recorded.program) {
            return Err(crate::Error::OtherProgram { what: "the stream" });
        }
        self.submit(given, &stream.state)
    }

    fn submit(&mut self, given: &[Given<'_>], stream: &Arc<StreamState>) -> Result<()> {
        let Self { executables, recorded, after, names } = self;
        let shared = &*recorded.program.shared;
        refuse(shared, "the launch of a graph")?;
        shared.context.check()?;
        if given.is_empty() && recorded.is_plain {
            stream.check()?;
            let behind = StampedBehind { recorded, stream };
            // SAFETY: the graph's launch stamps what is used, behind it.
            if let Some(launched) = unsafe { executables.launch_again(stream) } {
                return launched;
            }
            std::mem::forget(behind);
        }
        given.iter().try_for_each(|given| given.check(&recorded.program))?;
        // SAFETY: the device's calls alone, and no code of the user: devices that run native functions have no contexts.
        let _current = unsafe { shared.context.make_current()? };
        stream.check()?;
        let named = if given.is_empty() { &NONE } else { names.find(recorded, given)? };
        let replaced = Replacements { recorded, named, given };
        let changes = changes(replaced, stream)?;
        if replaced.has_tensors() && order::check(recorded, after, Some(replaced))? {
            executables.clear();
        }
        let used = Used { replaced, stream };
        used.before(shared)?;
        if recorded.may_report(&changes) {
            stream.report_anew(&shared.context)?;
        }
        let _turn = shared.host_exclusion.of_graph();
        // Before the turn is over, so that who comes next finds the stamps.
        let _stamped = used;
        if recorded.ops.is_empty() {
            Ok(())
        } else if shared.graphs.on {
            executables.launch(replaced, after, &changes, stream)
        } else {
            replay(replaced, &changes, stream)
        }
    }
}

impl<'a> GraphLaunch<'a> {
    /// As [`Graph::with`], and what was given before.
    pub fn with(mut self, name: &'a str, arg: impl Arg<'a>) -> Self {
        let mut args = Args::new();
        arg.push_to(&mut args);
        self.given.push(Given { name, args });
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
    /// As for [`Graph::launch_on`]; [`Error::UnknownArgument`](crate::Error::UnknownArgument),
    /// [`Error::Argument`](crate::Error::Argument) where one does not fit,
    /// [`Error::Overlap`](crate::Error::Overlap) where a tensor shares memory with another argument of a launch, and why
    /// a launch with these arguments is refused. Then nothing is launched.
    pub fn launch_on(self, stream: &Stream) -> Result<()> {
        self.graph.submit_to(&self.given, stream)
    }
}

impl Recorded {
    /// Whether a launch with these changes may report: its number was then used by the launch before.
    fn may_report(&self, changes: &[Change<'_>]) -> bool {
        if changes.is_empty() {
            return self.may_report;
        }
        self.launches().any(|(at, launch)| {
            let changed = change_of(changes, at);
            changed.map_or(&launch.prepared, |change| &change.prepared).may_report()
        })
    }
}

/// What has other arguments that the verdict depends on, judged anew.
fn changes<'a>(replaced: Replacements<'a>, stream: &StreamState) -> Result<Vec<Change<'a>>> {
    let recorded = replaced.recorded;
    let (shared, has_tensors) = (&recorded.program.shared, replaced.has_tensors());
    let mut changes = Vec::new();
    let fit = replaced.fit();
    if fit && !has_tensors && !replaced.named.has_inputs {
        return Ok(changes);
    }
    let change = |replaced: Replaced<'a>| {
        let launch = replaced.launch;
        if !(replaced.keeps_inputs() && (fit || replaced.fits(recorded.context(launch)))) {
            let context = recorded.context(launch);
            replaced.check_counts(recorded)?;
            let (number, args) = (launch.number, replaced.args().into_iter());
            let prepared = context.prepare(shared, number, args, launch.checks, stream)?;
            changes.push(Change { op: replaced.op, launch, prepared });
        }
        if has_tensors { replaced.check_overlap(recorded) } else { Ok(()) }
    };
    replaced.iter().try_for_each(change)?;
    Ok(changes)
}

/// One launch after another, in the order of the capture.
fn replay(
    replaced: Replacements<'_>,
    changes: &[Change<'_>],
    stream: &Arc<StreamState>,
) -> Result<()> {
    let recorded = replaced.recorded;
    let shared = &recorded.program.shared;
    for (at, op) in recorded.ops.iter().enumerate() {
        match &op.work {
            Work::Launch(launch) => {
                let changed = change_of(changes, at);
                let prepared = changed.map_or(&launch.prepared, |change| &change.prepared);
                let target = LaunchTarget { stream, checks: launch.checks, at: op.at };
                let (id, context) = (launch.kernel.id, recorded.context(launch));
                let mut words = prepared.words.clone();
                if let Some(replaced) = replaced.get(at) {
                    replaced.put(&mut words, 0);
                }
                context.enqueue_prepared(shared, id, prepared, words, target)?;
            }
            Work::Copy(CapturedCopy { from, to, spans, .. }) => {
                for span in spans {
                    let (dst, src) = (to.address(), from.address());
                    let (dst, src) = (dst.offset(span.device), src.offset(span.host));
                    // SAFETY: the graph keeps both buffers, which have the bytes, and are two; the stream is live as
                    // long as its state.
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

/// Stamps what a graph keeps, where it is launched as it was captured; behind that, also where the device panics.
struct StampedBehind<'a> {
    recorded: &'a Recorded,
    stream: &'a StreamState,
}

impl Drop for StampedBehind<'_> {
    #[inline]
    fn drop(&mut self) {
        let stamp = self.stream.stream.next_stamp();
        for (buffer, written) in &self.recorded.buffers {
            buffer.stamp(stamp, *written);
        }
    }
}

/// How a launch of a graph uses memory. Dropped, it notes that, behind all that was enqueued.
struct Used<'a> {
    replaced: Replacements<'a>,
    stream: &'a StreamState,
}

impl Used<'_> {
    fn before(&self, shared: &ProgramShared) -> Result<()> {
        let recorded = self.replaced.recorded;
        // As copies by themselves, these come behind all uses.
        let ops = if recorded.has_copies { &recorded.ops[..] } else { &[] };
        for op in ops {
            if let Work::Copy(copy) = &op.work {
                order_behind(shared, self.stream, copy.to.users())?;
            }
        }
        let Some(tracker) = &shared.hazards else { return Ok(()) };
        self.each(|uses| tracker.before(shared, uses, self.stream))
    }

    fn each(&self, mut see: impl FnMut(&LaunchUses<'_>) -> Result<()>) -> Result<()> {
        let recorded = self.replaced.recorded;
        for (at, op) in recorded.ops.iter().enumerate() {
            let tensor = |arg| match arg {
                ArgKind::Scalar(..) => None,
                ArgKind::Tensor(_, tensor) => Some(tensor),
            };
            let tensors: SmallVec<[TensorArg<'_>; 8]> = match self.replaced.get(at) {
                Some(replaced) => replaced.args().into_iter().filter_map(tensor).collect(),
                None => op.args.iter().map(OwnedArg::as_arg).filter_map(tensor).collect(),
            };
            let (params, kernel) = recorded.uses(op);
            see(&LaunchUses { kernel, params, tensors: &tensors, at: op.at })?;
        }
        Ok(())
    }
}

impl Drop for Used<'_> {
    fn drop(&mut self) {
        let recorded = self.replaced.recorded;
        let stamp = self.stream.stream.next_stamp();
        if let Some(tracker) = &recorded.program.shared.hazards {
            let noted = self.each(|uses| {
                tracker.after(uses, stamp);
                Ok(())
            });
            debug_assert!(noted.is_ok());
        }
        for (buffer, written) in &recorded.buffers {
            buffer.stamp(stamp, *written);
        }
        if !self.replaced.has_tensors() {
            return;
        }
        for (code, tensor) in self.replaced.tensors() {
            let Some(core) = tensor.core() else { continue };
            core.buffer.stamp(stamp, code.is_writable());
        }
    }
}
