//! How a launch's arguments, temporaries, result and device error lie in memory: the agreement
//! between launcher, generated code, CPU bodies and the simulator.
//!
//! The argument block is a list of 8-byte little-endian words, the same for every task of a kernel:
//!
//! | word | what |
//! |---|---|
//! | 0 | address of the launch's [error record](ErrorRecord) |
//! | 1 | address of the scratch memory, or 0: word `i` is temporary `i`, the word after the last temporary is the result |
//! | 2 | the launch's number, for the error record |
//! | 3 … | the parameters in order: a tensor's address and then its extents; a scalar's value in the low bytes of its word |
//!
//! Of a tensor of structs or other aggregates each component is a parameter: its address, the tensor's
//! extents, how many scalars an element has of it where that is more than one, and the distance in scalars
//! from one element to the next, its step, and from one scalar of an element to the next, its plane.
//!
//! In the [checked form](Form::Checked) the block goes on with the [interiors](inside_word) of the
//! kernel's loops.
//!
//! A kernel takes the block by value, or where [`Passing::Buffer`] is chosen the address of one.

use serde::{Deserialize, Serialize};

use crate::{Offloaded, Param, ParamId, ParamKind, TaskId, TaskKind, TempId};

/// The word of the error record's address.
pub const ERROR_WORD: usize = 0;
/// The word of the scratch memory's address.
pub const SCRATCH_WORD: usize = 1;
/// The word of the launch's number.
pub const LAUNCH_WORD: usize = 2;
/// The word of the first parameter.
pub const FIRST_PARAM_WORD: usize = 3;

/// A tensor has at most this many dimensions.
pub const MAX_RANK: usize = 6;

/// A block has at most this many threads, on every device.
pub const MAX_BLOCK_SIZE: u32 = 1024;

/// The arrays that the threads of a block share have at most this many bytes, on every device.
pub const MAX_SHARED_BYTES: u64 = 48 << 10;

/// The bounds of a parallel loop are at most this far from zero. Mostly what is beyond has wrapped, as `0..n - 1` does
/// where `n` is 0. A launch that knows the bounds is refused; bounds that only the device knows are an error of the
/// kernel, and the loop runs nothing.
pub const MAX_BOUND: i128 = 1 << 48;

/// How a task's function gets the argument block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Passing {
    /// By value, in the driver's parameter space.
    Value,
    /// As the device address of the block: the only parameter is one word.
    Buffer,
}

/// Whether a body checks its indices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Form {
    /// The launch has proven every access; nothing is checked.
    Proven,
    /// Accesses are checked: a read out of range gives zero, a write is dropped, and the error is
    /// recorded. Iterations in the [interior](inside_word) of their loop are proven, and not checked.
    Checked,
}

/// The word of a loop's interior in the block of the [checked form](Form::Checked): the iterations that
/// the launch has proven. Per dimension, outermost first, two words say from which value of the loop
/// variable to before which; a negative number is there as it is in 64 bits.
#[must_use]
pub fn inside_word(kernel: &Offloaded, task: TaskId) -> usize {
    let before = kernel.tasks.iter().take(task.index()).map(|task| inside_words(&task.kind));
    ArgLayout::new(&kernel.params).len() + before.sum::<usize>()
}

/// How many words the interior of a task takes: none of one that is no loop.
#[must_use]
pub fn inside_words(kind: &TaskKind) -> usize {
    match kind {
        TaskKind::RangeFor { dims, .. } => 2 * dims.len(),
        TaskKind::Serial | TaskKind::BlockFor { .. } => 0,
    }
}

/// How many words the argument block of a form has.
#[must_use]
pub fn block_words(kernel: &Offloaded, form: Form) -> usize {
    match form {
        Form::Proven => ArgLayout::new(&kernel.params).len(),
        Form::Checked => inside_word(kernel, TaskId::new(kernel.tasks.len() as u32)),
    }
}

/// Where each parameter lies in the argument block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgLayout {
    words: Vec<usize>,
    len: usize,
}

impl ArgLayout {
    /// The layout for `params`.
    #[must_use]
    pub fn new(params: &[Param]) -> Self {
        let mut len = FIRST_PARAM_WORD;
        let words = params
            .iter()
            .map(|param| {
                let at = len;
                len += match param.kind {
                    ParamKind::Scalar(_) => 1,
                    ParamKind::Tensor { .. } => 1 + param.kind.indices(),
                    ParamKind::Component { .. } => 3 + param.kind.indices(),
                };
                at
            })
            .collect();
        Self { words, len }
    }

    /// The word at which a parameter starts.
    #[must_use]
    pub fn word(&self, param: ParamId) -> usize {
        self.words[param.index()]
    }

    /// The words of a component's step and plane.
    #[must_use]
    pub fn strides(&self, param: ParamId, kind: ParamKind) -> [usize; 2] {
        let step = self.word(param) + 1 + kind.indices();
        [step, step + 1]
    }

    /// The length of the block in words, up to its last parameter.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the block is empty, which it never is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The scratch word of a temporary.
#[must_use]
pub fn temp_word(temp: TempId) -> usize {
    temp.index()
}

/// The scratch word of the result.
#[must_use]
pub fn result_word(kernel: &Offloaded) -> usize {
    kernel.temps.len()
}

/// Bytes of scratch memory that a launch needs.
#[must_use]
pub fn scratch_bytes(kernel: &Offloaded) -> usize {
    8 * (kernel.temps.len() + usize::from(kernel.result.is_some()))
}

/// A device error, as device code writes it to pinned memory. The first one wins.
///
/// A device may be unable to change memory of the host atomically. So its threads decide who reports in
/// memory of their own: where `state` is [`EMPTY`](Self::EMPTY), they exchange the word at `claim` for
/// their launch's number, and the one that finds another launch's number writes the fields, fences
/// system-wide, and sets `state` to [`FULL`](Self::FULL). Launches that share a record run one after
/// another, so that one thread of each wins at most. A CPU body claims by `state` itself, which then goes
/// from `EMPTY` to [`CLAIMED`](Self::CLAIMED) to `FULL`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ErrorRecord {
    /// [`EMPTY`](Self::EMPTY), [`CLAIMED`](Self::CLAIMED) or [`FULL`](Self::FULL).
    pub state: u32,
    /// The number of the site.
    pub site: u32,
    /// The launch's number, from [`LAUNCH_WORD`].
    pub launch: u64,
    /// The number of the task.
    pub task: u32,
    /// How many of `values` are set.
    pub count: u32,
    /// What the site's kind says: for an index error the index, then the shape.
    pub values: [u64; ErrorRecord::VALUES],
    /// The address of a word in device memory, of the launch that reported last; set by the host.
    pub claim: u64,
}

impl ErrorRecord {
    /// How many values there is room for: an index and a shape, and two more.
    pub const VALUES: usize = 2 * MAX_RANK + 2;
    /// Nothing recorded.
    pub const EMPTY: u32 = 0;
    /// Being written.
    pub const CLAIMED: u32 = 1;
    /// Complete.
    pub const FULL: u32 = 2;
    /// No launch's number: what the word at `claim` holds first.
    pub const NO_LAUNCH: u64 = u64::MAX;
}
