//! The schedule of a task: how it runs on a device, as data.

use serde::{Deserialize, Serialize};

use crate::{AtomicOp, BlockId, ExprId, ParamId, ScalarType, SiteId, TempId};

/// The form of a task: whether it checks indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Form {
    /// The launch has proven every access of the task in bounds; nothing is checked.
    Proven,
    /// Accesses are checked. An out-of-range read yields zero, an out-of-range write is dropped, and the error is
    /// recorded. Iterations in the [interior](crate::abi::interior_word) of their loop are proven and run without
    /// checks.
    Checked,
}

/// How a task runs on a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskSchedule {
    /// Whether accesses to tensors and shared arrays are checked.
    pub form: Form,
    /// Whether the loop has two bodies, one of which runs without checks in the loop's interior.
    pub interior: bool,
    /// Whether the loop also has a version for launches whose grid covers all iterations, without grid-stride loops.
    pub covered: bool,
    /// Whether indices have 32 bits where the bounds proof showed that they fit.
    pub narrow_indices: bool,
    /// Whether also the counters of all loops have 32 bits, and all values that the bounds proof examined.
    pub narrow_counters: bool,
    /// Whether the components of tensors of structs are [interleaved](crate::Param::interleaved_step), so that their
    /// strides are constants.
    pub interleaved: bool,
    /// The number of iterations that a thread executes together, if there are enough. At least 1. In a loop of one
    /// dimension they are strided by the number of threads. In other loops they are adjacent in the outermost
    /// dimension. If the accesses are checked, the iterations run without error reports first, and those in which an
    /// index was out of range run again before they have stored anything.
    pub coarsening: u32,
    /// The number of iterations before the first one of the innermost dimension that a thread skips. The loop begins
    /// that much earlier, at a multiple of [`ALIGNED_ITERATIONS`](crate::schedule::ALIGNED_ITERATIONS), so that the
    /// threads of a warp access whole cache lines.
    pub skipped: u32,
    /// A load of narrow elements, one per iteration, that a thread replaces by a vector load. The iterations of a
    /// thread are adjacent in this case.
    pub vector_load: Option<ExprId>,
    /// What the iterations combine into. Each thread combines its iterations first, then each thread block its
    /// threads; then there is one atomic operation per block.
    pub reductions: Vec<Reduction>,
    /// A tensor that the iterations combine values into. Each thread block has private copies of it.
    pub privatized: Option<Privatized>,
    /// The bodies of serial loops that run without reports first, and again with reports if an index was out of range.
    pub speculated: Vec<BlockId>,
    /// Whether iterations run without reports first, and again as written if an index was out of range, before they
    /// have stored anything. The second run is a function of its own, so that the first one needs fewer registers.
    pub speculative_iterations: bool,
    /// Whether a thread may use only the registers that iterations need which do not fail. Conditions keep loads from
    /// overlapping those of later iterations, so many threads have to hide their latency.
    pub few_registers: bool,
    /// The checked loads that share one branch: groups of loads of one block, in its order. If all indices of a group
    /// are in range, its loads run together at the position of the first; else each is checked by itself, there.
    pub joint_loads: Vec<Vec<ExprId>>,
    /// The grid.
    pub grid: GridPreference,
}

/// What the grid of a loop depends on, besides the number of iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GridPreference {
    /// Whether a grid that fills the device once is best, because each block has extra work at its end.
    pub resident_blocks_only: bool,
    /// Whether square two-dimensional blocks are best. Adjacent iterations of serial loops without a fixed trip count
    /// run about equally long in both dimensions, so that few threads wait for one.
    pub square_blocks: bool,
    /// Whether small blocks are best: of a kernel that needs many registers, more small blocks than large ones fit on a
    /// multiprocessor.
    pub small_blocks: bool,
}

/// A reduction: all iterations combine a value into one target, and the loop does not use it otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reduction {
    /// The element or local.
    pub target: ReductionTarget,
    /// The operation.
    pub op: AtomicOp,
    /// The type of the values.
    pub ty: ScalarType,
    /// The site that reports an index of the element that is out of range.
    pub site: Option<SiteId>,
}

/// What a loop reduces into.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ReductionTarget {
    /// An element of a tensor, with a constant for each index.
    Element(ParamId, Vec<ExprId>),
    /// A temporary of the launch.
    Temp(TempId),
}

/// A tensor of one dimension with private copies.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Privatized {
    /// The tensor.
    pub tensor: ParamId,
    /// The operation.
    pub op: AtomicOp,
    /// The type of the elements.
    pub ty: ScalarType,
}

impl Default for TaskSchedule {
    fn default() -> Self {
        Self {
            form: Form::Checked,
            interior: false,
            covered: false,
            narrow_indices: false,
            narrow_counters: false,
            interleaved: false,
            coarsening: 1,
            skipped: 0,
            vector_load: None,
            reductions: Vec::new(),
            privatized: None,
            speculated: Vec::new(),
            speculative_iterations: false,
            few_registers: false,
            joint_loads: Vec::new(),
            grid: GridPreference::default(),
        }
    }
}
