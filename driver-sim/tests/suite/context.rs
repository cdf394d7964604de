//! Contexts: the current context is per thread, and calls without one fail.

use std::{cell::RefCell, ffi::c_int, thread};

use quadrants_driver_sim as sim;

use super::support::*;

#[test]
fn each_thread_has_its_own_current_context() {
    let gpu = Gpu::lazy();
    let context = gpu.context;
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(get(cuCtxGetCurrent), 0);
            assert_eq!(cuStreamCreateWithPriority(&mut 0, 1, 0), 201);
            assert_eq!(cuMemAlloc_v2(&mut 0, 4), 201);
            assert_eq!(cuMemsetD8Async(0, 0, 4, 0), 201);
            assert_eq!(cuCtxPopCurrent_v2(&mut 0), 201);
            ok(cuCtxPushCurrent_v2(context));
            ok(cuMemAlloc_v2(&mut 0, 4));
            assert_eq!(get(cuCtxPopCurrent_v2), context);
            ok(cuCtxSetCurrent(context));
            assert_eq!(get(cuCtxGetCurrent), context);
            ok(cuCtxSetCurrent(0));
            assert_eq!(get(cuCtxGetCurrent), 0);
        });
    });
    assert_eq!(get(cuCtxGetCurrent), context);
}

#[test]
fn work_goes_to_the_current_context_only() {
    let gpu = Gpu::lazy();
    let (s, x, event) = (gpu.stream(), gpu.alloc(1), gpu.event());
    let other = Gpu::lazy();
    assert_ne!(gpu.world.ordinal(), other.world.ordinal());
    assert_eq!(cuMemsetD8Async(x, 0, 4, s), 400, "a stream of another context");
    assert_eq!(cuEventRecord(event, 0), 400, "an event of another context");
    assert_eq!(cuMemFree_v2(x), 1);
    // Queries and waits are allowed across contexts.
    assert_eq!(cuStreamQuery(s), 0);
    let t = other.stream();
    ok(cuStreamWaitEvent(t, event, 0));
    assert_eq!(gpu.world.live().blocks, 1);
}

#[test]
fn a_wait_across_worlds_waits_for_the_record() {
    let gpu = Gpu::lazy();
    let (s, event, pinned) = (gpu.stream(), gpu.event(), gpu.pinned(1));
    let x = gpu.alloc(1);
    gpu.upload(x, &[8], s);
    ok(cuMemcpyDtoHAsync_v2(pinned.as_mut_ptr(), x, 4, s));
    ok(cuEventRecord(event, s));
    let other = Gpu::lazy();
    let t = other.stream();
    assert_eq!(pinned, [0]);
    ok(cuStreamWaitEvent(t, event, 0));
    assert_eq!(pinned, [0], "the call itself waits for nothing");
    assert_eq!(cuStreamQuery(t), 600);
    ok(cuStreamSynchronize(t));
    assert_eq!(pinned, [8]);
}

#[test]
fn the_primary_context_exists_while_it_is_retained() {
    ok(cuInit(0));
    let world = sim::lease_world();
    let device = world.ordinal() as c_int;
    let context = get(|out| cuDevicePrimaryCtxRetain(out, device));
    assert_eq!(get(|out| cuDevicePrimaryCtxRetain(out, device)), context);
    ok(cuCtxPushCurrent_v2(context));
    let stream = get(|out| cuStreamCreateWithPriority(out, 1, 0));
    let x: u64 = get(|out| cuMemAlloc_v2(out, 4));
    ok(cuMemsetD8Async(x, 0, 4, stream));
    ok(cuDevicePrimaryCtxRelease_v2(device));
    assert_eq!(cuStreamQuery(stream), 600);
    ok(cuDevicePrimaryCtxRelease_v2(device));
    assert_eq!(world.left_behind().streams, 1);
    assert_eq!(world.left_behind().bytes, 4);
    assert_eq!(world.live(), sim::LiveCounts::default());
    assert_eq!(world.executed(), 1, "work in flight ran");
    assert_eq!(cuDevicePrimaryCtxRelease_v2(device), 201);
    // The context is still on the stack, but destroyed.
    assert_eq!(cuMemAlloc_v2(&mut 0, 4), 709);
    assert_eq!(cuCtxPushCurrent_v2(context), 709);
    let again = get(|out| cuDevicePrimaryCtxRetain(out, device));
    assert_ne!(again, context);
    assert_eq!(cuMemAlloc_v2(&mut 0, 4), 709);
    ok(cuCtxSetCurrent(again));
    assert_eq!(cuStreamQuery(stream), 400);
    ok(cuMemAlloc_v2(&mut 0, 4));
    ok(cuCtxPopCurrent_v2(&mut 0));
    ok(cuDevicePrimaryCtxRelease_v2(device));
}

#[test]
fn a_lost_context_is_usable_after_its_release() {
    let gpu = Gpu::lazy();
    ok(cuMemsetD8Async(0, 0, 4, 0));
    assert_eq!(cuCtxSynchronize(), 700);
    assert_eq!(gpu.world.lost(), Some(sim::Code::ILLEGAL_ADDRESS));
    let context = gpu.context;
    ok(cuDevicePrimaryCtxRelease_v2(gpu.device()));
    let again = get(|out| cuDevicePrimaryCtxRetain(out, gpu.device()));
    ok(cuCtxPushCurrent_v2(again));
    gpu.alloc(1);
    ok(cuCtxPopCurrent_v2(&mut 0));
    assert_eq!(gpu.context, context);
    assert_eq!(gpu.world.lost(), None);
}

#[test]
fn devices_report_their_properties() {
    let gpu = Gpu::lazy();
    assert_eq!(get(cuDeviceGetCount), sim::count() as c_int);
    assert_eq!(cuDeviceGet(&mut 0, -1), 101);
    assert_eq!(cuDeviceGet(&mut 0, sim::count() as c_int), 101);
    let attribute = |id| get(|out| cuDeviceGetAttribute(out, id, gpu.device()));
    assert_eq!((attribute(75), attribute(76)), (9, 0));
    assert_eq!((attribute(1), attribute(10)), (1024, 32));
    let mut name = [1; 10];
    ok(cuDeviceGetName(name.as_mut_ptr(), 10, gpu.device()));
    let name: Vec<u8> = name.iter().map(|&c| c as u8).collect();
    assert_eq!(name, b"Simulated\0");
}

#[test]
fn leased_worlds_are_distinct_and_returned() {
    let claims: Vec<_> = (0..4).map(|_| sim::lease_world()).collect();
    let mut ordinals: Vec<usize> = claims.iter().map(|claim| claim.ordinal()).collect();
    ordinals.dedup();
    assert_eq!(ordinals.len(), 4);
    for claim in &claims {
        assert_eq!(sim::world(claim.ordinal()), Some(**claim));
    }
    assert_eq!(sim::world(sim::count()), None);
}

#[test]
fn contexts_nest_and_work_to_a_threads_end() {
    struct Last(usize);
    impl Drop for Last {
        fn drop(&mut self) {
            if self.0 != 0 {
                ok(cuCtxPushCurrent_v2(self.0));
                ok(cuMemAlloc_v2(&mut 0, 4));
                ok(cuCtxPopCurrent_v2(&mut 0));
            }
        }
    }
    thread_local!(static LAST: RefCell<Last> = const { RefCell::new(Last(0)) });
    let (gpu, other) = (Gpu::lazy(), Gpu::lazy());
    let (a, b) = (gpu.context, other.context);
    let inner = thread::spawn(move || {
        LAST.with_borrow_mut(|last| last.0 = a);
        for context in [a, b, a] {
            ok(cuCtxPushCurrent_v2(context));
        }
        let popped: [usize; 3] = std::array::from_fn(|_| get(cuCtxPopCurrent_v2));
        assert_eq!(popped, [a, b, a]);
    });
    inner.join().unwrap();
    assert_eq!(gpu.world.live().blocks, 1);
    drop(other);
}
