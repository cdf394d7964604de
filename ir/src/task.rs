//! An offloaded kernel: a flat list of tasks. Each task is one device function.

use serde::{Deserialize, Serialize};

use crate::{
    Arena, Block, BlockId, Expr, Local, LocalId, LoopDim, Options, Param, ParamId, RegionBlockId,
    ScalarType, Site, SiteId, SiteKind, Stmt,
    arena::{Id, Tag},
    task_schedule::TaskSchedule,
};

/// The id of a task.
pub type TaskId = Id<Task>;

impl Tag for Task {
    const PREFIX: &'static str = "task";
}

/// A kernel after offloading. Its serialized form is the simulator's image, and its hash is the key of the kernel
/// cache.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Offloaded {
    /// The kernel's name.
    pub name: String,
    /// The source file, for messages.
    pub file: String,
    /// The parameters, in order.
    pub params: Vec<Param>,
    /// All locals.
    pub locals: Arena<Local>,
    /// All expressions.
    pub exprs: Arena<Expr>,
    /// All blocks.
    pub blocks: Arena<Block>,
    /// The source locations that can raise a device error.
    pub sites: Vec<Site>,
    /// The types of the launch's temporaries.
    pub temps: Vec<ScalarType>,
    /// The types of the scalars of the returned value, in order; none if the kernel returns nothing.
    pub results: Vec<ScalarType>,
    /// The options of the kernel's attribute.
    pub options: Options,
    /// The tasks, in source order.
    pub tasks: Vec<Task>,
}

/// One device function: serial code, a range loop or a block loop.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The kind, with the loop's dimensions.
    pub kind: TaskKind,
    /// Its `stream_parallel` block, or [`RegionBlockId::NONE`].
    pub region_block: RegionBlockId,
    /// Pure definitions, and loads of temporaries, that the bounds and the body use. Every thread runs the prelude.
    pub prelude: BlockId,
    /// The serial code, or the body of one iteration or block.
    pub body: BlockId,
    /// The accessed tensor parameters, one entry each, by ascending id.
    pub accesses: Vec<ParamAccess>,
    /// The source line, or 0 if there is none.
    pub line: u32,
    /// How it runs on a device.
    pub schedule: TaskSchedule,
}

/// The kind of a task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TaskKind {
    /// Serial code, run by one thread.
    Serial,
    /// A loop over iterations.
    RangeFor {
        /// The dimensions, outermost first.
        dims: Vec<LoopDim>,
        /// None if the host can evaluate the bounds: they use only parameters and pure prelude locals, and no float
        /// arithmetic. Otherwise the device computes them, possibly from temporaries; bounds beyond
        /// [`MAX_BOUND`](crate::abi::MAX_BOUND) are reported at this site, and nothing runs.
        bounds_site: Option<SiteId>,
        /// The number of threads per block, if the user sets it.
        block_size: Option<u32>,
    },
    /// A loop over thread blocks, with phases that end in a barrier.
    BlockFor {
        /// The dimensions of the grid of blocks, outermost first.
        dims: Vec<LoopDim>,
        /// As in `RangeFor`.
        bounds_site: Option<SiteId>,
        /// The number of threads per block.
        threads: u32,
    },
}

/// How a task accesses a tensor parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ParamAccess {
    /// The tensor.
    pub param: ParamId,
    /// Has loads.
    pub read: bool,
    /// Has stores.
    pub write: bool,
    /// Has atomics.
    pub atomic: bool,
}

impl TaskKind {
    pub(crate) fn is_range_for(&self) -> bool {
        matches!(self, Self::RangeFor { .. })
    }

    /// The dimensions of the loop or of the grid of blocks; none for a serial task.
    #[must_use]
    pub fn dims(&self) -> Option<&[LoopDim]> {
        match self {
            Self::Serial => None,
            Self::RangeFor { dims, .. } | Self::BlockFor { dims, .. } => Some(dims),
        }
    }

    /// The site that reports bounds computed on the device, if the host cannot evaluate them.
    #[must_use]
    pub const fn bounds_site(&self) -> Option<SiteId> {
        match self {
            Self::Serial => None,
            Self::RangeFor { bounds_site, .. } | Self::BlockFor { bounds_site, .. } => *bounds_site,
        }
    }

    /// Whether it is a loop whose bounds only the device can compute.
    #[must_use]
    pub const fn has_device_bounds(&self) -> bool {
        self.bounds_site().is_some()
    }

    /// The number of threads per block of a block loop.
    #[must_use]
    pub const fn threads(&self) -> Option<u32> {
        match self {
            Self::BlockFor { threads, .. } => Some(*threads),
            _ => None,
        }
    }
}

impl Offloaded {
    /// The number of dimensions of a shared array.
    #[must_use]
    pub fn shared_rank(&self, array: LocalId) -> Option<usize> {
        self.blocks.iter().flat_map(|(_, block)| &block.stmts).find_map(|stmt| match stmt {
            Stmt::Shared { array: found, dims, .. } if *found == array => Some(dims.len()),
            _ => None,
        })
    }

    /// The size of the local arrays of the task that has the largest, in bytes.
    #[must_use]
    pub fn local_bytes(&self) -> u64 {
        self.tasks.iter().map(|task| self.local_bytes_within(task.body)).max().unwrap_or(0)
    }

    fn local_bytes_within(&self, block: BlockId) -> u64 {
        let of = |stmt: &Stmt| match *stmt {
            Stmt::Array { array, len } => self.locals[array].ty.size() as u64 * u64::from(len),
            _ => stmt.blocks().map(|inner| self.local_bytes_within(inner)).sum(),
        };
        self.blocks[block].stmts.iter().map(of).sum()
    }

    /// Whether the kernel prints messages.
    #[must_use]
    pub fn prints(&self) -> bool {
        self.sites.iter().any(|site| matches!(site.kind, SiteKind::Print { .. }))
    }

    /// The name of a task's device function: the kernel's name and the task's index.
    #[must_use]
    pub fn function_name(&self, task: TaskId) -> String {
        format!("{}_{}", self.name, task.raw())
    }

    /// All tasks, with their ids.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.tasks.iter().enumerate().map(|(i, task)| (TaskId::new(i as u32), task))
    }
}
