//! The current device of a thread.

use std::ffi::c_int;

use quadrants_driver_sim::{Code, hip_symbol, lease_world};

use crate::gpu_backend::support::open;

fn current() -> usize {
    // SAFETY: the C signature of the function.
    let get: extern "C" fn(*mut c_int) -> c_int =
        unsafe { std::mem::transmute(hip_symbol("hipGetDevice").unwrap()) };
    let mut ordinal = -1;
    assert_eq!(get(&mut ordinal), 0);
    ordinal.try_into().unwrap()
}

fn make_current(ordinal: usize) {
    // SAFETY: the C signature of the function.
    let set: extern "C" fn(c_int) -> c_int =
        unsafe { std::mem::transmute(hip_symbol("hipSetDevice").unwrap()) };
    assert_eq!(set(ordinal as c_int), 0);
}

#[test]
fn a_call_restores_the_device_that_was_current() {
    if !crate::is_selected() {
        return;
    }
    let (ours, foreign) = (lease_world(), lease_world());
    let device = open(&ours);
    make_current(foreign.ordinal());
    device.create_stream(Default::default()).unwrap();
    assert_eq!(current(), foreign.ordinal());
    // Also after a call that fails.
    ours.fail("hipMalloc", 1, Code::OUT_OF_MEMORY);
    assert!(device.alloc(16).unwrap_err().is_out_of_memory());
    assert_eq!(current(), foreign.ordinal());
}

#[test]
fn a_device_that_is_current_is_not_set_again() {
    if !crate::is_selected() {
        return;
    }
    let world = lease_world();
    let device = open(&world);
    make_current(world.ordinal());
    let before = world.calls("hipSetDevice");
    device.synchronize().unwrap();
    device.memory_info().unwrap();
    assert_eq!((world.calls("hipSetDevice"), current()), (before, world.ordinal()));
}
