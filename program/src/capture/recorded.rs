//! The result of a capture: its operations, with their arguments and dependencies.

use std::{collections::HashMap, panic::Location, sync::Arc};

use quadrants_ir::{Param, ParamKind, ScalarType};
use quadrants_runtime::{Buffer, ChildGraph, Stamp};
use smallvec::SmallVec;

use crate::{
    Error, Result,
    arguments::{ArgKind, TensorArg, TensorMemory},
    error::captured,
    launch::prepared::PreparedLaunch,
    launcher::{
        kernel_context::{KernelContext, TensorParamUse},
        launch_cache::Checks,
        param_code::ParamCode,
    },
    state::{ProgramInner, device_tensor::DeviceTensor},
    value::layout::{ComponentLayout, CopyRange},
};

/// The indices of what an operation or a graph node is ordered after, earlier operations or nodes, without those that
/// are implied.
pub(super) type Dependencies = SmallVec<[usize; 4]>;

#[derive(Debug)]
pub(super) struct Recorded {
    /// In the order of the capture: dependencies are earlier operations.
    pub(super) ops: Vec<Op>,
    /// All buffers that the operations use, and whether they are written.
    pub(super) buffers: Vec<(Arc<Buffer>, bool)>,
    pub(super) program: Arc<ProgramInner>,
    /// Whether it copies from the host.
    pub(super) has_host_copies: bool,
    /// Whether a launch relies on the elements of a tensor being distinct.
    pub(super) has_distinct: bool,
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
    pub(super) work: RecordedWork,
}

#[derive(Debug)]
pub(super) enum RecordedWork {
    Launch(Box<CapturedLaunch>),
    Copy(CapturedCopy),
    Foreign(CapturedForeign),
}

/// A captured foreign operation: what it enqueued, as a graph.
#[derive(Debug)]
pub(super) struct CapturedForeign {
    pub(super) child: ChildGraph,
    /// The number that hazards name it by.
    pub(super) id: u32,
    pub(super) params: Vec<TensorParamUse>,
}

/// A captured copy into a tensor. One from the host is ordered after all earlier uses of the tensor and before all
/// later ones; one from another tensor has the order of its stream.
#[derive(Debug)]
pub(super) struct CapturedCopy {
    pub(super) is_of_host: bool,
    /// The number that hazards name it by.
    pub(super) id: u32,
    /// The copied bytes.
    pub(super) from: Arc<Buffer>,
    pub(super) to: Arc<Buffer>,
    /// The source offset, target offset and length of each copied range.
    pub(super) spans: Vec<CopyRange>,
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
            RecordedWork::Launch(launch) => Some(launch),
            RecordedWork::Copy(_) | RecordedWork::Foreign(_) => None,
        }
    }

    pub(super) fn is_copy(&self) -> bool {
        matches!(&self.work, RecordedWork::Copy(_))
    }

    /// Whether it is a copy from the host.
    pub(super) fn is_host_copy(&self) -> bool {
        matches!(&self.work, RecordedWork::Copy(copy) if copy.is_of_host)
    }
}

/// A kernel that stays loaded while this lives.
#[derive(Debug)]
pub(super) struct RetainedKernel {
    pub(super) program: Arc<ProgramInner>,
    pub(super) id: u32,
}

impl Drop for RetainedKernel {
    fn drop(&mut self) {
        self.program.shared.release(self.id);
    }
}

/// An argument that a graph keeps, without a borrow.
#[derive(Debug)]
pub(super) enum OwnedArg {
    Scalar(ParamCode, u64),
    Tensor {
        device_tensor: DeviceTensor,
        shape: SmallVec<[usize; 4]>,
        code: ParamCode,
        component: Option<ComponentLayout>,
    },
}

impl OwnedArg {
    pub(super) fn new(arg: &ArgKind<'_>) -> Result<Self> {
        match arg {
            ArgKind::Scalar(code, bits) => Ok(Self::Scalar(*code, *bits)),
            ArgKind::Tensor(code, TensorArg { memory, shape, component }) => match memory {
                TensorMemory::Host(_) => Err(Error::Capture { what: captured::HOST_ARRAY }),
                TensorMemory::Device(device_tensor) => {
                    // The graph is launched on any stream.
                    device_tensor.finish_fill()?;
                    Ok(Self::Tensor {
                        device_tensor: device_tensor.again(),
                        shape: SmallVec::from_slice(shape),
                        code: *code,
                        component: component.copied(),
                    })
                }
            },
        }
    }

    /// The argument of an operation that is not a launch.
    pub(super) fn of_tensor(tensor: &TensorArg<'_>, writable: bool) -> Result<Self> {
        let Some(device_tensor) = tensor.device_tensor() else {
            return Err(Error::Capture { what: captured::HOST_ARRAY });
        };
        device_tensor.finish_fill()?;
        let component = tensor.component.copied();
        let elem = component.map_or(ScalarType::U8, |component| component.ty);
        Ok(Self::Tensor {
            device_tensor: device_tensor.again(),
            shape: SmallVec::from_slice(tensor.shape),
            code: ParamCode::of(ParamKind::Tensor { elem, rank: 1, writable, distinct: false }),
            component,
        })
    }

    /// The first elements of a tensor, as arguments: one per component.
    pub(super) fn of_elements(
        device_tensor: &DeviceTensor,
        elements: usize,
        writable: bool,
    ) -> Vec<Self> {
        let components = device_tensor.storage.components.iter();
        let of = |component: &ComponentLayout| Self::Tensor {
            device_tensor: device_tensor.again(),
            shape: SmallVec::from_slice(&[elements]),
            code: ParamCode::of(ParamKind::Tensor {
                elem: component.ty,
                rank: 1,
                writable,
                distinct: false,
            }),
            component: Some(*component),
        };
        components.map(of).collect()
    }

    pub(super) fn as_arg(&self) -> ArgKind<'_> {
        match self {
            Self::Scalar(code, bits) => ArgKind::Scalar(*code, *bits),
            Self::Tensor { device_tensor, shape, code, component } => {
                let memory = TensorMemory::Device(device_tensor);
                ArgKind::Tensor(*code, TensorArg { memory, shape, component: component.as_ref() })
            }
        }
    }
}

impl Recorded {
    pub(super) fn find_buffers(&mut self) {
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
            RecordedWork::Copy(copy) if copy.is_of_host => Some((copy.from.clone(), false)),
            RecordedWork::Copy(_) | RecordedWork::Launch(_) | RecordedWork::Foreign(_) => None,
        });
        self.buffers.extend(sources);
    }

    pub(super) fn context(&self, launch: &CapturedLaunch) -> &KernelContext {
        let retained = self.program.shared.launcher.get(launch.kernel.id);
        retained.expect("a graph keeps its kernels")
    }

    pub(super) fn name(&self, launch: &CapturedLaunch) -> &str {
        &self.context(launch).kernel.name
    }

    pub(super) fn params(&self, launch: &CapturedLaunch) -> &[Param] {
        &self.context(launch).kernel.params
    }

    /// The launches with their indices among all operations.
    pub(super) fn launches(&self) -> impl Iterator<Item = (usize, &CapturedLaunch)> {
        self.ops.iter().enumerate().filter_map(|(at, op)| Some((at, op.launch()?)))
    }

    /// How an operation uses its tensors, and the kernel number that hazards name it by.
    pub(super) fn uses<'a>(&'a self, op: &'a Op) -> (&'a [TensorParamUse], u32) {
        match &op.work {
            RecordedWork::Launch(launch) => {
                (self.context(launch).tensor_params(), launch.kernel.id)
            }
            RecordedWork::Copy(copy) => (&copy.params, copy.id),
            RecordedWork::Foreign(foreign) => (&foreign.params, foreign.id),
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
