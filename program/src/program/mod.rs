//! Programs: a device with its default stream, its kernels, and what all parts of a program share.

pub(crate) mod export;
mod profile;
mod trace;

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
};

use parking_lot::Mutex;
use quadrants_codegen::Compiler;
use quadrants_rhi::{
    Capabilities, Device, DeviceInfo, EventOptions, StreamHandle, StreamOptions, environment,
};
use quadrants_runtime::{CacheStatistics, Context, PoolStatistics, Stream as RtStream};

use crate::{
    Error, Event, ExportedKernels, Hazard, Hazards, KernelOutput, Layout, Program,
    RegionStatistics, Result, Stream, StreamManager, Tensor,
    hazards::tracker::Tracker,
    kernel::loader::KernelLoader,
    kernel_cache::{KernelCache, cache_folder},
    launcher::{
        KernelLauncher, error_record::RecordPool, operation_names::OperationNames,
        region_graph::Graphs,
    },
    output::Printer,
    profile::Profiler,
    program_registry,
    state::{ProgramInner, ProgramShared, StreamState, host_exclusion::HostExclusion},
    thread_state::capture::refuse,
    variables::{AUTOTUNE_VARIABLE, GRAPHS_VARIABLE},
};

/// What [`Program::open`] takes: opens a device, and a compiler for it.
pub trait Backend {
    /// Opens the device.
    ///
    /// # Errors
    /// Why the device cannot be opened.
    fn open(&self) -> Result<Opened>;
}

/// An opened device with its compiler.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The device.
    pub device: Arc<dyn Device>,
    /// The compiler of its images; none where the device runs native functions.
    pub compiler: Option<Arc<dyn Compiler>>,
}

impl Backend for Opened {
    fn open(&self) -> Result<Opened> {
        Ok(self.clone())
    }
}

/// The options of a program.
#[derive(Debug, Clone, Default)]
pub struct ProgramBuilder {
    argument_limit: Option<usize>,
    hazards: Option<Hazards>,
    graphs: Option<bool>,
    autotune: Option<bool>,
    cache: Option<Option<PathBuf>>,
    kernels: Option<Vec<ExportedKernels>>,
    printer: Printer,
}

impl ProgramBuilder {
    /// The policy for hazards. Default: the environment variable [`HAZARDS_VARIABLE`](crate::HAZARDS_VARIABLE), or else
    /// [`Hazards::default`].
    #[must_use]
    pub fn hazards(mut self, hazards: Hazards) -> Self {
        self.hazards = Some(hazards);
        self
    }

    /// Whether regions that are launched repeatedly become graphs. This only changes what a launch costs. Default: the
    /// environment variable [`GRAPHS_VARIABLE`](crate::GRAPHS_VARIABLE), or else yes. A device without graphs uses
    /// events.
    #[must_use]
    pub fn graphs(mut self, on: bool) -> Self {
        self.graphs = Some(on);
        self
    }

    /// Whether kernels are tuned. Then the first launches of a kernel run with several block sizes, and with fewer
    /// iterations per thread, and later launches with the fastest ones: for each class of sizes, in which the numbers
    /// of iterations are within a factor of two. All compute the same bits. The search needs 25 launches per class and
    /// loop, and 15 for the iterations per thread, never waits for the device, and its result is stored in the kernel
    /// cache. Loops that combine values, thread blocks, loops with a `block_size` and kernels that print are not tuned.
    ///
    /// Default: the environment variable [`AUTOTUNE_VARIABLE`](crate::AUTOTUNE_VARIABLE), or else no. It has no effect
    /// on the CPU.
    #[must_use]
    pub fn autotune(mut self, on: bool) -> Self {
        self.autotune = Some(on);
        self
    }

    /// The folder of the kernel cache on disk, which later processes share; none for no cache. Default: the environment
    /// variable [`CACHE_VARIABLE`](crate::CACHE_VARIABLE), or else `quadrants` in the user's cache folder. Any number
    /// of processes of one user may share it. Files that another user, except root, can have written are not used.
    #[must_use]
    pub fn cache(mut self, folder: Option<PathBuf>) -> Self {
        self.cache = Some(folder);
        self
    }

    /// Adds kernels that were compiled ahead. They are looked up before the kernel cache on disk and a compiler.
    /// Default: the file in the environment variable [`KERNELS_VARIABLE`](crate::KERNELS_VARIABLE), if it is set.
    #[must_use]
    pub fn kernels(mut self, kernels: ExportedKernels) -> Self {
        self.kernels.get_or_insert_default().push(kernels);
        self
    }

    /// Calls `print` with each message of a kernel's `println!`, at the first wait after the launch: for the stream or
    /// the device, for an event after the launch, or by reading a tensor that the launch wrote. The messages of a
    /// stream come in the order of its launches. Default: they are printed to the standard output.
    #[must_use]
    pub fn print_to(mut self, print: impl Fn(&KernelOutput) + Send + Sync + 'static) -> Self {
        self.printer = Printer::to(print);
        self
    }

    /// The largest argument block in bytes that is passed by value; larger ones are passed in an argument buffer. The
    /// device's limit applies too, and is the default. With 0, all argument blocks are passed in buffers.
    #[must_use]
    pub fn argument_limit(mut self, bytes: usize) -> Self {
        self.argument_limit = Some(bytes);
        self
    }

    /// Opens a program.
    ///
    /// # Errors
    /// Why the device cannot be opened; [`Error::Kernels`] where the file that the environment names is not an image
    /// bundle.
    pub fn open(self, backend: impl Backend) -> Result<Program> {
        let hazards = self.hazards.map_or_else(Hazards::from_env, Ok)?;
        let exported = self.kernels.map_or_else(ExportedKernels::from_env, Ok)?;
        let Opened { device, compiler } = backend.open()?;
        tracing::info!(device = device.info().name, backend = device.info().backend, "open");
        let graphs = self.graphs.map_or_else(|| switch(GRAPHS_VARIABLE, true), Ok)?;
        let graphs = Graphs::new(graphs && device.capabilities().graphs);
        let autotune = self.autotune.map_or_else(|| switch(AUTOTUNE_VARIABLE, false), Ok)?;
        let host_exclusion = HostExclusion::new(device.capabilities().asynchronous);
        let device_limit = device.capabilities().max_argument_bytes;
        let context = Context::new(device)?;
        let folder = self.cache.unwrap_or_else(cache_folder);
        let loader = KernelLoader {
            context: context.clone(),
            cache: KernelCache::new(exported, folder, compiler.as_deref()),
            argument_limit: self.argument_limit.map_or(device_limit, |l| l.min(device_limit)),
            compiler,
        };
        let hazards = Tracker::new(hazards);
        let shared = Arc::new(ProgramShared {
            launcher: KernelLauncher::new(hazards.is_none(), autotune),
            abandoned_streams: Mutex::new(Vec::new()),
            records: RecordPool::default(),
            manager: StreamManager::default(),
            loader,
            launches: AtomicU64::new(1),
            has_streams: false.into(),
            graphs,
            host_exclusion,
            operation_names: OperationNames::default(),
            hazards,
            printer: self.printer,
            deferred: Mutex::new(Vec::new()),
            context: context.clone(),
            profiler: Profiler::default(),
        });
        program_registry::register(&*shared);
        let default = StreamState::new(&shared, RtStream::default_of(&context)?)?;
        trace::begin_by_env(&shared)?;
        let inner = Arc::new(ProgramInner { default: default.clone(), shared });
        Ok(Program { default: Arc::new(Stream { program: inner, state: default }) })
    }
}

impl Program {
    /// Opens a program on the device of `backend`.
    ///
    /// # Errors
    /// Why the device cannot be opened.
    pub fn open(backend: impl Backend) -> Result<Self> {
        Self::builder().open(backend)
    }

    /// Options for opening a program.
    #[must_use]
    pub fn builder() -> ProgramBuilder {
        ProgramBuilder::default()
    }

    /// Information about the device.
    #[must_use]
    pub fn device_info(&self) -> &DeviceInfo {
        self.shared().context.device().info()
    }

    /// The name of the backend: `cuda`, `amdgpu` or `cpu`. The facade's `Arch` parses it.
    #[must_use]
    pub fn arch(&self) -> &'static str {
        self.device_info().backend
    }

    /// The capabilities of the device.
    #[must_use]
    pub fn capabilities(&self) -> &Capabilities {
        self.shared().context.device().capabilities()
    }

    /// The device's default stream, handle 0.
    #[must_use]
    pub fn default_stream(&self) -> &Stream {
        &self.default
    }

    /// Creates a non-blocking stream, which is not ordered with the default stream.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn create_stream(&self) -> Result<Stream> {
        Stream::create(self.inner(), StreamOptions::default())
    }

    /// Creates a stream with a priority. Lower numbers run first; the number is clamped to the device's range.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn create_stream_with_priority(&self, priority: i32) -> Result<Stream> {
        Stream::create(self.inner(), StreamOptions { priority })
    }

    /// Creates an event.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn create_event(&self) -> Result<Event> {
        Event::create(self.inner(), EventOptions::default())
    }

    /// Creates an event for measuring time.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn create_timing_event(&self) -> Result<Event> {
        Event::create(self.inner(), EventOptions { timing: true })
    }

    /// Creates a tensor of zeros (`false` for bool).
    ///
    /// # Errors
    /// [`Error::TooLarge`], out of memory, or an error of the device.
    pub fn zeros<T: crate::KernelValue, const N: usize>(
        &self,
        shape: [usize; N],
    ) -> Result<Tensor<T, N>> {
        self.zeros_with(shape, Layout::default())
    }

    /// Creates a tensor of zeros with a memory layout.
    ///
    /// # Errors
    /// As for [`zeros`](Self::zeros).
    pub fn zeros_with<T: crate::KernelValue, const N: usize>(
        &self,
        shape: [usize; N],
        layout: Layout,
    ) -> Result<Tensor<T, N>> {
        Tensor::zeros(self.inner(), shape, layout)
    }

    /// Creates a tensor with the given elements, in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`] where the number of elements is not that of the shape, out of memory, or an error of the
    /// device.
    pub fn tensor_from<T: crate::KernelValue, const N: usize>(
        &self,
        elements: &[T],
        shape: [usize; N],
    ) -> Result<Tensor<T, N>> {
        self.tensor_with(elements, shape, Layout::default())
    }

    /// Creates a tensor with a memory layout and the given elements, in row-major order.
    ///
    /// # Errors
    /// As for [`tensor_from`](Self::tensor_from).
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// # let prog = quadrants_program::Program::open(opened)?;
    /// use quadrants_program::{Layout, Vector};
    /// let places = [(Vector([1.0_f32, 2.0]), 7_u8), (Vector([3.0, 4.0]), 9)];
    /// let mut t = prog.tensor_with(&places, [2], Layout::StructOfArrays)?;
    /// t.slice_mut(..1)?.fill((Vector([0.0, 0.5]), 1))?;
    /// assert_eq!(t.to_vec()?, [(Vector([0.0, 0.5]), 1), places[1]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn tensor_with<T: crate::KernelValue, const N: usize>(
        &self,
        elements: &[T],
        shape: [usize; N],
        layout: Layout,
    ) -> Result<Tensor<T, N>> {
        Tensor::from_slice(self.inner(), elements, shape, layout)
    }

    /// Waits for the default stream only, and returns its errors.
    ///
    /// # Errors
    /// As for [`Stream::synchronize`].
    pub fn sync(&self) -> Result<()> {
        self.default.synchronize()
    }

    /// Waits for all streams, and returns the first error of any of them that was not returned yet; the others are left
    /// for the next call.
    ///
    /// # Errors
    /// As for [`Stream::synchronize`].
    pub fn device_sync(&self) -> Result<()> {
        refuse(self.shared(), "a wait of the host")?;
        self.shared().synchronize()?;
        let streams = self.shared().manager.all();
        streams.iter().try_for_each(|stream| stream.print_all())?;
        streams.iter().try_for_each(|stream| stream.check())
    }

    /// The policy for hazards.
    #[must_use]
    pub fn hazards(&self) -> Hazards {
        self.shared().hazards.as_ref().map_or(Hazards::Explicit, Tracker::hazards)
    }

    /// Takes the reported hazards, oldest first. At most 1000 are kept.
    #[must_use]
    pub fn take_hazards(&self) -> Vec<Hazard> {
        self.shared().hazards.as_ref().map(Tracker::take_hazards).unwrap_or_default()
    }

    /// The number of waits that were inserted under [`Hazards::Auto`].
    #[must_use]
    pub fn inserted_waits(&self) -> u64 {
        self.shared().hazards.as_ref().map_or(0, Tracker::inserted_waits)
    }

    /// Takes the errors that no call could return, such as those of drops, oldest first.
    #[must_use]
    pub fn take_deferred_errors(&self) -> Vec<Error> {
        let runtime = self.shared().context.take_deferred_errors();
        let mut errors: Vec<Error> = runtime.into_iter().map(Error::from).collect();
        errors.append(&mut self.shared().deferred.lock());
        errors
    }

    /// Releases idle streams, events and staging memory of the pools to the device, and frees the memory that is kept
    /// of dropped tensors.
    pub fn trim_pools(&self) {
        self.shared().context.trim_pools();
    }

    /// Statistics of the pools of streams, events, staging memory and memory of dropped tensors.
    #[must_use]
    pub fn pool_statistics(&self) -> PoolStatistics {
        self.shared().context.pool_statistics()
    }

    /// Statistics of the kernel cache.
    #[must_use]
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.shared().loader.cache.statistics()
    }

    /// Statistics of the regions of all kernels.
    #[must_use]
    pub fn region_statistics(&self) -> RegionStatistics {
        self.shared().graphs.statistics()
    }

    /// The kernels that the program has built.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> quadrants_program::Result<()> {
    /// # let device = quadrants_rhi_cpu::driver()?.open(0)?;
    /// # let opened = quadrants_program::Opened { device, compiler: None };
    /// let program = quadrants_program::Program::open(opened)?;
    /// // No kernel was launched yet.
    /// assert!(program.launcher().is_empty() && !program.launcher().is_loaded("saxpy"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn launcher(&self) -> &KernelLauncher {
        &self.shared().launcher
    }

    /// The streams of the program.
    #[must_use]
    pub fn streams(&self) -> &StreamManager {
        &self.shared().manager
    }
}

impl Stream {
    /// Wraps a stream that was made elsewhere in the program's context. It is never destroyed here. While other code
    /// captures it, all uses of it are [`Error::ForeignCapture`].
    ///
    /// # Safety
    /// `handle` is a stream of the program's device context, and stays alive as long as the wrapper.
    ///
    /// # Errors
    /// Out of pinned memory, too many streams at once, or [`Error::ForeignCapture`].
    pub unsafe fn from_raw(program: &Program, handle: StreamHandle) -> Result<Self> {
        let inner = program.inner();
        // SAFETY: by the caller.
        let stream = unsafe { RtStream::from_raw(&inner.shared.context, handle)? };
        Self::of(inner, stream)
    }
}

/// The value of a variable that is `on` or `off`, or `default` where it is not set.
///
/// # Errors
/// [`Error::UnknownSwitch`], and where the value is not UTF-8.
fn switch(variable: &'static str, default: bool) -> Result<bool> {
    match environment::text(variable)?.as_deref() {
        None => Ok(default),
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(Error::UnknownSwitch { variable, name: other.to_owned() }),
    }
}
