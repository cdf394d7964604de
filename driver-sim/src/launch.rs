//! Modules, functions and launches. An image is a serialized kernel; the interpreter runs it.

use std::{
    borrow::Cow,
    fmt,
    mem::offset_of,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use quadrants_ir::{
    Offloaded, Param, ParamAccess, ParamId, ParamKind, SimImage, Task, TaskId,
    abi::{ArgLayout, ERROR_WORD, ErrorRecord, MessageBuffer, Passing, block_words},
    interp::{self, Interpreter},
    launch_analysis::LaunchAnalysis,
};
use smallvec::{SmallVec, smallvec};

use crate::{
    memory::{AccessError, Memory},
    random::Random,
};

/// A module. Launches keep its image alive, so that a launch after the unload is detected.
#[derive(Debug)]
pub(crate) struct Module {
    loaded: Arc<LoadedImage>,
}

/// What a module has loaded.
pub(crate) struct LoadedImage {
    image: SimImage,
    interpreter: Interpreter,
    /// For the size of dynamic shared arrays, if there are any.
    analysis: Option<LaunchAnalysis>,
    unloaded: AtomicBool,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    loaded: Arc<LoadedImage>,
    name: Arc<str>,
    task: TaskId,
    /// The number of words of the parameter.
    pub(crate) words: usize,
    /// The most shared memory of a launch.
    pub(crate) max_shared: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchShape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared_bytes: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct KernelLaunch {
    function: Function,
    args: SmallVec<[u64; 16]>,
    threads: u64,
    shared_bytes: u32,
}

/// The reason why an operation failed.
#[derive(Debug)]
pub(crate) enum ExecutionError {
    Access(AccessError),
    /// A launch did not terminate.
    Endless,
    /// The module of a launch was unloaded.
    Unloaded,
    /// A launch has less shared memory than its arrays need.
    SharedMemory {
        needed: u64,
    },
    /// An element has another alignment than vector loads and stores of the code need.
    Misaligned {
        address: u64,
        alignment: usize,
    },
}

/// The limits of the simulated device.
pub(crate) const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
pub(crate) const MAX_THREADS: u32 = 1024;
/// The threads that a multiprocessor runs at once.
pub(crate) const RESIDENT_THREADS: u32 = 2048;
pub(crate) const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Without and with [`cuFuncSetAttribute`](crate::functions::module::cuFuncSetAttribute).
pub(crate) const MAX_SHARED: u32 = 48 << 10;
pub(crate) const MAX_SHARED_OPTIN: u32 = 227 << 10;
/// Of an AMD GPU.
pub(crate) const MAX_SHARED_HIP: u32 = 64 << 10;

impl Module {
    /// A module of a decoded image. `fuel` limits the iterations and inner loop rounds of a launch.
    pub(crate) fn new(image: SimImage, fuel: u64) -> Self {
        let interpreter = Interpreter::new(&image.kernel).with_fuel(fuel);
        let kernel = &image.kernel;
        let is_dynamic = kernel.tasks.iter().any(|task| !kernel.dynamic_arrays(task).is_empty());
        let analysis = is_dynamic.then(|| LaunchAnalysis::new(kernel));
        let unloaded = AtomicBool::new(false);
        Self { loaded: Arc::new(LoadedImage { interpreter, image, analysis, unloaded }) }
    }

    pub(crate) fn unload(&self) {
        self.loaded.unloaded.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has(&self, function: &Function) -> bool {
        Arc::ptr_eq(&function.loaded, &self.loaded)
    }

    pub(crate) fn function(&self, name: &str, max_shared: u32) -> Option<Function> {
        let SimImage { kernel, forms, passing } = &self.loaded.image;
        let (task, _) = kernel.tasks().find(|(task, _)| kernel.function_name(*task) == name)?;
        let words = match passing {
            Passing::Value => block_words(kernel, *forms),
            Passing::Buffer => 1,
        };
        let (loaded, name) = (Arc::clone(&self.loaded), name.into());
        Some(Function { loaded, name, task, words, max_shared })
    }
}

impl LoadedImage {
    /// The address and the expected alignment of a tensor that the task accesses, whose elements are not aligned as the
    /// code of these forms assumes.
    fn misaligned(&self, task: TaskId, args: &[u64]) -> Option<(u64, usize)> {
        let SimImage { kernel, forms, .. } = &self.image;
        if forms.has_planes() {
            return None;
        }
        let layout = ArgLayout::new(&kernel.params);
        let accesses = &kernel.tasks[task.index()].accesses;
        accesses.iter().find_map(|access| {
            let param = &kernel.params[access.param.index()];
            let (alignment, first) = (param.component_alignment()?, layout.word(access.param));
            let extents = args.get(first + 1..)?.get(..usize::from(param.kind.rank()))?;
            let address = *args.get(first)?;
            let is_aligned = address.is_multiple_of(alignment as u64);
            (!is_aligned && !extents.contains(&0)).then_some((address, alignment))
        })
    }
}

impl Function {
    pub(crate) fn launch(&self, shape: &LaunchShape, args: &[u64]) -> Option<KernelLaunch> {
        let LaunchShape { grid, block, shared_bytes } = shape;
        let within = |sizes: &[u32; 3], most: &[u32; 3]| {
            sizes.iter().zip(most).all(|(size, most)| (1..=*most).contains(size))
        };
        let block_threads: u64 = block.iter().map(|&size| u64::from(size)).product();
        let possible = within(grid, &MAX_GRID)
            && within(block, &MAX_BLOCK)
            && block_threads <= u64::from(MAX_THREADS)
            && (*shared_bytes == 0
                || self.fixed_shared_bytes() + u64::from(*shared_bytes)
                    <= u64::from(self.max_shared));
        let blocks = grid.iter().map(|&size| u64::from(size)).fold(1, u64::saturating_mul);
        possible.then(|| KernelLaunch {
            function: self.clone(),
            args: args.into(),
            threads: blocks.saturating_mul(block_threads),
            shared_bytes: *shared_bytes,
        })
    }

    /// The size of the shared arrays of the code.
    pub(crate) fn fixed_shared_bytes(&self) -> u64 {
        let kernel = &self.loaded.image.kernel;
        kernel.fixed_shared_bytes(&kernel.tasks[self.task.index()])
    }
}

impl KernelLaunch {
    /// Runs the task. Iterations run in order, or with `random` in shuffled ranges, because their order is not defined.
    pub(crate) fn run(
        &self,
        memory: &mut Memory,
        random: Option<&mut Random>,
    ) -> Result<(), ExecutionError> {
        let loaded = &self.function.loaded;
        if loaded.unloaded.load(Ordering::Relaxed) {
            return Err(ExecutionError::Unloaded);
        }
        let buffer;
        let args = match loaded.image.passing {
            Passing::Value => &self.args[..],
            Passing::Buffer => {
                buffer = self.read_block(memory)?;
                &buffer
            }
        };
        let task = self.function.task;
        let form = loaded.image.forms.of(task);
        if let Some(analysis) = &loaded.analysis
            && let Some(shared) = analysis.shared_bytes(task, args)
            && shared.dynamic > u64::from(self.shared_bytes)
        {
            return Err(ExecutionError::SharedMemory { needed: shared.dynamic });
        }
        if let Some((address, alignment)) = loaded.misaligned(task, args) {
            return Err(ExecutionError::Misaligned { address, alignment });
        }
        memory.set_atomic(|| atomic_ranges(&loaded.image.kernel, task, args));
        if loaded.image.kernel.prints() {
            add_message_ranges(memory, args);
        }
        let mut view = InterpreterMemory { memory, error: None };
        let pieces = match random {
            Some(random) => match loaded.interpreter.extents(task, args, &mut view) {
                Ok(extents) => random.pieces(extents.iterations()),
                Err(_) => {
                    return Err(view.error.map_or(ExecutionError::Endless, ExecutionError::Access));
                }
            },
            None => smallvec![0..u64::MAX],
        };
        for piece in pieces {
            let outcome = loaded.interpreter.run_range(task, form, args, &mut view, piece);
            match (outcome, view.error) {
                (Ok(()), _) => {}
                (Err(_), Some(error)) => return Err(ExecutionError::Access(error)),
                (Err(_), None) => return Err(ExecutionError::Endless),
            }
        }
        Ok(())
    }

    pub(crate) fn task(&self) -> (&Offloaded, &Task) {
        let kernel = &self.function.loaded.image.kernel;
        (kernel, &kernel.tasks[self.function.task.index()])
    }

    /// The current argument block, if it is readable.
    pub(crate) fn peek_args(&self, memory: &Memory) -> Option<Cow<'_, [u64]>> {
        let loaded = &self.function.loaded;
        if loaded.image.passing == Passing::Value {
            return Some(Cow::Borrowed(&self.args));
        }
        let bytes = 8 * block_words(&loaded.image.kernel, loaded.image.forms);
        let bytes = memory.peek(*self.args.first()?, bytes)?;
        let words = bytes.as_chunks::<8>().0;
        Some(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    /// Reads the argument block at the parameter's address.
    fn read_block(&self, memory: &mut Memory) -> Result<Vec<u64>, AccessError> {
        let image = &self.function.loaded.image;
        let words = block_words(&image.kernel, image.forms);
        let mut bytes = vec![0; 8 * words];
        memory.read(word(&self.args, 0), &mut bytes)?;
        let words = bytes.as_chunks::<8>().0;
        Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.function.name
    }

    /// The duration in the simulated device's clock, in nanoseconds.
    pub(crate) fn cost(&self) -> u64 {
        5000 + self.threads.min(1 << 32) / 64
    }
}

/// The memory that a task accesses only atomically, so that concurrent tasks may access it too: tensors, and the error
/// record, whose protocol is safe.
fn atomic_ranges(kernel: &Offloaded, task: TaskId, args: &[u64]) -> Vec<Range<u64>> {
    let range = |start: u64, bytes: u64| start..start.saturating_add(bytes);
    let layout = ArgLayout::new(&kernel.params);
    let alone = |access: &&ParamAccess| access.atomic && !access.read && !access.write;
    let tensors = kernel.tasks[task.index()].accesses.iter().filter(alone);
    let mut ranges: Vec<Range<u64>> = tensors
        .flat_map(|access| element_ranges(kernel, &layout, access, args))
        .map(|(start, bytes)| range(start, bytes))
        .collect();
    ranges.push(range(word(args, ERROR_WORD), size_of::<ErrorRecord>() as u64));
    ranges
}

/// Adds the memory of messages, which is written by a protocol that is safe. Each address is read from memory that is
/// accessed atomically already. Nothing is added where there is no message buffer.
fn add_message_ranges(memory: &mut Memory, args: &[u64]) {
    let record = word(args, ERROR_WORD);
    let mut next = |at: u64, bytes: usize| {
        let address = memory.load(at, size_of::<u64>()).ok().filter(|address| *address != 0)?;
        memory.add_atomic(address..address + bytes as u64);
        Some(address)
    };
    if record != 0
        && let Some(buffer) =
            next(record + offset_of!(ErrorRecord, messages) as u64, MessageBuffer::BYTES)
    {
        next(buffer + offset_of!(MessageBuffer, counter) as u64, size_of::<u64>());
    }
}

/// The ranges of the elements of the tensor of an access: their addresses and sizes.
fn element_ranges(
    kernel: &Offloaded,
    layout: &ArgLayout,
    access: &ParamAccess,
    args: &[u64],
) -> Vec<(u64, u64)> {
    let Some((start, bytes)) = tensor_memory(kernel, layout, access, args) else {
        return Vec::new();
    };
    let &Param { kind, strided, .. } = &kernel.params[access.param.index()];
    let Some(elem) = kind.elem().filter(|_| strided && bytes > 0) else {
        return vec![(start, bytes)];
    };
    let mut ranges = vec![(start, elem.size() as u64)];
    for [extent, stride] in axes(layout, access.param, kind, args) {
        let step = stride.saturating_mul(elem.size() as u64);
        let along = |(at, bytes)| (0..extent).map(move |i| (at + i * step, bytes));
        ranges = ranges.into_iter().flat_map(along).collect();
    }
    ranges
}

/// The extent and the stride of each axis of a strided tensor.
fn axes(
    layout: &ArgLayout,
    tensor: ParamId,
    kind: ParamKind,
    args: &[u64],
) -> impl Iterator<Item = [u64; 2]> {
    let (extents, strides) = (layout.word(tensor) + 1, layout.element_strides(tensor, kind));
    (0..usize::from(kind.rank()))
        .map(move |axis| [extents, strides].map(|at| word(args, at + axis)))
}

/// The address of the tensor of an access, and the size from its first element to the end of its last.
pub(crate) fn tensor_memory(
    kernel: &Offloaded,
    layout: &ArgLayout,
    access: &ParamAccess,
    args: &[u64],
) -> Option<(u64, u64)> {
    let &Param { kind, strided, .. } = &kernel.params[access.param.index()];
    let ParamKind::Tensor { elem, rank, .. } = kind else { return None };
    if strided {
        let elements = axes(layout, access.param, kind, args).try_fold(1_u64, |all, axis| {
            let [extent, stride] = axis;
            Some(all.saturating_add(extent.checked_sub(1)?.saturating_mul(stride)))
        });
        let bytes = elements.unwrap_or(0).saturating_mul(elem.size() as u64);
        return Some((word(args, layout.word(access.param)), bytes));
    }
    let at = layout.word(access.param);
    let extents = (1..=usize::from(rank)).map(|axis| word(args, at + axis));
    Some((word(args, at), extents.fold(elem.size() as u64, u64::saturating_mul)))
}

/// A word of an argument block, 0 if the block is too short.
pub(crate) fn word(args: &[u64], at: usize) -> u64 {
    args.get(at).copied().unwrap_or(0)
}

/// The simulated memory as the interpreter's. It keeps the details that the interpreter's error type cannot represent.
struct InterpreterMemory<'a> {
    memory: &'a mut Memory,
    error: Option<AccessError>,
}

impl interp::Memory for InterpreterMemory<'_> {
    #[inline]
    fn load(&mut self, address: u64, bytes: usize) -> Result<u64, interp::ExecFault> {
        self.memory.load(address, bytes).map_err(|error| {
            self.error = Some(error);
            interp::ExecFault::Address { address, bytes, write: false }
        })
    }

    #[inline]
    fn store(&mut self, address: u64, bytes: usize, bits: u64) -> Result<(), interp::ExecFault> {
        self.memory.store(address, bytes, bits).map_err(|error| {
            self.error = Some(error);
            interp::ExecFault::Address { address, bytes, write: true }
        })
    }
}

impl fmt::Debug for LoadedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedImage")
            .field("kernel", &self.image.kernel.name)
            .finish_non_exhaustive()
    }
}

impl From<AccessError> for ExecutionError {
    fn from(error: AccessError) -> Self {
        Self::Access(error)
    }
}
