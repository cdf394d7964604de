//! Memory in stream order: when it is freed, which streams wait, and that nothing leaks.

use quadrants::{self as qd, Result, Stream, Tensor};
use quadrants_driver_sim::{OpKind, Schedule, Trace, World};
use quadrants_tests::{On, TestBackend, on_all_backends, on_gpu_backends};

use crate::common::{copy, on_seeds, order, set, three_blocks};

const N: usize = 40;

#[qd::kernel]
fn smooth(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    let first = x[0];
    for i in 0..y.len() {
        y[i] += x[i] * 2.0 - first;
    }
}

fn streams<const K: usize>(on: &On) -> [Stream; K] {
    [(); K].map(|()| on.program.create_stream().expect("a stream"))
}

#[on_all_backends]
fn a_free_waits_for_the_last_reader_on_any_stream(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let all: [Stream; 6] = streams(&on);
    let mut outs = [(); 6].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    on_seeds(on.world.as_ref(), 1000, |seed| {
        let value = seed as f32 + 1.0;
        // More readers than a tensor keeps stamps of inline; the writer is one of them.
        let mut x = program.zeros::<f32, 1>([N])?;
        let written = program.create_event()?;
        set(value, &mut x).launch_on(&all[0])?;
        written.record(&all[0])?;
        for (stream, out) in all.iter().zip(&mut outs) {
            written.wait(stream)?;
            copy(&x, out).launch_on(stream)?;
        }
        drop(x);
        // The next owner of the memory writes it at once, on a stream that waits for none of the readers.
        let mut next = program.zeros::<f32, 1>([N])?;
        set(-1.0, &mut next).launch()?;
        for out in &outs {
            assert_eq!(out.to_vec()?, [value; N], "seed {seed}");
        }
        assert_eq!(next.to_vec()?, [-1.0; N], "seed {seed}");
        Ok(())
    })
}

#[on_all_backends]
fn reused_memory_does_not_inherit_old_stamps(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let [s1, s2] = streams(&on);
    on_seeds(on.world.as_ref(), 1000, |seed| {
        for round in 0..4 {
            let value = (seed * 4 + round) as f32;
            let mut old = program.zeros::<f32, 1>([N])?;
            set(-7.0, &mut old).launch_on(&s1)?;
            drop(old);
            let mut new = program.zeros::<f32, 1>([N])?;
            assert_eq!(new.to_vec()?, [0.0; N], "seed {seed}");
            smooth(&program.tensor_from(&[value; N], [N])?, &mut new).launch_on(&s2)?;
            assert_eq!(new.to_vec()?, [value; N], "seed {seed}");
        }
        Ok(())
    })
}

#[on_all_backends]
fn host_writes_wait_for_readers_and_writers(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let [s1, s2] = streams(&on);
    let mut x = program.zeros::<f32, 1>([N])?;
    let [mut a, mut b] = [(); 2].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    on_seeds(on.world.as_ref(), 1000, |seed| {
        let value = seed as f32;
        x.fill(value)?;
        copy(&x, &mut a).launch_on(&s1)?;
        copy(&x, &mut b).launch_on(&s2)?;
        x.write(&[value + 1.0; N])?;
        assert_eq!(a.to_vec()?, [value; N], "seed {seed}");
        assert_eq!(b.to_vec()?, [value; N], "seed {seed}");
        set(value + 2.0, &mut x).launch_on(&s1)?;
        x.fill(value + 3.0)?;
        assert_eq!(x.to_vec()?, [value + 3.0; N], "seed {seed}");
        Ok(())
    })
}

/// The number of the host's wait for the operation that `to_vec` enqueued last.
fn last_read(world: World) -> u64 {
    let trace = world.trace();
    let read = trace.records().iter().rev().find(|r| r.kind == OpKind::CopyDtoh);
    read.expect("something was read").op
}

#[on_gpu_backends]
fn host_reads_wait_only_for_writers(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    // Work that nothing waits for does not run.
    world.set_schedule(Schedule::Lazy);
    let program = &on.program;
    let [s1, s2, s3] = streams(&on);
    let [mut x, mut y, mut z] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    // The first fills are complete.
    [&x, &y, &z].into_iter().try_for_each(|tensor| tensor.to_vec().map(drop))?;
    set(3.0, &mut x).launch_on(&s1)?;
    s1.synchronize()?;
    // A reader of `x`, and unrelated work.
    copy(&x, &mut y).launch_on(&s2)?;
    set(1.0, &mut z).launch_on(&s3)?;
    assert_eq!(x.to_vec()?, [3.0; N]);
    let read = last_read(world);
    let trace = world.trace();
    let one = |name: &str, at: usize| trace.launches(name).nth(at).expect("launched").op;
    assert!(trace.happens_before(one("set_0", 0), read), "the writer");
    assert!(!trace.happens_before(one("copy_0", 0), read), "the reader");
    assert!(!trace.happens_before(one("set_0", 1), read), "unrelated work");
    assert_eq!(world.live().pending, 2, "the host waited for what it did not read");

    assert_eq!(y.to_vec()?, [3.0; N]);
    let read = last_read(world);
    let trace = world.trace();
    assert!(trace.device_path(one("copy_0", 0), read), "the writer");
    assert_eq!(z.to_vec()?, [1.0; N]);
    Ok(())
}

/// The memory of a large tensor is freed by its drop, that of a small one when the pools are trimmed.
#[on_gpu_backends]
fn a_free_delays_no_user_stream(
    backend: TestBackend,
    #[values(N, (1 << 18) + 1)] len: usize,
) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let [s1, s2] = streams(&on);
    let mut x = program.tensor_from(&vec![1.0f32; len], [len])?;
    let [mut y, mut z] = [(); 2].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    set(2.0, &mut x).launch_on(&s1)?;
    order(program, &s1, &s2)?;
    copy(&x, &mut y).launch_on(&s2)?;
    let frees = |trace: Trace| trace.records().iter().filter(|r| r.kind == OpKind::Free).count();
    assert_eq!(frees(world.trace()), 0);
    drop(x);
    assert_eq!(frees(world.trace()), usize::from(len > N));
    program.trim_pools();
    assert_eq!(frees(world.trace()), 1);
    set(3.0, &mut y).launch_on(&s2)?;
    set(4.0, &mut z).launch_on(&s1)?;
    let trace = world.trace();
    let free = trace.records().iter().rfind(|r| r.kind == OpKind::Free).expect("freed");
    for stream in [&s1, &s2] {
        let launches: Vec<_> = trace
            .on_stream(stream.handle().raw())
            .filter(|r| matches!(r.kind, OpKind::Launch(_)))
            .collect();
        let [before, after] = launches[..] else { panic!("{launches:?}") };
        assert!(trace.device_path(before.op, free.op), "the free waits");
        assert!(trace.unordered(free.op, after.op), "what comes later does not");
    }
    Ok(())
}

#[on_all_backends]
fn tensors_without_elements_are_supported(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut x = program.zeros::<f32, 1>([0])?;
    let mut y = program.tensor_from(&[], [0])?;
    let plane = program.zeros::<f64, 3>([4, 0, 7])?;
    assert!(x.is_empty() && plane.is_empty());
    assert_eq!((plane.shape(), plane.len()), ([4, 0, 7], 0));
    set(1.0, &mut x).launch()?;
    copy(&x, &mut y).launch()?;
    let stream = program.create_stream()?;
    let mut full = program.zeros::<f32, 1>([N])?;
    three_blocks(&mut x, &mut full, &mut y).launch_on(&stream)?;
    x.fill(1.0)?;
    x.write(&[])?;
    assert!(x.to_vec()?.is_empty());
    assert!(plane.to_vec()?.is_empty());
    assert_eq!(full.to_vec()?, [3.0; N]);
    program.device_sync()
}

#[on_all_backends]
fn pools_hold_all_objects_once_work_is_complete(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let streams_before = program.streams().live();
    {
        let [s1, s2] = streams(&on);
        assert_eq!(program.streams().live(), streams_before + 2);
        let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
        for stream in [&s1, &s2] {
            three_blocks(&mut a, &mut b, &mut c).launch_on(stream)?;
            smooth(&a, &mut b).launch_on(stream)?;
            assert_eq!(a.to_vec()?.len(), N);
        }
        // Launches keep their stream's workers, with the events that they fork and join by, and nothing else.
        let held = program.pool_statistics();
        let workers = held.streams_created - held.streams_idle as u64;
        let events = held.events_created - held.events_idle as u64;
        assert!((workers..=2 * workers).contains(&events), "{held:?}");
    }
    program.device_sync()?;
    let idle = program.pool_statistics();
    assert_eq!(idle.streams_created, idle.streams_idle as u64, "{idle:?}");
    assert_eq!(idle.events_created, idle.events_idle as u64, "{idle:?}");
    assert_eq!(program.streams().live(), streams_before);
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

#[on_gpu_backends]
fn pools_are_bounded_and_can_be_trimmed(backend: TestBackend) -> Result<()> {
    const STREAMS: usize = 50;
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    world.set_schedule(Schedule::Random);
    let program = &on.program;
    let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    let before = world.live().streams;
    let all: [Stream; STREAMS] = streams(&on);
    let mut previous = program.default_stream();
    for stream in &all {
        order(program, previous, stream)?;
        three_blocks(&mut a, &mut b, &mut c).launch_on(stream)?;
        previous = stream;
    }
    // Their first fills are known to be complete, so that they keep no event.
    [&a, &b, &c].into_iter().try_for_each(|tensor| tensor.to_vec().map(drop))?;
    let busy = program.pool_statistics();
    // The two workers of a region stay with its stream.
    assert!(busy.streams_peak >= 2 * STREAMS, "{busy:?}");
    drop(all);
    let idle = program.pool_statistics();
    assert!(idle.streams_idle < 2 * STREAMS, "{idle:?}");
    assert_eq!(idle.streams_created - idle.streams_destroyed, idle.streams_idle as u64);
    assert!(idle.staging_bytes > 0 && idle.staging_bytes == idle.staging_bytes_idle, "{idle:?}");

    program.trim_pools();
    let trimmed = program.pool_statistics();
    assert_eq!((trimmed.streams_idle, trimmed.events_idle, trimmed.staging_bytes), (0, 0, 0));
    assert_eq!(trimmed.events_created, trimmed.events_destroyed);
    // But for the stream that the tensors' own transfers took before.
    assert!(world.live().streams <= before, "{} of {before}", world.live().streams);
    program.device_sync()?;
    three_blocks(&mut a, &mut b, &mut c).launch()?;
    a.to_vec()?;
    assert_eq!(world.reports(), []);
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

#[on_gpu_backends]
fn a_dropped_program_frees_everything(
    backend: TestBackend,
    #[values(None, Some(0))] argument_limit: Option<usize>,
    #[values(Schedule::Lazy, Schedule::Random)] schedule: Schedule,
) -> Result<()> {
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    let (world, opened) = backend.simulated_device();
    world.set_schedule(schedule);
    let mut builder = qd::Program::builder();
    if let Some(limit) = argument_limit {
        builder = builder.argument_limit(limit);
    }
    let program = builder.open(opened.clone())?;
    drop(opened);
    let (stream, event) = (program.create_stream()?, program.create_timing_event()?);
    let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    for _ in 0..3 {
        set(1.0, &mut a).launch()?;
        event.record(program.default_stream())?;
        event.wait(&stream)?;
        three_blocks(&mut a, &mut b, &mut c).launch_on(&stream)?;
        smooth(&a, &mut b).launch_on(&stream)?;
        event.record(&stream)?;
        event.wait(program.default_stream())?;
        smooth(&a, &mut c).launch()?;
        let dropped = program.tensor_from(&vec![1.0f32; 3 << 20], [3 << 20])?;
        copy(&dropped, &mut b).launch_on(&stream)?;
    }
    let another = program.clone();
    // In an order that would be invalid for raw handles: each object keeps what it needs alive.
    drop((program, another));
    assert!(world.live().blocks > 0);
    drop((a, stream));
    drop((event, b));
    drop(c);
    // HIP's primary context is never released; for CUDA the world keeps what the context still held.
    for left in [world.live(), world.left_behind()] {
        let things =
            [left.streams, left.events, left.modules, left.blocks, left.bytes, left.pinned];
        assert_eq!(things, [0; 6], "{left:?}");
        assert_eq!(left.context_refs, 0);
    }
    assert_eq!(world.reports(), []);
    Ok(())
}
