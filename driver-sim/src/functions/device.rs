//! Initialization and devices.

use std::{
    ffi::{c_char, c_int, c_uint},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    code::{Code, Result},
    context,
    entry::{ApiCall, Family, Stop, driver_functions},
    launch::{
        MAX_BLOCK, MAX_GRID, MAX_SHARED, MAX_SHARED_HIP, MAX_SHARED_OPTIN, MAX_THREADS,
        RESIDENT_THREADS,
    },
    peer,
    pointer::Out,
    state::WorldState,
    stream::PRIORITIES,
    worlds::{self, WorldGuard},
};

/// Whether `cuInit` was called.
static CUDA_INITIALIZED: AtomicBool = AtomicBool::new(false);

/// CUDA 13.0.
const CUDA_VERSION: c_int = 13_000;
/// ROCm 6.4.0.
const HIP_VERSION: c_int = 60_400_000;
const CUDA_NAME: &str = "Simulated CUDA device";
const HIP_NAME: &str = "Simulated HIP device";
/// With modes, as a real device reports it.
const HIP_ARCH: &str = "gfx90a:sramecc+:xnack-";
/// The offset of `gcnArchName` in `hipDeviceProp_tR0600` and the struct's size.
const R0600: (usize, usize) = (1160, 1472);
/// The offset of `gcnArchName` in ROCm 5's `hipDeviceProp_t` and the struct's size.
const R0000: (usize, usize) = (396, 792);
const NAME_BYTES: usize = 256;

driver_functions! {
    /// Initializes the driver. In HIP every other call does so too.
    fn [Cuda cuInit, Hip hipInit](flags: c_uint) |call| {
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        any_device()?;
        if call.family == Family::Cuda {
            CUDA_INITIALIZED.store(true, Ordering::Relaxed);
        }
    }

    /// The version of the driver or the runtime. Works without initialization.
    fn [Cuda cuDriverGetVersion, Hip hipDriverGetVersion, Hip hipRuntimeGetVersion](version: Out<c_int>) |call| {
        version.set(match call.family {
            Family::Cuda => CUDA_VERSION,
            Family::Hip => HIP_VERSION,
        })?;
    }

    /// The name of a result code, which the simulator also returns as the description. Works without initialization.
    fn [Cuda cuGetErrorName, Cuda cuGetErrorString](error: c_int, text: Out<*const c_char>) |_call| {
        text.set(Code(error).cuda_name().ok_or(Code::INVALID_VALUE)?.as_ptr())?;
    }

    /// Counts the devices.
    fn [Cuda cuDeviceGetCount, Hip hipGetDeviceCount](count: Out<c_int>) |call| {
        check_initialized(call)?;
        count.set(worlds::count() as c_int)?;
    }

    /// The device of an ordinal.
    fn [Cuda cuDeviceGet, Hip hipDeviceGet](device: Out<c_int>, ordinal: c_int) |call| {
        device.set(c_int::from(ordinal_of(call, ordinal)?))?;
    }

    /// A device's name.
    fn [Cuda cuDeviceGetName, Hip hipDeviceGetName](name: Out<c_char>, bytes: c_int, device: c_int) |call| {
        drop(enter(call, device)?);
        let text = match call.family {
            Family::Cuda => CUDA_NAME,
            Family::Hip => HIP_NAME,
        };
        name.set_text(text, usize::try_from(bytes).unwrap_or(0))?;
    }

    /// A device attribute.
    fn [Cuda cuDeviceGetAttribute, Hip hipDeviceGetAttribute](
        value: Out<c_int>,
        attribute: c_int,
        device: c_int,
    ) |call| {
        let state = enter(call, device)?;
        value.set(match call.family {
            Family::Cuda => cuda_attribute(attribute, state.pools)?,
            Family::Hip => hip_attribute(attribute, state.pools)?,
        })?;
    }

    /// A device's memory.
    fn [Cuda cuDeviceTotalMem_v2, Hip hipDeviceTotalMem](bytes: Out<usize>, device: c_int) |call| {
        bytes.set(enter(call, device)?.memory.limit)?;
    }

    /// A device's properties in the struct of ROCm 6. Only names are set.
    fn [Hip hipGetDevicePropertiesR0600](properties: Out<c_char>, device: c_int) |call| {
        drop(enter(call, device)?);
        describe(properties, R0600)?;
    }

    /// A device's properties in the struct of ROCm 5. Only names are set.
    fn [Hip hipGetDeviceProperties](properties: Out<c_char>, device: c_int) |call| {
        drop(enter(call, device)?);
        describe(properties, R0000)?;
    }

    /// Whether a device can access the memory of another one: any can.
    fn [Cuda cuDeviceCanAccessPeer, Hip hipDeviceCanAccessPeer](can: Out<c_int>, device: c_int, other: c_int) |call| {
        let (device, other) = (ordinal_of(call, device)?, ordinal_of(call, other)?);
        drop(call.enter_lost(device)?);
        can.set(c_int::from(device != other))?;
    }

    /// Lets the current device access the memory of another one. The simulator's kernels still cannot.
    fn [Hip hipDeviceEnablePeerAccess](device: c_int, flags: c_uint) |call| {
        let peer = ordinal_of(call, device)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        call.here()?.enable_peer(peer)?;
    }

    /// The default memory pool. Its handle can only be used to set attributes.
    fn [Cuda cuDeviceGetDefaultMemPool, Hip hipDeviceGetDefaultMemPool](pool: Out<usize>, device: c_int) |call| {
        let state = enter(call, device)?;
        if !state.pools {
            return Err(Code::NOT_SUPPORTED.into());
        }
        pool.set(state.pool_handle())?;
    }

    /// Makes a device the thread's current one.
    fn [Hip hipSetDevice](device: c_int) |call| {
        let ordinal = ordinal_of(call, device)?;
        drop(call.enter_lost(ordinal)?);
        context::set_hip_device(ordinal);
    }

    /// The thread's current device.
    fn [Hip hipGetDevice](device: Out<c_int>) |call| {
        let ordinal = context::hip_device()?;
        drop(call.enter_lost(ordinal)?);
        device.set(c_int::from(ordinal))?;
    }

    /// Waits for all work.
    fn [Cuda cuCtxSynchronize, Hip hipDeviceSynchronize]() |call| {
        peer::wait(call.here()?, WorldState::synchronize)?;
    }

    /// The lowest and the highest stream priority. CUDA allows null pointers.
    fn [Cuda cuCtxGetStreamPriorityRange, Hip hipDeviceGetStreamPriorityRange](
        least: Out<c_int>,
        greatest: Out<c_int>,
    ) |call| {
        drop(call.here()?);
        for (out, priority) in [(least, PRIORITIES.0), (greatest, PRIORITIES.1)] {
            if !out.is_null() || call.family == Family::Hip {
                out.set(priority)?;
            }
        }
    }
}

/// Writes a whole struct of properties, as the runtime does, so that a struct of the caller that is too small is
/// detected.
fn describe(properties: Out<c_char>, (arch, bytes): (usize, usize)) -> Result<()> {
    properties.offset(0).set_all(&vec![0; bytes])?;
    properties.offset(arch).set_text(HIP_ARCH, NAME_BYTES)?;
    properties.set_text(HIP_NAME, NAME_BYTES)
}

fn any_device() -> Result<()> {
    if worlds::count() == 0 { Err(Code::NO_DEVICE) } else { Ok(()) }
}

pub(super) fn check_initialized(call: &ApiCall) -> Result<()> {
    match call.family {
        Family::Cuda if !CUDA_INITIALIZED.load(Ordering::Relaxed) => Err(Code::NOT_INITIALIZED),
        Family::Cuda => Ok(()),
        Family::Hip => any_device(),
    }
}

pub(super) fn ordinal_of(call: &ApiCall, device: c_int) -> Result<u16> {
    check_initialized(call)?;
    let ordinal = u16::try_from(device).ok().filter(|&ordinal| worlds::exists(ordinal));
    ordinal.ok_or(Code::INVALID_DEVICE)
}

/// Enters the world of a device, even if its context is lost.
pub(super) fn enter(call: &ApiCall, device: c_int) -> Result<WorldGuard, Stop> {
    call.enter_lost(ordinal_of(call, device)?)
}

/// The numbers of `CUdevice_attribute`.
fn cuda_attribute(attribute: c_int, pools: bool) -> Result<c_int> {
    Ok(match attribute {
        1 => MAX_THREADS as c_int,
        axis @ 2..=4 => MAX_BLOCK[axis as usize - 2] as c_int,
        axis @ 5..=7 => MAX_GRID[axis as usize - 5] as c_int,
        // Shared memory per block, warp size, clock rate, multiprocessors.
        8 => MAX_SHARED as c_int,
        10 => 32,
        13 => 1_000_000,
        16 => 8,
        // Concurrent kernels, unified addressing.
        31 | 41 => 1,
        // Memory clock in kHz, width of the memory bus in bits, threads per multiprocessor.
        36 => 1_000_000,
        37 => 1024,
        39 => RESIDENT_THREADS as c_int,
        // Compute capability 9.0.
        75 => 9,
        76 => 0,
        97 => MAX_SHARED_OPTIN as c_int,
        115 => c_int::from(pools),
        other if (1..=150).contains(&other) => 0,
        _ => return Err(Code::INVALID_VALUE),
    })
}

/// The numbers of `hipDeviceAttribute_t`.
fn hip_attribute(attribute: c_int, pools: bool) -> Result<c_int> {
    Ok(match attribute {
        axis @ 26..=28 => MAX_BLOCK[axis as usize - 26] as c_int,
        axis @ 29..=31 => MAX_GRID[axis as usize - 29] as c_int,
        // Clock, threads per block and per multiprocessor, width of the memory bus, memory clock, multiprocessors.
        5 | 60 => 1_000_000,
        56 => MAX_THREADS as c_int,
        57 => RESIDENT_THREADS as c_int,
        59 => 1024,
        63 => 8,
        // Shared memory per block, warp size, memory pools.
        74 => MAX_SHARED_HIP as c_int,
        87 => 64,
        88 => c_int::from(pools),
        other if (0..=200).contains(&other) => 0,
        _ => return Err(Code::INVALID_VALUE),
    })
}
