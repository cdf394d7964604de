//! The memory layout of a launch's arguments, temporaries, result and device error. Launcher, generated code, CPU
//! bodies and the simulator all follow it.
//!
//! The argument block is a list of 8-byte little-endian words. All tasks of a kernel use the same block:
//!
//! | word | content |
//! |---|---|
//! | 0 | address of the launch's [error record](ErrorRecord) |
//! | 1 | address of the temporaries, or 0. Its word `i` is temporary `i`; the word after the last temporary is the
//! result |
//! | 2 | the number of the launch, for the error record |
//! | 3 … | the parameters in order. A tensor: its address, then its extents. A scalar: its value in the low bytes of
//! its word |
//!
//! Each component of a tensor of aggregates is a parameter of its own. Its words are: the address, the extents of the
//! tensor, the number of scalars per element if it is more than one, and two strides in scalars. The *step* is the
//! distance between elements, the *plane* the distance between the scalars of one element.
//!
//! A tensor whose elements are not in row-major order is passed to a [strided](Param::strided) parameter, after whose
//! other words follow its strides: for each axis, the distance between neighbours along it, in elements. The distance
//! of an element from the first is the sum of its indices, each times its stride.
//!
//! If a launch checks the accesses of any task, the [interiors](interior_word) of the kernel's loops follow.
//!
//! A kernel receives the block by value, or with [`Passing::Buffer`] its address.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::task_schedule::Form;
use crate::{Offloaded, Param, ParamId, ParamKind, Task, TaskId, TaskKind, TempId};

/// The word with the address of the error record.
pub const ERROR_WORD: usize = 0;
/// The word with the address of the temporaries.
pub const TEMPORARIES_WORD: usize = 1;
/// The word with the number of the launch.
pub const LAUNCH_WORD: usize = 2;
/// The first word of the first parameter.
pub const FIRST_PARAM_WORD: usize = 3;

/// The maximum number of dimensions of a tensor.
pub const MAX_RANK: usize = 6;

/// The maximum number of threads per block, on every device.
pub const MAX_BLOCK_SIZE: u32 = 1024;

/// The number of threads of a block of a range loop, unless its author or its schedule says otherwise.
pub const DEFAULT_BLOCK_SIZE: u32 = 256;

/// The most threads of a block of a range loop whose author sets no block size.
pub const MAX_CHOSEN_BLOCK_SIZE: u32 = 512;

/// The most threads of a block in any launch of a scheduled task.
#[must_use]
pub fn max_block_size(task: &Task) -> u32 {
    match task.kind {
        TaskKind::Serial => 1,
        TaskKind::BlockFor { threads, .. } => threads,
        TaskKind::RangeFor { block_size: Some(size), .. } => size,
        TaskKind::RangeFor { .. } if task.schedule.has_free_grid() => MAX_CHOSEN_BLOCK_SIZE,
        TaskKind::RangeFor { .. } => DEFAULT_BLOCK_SIZE,
    }
}

/// The maximum size in bytes of a block's shared arrays of constant length. Arrays whose length the launch computes are
/// limited by the device.
pub const MAX_SHARED_BYTES: u64 = 48 << 10;

/// The maximum size of the local arrays of a task in bytes per thread, on GPUs. An AMD GPU has 128 KiB of local memory
/// per thread, a part of which the compiler may use for other values.
pub const MAX_LOCAL_BYTES: u64 = 64 << 10;

/// The maximum absolute value of the bounds of a parallel loop. A larger bound has usually wrapped, as in `0..n - 1`
/// with `n == 0`. If the host can evaluate the bounds, the launch fails. If only the device can, the kernel reports an
/// error and the loop does not run.
pub const MAX_BOUND: i128 = 1 << 48;

/// How a device function receives the argument block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Passing {
    /// By value, in the driver's parameter space.
    Value,
    /// As the device address of the block: the only parameter is that address.
    Buffer,
}

/// The forms of a kernel's tasks: the set of those in the [checked form](Form::Checked), whether the other tasks have
/// 32-bit index arithmetic, whether all tasks take the strides of components from the launch, and the most iterations
/// that a thread executes together. The set has a bit for each of the first 57 tasks; the other tasks share the last
/// bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Forms(u64);

impl Forms {
    /// All tasks in the proven form, with 64-bit index arithmetic.
    pub const PROVEN: Self = Self(0);
    /// All tasks in the proven form, with 32-bit index arithmetic. Most launches have these forms.
    pub const NARROW: Self = Self(1);
    /// All tasks in the checked form, with the strides of components from the launch: what every launch can use.
    pub const CHECKED: Self = Self(Self::ALL_CHECKED | Self::PLANES);

    const TASK_BITS: u32 = 58;
    const ALL_CHECKED: u64 = ((1 << Self::TASK_BITS) - 1) << 1;
    const PLANES: u64 = 1 << (Self::TASK_BITS + 1);
    /// The first of two bits.
    const COARSENING_SHIFT: u32 = Self::TASK_BITS + 2;
    const COARSENING: u64 = 3 << Self::COARSENING_SHIFT;
    /// The number of [bits](Self::bits).
    pub const BITS: u32 = Self::COARSENING_SHIFT + 2;

    const fn bit(task: TaskId) -> u64 {
        let last = Self::TASK_BITS - 1;
        2 << if task.raw() < last { task.raw() } else { last }
    }

    /// The form of a task.
    #[must_use]
    pub const fn of(self, task: TaskId) -> Form {
        if self.0 & Self::bit(task) == 0 { Form::Proven } else { Form::Checked }
    }

    /// The same forms, with this task in the checked form.
    #[must_use]
    pub const fn with_checked(self, task: TaskId) -> Self {
        Self(self.0 | Self::bit(task))
    }

    /// The same forms, with 32-bit index arithmetic in the proven tasks: the launch has proven that every index and
    /// every value that it is computed from fit into 32 bits, and also the number of elements of each tensor.
    #[must_use]
    pub const fn with_narrow_indices(self) -> Self {
        if self.is_checked() { self } else { Self(self.0 | Self::NARROW.0) }
    }

    /// The same forms, with tasks that take the strides of all components from the launch: a tensor of structs may be a
    /// struct of arrays. Without this, components are [interleaved](crate::Param::interleaved_step), and the elements
    /// of tensors that are not strided are [aligned](crate::Param::component_alignment).
    #[must_use]
    pub const fn with_planes(self) -> Self {
        Self(self.0 | Self::PLANES)
    }

    /// The same forms, with interleaved components.
    #[must_use]
    pub const fn without_planes(self) -> Self {
        Self(self.0 & !Self::PLANES)
    }

    /// Whether the tasks take the strides of components from the launch.
    #[must_use]
    pub const fn has_planes(self) -> bool {
        self.0 & Self::PLANES != 0
    }

    /// The same forms, with this limit for the iterations that a thread executes together. It has no effect where all
    /// tasks are checked.
    #[must_use]
    pub const fn with_coarsening(self, coarsening: CoarseningLimit) -> Self {
        if self.is_checked() {
            return self;
        }
        Self(self.0 & !Self::COARSENING | (coarsening as u64) << Self::COARSENING_SHIFT)
    }

    /// The limit for the iterations that a thread executes together.
    #[must_use]
    pub const fn coarsening(self) -> CoarseningLimit {
        match self.0 >> Self::COARSENING_SHIFT & 3 {
            0 => CoarseningLimit::Scheduled,
            1 => CoarseningLimit::Single,
            _ => CoarseningLimit::Double,
        }
    }

    /// Whether the proven tasks have 32-bit index arithmetic.
    #[must_use]
    pub const fn has_narrow_indices(self) -> bool {
        self.0 & Self::NARROW.0 != 0
    }

    /// Whether all tasks have the proven form.
    #[must_use]
    pub const fn is_proven(self) -> bool {
        self.0 & Self::ALL_CHECKED == 0
    }

    /// Whether all tasks have the checked form.
    #[must_use]
    pub const fn is_checked(self) -> bool {
        self.0 & Self::ALL_CHECKED == Self::ALL_CHECKED
    }

    /// Whether some tasks have one form and others the other.
    #[must_use]
    pub const fn is_mixed(self) -> bool {
        !self.is_proven() && !self.is_checked()
    }

    /// The forms as a number below 2^62.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The forms with these [bits](Self::bits).
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// The most iterations that a thread executes together: what [autotuning](crate::schedule) varies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub enum CoarseningLimit {
    /// As many as the schedule says.
    #[default]
    Scheduled = 0,
    /// One.
    Single = 1,
    /// Two.
    Double = 2,
}

impl CoarseningLimit {
    /// The number of iterations where the schedule says `scheduled`.
    #[must_use]
    pub const fn limit(self, scheduled: u32) -> u32 {
        match self {
            Self::Double if scheduled > 2 => 2,
            Self::Single => 1,
            _ => scheduled,
        }
    }
}

impl From<Form> for Forms {
    /// All tasks in one form.
    fn from(form: Form) -> Self {
        match form {
            Form::Proven => Self::PROVEN,
            Form::Checked => Self::CHECKED,
        }
    }
}

impl fmt::Debug for Forms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `proven`, `checked`, or the numbers of the checked tasks: `checked-1-3`. Then `-planes` if the tasks take the
/// strides of components from the launch (`-interleaved` if not, where all tasks are checked), `-wide` if the indices
/// of the proven tasks have 64 bits, and `-single` or `-double` if a thread executes at most one or two iterations
/// together.
impl fmt::Display for Forms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_proven() { "proven" } else { "checked" })?;
        if self.is_mixed() {
            for at in (0..Self::TASK_BITS).filter(|at| self.0 >> at & 2 != 0) {
                write!(f, "-{at}")?;
            }
        }
        let is_wide = !self.has_narrow_indices() && !self.is_checked();
        f.write_str(match (self.is_checked(), self.has_planes()) {
            (true, false) => "-interleaved",
            (false, true) => "-planes",
            _ => "",
        })?;
        f.write_str(if is_wide { "-wide" } else { "" })?;
        f.write_str(match self.coarsening() {
            CoarseningLimit::Scheduled => "",
            CoarseningLimit::Single => "-single",
            CoarseningLimit::Double => "-double",
        })
    }
}

/// The first word of a loop's interior in the argument block of a launch that checks any task. The interior is the
/// box of iterations that the launch has proven. Each dimension, outermost first, has two words: the first value of the
/// loop variable, and one past the last, both in 64-bit two's complement.
#[must_use]
pub fn interior_word(kernel: &Offloaded, task: TaskId) -> usize {
    let before = kernel.tasks.iter().take(task.index()).map(|task| interior_words(&task.kind));
    ArgLayout::new(&kernel.params).len() + before.sum::<usize>()
}

/// The number of words of a task's interior; 0 if the task is not a range loop.
#[must_use]
pub fn interior_words(kind: &TaskKind) -> usize {
    match kind {
        TaskKind::RangeFor { dims, .. } => 2 * dims.len(),
        TaskKind::Serial | TaskKind::BlockFor { .. } => 0,
    }
}

/// The number of words of the argument block in these forms.
#[must_use]
pub fn block_words(kernel: &Offloaded, forms: impl Into<Forms>) -> usize {
    match forms.into().is_proven() {
        true => ArgLayout::new(&kernel.params).len(),
        false => interior_word(kernel, TaskId::new(kernel.tasks.len() as u32)),
    }
}

/// The position of each parameter in the argument block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgLayout {
    words: Vec<usize>,
    len: usize,
}

impl ArgLayout {
    /// The layout of the argument block for `params`.
    #[must_use]
    pub fn new(params: &[Param]) -> Self {
        let mut len = FIRST_PARAM_WORD;
        let words = params
            .iter()
            .map(|param| {
                let at = len;
                len += match param.kind {
                    ParamKind::Scalar(_) => 1,
                    ParamKind::Tensor { .. } => 1 + param.kind.indices() + param.strides(),
                    ParamKind::Component { .. } => 3 + param.kind.indices() + param.strides(),
                };
                at
            })
            .collect();
        Self { words, len }
    }

    /// The first word of a parameter.
    #[must_use]
    pub fn word(&self, param: ParamId) -> usize {
        self.words[param.index()]
    }

    /// The words of the step and plane of a component.
    #[must_use]
    pub fn strides(&self, param: ParamId, kind: ParamKind) -> [usize; 2] {
        let step = self.word(param) + 1 + kind.indices();
        [step, step + 1]
    }

    /// The word of the first stride of a [strided](Param::strided) parameter. The others follow it.
    #[must_use]
    pub fn element_strides(&self, param: ParamId, kind: ParamKind) -> usize {
        let component = matches!(kind, ParamKind::Component { .. });
        self.word(param) + 1 + kind.indices() + if component { 2 } else { 0 }
    }

    /// The length of the block in words, up to its last parameter. Interiors are not included.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // it is never empty
    pub fn len(&self) -> usize {
        self.len
    }
}

/// The word of a temporary.
#[must_use]
pub fn temp_word(temp: TempId) -> usize {
    temp.index()
}

/// The word of the first scalar of the result, after the temporaries. The others follow it.
#[must_use]
pub fn result_word(kernel: &Offloaded) -> usize {
    kernel.temps.len()
}

/// The size of the temporaries of a launch with its result, in bytes.
#[must_use]
pub fn temporary_bytes(kernel: &Offloaded) -> usize {
    8 * (kernel.temps.len() + kernel.results.len())
}

/// A device error in pinned memory, as written by device code. Only the first error is recorded.
///
/// Devices may be unable to access host memory atomically, so threads decide in device memory which of them reports. If
/// `state` is [`EMPTY`](Self::EMPTY), a thread atomically exchanges the word at `claim` with the number of its launch.
/// If the old value is another launch's number, the thread writes the fields, issues a system-wide fence, and sets
/// `state` to [`FULL`](Self::FULL). Launches that share a record run one after another, so at most one thread per
/// launch wins. A CPU body claims the record by `state` itself, which goes from `EMPTY` to [`CLAIMED`](Self::CLAIMED)
/// to `FULL`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ErrorRecord {
    /// [`EMPTY`](Self::EMPTY), [`CLAIMED`](Self::CLAIMED) or [`FULL`](Self::FULL).
    pub state: u32,
    /// The id of the site.
    pub site: u32,
    /// The number of the launch, from [`LAUNCH_WORD`].
    pub launch: u64,
    /// The id of the task.
    pub task: u32,
    /// The number of valid entries of `values`.
    pub count: u32,
    /// The error values defined by the site's kind. For an index error: the index, then the shape.
    pub values: [u64; ErrorRecord::VALUES],
    /// The address of a word in device memory with the number of the last launch that reported. Set by the host.
    pub claim: u64,
    /// The address of the [`MessageBuffer`], or 0. Set by the host before the first launch that prints.
    pub messages: u64,
}

/// The head of the pinned memory in which kernels of one stream leave messages. The [messages](Message) follow it.
///
/// A thread that prints atomically increments the word at `counter`; the old value is its message's number. Message
/// `n` is in slot `n % MESSAGES`. If `n - printed` is `MESSAGES` or more, the slot may hold a message that the host has
/// not read yet, so the new one is dropped. Else the thread writes the fields, issues a system-wide fence, and stores
/// `n + 1` as the message's first word. The host reads the counter in the order of the stream: every smaller number
/// is that of a message which is complete or dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct MessageBuffer {
    /// The address of the counter, in device memory. Set by the host.
    pub counter: u64,
    /// The number of messages that the host has read or counted as dropped. Set by the host.
    pub printed: u64,
}

impl MessageBuffer {
    /// The number of messages that a stream holds between two waits.
    pub const MESSAGES: usize = 1024;

    /// The size with all messages, in bytes.
    pub const BYTES: usize = size_of::<Self>() + Self::MESSAGES * size_of::<Message>();

    /// The offset of a message, by its number.
    #[must_use]
    pub const fn message_offset(number: u64) -> usize {
        let slot = (number % Self::MESSAGES as u64) as usize;
        size_of::<Self>() + slot * size_of::<Message>()
    }
}

/// A message in a [`MessageBuffer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Message {
    /// The message's number plus one.
    pub number: u64,
    /// The number of the launch, from [`LAUNCH_WORD`].
    pub launch: u64,
    /// The id of the site.
    pub site: u64,
    /// For the thread that writes the message.
    pub next: u64,
    /// The values of the site.
    pub values: [u64; MESSAGE_VALUES],
}

/// The maximum number of values of an assertion. A CPU body needs the others for the source location.
pub const ASSERT_VALUES: usize = ErrorRecord::VALUES - 2;

/// The maximum number of values of a message, with those of the iteration.
pub const MESSAGE_VALUES: usize = 28;

impl ErrorRecord {
    /// The capacity of `values`: an index, a shape, and two more.
    pub const VALUES: usize = 2 * MAX_RANK + 2;
    /// No error is recorded.
    pub const EMPTY: u32 = 0;
    /// A thread is writing the record.
    pub const CLAIMED: u32 = 1;
    /// The record is complete.
    pub const FULL: u32 = 2;
    /// Not the number of any launch: the initial value of the word at `claim`.
    pub const NO_LAUNCH: u64 = u64::MAX;
}
