//! The recorder of a capture.

use std::{
    cell::RefCell,
    collections::HashMap,
    panic::Location,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use quadrants_rhi::StreamHandle;
use quadrants_runtime::{self as rt, Buffer, ChildGraph};

use super::{
    graph_hazards,
    recorded::{
        CapturedCopy, CapturedForeign, CapturedLaunch, Dependencies, Op, OwnedArg, Recorded,
        RecordedWork, RetainedKernel,
    },
};
use crate::{
    Error, Result,
    arguments::{
        ArgKind, ArgList, launch_uses::LaunchUses, operation_tensors::OperationTensors,
        target::LaunchTarget,
    },
    error::captured,
    kernel::kernel_def::KernelDef,
    launcher::{argument_head::COPY_KERNEL_ID, kernel_context::TensorParamUse},
    state::{ProgramInner, ProgramShared, StreamState, device_tensor::DeviceTensor},
    tensor::transfer::COPY_FROM,
    thread_state::{capture::CaptureRecorder, regions},
    value::layout::CopyRange,
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

impl Recording {
    /// Adds an operation of the stream of its stamp.
    fn push(&mut self, op: Op) {
        let this = Dependencies::from_slice(&[self.ops.len()]);
        let dependencies = self.streams.insert(op.stamp.stream, this);
        self.dependencies.push(dependencies.unwrap_or_default());
        self.ops.push(op);
    }
}

impl Capture {
    pub(super) fn new(program: &Arc<ProgramInner>) -> Self {
        Self { recording: RefCell::default(), program: program.clone() }
    }

    /// The recording, and the dependencies of each operation.
    pub(super) fn finish(self) -> Result<(Recorded, Vec<Dependencies>)> {
        let Recording { ops, mut dependencies, .. } = self.recording.into_inner();
        let has_host_copies = ops.iter().any(Op::is_host_copy);
        let may_report =
            ops.iter().filter_map(Op::launch).any(|launch| launch.prepared.may_report());
        let (buffers, program) = (Vec::new(), self.program);
        let shared = &program.shared;
        let needs_checks = shared.hazards.is_some() || shared.host_exclusion.enabled;
        let args = ops.iter().flat_map(|op| &op.args);
        let has_distinct = args.map(OwnedArg::as_arg).any(ArgKind::is_distinct);
        let is_plain = !(has_host_copies || may_report || needs_checks || has_distinct);
        let mut recorded =
            Recorded { ops, buffers, program, has_host_copies, has_distinct, may_report, is_plain };
        recorded.find_buffers();
        graph_hazards::check(&recorded, &mut dependencies, None)?;
        Ok((recorded, dependencies))
    }
}

impl CaptureRecorder for Capture {
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
            return Err(Error::Capture { what: captured::KERNEL_WITH_VALUE });
        }
        let owned = args.iter().map(|arg| OwnedArg::new(&arg)).collect::<Result<Vec<_>>>()?;
        let shared = &self.program.shared;
        let (id, context) = shared.retain(kernel)?;
        let kernel = RetainedKernel { program: self.program.clone(), id };
        let number = shared.launches.fetch_add(1, Relaxed);
        let prepared =
            context.prepare(&shared.loader, number, args.iter(), checks, stream.stream.id())?;

        let (params, tensors) = (context.tensor_params(), &*args.tensors);
        regions::check(shared, &LaunchUses { kernel: kernel.id, params, tensors, at }, stream)?;

        let mut recording = self.recording.borrow_mut();
        let before = recording.kernels.entry(context.kernel.name.clone()).or_default();
        let number_of_kernel = *before;
        *before += 1;
        let stamp = stream.stream.newest();
        let launch = CapturedLaunch { kernel, number_of_kernel, checks, number, prepared };
        recording.push(Op { stamp, at, args: owned, work: RecordedWork::Launch(Box::new(launch)) });
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
        spans: &[CopyRange],
        at: &'static Location<'static>,
    ) -> Result<()> {
        to.finish_fill()?;
        let from = Arc::new(Buffer::from_bytes(&self.program.shared.context, bytes)?);
        let args = OwnedArg::of_elements(to, elements, true);
        let copy = CapturedCopy {
            is_of_host: true,
            id: COPY_KERNEL_ID,
            from,
            to: to.buffer.clone(),
            spans: spans.iter().copied().filter(|span| span.bytes > 0).collect(),
            params: (0..args.len()).map(TensorParamUse::written).collect(),
        };
        let stamp = self.program.default.stream.newest();
        let mut recording = self.recording.borrow_mut();
        recording.dependencies.push(Dependencies::new());
        recording.ops.push(Op { stamp, at, args, work: RecordedWork::Copy(copy) });
        to.buffer.share(true);
        Ok(())
    }

    fn device_copy(
        &self,
        to: &DeviceTensor,
        from: &DeviceTensor,
        elements: usize,
        spans: &[CopyRange],
        stream: &StreamState,
        at: &'static Location<'static>,
    ) -> Result<()> {
        to.finish_fill()?;
        from.finish_fill()?;
        let (name, reads, writes) = COPY_FROM;
        let mut args = OwnedArg::of_elements(from, elements, false);
        let read = args.len();
        args.append(&mut OwnedArg::of_elements(to, elements, true));
        let uses = (0..args.len()).map(|at| if at < read { reads } else { writes });
        let names = &self.program.shared.operation_names;
        let (id, params) = (names.id(name), names.params(uses).into_vec());
        let tensors: Vec<_> = args.iter().filter_map(|arg| arg.as_arg().tensor()).collect();
        let shared = &self.program.shared;
        regions::check(
            shared,
            &LaunchUses { kernel: id, params: &params, tensors: &tensors, at },
            stream,
        )?;
        let copy = CapturedCopy {
            is_of_host: false,
            id,
            from: from.buffer.clone(),
            to: to.buffer.clone(),
            spans: spans.iter().flat_map(|span| span.parts(rt::Graph::MAX_COPY_BYTES)).collect(),
            params,
        };
        let op = Op { stamp: stream.stream.newest(), at, args, work: RecordedWork::Copy(copy) };
        self.recording.borrow_mut().push(op);
        from.buffer.share(false);
        to.buffer.share(true);
        Ok(())
    }

    fn foreign(
        &self,
        name: &'static str,
        tensors: &OperationTensors<'_>,
        stream: &StreamState,
        at: &'static Location<'static>,
        enqueue: &mut dyn FnMut(StreamHandle) -> Result<()>,
    ) -> Result<()> {
        let shared = &self.program.shared;
        if !shared.graphs.enabled {
            return Err(Error::Capture { what: captured::FOREIGN });
        }
        let (id, params) = tensors.named(name, &shared.operation_names);
        let args = tensors.tensors().iter().zip(tensors.writes());
        let args = args.map(|(tensor, writes)| OwnedArg::of_tensor(tensor, writes));
        let args = args.collect::<Result<Vec<_>>>()?;
        let launch = LaunchUses { kernel: id, params: &params, tensors: tensors.tensors(), at };
        regions::check(shared, &launch, stream)?;
        // Not borrowed meanwhile: the operation may launch kernels, which are captured as others are.
        let (child, enqueued) = ChildGraph::capture(&shared.context, enqueue)?;
        enqueued?;
        let work = RecordedWork::Foreign(CapturedForeign { child, id, params: params.into_vec() });
        let op = Op { stamp: stream.stream.newest(), at, args, work };
        self.recording.borrow_mut().push(op);
        for (tensor, param) in tensors.tensors().iter().zip(tensors.writes()) {
            if let Some(device_tensor) = tensor.device_tensor() {
                device_tensor.buffer.share(param);
            }
        }
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
            return Err(Error::Capture { what: captured::WAIT_FOR_OUTSIDE });
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
