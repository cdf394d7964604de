//! A CUDA driver that does nothing, so that the remaining cost of a launch is that of the library.

use std::{
    alloc::{Layout, alloc_zeroed},
    cell::Cell,
    ffi::{c_char, c_int, c_uint, c_void},
    ptr::null_mut,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use quadrants::{
    Opened,
    codegen::{self, CompileRequest, Compiled, Compiler},
    ir::Offloaded,
};
use quadrants_rhi_cuda::driver_from_symbols;

type Handle = *mut c_void;

/// An address that nobody follows.
const SOME: Handle = 0x1000 as Handle;

thread_local! {
    /// From the start, as after a call of the CUDA runtime: then a launch asks, and changes nothing.
    static CURRENT: Cell<Handle> = const { Cell::new(SOME) };
}

macro_rules! functions {
    ($($symbol:literal = |$($arg:ident: $ty:ty),*| $body:expr;)*) => {
        /// The functions by their C names.
        fn resolve(symbol: &str) -> Option<*const c_void> {
            match symbol {
                $($symbol => {
                    #[allow(unused_unsafe)] // not all write anything
                    extern "C" fn function($($arg: $ty),*) -> c_int {
                        // SAFETY: whoever calls a driver's function gives places for what it writes.
                        unsafe { $body };
                        0
                    }
                    Some(function as *const c_void)
                })*
                _ => None,
            }
        }
    };
}

functions! {
    "cuInit" = |_f: c_uint| ();
    "cuDriverGetVersion" = |version: *mut c_int| *version = 13_000;
    "cuGetErrorName" = |_e: c_int, name: *mut *const c_char| *name = c"none".as_ptr();
    "cuDeviceGetCount" = |count: *mut c_int| *count = 1;
    "cuDeviceGet" = |device: *mut c_int, _n: c_int| *device = 0;
    "cuDeviceGetName" = |name: *mut c_char, _l: c_int, _d: c_int| *name = 0;
    "cuDeviceGetAttribute" = |value: *mut c_int, _a: c_uint, _d: c_int| *value = 1024;
    "cuDeviceTotalMem_v2" = |bytes: *mut usize, _d: c_int| *bytes = 1 << 40;
    "cuDeviceGetDefaultMemPool" = |pool: *mut Handle, _d: c_int| *pool = SOME;
    "cuMemPoolSetAttribute" = |_p: Handle, _a: c_uint, _v: Handle| ();
    "cuMemPoolSetAccess" = |_p: Handle, _d: *const c_uint, _n: usize| ();
    "cuDeviceCanAccessPeer" = |can: *mut c_int, _d: c_int, _p: c_int| *can = 0;
    "cuDevicePrimaryCtxRetain" = |context: *mut Handle, _d: c_int| *context = SOME;
    "cuDevicePrimaryCtxRelease_v2" = |_d: c_int| ();
    "cuCtxGetCurrent" = |context: *mut Handle| *context = CURRENT.get();
    "cuCtxSetCurrent" = |context: Handle| CURRENT.set(context);
    "cuCtxPushCurrent_v2" = |context: Handle| CURRENT.set(context);
    "cuCtxPopCurrent_v2" = |context: *mut Handle| *context = CURRENT.replace(null_mut());
    "cuCtxEnablePeerAccess" = |_p: Handle, _f: c_uint| ();
    "cuCtxSynchronize" = | | ();
    "cuCtxGetStreamPriorityRange" = |least: *mut c_int, most: *mut c_int| (*least, *most) = (0, 0);
    "cuMemGetInfo_v2" = |free: *mut usize, total: *mut usize| (*free, *total) = (0, 0);
    "cuMemAlloc_v2" = |memory: *mut u64, bytes: usize| *memory = address(bytes);
    "cuMemFree_v2" = |_m: u64| ();
    "cuMemAllocAsync" = |memory: *mut u64, bytes: usize, _s: Handle| *memory = address(bytes);
    "cuMemFreeAsync" = |_m: u64, _s: Handle| ();
    "cuPointerGetAttribute" = |_v: Handle, _a: c_uint, _m: u64| ();
    "cuMemHostAlloc" = |memory: *mut Handle, bytes: usize, _f: c_uint| {
        *memory = alloc_zeroed(Layout::from_size_align_unchecked(bytes, 4096)).cast();
    };
    "cuMemFreeHost" = |_m: Handle| ();
    "cuMemcpyHtoDAsync_v2" = |_d: u64, _h: Handle, _b: usize, _s: Handle| ();
    "cuMemcpyDtoHAsync_v2" = |_h: Handle, _d: u64, _b: usize, _s: Handle| ();
    "cuMemcpyDtoDAsync_v2" = |_d: u64, _f: u64, _b: usize, _s: Handle| ();
    "cuMemcpy2DAsync_v2" = |_c: Handle, _s: Handle| ();
    "cuMemcpyPeerAsync" = |_d: u64, _t: Handle, _s: u64, _f: Handle, _b: usize, _st: Handle| ();
    "cuMemsetD8Async" = |_d: u64, _v: u8, _b: usize, _s: Handle| ();
    "cuMemsetD32Async" = |_d: u64, _v: c_uint, _b: usize, _s: Handle| ();
    "cuStreamCreateWithPriority" = |stream: *mut Handle, _f: c_uint, _p: c_int| *stream = SOME;
    "cuStreamDestroy_v2" = |_s: Handle| ();
    "cuStreamQuery" = |_s: Handle| ();
    "cuStreamSynchronize" = |_s: Handle| ();
    "cuStreamWaitEvent" = |_s: Handle, _e: Handle, _f: c_uint| ();
    "cuEventCreate" = |event: *mut Handle, _f: c_uint| *event = SOME;
    "cuEventDestroy_v2" = |_e: Handle| ();
    "cuEventRecord" = |_e: Handle, _s: Handle| ();
    "cuEventQuery" = |_e: Handle| ();
    "cuEventSynchronize" = |_e: Handle| ();
    "cuEventElapsedTime" = |time: *mut f32, _s: Handle, _e: Handle| *time = 0.0;
    "cuModuleLoadDataEx" = |module: *mut Handle, _i: Handle, _c: c_uint, _o: Handle, _v: Handle| {
        *module = SOME;
    };
    "cuModuleUnload" = |_m: Handle| ();
    "cuModuleGetFunction" = |function: *mut Handle, _m: Handle, _n: Handle| *function = SOME;
    "cuFuncSetAttribute" = |_f: Handle, _a: c_uint, _v: c_int| ();
    "cuFuncGetAttribute" = |value: *mut c_int, _a: c_uint, _f: Handle| *value = 0;
    "cuOccupancyMaxActiveBlocksPerMultiprocessor" = |count: *mut c_int, _f: Handle, _t: c_int, _b: usize| *count = 1;
    "cuStreamIsCapturing" = |_s: Handle, status: *mut c_int| *status = 0;
    "cuLaunchKernel" = |_f: Handle, _gx: c_uint, _gy: c_uint, _gz: c_uint, _bx: c_uint, _by: c_uint,
        _bz: c_uint, _b: c_uint, _s: Handle, _p: Handle, _e: Handle| ();
    "cuGraphCreate" = |graph: *mut Handle, _f: c_uint| *graph = SOME;
    "cuGraphDestroy" = |_g: Handle| ();
    "cuGraphAddKernelNode_v2" = |node: *mut Handle, _g: Handle, _d: Handle, _c: usize, _p: Handle| {
        *node = SOME;
    };
    "cuGraphAddMemcpyNode" = |node: *mut Handle, _g: Handle, _d: Handle, _n: usize, _c: Handle,
        _x: Handle| *node = SOME;
    "cuGraphInstantiateWithFlags" = |exec: *mut Handle, _g: Handle, _f: u64| *exec = SOME;
    "cuGraphExecDestroy" = |_e: Handle| ();
    "cuGraphExecKernelNodeSetParams_v2" = |_e: Handle, _n: Handle, _p: Handle| ();
    "cuGraphLaunch" = |_e: Handle, _s: Handle| ();
}

/// Addresses that no two live allocations share: none is used again.
fn address(bytes: usize) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1 << 20);
    NEXT.fetch_add((bytes as u64).next_multiple_of(256), Relaxed)
}

/// A compiler of images that nobody looks at.
#[derive(Debug)]
struct NoCompiler;

// SAFETY: the driver runs no image.
unsafe impl Compiler for NoCompiler {
    fn identity(&self) -> codegen::Result<String> {
        Ok("none".to_owned())
    }

    fn compile(&self, _: &Offloaded, _: &CompileRequest<'_>) -> codegen::Result<Compiled> {
        Ok(Compiled::new(vec![0; 64], None, String::new()))
    }
}

/// The device of this driver.
pub fn open() -> Opened {
    // SAFETY: the functions have the driver's signatures, and behave like a driver whose memory nobody uses.
    let driver = unsafe { driver_from_symbols("a driver that does nothing", resolve) };
    let device = driver.and_then(|driver| driver.open(0)).expect("it opens");
    Opened { device, compiler: Some(Arc::new(NoCompiler)) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_has_all_functions_that_opening_requires() {
        super::open();
    }
}
