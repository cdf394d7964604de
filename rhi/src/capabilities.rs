//! What a device is and what it can do, read once when it is opened.

/// Which of the three image kinds a device runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImageKind {
    /// Machine code or an intermediate form made by a compiler beside the driver (cubin, PTX, HSACO).
    Binary,
    /// Text that the driver compiles itself.
    Text,
    /// Functions of this process: the CPU.
    Native,
}

/// Stream priorities that a device accepts: numerically lower runs first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PriorityRange {
    /// The number of the least urgent priority (0 on every driver seen).
    pub least: i32,
    /// The number of the most urgent priority (zero or negative).
    pub greatest: i32,
}

/// What a device can do. A missing capability never panics: the operation returns
/// [`Error::Unsupported`](crate::Error::Unsupported).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Capabilities {
    /// The image kind that [`load_module`](crate::Device::load_module) takes.
    pub image: ImageKind,
    /// Whether memory can be allocated and freed in stream order. Where it is false,
    /// [`alloc_async`](crate::Device::alloc_async) falls back to the blocking calls.
    pub stream_ordered_memory: bool,
    /// Why stream-ordered memory is not used, where it is not.
    pub stream_ordered_memory_reason: Option<String>,
    /// Whether graphs can be built and launched.
    pub graphs: bool,
    /// Whether streams run beside the host. False on the CPU, where every operation is complete
    /// when its call returns.
    pub asynchronous: bool,
    /// The accepted stream priorities.
    pub priorities: PriorityRange,
    /// The largest argument block in bytes that a launch can pass by value.
    pub max_argument_bytes: usize,
}

impl Capabilities {
    /// Capabilities of a device that runs `image` and can do nothing optional; a backend fills in
    /// the rest.
    #[must_use]
    pub fn new(image: ImageKind) -> Self {
        Self {
            image,
            stream_ordered_memory: false,
            stream_ordered_memory_reason: None,
            graphs: false,
            asynchronous: true,
            priorities: PriorityRange::default(),
            max_argument_bytes: 4096,
        }
    }
}

/// What a device is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The backend's short name: `cuda`, `amdgpu` or `cpu`.
    pub backend: &'static str,
    /// The ordinal that the device was opened with.
    pub ordinal: usize,
    /// The product name, as the driver gives it.
    pub name: String,
    /// The architecture name that a compiler takes: `sm_90`, `gfx90a`, `x86_64`.
    pub arch: String,
    /// The driver's version, in its own notation.
    pub driver_version: String,
    /// Whether the driver says it is the simulator.
    pub simulated: bool,
    /// Device memory in bytes.
    pub total_memory: u64,
    /// Streaming multiprocessors, compute units or processor cores.
    pub multiprocessors: u32,
    /// Threads that run in lock step.
    pub warp_size: u32,
    /// The most threads in one block.
    pub max_threads_per_block: u32,
    /// The largest grid in x, y and z.
    pub max_grid_dim: [u32; 3],
    /// The most threads that a grid has in x, y and z, in all its blocks together.
    pub max_grid_threads: [u64; 3],
}

impl DeviceInfo {
    /// A description with the given names and neutral numbers; a backend fills in the rest.
    #[must_use]
    pub fn new(backend: &'static str, ordinal: usize, name: String, arch: String) -> Self {
        Self {
            backend,
            ordinal,
            name,
            arch,
            driver_version: String::new(),
            simulated: false,
            total_memory: 0,
            multiprocessors: 1,
            warp_size: 1,
            max_threads_per_block: 1024,
            max_grid_dim: [i32::MAX as u32, 65_535, 65_535],
            max_grid_threads: [u64::MAX; 3],
        }
    }
}
