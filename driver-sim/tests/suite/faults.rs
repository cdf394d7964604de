//! Faults by function, by number and with a probability, and the loss of the device.

use std::{collections::HashSet, env, process::Command};

use quadrants_driver_sim::Code;

use super::support::*;

#[test]
fn any_call_fails_by_its_number_and_does_nothing() {
    let gpu = Gpu::lazy();
    let (s, x) = (gpu.stream(), gpu.alloc(1));
    gpu.world.fail_any(2, Code::OUT_OF_MEMORY);
    gpu.world.fail("cuMemsetD32Async", 2, Code::UNKNOWN);
    ok(cuMemsetD32Async(x, 1, 1, s));
    assert_eq!(cuEventCreate(&mut 0, 2), 2);
    assert_eq!(cuMemsetD32Async(x, 2, 1, s), 999);
    assert_eq!(gpu.world.armed_faults(), 0);
    assert_eq!(gpu.download(x, 1, s), [1]);
    gpu.world.fail("cuMemsetD32Async", 1, Code::UNKNOWN);
    gpu.world.disarm_faults();
    ok(cuMemsetD32Async(x, 2, 1, s));
}

#[test]
fn calls_fail_randomly_by_the_seed() {
    let gpu = Gpu::lazy();
    let (s, x) = (gpu.stream(), gpu.alloc(1));
    gpu.world.fail_often(Some("cuMemsetD32Async"), 0.2, Code::OUT_OF_MEMORY);
    let run = |seed| -> Vec<bool> {
        gpu.world.set_seed(seed);
        (0..1000).map(|value| cuMemsetD32Async(x, value, 1, s) != 0).collect()
    };
    let first = run(1);
    let failed = first.iter().filter(|failed| **failed).count();
    assert!((150..250).contains(&failed), "{failed}");
    assert!(run(1) == first && run(2) != first);
    ok(cuStreamSynchronize(s));
}

#[test]
fn a_lost_device_stays_lost() {
    let gpu = Gpu::lazy();
    let (s, x) = (gpu.stream(), gpu.alloc(1));
    ok(cuMemsetD32Async(x, 1, 1, s));
    gpu.world.lose(None, 2, Code::LAUNCH_FAILED);
    ok(cuMemsetD32Async(x, 2, 1, s));
    assert_eq!(cuStreamSynchronize(s), 719);
    assert_eq!(cuMemAlloc_v2(&mut 0, 4), 719);
    assert_eq!(gpu.world.lost(), Some(Code::LAUNCH_FAILED));
    assert_eq!(gpu.world.live().pending, 0);
}

#[test]
fn the_environment_makes_calls_fail() {
    let test = "suite::faults::the_environment_makes_calls_fail";
    let _gpu = Gpu::lazy();
    if env::var_os("QUADRANTS_SIM_FAULTS").is_some() {
        assert_eq!([(); 3].map(|()| cuMemAlloc_v2(&mut 0, 4)), [0, 2, 0]);
        return;
    }
    ok(cuMemAlloc_v2(&mut 0, 4));
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([test, "--exact"]).env("QUADRANTS_SIM_FAULTS", "cuMemAlloc_v2@2=2");
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn streams_without_a_waiter_are_listed() {
    let gpu = Gpu::lazy();
    let (s1, s2, s3, event) = (gpu.stream(), gpu.stream(), gpu.stream(), gpu.event());
    let [x, y] = [(); 2].map(|()| gpu.alloc(1));
    ok(cuMemsetD32Async(x, 1, 1, s1));
    ok(cuMemsetD32Async(y, 1, 1, s2));
    let unjoined = || -> HashSet<usize> {
        gpu.world.unjoined().into_iter().map(|stream| stream as usize).collect()
    };
    assert_eq!(unjoined(), HashSet::from([s1, s2]));
    ok(cuEventRecord(event, s1));
    ok(cuStreamWaitEvent(s3, event, 0));
    assert_eq!(unjoined(), HashSet::from([s2, s3]));
    ok(cuStreamSynchronize(s2));
    ok(cuStreamSynchronize(s3));
    assert_eq!(unjoined(), HashSet::new());
}
