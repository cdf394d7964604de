//! What a capture records, and the list that comes of it.

use std::{cell::RefCell, collections::HashMap, panic::Location, sync::Arc};

use quadrants_ir::Param;
use quadrants_runtime::{Buffer, Stamp};
use smallvec::SmallVec;

use super::{Graph, args::OwnedArg, order};
use crate::{
    Error, Result,
    kernel::kernel_def::KernelDef,
    launch::{
        arguments::{ArgList, TensorArg},
        context::{KernelContext, TensorParam},
        block_head::COPY_KERNEL_ID,
        prepared::PreparedLaunch,
        submit::{Checks, LaunchTarget},
    },
    program::ProgramInner,
    stream::StreamState,
    tensor::{TensorCore, layout::Span},
};

/// Operations by their numbers; each is behind all before them on its way.
pub(super) type Behind = SmallVec<[usize; 4]>;

/// A capture under way.
pub(super) struct Capture {
    recording: RefCell<Recording>,
    program: Arc<ProgramInner>,
}

#[derive(Default)]
struct Recording {
    ops: Vec<Op>,
    /// What each operation comes behind.
    after: Vec<Behind>,
    /// How many launches there are of kernels of each name.
    kernels: HashMap<String, usize>,
    /// What the next operation of each stream comes behind, by the stream's number.
    streams: HashMap<u32, Behind>,
    /// What each event was last recorded behind.
    events: HashMap<u64, Behind>,
}

/// What was recorded.
#[derive(Debug)]
pub(super) struct Recorded {
    /// In the order of the capture: none comes behind a later one.
    pub(super) ops: Vec<Op>,
    /// All memory that they use, and whether it is written.
    pub(super) buffers: Vec<(Arc<Buffer>, bool)>,
    pub(super) program: Arc<ProgramInner>,
    pub(super) has_copies: bool,
    /// Whether a launch may report, as it was captured.
    pub(super) may_report: bool,
    /// Whether a launch of it, as it was captured, uses nothing that other work must be asked about.
    pub(super) is_plain: bool,
}

/// What was captured.
#[derive(Debug)]
pub(super) struct Op {
    /// Of the stream that it was captured on; a copy is on none, and names the default one.
    pub(super) stamp: Stamp,
    pub(super) at: &'static Location<'static>,
    pub(super) args: Vec<OwnedArg>,
    pub(super) work: Work,
}

#[derive(Debug)]
pub(super) enum Work {
    Launch(Box<CapturedLaunch>),
    Copy(CapturedCopy),
}

/// A copy of the host's into a tensor: comes behind all that use the tensor, and before what uses it later.
#[derive(Debug)]
pub(super) struct CapturedCopy {
    /// What the host gave.
    pub(super) from: Arc<Buffer>,
    pub(super) to: Arc<Buffer>,
    /// Where in the source, where in the target, and how many bytes.
    pub(super) spans: Vec<Span>,
    pub(super) params: Vec<TensorParam>,
}

#[derive(Debug)]
pub(super) struct CapturedLaunch {
    pub(super) kernel: RetainedKernel,
    /// How many launches of kernels of this name were captured before.
    pub(super) number_of_kernel: usize,
    pub(super) checks: Checks,
    /// By which reports name it.
    pub(super) number: u64,
    pub(super) prepared: PreparedLaunch,
}

impl Op {
    pub(super) fn launch(&self) -> Option<&CapturedLaunch> {
        match &self.work {
            Work::Launch(launch) => Some(launch),
            Work::Copy(_) => None,
        }
    }

    pub(super) fn is_copy(&self) -> bool {
        matches!(self.work, Work::Copy(_))
    }
}

/// A kernel that stays while this lives.
#[derive(Debug)]
pub(super) struct RetainedKernel {
    program: Arc<ProgramInner>,
    pub(super) id: u32,
}

impl Drop for RetainedKernel {
    fn drop(&mut self) {
        self.program.shared.launcher.release(&self.program.shared, self.id);
    }
}

impl Capture {
    pub(super) fn new(program: &Arc<ProgramInner>) -> Self {
        Self { recording: RefCell::default(), program: program.clone() }
    }

    pub(super) fn program(&self) -> &Arc<ProgramInner> {
        &self.program
    }

    pub(super) fn launch(
        &self,
        kernel: &KernelDef,
        args: &ArgList<'_>,
        has_value: bool,
        LaunchTarget { stream, checks, at }: LaunchTarget<'_>,
    ) -> Result<()> {
        if has_value {
            return Err(Error::Capture { what: "a kernel with a value" });
        }
        let owned = args.iter().map(|arg| OwnedArg::new(&arg)).collect::<Result<Vec<_>>>()?;
        let shared = &self.program.shared;
        let (id, context) = shared.launcher.retain(shared, kernel)?;
        let kernel = RetainedKernel { program: self.program.clone(), id };
        let number = shared.next_launch();
        let prepared = context.prepare(shared, number, args.iter(), checks, stream)?;

        let mut recording = self.recording.borrow_mut();
        let before = recording.kernels.entry(context.offloaded().name.clone()).or_default();
        let number_of_kernel = *before;
        *before += 1;
        let stamp = stream.stream.newest();
        let this = recording.ops.len();
        let after = recording.streams.insert(stamp.stream, Behind::from_slice(&[this]));
        let launch = CapturedLaunch { kernel, number_of_kernel, checks, number, prepared };
        recording.after.push(after.unwrap_or_default());
        recording.ops.push(Op { stamp, at, args: owned, work: Work::Launch(Box::new(launch)) });
        // The borrow of the launch ends, and the graph's use of it does not.
        for core in args.tensors.iter().filter_map(TensorArg::core) {
            core.buffer.share();
        }
        Ok(())
    }

    /// A copy of these bytes, spread so, into as many elements of a tensor.
    pub(super) fn copy(
        &self,
        to: &TensorCore,
        elements: usize,
        bytes: &[u8],
        spans: &[Span],
        at: &'static Location<'static>,
    ) -> Result<()> {
        let from = Arc::new(Buffer::from_bytes(&self.program.shared.context, bytes)?);
        let args = OwnedArg::written(to, elements);
        let copy = CapturedCopy {
            from,
            to: to.buffer.clone(),
            spans: spans.iter().copied().filter(|span| span.bytes > 0).collect(),
            params: (0..args.len()).map(TensorParam::written).collect(),
        };
        let stamp = self.program.default.stream.newest();
        let mut recording = self.recording.borrow_mut();
        recording.after.push(Behind::new());
        recording.ops.push(Op { stamp, at, args, work: Work::Copy(copy) });
        to.buffer.share();
        Ok(())
    }

    pub(super) fn record(&self, event: u64, stream: &StreamState) {
        let mut recording = self.recording.borrow_mut();
        let behind = recording.streams.get(&stream.stream.id()).cloned();
        recording.events.insert(event, behind.unwrap_or_default());
    }

    pub(super) fn wait(&self, event: u64, stream: &StreamState) -> Result<()> {
        let Recording { streams, events, .. } = &mut *self.recording.borrow_mut();
        let Some(mark) = events.get(&event) else {
            return Err(Error::Capture { what: "a wait for an event that was recorded outside" });
        };
        let behind = streams.entry(stream.stream.id()).or_default();
        for op in mark {
            if !behind.contains(op) {
                behind.push(*op);
            }
        }
        Ok(())
    }

    /// The graph of what was recorded.
    pub(super) fn finish(self) -> Result<Graph> {
        let Recording { ops, mut after, .. } = self.recording.into_inner();
        let has_copies = ops.iter().any(Op::is_copy);
        let may_report =
            ops.iter().filter_map(Op::launch).any(|launch| launch.prepared.may_report());
        let (buffers, program) = (Vec::new(), self.program);
        let shared = &program.shared;
        let is_asked = shared.hazards.is_some() || shared.host_exclusion.are_taken();
        let is_plain = !(has_copies || may_report || is_asked);
        let mut recorded = Recorded { ops, buffers, program, has_copies, may_report, is_plain };
        recorded.find_buffers();
        order::check(&recorded, &mut after, None)?;
        Ok(Graph::new(recorded, after))
    }
}

impl Recorded {
    fn find_buffers(&mut self) {
        let mut places: HashMap<*const Buffer, usize> = HashMap::new();
        for arg in self.ops.iter().flat_map(|op| &op.args) {
            let OwnedArg::Tensor { core, code, .. } = arg else { continue };
            let place = *places.entry(Arc::as_ptr(&core.buffer)).or_insert_with(|| {
                self.buffers.push((core.buffer.clone(), false));
                self.buffers.len() - 1
            });
            self.buffers[place].1 |= code.is_writable();
        }
        // What copies read is the graph's alone.
        let sources = self.ops.iter().filter_map(|op| match &op.work {
            Work::Copy(copy) => Some((copy.from.clone(), false)),
            Work::Launch(_) => None,
        });
        self.buffers.extend(sources);
    }

    pub(super) fn context(&self, launch: &CapturedLaunch) -> &KernelContext {
        let retained = self.program.shared.launcher.retained(launch.kernel.id);
        retained.expect("a graph keeps its kernels")
    }

    pub(super) fn name(&self, launch: &CapturedLaunch) -> &str {
        &self.context(launch).offloaded().name
    }

    pub(super) fn params(&self, launch: &CapturedLaunch) -> &[Param] {
        &self.context(launch).offloaded().params
    }

    /// The launches with their numbers among all operations.
    pub(super) fn launches(&self) -> impl Iterator<Item = (usize, &CapturedLaunch)> {
        self.ops.iter().enumerate().filter_map(|(at, op)| Some((at, op.launch()?)))
    }

    /// How an operation uses its tensors, and by which number reports know it.
    pub(super) fn uses<'a>(&'a self, op: &'a Op) -> (&'a [TensorParam], u32) {
        match &op.work {
            Work::Launch(launch) => (self.context(launch).tensors(), launch.kernel.id),
            Work::Copy(copy) => (&copy.params, COPY_KERNEL_ID),
        }
    }

    /// The names that arguments can be given by, each with its launch.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (_, launch) in self.launches() {
            let (kernel, number) = (self.name(launch), launch.number_of_kernel);
            let its = self.params(launch).iter();
            names.extend(its.map(|param| format!("{kernel}[{number}].{}", param.name)));
        }
        names
    }
}
