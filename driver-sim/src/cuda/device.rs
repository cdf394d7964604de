//! Initialization, devices and contexts.

use std::{
    ffi::{c_char, c_int, c_uint},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{
    code::{Code, Result},
    context,
    entry::{Stop, facade},
    launch::{MAX_BLOCK, MAX_GRID, MAX_SHARED, MAX_THREADS},
    pointer::Out,
    stream::PRIORITIES,
    worlds,
};

static INITIALIZED: AtomicBool = AtomicBool::new(false);

/// CUDA 13.0.
const VERSION: c_int = 13_000;

facade! { Cuda;
    /// Initializes the driver.
    fn cuInit(flags: c_uint) |_call| {
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        if worlds::count() == 0 {
            return Err(Code::NO_DEVICE.into());
        }
        INITIALIZED.store(true, Ordering::Relaxed);
    }

    /// The driver's version. Works without initialization.
    fn cuDriverGetVersion(version: Out<c_int>) |_call| {
        version.set(VERSION)?;
    }

    /// The name of a result code. Works without initialization.
    fn cuGetErrorName(error: c_int, name: Out<*const c_char>) |_call| {
        match Code(error).cuda_name() {
            Some(text) => name.set(text.as_ptr())?,
            None => return Err(Code::INVALID_VALUE.into()),
        }
    }

    /// The description of a result code; the simulator returns its name.
    fn cuGetErrorString(error: c_int, text: Out<*const c_char>) |_call| {
        match Code(error).cuda_name() {
            Some(name) => text.set(name.as_ptr())?,
            None => return Err(Code::INVALID_VALUE.into()),
        }
    }

    /// Counts the devices.
    fn cuDeviceGetCount(count: Out<c_int>) |_call| {
        initialized()?;
        count.set(worlds::count() as c_int)?;
    }

    /// The device of an ordinal.
    fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) |_call| {
        initialized()?;
        device.set(c_int::from(ordinal_of(ordinal)?))?;
    }

    /// A device's name.
    fn cuDeviceGetName(name: Out<c_char>, bytes: c_int, device: c_int) |call| {
        drop(call.enter_lost(ordinal_of(device)?)?);
        name.set_text("Simulated CUDA device", usize::try_from(bytes).unwrap_or(0))?;
    }

    /// A device attribute.
    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) |call| {
        let state = call.enter_lost(ordinal_of(device)?)?;
        value.set(attribute_of(attribute, state.pools)?)?;
    }

    /// A device's memory.
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) |call| {
        let state = call.enter_lost(ordinal_of(device)?)?;
        bytes.set(state.memory.limit)?;
    }

    /// The default memory pool. Its handle can only be used to set attributes.
    fn cuDeviceGetDefaultMemPool(pool: Out<usize>, device: c_int) |call| {
        let state = call.enter_lost(ordinal_of(device)?)?;
        if !state.pools {
            return Err(Code::NOT_SUPPORTED.into());
        }
        pool.set(state.pool_handle())?;
    }

    /// Retains the primary context.
    fn cuDevicePrimaryCtxRetain(context: Out<usize>, device: c_int) |call| {
        let mut state = call.enter_lost(ordinal_of(device)?)?;
        context.set(state.retain_context()?)?;
    }

    /// Releases the primary context. The last release destroys everything in it.
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) |call| {
        call.enter_lost(ordinal_of(device)?)?.release_context()?;
    }

    /// The thread's current context.
    fn cuCtxGetCurrent(context: Out<usize>) |call| {
        initialized()?;
        if let Ok(world) = context::cuda_world() {
            drop(call.enter_lost(world)?);
        }
        context.set(context::current())?;
    }

    /// Replaces the thread's current context.
    fn cuCtxSetCurrent(context: usize) |call| {
        initialized()?;
        if context != 0 {
            drop(call.enter_lost(context::world_of(context)?)?);
        }
        context::replace(context)?;
    }

    /// Makes a context current and keeps the previous one on the stack.
    fn cuCtxPushCurrent_v2(context: usize) |call| {
        initialized()?;
        drop(call.enter_lost(context::world_of(context)?)?);
        context::push(context)?;
    }

    /// Removes the current context.
    fn cuCtxPopCurrent_v2(context: Out<usize>) |call| {
        initialized()?;
        if let Ok(world) = context::cuda_world() {
            drop(call.enter_lost(world)?);
        }
        let popped = context::pop().ok_or(Code::INVALID_CONTEXT)?;
        // The output pointer may be null.
        if !context.is_null() {
            context.set(popped)?;
        }
    }

    /// The device of the current context.
    fn cuCtxGetDevice(device: Out<c_int>) |_call| {
        initialized()?;
        device.set(c_int::from(context::cuda_world()?))?;
    }

    /// Waits for all work.
    fn cuCtxSynchronize() |call| {
        call.here()?.synchronize()?;
    }

    /// The lowest and the highest stream priority.
    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) |call| {
        drop(call.here()?);
        if !least.is_null() {
            least.set(PRIORITIES.0)?;
        }
        if !greatest.is_null() {
            greatest.set(PRIORITIES.1)?;
        }
    }
}

fn initialized() -> Result<()> {
    if INITIALIZED.load(Ordering::Relaxed) { Ok(()) } else { Err(Code::NOT_INITIALIZED) }
}

fn ordinal_of(device: c_int) -> std::result::Result<u16, Stop> {
    initialized()?;
    let ordinal = u16::try_from(device).ok().filter(|&ordinal| worlds::exists(ordinal));
    ordinal.ok_or_else(|| Code::INVALID_DEVICE.into())
}

/// The numbers of `CUdevice_attribute`.
fn attribute_of(attribute: c_int, pools: bool) -> Result<c_int> {
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
        // Compute capability 9.0.
        75 => 9,
        76 => 0,
        115 => c_int::from(pools),
        other if (1..=150).contains(&other) => 0,
        _ => return Err(Code::INVALID_VALUE),
    })
}
