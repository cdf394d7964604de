//! The recorder of a capture.

use std::{
    cell::RefCell,
    collections::HashMap,
    panic::Location,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use quadrants_runtime::Buffer;

use super::{
    active::Recorder,
    order,
    recorded::{
        CapturedCopy, CapturedLaunch, Dependencies, Op, OwnedArg, Recorded, RetainedKernel, Work,
    },
};
use crate::{
    Error, Result,
    kernel::kernel_def::KernelDef,
    launch::{
        arguments::{ArgKind, ArgList},
        context::TensorParamUse,
        target::LaunchTarget,
    },
    state::{ProgramInner, ProgramShared},
    stream::state::StreamState,
    tensor::{device_tensor::DeviceTensor, layout::Span},
};

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

impl Capture {
    pub(super) fn new(program: &Arc<ProgramInner>) -> Self {
        Self { recording: RefCell::default(), program: program.clone() }
    }

    /// The recording, and the dependencies of each operation.
    pub(super) fn finish(self) -> Result<(Recorded, Vec<Dependencies>)> {
        let Recording { ops, mut dependencies, .. } = self.recording.into_inner();
        let has_copies = ops.iter().any(Op::is_copy);
        let may_report =
            ops.iter().filter_map(Op::launch).any(|launch| launch.prepared.may_report());
        let (buffers, program) = (Vec::new(), self.program);
        let shared = &program.shared;
        let needs_checks = shared.hazards.is_some() || shared.host_exclusion.enabled;
        let args = ops.iter().flat_map(|op| &op.args);
        let has_distinct = args.map(OwnedArg::as_arg).any(ArgKind::is_distinct);
        let is_plain = !(has_copies || may_report || needs_checks || has_distinct);
        let mut recorded =
            Recorded { ops, buffers, program, has_copies, has_distinct, may_report, is_plain };
        recorded.find_buffers();
        order::check(&recorded, &mut dependencies, None)?;
        Ok((recorded, dependencies))
    }
}

impl Recorder for Capture {
    fn program(&self) -> &ProgramShared {
        &self.program.shared
    }

    fn launch(
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
        let (id, context) = shared.retain(kernel)?;
        let kernel = RetainedKernel { program: self.program.clone(), id };
        let number = shared.launches.fetch_add(1, Relaxed);
        let prepared =
            context.prepare(&shared.loader, number, args.iter(), checks, stream.stream.id())?;

        let mut recording = self.recording.borrow_mut();
        let before = recording.kernels.entry(context.kernel.name.clone()).or_default();
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
        for arg in args.iter() {
            if let ArgKind::Tensor(code, tensor) = arg
                && let Some(device_tensor) = tensor.device_tensor()
            {
                device_tensor.buffer.share(code.is_writable());
            }
        }
        Ok(())
    }

    fn copy(
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
        to.buffer.share(true);
        Ok(())
    }

    fn record_event(&self, event: u64, stream: &StreamState) {
        let mut recording = self.recording.borrow_mut();
        let dependencies = recording.streams.get(&stream.stream.id()).cloned();
        recording.events.insert(event, dependencies.unwrap_or_default());
    }

    fn wait_event(&self, event: u64, stream: &StreamState) -> Result<()> {
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
}
