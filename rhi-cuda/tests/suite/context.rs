//! The current context and its lifetime.

use std::ffi::c_void;

use quadrants_driver_sim::{Code, cuda_symbol, lease_world};

use quadrants_rhi_cuda::rhi::LentContext;

use crate::gpu_backend::support::open;

type Handle = *mut c_void;

fn symbol(name: &str) -> *const c_void {
    cuda_symbol(name).unwrap()
}

fn current() -> Handle {
    // SAFETY: the C signature of the function.
    let get: extern "C" fn(*mut Handle) -> i32 =
        unsafe { std::mem::transmute(symbol("cuCtxGetCurrent")) };
    let mut context = std::ptr::null_mut();
    assert_eq!(get(&mut context), 0);
    context
}

fn retain(ordinal: usize) -> Handle {
    // SAFETY: the C signature of the function.
    let retain: extern "C" fn(*mut Handle, i32) -> i32 =
        unsafe { std::mem::transmute(symbol("cuDevicePrimaryCtxRetain")) };
    let mut context = std::ptr::null_mut();
    assert_eq!(retain(&mut context, ordinal as i32), 0);
    context
}

fn release(ordinal: usize) {
    // SAFETY: the C signature of the function.
    let release: extern "C" fn(i32) -> i32 =
        unsafe { std::mem::transmute(symbol("cuDevicePrimaryCtxRelease_v2")) };
    assert_eq!(release(ordinal as i32), 0);
}

fn push(context: Handle) {
    // SAFETY: the C signature of the function.
    let push: extern "C" fn(Handle) -> i32 =
        unsafe { std::mem::transmute(symbol("cuCtxPushCurrent_v2")) };
    assert_eq!(push(context), 0);
}

fn pop() -> Handle {
    // SAFETY: the C signature of the function.
    let pop: extern "C" fn(*mut Handle) -> i32 =
        unsafe { std::mem::transmute(symbol("cuCtxPopCurrent_v2")) };
    let mut context = std::ptr::null_mut();
    assert_eq!(pop(&mut context), 0);
    context
}

#[test]
fn a_call_leaves_no_context_current() {
    if !crate::is_selected() {
        return;
    }
    let world = lease_world();
    let device = open(&world);
    assert!(current().is_null());
    let memory = device.alloc(16).unwrap();
    assert!(current().is_null());
    // SAFETY: just allocated and never used.
    unsafe { device.free(memory) }.unwrap();
    assert!(device.alloc(0).is_err() && current().is_null());
}

#[test]
fn a_call_restores_a_foreign_context() {
    if !crate::is_selected() {
        return;
    }
    let (ours, foreign) = (lease_world(), lease_world());
    let device = open(&ours);
    let context = retain(foreign.ordinal());
    push(context);
    device.create_stream(Default::default()).unwrap();
    assert_eq!(current(), context);
    // Also after a call that fails.
    ours.fail("cuMemAlloc_v2", 1, Code::OUT_OF_MEMORY);
    assert!(device.alloc(16).unwrap_err().is_out_of_memory());
    assert_eq!(current(), context);
    assert_eq!(pop(), context);
    assert!(current().is_null(), "the stack is as it was");
    release(foreign.ordinal());
}

#[test]
fn a_context_that_is_current_is_not_pushed_again() {
    if !crate::is_selected() {
        return;
    }
    let world = lease_world();
    let device = open(&world);
    let context = retain(world.ordinal());
    push(context);
    let before = world.calls("cuCtxPushCurrent_v2");
    device.synchronize().unwrap();
    device.memory_info().unwrap();
    assert_eq!(world.calls("cuCtxPushCurrent_v2"), before);
    assert_eq!(pop(), context);
    release(world.ordinal());
}

#[test]
fn the_context_lives_as_long_as_its_devices() {
    if !crate::is_selected() {
        return;
    }
    let world = lease_world();
    let (first, second) = (open(&world), open(&world));
    drop(first);
    let memory = second.alloc(16).unwrap();
    // SAFETY: just allocated and never used.
    unsafe { second.free(memory) }.unwrap();
    assert_eq!(world.calls("cuDevicePrimaryCtxRetain"), 2);
    drop(second);
    assert_eq!(world.calls("cuDevicePrimaryCtxRelease_v2"), 2);
}

#[test]
fn a_drop_ignores_a_driver_that_is_shutting_down() {
    if !crate::is_selected() {
        return;
    }
    let world = lease_world();
    let device = open(&world);
    world.fail("cuDevicePrimaryCtxRelease_v2", 1, Code::DEINITIALIZED);
    drop(device);
    assert_eq!(world.armed_faults(), 0, "the release was called");
}

fn push_any(context: Handle) {
    // No context cannot be pushed.
    if !context.is_null() {
        push(context);
    }
}

fn set(context: Handle) {
    // SAFETY: the C signature of the function.
    let set: extern "C" fn(Handle) -> i32 =
        unsafe { std::mem::transmute(symbol("cuCtxSetCurrent")) };
    assert_eq!(set(context), 0);
}

/// Other code may change the current context, and leave more on the stack.
#[test]
fn a_lent_context_is_current_and_the_one_before_is_restored() {
    if !crate::is_selected() {
        return;
    }
    let (ours, foreign) = (lease_world(), lease_world());
    let device = open(&ours);
    let (own, other) = (retain(ours.ordinal()), retain(foreign.ordinal()));
    for before in [std::ptr::null_mut(), own, other] {
        set(before);
        let changes = [None, Some(set as fn(Handle)), Some(push_any)];
        for change in changes {
            for to in [std::ptr::null_mut(), own, other] {
                // SAFETY: dropped in this scope.
                let lent = unsafe { LentContext::enter(&*device) }.unwrap();
                assert_eq!(current(), own);
                // Calls work, whatever is current.
                change.iter().for_each(|change| change(to));
                let memory = device.alloc(16).unwrap();
                // SAFETY: just allocated and never used.
                unsafe { device.free(memory) }.unwrap();
                drop(lent);
                assert_eq!(current(), before);
            }
        }
    }
    while !current().is_null() {
        pop();
    }
    release(ours.ordinal());
    release(foreign.ordinal());
}
