//! The race detector: it finds races in every schedule, and reports nothing for ordered operations.

use std::{
    env,
    ffi::{CStr, c_char, c_int},
    process::Command,
};

use quadrants_driver_sim::{AccessKind, OpKind, Race, Schedule};
use quadrants_ir::abi::Passing;

use super::{
    kernels::{self, add_args},
    support::*,
};

const N: usize = 16;
const SCHEDULES: [Schedule; 4] =
    [Schedule::Lazy, Schedule::Eager, Schedule::Random, Schedule::Adversarial];

/// The operations of two streams, with or without a dependency from the first to the second.
struct Two {
    gpu: Gpu,
    streams: [usize; 2],
    x: u64,
    y: u64,
    z: u64,
    add: usize,
}

impl Two {
    fn new(schedule: Schedule) -> Self {
        let gpu = Gpu::open(schedule, 7);
        gpu.world.detect_races(true);
        let streams = [(); 2].map(|()| gpu.stream());
        let add = gpu.add();
        let [x, y, z] = [(); 3].map(|()| {
            let memory = get(|out| cuMemAllocAsync(out, 4 * N, 0));
            ok(cuMemsetD32Async(memory, 1, N, 0));
            memory
        });
        ok(cuStreamSynchronize(0));
        Self { gpu, streams, x, y, z, add }
    }

    fn edge(&self) {
        let event = self.gpu.event();
        ok(cuEventRecord(event, self.streams[0]));
        ok(cuStreamWaitEvent(self.streams[1], event, 0));
        ok(cuEventDestroy_v2(event));
    }

    fn kernel(&self, dst: u64, src: u64, stream: usize) {
        ok(launch(self.add, &add_args(dst, src, N as u64, 1), stream));
    }
}

type Step = fn(&Two, usize);

/// Pairs of operations on two streams that access `x`, and their kinds.
#[allow(clippy::type_complexity)] // a table
const PAIRS: [(&str, Step, Step, [AccessKind; 2]); 9] = [
    (
        "kernel, kernel",
        |t, s| t.kernel(t.x, t.y, s),
        |t, s| t.kernel(t.z, t.x, s),
        [AccessKind::Write, AccessKind::Read],
    ),
    (
        "kernel reads, kernel writes",
        |t, s| t.kernel(t.z, t.x, s),
        |t, s| t.kernel(t.x, t.y, s),
        [AccessKind::Read, AccessKind::Write],
    ),
    (
        "kernel, copy",
        |t, s| t.kernel(t.x, t.y, s),
        |t, s| ok(cuMemcpyDtoDAsync_v2(t.z, t.x, 4 * N, s)),
        [AccessKind::Write, AccessKind::Read],
    ),
    (
        "copy, fill",
        |t, s| ok(cuMemcpyDtoDAsync_v2(t.z, t.x, 4 * N, s)),
        |t, s| ok(cuMemsetD32Async(t.x, 3, N, s)),
        [AccessKind::Read, AccessKind::Write],
    ),
    (
        "fill, fill",
        |t, s| ok(cuMemsetD32Async(t.x, 2, N, s)),
        |t, s| ok(cuMemsetD32Async(t.x, 3, N, s)),
        [AccessKind::Write, AccessKind::Write],
    ),
    (
        "upload, kernel",
        |t, s| t.gpu.upload(t.x, &[5; N], s),
        |t, s| t.kernel(t.z, t.x, s),
        [AccessKind::Write, AccessKind::Read],
    ),
    (
        "kernel, download",
        |t, s| t.kernel(t.x, t.y, s),
        |t, s| drop(t.gpu.download(t.x, N, s)),
        [AccessKind::Write, AccessKind::Read],
    ),
    (
        "kernel, free",
        |t, s| t.kernel(t.z, t.x, s),
        |t, s| ok(cuMemFreeAsync(t.x, s)),
        [AccessKind::Read, AccessKind::Free],
    ),
    (
        "copy, free",
        |t, s| ok(cuMemcpyDtoDAsync_v2(t.x, t.y, 4 * N, s)),
        |t, s| ok(cuMemFreeAsync(t.x, s)),
        [AccessKind::Write, AccessKind::Free],
    ),
];

/// The races of two steps.
fn races(schedule: Schedule, steps: [Step; 2], edge: bool) -> (Vec<Race>, [u64; 2]) {
    let two = Two::new(schedule);
    let [s1, s2] = two.streams;
    steps[0](&two, s1);
    if edge {
        two.edge();
    }
    steps[1](&two, s2);
    // The race may have lost the context.
    let _ = cuCtxSynchronize();
    (two.gpu.world.races(), [s1 as u64, s2 as u64])
}

#[test]
fn each_pair_of_kinds_is_a_race_in_every_schedule_unless_ordered() {
    for schedule in SCHEDULES {
        for (name, first, second, touches) in PAIRS {
            let (found, streams) = races(schedule, [first, second], false);
            let [race] = &found[..] else { panic!("{name}, {schedule}: {found:#?}") };
            assert_eq!([race.first.stream, race.second.stream], streams.map(Some), "{name}");
            assert_eq!([race.first.access, race.second.access], touches, "{name}, {schedule}");
            assert!(race.first.op < race.second.op && race.first.call < race.second.call, "{name}");
            assert_eq!(races(schedule, [first, second], true).0, [], "{name}, {schedule}");
        }
    }
}

#[test]
fn reused_memory_races_with_work_that_was_not_waited_for() {
    for edge in [false, true] {
        for schedule in SCHEDULES {
            let two = Two::new(schedule);
            let [s1, s2] = two.streams;
            two.kernel(two.z, two.x, s1);
            if edge {
                two.edge();
            }
            ok(cuMemFreeAsync(two.x, s2));
            assert_eq!(get(|out| cuMemAllocAsync(out, 4 * N, s2)), two.x, "used again at once");
            ok(cuMemsetD32Async(two.x, 9, N, s2));
            ok(cuCtxSynchronize());
            let found = two.gpu.world.races();
            assert_eq!(found.is_empty(), edge, "{schedule}: {found:#?}");
            let launched = |race: &Race| race.first.kind == OpKind::Launch("add_0".into());
            assert!(found.iter().all(launched), "{schedule}: {found:#?}");
        }
    }
}

#[test]
fn the_host_must_wait_before_it_frees() {
    for waits in [false, true] {
        for schedule in SCHEDULES {
            let two = Two::new(schedule);
            let s = two.streams[0];
            let (memory, pinned) = (two.gpu.alloc(N), two.gpu.pinned(N));
            let pinned = pinned.as_mut_ptr();
            ok(cuMemsetD32Async(memory, 1, N, s));
            ok(cuMemcpyDtoHAsync_v2(pinned, memory, 4 * N, s));
            if waits {
                ok(cuStreamSynchronize(s));
            }
            ok(cuMemFree_v2(memory));
            ok(cuMemFreeHost(pinned));
            let _ = cuCtxSynchronize();
            let found = two.gpu.world.races();
            assert_eq!(found.is_empty(), waits, "{schedule}: {found:#?}");
            let by_host =
                |race: &Race| (race.second.stream, race.second.access) == (None, AccessKind::Free);
            assert!(found.iter().all(by_host), "{schedule}: {found:#?}");
        }
    }
}

#[test]
fn a_use_that_does_not_wait_for_the_allocation_is_a_race() {
    for schedule in SCHEDULES {
        let two = Two::new(schedule);
        let [s1, s2] = two.streams;
        let memory = get(|out| cuMemAllocAsync(out, 1 << 16, s1));
        ok(cuMemsetD32Async(memory, 1, N, s2));
        let _ = cuCtxSynchronize();
        let found = two.gpu.world.races();
        let [race] = &found[..] else { panic!("{schedule}: {found:#?}") };
        assert_eq!((race.first.access, race.second.access), (AccessKind::Alloc, AccessKind::Write));
    }
}

#[test]
fn waits_of_the_host_and_queries_order_operations() {
    let ways: [fn(&Two, usize); 4] = [
        |two, _| ok(cuStreamSynchronize(two.streams[0])),
        |_, event| ok(cuEventSynchronize(event)),
        |two, _| while cuStreamQuery(two.streams[0]) == 600 {},
        |_, event| while cuEventQuery(event) == 600 {},
    ];
    for way in ways {
        let two = Two::new(Schedule::Lazy);
        let [s1, s2] = two.streams;
        let event = two.gpu.event();
        two.kernel(two.x, two.y, s1);
        ok(cuEventRecord(event, s1));
        way(&two, event);
        two.kernel(two.z, two.x, s2);
        ok(cuCtxSynchronize());
        assert_eq!(two.gpu.world.races(), []);
    }
}

#[test]
fn races_are_of_bytes_and_not_of_blocks() {
    let two = Two::new(Schedule::Lazy);
    let [s1, s2] = two.streams;
    ok(cuMemsetD32Async(two.x, 1, N / 2, s1));
    ok(cuMemsetD32Async(two.x + 2 * N as u64, 2, N / 2, s2));
    ok(cuCtxSynchronize());
    assert_eq!(two.gpu.world.races(), []);
    ok(cuMemsetD32Async(two.x, 1, N / 2 + 1, s1));
    ok(cuMemsetD32Async(two.x + 2 * N as u64, 2, N / 2, s2));
    ok(cuCtxSynchronize());
    let found = two.gpu.world.races();
    let [race] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((race.address, race.bytes), (two.x + 2 * N as u64, 4));
}

#[test]
fn atomics_race_with_everything_but_atomics() {
    let two = Two::new(Schedule::Lazy);
    let [s1, s2] = two.streams;
    let count = two.gpu.function(&kernels::count(), Passing::Value);
    let args = kernels::count_args(two.x, N as u64);
    for stream in [s1, s2] {
        ok(launch(count, &args, stream));
    }
    ok(cuCtxSynchronize());
    assert_eq!(two.gpu.world.races(), []);
    ok(launch(count, &args, s1));
    two.kernel(two.z, two.x, s2);
    ok(cuCtxSynchronize());
    let found = two.gpu.world.races();
    let [race] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((race.first.access, race.second.access), (AccessKind::Atomic, AccessKind::Read));
}

#[test]
fn a_wait_depends_on_the_latest_record_before_it() {
    let two = Two::new(Schedule::Eager);
    let [s1, s2] = two.streams;
    two.edge();
    two.kernel(two.x, two.y, s1);
    two.kernel(two.z, two.x, s2);
    ok(cuCtxSynchronize());
    let found = two.gpu.world.races();
    let [race] = &found[..] else { panic!("{found:#?}") };
    assert!(race.ordered_after.is_some_and(|record| record < race.first.op));
    let text = race.to_string();
    let (a, b) = (race.first.op, race.second.op);
    for part in [
        &format!("race on {} bytes at {:#x}", 4 * N, two.x),
        &format!("write by operation {a} (launch add_0) on stream {s1:#x}"),
        &format!("read by operation {b} (launch add_0) on stream {s2:#x}"),
        &format!("Stream {s2:#x} does not wait for operation {a}"),
        &format!("before operation {b}"),
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn many_operations_and_streams_keep_their_order() {
    let two = Two::new(Schedule::Random);
    for round in 0..3000 {
        let stream = two.gpu.stream();
        let event = two.gpu.event();
        ok(cuEventRecord(event, two.streams[round % 2]));
        ok(cuStreamWaitEvent(stream, event, 0));
        two.kernel(two.x, two.y, stream);
        ok(cuEventRecord(event, stream));
        ok(cuStreamWaitEvent(two.streams[(round + 1) % 2], event, 0));
        ok(cuEventDestroy_v2(event));
        ok(cuStreamDestroy_v2(stream));
    }
    ok(cuCtxSynchronize());
    assert_eq!(two.gpu.world.races(), []);
}

functions! { quadrants_driver_sim::cuda_symbol:
    quadrants_sim_detect_races(ordinal: usize, on: bool);
    quadrants_sim_races(ordinal: usize, text: *mut c_char, room: usize, needed: *mut usize);
}

#[test]
fn races_are_reported_through_c_and_the_environment() {
    let test = "suite::races::races_are_reported_through_c_and_the_environment";
    let gpu = Gpu::lazy();
    let ordinal = gpu.world.ordinal();
    let child = env::var_os("QUADRANTS_SIM_RACES").is_some();
    if !child {
        ok(quadrants_sim_detect_races(ordinal, true));
    }
    let x = gpu.alloc(N);
    for stream in [gpu.stream(), gpu.stream()] {
        ok(cuMemsetD32Async(x, 1, N, stream));
    }
    ok(cuCtxSynchronize());
    let needed = get(|out| quadrants_sim_races(ordinal, std::ptr::null_mut(), 0, out));
    let mut text = vec![0 as c_char; needed];
    ok(quadrants_sim_races(ordinal, text.as_mut_ptr(), needed, &mut 0));
    // SAFETY: the call wrote a C string into the room that it asked for.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap();
    assert_eq!(text, format!("{}\n", gpu.world.races()[0]));
    if !child {
        let mut again = Command::new(env::current_exe().unwrap());
        again.args([test, "--exact", "--nocapture"]).env("QUADRANTS_SIM_RACES", "1");
        let output = again.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("quadrants simulator: race on 64 bytes"), "{text}");
    }
}

#[test]
#[should_panic(expected = "1 races:\nrace on 64 bytes")]
fn a_lease_can_forbid_races() {
    let gpu = Gpu::lazy();
    gpu.world.forbid_races();
    let x = gpu.alloc(N);
    for stream in [gpu.stream(), gpu.stream()] {
        ok(cuMemsetD32Async(x, 1, N, stream));
    }
    ok(cuCtxSynchronize());
}
