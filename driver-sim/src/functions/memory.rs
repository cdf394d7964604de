//! Memory, copies and fills.

use std::ffi::{c_int, c_uint, c_void};

use super::device;
use crate::{
    code::Code,
    context,
    copy_shape::CopyShape,
    entry::{ApiCall, Family, Stop, driver_functions},
    handle::{HandleKind, decode, encode},
    memory::{DEVICE_BASE, Memory},
    op::OpKind,
    peer,
    pointer::{Array, HostSource, HostTarget, Out},
    worlds::exists,
};

/// Pointer attributes, which both drivers give the same numbers.
const CONTEXT: c_int = 1;
const IS_MANAGED: c_int = 8;
const ORDINAL: c_int = 9;
const RANGE_START: c_int = 11;
const RANGE_SIZE: c_int = 12;

driver_functions! {
    /// Free and total memory.
    fn [Cuda cuMemGetInfo_v2, Hip hipMemGetInfo](free: Out<usize>, total: Out<usize>) |call| {
        let state = call.here()?;
        free.set(state.memory.available())?;
        total.set(state.memory.limit)?;
    }

    /// Allocates device memory.
    fn [Cuda cuMemAlloc_v2, Hip hipMalloc](memory: Out<u64>, bytes: usize) |call| {
        memory.set(call.here()?.alloc(call.name(), bytes)?)?;
    }

    /// Frees device memory. HIP allows a null pointer.
    fn [Cuda cuMemFree_v2, Hip hipFree](memory: u64) |call| {
        let mut state = call.here()?;
        if memory != 0 || call.family == Family::Cuda {
            state.free(call.name(), memory)?;
        }
    }

    /// Allocates device memory in stream order.
    fn [Cuda cuMemAllocAsync, Hip hipMallocAsync](memory: Out<u64>, bytes: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        memory.set(state.alloc_async(call.name(), bytes, stream)?)?;
    }

    /// Frees device memory in stream order.
    fn [Cuda cuMemFreeAsync, Hip hipFreeAsync](memory: u64, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        state.free_async(call.name(), memory, stream)?;
    }

    /// Sets an attribute of a pool. The simulator ignores it: memory is always reused as early as possible, and never
    /// by an inserted wait.
    fn [Cuda cuMemPoolSetAttribute, Hip hipMemPoolSetAttribute](
        pool: usize,
        attribute: c_int,
        _value: *mut c_void,
    ) |call| {
        call.here()?.check_pool(pool)?;
        if !(1..=8).contains(&attribute) {
            return Err(Code::INVALID_VALUE.into());
        }
    }

    /// Lets devices access the memory of a pool: for each, the number 1 for a device, its ordinal, and the access. The
    /// simulator's copies need no access, and its kernels have none.
    fn [Cuda cuMemPoolSetAccess](pool: usize, devices: Array<[c_int; 3]>, count: usize) |call| {
        let (world, _) = decode(HandleKind::Pool, pool).map_err(|_| Code::INVALID_VALUE)?;
        let state = call.enter(world)?;
        state.check_pool(pool)?;
        let own = state.ordinal;
        drop(state);
        for [location, ordinal, flags] in devices.read(count)? {
            let ordinal = device::ordinal_of(call, ordinal)?;
            // A device cannot lose the access to its own memory.
            if location != 1 || !matches!(flags, 0 | 1 | 3) || (ordinal == own && flags != 3) {
                return Err(Code::INVALID_VALUE.into());
            }
        }
    }

    /// An attribute of the memory at an address, which may be memory of another world.
    fn [Cuda cuPointerGetAttribute, Hip hipPointerGetAttribute](
        value: *mut c_void,
        attribute: c_int,
        memory: u64,
    ) |call| {
        let state = match Memory::world_of(memory).filter(|world| exists(*world)) {
            Some(world) => call.enter_lost(world)?,
            None => call.here()?,
        };
        let (start, bytes) = state.memory.allocation(memory).ok_or(Code::INVALID_VALUE)?;
        let context = state.context.map_or(0, |key| encode(HandleKind::Context, state.ordinal, key));
        match (attribute, call.family) {
            (CONTEXT, Family::Cuda) => Out::within(value.cast()).set(context)?,
            (IS_MANAGED, _) => Out::within(value.cast()).set(memory < DEVICE_BASE)?,
            (ORDINAL, _) => Out::within(value.cast()).set(c_int::from(state.ordinal))?,
            (RANGE_START, _) => Out::within(value.cast()).set(start)?,
            (RANGE_SIZE, _) => Out::within(value.cast()).set(bytes)?,
            _ => return Err(Code::NOT_SUPPORTED.into()),
        }
    }

    /// Allocates pinned memory.
    fn [Cuda cuMemHostAlloc, Hip hipHostMalloc](memory: Out<usize>, bytes: usize, _flags: c_uint) |call| {
        memory.set(call.here()?.alloc_pinned(bytes)?)?;
    }

    /// Frees pinned memory. HIP allows a null pointer.
    fn [Cuda cuMemFreeHost, Hip hipHostFree](memory: usize) |call| {
        let mut state = call.here()?;
        if memory != 0 || call.family == Family::Cuda {
            state.free_pinned(call.name(), memory)?;
        }
    }

    /// Copies from host to device in stream order.
    fn [Cuda cuMemcpyHtoDAsync_v2, Hip hipMemcpyHtoDAsync](
        dst: u64,
        src: HostSource,
        bytes: usize,
        stream: usize,
    ) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        if state.is_device_accessible(src.address()) {
            state.copy(OpKind::CopyHtod, dst, src.address() as u64, CopyShape::one(bytes), stream)?;
        } else {
            state.upload(stream, dst, src.bytes(bytes)?.into(), CopyShape::one(bytes))?;
        }
    }

    /// Copies from device to host in stream order.
    fn [Cuda cuMemcpyDtoHAsync_v2, Hip hipMemcpyDtoHAsync](
        dst: HostTarget,
        src: u64,
        bytes: usize,
        stream: usize,
    ) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        if state.is_device_accessible(dst.address()) {
            state.copy(OpKind::CopyDtoh, dst.address() as u64, src, CopyShape::one(bytes), stream)?;
        } else {
            let (id, mut dst) = (state.begin_download(stream)?, dst);
            let target = dst.bytes(bytes)?;
            let rows = CopyShape::one(bytes);
            peer::wait(state, |state| state.download((id, stream), src, rows, target))?;
        }
    }

    /// Copies within the device in stream order.
    fn [Cuda cuMemcpyDtoDAsync_v2, Hip hipMemcpyDtoDAsync](
        dst: u64,
        src: u64,
        bytes: usize,
        stream: usize,
    ) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        state.copy(OpKind::CopyDtod, dst, src, CopyShape::one(bytes), stream)?;
    }

    /// Copies from the memory of one context to that of another one, in stream order. The stream must be of the
    /// target's context, which is current.
    fn [Cuda cuMemcpyPeerAsync](
        dst: u64,
        dst_context: usize,
        src: u64,
        src_context: usize,
        bytes: usize,
        stream: usize,
    ) |call| {
        let worlds = [context::world_of(dst_context)?, context::world_of(src_context)?];
        copy_between(call, worlds, [dst, src], bytes, stream)?;
    }

    /// The same between devices.
    fn [Hip hipMemcpyPeerAsync](
        dst: u64,
        dst_device: c_int,
        src: u64,
        src_device: c_int,
        bytes: usize,
        stream: usize,
    ) |call| {
        let worlds = [device::ordinal_of(call, dst_device)?, device::ordinal_of(call, src_device)?];
        copy_between(call, worlds, [dst, src], bytes, stream)?;
    }

    /// Fills bytes in stream order.
    fn [Cuda cuMemsetD8Async, Hip hipMemsetD8Async](dst: u64, value: u8, bytes: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        state.fill(dst, u32::from(value), 1, bytes, stream)?;
    }

    /// Fills 32-bit words in stream order. HIP declares the value as `int`, which C passes in the same way.
    fn [Cuda cuMemsetD32Async, Hip hipMemsetD32Async](dst: u64, value: c_uint, words: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        state.fill(dst, value, 4, words, stream)?;
    }
}

/// Enqueues a copy to the first world, which must be the stream's, from the second one.
fn copy_between(
    call: &ApiCall,
    [target, source]: [u16; 2],
    [dst, src]: [u64; 2],
    bytes: usize,
    stream: usize,
) -> Result<(), Stop> {
    let (state, stream) = call.on_stream(stream)?;
    if state.ordinal != target {
        return Err(Code::NOT_SUPPORTED.into());
    }
    drop(state);
    Ok(peer::copy((target, dst), (source, src), bytes, stream)?)
}
