//! The order of streams: what streams and events order, and that nothing else is ordered.

use std::{collections::HashSet, thread};

use quadrants_driver_sim::{OpKind, Schedule};

use super::{kernels::add_args, support::*};

const SEEDS: u64 = 1000;
const N: usize = 16;

/// A producer on one stream and a consumer on another, with or without a dependency. Returns the consumer's result and
/// the hash of the schedule.
fn produce_and_consume(schedule: Schedule, seed: u64, edge: bool) -> (Vec<u32>, u64) {
    let gpu = Gpu::open(schedule, seed);
    let add = gpu.add();
    let (s1, s2, event) = (gpu.stream(), gpu.stream(), gpu.event());
    let (a, b, c) = (gpu.alloc(N), gpu.alloc(N), gpu.alloc(N));
    gpu.upload(a, &[1; N], 0);
    gpu.upload(b, &[1000; N], 0);
    ok(cuStreamSynchronize(0));

    // Unrelated work.
    let bystander = gpu.stream();
    for value in 0..3 {
        ok(cuMemsetD32Async(gpu.alloc(1), value, 1, bystander));
    }
    for _ in 0..3 {
        ok(launch(add, &add_args(a, a, N as u64, 10), s1));
    }
    ok(launch(add, &add_args(b, a, N as u64, 100), s1));
    if edge {
        ok(cuEventRecord(event, s1));
        ok(cuStreamWaitEvent(s2, event, 0));
    }
    ok(launch(add, &add_args(c, b, N as u64, 5), s2));
    let progress = cuStreamQuery(s1);
    assert!([0, 600].contains(&progress));
    let result = gpu.download(c, N, s2);
    ok(cuCtxSynchronize());
    (result, gpu.world.schedule_hash())
}

#[test]
fn a_missing_wait_is_wrong_and_an_event_is_right_on_every_seed() {
    assert_eq!(produce_and_consume(Schedule::Lazy, 0, false).0, [1005; N]);
    assert_eq!(produce_and_consume(Schedule::Lazy, 0, true).0, [136; N]);
    assert_eq!(produce_and_consume(Schedule::Eager, 0, false).0, [136; N]);

    let mut schedules = HashSet::new();
    for seed in 0..SEEDS {
        let (result, schedule) = produce_and_consume(Schedule::Random, seed, true);
        assert_eq!(result, [136; N], "seed {seed}");
        schedules.insert(schedule);
    }
    println!("with the event: right on {SEEDS} seeds, {} distinct schedules", schedules.len());
    assert!(schedules.len() > 20);

    let mut schedules = HashSet::new();
    let wrong = (0..SEEDS).filter(|&seed| {
        let (result, schedule) = produce_and_consume(Schedule::Random, seed, false);
        schedules.insert(schedule);
        result != [136; N]
    });
    let wrong = wrong.count();
    println!("without: wrong on {wrong} of {SEEDS} seeds, {} distinct schedules", schedules.len());
    assert!(wrong > 100 && wrong < 1000, "{wrong}");
}

#[test]
fn a_seed_replays_its_schedule() {
    for seed in 0..20 {
        let first = produce_and_consume(Schedule::Random, seed, false);
        assert_eq!(produce_and_consume(Schedule::Random, seed, false), first);
    }
}

#[test]
fn a_wait_keeps_the_latest_record_before_it() {
    let gpu = Gpu::lazy();
    let (s1, s2, s3, event) = (gpu.stream(), gpu.stream(), gpu.stream(), gpu.event());
    let x = gpu.alloc(1);
    ok(cuMemsetD32Async(x, 1, 1, s1));
    ok(cuEventRecord(event, s1));
    ok(cuStreamWaitEvent(s2, event, 0));
    // The event is recorded again, on a stream whose work s2 must not wait for.
    ok(cuMemsetD32Async(gpu.alloc(1), 2, 1, s3));
    ok(cuEventRecord(event, s3));
    assert_eq!(gpu.download(x, 1, s2), [1]);
    assert_eq!(cuStreamQuery(s3), 600, "the wait took the later record along");
    assert_eq!(cuStreamQuery(s1), 0);
}

#[test]
fn an_event_never_recorded_is_complete_and_orders_nothing() {
    let gpu = Gpu::lazy();
    let (s1, s2, event) = (gpu.stream(), gpu.stream(), gpu.event());
    assert_eq!(cuEventQuery(event), 0);
    ok(cuEventSynchronize(event));
    ok(cuStreamWaitEvent(s2, event, 0));
    ok(cuMemsetD32Async(gpu.alloc(1), 1, 1, s1));
    ok(cuEventRecord(event, s1));
    ok(cuStreamSynchronize(s2));
    assert_eq!(cuEventQuery(event), 600);
}

#[test]
fn repeated_queries_make_progress() {
    for (schedule, seed) in [(Schedule::Lazy, 0), (Schedule::Random, 1), (Schedule::Random, 2)] {
        let gpu = Gpu::open(schedule, seed);
        let (s, event, x) = (gpu.stream(), gpu.event(), gpu.alloc(1));
        for value in 0..5 {
            ok(cuMemsetD32Async(x, value, 1, s));
        }
        ok(cuEventRecord(event, s));
        let mut queries = 0;
        while cuEventQuery(event) == 600 {
            queries += 1;
            assert!(queries < 1000);
        }
        assert!(schedule != Schedule::Lazy || queries == 6, "{queries}");
        assert_eq!(cuStreamQuery(s), 0);
    }
}

#[test]
fn blocking_streams_are_ordered_with_the_default_stream_and_others_are_not() {
    let gpu = Gpu::lazy();
    let (blocking, free) = (gpu.blocking_stream(), gpu.stream());
    let (x, y) = (gpu.alloc(1), gpu.alloc(1));
    ok(cuMemsetD32Async(x, 1, 1, blocking));
    ok(cuMemsetD32Async(y, 1, 1, free));
    ok(cuStreamSynchronize(0));
    assert_eq!(cuStreamQuery(blocking), 0);
    assert_eq!(cuStreamQuery(free), 600);
    // In the other direction: work of the blocking stream runs after the default stream's.
    ok(cuMemsetD32Async(x, 2, 1, 0));
    assert_eq!(gpu.download(x, 1, blocking), [2]);
}

#[test]
fn a_destroyed_stream_keeps_its_work_and_its_order() {
    let gpu = Gpu::lazy();
    let (s, blocking, event) = (gpu.stream(), gpu.blocking_stream(), gpu.event());
    let (x, y) = (gpu.alloc(1), gpu.alloc(1));
    ok(cuMemsetD32Async(x, 7, 1, s));
    ok(cuEventRecord(event, s));
    ok(cuStreamDestroy_v2(s));
    ok(cuMemsetD32Async(y, 8, 1, blocking));
    ok(cuStreamDestroy_v2(blocking));
    let t = gpu.stream();
    ok(cuStreamWaitEvent(t, event, 0));
    ok(cuEventDestroy_v2(event));
    assert_eq!(gpu.download(x, 1, t), [7]);
    assert_eq!(gpu.download(y, 1, 0), [8], "the default stream forgot a blocking stream");
}

#[test]
fn the_trace_distinguishes_ordered_and_unordered_operations() {
    let gpu = Gpu::lazy();
    let (s1, s2, fork, join) = (gpu.stream(), gpu.stream(), gpu.event(), gpu.event());
    let x: Vec<u64> = (0..4).map(|_| gpu.alloc(1)).collect();
    ok(cuMemsetD32Async(x[0], 0, 1, s1));
    ok(cuEventRecord(fork, s1));
    ok(cuStreamWaitEvent(s2, fork, 0));
    ok(cuMemsetD32Async(x[1], 1, 1, s1));
    ok(cuMemsetD32Async(x[2], 2, 1, s2));
    ok(cuEventRecord(join, s2));
    ok(cuStreamWaitEvent(s1, join, 0));
    ok(cuMemsetD32Async(x[3], 3, 1, s1));
    let trace = gpu.world.trace();
    let fills: Vec<u64> =
        trace.records().iter().filter(|r| r.kind == OpKind::Fill).map(|r| r.op).collect();
    let [before, left, right, after] = fills[..] else { panic!("{trace}") };
    assert!(trace.device_path(before, left) && trace.device_path(before, right));
    assert!(trace.device_path(left, after) && trace.device_path(right, after));
    assert!(trace.unordered(left, right));
    assert!(!trace.unordered(left, 1 << 40), "an operation that is not recorded");
    assert_eq!(trace.on_stream(s2 as u64).count(), 3);
    // A host wait is a dependency too, but not one of the device.
    ok(cuStreamSynchronize(s1));
    let s3 = gpu.stream();
    ok(cuMemsetD32Async(x[0], 4, 1, s3));
    let trace = gpu.world.trace();
    let last = trace.records().last().unwrap().op;
    assert!(trace.happens_before(after, last) && !trace.device_path(after, last));
}

#[test]
fn elapsed_time_is_simulated_and_repeatable() {
    let times: Vec<f32> = [Schedule::Lazy, Schedule::Eager, Schedule::Random]
        .into_iter()
        .map(|schedule| {
            let gpu = Gpu::open(schedule, 3);
            let s = gpu.stream();
            let timing = || get(|out| cuEventCreate(out, 0));
            let (start, end) = (timing(), timing());
            let x = gpu.alloc(1 << 16);
            ok(cuEventRecord(start, s));
            ok(cuMemsetD32Async(x, 1, 1 << 16, s));
            ok(cuEventRecord(end, s));
            let mut ms = 0.0;
            if schedule == Schedule::Lazy {
                assert_eq!(cuEventElapsedTime(&mut ms, start, end), 600);
            }
            ok(cuEventSynchronize(end));
            assert_eq!(cuEventElapsedTime(&mut ms, start, gpu.event()), 400);
            get(|out| cuEventElapsedTime(out, start, end))
        })
        .collect();
    assert!(times[0] > 0.0 && times.iter().all(|time| *time == times[0]), "{times:?}");
}

#[test]
fn a_full_queue_runs_its_oldest_work() {
    let gpu = Gpu::lazy();
    let (s, x) = (gpu.stream(), gpu.alloc(1));
    for value in 0..10_000 {
        ok(cuMemsetD32Async(x, value, 1, s));
    }
    assert!(gpu.world.live().pending <= 4096);
    assert_eq!(gpu.download(x, 1, s), [9999]);
}

#[test]
fn threads_with_separate_streams_are_independent() {
    let gpu = Gpu::open(Schedule::Random, 4);
    let add = gpu.add();
    thread::scope(|scope| {
        for value in 1..=8 {
            let gpu = &gpu;
            scope.spawn(move || {
                ok(cuCtxPushCurrent_v2(gpu.context));
                let (s, x) = (gpu.stream(), gpu.alloc(4));
                ok(cuMemsetD32Async(x, 0, 4, s));
                for _ in 0..200 {
                    ok(launch(add, &add_args(x, x, 4, value), s));
                }
                assert_eq!(gpu.download(x, 4, s), [200 * value; 4]);
                ok(cuStreamDestroy_v2(s));
                ok(cuCtxPopCurrent_v2(&mut 0));
            });
        }
    });
    assert_eq!(gpu.world.calls("cuLaunchKernel"), 1600);
    assert_eq!(gpu.world.live().streams, 0);
}

#[test]
fn work_after_a_wait_of_the_host_starts_after_what_it_waited_for() {
    let waits: [fn(&Gpu, usize, usize); 3] = [
        |_, stream, _| ok(cuStreamSynchronize(stream)),
        |_, _, event| ok(cuEventSynchronize(event)),
        |gpu, stream, _| drop(gpu.download(gpu.alloc(1), 1, stream)),
    ];
    for wait in waits {
        let gpu = Gpu::lazy();
        let timing = || get(|out| cuEventCreate(out, 0));
        let (first, second) = (gpu.stream(), gpu.stream());
        let (done, early, late) = (timing(), timing(), timing());
        let x = gpu.alloc(1 << 16);
        ok(cuMemsetD32Async(x, 1, 1 << 16, first));
        ok(cuEventRecord(done, first));
        ok(cuEventRecord(early, second));
        wait(&gpu, first, done);
        ok(cuEventRecord(late, second));
        ok(cuEventSynchronize(late));
        let after = |event| {
            ok(cuEventSynchronize(event));
            let mut ms = 0.0;
            ok(cuEventElapsedTime(&mut ms, done, event));
            ms
        };
        assert!(after(early) < 0.0, "nothing orders it");
        assert!(after(late) > 0.0, "the host waited before it enqueued this");
    }
}
