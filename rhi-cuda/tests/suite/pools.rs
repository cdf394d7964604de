//! Stream-ordered memory: the setup of the memory pool and the fallback without one.

use std::process::Command;

use quadrants_conformance::{CASES, Subject};
use quadrants_driver_sim::lease_world;
use quadrants_rhi_cuda::rhi::StreamHandle;

use crate::support::{driver_with, open};

const DEFAULT: StreamHandle = StreamHandle::DEFAULT;

#[test]
fn a_device_with_pools_uses_and_tunes_its_own() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    let world = lease_world();
    let device = open(&world);
    if pools_are_off_by_variable() {
        return;
    }
    assert!(device.capabilities().stream_ordered_memory);
    assert_eq!(world.calls("cuMemPoolSetAttribute"), 2);
    // SAFETY: nothing uses the memory.
    unsafe {
        let memory = device.alloc_async(64, DEFAULT).unwrap();
        device.free_async(memory, DEFAULT).unwrap();
    }
    assert_eq!((world.calls("cuMemAllocAsync"), world.calls("cuMemFreeAsync")), (1, 1));
}

#[test]
fn a_device_without_pools_falls_back() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    let world = lease_world();
    world.set_pools(false);
    let device = open(&world);
    let reason = device.capabilities().stream_ordered_memory_reason.clone().unwrap();
    assert!(reason.contains("no memory pools") || pools_are_off_by_variable(), "{reason}");
    // SAFETY: nothing uses the memory.
    unsafe {
        let memory = device.alloc_async(64, DEFAULT).unwrap();
        device.free_async(memory, DEFAULT).unwrap();
    }
    assert_eq!((world.calls("cuMemAlloc_v2"), world.calls("cuMemFree_v2")), (1, 1));
    assert_eq!(world.calls("cuStreamSynchronize"), 1, "a free waits for its stream");
}

#[test]
fn every_case_passes_without_pools() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    for case in CASES {
        let world = lease_world();
        world.set_pools(false);
        let device = open(&world);
        assert!(!device.capabilities().stream_ordered_memory);
        let add = Some(crate::simulated::add_kernel());
        let subject = Subject { device, add, keep: None };
        if let Err(failure) = (case.run)(&subject) {
            panic!("{}: {failure}", case.name);
        }
    }
}

#[test]
fn a_driver_without_the_functions_falls_back() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    let world = lease_world();
    let driver = driver_with(&[("cuMemAllocAsync", None)]).unwrap();
    let device = driver.open(world.ordinal()).unwrap();
    let reason = device.capabilities().stream_ordered_memory_reason.clone().unwrap();
    assert!(reason.contains("cuMemAllocAsync") || pools_are_off_by_variable(), "{reason}");
    // SAFETY: nothing uses the memory.
    unsafe {
        let memory = device.alloc_async(64, DEFAULT).unwrap();
        device.free_async(memory, DEFAULT).unwrap();
    }
}

/// Runs itself in a child process with the variable, because other tests would see a change in this process.
#[test]
fn the_variable_turns_pools_off() {
    if !crate::selected::is_selected("cuda") {
        return;
    }
    if pools_are_off_by_variable() {
        let world = lease_world();
        let device = open(&world);
        let reason = device.capabilities().stream_ordered_memory_reason.as_deref();
        assert_eq!(reason, Some("QUADRANTS_MEMPOOL=0"));
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "pools::the_variable_turns_pools_off"])
        .env("QUADRANTS_MEMPOOL", "0")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn pools_are_off_by_variable() -> bool {
    std::env::var_os("QUADRANTS_MEMPOOL").is_some_and(|value| value == "0")
}
