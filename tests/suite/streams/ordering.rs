//! Streams and events: what is ordered, what is not, and that repeated launches create no driver objects.

use std::collections::HashSet;

use quadrants_driver_sim::{OpKind, Schedule};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends, on_gpu_backends,
};
use rstest::rstest;

use crate::common::{copy, saxpy, set};

const N: usize = 1000;

#[on_all_backends]
fn a_launch_on_the_default_stream_computes(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<f32> = (0..N).map(|i| i as f32).collect();
    let x = on.program.tensor_from(&x, [N])?;
    let mut y = on.program.tensor_from(&[1.0f32; N], [N])?;
    saxpy(2.0, &x, &mut y).launch()?;
    let y = y.to_vec()?;
    assert!(y.iter().enumerate().all(|(i, y)| *y == 1.0 + 2.0 * i as f32), "{:?}", &y[..8]);
    Ok(())
}

/// A producer on one stream, a consumer on another; the consumer's result.
fn produce_and_consume(on: &quadrants_tests::On, with_event: bool) -> quadrants::Result<Vec<f32>> {
    let program = &on.program;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let produced = program.create_event()?;
    let mut a = program.zeros::<f32, 1>([N])?;
    let mut b = program.zeros::<f32, 1>([N])?;
    set(7.0, &mut a).launch_on(&s1)?;
    produced.record(&s1)?;
    if with_event {
        produced.wait(&s2)?;
    }
    copy(&a, &mut b).launch_on(&s2)?;
    b.to_vec()
}

#[on_gpu_backends]
fn an_event_orders_two_streams_on_every_seed(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    on.allow_races();
    let world = on.world.as_ref().expect("simulated");
    let mut schedules = HashSet::new();
    let mut wrong_without = 0;
    world.set_schedule(Schedule::Random);
    for seed in 0..1000 {
        world.set_seed(seed);
        assert_eq!(produce_and_consume(&on, true)?, [7.0; N], "seed {seed}");
        schedules.insert(world.schedule_hash());
        wrong_without += u32::from(produce_and_consume(&on, false)? != [7.0; N]);
    }
    println!(
        "{backend:?}: with the event right on 1000 seeds, {} distinct schedules; \
         without it wrong on {wrong_without}",
        schedules.len()
    );
    assert!(schedules.len() > 500, "{} schedules", schedules.len());
    assert!(wrong_without > 0, "no seed shows the missing wait");
    world.set_schedule(Schedule::Lazy);
    assert_ne!(produce_and_consume(&on, false)?, [7.0; N], "lazily it is always wrong");
    assert_eq!(produce_and_consume(&on, true)?, [7.0; N]);
    for seed in 0..100 {
        world.set_schedule(Schedule::Adversarial);
        world.set_seed(seed);
        assert_ne!(produce_and_consume(&on, false)?, [7.0; N], "the adversary misses nothing");
        assert_eq!(produce_and_consume(&on, true)?, [7.0; N]);
    }
    Ok(())
}

#[on_gpu_backends]
fn a_race_report_names_both_launches(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    on.allow_races();
    let world = on.world.as_ref().expect("simulated");
    for schedule in [Schedule::Lazy, Schedule::Eager, Schedule::Adversarial] {
        world.set_schedule(schedule);
        produce_and_consume(&on, true)?;
        let before = world.races();
        produce_and_consume(&on, false)?;
        let found = &world.races()[before.len()..];
        let [race] = found else { panic!("{found:#?}") };
        let launch = |name: &str| OpKind::Launch(name.into());
        let kinds = [race.first.kind.clone(), race.second.kind.clone()];
        assert_eq!(kinds, [launch("set_0"), launch("copy_0")], "{race}");
        assert_eq!(race.bytes, 4 * N, "{race}");
    }
    assert_eq!(world.races().len(), 3, "none with the event");
    Ok(())
}

#[on_gpu_backends]
fn unrelated_streams_are_unordered(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let mut a = program.zeros::<f32, 1>([N])?;
    let mut b = program.zeros::<f32, 1>([N])?;
    for _ in 0..3 {
        set(1.0, &mut a).launch_on(&s1)?;
        set(2.0, &mut b).launch_on(&s2)?;
    }
    let trace = world.trace();
    let launches: Vec<_> = trace.launches("set_0").collect();
    assert_eq!(launches.len(), 6);
    for one in &launches {
        for other in &launches {
            let same = one.stream == other.stream;
            assert_eq!(trace.unordered(one.op, other.op), !same, "{one:?} {other:?}");
        }
    }
    Ok(())
}

#[on_gpu_backends]
fn the_second_launch_creates_no_driver_objects(backend: TestBackend) -> quadrants::Result<()> {
    use crate::common::three_blocks;
    // Regions by events: `graphs` tests what graphs create.
    let builder = quadrants::Program::builder().graphs(false);
    let Some(on) = backend.open_simulated_with(builder) else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let (stream, done) = (program.create_stream()?, program.create_event()?);
    let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).unwrap());
    let mut round = || -> quadrants::Result<()> {
        saxpy(2.0, &a, &mut b).launch()?;
        three_blocks(&mut a, &mut b, &mut c).launch()?;
        done.record(program.default_stream())?;
        done.wait(&stream)?;
        saxpy(2.0, &a, &mut b).launch_on(&stream)?;
        three_blocks(&mut a, &mut b, &mut c).launch_on(&stream)?;
        program.device_sync()
    };
    round()?;
    let first = world.creates();
    for _ in 0..20 {
        round()?;
    }
    assert_eq!(world.creates(), first);
    Ok(())
}

#[rstest]
fn on_the_cpu_streams_and_events_are_valid_no_ops() -> quadrants::Result<()> {
    let Some(on) = Cpu.open() else { return Ok(()) };
    let (stream, event) = (on.program.create_stream()?, on.program.create_event()?);
    assert_eq!((stream.handle().raw(), event.handle().raw()), (0, 0));
    event.wait(&stream)?;
    event.record(&stream)?;
    event.wait(on.program.default_stream())?;
    event.synchronize()?;
    assert!(event.query()? && stream.query()?);
    on.program.sync()?;
    on.program.device_sync()?;
    stream.destroy()
}

#[on_all_backends]
fn objects_of_two_programs_cannot_be_mixed(backend: TestBackend) -> quadrants::Result<()> {
    let (Some(one), Some(two)) = (backend.open(), backend.open()) else { return Ok(()) };
    let mut a = one.program.zeros::<f32, 1>([N])?;
    let stream = two.program.create_stream()?;
    let event = one.program.create_event()?;
    let other = |result: quadrants::Result<()>| {
        assert!(matches!(result, Err(quadrants::Error::OtherProgram { .. })), "{result:?}");
    };
    other(set(1.0, &mut a).launch_on(&stream));
    other(event.record(&stream));
    other(event.wait(&stream));
    Ok(())
}
