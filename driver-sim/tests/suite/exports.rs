//! The names that the library exports, and the C interface to its controls.

use std::{
    collections::HashSet,
    env,
    ffi::{CStr, c_char, c_int},
    process::Command,
    ptr,
};

use quadrants_driver_sim as sim;

use super::support::*;

functions! { sim::cuda_symbol:
    quadrants_sim_version();
    quadrants_sim_reset(ordinal: usize);
    quadrants_sim_set_schedule(ordinal: usize, schedule: *const c_char, seed: u64);
    quadrants_sim_fail(ordinal: usize, function: *const c_char, nth: u64, code: c_int);
    quadrants_sim_calls(ordinal: usize, function: *const c_char, count: *mut u64);
    quadrants_sim_live(ordinal: usize, counts: *mut u64);
    quadrants_sim_set_wait_limit(ordinal: usize, milliseconds: u64);
    quadrants_sim_break_communicators(ordinal: usize);
    quadrants_sim_trace(ordinal: usize, text: *mut c_char, room: usize, needed: *mut usize);
}

#[test]
fn every_symbol_is_exported_once() {
    for (names, find) in [
        (sim::cuda_symbols().collect::<Vec<_>>(), sim::cuda_symbol as fn(&str) -> _),
        (sim::hip_symbols().collect(), sim::hip_symbol),
        (sim::collective_symbols().collect(), sim::collective_symbol),
        (sim::cupti_symbols().collect(), sim::cupti_symbol),
        (sim::roctracer_symbols().collect(), sim::roctracer_symbol),
    ] {
        assert!(names.iter().all(|name| find(name).is_some_and(|address| !address.is_null())));
        let unique: HashSet<&str> = names.iter().copied().collect();
        assert_eq!(unique.len(), names.len());
        assert!(names.contains(&"quadrants_sim_version"));
    }
    assert_eq!(sim::cuda_symbol("hipMalloc"), None);
    assert_eq!(sim::hip_symbol("cuInit"), None);
    assert_eq!(sim::hip_symbol("roctracer_next_record"), None);
    assert_eq!((sim::cuda_symbol("ncclSend"), sim::collective_symbol("cuInit")), (None, None));
}

#[test]
fn codes_have_the_drivers_names() {
    let mut name = ptr::null();
    ok(cuGetErrorName(700, &mut name));
    // SAFETY: the call gave a C string that lives as long as the process.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_eq!(cuGetErrorName(123_456, &mut name), 1);
}

#[test]
fn a_world_can_be_controlled_from_c() {
    let gpu = Gpu::lazy();
    let ordinal = gpu.world.ordinal();
    assert!(quadrants_sim_version() > 0);
    ok(quadrants_sim_set_schedule(ordinal, c"random".as_ptr(), 9));
    assert_eq!((gpu.world.schedule(), gpu.world.seed()), (sim::Schedule::Random, 9));
    assert_eq!(quadrants_sim_set_schedule(ordinal, c"worst".as_ptr(), 9), 1);
    assert_eq!(quadrants_sim_set_schedule(sim::count(), c"lazy".as_ptr(), 9), 101);

    ok(quadrants_sim_fail(ordinal, c"cuMemAlloc_v2".as_ptr(), 1, 2));
    assert_eq!(cuMemAlloc_v2(&mut 0, 4), 2);
    assert_eq!(quadrants_sim_fail(ordinal, c"cuNothing".as_ptr(), 1, 2), 500);
    assert_eq!(get(|out| quadrants_sim_calls(ordinal, c"cuMemAlloc_v2".as_ptr(), out)), 1);

    let s = gpu.stream();
    ok(cuMemsetD8Async(gpu.alloc(1), 0, 4, s));
    let mut live = [0; 11];
    ok(quadrants_sim_live(ordinal, live.as_mut_ptr()));
    assert_eq!((live[0], live[4], live[10]), (1, 4, 1));

    let needed = get(|out| quadrants_sim_trace(ordinal, ptr::null_mut(), 0, out));
    let mut text = vec![0 as c_char; needed];
    ok(quadrants_sim_trace(ordinal, text.as_mut_ptr(), needed, &mut 0));
    // SAFETY: the call wrote a C string into the room that it asked for.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap();
    assert_eq!(text, gpu.world.trace().to_string());
    assert!(text.contains("fill"));

    ok(quadrants_sim_set_wait_limit(ordinal, 100));
    ok(quadrants_sim_break_communicators(ordinal));
    ok(quadrants_sim_fail(ordinal, c"ncclAllReduce".as_ptr(), 1, 6));

    ok(quadrants_sim_reset(ordinal));
    assert_eq!(gpu.world.live(), sim::LiveCounts::default());
    assert_eq!(cuStreamQuery(s), 709, "the context is gone too");
}

#[test]
fn without_devices_initialization_says_so() {
    if sim::count() == 0 {
        assert_eq!(cuInit(0), 100);
        assert_eq!(cuDeviceGetCount(&mut 0), 3);
        assert_eq!(super::hip::hipInit(0), 100);
        return;
    }
    let test = "suite::exports::without_devices_initialization_says_so";
    let child = Command::new(env::current_exe().unwrap())
        .args([test, "--exact"])
        .env("QUADRANTS_SIM_DEVICES", "0")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && output.contains("1 passed"), "{output}");
}
