//! Driver versions that the simulator imitates: functions that differ between versions behave as in that version.
//!
//! A version is a view of the simulator's functions. Which functions a version lacks is stated in the rows of the
//! backends' driver tables (`Symbol::is_in`). Programs on several versions can run concurrently.
//!
//! Two error codes that the backends can receive differ between versions of ROCm (AMD's "HIP API 7.0 changes"; the ROCm
//! 5 behaviour without a device was observed):
//! - A launch with too many threads per block is an invalid value before ROCm 7, and an invalid configuration since.
//!   Other invalid shapes are invalid values in all versions.
//! - Without a device, `hipInit` of ROCm 5 returns "invalid device". Later versions return "no device".
//!
//! Versions also differ in what they do with invalid handles, up to a crash. The simulator reports invalid handles in
//! all versions. CUDA's codes did not change.

use std::ffi::{c_int, c_uint, c_void};

use crate::{
    code::Code,
    exports::{cuda_symbol, hip_symbol},
    functions::{
        device::hipInit,
        module::{hipModuleLaunchKernel, is_too_wide},
    },
    pointer::{Out, Parameters},
};

/// A version of the CUDA driver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum CudaVersion {
    /// 11.0: no memory pools.
    V11_0,
    /// 11.8: graphs take the older parameters of kernel nodes.
    V11_8,
    /// 12.0
    V12_0,
    /// 13.0: the functions of [`cuda_symbol`](crate::cuda_symbol).
    V13_0,
}

/// A version of ROCm.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum RocmVersion {
    /// 5.1: no memory pools.
    V5_1,
    /// 5.7: only the older struct of device properties.
    V5_7,
    /// 6.4: both structs of device properties.
    V6_4,
    /// 7.0: only the newer struct of device properties.
    V7_0,
}

/// The largest number of threads in a block.
const MAX_THREADS: u64 = 1024;

type GetVersion = unsafe extern "C" fn(Out<c_int>) -> c_int;

impl CudaVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 4] = [Self::V11_0, Self::V11_8, Self::V12_0, Self::V13_0];

    /// Major and minor version.
    #[must_use]
    pub fn number(self) -> (u32, u32) {
        self.row().0
    }

    /// The address of a function of libcuda that behaves as in this version.
    #[must_use]
    pub fn symbol(self, name: &str) -> Option<*const c_void> {
        match name {
            "cuDriverGetVersion" => Some(self.row().1 as *const c_void),
            _ => cuda_symbol(name),
        }
    }

    /// Major and minor version, and the function that returns them.
    fn row(self) -> ((u32, u32), GetVersion) {
        match self {
            Self::V11_0 => ((11, 0), version::<11_000>),
            Self::V11_8 => ((11, 8), version::<11_080>),
            Self::V12_0 => ((12, 0), version::<12_000>),
            Self::V13_0 => ((13, 0), version::<13_000>),
        }
    }
}

impl RocmVersion {
    /// All versions, oldest first.
    pub const ALL: [Self; 4] = [Self::V5_1, Self::V5_7, Self::V6_4, Self::V7_0];

    /// Major and minor version.
    #[must_use]
    pub fn number(self) -> (u32, u32) {
        self.row().0
    }

    /// The address of a function of libamdhip64 that behaves as in this version.
    #[must_use]
    pub fn symbol(self, name: &str) -> Option<*const c_void> {
        match name {
            "hipRuntimeGetVersion" | "hipDriverGetVersion" => Some(self.row().1 as *const c_void),
            "hipInit" if self < Self::V6_4 => Some(init_of_5 as *const c_void),
            "hipModuleLaunchKernel" if self < Self::V7_0 => Some(launch::<false> as *const c_void),
            "hipModuleLaunchKernel" => Some(launch::<true> as *const c_void),
            _ => hip_symbol(name),
        }
    }

    /// Major and minor version, and the function that returns them.
    fn row(self) -> ((u32, u32), GetVersion) {
        match self {
            Self::V5_1 => ((5, 1), version::<50_100_000>),
            Self::V5_7 => ((5, 7), version::<50_700_000>),
            Self::V6_4 => ((6, 4), version::<60_400_000>),
            Self::V7_0 => ((7, 0), version::<70_000_000>),
        }
    }
}

/// Replaces the function that returns the version.
///
/// # Safety
/// The conditions of the C function.
unsafe extern "C" fn version<const NUMBER: c_int>(version: Out<c_int>) -> c_int {
    version.set(NUMBER).map_or_else(|code| code.0, |()| 0)
}

/// `hipInit` of ROCm 5.
///
/// # Safety
/// The conditions of the C function.
unsafe extern "C" fn init_of_5(flags: c_uint) -> c_int {
    // SAFETY: the caller guarantees the conditions.
    match unsafe { hipInit(flags) } {
        code if code == Code::NO_DEVICE.0 => Code::INVALID_DEVICE.0,
        code => code,
    }
}

/// `hipModuleLaunchKernel` before and since ROCm 7.
///
/// # Safety
/// The conditions of the C function.
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
    // SAFETY: the caller guarantees the conditions.
    let code = unsafe {
        hipModuleLaunchKernel(
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
    let too_wide = is_too_wide([grid_x, grid_y, grid_z], block);
    let block = block.map(u64::from);
    let too_many = block.into_iter().fold(1, u64::saturating_mul) > MAX_THREADS;
    match Code(code) {
        Code::INVALID_CONFIGURATION if !(too_wide || SINCE_7 && too_many) => Code::INVALID_VALUE.0,
        _ => code,
    }
}
