//! Initialization and devices. In HIP a device is current per thread; there are no explicit contexts.

use std::ffi::{c_char, c_int, c_uint};

use crate::{
    code::{Code, Result},
    context,
    entry::facade,
    launch::{MAX_BLOCK, MAX_GRID, MAX_SHARED, MAX_THREADS},
    pointer::Out,
    stream::PRIORITIES,
    worlds,
};

/// ROCm 6.4.0.
const VERSION: c_int = 60_400_000;
/// With modes, as a real device reports it.
const ARCH: &str = "gfx90a:sramecc+:xnack-";
const NAME: &str = "Simulated HIP device";
/// The offset and length of `gcnArchName` in `hipDeviceProp_tR0600`.
const R0600: (usize, usize) = (1160, 1472);
/// The offset of `gcnArchName` in ROCm 5's `hipDeviceProp_t`.
const R0000: (usize, usize) = (396, 792);
const NAME_BYTES: usize = 256;

facade! { Hip;
    /// Initializes the runtime. Every other call does so too.
    fn hipInit(flags: c_uint) |_call| {
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        any_device()?;
    }

    /// The runtime's version.
    fn hipRuntimeGetVersion(version: Out<c_int>) |_call| {
        version.set(VERSION)?;
    }

    /// The driver's version.
    fn hipDriverGetVersion(version: Out<c_int>) |_call| {
        version.set(VERSION)?;
    }

    /// Counts the devices.
    fn hipGetDeviceCount(count: Out<c_int>) |_call| {
        any_device()?;
        count.set(worlds::count() as c_int)?;
    }

    /// Makes a device the thread's current one.
    fn hipSetDevice(ordinal: c_int) |call| {
        let ordinal = ordinal_of(ordinal)?;
        drop(call.enter_lost(ordinal)?);
        context::set_hip_device(ordinal);
    }

    /// The thread's current device.
    fn hipGetDevice(ordinal: Out<c_int>) |call| {
        let device = context::hip_device()?;
        drop(call.enter_lost(device)?);
        ordinal.set(c_int::from(device))?;
    }

    /// The device of an ordinal.
    fn hipDeviceGet(device: Out<c_int>, ordinal: c_int) |_call| {
        device.set(c_int::from(ordinal_of(ordinal)?))?;
    }

    /// A device's name.
    fn hipDeviceGetName(name: Out<c_char>, bytes: c_int, device: c_int) |call| {
        drop(call.enter_lost(ordinal_of(device)?)?);
        name.set_text(NAME, usize::try_from(bytes).unwrap_or(0))?;
    }

    /// A device attribute.
    fn hipDeviceGetAttribute(value: Out<c_int>, attribute: c_int, ordinal: c_int) |call| {
        let state = call.enter_lost(ordinal_of(ordinal)?)?;
        value.set(attribute_of(attribute, state.pools)?)?;
    }

    /// A device's memory.
    fn hipDeviceTotalMem(bytes: Out<usize>, device: c_int) |call| {
        let state = call.enter_lost(ordinal_of(device)?)?;
        bytes.set(state.memory.limit)?;
    }

    /// A device's properties in the struct of ROCm 6. Only names are set.
    fn hipGetDevicePropertiesR0600(properties: Out<c_char>, ordinal: c_int) |call| {
        drop(call.enter_lost(ordinal_of(ordinal)?)?);
        describe(properties, R0600)?;
    }

    /// A device's properties in the struct of ROCm 5. Only names are set.
    fn hipGetDeviceProperties(properties: Out<c_char>, ordinal: c_int) |call| {
        drop(call.enter_lost(ordinal_of(ordinal)?)?);
        describe(properties, R0000)?;
    }

    /// The default memory pool. Its handle can only be used to set attributes.
    fn hipDeviceGetDefaultMemPool(pool: Out<usize>, ordinal: c_int) |call| {
        let state = call.enter_lost(ordinal_of(ordinal)?)?;
        if !state.pools {
            return Err(Code::NOT_SUPPORTED.into());
        }
        pool.set(state.pool_handle())?;
    }

    /// Waits for all work.
    fn hipDeviceSynchronize() |call| {
        call.here()?.synchronize()?;
    }

    /// The lowest and the highest stream priority.
    fn hipDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) |call| {
        drop(call.here()?);
        least.set(PRIORITIES.0)?;
        greatest.set(PRIORITIES.1)?;
    }
}

/// Writes a whole struct of properties, as the runtime does, so that a struct of the caller that is too small is
/// detected.
fn describe(properties: Out<c_char>, (arch, bytes): (usize, usize)) -> Result<()> {
    properties.offset(0).set_all(&vec![0; bytes])?;
    properties.offset(arch).set_text(ARCH, NAME_BYTES)?;
    properties.set_text(NAME, NAME_BYTES)
}

fn any_device() -> Result<()> {
    if worlds::count() == 0 { Err(Code::NO_DEVICE) } else { Ok(()) }
}

fn ordinal_of(device: c_int) -> Result<u16> {
    any_device()?;
    let ordinal = u16::try_from(device).ok().filter(|&ordinal| worlds::exists(ordinal));
    ordinal.ok_or(Code::INVALID_DEVICE)
}

/// The numbers of `hipDeviceAttribute_t`.
fn attribute_of(attribute: c_int, pools: bool) -> Result<c_int> {
    Ok(match attribute {
        axis @ 26..=28 => MAX_BLOCK[axis as usize - 26] as c_int,
        axis @ 29..=31 => MAX_GRID[axis as usize - 29] as c_int,
        56 => MAX_THREADS as c_int,
        63 => 8,
        // Shared memory per block, warp size, memory pools.
        74 => MAX_SHARED as c_int,
        87 => 64,
        88 => c_int::from(pools),
        other if (0..=200).contains(&other) => 0,
        _ => return Err(Code::INVALID_VALUE),
    })
}
