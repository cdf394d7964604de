//! libcuda's functions for the tests, and a device that is opened with them.

use std::{
    env,
    ffi::{CString, c_char, c_int, c_uint, c_void},
    process::Command,
    ptr,
};

use quadrants_driver_sim::{self as sim, Schedule, WorldLease};
use quadrants_ir::{Kernel, abi::Passing};

use super::kernels;

/// Whether this process runs only the test with this path. If not, the test runs in a process of its own: other tests
/// call the same drivers, whose calls it would record.
pub(crate) fn is_alone(test: &str) -> bool {
    const EXACT: &str = "--exact";
    if env::args().any(|argument| argument == EXACT) {
        return true;
    }
    let child = Command::new(env::current_exe().unwrap()).args([test, EXACT]).output().unwrap();
    let told = [child.stdout, child.stderr]
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .concat();
    assert!(child.status.success() && told.contains("1 passed"), "{told}");
    false
}

macro_rules! functions {
    ($find:path: $($name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        #[allow(non_snake_case, clippy::too_many_arguments)] // the C function's own
        pub(crate) fn $name($($arg: $ty),*) -> c_int {
            let address = $find(stringify!($name)).expect(stringify!($name));
            // SAFETY: the exported function has this signature. The tests pass pointers to memory that outlives the
            // call, and null or invalid values only where the function checks for them.
            unsafe {
                std::mem::transmute::<*const std::ffi::c_void, unsafe extern "C" fn($($ty),*) -> c_int>(address)($($arg),*)
            }
        }
    )*};
}
pub(crate) use functions;

functions! { sim::cuda_symbol:
    cuInit(flags: c_uint);
    cuDeviceGet(device: *mut c_int, ordinal: c_int);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGetName(name: *mut c_char, bytes: c_int, device: c_int);
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
    cuDeviceGetDefaultMemPool(pool: *mut usize, device: c_int);
    cuGetErrorName(error: c_int, name: *mut *const c_char);
    cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int);
    cuDevicePrimaryCtxRelease_v2(device: c_int);
    cuCtxGetCurrent(context: *mut usize);
    cuCtxSetCurrent(context: usize);
    cuCtxPushCurrent_v2(context: usize);
    cuCtxPopCurrent_v2(context: *mut usize);
    cuCtxSynchronize();
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemAlloc_v2(memory: *mut u64, bytes: usize);
    cuMemFree_v2(memory: u64);
    cuMemAllocAsync(memory: *mut u64, bytes: usize, stream: usize);
    cuMemFreeAsync(memory: u64, stream: usize);
    cuMemPoolSetAttribute(pool: usize, attribute: c_int, value: *mut c_void);
    cuMemPoolSetAccess(pool: usize, devices: *const [c_int; 3], count: usize);
    cuMemHostAlloc(memory: *mut *mut u32, bytes: usize, flags: c_uint);
    cuMemFreeHost(memory: *mut u32);
    cuMemcpyHtoDAsync_v2(dst: u64, src: *const u32, bytes: usize, stream: usize);
    cuMemcpyDtoHAsync_v2(dst: *mut u32, src: u64, bytes: usize, stream: usize);
    cuMemcpyDtoDAsync_v2(dst: u64, src: u64, bytes: usize, stream: usize);
    cuMemcpyPeerAsync(dst: u64, dst_context: usize, src: u64, src_context: usize, bytes: usize, stream: usize);
    cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, other: c_int);
    cuCtxEnablePeerAccess(context: usize, flags: c_uint);
    cuMemsetD8Async(dst: u64, value: u8, bytes: usize, stream: usize);
    cuMemsetD32Async(dst: u64, value: u32, words: usize, stream: usize);
    cuStreamCreateWithPriority(stream: *mut usize, flags: c_uint, priority: c_int);
    cuStreamDestroy_v2(stream: usize);
    cuStreamQuery(stream: usize);
    cuStreamSynchronize(stream: usize);
    cuStreamWaitEvent(stream: usize, event: usize, flags: c_uint);
    cuEventCreate(event: *mut usize, flags: c_uint);
    cuEventDestroy_v2(event: usize);
    cuEventRecord(event: usize, stream: usize);
    cuEventQuery(event: usize);
    cuEventSynchronize(event: usize);
    cuEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize);
    cuModuleLoadDataEx(module: *mut usize, image: *const u8, count: c_uint, options: *mut c_int, values: *mut *mut c_void);
    cuModuleUnload(module: usize);
    cuFuncSetAttribute(function: usize, attribute: c_int, value: c_int);
    cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char);
    cuLaunchKernel(function: usize, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: usize, parameters: *const *const u64, extra: *mut *mut c_void);
    cuGraphCreate(graph: *mut usize, flags: c_uint);
    cuGraphDestroy(graph: usize);
    cuGraphAddKernelNode_v2(node: *mut usize, graph: usize, dependencies: *const usize, count: usize, parameters: *const NodeParams);
    cuGraphInstantiateWithFlags(exec: *mut usize, graph: usize, flags: u64);
    cuGraphExecDestroy(exec: usize);
    cuGraphExecKernelNodeSetParams_v2(exec: usize, node: usize, parameters: *const NodeParams);
    cuGraphLaunch(exec: usize, stream: usize);
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
pub(crate) struct NodeParams {
    pub(crate) function: usize,
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) shared_bytes: c_uint,
    pub(crate) parameters: *const *const u64,
    pub(crate) extra: *mut *mut c_void,
    pub(crate) kernel: usize,
    pub(crate) context: usize,
}

/// A world with its primary context current on this thread. Dropping it pops and releases the context.
pub(crate) struct Gpu {
    pub(crate) world: WorldLease,
    pub(crate) context: usize,
}

/// Fails the test if a call failed.
#[track_caller]
pub(crate) fn ok(code: c_int) {
    assert_eq!(code, 0, "the call failed");
}

/// The value that a call writes.
#[track_caller]
pub(crate) fn get<T: Default>(call: impl FnOnce(*mut T) -> c_int) -> T {
    let mut value = T::default();
    ok(call(&mut value));
    value
}

impl Gpu {
    pub(crate) fn open(schedule: Schedule, seed: u64) -> Self {
        ok(cuInit(0));
        let world = sim::lease_world();
        world.set_schedule(schedule);
        world.set_seed(seed);
        let context = get(|out| cuDevicePrimaryCtxRetain(out, world.ordinal() as c_int));
        ok(cuCtxPushCurrent_v2(context));
        Self { world, context }
    }

    pub(crate) fn lazy() -> Self {
        Self::open(Schedule::Lazy, 0)
    }

    pub(crate) fn device(&self) -> c_int {
        self.world.ordinal() as c_int
    }

    pub(crate) fn stream(&self) -> usize {
        get(|out| cuStreamCreateWithPriority(out, 1, 0))
    }

    pub(crate) fn blocking_stream(&self) -> usize {
        get(|out| cuStreamCreateWithPriority(out, 0, 0))
    }

    pub(crate) fn event(&self) -> usize {
        get(|out| cuEventCreate(out, 2))
    }

    /// Device memory of this number of words.
    pub(crate) fn alloc(&self, words: usize) -> u64 {
        get(|out| cuMemAlloc_v2(out, 4 * words))
    }

    /// Pinned memory of this number of words, all zero.
    pub(crate) fn pinned(&self, words: usize) -> &'static mut [u32] {
        let mut base = ptr::null_mut();
        ok(cuMemHostAlloc(&mut base, 4 * words, 0));
        // SAFETY: the memory is new, has this length, and lives until the world is reset. Each test uses its slice
        // before that.
        unsafe {
            base.write_bytes(0, words);
            std::slice::from_raw_parts_mut(base, words)
        }
    }

    pub(crate) fn upload(&self, dst: u64, words: &[u32], stream: usize) {
        ok(cuMemcpyHtoDAsync_v2(dst, words.as_ptr(), 4 * words.len(), stream));
    }

    /// The contents of the memory after the stream's work.
    pub(crate) fn download(&self, src: u64, words: usize, stream: usize) -> Vec<u32> {
        let mut host = vec![0; words];
        ok(cuMemcpyDtoHAsync_v2(host.as_mut_ptr(), src, 4 * words, stream));
        host
    }

    /// The function of a kernel with one task.
    pub(crate) fn function(&self, kernel: &Kernel, passing: Passing) -> usize {
        let image = kernels::image(kernel, passing);
        let module =
            get(|out| cuModuleLoadDataEx(out, image.as_ptr(), 0, ptr::null_mut(), ptr::null_mut()));
        self.function_of(module, &format!("{}_0", kernel.name))
    }

    pub(crate) fn function_of(&self, module: usize, name: &str) -> usize {
        let name = CString::new(name).unwrap();
        get(|out| cuModuleGetFunction(out, module, name.as_ptr()))
    }

    pub(crate) fn add(&self) -> usize {
        self.function(&kernels::add(), Passing::Value)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let popped = get(cuCtxPopCurrent_v2);
        assert!(std::thread::panicking() || popped == self.context);
        cuDevicePrimaryCtxRelease_v2(self.device());
    }
}

/// Launches a function with an argument block.
pub(crate) fn launch(function: usize, args: &[u64], stream: usize) -> c_int {
    let parameters = [args.as_ptr()];
    cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, stream, parameters.as_ptr(), ptr::null_mut())
}

/// Shape and arguments of a graph node; `parameters` is an array of one pointer to the words.
pub(crate) fn node(function: usize, parameters: &[*const u64; 1]) -> NodeParams {
    NodeParams {
        function,
        grid: [4, 1, 1],
        block: [64, 1, 1],
        shared_bytes: 0,
        parameters: parameters.as_ptr(),
        extra: ptr::null_mut(),
        kernel: 0,
        context: 0,
    }
}
