//! The properties and capabilities of a device. They are read once, when the device is opened.

/// The kinds of images that devices load.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImageKind {
    /// Machine code or an intermediate form from a compiler outside the driver: cubin, PTX, HSACO.
    Binary,
    /// Source text that the driver compiles.
    Text,
    /// Functions of this process, for the CPU.
    Native,
}

/// The stream priorities that a device accepts. Lower numbers run first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PriorityRange {
    /// The number of the least urgent priority; 0 on all known drivers.
    pub least: i32,
    /// The number of the most urgent priority; zero or negative.
    pub greatest: i32,
}

/// Argument blocks of 4 KiB are passed by value on every device: the limit of CUDA before 12.1; later drivers
/// allow 32 764 bytes on newer GPUs.
const DEFAULT_MAX_ARGUMENT_BYTES: usize = 4096;

/// The capabilities of a device.
///
/// A missing capability never causes a panic: the operation returns [`Error::Unsupported`](crate::Error::Unsupported).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Capabilities {
    /// The image kind that [`load_module`](crate::Device::load_module) takes.
    pub image: ImageKind,
    /// Whether memory can be allocated and freed in stream order. If not, [`alloc_async`](crate::Device::alloc_async)
    /// and [`free_async`](crate::Device::free_async) use the blocking calls.
    pub stream_ordered_memory: bool,
    /// Why stream-ordered memory is off. `Some` if and only if it is off.
    pub stream_ordered_memory_reason: Option<String>,
    /// Whether graphs can be built and launched.
    pub graphs: bool,
    /// Whether streams run concurrently with the host. False on the CPU, where every operation is complete when its
    /// call returns.
    pub asynchronous: bool,
    /// Whether a copy from pageable memory reads its source before the call returns, and does not wait for earlier
    /// work: then a small copy needs no pinned memory in between.
    pub pageable_uploads: bool,
    /// The accepted stream priorities.
    pub priorities: PriorityRange,
    /// The size in bytes of the largest argument block that a launch passes by value; at least 1024.
    pub max_argument_bytes: usize,
}

impl Capabilities {
    /// The capabilities of an asynchronous device that loads `image` and has no optional capability.
    ///
    /// The backend sets the other fields, among them `stream_ordered_memory_reason`.
    #[must_use]
    pub fn new(image: ImageKind) -> Self {
        Self {
            image,
            stream_ordered_memory: false,
            stream_ordered_memory_reason: None,
            graphs: false,
            asynchronous: true,
            pageable_uploads: false,
            priorities: PriorityRange::default(),
            max_argument_bytes: DEFAULT_MAX_ARGUMENT_BYTES,
        }
    }
}

/// The properties of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The short name of the backend: `cuda`, `amdgpu` or `cpu`.
    pub backend: &'static str,
    /// The ordinal that the device was opened with.
    pub ordinal: usize,
    /// The product name from the driver.
    pub name: String,
    /// The architecture name that compilers take: `sm_90`, `gfx90a`, `x86_64`.
    pub arch: String,
    /// The driver's version in its own notation; not empty.
    pub driver_version: String,
    /// Whether the driver is the simulator.
    pub simulated: bool,
    /// The size of the device memory in bytes.
    pub total_memory: u64,
    /// The number of streaming multiprocessors, compute units or processor cores.
    pub multiprocessors: u32,
    /// The number of threads that run in lockstep.
    pub warp_size: u32,
    /// The largest number of threads in a block.
    pub max_threads_per_block: u32,
    /// The largest number of threads that run on a multiprocessor at once; 0 if it is unknown.
    pub max_threads_per_multiprocessor: u32,
    /// The clock of the multiprocessors in kHz; 0 if it is unknown.
    pub clock_khz: u32,
    /// The bandwidth of the device memory in bytes per second, from its clock and the width of its bus; 0 if it is
    /// unknown.
    pub memory_bandwidth: u64,
    /// The most shared memory that a block can have, in bytes: that of its code and that of the launch.
    pub max_shared_bytes: u32,
    /// The largest number of blocks of a grid in x, y and z.
    pub max_grid_dim: [u32; 3],
    /// The largest number of threads of a grid in x, y and z, over all its blocks.
    pub max_grid_threads: [u64; 3],
    /// What DLPack, a protocol between libraries, calls the device. `None` where it has no name for it.
    pub dlpack: Option<DlpackNames>,
    /// The library for collective operations between devices of the backend. `None` where there is none.
    pub collectives: Option<&'static CollectiveLibrary>,
}

/// Where a library with the interface of NCCL is found at run time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectiveLibrary {
    /// Its name in messages: `NCCL` or `RCCL`.
    pub name: &'static str,
    /// The environment variable that selects a file.
    pub variable: &'static str,
    /// The environment variables with the root of an installation.
    pub roots: &'static [&'static str],
    /// The usual locations of installations: a folder, and a prefix of folder names in it.
    pub installations: &'static [(&'static str, &'static str)],
    /// The folders of libraries in a Python environment.
    pub wheels: &'static [&'static str],
    /// The file names, in the order in which they are tried.
    pub names: &'static [&'static str],
}

/// The numbers that DLPack has for a backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DlpackNames {
    /// The `DLDeviceType` of the device's own memory.
    pub device_type: i32,
    /// The types of other memory that the device accesses by the same addresses, such as pinned memory. Its device
    /// numbers have no meaning.
    pub also_accessible: &'static [i32],
    /// The number of the default stream. `None` on a device without streams.
    pub default_stream: Option<i64>,
}

impl DeviceInfo {
    /// Properties with the given names and default limits. The backend sets the other fields.
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
            max_threads_per_multiprocessor: 0,
            clock_khz: 0,
            memory_bandwidth: 0,
            max_shared_bytes: 48 << 10,
            max_grid_dim: [i32::MAX as u32, 65_535, 65_535],
            max_grid_threads: [u64::MAX; 3],
            dlpack: None,
            collectives: None,
        }
    }
}
