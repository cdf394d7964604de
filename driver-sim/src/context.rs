//! What is current on a thread: a stack of contexts for CUDA, a device for HIP.

use std::cell::{Cell, RefCell};

use crate::{
    code::{Code, Result},
    handle::{Kind, decode},
    world,
};

thread_local! {
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static DEVICE: Cell<u16> = const { Cell::new(0) };
}

/// The current context's handle; 0 where there is none.
pub(crate) fn current() -> usize {
    CONTEXTS.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

pub(crate) fn push(context: usize) {
    CONTEXTS.with_borrow_mut(|stack| stack.push(context));
}

pub(crate) fn pop() -> Option<usize> {
    CONTEXTS.with_borrow_mut(Vec::pop)
}

/// Puts a context in the place of the current one; 0 only takes that away.
pub(crate) fn replace(context: usize) {
    pop();
    if context != 0 {
        push(context);
    }
}

/// The world of the current context.
pub(crate) fn cuda_world() -> Result<u16> {
    match current() {
        0 => Err(Code::INVALID_CONTEXT),
        context => world_of(context),
    }
}

/// The world of a context that lives.
pub(crate) fn world_of(context: usize) -> Result<u16> {
    let (ordinal, key) = decode(Kind::Context, context).map_err(|_| Code::INVALID_CONTEXT)?;
    let state = world::lock(ordinal)?;
    state.contexts.get(key).map_err(|_| Code::CONTEXT_IS_DESTROYED)?;
    Ok(ordinal)
}

/// The thread's current device.
pub(crate) fn hip_device() -> Result<u16> {
    let device = DEVICE.get();
    world::exists(device).then_some(device).ok_or(Code::NO_DEVICE)
}

pub(crate) fn set_hip_device(device: u16) {
    DEVICE.set(device);
}
