//! The current context of a thread: a stack of contexts for CUDA, a device for HIP.

use std::cell::Cell;

use crate::{
    code::{Code, Result},
    handle::{HandleKind, decode},
    worlds,
};

/// The largest depth of the context stack.
const DEPTH: usize = 16;

// No value here needs dropping, so these thread-locals work until the end of the thread, when other thread-local values
// release device objects.
thread_local! {
    static CONTEXTS: Cell<([usize; DEPTH], usize)> = const { Cell::new(([0; DEPTH], 0)) };
    static DEVICE: Cell<u16> = const { Cell::new(0) };
}

/// The handle of the current context; 0 for none.
pub(crate) fn current() -> usize {
    let (stack, depth) = CONTEXTS.get();
    depth.checked_sub(1).map_or(0, |top| stack[top])
}

pub(crate) fn push(context: usize) -> Result<()> {
    let (mut stack, depth) = CONTEXTS.get();
    *stack.get_mut(depth).ok_or(Code::OUT_OF_MEMORY)? = context;
    CONTEXTS.set((stack, depth + 1));
    Ok(())
}

pub(crate) fn pop() -> Option<usize> {
    let (stack, depth) = CONTEXTS.get();
    let top = depth.checked_sub(1)?;
    CONTEXTS.set((stack, top));
    Some(stack[top])
}

/// Replaces the current context; 0 removes it.
pub(crate) fn replace(context: usize) -> Result<()> {
    pop();
    if context == 0 { Ok(()) } else { push(context) }
}

pub(crate) fn cuda_world() -> Result<u16> {
    match current() {
        0 => Err(Code::INVALID_CONTEXT),
        context => world_of(context),
    }
}

pub(crate) fn world_of(context: usize) -> Result<u16> {
    let (ordinal, key) = decode(HandleKind::Context, context).map_err(|_| Code::INVALID_CONTEXT)?;
    let state = worlds::lock(ordinal)?;
    state.contexts.get(key).map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
    Ok(ordinal)
}

/// The thread's current device.
pub(crate) fn hip_device() -> Result<u16> {
    let device = DEVICE.get();
    worlds::exists(device).then_some(device).ok_or(Code::NO_DEVICE)
}

pub(crate) fn set_hip_device(device: u16) {
    DEVICE.set(device);
}
