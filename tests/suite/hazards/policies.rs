//! Hazard policies: which launches on two streams are reported, rejected or ordered, and which are left alone.

use std::time::Duration;

use quadrants::{
    self as qd, Error, Event, Hazards, KernelValue, Layout, Program, Result, Stream, Tensor, Vector,
};
use quadrants_driver_sim::{Code, Schedule};
use quadrants_tests::{
    On,
    TestBackend::{self, Cuda},
    on_all_backends, on_gpu_backends,
};

use crate::{
    child,
    common::{copy, is_hazard, set},
};

const N: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Cell {
    heat: f64,
    flow: [f32; 3],
}

#[qd::kernel]
fn heat(cells: &mut Tensor<Cell, 1>) {
    for i in 0..cells.len() {
        cells[i].heat = 1.5;
    }
}

#[qd::kernel]
fn flow(cells: &mut Tensor<Cell, 1>) {
    for i in 0..cells.len() {
        cells[i].flow[2] = 2.5;
    }
}

#[qd::kernel]
fn point(vectors: &mut Tensor<Vector<f32, 3>, 1>) {
    for i in 0..vectors.len() {
        vectors[i] = Vector([1.0, 2.0, 3.0]);
    }
}

/// A program under a policy with two streams, an event and two tensors.
struct Scene {
    s1: Stream,
    s2: Stream,
    done: Event,
    a: Tensor<f32, 1>,
    b: Tensor<f32, 1>,
    system: On,
}

impl Scene {
    fn new(backend: TestBackend, hazards: Hazards) -> Result<Option<Self>> {
        let system = backend.open_with(Program::builder().hazards(hazards));
        system.map(|system| Self::of(system, hazards)).transpose()
    }

    fn of(system: On, hazards: Hazards) -> Result<Self> {
        let program = &system.program;
        assert_eq!(program.hazards(), hazards);
        let (s1, s2) = (program.create_stream()?, program.create_stream()?);
        let (a, b) = (program.zeros([N])?, program.zeros([N])?);
        Ok(Self { s1, s2, done: program.create_event()?, a, b, system })
    }
}

#[on_all_backends]
fn an_unordered_conflict_is_rejected_and_names_both_launches(backend: TestBackend) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Check)? else { return Ok(()) };
    set(7.0, &mut on.a).launch_on(&on.s1)?;
    let line = line!() + 1;
    let refused = copy(&on.a, &mut on.b).launch_on(&on.s2);
    let Err(Error::Hazard(hazard)) = refused else { panic!("{refused:?}") };
    let (earlier, later) = (&hazard.earlier, &hazard.later);
    assert_eq!((&*earlier.kernel, &*later.kernel), ("set", "copy"));
    assert_eq!((earlier.stream, later.stream), (on.s1.id(), on.s2.id()));
    assert_eq!((earlier.writes, later.writes), (true, false));
    assert_eq!((&*earlier.parameter, &*later.parameter), ("out", "from"));
    assert_eq!((earlier.at.line(), later.at.line()), (line - 2, line));
    assert_eq!(earlier.bytes, 0..4 * N);
    let (file, s1, s2) = (file!(), on.s1.id(), on.s2.id());
    let expected = format!(
        "`copy` on stream {s2} ({file}:{line}:42) reads `from`, and nothing orders it after `set` on stream {s1} \
         ({file}:{}:25), which writes the same memory as `out`; help: record an event on stream {s1} \
         after `set`, and make stream {s2} wait for it",
        line - 2
    );
    assert_eq!(hazard.to_string(), expected);
    assert_eq!(on.b.to_vec()?, [0.0; N], "nothing was launched");
    copy(&on.a, &mut on.b).launch_on(&on.s1)?;
    assert_eq!(on.b.to_vec()?, [7.0; N], "and the program goes on");
    Ok(())
}

#[on_all_backends]
fn a_write_after_an_unordered_read_is_a_hazard(backend: TestBackend) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Check)? else { return Ok(()) };
    copy(&on.a, &mut on.b).launch_on(&on.s1)?;
    assert!(is_hazard(set(1.0, &mut on.a).launch_on(&on.s2)));
    assert!(is_hazard(set(1.0, &mut on.b).launch_on(&on.s2)));
    assert!(is_hazard(set(1.0, &mut on.a).launch()), "the default stream is as any other");
    Ok(())
}

/// An operation between a launch on the first stream and one on the second.
type Between = fn(&mut Scene) -> Result<()>;

#[on_all_backends]
#[case::an_event(|on: &mut Scene| { on.done.record(&on.s1)?; on.done.wait(&on.s2) })]
#[case::events_over_a_third_stream(|on: &mut Scene| {
    let (s3, next) = (on.system.program.create_stream()?, on.system.program.create_event()?);
    on.done.record(&on.s1)?;
    on.done.wait(&s3)?;
    next.record(&s3)?;
    next.wait(&on.s2)
})]
#[case::a_wait_for_the_stream(|on: &mut Scene| on.s1.synchronize())]
#[case::a_wait_for_the_event(|on: &mut Scene| { on.done.record(&on.s1)?; on.done.synchronize() })]
#[case::a_wait_for_a_later_stream(|on: &mut Scene| {
    on.done.record(&on.s1)?;
    on.done.wait(on.system.program.default_stream())?;
    on.system.program.sync()
})]
#[case::a_question_answered_yes(|on: &mut Scene| { while !on.s1.query()? {} Ok(()) })]
#[case::a_question_to_an_event(|on: &mut Scene| { on.done.record(&on.s1)?; while !on.done.query()? {} Ok(()) })]
#[case::a_wait_for_the_device(|on: &mut Scene| on.system.program.device_sync())]
#[case::reading_the_elements(|on: &mut Scene| on.b.to_vec().map(drop))]
#[case::the_end_of_the_stream(|on: &mut Scene| {
    let next = on.system.program.create_stream()?;
    std::mem::replace(&mut on.s1, next).destroy()
})]
fn every_ordering_between_two_streams_prevents_a_hazard(
    #[case] between: Between,
    backend: TestBackend,
) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Check)? else { return Ok(()) };
    set(7.0, &mut on.a).launch_on(&on.s1)?;
    copy(&on.a, &mut on.b).launch_on(&on.s1)?;
    between(&mut on)?;
    set(8.0, &mut on.a).launch_on(&on.s2)?;
    copy(&on.a, &mut on.b).launch_on(&on.s2)?;
    assert_eq!(on.b.to_vec()?, [8.0; N]);
    Ok(())
}

#[on_all_backends]
#[case::an_event_of_earlier_work(|on: &mut Scene| {
    on.done.record(&on.s1)?;
    set(1.0, &mut on.a).launch_on(&on.s1)?;
    on.done.wait(&on.s2)
})]
#[case::an_event_that_the_other_does_not_wait_for(|on: &mut Scene| on.done.record(&on.s1))]
#[case::an_event_recorded_behind_the_wait(|on: &mut Scene| { on.done.wait(&on.s2)?; on.done.record(&on.s1) })]
#[case::a_wait_the_other_way_round(|on: &mut Scene| { on.done.record(&on.s2)?; on.done.wait(&on.s1) })]
#[case::a_wait_for_another_stream(|on: &mut Scene| on.s2.synchronize())]
#[case::reading_other_elements(|on: &mut Scene| on.b.to_vec().map(drop))]
fn incomplete_orderings_between_two_streams_are_hazards(
    #[case] between: Between,
    backend: TestBackend,
) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Check)? else { return Ok(()) };
    set(7.0, &mut on.a).launch_on(&on.s1)?;
    between(&mut on)?;
    assert!(is_hazard(copy(&on.a, &mut on.b).launch_on(&on.s2)));
    Ok(())
}

#[on_all_backends]
fn reads_and_disjoint_byte_ranges_are_no_hazard(backend: TestBackend) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Check)? else { return Ok(()) };
    let mut c = on.system.program.zeros::<f32, 1>([N])?;
    copy(&on.a, &mut on.b).launch_on(&on.s1)?;
    copy(&on.a, &mut c).launch_on(&on.s2)?;
    {
        let (mut low, mut high) = on.a.split_at_mut(N / 2)?;
        // After the launch that reads the whole tensor.
        on.done.record(&on.s2)?;
        on.done.wait(&on.s1)?;
        on.done.record(&on.s1)?;
        on.done.wait(&on.s2)?;
        set(1.0, &mut low).launch_on(&on.s1)?;
        set(2.0, &mut high).launch_on(&on.s2)?;
    }
    assert!(!is_hazard(set(3.0, &mut *on.a.slice_mut(..N / 2)?).launch_on(&on.s1)));
    assert!(is_hazard(set(3.0, &mut *on.a.slice_mut(..=N / 2)?).launch_on(&on.s1)));
    assert!(is_hazard(set(3.0, &mut *on.a.slice_mut(N / 2 - 1..)?).launch_on(&on.s2)));
    on.system.program.device_sync()?;
    assert_eq!(on.a.to_vec()?[N / 2 - 1..=N / 2], [3.0, 2.0]);
    Ok(())
}

/// Regression: accesses to single fields or slices once counted as accesses to all bytes between them.
#[on_all_backends]
fn disjoint_components_and_slices_are_no_hazard(
    backend: TestBackend,
    #[values(Layout::ArrayOfStructs, Layout::StructOfArrays)] layout: Layout,
) -> Result<()> {
    let Some(on) = Scene::new(backend, Hazards::Check)? else { return Ok(()) };
    let program = &on.system.program;
    let mut cells = program.zeros_with::<Cell, 1>([9], layout)?;
    heat(&mut cells).launch_on(&on.s1)?;
    flow(&mut cells).launch_on(&on.s2)?;
    assert!(is_hazard(heat(&mut cells).launch_on(&on.s2)));
    assert!(is_hazard(flow(&mut cells).launch_on(&on.s1)));
    assert_eq!(cells.to_vec()?, [Cell { heat: 1.5, flow: [0.0, 0.0, 2.5] }; 9]);

    let mut vectors = program.zeros_with::<Vector<f32, 3>, 1>([9], layout)?;
    {
        let (mut low, mut high) = vectors.split_at_mut(4)?;
        point(&mut low).launch_on(&on.s1)?;
        point(&mut high).launch_on(&on.s2)?;
    }
    assert!(is_hazard(point(&mut *vectors.slice_mut(3..5)?).launch_on(&on.s2)));
    assert_eq!(vectors.to_vec()?, [Vector([1.0, 2.0, 3.0]); 9]);
    Ok(())
}

#[on_all_backends]
fn a_hazard_between_two_launch_sites_is_reported_once(backend: TestBackend) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Report)? else { return Ok(()) };
    on.system.allow_races();
    for _ in 0..3 {
        set(7.0, &mut on.a).launch_on(&on.s1)?;
        copy(&on.a, &mut on.b).launch_on(&on.s2)?;
    }
    let told = on.system.program.take_hazards();
    let pairs: Vec<_> =
        told.iter().map(|told| (&*told.earlier.kernel, &*told.later.kernel)).collect();
    assert_eq!(pairs, [("set", "copy"), ("copy", "set")]);
    copy(&on.a, &mut on.b).launch_on(&on.s1)?;
    assert_eq!(on.system.program.take_hazards().len(), 1, "it is another launch");
    Ok(())
}

/// The works of children.
pub(crate) const WORKS: &[child::Work] = &[
    ("hazards without a subscriber", report_again_and_again),
    ("hazards with a subscriber", |backend| {
        let subscriber = tracing::subscriber::NoSubscriber::new();
        tracing::subscriber::set_global_default(subscriber).expect("the first subscriber");
        report_again_and_again(backend)
    }),
];

fn report_again_and_again(backend: TestBackend) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Report)? else { return Ok(()) };
    on.system.allow_races();
    for _ in 0..3 {
        set(7.0, &mut on.a).launch_on(&on.s1)?;
        copy(&on.a, &mut on.b).launch_on(&on.s2)?;
    }
    Ok(())
}

#[on_all_backends]
fn a_hazard_reaches_standard_error_once_unless_there_is_a_subscriber(backend: TestBackend) {
    if backend.open().is_none() {
        return;
    }
    let messages = |work| {
        let output = child::output(work, backend, Duration::from_secs(60));
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        ["reads `from`, and nothing orders it", "writes `out`, and nothing orders it"]
            .map(|what| text.lines().filter(|line| line.contains(what)).count())
    };
    assert_eq!(messages("hazards without a subscriber"), [1, 1]);
    assert_eq!(messages("hazards with a subscriber"), [0, 0]);
}

#[derive(qd::Tensors)]
struct Fields<'a> {
    f: &'a Tensor<f32, 1>,
    g: &'a mut Tensor<f32, 1>,
}

#[qd::func]
fn get(x: &Tensor<f32, 1>, i: usize) -> f32 {
    x[i]
}

#[qd::kernel]
fn through_a_func(a: &mut Fields<'_>) {
    for i in 0..a.g.len() {
        a.g[i] = get(a.f, i) + get(a.f, i);
    }
}

#[on_all_backends]
fn a_field_that_a_func_reads_is_no_write(backend: TestBackend) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Check)? else { return Ok(()) };
    let (f, mut g) =
        (on.system.program.tensor_from(&[3.0; N], [N])?, on.system.program.zeros([N])?);
    through_a_func(&mut Fields { f: &f, g: &mut on.a }).launch_on(&on.s1)?;
    through_a_func(&mut Fields { f: &f, g: &mut on.b }).launch_on(&on.s2)?;
    copy(&f, &mut g).launch()?;
    assert!(is_hazard(copy(&on.a, &mut g).launch()), "`g` is written");
    assert_eq!((on.a.to_vec()?, on.b.to_vec()?), (vec![6.0; N], vec![6.0; N]));
    Ok(())
}

#[on_all_backends]
fn a_read_of_an_empty_tensor_waits_for_nothing(backend: TestBackend) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Check)? else { return Ok(()) };
    set(7.0, &mut on.a).launch_on(&on.s1)?;
    assert!(on.a.slice(3..3)?.to_vec()?.is_empty());
    assert!(is_hazard(copy(&on.a, &mut on.b).launch_on(&on.s2)));
    Ok(())
}

#[on_all_backends]
fn the_explicit_policy_checks_nothing(backend: TestBackend) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Explicit)? else { return Ok(()) };
    on.system.allow_races();
    set(7.0, &mut on.a).launch_on(&on.s1)?;
    copy(&on.a, &mut on.b).launch_on(&on.s2)?;
    assert!(on.system.program.take_hazards().is_empty());
    Ok(())
}

#[on_all_backends]
fn the_auto_policy_inserts_exactly_the_missing_waits(backend: TestBackend) -> Result<()> {
    let Some(mut on) = Scene::new(backend, Hazards::Auto)? else { return Ok(()) };
    let inserted = |on: &Scene| on.system.program.inserted_waits();
    set(7.0, &mut on.a).launch_on(&on.s1)?;
    copy(&on.a, &mut on.b).launch_on(&on.s2)?;
    assert_eq!(inserted(&on), 1);
    copy(&on.a, &mut on.b).launch_on(&on.s2)?;
    assert_eq!(inserted(&on), 1, "what is behind it is behind all before");
    set(8.0, &mut on.a).launch_on(&on.s1)?;
    assert_eq!(inserted(&on), 2, "a write behind the reads");
    on.done.record(&on.s1)?;
    on.done.wait(&on.s2)?;
    copy(&on.a, &mut on.b).launch_on(&on.s2)?;
    assert_eq!(inserted(&on), 2);
    assert_eq!(on.b.to_vec()?, [8.0; N]);
    Ok(())
}

/// Repeats a read of old elements and a write of new ones, without events.
#[on_gpu_backends]
fn a_reader_never_sees_a_later_write(
    backend: TestBackend,
    #[values(Schedule::Random, Schedule::Adversarial, Schedule::Lazy)] schedule: Schedule,
) -> Result<()> {
    let hazards = Hazards::Auto;
    let Some(system) = backend.open_simulated_with(Program::builder().hazards(hazards)) else {
        return Ok(());
    };
    let mut on = Scene::of(system, hazards)?;
    let world = on.system.world.as_ref().expect("simulated");
    world.set_schedule(schedule);
    for seed in 0..1000 {
        world.set_seed(seed);
        let old = seed as f32;
        set(old, &mut on.a).launch_on(&on.s1)?;
        copy(&on.a, &mut on.b).launch_on(&on.s2)?;
        set(-1.0, &mut on.a).launch_on(&on.s1)?;
        assert_eq!(on.b.to_vec()?, [old; N], "seed {seed}");
    }
    Ok(())
}

#[test]
fn an_unknown_hazard_policy_is_rejected() {
    let refused = "sometimes".parse::<Hazards>().unwrap_err();
    let expected =
        "QUADRANTS_HAZARDS is `sometimes`; help: set it to `explicit`, `report`, `check` or `auto`";
    assert_eq!(refused.to_string(), expected);
    assert_eq!("auto".parse::<Hazards>().unwrap(), Hazards::Auto);
}

/// A launch that stages its arguments may wait for the stream. That wait orders work before it, and no
/// later work.
#[on_gpu_backends]
fn a_wait_inside_a_launch_orders_only_earlier_work(
    backend: TestBackend,
    #[values(Hazards::Auto, Hazards::Check)] hazards: Hazards,
    #[values(false, true)] by_a_read: bool,
) -> Result<()> {
    let builder = Program::builder().hazards(hazards).argument_limit(0);
    let Some(system) = backend.open_simulated_with(builder) else { return Ok(()) };
    let Scene { system, s1, s2, mut a, mut b, .. } = Scene::of(system, hazards)?;
    let world = system.world.as_ref().expect("simulated");
    let mut others = [(); 3].map(|()| system.program.zeros::<f32, 1>([N]).expect("memory"));
    let [c, d, e] = &mut others;
    system.program.device_sync()?;
    world.set_schedule(Schedule::Eager);
    set(1.0, &mut a).launch_on(&s1)?;
    for _ in 0..20 {
        set(1.0, c).launch_on(&s1)?;
    }
    world.set_schedule(Schedule::Lazy);
    set(2.0, &mut b).launch_on(&s1)?;
    if by_a_read {
        assert_eq!(a.to_vec()?, [1.0; N]);
    } else if hazards == Hazards::Auto {
        copy(&a, d).launch_on(&s2)?;
    }
    let second = copy(&b, e).launch_on(&s2);
    if hazards == Hazards::Check {
        assert!(is_hazard(second), "nothing orders it");
    } else {
        second?;
        assert_eq!(e.to_vec()?, [2.0; N]);
    }
    Ok(())
}

/// Where a copy fails, the runtime waits for the device by itself. The drop of a stream then waits for nothing, but
/// says what is over.
#[on_gpu_backends]
fn the_work_of_a_destroyed_stream_is_complete_for_every_thread(backend: TestBackend) -> Result<()> {
    let hazards = Hazards::Check;
    let builder = Program::builder().hazards(hazards);
    let Some(system) = backend.open_simulated_with(builder) else { return Ok(()) };
    let Scene { system, s1, s2, mut a, .. } = Scene::of(system, hazards)?;
    let world = system.world.as_ref().expect("simulated");
    world.set_schedule(Schedule::Lazy);
    let b = system.program.zeros::<f32, 1>([N])?;
    set(1.0, &mut a).launch_on(&s1)?;
    let (copy, wait) = match backend {
        Cuda => ("cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"),
        _ => ("hipMemcpyDtoHAsync", "hipStreamSynchronize"),
    };
    world.fail(copy, 1, Code::INVALID_VALUE);
    assert!(b.to_vec().is_err());
    let waits = world.calls(wait);
    drop(s1);
    assert_eq!(world.calls(wait), waits, "all was over");
    assert!(!is_hazard(set(2.0, &mut a).launch_on(&s2)));
    assert_eq!(a.to_vec()?, [2.0; N]);
    Ok(())
}
