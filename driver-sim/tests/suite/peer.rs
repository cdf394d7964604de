//! Two devices: copies between them, and waits of one for the other, with a schedule for each.

use std::ffi::c_int;

use quadrants_driver_sim::{AccessKind, OpKind, Race, Schedule};

use super::{kernels::add_args, support::*};

const N: usize = 16;
const BYTES: usize = 4 * N;
const SCHEDULES: [Schedule; 4] =
    [Schedule::Lazy, Schedule::Eager, Schedule::Random, Schedule::Adversarial];

/// A device with a stream, memory and an event.
struct Side {
    gpu: Gpu,
    stream: usize,
    memory: u64,
    event: usize,
}

impl Side {
    fn open(schedule: Schedule, seed: u64) -> Self {
        let gpu = Gpu::open(schedule, seed);
        gpu.world.detect_races(true);
        let (stream, memory, event) = (gpu.stream(), gpu.alloc(N), gpu.event());
        let side = Self { gpu, stream, memory, event };
        side.fill(0);
        ok(cuStreamSynchronize(stream));
        side
    }

    /// Makes the context current for calls.
    fn with<R>(&self, calls: impl FnOnce() -> R) -> R {
        ok(cuCtxPushCurrent_v2(self.gpu.context));
        let result = calls();
        assert_eq!(get(cuCtxPopCurrent_v2), self.gpu.context);
        result
    }

    fn fill(&self, value: u32) {
        self.with(|| ok(cuMemsetD32Async(self.memory, value, N, self.stream)));
    }

    fn record(&self) {
        self.with(|| ok(cuEventRecord(self.event, self.stream)));
    }

    fn wait_for(&self, other: &Self) {
        self.with(|| ok(cuStreamWaitEvent(self.stream, other.event, 0)));
    }

    /// Copies to this device.
    fn copy_from(&self, from: &Self) {
        let (to, of) = (self.gpu.context, from.gpu.context);
        self.with(|| {
            ok(cuMemcpyPeerAsync(self.memory, to, from.memory, of, BYTES, self.stream));
        });
    }

    fn contents(&self) -> Vec<u32> {
        self.with(|| self.gpu.download(self.memory, N, self.stream))
    }

    fn races(&self) -> Vec<Race> {
        self.gpu.world.races()
    }
}

fn two(schedule: Schedule, seed: u64) -> [Side; 2] {
    [Side::open(schedule, seed), Side::open(schedule, seed + 1000)]
}

#[test]
fn a_copy_between_devices_has_the_order_of_events() {
    for (schedule, seed) in SCHEDULES.iter().flat_map(|s| (0..20).map(|seed| (*s, seed))) {
        let [a, b] = two(schedule, seed);
        for round in 1..5 {
            a.fill(round);
            a.record();
            b.wait_for(&a);
            b.copy_from(&a);
            b.record();
            a.wait_for(&b);
            a.fill(100 + round);
            if round % 2 == 0 {
                assert_eq!(b.contents(), [round; N], "{schedule:?} {seed}");
            }
        }
        assert_eq!((a.contents(), b.contents()), (vec![104; N], vec![4; N]), "{schedule:?} {seed}");
        assert_eq!((a.races(), b.races()), (vec![], vec![]), "{schedule:?} {seed}");
    }
}

#[test]
fn the_call_waits_for_nothing_and_a_wait_of_the_target_completes_both_sides() {
    let [a, b] = two(Schedule::Lazy, 0);
    a.fill(3);
    a.record();
    b.wait_for(&a);
    b.copy_from(&a);
    assert_eq!((a.gpu.world.live().pending, b.gpu.world.live().pending), (3, 3));
    assert_eq!(b.contents(), [3; N]);
    assert_eq!((a.gpu.world.live().pending, b.gpu.world.live().pending), (0, 0));
}

#[test]
fn a_query_makes_progress_on_the_other_device() {
    for schedule in SCHEDULES {
        let [a, b] = two(schedule, 3);
        a.fill(3);
        a.record();
        b.wait_for(&a);
        b.copy_from(&a);
        let queries = (0..1000).take_while(|_| cuStreamQuery(b.stream) == 600).count();
        assert!(queries < 1000, "{schedule:?}");
        ok(cuStreamQuery(b.stream));
    }
}

#[test]
fn each_missing_wait_is_a_race_in_the_world_of_the_memory() {
    for (schedule, missing) in SCHEDULES.iter().flat_map(|s| [0, 1].map(|missing| (*s, missing))) {
        let [a, b] = two(schedule, 5);
        a.fill(1);
        a.record();
        if missing != 0 {
            b.wait_for(&a);
        }
        b.copy_from(&a);
        b.record();
        if missing != 1 {
            a.wait_for(&b);
        }
        a.fill(2);
        ok(cuStreamSynchronize(a.stream));
        ok(cuStreamSynchronize(b.stream));
        let races = a.races();
        let [race] = &races[..] else { panic!("{schedule:?}, {missing}: {races:?}") };
        let (first, second) = (&race.first, &race.second);
        let copy_is_first = missing == 1;
        let (copy, fill) = if copy_is_first { (first, second) } else { (second, first) };
        assert_eq!((copy.kind.clone(), copy.access), (OpKind::CopyPeer, AccessKind::Read));
        assert_eq!((fill.kind.clone(), fill.access), (OpKind::Fill, AccessKind::Write));
        assert_eq!((race.bytes, b.races()), (BYTES, vec![]));
    }
}

#[test]
fn a_missing_wait_shows_in_the_results_of_an_adversary() {
    let [a, b] = two(Schedule::Adversarial, 0);
    a.fill(1);
    a.record();
    b.wait_for(&a);
    b.copy_from(&a);
    a.fill(2);
    assert_eq!(b.contents(), [2; N], "the copy came too late");
}

#[test]
fn the_target_is_checked_too() {
    let [a, b] = two(Schedule::Lazy, 0);
    let (reader, other) = b.with(|| (b.gpu.stream(), b.gpu.alloc(N)));
    b.with(|| ok(cuMemcpyDtoDAsync_v2(other, b.memory, BYTES, reader)));
    b.copy_from(&a);
    ok(cuStreamSynchronize(reader));
    ok(cuStreamSynchronize(b.stream));
    assert_eq!((a.races().len(), b.races().len()), (0, 1));
}

#[test]
fn a_wait_of_the_host_orders_both_devices() {
    for schedule in SCHEDULES {
        let [a, b] = two(schedule, 9);
        a.fill(1);
        ok(cuStreamSynchronize(a.stream));
        b.copy_from(&a);
        ok(cuStreamSynchronize(b.stream));
        // The read of the copy is complete, because its write is.
        a.fill(2);
        b.copy_from(&b);
        b.with(|| ok(cuCtxSynchronize()));
        ok(cuStreamSynchronize(a.stream));
        a.copy_from(&b);
        a.with(|| ok(cuCtxSynchronize()));
        let (stream, memory) = b.with(|| (b.gpu.stream(), b.memory));
        b.with(|| ok(cuMemsetD32Async(memory, 7, N, stream)));
        b.with(|| ok(cuCtxSynchronize()));
        assert_eq!((a.races(), b.races()), (vec![], vec![]), "{schedule:?}");
        assert_eq!((a.contents(), b.contents()), (vec![1; N], vec![7; N]));
    }
}

#[test]
fn chains_of_waits_over_two_devices_end() {
    for (schedule, seed) in SCHEDULES.iter().flat_map(|s| (0..10).map(|seed| (*s, seed))) {
        let [a, b] = two(schedule, seed);
        a.fill(1);
        for round in 0..200 {
            let (from, to) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
            from.record();
            to.wait_for(from);
            to.copy_from(from);
            to.record();
            from.wait_for(to);
        }
        assert_eq!((a.contents(), b.contents()), (vec![1; N], vec![1; N]));
        assert_eq!((a.races(), b.races()), (vec![], vec![]), "{schedule:?} {seed}");
    }
}

#[test]
fn memory_of_another_device_is_only_for_copies() {
    let [a, b] = two(Schedule::Lazy, 0);
    let can = |of: &Side, other: &Side| {
        get::<c_int>(|out| cuDeviceCanAccessPeer(out, of.gpu.device(), other.gpu.device()))
    };
    assert_eq!((can(&a, &b), can(&a, &a)), (1, 0));
    b.with(|| {
        assert_eq!(cuCtxEnablePeerAccess(a.gpu.context, 0), 0);
        assert_eq!(cuCtxEnablePeerAccess(a.gpu.context, 0), 704, "enabled already");
        assert_eq!(cuCtxEnablePeerAccess(b.gpu.context, 0), 101, "its own");
        let pool = get(|out| cuDeviceGetDefaultMemPool(out, a.gpu.device()));
        let access = |ordinal, flags| cuMemPoolSetAccess(pool, &[1, ordinal, flags], 1);
        assert_eq!((access(b.gpu.device(), 3), access(a.gpu.device(), 3)), (0, 0));
        assert_eq!(access(a.gpu.device(), 1), 1, "less than its own access");
        assert_eq!((access(b.gpu.device(), 2), access(-1, 3)), (1, 101));
        assert_eq!(cuMemPoolSetAccess(0, &[1, 0, 3], 1), 1, "no pool");
        let add = b.gpu.add();
        ok(launch(add, &add_args(b.memory, a.memory, N as u64, 1), b.stream));
        assert_eq!(cuStreamSynchronize(b.stream), 700);
    });
    assert_eq!(a.gpu.world.lost(), None);
}

#[test]
fn copies_end_where_the_context_of_the_source_is_lost() {
    let [a, b] = two(Schedule::Lazy, 0);
    a.record();
    b.wait_for(&a);
    b.copy_from(&a);
    a.with(|| {
        ok(cuMemsetD32Async(a.memory + (1 << 30), 0, 1, a.stream));
        assert_eq!(cuStreamSynchronize(a.stream), 700);
    });
    ok(cuStreamSynchronize(b.stream));
    assert_eq!(b.contents(), [0; N]);
    b.with(|| {
        let (to, of) = (b.gpu.context, a.gpu.context);
        assert_eq!(cuMemcpyPeerAsync(b.memory, to, a.memory, of, BYTES, b.stream), 700);
    });
}

#[test]
fn threads_copy_in_both_directions_at_once() {
    for schedule in SCHEDULES {
        let [a, b] = two(schedule, 1);
        let worker = |own: &Side, of: &Side| {
            own.with(|| {
                let (stream, memory) = (own.gpu.stream(), own.gpu.alloc(N));
                for _ in 0..200 {
                    let (to, from) = (own.gpu.context, of.gpu.context);
                    ok(cuMemcpyPeerAsync(memory, to, of.memory, from, BYTES, stream));
                    ok(cuStreamSynchronize(stream));
                }
            });
        };
        std::thread::scope(|scope| {
            scope.spawn(|| worker(&a, &b));
            scope.spawn(|| worker(&b, &a));
        });
        assert_eq!((a.races(), b.races()), (vec![], vec![]), "{schedule:?}");
    }
}
