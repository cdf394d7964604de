//! The contexts of CUDA. HIP has none: a device is current per thread.

use std::ffi::{c_int, c_uint};

use super::device::{check_initialized, enter};
use crate::{
    code::Code, context, entry::driver_functions, peer, pointer::Out, state::WorldState, worlds,
};

driver_functions! {
    /// Retains the primary context.
    fn [Cuda cuDevicePrimaryCtxRetain](context: Out<usize>, device: c_int) |call| {
        context.set(enter(call, device)?.retain_context()?)?;
    }

    /// Releases the primary context. The last release destroys everything in it.
    fn [Cuda cuDevicePrimaryCtxRelease_v2](device: c_int) |call| {
        let state = enter(call, device)?;
        let ordinal = state.ordinal;
        peer::wait(state, WorldState::release_context).inspect_err(|code| {
            // Work that never ends must not keep the context.
            if *code == Code::LAUNCH_TIMEOUT
                && let Ok(mut state) = worlds::lock(ordinal)
            {
                state.lose(Code::LAUNCH_TIMEOUT);
                let _released = state.release_context();
            }
        })?;
    }

    /// The thread's current context.
    fn [Cuda cuCtxGetCurrent](context: Out<usize>) |call| {
        check_initialized(call)?;
        if let Ok(world) = context::cuda_world() {
            drop(call.enter_lost(world)?);
        }
        context.set(context::current())?;
    }

    /// Replaces the thread's current context.
    fn [Cuda cuCtxSetCurrent](context: usize) |call| {
        check_initialized(call)?;
        if context != 0 {
            drop(call.enter_lost(context::world_of(context)?)?);
        }
        context::replace(context)?;
    }

    /// Makes a context current and keeps the previous one on the stack.
    fn [Cuda cuCtxPushCurrent_v2](context: usize) |call| {
        check_initialized(call)?;
        drop(call.enter_lost(context::world_of(context)?)?);
        context::push(context)?;
    }

    /// Removes the current context. The pointer may be null.
    fn [Cuda cuCtxPopCurrent_v2](context: Out<usize>) |call| {
        check_initialized(call)?;
        if let Ok(world) = context::cuda_world() {
            drop(call.enter_lost(world)?);
        }
        let popped = context::pop().ok_or(Code::INVALID_CONTEXT)?;
        if !context.is_null() {
            context.set(popped)?;
        }
    }

    /// Lets the current context access the memory of another one. The simulator's kernels still cannot.
    fn [Cuda cuCtxEnablePeerAccess](context: usize, flags: c_uint) |call| {
        let mut state = call.here()?;
        let own = state.ordinal;
        drop(state);
        let peer = context::world_of(context)?;
        state = worlds::lock(own)?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE.into());
        }
        state.enable_peer(peer)?;
    }

    /// The device of the current context.
    fn [Cuda cuCtxGetDevice](device: Out<c_int>) |call| {
        check_initialized(call)?;
        device.set(c_int::from(context::cuda_world()?))?;
    }
}
