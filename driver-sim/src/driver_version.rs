//! Releases of the drivers that the simulator passes for: what a library of each exports, and what its functions
//! say of it.
//!
//! A release is a view of the simulator's functions: those that it lacks are not found, and those that tell
//! releases apart differ. So programs on several releases run side by side.
//!
//! Of the error codes that the project's backends can meet these differ (AMD's "HIP API 7.0 changes"; what ROCm 5 says
//! without a device was seen there): a launch whose blocks have too many threads is an invalid value before ROCm 7, and an
//! invalid configuration since, where other impossible shapes stay invalid values; and without a device ROCm 5's
//! `hipInit` finds the device invalid, where later releases find none. What releases say of handles that are none differs
//! too, up to a crash; the simulator reports those under every release alike. CUDA's codes did not change.

use std::ffi::{c_int, c_uint, c_void};

use crate::{
    code::Code,
    cuda, hip,
    pointer::{Out, Parameters},
};

/// A release of CUDA's driver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum CudaVersion {
    /// 11.0: without memory pools.
    V11_0,
    /// 11.8: graphs take the older parameters of kernel nodes.
    V11_8,
    /// 12.0
    V12_0,
    /// 13.0: what [`cuda_symbol`](crate::cuda_symbol) gives.
    V13_0,
}

/// A release of ROCm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum RocmVersion {
    /// 5.1: without memory pools.
    V5_1,
    /// 5.7: with the older struct of properties alone.
    V5_7,
    /// 6.4: with both structs.
    V6_4,
    /// 7.0: with the newer struct alone.
    V7_0,
}

/// Functions that came later than the first release, with the number of the release that has them.
const CUDA_SINCE: &[(&str, c_int)] = &[
    ("cuDeviceGetDefaultMemPool", 11_020),
    ("cuMemPoolSetAttribute", 11_020),
    ("cuMemAllocAsync", 11_020),
    ("cuMemFreeAsync", 11_020),
    ("cuGraphInstantiateWithFlags", 11_040),
    ("cuGraphAddKernelNode_v2", 12_000),
    ("cuGraphExecKernelNodeSetParams_v2", 12_000),
];
const HIP_SINCE: &[(&str, c_int)] = &[
    ("hipDeviceGetDefaultMemPool", 50_200_000),
    ("hipMemPoolSetAttribute", 50_200_000),
    ("hipMallocAsync", 50_200_000),
    ("hipFreeAsync", 50_200_000),
    ("hipGetDevicePropertiesR0600", 60_000_000),
];
/// Functions that went, with the number of the first release without them.
const HIP_UNTIL: &[(&str, c_int)] = &[("hipGetDeviceProperties", 70_000_000)];

/// What a block has at most.
const THREADS: u64 = 1024;

type AskVersion = unsafe extern "C" fn(Out<c_int>) -> c_int;

impl CudaVersion {
    /// All of them, oldest first.
    pub const ALL: [Self; 4] = [Self::V11_0, Self::V11_8, Self::V12_0, Self::V13_0];

    /// The address of a function of this release's libcuda.
    #[must_use]
    pub fn symbol(self, name: &str) -> Option<*const c_void> {
        let (number, ask): (c_int, AskVersion) = match self {
            Self::V11_0 => (11_000, version::<11_000>),
            Self::V11_8 => (11_080, version::<11_080>),
            Self::V12_0 => (12_000, version::<12_000>),
            Self::V13_0 => (13_000, version::<13_000>),
        };
        match name {
            "cuDriverGetVersion" => Some(ask as *const c_void),
            _ if is_later(CUDA_SINCE, name, number) => None,
            _ => cuda::symbol(name),
        }
    }
}

impl RocmVersion {
    /// All of them, oldest first.
    pub const ALL: [Self; 4] = [Self::V5_1, Self::V5_7, Self::V6_4, Self::V7_0];

    /// The address of a function of this release's libamdhip64.
    #[must_use]
    pub fn symbol(self, name: &str) -> Option<*const c_void> {
        let (number, ask): (c_int, AskVersion) = match self {
            Self::V5_1 => (50_100_000, version::<50_100_000>),
            Self::V5_7 => (50_700_000, version::<50_700_000>),
            Self::V6_4 => (60_400_000, version::<60_400_000>),
            Self::V7_0 => (70_000_000, version::<70_000_000>),
        };
        match name {
            "hipRuntimeGetVersion" | "hipDriverGetVersion" => Some(ask as *const c_void),
            "hipInit" if self < Self::V6_4 => Some(init_of_5 as *const c_void),
            "hipModuleLaunchKernel" if self < Self::V7_0 => Some(launch::<false> as *const c_void),
            "hipModuleLaunchKernel" => Some(launch::<true> as *const c_void),
            _ if is_later(HIP_SINCE, name, number) => None,
            _ if HIP_UNTIL.iter().any(|(gone, at)| *gone == name && number >= *at) => None,
            _ => hip::symbol(name),
        }
    }
}

fn is_later(since: &[(&str, c_int)], name: &str, number: c_int) -> bool {
    since.iter().any(|(late, at)| *late == name && number < *at)
}

/// What each release has in place of the function that tells its version.
///
/// # Safety
/// What the C function asks for.
unsafe extern "C" fn version<const NUMBER: c_int>(version: Out<c_int>) -> c_int {
    version.set(NUMBER).map_or_else(|code| code.0, |()| 0)
}

/// # Safety
/// What the C function asks for.
unsafe extern "C" fn init_of_5(flags: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { hip::device::hipInit(flags) } {
        code if code == Code::NO_DEVICE.0 => Code::INVALID_DEVICE.0,
        code => code,
    }
}

/// # Safety
/// What the C function asks for.
#[allow(clippy::too_many_arguments)] // the C function's own
unsafe extern "C" fn launch<const SINCE_7: bool>(
    function: usize,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: usize,
    parameters: Parameters,
    extra: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    let code = unsafe {
        hip::module::hipModuleLaunchKernel(
            function,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            shared_bytes,
            stream,
            parameters,
            extra,
        )
    };
    let block = [block_x, block_y, block_z];
    let too_wide = hip::module::is_too_wide([grid_x, grid_y, grid_z], block);
    let block = block.map(u64::from);
    let too_many = block.into_iter().fold(1, u64::saturating_mul) > THREADS;
    match Code(code) {
        Code::INVALID_CONFIGURATION if !(too_wide || SINCE_7 && too_many) => Code::INVALID_VALUE.0,
        _ => code,
    }
}
