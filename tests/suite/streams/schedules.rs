//! What events, waits and foreign streams order, on a thousand schedules, and what stays unordered.

use quadrants::{
    Error, Event, Hazards, Opened, Program, Result, Stream, Tensor,
    rhi::{StreamHandle, StreamOptions},
};
use quadrants_driver_sim::{Schedule, WorldLease};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends, on_gpu_backends,
};

use crate::common::{copy, on_seeds, saxpy, set};

const N: usize = 40;

fn tensors<const K: usize>(program: &Program) -> [Tensor<f32, 1>; K] {
    [(); K].map(|()| program.zeros([N]).expect("memory"))
}

#[on_all_backends]
fn rerecording_an_event_does_not_change_earlier_waits(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let [s1, s2, s3] = [(); 3].map(|()| program.create_stream().expect("a stream"));
    let event = program.create_event()?;
    let [mut a, mut b, mut c] = tensors(program);
    on_seeds(on.world.as_ref(), 1000, |seed| {
        let value = seed as f32 + 1.0;
        set(value, &mut a).launch_on(&s1)?;
        event.record(&s1)?;
        event.wait(&s2)?;
        // The mark moves to work that the waiting stream has nothing to do with, and that may be over long before.
        set(-1.0, &mut c).launch_on(&s3)?;
        event.record(&s3)?;
        copy(&a, &mut b).launch_on(&s2)?;
        assert_eq!(b.to_vec()?, [value; N], "seed {seed}");
        event.synchronize()?;
        assert_eq!(c.to_vec()?, [-1.0; N], "seed {seed}");
        Ok(())
    })
}

#[on_all_backends]
fn events_order_the_default_stream_both_ways(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let stream = program.create_stream()?;
    assert_eq!(program.default_stream().handle(), StreamHandle::DEFAULT);
    let (there, back) = (program.create_event()?, program.create_event()?);
    let [mut a, mut b] = tensors(program);
    on_seeds(on.world.as_ref(), 1000, |seed| {
        let value = seed as f32;
        set(value, &mut a).launch()?;
        there.record(program.default_stream())?;
        there.wait(&stream)?;
        copy(&a, &mut b).launch_on(&stream)?;
        back.record(&stream)?;
        back.wait(program.default_stream())?;
        set(-1.0, &mut a).launch()?;
        saxpy(1.0, &a, &mut b).launch()?;
        assert_eq!(b.to_vec()?, [value - 1.0; N], "seed {seed}");
        assert_eq!(a.to_vec()?, [-1.0; N], "seed {seed}");
        Ok(())
    })
}

#[on_gpu_backends]
fn sync_waits_for_the_default_stream_and_device_sync_for_all_streams(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    // What nobody waits for does not run.
    world.set_schedule(Schedule::Lazy);
    let program = &on.program;
    let stream = program.create_stream()?;
    let [mut a, mut b] = tensors(program);
    // The first fills are complete.
    [&a, &b].into_iter().try_for_each(|tensor| tensor.to_vec().map(drop))?;
    set(1.0, &mut a).launch()?;
    set(2.0, &mut b).launch_on(&stream)?;
    assert_eq!(world.live().pending, 2);
    program.sync()?;
    assert_eq!(world.live().pending, 1, "the default stream's work alone");
    set(1.0, &mut a).launch()?;
    program.default_stream().synchronize()?;
    assert_eq!(world.live().pending, 1, "handle 0 is waited for as any other");
    set(1.0, &mut a).launch()?;
    stream.synchronize()?;
    assert_eq!(world.live().pending, 1, "its own work alone");
    set(2.0, &mut b).launch_on(&stream)?;
    program.device_sync()?;
    assert_eq!(world.live().pending, 0);
    Ok(())
}

/// A buffer is rewritten on one stream while another has still to read the old elements.
#[on_all_backends]
fn an_event_orders_a_write_after_an_earlier_read(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let [s1, s2] = [(); 2].map(|()| program.create_stream().expect("a stream"));
    let (written, read) = (program.create_event()?, program.create_event()?);
    let [mut a, mut b] = tensors(program);
    on_seeds(on.world.as_ref(), 1000, |seed| {
        for round in 0..3 {
            let value = (seed * 3 + round) as f32;
            set(value, &mut a).launch_on(&s1)?;
            written.record(&s1)?;
            written.wait(&s2)?;
            copy(&a, &mut b).launch_on(&s2)?;
            read.record(&s2)?;
            read.wait(&s1)?;
            set(-1.0, &mut a).launch_on(&s1)?;
            assert_eq!(b.to_vec()?, [value; N], "seed {seed}");
        }
        Ok(())
    })
}

#[on_all_backends]
fn a_stream_dropped_with_work_in_flight_completes_it(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let [mut a, mut b, mut c] = tensors(program);
    on_seeds(on.world.as_ref(), 1000, |seed| {
        let value = seed as f32;
        let stream = program.create_stream()?;
        let mut passing = program.zeros::<f32, 1>([N])?;
        set(value, &mut passing).launch_on(&stream)?;
        crate::common::three_blocks(&mut a, &mut b, &mut c).launch_on(&stream)?;
        copy(&passing, &mut a).launch_on(&stream)?;
        if seed % 2 == 0 {
            drop(passing);
            drop(stream);
        } else {
            stream.destroy()?;
            drop(passing);
        }
        assert_eq!(a.to_vec()?, [value; N], "seed {seed}");
        assert_eq!(b.to_vec()?, [3.0 * (value + 1.0); N], "seed {seed}");
        Ok(())
    })?;
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

/// A device with a non-blocking stream that is no program's.
struct Foreign {
    opened: Opened,
    handle: StreamHandle,
    world: Option<WorldLease>,
}

impl Foreign {
    fn new(backend: TestBackend) -> Result<Option<Self>> {
        let Some((world, opened)) = backend.open_device() else { return Ok(None) };
        let handle = opened.device.create_stream(StreamOptions::default())?;
        Ok(Some(Self { opened, handle, world }))
    }
}

#[on_gpu_backends]
fn a_foreign_stream_delays_frees_and_is_never_destroyed(
    backend: TestBackend,
    #[values(None, Some(0))] argument_limit: Option<usize>,
) -> Result<()> {
    let Some(Foreign { opened, handle, world }) = Foreign::new(backend)? else { return Ok(()) };
    let builder = Program::builder();
    let builder = argument_limit.map_or(builder.clone(), |limit| builder.argument_limit(limit));
    let program = builder.open(opened.clone())?;
    let [mut kept] = tensors(&program);
    on_seeds(world.as_ref(), 1000, |seed| {
        let value = seed as f32;
        // SAFETY: the stream is the device's, and destroyed at the end of this test.
        let stream = unsafe { Stream::from_raw(&program, handle)? };
        assert_eq!(stream.handle(), handle);
        let mut passing = program.zeros::<f32, 1>([N])?;
        set(value, &mut passing).launch_on(&stream)?;
        copy(&passing, &mut kept).launch_on(&stream)?;
        drop(passing);
        // What takes its place is written at once, by streams that are not ordered with the foreign one.
        let mut next = program.zeros::<f32, 1>([N])?;
        set(-1.0, &mut next).launch()?;
        if seed % 2 == 0 {
            drop(stream);
        }
        assert_eq!(kept.to_vec()?, [value; N], "seed {seed}");
        assert_eq!(next.to_vec()?, [-1.0; N], "seed {seed}");
        // The handle is still good.
        // SAFETY: the stream is alive.
        unsafe { opened.device.stream_synchronize(handle)? };
        Ok(())
    })?;
    drop((kept, program));
    // SAFETY: made by `Foreign::new`, and nobody uses it any more.
    unsafe { opened.device.destroy_stream(handle)? };
    Ok(())
}

#[on_gpu_backends]
fn events_order_foreign_streams(backend: TestBackend) -> Result<()> {
    let Some(Foreign { opened, handle, world }) = Foreign::new(backend)? else { return Ok(()) };
    {
        // Hazards are looked for: that these launches are ordered must be seen.
        let program = Program::builder().hazards(Hazards::Check).open(opened.clone())?;
        // SAFETY: the stream is the device's, and destroyed behind the wrapper.
        let theirs = unsafe { Stream::from_raw(&program, handle)? };
        let ours = program.create_stream()?;
        let event = program.create_event()?;
        let [mut a, mut b] = tensors(&program);
        on_seeds(world.as_ref(), 1000, |seed| {
            let value = seed as f32;
            set(value, &mut a).launch_on(&theirs)?;
            event.record(&theirs)?;
            event.wait(&ours)?;
            copy(&a, &mut b).launch_on(&ours)?;
            event.record(&ours)?;
            event.wait(&theirs)?;
            set(-1.0, &mut a).launch_on(&theirs)?;
            assert_eq!(b.to_vec()?, [value; N], "seed {seed}");
            Ok(())
        })?;
    }
    // SAFETY: made by `Foreign::new`, and the wrapper is gone.
    unsafe { opened.device.destroy_stream(handle)? };
    Ok(())
}

#[on_all_backends]
fn timing_events_measure_elapsed_time(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let stream = program.create_stream()?;
    let (start, end) = (program.create_timing_event()?, program.create_timing_event()?);
    let [mut a] = tensors(program);
    let mut last = 0.0;
    for _ in 0..3 {
        start.record(&stream)?;
        for _ in 0..=20 {
            set(1.0, &mut a).launch_on(&stream)?;
        }
        end.record(&stream)?;
        end.synchronize()?;
        assert!(start.query()? && end.query()?);
        last = end.elapsed_ms_since(&start)?;
        assert!((0.0..60_000.0).contains(&last), "{last} ms");
    }
    if backend == Cpu {
        assert_eq!(last, 0.0, "events of the processor have no time");
        return Ok(());
    }
    assert!(last > 0.0, "21 launches took no time");
    // Events without timing or without a record are rejected, and the program stays usable.
    let plain = program.create_event()?;
    plain.record(&stream)?;
    stream.synchronize()?;
    assert!(plain.elapsed_ms_since(&start).is_err());
    assert!(end.elapsed_ms_since(&program.create_timing_event()?).is_err());
    set(2.0, &mut a).launch_on(&stream)?;
    assert_eq!(a.to_vec()?, [2.0; N]);
    let Some(other) = backend.open_simulated() else { return Ok(()) };
    let foreign: Event = other.program.create_timing_event()?;
    let refused = end.elapsed_ms_since(&foreign);
    assert!(matches!(refused, Err(Error::OtherProgram { .. })), "{refused:?}");
    Ok(())
}

#[on_all_backends]
fn streams_of_every_priority_run_launches(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let range = on.program.capabilities().priorities;
    let event = on.program.create_event()?;
    let [mut a, mut b] = tensors(&on.program);
    for priority in [i32::MIN, range.greatest, 0, range.least, i32::MAX] {
        let stream = on.program.create_stream_with_priority(priority)?;
        set(3.0, &mut a).launch_on(&stream)?;
        event.record(&stream)?;
        event.wait(on.program.default_stream())?;
        copy(&a, &mut b).launch()?;
        assert_eq!(b.to_vec()?, [3.0; N], "priority {priority}");
        on.program.sync()?;
        stream.destroy()?;
    }
    Ok(())
}

#[on_all_backends]
fn waiting_for_an_unrecorded_event_is_a_no_op(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (event, stream) = (on.program.create_event()?, on.program.create_stream()?);
    let [mut a] = tensors(&on.program);
    assert!(event.query()?);
    event.synchronize()?;
    event.wait(&stream)?;
    set(1.0, &mut a).launch_on(&stream)?;
    assert_eq!(a.to_vec()?, [1.0; N]);
    // It may go while a stream still waits for it.
    event.record(on.program.default_stream())?;
    event.wait(&stream)?;
    drop(event);
    set(2.0, &mut a).launch_on(&stream)?;
    assert_eq!(a.to_vec()?, [2.0; N]);
    if let Some(world) = &on.world {
        assert_eq!(world.reports(), []);
    }
    Ok(())
}
