//! The recording of a capture, and the list of operations that it results in.

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
        block_head::COPY_KERNEL_ID,
        context::{KernelContext, TensorParamUse},
        prepared::PreparedLaunch,
        submit::{Checks, LaunchTarget},
    },
    program::ProgramInner,
    stream::StreamState,
    tensor::{DeviceTensor, layout::Span},
};

/// The indices of what an operation or a graph node is ordered after, earlier operations or nodes, without those that
/// are implied.
pub(super) type Dependencies = SmallVec<[usize; 4]>;

/// A capture in progress.
pub(super) struct Capture {
    recording: RefCell<Recording>,
    program: Arc<ProgramInner>,
}

#[derive(Default)]
struct Recording {
    ops: Vec<Op>,
    /// The dependencies of each operation.
    dependencies: Vec<Dependencies>,
    /// The number of launches of kernels with each name.
    kernels: HashMap<String, usize>,
    /// The dependencies of the next operation of each stream, by the stream's number.
    streams: HashMap<u32, Dependencies>,
    /// The dependencies that the last record of each event stands for.
    events: HashMap<u64, Dependencies>,
}

/// A finished recording.
#[derive(Debug)]
pub(super) struct Recorded {
    /// In the order of the capture: dependencies are earlier operations.
    pub(super) ops: Vec<Op>,
    /// All buffers that the operations use, and whether they are written.
    pub(super) buffers: Vec<(Arc<Buffer>, bool)>,
    pub(super) program: Arc<ProgramInner>,
    pub(super) has_copies: bool,
    /// Whether a launch may report errors, with the captured arguments.
    pub(super) may_report: bool,
    /// Whether a launch with the captured arguments needs no check of errors, hazards, copies or host exclusion.
    pub(super) is_plain: bool,
}

/// A captured launch or copy.
#[derive(Debug)]
pub(super) struct Op {
    /// A stamp of the stream that it was captured on. A copy has no stream; its stamp is of the default one.
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

/// A captured host-to-device copy into a tensor. It is ordered after all earlier uses of the tensor and before all
/// later ones.
#[derive(Debug)]
pub(super) struct CapturedCopy {
    /// The copied bytes.
    pub(super) from: Arc<Buffer>,
    pub(super) to: Arc<Buffer>,
    /// The source offset, target offset and length of each copied range.
    pub(super) spans: Vec<Span>,
    pub(super) params: Vec<TensorParamUse>,
}

#[derive(Debug)]
pub(super) struct CapturedLaunch {
    pub(super) kernel: RetainedKernel,
    /// The number of earlier launches of kernels with this name.
    pub(super) number_of_kernel: usize,
    pub(super) checks: Checks,
    /// The launch number, for error reports.
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

/// A kernel that stays loaded while this lives.
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
        let number = shared.next_launch_number();
        let prepared = context.prepare(shared, number, args.iter(), checks, stream)?;

        let mut recording = self.recording.borrow_mut();
        let before = recording.kernels.entry(context.offloaded().name.clone()).or_default();
        let number_of_kernel = *before;
        *before += 1;
        let stamp = stream.stream.newest();
        let this = recording.ops.len();
        let dependencies =
            recording.streams.insert(stamp.stream, Dependencies::from_slice(&[this]));
        let launch = CapturedLaunch { kernel, number_of_kernel, checks, number, prepared };
        recording.dependencies.push(dependencies.unwrap_or_default());
        recording.ops.push(Op { stamp, at, args: owned, work: Work::Launch(Box::new(launch)) });
        // The borrows of the launch end here, but the graph goes on using the tensors.
        for device_tensor in args.tensors.iter().filter_map(TensorArg::device_tensor) {
            device_tensor.buffer.share();
        }
        Ok(())
    }

    /// Captures a copy of `bytes` to the ranges `spans` of the first `elements` elements of a tensor.
    pub(super) fn copy(
        &self,
        to: &DeviceTensor,
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
            params: (0..args.len()).map(TensorParamUse::written).collect(),
        };
        let stamp = self.program.default.stream.newest();
        let mut recording = self.recording.borrow_mut();
        recording.dependencies.push(Dependencies::new());
        recording.ops.push(Op { stamp, at, args, work: Work::Copy(copy) });
        to.buffer.share();
        Ok(())
    }

    pub(super) fn record(&self, event: u64, stream: &StreamState) {
        let mut recording = self.recording.borrow_mut();
        let dependencies = recording.streams.get(&stream.stream.id()).cloned();
        recording.events.insert(event, dependencies.unwrap_or_default());
    }

    pub(super) fn wait(&self, event: u64, stream: &StreamState) -> Result<()> {
        let Recording { streams, events, .. } = &mut *self.recording.borrow_mut();
        let Some(recorded) = events.get(&event) else {
            return Err(Error::Capture { what: "a wait for an event that was recorded outside" });
        };
        let dependencies = streams.entry(stream.stream.id()).or_default();
        for op in recorded {
            if !dependencies.contains(op) {
                dependencies.push(*op);
            }
        }
        Ok(())
    }

    /// Makes the graph of the recording.
    pub(super) fn finish(self) -> Result<Graph> {
        let Recording { ops, mut dependencies, .. } = self.recording.into_inner();
        let has_copies = ops.iter().any(Op::is_copy);
        let may_report =
            ops.iter().filter_map(Op::launch).any(|launch| launch.prepared.may_report());
        let (buffers, program) = (Vec::new(), self.program);
        let shared = &program.shared;
        let needs_checks = shared.hazards.is_some() || shared.host_exclusion.is_enabled();
        let is_plain = !(has_copies || may_report || needs_checks);
        let mut recorded = Recorded { ops, buffers, program, has_copies, may_report, is_plain };
        recorded.find_buffers();
        order::check(&recorded, &mut dependencies, None)?;
        Ok(Graph::new(recorded, dependencies))
    }
}

impl Recorded {
    fn find_buffers(&mut self) {
        let mut indices: HashMap<*const Buffer, usize> = HashMap::new();
        for arg in self.ops.iter().flat_map(|op| &op.args) {
            let OwnedArg::Tensor { device_tensor, code, .. } = arg else { continue };
            let index = *indices.entry(Arc::as_ptr(&device_tensor.buffer)).or_insert_with(|| {
                self.buffers.push((device_tensor.buffer.clone(), false));
                self.buffers.len() - 1
            });
            self.buffers[index].1 |= code.is_writable();
        }
        // The sources of copies belong to the graph alone.
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

    /// The launches with their indices among all operations.
    pub(super) fn launches(&self) -> impl Iterator<Item = (usize, &CapturedLaunch)> {
        self.ops.iter().enumerate().filter_map(|(at, op)| Some((at, op.launch()?)))
    }

    /// How an operation uses its tensors, and the kernel number that hazards name it by.
    pub(super) fn uses<'a>(&'a self, op: &'a Op) -> (&'a [TensorParamUse], u32) {
        match &op.work {
            Work::Launch(launch) => (self.context(launch).tensor_params(), launch.kernel.id),
            Work::Copy(copy) => (&copy.params, COPY_KERNEL_ID),
        }
    }

    /// The full names of all arguments, each with its launch.
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
