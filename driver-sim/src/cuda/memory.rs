//! Memory, copies and fills.

use std::ffi::{c_int, c_uint, c_void};

use crate::{
    code::Code,
    entry::facade,
    op::OpKind,
    pointer::{Out, Source, Target},
};

facade! { Cuda;
    /// Free and total memory.
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) |call| {
        let state = call.here()?;
        free.set(state.memory.available())?;
        total.set(state.memory.limit)?;
    }

    /// Allocates device memory.
    fn cuMemAlloc_v2(memory: Out<u64>, bytes: usize) |call| {
        memory.set(call.here()?.alloc(call.name(), bytes)?)?;
    }

    /// Frees device memory.
    fn cuMemFree_v2(memory: u64) |call| {
        call.here()?.free(call.name(), memory)?;
    }

    /// Allocates device memory in stream order.
    fn cuMemAllocAsync(memory: Out<u64>, bytes: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        memory.set(state.alloc_async(call.name(), bytes, stream)?)?;
    }

    /// Frees device memory in stream order.
    fn cuMemFreeAsync(memory: u64, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        state.free_async(call.name(), memory, stream)?;
    }

    /// Sets an attribute of a pool. The simulator ignores it: memory is always reused as early as possible, and never
    /// by an inserted wait.
    fn cuMemPoolSetAttribute(pool: usize, attribute: c_int, _value: *mut c_void) |call| {
        call.here()?.check_pool(pool)?;
        if !(1..=8).contains(&attribute) {
            return Err(Code::INVALID_VALUE.into());
        }
    }

    /// Allocates pinned memory.
    fn cuMemHostAlloc(memory: Out<usize>, bytes: usize, _flags: c_uint) |call| {
        memory.set(call.here()?.alloc_pinned(bytes)?)?;
    }

    /// Frees pinned memory.
    fn cuMemFreeHost(memory: usize) |call| {
        call.here()?.free_pinned(call.name(), memory)?;
    }

    /// Copies from host to device in stream order.
    fn cuMemcpyHtoDAsync_v2(dst: u64, src: Source, bytes: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        if state.reachable(src.address()) {
            state.copy(OpKind::CopyHtod, dst, src.address() as u64, bytes, stream)?;
        } else {
            state.upload(stream, dst, src.bytes(bytes)?)?;
        }
    }

    /// Copies from device to host in stream order.
    fn cuMemcpyDtoHAsync_v2(dst: Target, src: u64, bytes: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        if state.reachable(dst.address()) {
            state.copy(OpKind::CopyDtoh, dst.address() as u64, src, bytes, stream)?;
        } else {
            let mut dst = dst;
            state.download(stream, src, dst.bytes(bytes)?)?;
        }
    }

    /// Copies within the device in stream order.
    fn cuMemcpyDtoDAsync_v2(dst: u64, src: u64, bytes: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        state.copy(OpKind::CopyDtod, dst, src, bytes, stream)?;
    }

    /// Fills bytes in stream order.
    fn cuMemsetD8Async(dst: u64, value: u8, bytes: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        state.fill(dst, u32::from(value), 1, bytes, stream)?;
    }

    /// Fills 32-bit words in stream order.
    fn cuMemsetD32Async(dst: u64, value: c_uint, words: usize, stream: usize) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        state.fill(dst, value, 4, words, stream)?;
    }
}
