//! An offloaded kernel: a flat list of tasks, each one device function.

use serde::{Deserialize, Serialize};

use crate::{
    Arena, Block, BlockId, Expr, GroupId, Local, LoopDim, Options, Param, ParamId, ScalarType,
    Site, SiteId,
    arena::{Id, Tag},
};

/// The id of a task.
pub type TaskId = Id<Task>;

impl Tag for Task {
    const PREFIX: &'static str = "task";
}

/// A kernel after offloading. Serialized, it is the simulator's image; hashed, the cache's key.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Offloaded {
    /// The kernel's name.
    pub name: String,
    /// The source file, for messages.
    pub file: String,
    /// The parameters in order.
    pub params: Vec<Param>,
    /// All locals.
    pub locals: Arena<Local>,
    /// All expressions.
    pub exprs: Arena<Expr>,
    /// All blocks.
    pub blocks: Arena<Block>,
    /// The places that can raise a device error.
    pub sites: Vec<Site>,
    /// The types of the launch's temporaries.
    pub temps: Vec<ScalarType>,
    /// The type of the kernel's value, where it has one.
    pub result: Option<ScalarType>,
    /// What the kernel's attribute asks for.
    pub options: Options,
    /// The tasks, in source order.
    pub tasks: Vec<Task>,
}

/// One device function: a loop or a serial piece.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Task {
    /// What runs.
    pub kind: TaskKind,
    /// The `stream_parallel` block it belongs to, or [`GroupId::NONE`].
    pub group: GroupId,
    /// Pure definitions and loads of temporaries that bounds and body use, run by every thread.
    pub prelude: BlockId,
    /// The body of one iteration, or the serial piece.
    pub body: BlockId,
    /// What it touches, one entry per parameter touched, by ascending id.
    pub accesses: Vec<Access>,
    /// The source line, 0 where there is none.
    pub line: u32,
}

/// What a task is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TaskKind {
    /// One thread.
    Serial,
    /// One thread per iteration.
    RangeFor {
        /// The dimensions, outermost first.
        dims: Vec<LoopDim>,
        /// None where the bounds read parameters and pure prelude locals alone, and no arithmetic of
        /// floats, so that the host can evaluate them. Else they may read temporaries; bounds beyond
        /// [`MAX_BOUND`](crate::abi::MAX_BOUND) are reported here, and nothing runs.
        on_device: Option<SiteId>,
        /// How many threads a block has, where the author says so.
        block_size: Option<u32>,
    },
    /// One block of threads per iteration, whose phases end in a barrier.
    BlockFor {
        /// The dimensions of the grid of blocks, outermost first.
        dims: Vec<LoopDim>,
        /// As in `RangeFor`.
        on_device: Option<SiteId>,
        /// How many threads a block has.
        threads: u32,
    },
}

/// How a task touches a tensor parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Access {
    /// The tensor.
    pub param: ParamId,
    /// Reads it.
    pub read: bool,
    /// Writes it.
    pub write: bool,
    /// Combines into it atomically.
    pub atomic: bool,
}

impl TaskKind {
    /// The dimensions of the loop, or of the grid of blocks; none of a serial task.
    #[must_use]
    pub fn dims(&self) -> Option<&[LoopDim]> {
        match self {
            Self::Serial => None,
            Self::RangeFor { dims, .. } | Self::BlockFor { dims, .. } => Some(dims),
        }
    }

    /// Where bounds that only the device knows are reported from.
    #[must_use]
    pub const fn on_device(&self) -> Option<SiteId> {
        match self {
            Self::Serial => None,
            Self::RangeFor { on_device, .. } | Self::BlockFor { on_device, .. } => *on_device,
        }
    }

    /// Whether it is a loop whose bounds only the device knows.
    #[must_use]
    pub const fn is_bounded_on_device(&self) -> bool {
        self.on_device().is_some()
    }

    /// How many threads each block has, where the task is one of blocks.
    #[must_use]
    pub const fn threads(&self) -> Option<u32> {
        match self {
            Self::BlockFor { threads, .. } => Some(*threads),
            _ => None,
        }
    }
}

impl Offloaded {
    /// The name of a task's device function: the kernel's name and the task's number.
    #[must_use]
    pub fn function_name(&self, task: TaskId) -> String {
        format!("{}_{}", self.name, task.raw())
    }

    /// All tasks with their ids.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.tasks.iter().enumerate().map(|(i, task)| (TaskId::new(i as u32), task))
    }

    /// Whether a launch needs scratch memory: temporaries or a result.
    #[must_use]
    pub fn needs_scratch(&self) -> bool {
        !self.temps.is_empty() || self.result.is_some()
    }
}
