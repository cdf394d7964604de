//! The memory of dropped tensors is used again: without calls of the driver's allocator, after all work that used it,
//! and without a wait.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    thread,
};

use quadrants::{Program, Result, Stream, Tensor, host};
use quadrants_driver_sim::{Code, CudaVersion, OpKind, RocmVersion, Schedule, World};
use quadrants_tests::{Release, TestBackend, on_all_backends, on_gpu_backends};

use crate::common::{copy, order, saxpy, set};

const N: usize = 64;
const MIB: usize = 1 << 20;

/// How often driver functions were called whose names contain one of `parts`.
fn calls(world: World, parts: &[&str]) -> u64 {
    let all = world.all_calls().into_iter();
    let named = all.filter(|(name, _)| parts.iter().any(|part| name.contains(part)));
    named.map(|(_, count)| count).sum()
}

/// The calls that allocate or free memory of the device or the host.
fn allocator_calls(world: World) -> u64 {
    calls(world, &["Alloc", "alloc", "Free"])
}

#[on_gpu_backends]
fn a_repeated_temporary_makes_no_allocator_calls(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    let program = &on.program;
    let stream = program.create_stream()?;
    let round = |value: f32| -> Result<()> {
        let mut x = program.zeros::<f32, 1>([4 * N])?;
        set(value, &mut x).launch_on(&stream)
    };
    for _ in 0..3 {
        round(1.0)?;
        program.device_sync()?;
    }
    let before = allocator_calls(world);
    let made = calls(world, &["Create"]);
    for value in 0..10 {
        let log = world.call_log().len();
        round(value as f32)?;
        let is_switch = |call: &&str| call.contains("Ctx") || call.contains("Device");
        let log: Vec<_> =
            world.call_log().split_off(log).into_iter().filter(|call| !is_switch(call)).collect();
        // The fill, the event for other streams, the launch, and the event of the drop.
        let expected = match backend {
            TestBackend::Cuda => {
                ["cuMemsetD8Async", "cuEventRecord", "cuLaunchKernel", "cuEventRecord"]
            }
            _ => ["hipMemsetD8Async", "hipEventRecord", "hipModuleLaunchKernel", "hipEventRecord"],
        };
        assert_eq!(log, expected, "round {value}");
        program.device_sync()?;
    }
    assert_eq!(allocator_calls(world), before);
    assert_eq!(calls(world, &["Create"]), made, "no driver object was created");
    Ok(())
}

/// Also without a wait between the rounds: the copy of a host array runs on the launch's stream.
#[on_gpu_backends]
fn host_arrays_of_one_stream_use_memory_in_stream_order(
    backend: TestBackend,
    #[values(Schedule::Lazy, Schedule::Adversarial)] schedule: Schedule,
) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    world.set_schedule(schedule);
    let stream = on.program.create_stream()?;
    let mut sum = on.program.zeros::<f32, 1>([N])?;
    let mut round = |value: f32| saxpy(1.0, &*host(&[value; N], [N])?, &mut sum).launch_on(&stream);
    round(0.0)?;
    let before = calls(world, &["MallocAsync", "MemAllocAsync", "FreeAsync"]);
    (1..=5).try_for_each(|value| round(value as f32))?;
    assert_eq!(calls(world, &["MallocAsync", "MemAllocAsync", "FreeAsync"]), before);
    assert_eq!(sum.to_vec()?, [15.0; N]);
    Ok(())
}

/// Memory that two streams use is not free in the order of one of them.
#[on_gpu_backends]
fn a_host_array_gets_no_memory_that_another_stream_uses(
    backend: TestBackend,
    #[values(Schedule::Lazy, Schedule::Adversarial)] schedule: Schedule,
) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    world.set_schedule(schedule);
    let program = &on.program;
    let streams = [(); 2].map(|()| program.create_stream().expect("a stream"));
    let mut outs = [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    for (round, stream) in streams.iter().enumerate() {
        let value = round as f32 + 1.0;
        let x = program.tensor_from(&[value; N], [N])?;
        let [a, b, c] = &mut outs;
        copy(&x, a).launch_on(&streams[0])?;
        copy(&x, b).launch_on(&streams[1])?;
        drop(x);
        copy(&*host(&[-value; N], [N])?, c).launch_on(stream)?;
        for (out, expected) in outs.iter().zip([value, value, -value]) {
            assert_eq!(out.to_vec()?, [expected; N], "round {round}");
        }
    }
    Ok(())
}

#[on_gpu_backends]
fn a_tensor_of_memory_in_use_is_new_and_nothing_waits(
    backend: TestBackend,
    #[values(Schedule::Lazy, Schedule::Adversarial)] schedule: Schedule,
) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    world.set_schedule(schedule);
    let program = &on.program;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let mut out = program.zeros::<f32, 1>([N])?;
    let mut x = program.zeros::<f32, 1>([N])?;
    program.device_sync()?;
    // More work than the queries below let run.
    for value in 0..20 {
        set(value as f32, &mut x).launch_on(&s1)?;
    }
    copy(&x, &mut out).launch_on(&s1)?;
    drop(x);
    let waits = calls(world, &["Synchronize"]);
    let mut next = program.zeros::<f32, 1>([N])?;
    set(-1.0, &mut next).launch_on(&s2)?;
    assert_eq!(calls(world, &["Synchronize"]), waits, "the host waited");
    assert!(world.live().pending > 2, "a query is no wait");
    let trace = world.trace();
    let reader = trace.launches("copy_0").last().expect("launched");
    let fill = trace.records().iter().rfind(|r| r.kind == OpKind::Fill).expect("filled");
    let writer = trace.launches("set_0").last().expect("launched");
    for new in [fill, writer] {
        assert!(trace.unordered(reader.op, new.op), "a stream waits: {new:?}");
    }
    assert_eq!(next.to_vec()?, [-1.0; N]);
    assert_eq!(out.to_vec()?, [19.0; N]);
    // Now the memory is known to be free.
    let before = allocator_calls(world);
    assert_eq!(program.zeros::<f32, 1>([N])?.to_vec()?, [0.0; N]);
    assert_eq!(allocator_calls(world), before);
    Ok(())
}

#[on_gpu_backends]
fn a_stream_at_work_does_not_hold_back_the_memory_of_others(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    world.set_schedule(Schedule::Lazy);
    let program = &on.program;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let [mut x, mut y] = [(); 2].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    program.device_sync()?;
    for value in 0..20 {
        set(value as f32, &mut x).launch_on(&s1)?;
    }
    set(1.0, &mut y).launch_on(&s2)?;
    drop((x, y));
    s2.synchronize()?;
    let before = calls(world, &["MallocAsync", "MemAllocAsync"]);
    drop(program.zeros::<f32, 1>([N])?);
    assert_eq!(calls(world, &["MallocAsync", "MemAllocAsync"]), before);
    assert!(world.live().pending > 2, "the first stream is at work");
    Ok(())
}

#[on_all_backends]
fn memory_is_used_again_after_the_last_of_several_readers(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let all: [Stream; 6] = [(); 6].map(|()| program.create_stream().expect("a stream"));
    let mut outs = [(); 6].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    for seed in 0..400_u64 {
        if let Some(world) = &on.world {
            let schedules = [Schedule::Random, Schedule::Adversarial, Schedule::Lazy];
            world.set_schedule(schedules[(seed % 3) as usize]);
            world.set_seed(seed);
        }
        let value = seed as f32 + 1.0;
        let x = program.tensor_from(&[value; N], [N])?;
        // At most four streams have an event; the memory of more readers is freed.
        let readers = 1 + (seed % 6) as usize;
        for (stream, out) in all.iter().zip(&mut outs).take(readers) {
            copy(&x, out).launch_on(stream)?;
        }
        drop(x);
        // Which readers are complete varies.
        for k in (0..readers).filter(|k| seed >> (k + 1) & 1 == 1) {
            assert_eq!(outs[k].to_vec()?, [value; N], "seed {seed}");
        }
        let [mut next, other] = [(); 2].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
        set(-1.0, &mut next).launch_on(&all[(seed / 7 % 6) as usize])?;
        for out in &outs[..readers] {
            assert_eq!(out.to_vec()?, [value; N], "seed {seed}");
        }
        assert_eq!(next.to_vec()?, [-1.0; N], "seed {seed}");
        assert_eq!(other.to_vec()?, [0.0; N], "seed {seed}");
    }
    if let Some(world) = &on.world {
        assert_eq!(world.reports(), []);
    }
    Ok(())
}

#[on_gpu_backends]
fn cached_memory_is_bounded_and_can_be_trimmed(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    let program = &on.program;
    program.device_sync()?;
    let before = world.live().blocks;
    let cached = || {
        let pools = program.pool_statistics();
        (pools.memory_blocks_cached, pools.memory_bytes_cached)
    };
    let make = |count: usize, bytes: usize| -> Result<Vec<Tensor<u8, 1>>> {
        (0..count).map(|_| program.zeros::<u8, 1>([bytes])).collect()
    };
    drop(make(66, MIB)?);
    assert_eq!(cached(), (64, 64 * MIB));
    drop(make(1, MIB + 1)?);
    assert_eq!(cached(), (64, 64 * MIB), "too large");
    program.device_sync()?;
    assert_eq!(world.live().blocks, before + 64);
    program.trim_pools();
    program.device_sync()?;
    assert_eq!((cached(), world.live().blocks), ((0, 0), before));

    drop(make(4100, 100)?);
    assert_eq!(cached(), (4096, 4096 * 100));
    program.device_sync()?;
    assert_eq!(world.live().blocks, before + 4096);
    let pools = program.pool_statistics();
    assert_eq!(pools.events_created - pools.events_destroyed, pools.events_idle as u64);
    program.trim_pools();
    program.device_sync()?;
    assert_eq!((cached(), world.live().blocks), ((0, 0), before));
    assert!(program.take_deferred_errors().is_empty());
    assert_eq!(world.reports(), []);
    Ok(())
}

#[on_gpu_backends]
fn an_allocation_without_room_frees_the_cached_memory(
    backend: TestBackend,
    #[values(Schedule::Lazy, Schedule::Adversarial)] schedule: Schedule,
) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    world.set_schedule(schedule);
    let program = &on.program;
    let stream = program.create_stream()?;
    let mut out = program.zeros::<f32, 1>([N])?;
    let mut x = program.zeros::<f32, 1>([1 << 14])?;
    let idle = program.zeros::<f32, 1>([1 << 14])?;
    set(2.0, &mut x).launch_on(&stream)?;
    copy(&x, &mut out).launch_on(&stream)?;
    drop((x, idle));
    assert_eq!(program.pool_statistics().memory_blocks_cached, 2);
    world.set_memory_limit(world.live().bytes);
    // Smaller than either, and of another size.
    let next = [(); 2].map(|()| program.zeros::<f32, 1>([14_000]).expect("there is room again"));
    assert_eq!(program.pool_statistics().memory_blocks_cached, 0);
    assert_eq!(out.to_vec()?, [2.0; N], "freed after its reader");
    for next in next {
        assert!(next.to_vec()?.iter().all(|x| *x == 0.0));
    }
    assert!(program.take_deferred_errors().is_empty());
    assert_eq!(world.reports(), []);
    Ok(())
}

#[on_gpu_backends]
fn memory_outlives_the_streams_that_used_it(
    backend: TestBackend,
    #[values(false, true)] while_unwinding: bool,
    #[values(false, true)] used_again: bool,
    #[values(Schedule::Lazy, Schedule::Adversarial, Schedule::Random)] schedule: Schedule,
) -> Result<()> {
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    let (world, opened) = backend.simulated_device();
    world.set_schedule(schedule);
    let program = Program::open(opened)?;
    let mut all: Vec<Tensor<f32, 1>> =
        (0..20).map(|_| program.zeros([N])).collect::<Result<_>>()?;
    for (seed, kept) in (0..).zip(&mut all) {
        world.set_seed(seed);
        let unwound = catch_unwind(AssertUnwindSafe(|| -> Result<()> {
            let stream = program.create_stream()?;
            let mut dropped = program.zeros::<f32, 1>([N])?;
            set(3.0, &mut dropped).launch_on(&stream)?;
            copy(&dropped, kept).launch_on(&stream)?;
            // Its event is of a stream that goes after it.
            drop(dropped);
            if while_unwinding {
                resume_unwind(Box::new(()));
            }
            Ok(())
        }));
        assert_eq!(unwound.is_err(), while_unwinding);
        if used_again {
            let mut next = program.zeros::<f32, 1>([N])?;
            set(4.0, &mut next).launch()?;
            assert_eq!(kept.to_vec()?, [3.0; N], "seed {seed}");
            assert_eq!(next.to_vec()?, [4.0; N], "seed {seed}");
        }
    }
    drop((all, program));
    assert_eq!(world.reports(), []);
    let live = world.live();
    assert_eq!((live.streams, live.events, live.blocks, live.pending), (0, 0, 0, 0));
    Ok(())
}

#[on_all_backends]
fn nothing_is_cached_without_stream_ordered_memory(backend: TestBackend) -> Result<()> {
    let release = match backend {
        TestBackend::Cpu => None,
        TestBackend::Cuda => Some(Release::Cuda(CudaVersion::V13_0)),
        TestBackend::AmdGpu => Some(Release::Rocm(RocmVersion::V7_0)),
    };
    let (world, program) = match release {
        None => (None, backend.open().map(|on| on.program)),
        Some(release) => match release.open_device(false) {
            Some((world, opened)) => (Some(world), Some(Program::open(opened)?)),
            None => (None, None),
        },
    };
    let Some(program) = program else { return Ok(()) };
    let stream = program.create_stream()?;
    let mut x = program.zeros::<f32, 1>([N])?;
    set(1.0, &mut x).launch_on(&stream)?;
    let before = world.as_ref().map(|world| world.live().blocks);
    drop((x, program.tensor_from(&[1.0f32; N], [N])?));
    let pools = program.pool_statistics();
    assert_eq!((pools.memory_blocks_cached, pools.memory_bytes_cached), (0, 0));
    assert_eq!(world.as_ref().map(|world| world.live().blocks + 1), before);
    Ok(())
}

#[on_gpu_backends]
fn a_lost_context_makes_no_calls_for_the_memory_of_drops(backend: TestBackend) -> Result<()> {
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    let (world, opened) = backend.simulated_device();
    let program = Program::open(opened)?;
    let stream = program.create_stream()?;
    let [mut x, y] = [(); 2].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    let large = program.zeros::<u8, 1>([2 * MIB])?;
    set(1.0, &mut x).launch_on(&stream)?;
    drop(y);
    world.lose(None, 1, Code::LAUNCH_FAILED);
    assert!(program.device_sync().is_err());
    let log = world.call_log().len();
    drop((x, large));
    program.trim_pools();
    let made = world.call_log().split_off(log);
    let of_memory =
        |call: &&str| ["FreeAsync", "Event", "Wait"].iter().any(|part| call.contains(part));
    assert_eq!(made.iter().filter(|call| of_memory(call)).count(), 0, "{made:?}");
    Ok(())
}

#[on_gpu_backends]
fn memory_of_one_stream_does_not_delay_another(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    // Work that nothing waits for does not run.
    world.set_schedule(Schedule::Lazy);
    let (program, s) = (&on.program, on.program.create_stream()?);
    set(1.0, &mut program.zeros::<f32, 1>([N])?).launch()?;
    let mut x = program.zeros::<f32, 1>([N])?;
    set(2.0, &mut x).launch_on(&s)?;
    s.synchronize()?;
    let trace = world.trace();
    let launch = |nth: usize| trace.launches("set_0").nth(nth).expect("launched").op;
    assert!(!trace.happens_before(launch(0), launch(1)), "the other stream's work");
    assert!(world.live().pending > 0, "the default stream is at work");
    assert_eq!(x.to_vec()?, [2.0; N]);
    Ok(())
}

/// A generator of numbers below a bound (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Tensors of random sizes on two streams of a thread, dropped at random with work in flight.
fn churn(program: &Program, thread: u64, rounds: usize) -> Result<()> {
    let mut numbers = Numbers(0x9e37_79b9 + thread * 7919);
    let streams = [program.create_stream()?, program.create_stream()?];
    let mut live: Vec<(Tensor<f32, 1>, f32)> = Vec::new();
    for round in 0..rounds {
        let len = 1 + (numbers.below(2) * numbers.below(2000) + numbers.below(100)) as usize;
        let value = (thread as usize * rounds + round) as f32;
        let [one, other] = match numbers.below(2) {
            0 => [&streams[0], &streams[1]],
            _ => [&streams[1], &streams[0]],
        };
        // Made, written, read on another stream, and dropped at work.
        let mut made = match numbers.below(3) {
            0 => program.zeros([len])?,
            1 => program.tensor_from(&vec![value; len], [len])?,
            _ => {
                let mut made = program.zeros([len])?;
                copy(&*host(&vec![value; len], [len])?, &mut made).launch_on(one)?;
                made
            }
        };
        set(value, &mut made).launch_on(one)?;
        let mut seen = program.zeros::<f32, 1>([len])?;
        order(program, one, other)?;
        saxpy(2.0, &made, &mut seen).launch_on(other)?;
        match numbers.below(3) {
            0 => drop(made),
            // The next use of it may be on either stream.
            1 => {
                order(program, other, one)?;
                live.push((made, value));
            }
            _ => assert!(made.to_vec()?.iter().all(|x| *x == value), "round {round}"),
        }
        order(program, other, one)?;
        live.push((seen, 2.0 * value));
        if live.len() > 6 {
            let (gone, value) = live.swap_remove(numbers.below(live.len() as u64) as usize);
            if numbers.below(3) > 0 {
                assert!(gone.to_vec()?.iter().all(|x| *x == value), "round {round}");
            }
        }
        // Other threads drop and make tensors meanwhile.
        match numbers.below(40) {
            0 | 1 => one.synchronize()?,
            2 => program.device_sync()?,
            3 => program.trim_pools(),
            _ => {}
        }
    }
    for (tensor, value) in live {
        assert!(tensor.to_vec()?.iter().all(|x| *x == value));
    }
    Ok(())
}

#[on_all_backends]
fn tensors_of_random_sizes_on_several_threads_keep_their_contents(
    backend: TestBackend,
    #[values(Schedule::Adversarial, Schedule::Random, Schedule::Lazy)] schedule: Schedule,
) -> Result<()> {
    const THREADS: u64 = 4;
    let Some(on) = backend.open() else { return Ok(()) };
    if let Some(world) = &on.world {
        world.set_schedule(schedule);
    }
    let program = &on.program;
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || churn(program, thread, 150))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    program.device_sync()?;
    if let Some(world) = &on.world {
        assert_eq!(world.reports(), []);
        let (live, pools) = (world.live(), program.pool_statistics());
        assert!(pools.memory_blocks_cached <= live.blocks, "{live:?}, {pools:?}");
        program.trim_pools();
        program.device_sync()?;
        assert_eq!(world.live().blocks, live.blocks - pools.memory_blocks_cached);
    }
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}
