//! The adversarial schedule, and the output for repeating a failing seed.

use std::{env, process::Command};

use quadrants_driver_sim::{InvalidAccess, ReportKind, Schedule};

use super::{kernels::add_args, support::*};

const N: usize = 16;

/// The stream that the host waits for first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum First {
    Producer,
    Consumer,
    Bystander,
}

/// `b = a + 1` on one stream and `c = b + 2` on another, with or without a dependency. Returns `c`.
fn produce_and_consume(schedule: Schedule, seed: u64, edge: bool, first: First) -> Vec<u32> {
    let gpu = Gpu::open(schedule, seed);
    let add = gpu.add();
    let (s1, s2, s3, event) = (gpu.stream(), gpu.stream(), gpu.stream(), gpu.event());
    let [a, b, c, d] = [(); 4].map(|()| gpu.alloc(N));
    for x in [a, b] {
        gpu.upload(x, &[0; N], 0);
    }
    ok(cuStreamSynchronize(0));
    ok(launch(add, &add_args(b, a, N as u64, 1), s1));
    ok(cuMemsetD32Async(d, 0, N, s3));
    if edge {
        ok(cuEventRecord(event, s1));
        ok(cuStreamWaitEvent(s2, event, 0));
    }
    ok(launch(add, &add_args(c, b, N as u64, 2), s2));
    ok(cuStreamSynchronize(match first {
        First::Producer => s1,
        First::Consumer => s2,
        First::Bystander => s3,
    }));
    ok(cuStreamSynchronize(s1));
    let result = gpu.download(c, N, s2);
    ok(cuCtxSynchronize());
    assert_eq!(gpu.world.reports(), []);
    result
}

#[test]
fn a_missing_event_is_wrong_on_every_seed_in_any_order_of_waits() {
    for first in [First::Producer, First::Consumer, First::Bystander] {
        for seed in 0..200 {
            let consumed = |edge| produce_and_consume(Schedule::Adversarial, seed, edge, first);
            assert_eq!(consumed(false), [2; N], "seed {seed}, {first:?}");
            assert_eq!(consumed(true), [3; N], "seed {seed}, {first:?}");
        }
    }
    // With the lazy schedule, only a wait for the consumer alone reveals the missing dependency.
    assert_eq!(produce_and_consume(Schedule::Lazy, 0, false, First::Producer), [3; N]);
}

#[test]
fn an_overwrite_that_does_not_wait_for_readers_overtakes_them() {
    for (schedule, seen) in [(Schedule::Lazy, 1), (Schedule::Adversarial, 7)] {
        let gpu = Gpu::open(schedule, 0);
        let (s1, s2) = (gpu.stream(), gpu.stream());
        let (x, y) = (gpu.alloc(N), gpu.alloc(N));
        gpu.upload(x, &[1; N], 0);
        ok(cuStreamSynchronize(0));
        ok(cuMemcpyDtoDAsync_v2(y, x, 4 * N, s1));
        ok(cuMemsetD32Async(x, 7, N, s2));
        // The host only waits for the copy.
        assert_eq!(gpu.download(y, N, s1), [seen; N], "{schedule}");
    }
}

#[test]
fn memory_is_freed_before_a_reader_that_the_free_does_not_wait_for() {
    for waits in [true, false] {
        let gpu = Gpu::open(Schedule::Adversarial, 0);
        let [s1, s2, s3] = [(); 3].map(|()| gpu.stream());
        let (e1, e2) = (gpu.event(), gpu.event());
        let [y, z] = [(); 2].map(|()| gpu.alloc(N));
        let x = get(|out| cuMemAllocAsync(out, 4 * N, s1));
        ok(cuMemsetD32Async(x, 1, N, s1));
        ok(cuEventRecord(e1, s1));
        ok(cuStreamWaitEvent(s2, e1, 0));
        ok(cuMemcpyDtoDAsync_v2(y, x, 4 * N, s1));
        ok(cuMemcpyDtoDAsync_v2(z, x, 4 * N, s2));
        // The free waits for one reader but not for the other.
        ok(cuEventRecord(e1, s1));
        ok(cuStreamWaitEvent(s3, e1, 0));
        if waits {
            ok(cuEventRecord(e2, s2));
            ok(cuStreamWaitEvent(s3, e2, 0));
        }
        ok(cuMemFreeAsync(x, s3));
        assert_eq!(cuStreamSynchronize(s2), if waits { 0 } else { 700 });
        let kinds: Vec<_> = gpu.world.reports().iter().map(|report| report.kind).collect();
        let late = ReportKind::Access(InvalidAccess::AfterFree);
        assert_eq!(kinds, if waits { vec![] } else { vec![late] });
    }
}

#[test]
fn chains_of_overtaking_operations_terminate() {
    let gpu = Gpu::open(Schedule::Adversarial, 0);
    let streams: Vec<usize> = (0..4).map(|_| gpu.stream()).collect();
    let x: Vec<u64> = (0..4).map(|_| gpu.alloc(1)).collect();
    let event = gpu.event();
    for (i, &stream) in streams.iter().cycle().take(40).enumerate() {
        ok(cuMemsetD32Async(x[i % 3], i as u32, 1, stream));
        ok(cuMemcpyDtoDAsync_v2(x[3], x[(i + 1) % 3], 4, stream));
        if i % 5 == 0 {
            ok(cuEventRecord(event, stream));
            ok(cuStreamWaitEvent(streams[(i + 1) % 4], event, 0));
        }
    }
    for stream in streams {
        ok(cuStreamSynchronize(stream));
    }
    assert_eq!(gpu.world.live().pending, 0);
}

/// Fails on the given seeds.
#[test]
fn a_missing_wait_among_the_seeds() {
    let gpu = Gpu::lazy();
    let failure = env::var("QUADRANTS_SIM_TEST_FAILS").ok();
    let fails = failure.is_some();
    let (s1, s2) = (gpu.stream(), gpu.stream());
    let (x, event) = (gpu.alloc(1), gpu.event());
    let explored = gpu.world.explore(Schedule::Random, 0..100, |seed| {
        ok(cuMemsetD32Async(x, 0, 1, s1));
        ok(cuStreamSynchronize(s1));
        ok(cuMemsetD32Async(x, 5, 1, s1));
        if !fails {
            ok(cuEventRecord(event, s1));
            ok(cuStreamWaitEvent(s2, event, 0));
        }
        match gpu.download(x, 1, s2)[0] {
            5 => Ok(()),
            other if failure.as_deref() == Some("panic") => panic!("{other} under seed {seed}"),
            other => Err(format!("{other} under seed {seed}")),
        }
    });
    assert_eq!(explored.is_err(), fails);
}

#[test]
fn a_failing_seed_is_printed_with_its_schedule_and_a_command_that_repeats_it() {
    let test = "suite::adversary::a_missing_wait_among_the_seeds";
    let run = |failure: &str, replay: Option<&str>| {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args([test, "--exact", "--nocapture", "--test-threads", "2"]);
        child
            .env("QUADRANTS_SIM_TEST_FAILS", failure)
            .envs(replay.map(|s| ("QUADRANTS_SIM_REPLAY", s)));
        let output = String::from_utf8(child.output().unwrap().stderr).unwrap();
        let from = output.find("simulated schedule").unwrap_or_else(|| panic!("{output}"));
        output[from..].to_owned()
    };
    // Only once, also where a panic leaves both the exploration and the lease of the world.
    assert_eq!(run("panic", None).matches("to repeat: ").count(), 1);
    let output = run("error", None);
    let command =
        output.lines().find_map(|line| line.strip_prefix("to repeat: ")).expect("a command");
    assert!(
        command.starts_with("QUADRANTS_SIM_SCHEDULE=random QUADRANTS_SIM_REPLAY="),
        "{command}"
    );
    let cargo = format!("cargo test -p quadrants-driver-sim --test suite {test} -- --exact");
    assert!(command.ends_with(&cargo), "{command}");
    assert!(
        output.contains("copy dtoh on stream") && output.contains("fill on stream"),
        "{output}"
    );
    let (_, seed) = command.split_once("REPLAY=").expect("a seed");
    let (seed, _) = seed.split_once(' ').expect("a seed");
    let steps = |output: &str| -> Vec<String> {
        let lines = output.lines().filter(|line| line.starts_with("call"));
        lines.map(|line| line.split_once(", ").expect("a kind").1.to_owned()).collect()
    };
    assert_eq!(steps(&run("error", Some(seed))), steps(&output), "another schedule");
}
