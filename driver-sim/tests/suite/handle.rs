//! Destroyed, foreign and invalid handles.

use super::support::*;

#[test]
fn destroyed_handles_are_errors_in_all_calls() {
    let gpu = Gpu::lazy();
    let (s, event) = (gpu.stream(), gpu.event());
    ok(cuStreamDestroy_v2(s));
    ok(cuEventDestroy_v2(event));
    // The same slots are reused, which must not make the old handles valid.
    let (s2, event2) = (gpu.stream(), gpu.event());
    assert!(s2 != s && event2 != event);
    let x = gpu.alloc(1);
    let codes = [
        cuStreamDestroy_v2(s),
        cuStreamQuery(s),
        cuStreamSynchronize(s),
        cuStreamWaitEvent(s, event2, 0),
        cuStreamWaitEvent(s2, event, 0),
        cuEventRecord(event, s2),
        cuEventRecord(event2, s),
        cuEventQuery(event),
        cuEventSynchronize(event),
        cuEventDestroy_v2(event),
        cuMemsetD8Async(x, 0, 4, s),
        cuMemAllocAsync(&mut 0, 4, s),
        cuMemFreeAsync(x, s),
        cuGraphLaunch(0, s2),
        cuModuleUnload(12345),
    ];
    assert_eq!(codes, [400; 15]);
    assert_eq!((gpu.world.live().streams, gpu.world.live().events), (1, 1));
}

#[test]
fn handles_are_of_one_kind() {
    let gpu = Gpu::lazy();
    let (s, event) = (gpu.stream(), gpu.event());
    assert_eq!(cuStreamSynchronize(event), 400);
    assert_eq!(cuEventSynchronize(s), 400);
    assert_eq!(cuStreamDestroy_v2(0), 400);
    assert_eq!(cuStreamSynchronize(2), 801, "the per-thread default stream is not simulated");
    assert_eq!(cuStreamSynchronize(1), 0, "1 is the default stream's other name");
}

#[test]
fn a_null_output_pointer_is_an_error() {
    let _gpu = Gpu::lazy();
    assert_eq!(cuMemAlloc_v2(std::ptr::null_mut(), 4), 1);
    assert_eq!(cuDeviceGetCount(std::ptr::null_mut()), 1);
    assert_eq!(cuMemcpyHtoDAsync_v2(0, std::ptr::null(), 4, 0), 1);
}

#[test]
fn faults_occur_once_and_the_call_does_nothing() {
    let gpu = Gpu::lazy();
    gpu.world.fail("cuEventCreate", 2, quadrants_driver_sim::Code::OUT_OF_MEMORY);
    let first = gpu.event();
    assert_eq!(cuEventCreate(&mut 0, 2), 2);
    assert_eq!(gpu.world.armed_faults(), 0);
    assert_eq!(gpu.world.live().events, 1);
    gpu.event();
    // An ignored wait returns success and orders nothing.
    let (s, t, x) = (gpu.stream(), gpu.stream(), gpu.alloc(1));
    ok(cuMemsetD32Async(x, 1, 1, s));
    ok(cuEventRecord(first, s));
    gpu.world.ignore("cuStreamWaitEvent", 1);
    ok(cuStreamWaitEvent(t, first, 0));
    assert_eq!(gpu.download(x, 1, t), [0xa5a5_a5a5]);
    assert_eq!(gpu.world.calls("cuStreamWaitEvent"), 1);
}
