//! The times and arrows of a profile agree with the order of streams and events.

use quadrants::{self as qd, ArrowKind, SpanKind, TimelineClock};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends, on_gpu_backends,
};

use super::{N, check, scale, spans_of};

#[on_all_backends]
fn an_event_is_an_arrow_between_streams(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let (first, second) = (program.create_stream()?, program.create_stream()?);
    let mark = program.create_event()?;
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    let (launched, timeline) = program.profile(|| {
        scale(2.0, &mut x).launch_on(&first)?;
        mark.record(&first)?;
        mark.wait(&second)?;
        scale(3.0, &mut x).launch_on(&second)?;
        // Without work between, the order goes on to the next stream that has some.
        mark.record(&second)?;
        mark.wait(&first)?;
        mark.record(&first)?;
        mark.wait(program.default_stream())?;
        scale(4.0, &mut x).launch()
    })?;
    launched?;
    check(&timeline);
    let stream = |span: usize| timeline.tracks()[timeline.spans()[span].track].name.clone();
    let events: Vec<_> =
        timeline.arrows().iter().filter(|arrow| arrow.kind == ArrowKind::Event).collect();
    let ends: Vec<_> = events.iter().map(|arrow| (stream(arrow.from), stream(arrow.to))).collect();
    let name = |stream: &qd::Stream| format!("stream {}", stream.id());
    let default = name(program.default_stream());
    assert!(ends.contains(&(name(&first), name(&second))), "{ends:?}");
    assert!(ends.contains(&(name(&second), default)), "{ends:?}");
    assert_eq!(x.to_vec()?[0], 24.0);
    Ok(())
}

/// Launches three times on each of two streams, and orders the streams after each other if asked to.
fn on_two_streams(on: &quadrants_tests::On, ordered: bool) -> quadrants::Result<qd::Timeline> {
    let program = &on.program;
    let streams = [program.create_stream()?, program.create_stream()?];
    let mark = program.create_event()?;
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    let mut y = program.tensor_from(&[1.0f32; N], [N])?;
    program.device_sync()?;
    let (launched, timeline) = program.profile(|| {
        for _ in 0..3 {
            scale(2.0, &mut x).launch_on(&streams[0])?;
            if ordered {
                mark.record(&streams[0])?;
                mark.wait(&streams[1])?;
            }
            scale(2.0, &mut y).launch_on(&streams[1])?;
            if ordered {
                mark.record(&streams[1])?;
                mark.wait(&streams[0])?;
            }
        }
        Ok::<_, quadrants::Error>(())
    })?;
    launched?;
    check(&timeline);
    Ok(timeline)
}

#[on_gpu_backends]
fn logical_time_shows_what_may_overlap(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let free = on_two_streams(&on, false)?;
    assert_eq!(free.clock(), TimelineClock::Logical);
    let (busy, overlap) = free.busy();
    assert!(overlap > busy * 9 / 10, "{busy:?} {overlap:?}\n{free:#?}");
    let ordered = on_two_streams(&on, true)?;
    let (busy, overlap) = ordered.busy();
    assert!(overlap.is_zero() && !busy.is_zero(), "{busy:?} {overlap:?}");
    let events = ordered.arrows().iter().filter(|arrow| arrow.kind == ArrowKind::Event).count();
    assert_eq!(events, 5);
    assert!(ordered.duration() > free.duration() * 3 / 2);
    Ok(())
}

#[on_gpu_backends]
fn a_missing_order_is_marked(backend: TestBackend) -> quadrants::Result<()> {
    let builder = qd::Program::builder().hazards(qd::Hazards::Report);
    let Some(on) = backend.open_simulated_with(builder) else { return Ok(()) };
    on.allow_races();
    let program = &on.program;
    let (one, two) = (program.create_stream()?, program.create_stream()?);
    let mark = program.create_event()?;
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    let mut run = |with_event: bool| {
        program.profile(|| {
            scale(2.0, &mut x).launch_on(&one)?;
            if with_event {
                mark.record(&one)?;
                mark.wait(&two)?;
            }
            scale(3.0, &mut x).launch_on(&two)
        })
    };
    // Each time, although the warning is printed once.
    for _ in 0..2 {
        let (launched, timeline) = run(false)?;
        launched?;
        check(&timeline);
        assert_eq!(timeline.count(ArrowKind::Missing), 1, "{timeline:#?}");
        let missing = timeline.arrows().iter().find(|arrow| arrow.kind == ArrowKind::Missing);
        let missing = missing.expect("one");
        let stream = |span: usize| timeline.tracks()[timeline.spans()[span].track].kind;
        assert_eq!(stream(missing.from), qd::TrackKind::Stream(one.id()));
        assert_eq!(stream(missing.to), qd::TrackKind::Stream(two.id()));
        assert!(timeline.to_string().contains("have no order"), "{timeline}");
        assert!(timeline.svg().contains("url(#missing)"));
    }
    assert_eq!(program.take_hazards().len(), 1);
    let (launched, timeline) = run(true)?;
    launched?;
    assert_eq!((timeline.count(ArrowKind::Missing), timeline.count(ArrowKind::Event)), (0, 1));
    Ok(())
}

#[on_gpu_backends]
fn logical_time_is_the_same_in_every_run(backend: TestBackend) -> quadrants::Result<()> {
    use quadrants_driver_sim::Schedule::{Adversarial, Eager, Lazy, Random};
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let mut seen = Vec::new();
    for (seed, schedule) in [Lazy, Eager, Random, Adversarial].into_iter().enumerate() {
        world.set_schedule(schedule);
        world.set_seed(seed as u64);
        let timeline = on_two_streams(&on, true)?;
        let spans = spans_of(&timeline, SpanKind::Task);
        seen.push(spans.map(|span| span.duration()).collect::<Vec<_>>());
    }
    assert!(seen.iter().all(|durations| *durations == seen[0]), "{seen:?}");
    Ok(())
}

#[on_all_backends]
fn work_after_a_wait_of_the_host_starts_after_it(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let streams = [program.create_stream()?, program.create_stream()?];
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    let (launched, timeline) = program.profile(|| {
        scale(2.0, &mut x).launch_on(&streams[0])?;
        streams[0].synchronize()?;
        scale(2.0, &mut x).launch_on(&streams[1])
    })?;
    launched?;
    check(&timeline);
    let spans: Vec<_> = spans_of(&timeline, SpanKind::Task).collect();
    assert!(spans[0].end <= spans[1].start, "{spans:#?}");
    if backend != Cpu {
        let wait = spans_of(&timeline, SpanKind::HostWait).next().expect("a wait");
        assert!(wait.end <= spans[1].start && spans[0].end <= wait.end, "{timeline:#?}");
    }
    Ok(())
}
