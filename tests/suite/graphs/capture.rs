//! Captured graphs replay the recorded launches in the recorded order, with the arguments given at the launch.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quadrants::{
    self as qd, Error, Event, Hazards, Kernel, Program, Result, Stream, Tensor, Vector,
    builder::KernelBuilder, ir::ScalarType::F32,
};
use quadrants_driver_sim::{Code, Schedule, World};
use quadrants_tests::{
    On,
    TestBackend::{self, Cuda},
    on_all_backends, on_gpu_backends,
};

use crate::common::{copy, saxpy, set, three_blocks};

const N: usize = 300;

#[qd::kernel]
fn shift(by: Vector<f32, 2>, steps: i32, x: &mut Tensor<Vector<f32, 2>, 1>) {
    for i in 0..x.len() {
        for _ in 0..steps {
            x[i] += by;
        }
    }
}

/// Reads out of bounds where `from` is shorter: then the checked form runs.
#[qd::kernel]
fn gather(offset: usize, from: &Tensor<f32, 1>, to: &mut Tensor<f32, 1>) {
    for i in 0..to.len() {
        to[i] = from[i + offset];
    }
}

#[qd::kernel]
fn sum_of_ends(x: &Tensor<f32, 1>) -> f32 {
    x[0] + x[x.len() - 1]
}

/// A bound on the device: the launch has temporaries.
#[qd::kernel]
fn first_few(count: &Tensor<u32, 1>, x: &mut Tensor<f32, 1>) {
    for i in 0..count[0] as usize {
        x[i] += 1.0;
    }
}

struct Scene {
    s1: Stream,
    s2: Stream,
    e1: Event,
    e2: Event,
    a: Tensor<f32, 1>,
    b: Tensor<f32, 1>,
    c: Tensor<f32, 1>,
}

impl Scene {
    fn new(program: &Program) -> Result<Self> {
        let ones = || program.tensor_from(&[1.0f32; N], [N]);
        Ok(Self {
            s1: program.create_stream()?,
            s2: program.create_stream()?,
            e1: program.create_event()?,
            e2: program.create_event()?,
            a: ones()?,
            b: ones()?,
            c: ones()?,
        })
    }

    /// Two branches that fork from the default stream and join it, with a region in one of them.
    fn work(&mut self, program: &Program) -> Result<()> {
        let Self { s1, s2, e1, e2, a, b, c } = self;
        saxpy(2.0, a, b).launch()?;
        e1.record(program.default_stream())?;
        e1.wait(s1)?;
        e1.wait(s2)?;
        s1.scope(|| copy(b, a).launch())?;
        saxpy(0.5, b, c).launch_on(s2)?;
        saxpy(0.25, b, c).launch_on(s2)?;
        e1.record(s1)?;
        e2.record(s2)?;
        e1.wait(program.default_stream())?;
        e2.wait(program.default_stream())?;
        three_blocks(a, b, c).launch()
    }

    fn read(&self) -> Result<[Vec<f32>; 3]> {
        Ok([self.a.to_vec()?, self.b.to_vec()?, self.c.to_vec()?])
    }
}

fn world(on: &On) -> World {
    **on.world.as_ref().expect("simulated")
}

#[on_all_backends]
fn a_graph_replays_the_launches_of_its_closure(
    backend: TestBackend,
    #[values(false, true)] graphs: bool,
    #[values(None, Some(0))] limit: Option<usize>,
    #[values(Hazards::Explicit, Hazards::Check)] hazards: Hazards,
) -> Result<()> {
    let builder = Program::builder().graphs(graphs).hazards(hazards);
    let builder = limit.into_iter().fold(builder, |builder, limit| builder.argument_limit(limit));
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let program = &on.program;
    let (mut eager, mut captured) = (Scene::new(program)?, Scene::new(program)?);
    let mut graph = program.capture(|| captured.work(program))?;
    assert_eq!(graph.len(), 5);
    assert_eq!(captured.read()?, [(); 3].map(|()| vec![1.0; N]), "nothing has run");
    for seed in 0..12 {
        if let Some(world) = &on.world {
            let adversarial = seed % 2 == 1;
            world.set_schedule(if adversarial { Schedule::Adversarial } else { Schedule::Random });
            world.set_seed(seed);
        }
        eager.work(program)?;
        match seed % 3 {
            0 => graph.launch()?,
            1 => captured.s1.scope(|| graph.launch())?,
            _ => {
                captured.s2.synchronize()?;
                graph.launch_on(&captured.s2)?;
            }
        }
        assert_eq!(eager.read()?, captured.read()?, "seed {seed}");
    }
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

#[on_gpu_backends]
fn graph_branches_are_ordered_only_by_events(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated_with(Program::builder().graphs(true)) else {
        return Ok(());
    };
    let (program, world) = (&on.program, world(&on));
    let mut scene = Scene::new(program)?;
    let mut graph = program.capture(|| scene.work(program))?;
    set(1.0, &mut scene.a).launch()?;
    let before = world.trace().records().len();
    graph.launch()?;
    set(2.0, &mut scene.a).launch()?;
    let trace = world.trace();
    let later = trace.records()[before].op;
    let all = |name: &str| -> Vec<_> {
        trace.launches(name).filter(|r| r.op >= later).map(|record| record.op).collect()
    };
    let ([first, left, right], [side]) =
        (<[_; 3]>::try_from(all("saxpy_0")).unwrap(), <[_; 1]>::try_from(all("copy_0")).unwrap());
    assert!(trace.device_path(first, left) && trace.device_path(first, side));
    assert!(trace.device_path(left, right), "one stream's launches");
    assert!(trace.unordered(side, left) && trace.unordered(side, right), "two branches");
    let blocks: Vec<_> = (0..4).map(|task| all(&format!("three_blocks_{task}"))[0]).collect();
    for block in &blocks {
        assert!(trace.device_path(side, *block) && trace.device_path(right, *block), "joined");
    }
    assert!(trace.device_path(blocks[0], blocks[1]), "loops of a block");
    for (x, y) in [(0, 2), (1, 2), (0, 3), (1, 3), (2, 3)] {
        assert!(trace.unordered(blocks[x], blocks[y]), "blocks {x} and {y}");
    }
    let behind = *all("set_0").last().unwrap();
    let ahead = trace.launches("set_0").filter(|r| r.op < later).last().unwrap().op;
    assert!(blocks.iter().all(|block| trace.device_path(*block, behind)));
    assert!(trace.device_path(ahead, first));
    Ok(())
}

#[on_gpu_backends]
fn a_missing_event_between_graph_nodes_is_a_race(
    backend: TestBackend,
    #[values(false, true)] ordered: bool,
) -> Result<()> {
    let builder = Program::builder().graphs(true).hazards(Hazards::Explicit);
    let Some(on) = backend.open_simulated_with(builder) else { return Ok(()) };
    if !ordered {
        on.allow_races();
    }
    let program = &on.program;
    let Scene { s1, s2, e1, mut a, mut b, .. } = Scene::new(program)?;
    let mut graph = program.capture(|| {
        set(7.0, &mut a).launch_on(&s1)?;
        e1.record(&s1)?;
        if ordered {
            e1.wait(&s2)?;
        }
        copy(&a, &mut b).launch_on(&s2)
    })?;
    graph.launch()?;
    program.sync()?;
    assert_eq!(world(&on).races().is_empty(), ordered);
    if ordered {
        assert_eq!(b.to_vec()?, [7.0; N]);
    }
    Ok(())
}

#[on_all_backends]
fn hazards_in_a_capture_follow_the_hazard_policy(
    backend: TestBackend,
    #[values(Hazards::Check, Hazards::Report, Hazards::Auto)] hazards: Hazards,
) -> Result<()> {
    let builder = Program::builder().hazards(hazards);
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    if hazards == Hazards::Report {
        on.allow_races();
    }
    let program = &on.program;
    let Scene { s1, s2, mut a, mut b, mut c, .. } = Scene::new(program)?;
    let captured = program.capture(|| {
        set(7.0, &mut a).launch_on(&s1)?;
        copy(&a, &mut b).launch_on(&s2)
    });
    match (hazards, captured) {
        (Hazards::Check, Err(Error::Hazard(hazard))) => {
            assert_eq!((&*hazard.earlier.kernel, &*hazard.later.kernel), ("set", "copy"));
            assert_eq!((hazard.earlier.stream, hazard.later.stream), (s1.id(), s2.id()));
        }
        (Hazards::Report, Ok(mut graph)) => {
            graph.launch()?;
            assert_eq!(program.take_hazards().len(), 1);
        }
        (Hazards::Auto, Ok(mut graph)) => {
            assert_eq!(program.inserted_waits(), 1);
            graph.launch()?;
            assert_eq!(b.to_vec()?, [7.0; N]);
        }
        (_, other) => panic!("{other:?}"),
    }
    // Replaced arguments may conflict where the captured ones do not.
    let mut graph = program.capture(|| {
        set(3.0, &mut a).launch_on(&s1)?;
        copy(&b, &mut c).launch_on(&s2)
    })?;
    graph.launch()?;
    let inserted = program.inserted_waits();
    let given = graph.with("copy.from", &a).launch();
    match hazards {
        Hazards::Check => assert!(matches!(given, Err(Error::Hazard(_))), "{given:?}"),
        Hazards::Report => {
            given?;
            assert_eq!(program.take_hazards().len(), 1);
        }
        _ => {
            given?;
            assert_eq!((c.to_vec()?, program.inserted_waits()), (vec![3.0; N], inserted + 1));
        }
    }
    Ok(())
}

#[on_all_backends]
fn graph_launches_take_part_in_hazard_checks(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Check);
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let program = &on.program;
    let Scene { s1, s2, e1, mut a, mut b, .. } = Scene::new(program)?;
    let mut graph = program.capture(|| set(7.0, &mut a).launch())?;
    graph.launch_on(&s1)?;
    let read = copy(&a, &mut b).launch_on(&s2);
    assert!(matches!(read, Err(Error::Hazard(_))), "{read:?}");
    let again = graph.launch_on(&s2);
    assert!(matches!(again, Err(Error::Hazard(_))), "{again:?}");
    e1.record(&s1)?;
    e1.wait(&s2)?;
    copy(&a, &mut b).launch_on(&s2)?;
    graph.launch_on(&s2)?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![7.0; N], vec![7.0; N]));
    Ok(())
}

#[on_all_backends]
fn arguments_are_replaced_by_name_for_one_launch(
    backend: TestBackend,
    #[values(false, true)] graphs: bool,
    #[values(None, Some(0))] limit: Option<usize>,
) -> Result<()> {
    let mut builder = Program::builder().graphs(graphs);
    if let Some(limit) = limit {
        builder = builder.argument_limit(limit);
    }
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let program = &on.program;
    let Scene { s1, mut a, mut b, mut c, .. } = Scene::new(program)?;
    let mut graph = program.capture(|| {
        set(2.0, &mut a).launch()?;
        set(3.0, &mut b).launch()?;
        saxpy(1.0, &a, &mut b).launch()?;
        three_blocks(&mut a, &mut b, &mut c).launch()
    })?;
    assert_eq!(graph.arguments()[..3], ["set[0].value", "set[0].out", "set[1].value"]);
    let check = |graph: &mut dyn FnMut() -> Result<()>, want: [f32; 2]| -> Result<()> {
        graph()?;
        assert_eq!((a.to_vec()?, b.to_vec()?), (vec![want[0]; N], vec![want[1]; N]));
        Ok(())
    };
    check(&mut || graph.launch(), [6.0, 8.0])?;
    check(&mut || graph.with("set.value", 1.0f32).launch(), [4.0, 5.0])?;
    check(&mut || graph.with("set[1].value", 1.0f32).launch(), [6.0, 6.0])?;
    check(&mut || graph.with("a", 2.0f32).launch(), [6.0, 10.0]).expect_err("a is a tensor too");
    check(&mut || graph.with("saxpy.a", 2.0f32).launch(), [6.0, 10.0])?;
    let (mut twice, mut big) = (2.0f32, 0.5f32);
    for _ in 0..3 {
        check(&mut || graph.with("saxpy.a", twice).launch(), [6.0, 3.0 + 2.0 * twice + 3.0])?;
        check(
            &mut || graph.with("set[0].value", big).with("saxpy.a", 4.0f32).launch(),
            [2.0 * (big + 1.0), 3.0 + 4.0 * big + 3.0],
        )?;
        (twice, big) = (twice + 1.0, big * 2.0);
    }
    check(&mut || graph.launch_on(&s1), [6.0, 8.0])?;
    s1.synchronize()?;

    // Other extents, an empty tensor among them: other grids, and other nodes.
    for n in [3 * N, 0, 5, N] {
        let mut other = program.zeros::<f32, 1>([n])?;
        graph.with("three_blocks.c", &mut other).launch()?;
        graph.with("three_blocks[0].c", &mut other).launch()?;
        assert_eq!(other.to_vec()?, vec![10.0; n]);
    }
    let before = c.to_vec()?[0];
    graph.launch()?;
    assert_eq!(c.to_vec()?, vec![before + 5.0; N]);
    Ok(())
}

/// A launch uses its own arguments, whatever earlier launches used: with the same names or others, with tensors
/// of the same extents or others, on one stream or two.
#[on_all_backends]
fn a_replaced_argument_does_not_affect_the_next_launch(
    backend: TestBackend,
    #[values(None, Some(0))] limit: Option<usize>,
) -> Result<()> {
    let mut builder = Program::builder();
    if let Some(limit) = limit {
        builder = builder.argument_limit(limit);
    }
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let program = &on.program;
    let filled = |value: f32, n: usize| program.tensor_from(&vec![value; n], [n]);
    let (x, as_long, half) = (filled(1.0, N)?, filled(2.0, N)?, filled(4.0, N / 2)?);
    let mut y = filled(0.0, N)?;
    let mut graph = program.capture(|| (0..3).try_for_each(|_| saxpy(1.0, &x, &mut y).launch()))?;
    let stream = program.create_stream()?;
    let (mut random, mut want) = (7u64, vec![0.0f32; N]);
    for turn in 0..60 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let bits = random >> 40;
        let a = [1.0f32, 2.0, 3.0, 4.0][bits as usize & 3];
        // Per launch: the factor, the value of `x`, and the length of `y`.
        let mut each = [(1.0f32, 1.0f32, N); 3];
        let mut launch = if bits & 4 != 0 {
            each.iter_mut().for_each(|launch| launch.0 = a);
            graph.with("a", a)
        } else {
            each[1].0 = a;
            graph.with("saxpy[1].a", a)
        };
        if bits & 8 != 0 {
            each[1].0 = 0.5;
            launch = launch.with("saxpy[1].a", 0.5f32);
        }
        match bits >> 4 & 7 {
            0 | 1 => {
                each.iter_mut().for_each(|launch| launch.1 = 2.0);
                launch = launch.with("x", &as_long);
            }
            2 => {
                each.iter_mut().for_each(|launch| (launch.1, launch.2) = (4.0, N / 2));
                launch = launch.with("saxpy.x", &half);
            }
            3 => {
                (each[2].1, each[2].2) = (4.0, N / 2);
                launch = launch.with("saxpy[2].x", &half);
            }
            _ => {}
        }
        if bits & 128 != 0 {
            launch.launch_on(&stream)?
        } else {
            launch.launch()?
        }
        for (a, x, until) in each {
            want[..until].iter_mut().for_each(|value| *value += a * x);
        }
        assert_eq!(y.to_vec()?, want, "turn {turn}");
        if turn % 7 == 0 {
            graph.launch()?;
            want.iter_mut().for_each(|value| *value += 3.0);
            assert_eq!(y.to_vec()?, want, "turn {turn}, as captured");
        }
    }
    Ok(())
}

#[on_all_backends]
fn aggregate_arguments_are_replaced_as_a_whole(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut x = program.zeros::<Vector<f32, 2>, 1>([9])?;
    let mut y = program.zeros::<Vector<f32, 2>, 1>([7])?;
    let mut graph = program.capture(|| shift(Vector([1.0, 2.0]), 3, &mut x).launch())?;
    graph.launch()?;
    graph.with("by", Vector([0.5f32, 0.0])).with("shift.steps", 2).launch()?;
    graph.with("x", &mut y).launch()?;
    assert_eq!(x.to_vec()?, [Vector([4.0, 6.0]); 9]);
    assert_eq!(y.to_vec()?, [Vector([3.0, 6.0]); 7]);
    let one_number = graph.with("by", 1.0f32).launch();
    assert!(matches!(one_number, Err(Error::Argument { position: 1, .. })), "{one_number:?}");
    Ok(())
}

#[on_all_backends]
fn mismatched_graph_arguments_are_rejected_before_the_launch(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let Some(other) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let Scene { mut a, mut b, .. } = Scene::new(program)?;
    let mut graph = program.capture(|| saxpy(1.0, &a, &mut b).launch())?;
    let unknown = graph.with("saxpy.z", 1.0f32).launch();
    match unknown {
        Err(Error::UnknownArgument { name, known }) => {
            assert_eq!(name, "saxpy.z");
            assert_eq!(known, ["saxpy[0].a", "saxpy[0].x", "saxpy[0].y"]);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        graph.with("saxpy[1].a", 1.0f32).launch(),
        Err(Error::UnknownArgument { .. })
    ));
    for (at, wrong) in [
        (1, graph.with("a", 1.0f64).launch()),
        (1, graph.with("a", &a).launch()),
        (2, graph.with("x", 1.0f32).launch()),
        (2, graph.with("x", &program.zeros::<f32, 2>([3, 3])?).launch()),
        (2, graph.with("x", &program.zeros::<f64, 1>([3])?).launch()),
        (3, graph.with("y", &a).launch()),
    ] {
        match wrong {
            Err(Error::Argument { kernel, position, .. }) => {
                assert_eq!((&*kernel, position), ("saxpy", at));
            }
            other => panic!("{other:?}"),
        }
    }
    let overlap = graph.with("y", &mut a).launch();
    assert!(matches!(overlap, Err(Error::Overlap { .. })), "{overlap:?}");
    let overlap = graph.with("x", &b).launch();
    assert!(matches!(overlap, Err(Error::Overlap { .. })), "{overlap:?}");
    let x = [1.0f32; N];
    let host = graph.with("x", &qd::host(&x, [N])?).launch();
    assert!(matches!(host, Err(Error::Capture { .. })), "{host:?}");
    let foreign = other.program.zeros::<f32, 1>([N])?;
    let foreign = graph.with("x", &foreign).launch();
    assert!(matches!(foreign, Err(Error::OtherProgram { .. })), "{foreign:?}");
    let stream = other.program.create_stream()?;
    assert!(matches!(graph.launch_on(&stream), Err(Error::OtherProgram { .. })));
    assert_eq!(b.to_vec()?, [1.0; N], "nothing was launched");
    // Both are given: the borrows prove that they do not overlap.
    graph.with("x", &b).with("y", &mut a).launch()?;
    assert_eq!(a.to_vec()?, [2.0; N]);
    Ok(())
}

#[on_all_backends]
fn operations_that_cannot_be_captured_are_errors_and_the_capture_continues(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let Scene { s1, e1, e2, mut a, b, .. } = Scene::new(program)?;
    e2.record(&s1)?;
    let mut outer = program.capture(|| Ok(()))?;
    let mut graph = program.capture(|| {
        set(5.0, &mut a).launch()?;
        let host = [0.0f32; N];
        let refused = [
            ("to_vec", a.to_vec().map(drop)),
            ("sync", program.sync()),
            ("device_sync", program.device_sync()),
            ("query", s1.query().map(drop)),
            ("synchronize", s1.synchronize()),
            ("destroy", program.create_stream()?.destroy()),
            ("event query", e2.query().map(drop)),
            ("event synchronize", e2.synchronize()),
            ("a wait for what is outside", e2.wait(&s1)),
            ("a value", sum_of_ends(&b).launch().map(drop)),
            ("an array", copy(&*qd::host(&host, [N])?, &mut a).launch()),
            ("a graph", outer.launch()),
            ("a capture", program.capture(|| Ok(())).map(drop)),
        ];
        for (what, outcome) in refused {
            assert!(matches!(outcome, Err(Error::Capture { .. })), "{what}: {outcome:?}");
        }
        // Executed at once instead of recorded.
        let made = program.tensor_from(&[3.0f32; N], [N])?;
        e1.record(program.default_stream())?;
        e1.wait(&s1)?;
        saxpy(2.0, &made, &mut a).launch_on(&s1)
    })?;
    assert_eq!(graph.len(), 2);
    assert_eq!(a.to_vec()?, [1.0; N]);
    graph.launch()?;
    assert_eq!(a.to_vec()?, [11.0; N]);
    program.device_sync()?;
    assert!(e1.query()?, "the record in the capture was no record");
    Ok(())
}

#[on_all_backends]
fn errors_and_panics_in_the_closure_end_the_capture(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let Scene { mut a, b, .. } = Scene::new(program)?;
    let failed = program.capture(|| {
        set(5.0, &mut a).launch()?;
        Err(Error::MovedSlice)
    });
    assert!(matches!(failed, Err(Error::MovedSlice)), "{failed:?}");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        program.capture(|| {
            set(5.0, &mut a).launch()?;
            std::panic::resume_unwind(Box::new("on purpose"))
        })
    }));
    assert!(panicked.is_err());
    let refused = program.capture(|| {
        let mut part = a.slice_mut(..5)?;
        gather(0, &b, &mut part).launch()?;
        set(f32::NAN, &mut part).launch()?;
        gather(N, &b, &mut part).launch().map(drop)
    });
    refused.expect("guarded at run time").with("offset", 0usize).launch()?;
    set(4.0, &mut a).launch()?;
    assert_eq!(a.to_vec()?, [4.0; N], "launches launch again");
    Ok(())
}

#[on_all_backends]
fn a_graph_keeps_its_tensors_and_kernels_alive(
    backend: TestBackend,
    #[values(false, true)] graphs: bool,
) -> Result<()> {
    let Some(on) = backend.open_with(Program::builder().graphs(graphs)) else { return Ok(()) };
    let program = &on.program;
    let Scene { mut a, .. } = Scene::new(program)?;
    let mut graph = {
        let b = KernelBuilder::new("passing");
        let (from, out) = (b.param_tensor("from", F32, 1), b.param_tensor_mut("out", F32, 1));
        b.range_for(0u64, N as u64, |i| out.store(i, from.load(i) + 7.0f32));
        let kernel = Kernel::new(b.build().expect("a valid kernel"))?;
        let gone = program.tensor_from(&[2.0f32; N], [N])?;
        program.capture(|| kernel.call().arg(&gone).arg(&mut a).launch())?
    };
    let filler = program.tensor_from(&[9.0f32; N], [N])?;
    graph.launch()?;
    assert_eq!(a.to_vec()?, [9.0; N]);
    graph.with("from", &filler).launch()?;
    assert_eq!(a.to_vec()?, [16.0; N]);
    graph.launch()?;
    drop(graph);
    assert_eq!(a.to_vec()?, [9.0; N]);
    if let Some(world) = &on.world {
        program.device_sync()?;
        let live = world.live();
        assert_eq!((live.graphs, live.graph_execs, live.modules), (0, 0, 0), "all is given back");
    }
    Ok(())
}

#[on_all_backends]
fn device_errors_of_a_graph_are_reported_on_its_launch_stream(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let Scene { s1, s2, mut a, b, .. } = Scene::new(program)?;
    let mut graph = program.capture(|| gather(1, &b, &mut a).launch())?;
    let told = |graph: &mut qd::Graph, stream: &Stream| -> Result<()> {
        let outcome = graph.launch_on(stream).and_then(|()| stream.synchronize());
        match outcome {
            Err(Error::Kernel(error)) => {
                assert_eq!(error.kernel, "gather");
                assert!(error.to_string().contains("300"), "{error}");
            }
            other => panic!("{other:?}"),
        }
        s2.synchronize()?;
        stream.synchronize()
    };
    told(&mut graph, &s1)?;
    told(&mut graph, program.default_stream())?;
    // The proven form with other arguments, then again as captured.
    graph.with("offset", 0usize).launch_on(&s1)?;
    s1.synchronize()?;
    assert_eq!(a.to_vec()?, [1.0; N]);
    told(&mut graph, &s1)
}

#[on_all_backends]
fn each_stream_has_its_own_executable_graph_and_temporaries(
    backend: TestBackend,
    #[values(None, Some(0))] limit: Option<usize>,
) -> Result<()> {
    let builder = match limit {
        Some(limit) => Program::builder().argument_limit(limit),
        None => Program::builder(),
    };
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    if let Some(world) = &on.world {
        world.set_schedule(Schedule::Adversarial);
    }
    let program = &on.program;
    let Scene { s1, s2, mut a, mut b, .. } = Scene::new(program)?;
    let counts = [program.tensor_from(&[10u32], [1])?, program.tensor_from(&[20u32], [1])?];
    let mut graph = program.capture(|| first_few(&counts[0], &mut a).launch())?;
    for _ in 0..3 {
        graph.launch_on(&s1)?;
        graph.with("count", &counts[1]).with("x", &mut b).launch_on(&s2)?;
    }
    let expected =
        |count: usize| -> Vec<f32> { (0..N).map(|i| if i < count { 4.0 } else { 1.0 }).collect() };
    assert_eq!((a.to_vec()?, b.to_vec()?), (expected(10), expected(20)));
    Ok(())
}

#[on_gpu_backends]
fn a_graph_launch_is_one_driver_call_and_creates_no_objects(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().graphs(true).hazards(Hazards::Explicit).argument_limit(4096);
    let Some(on) = backend.open_simulated_with(builder) else { return Ok(()) };
    let (program, world) = (&on.program, world(&on));
    let mut scene = Scene::new(program)?;
    let mut graph = program.capture(|| scene.work(program))?;
    graph.launch()?;
    let (made, before) = (world.creates(), world.all_calls());
    for _ in 0..10 {
        graph.launch()?;
    }
    assert_eq!(world.creates(), made);
    let launch = if backend == Cuda { "cuGraphLaunch" } else { "hipGraphLaunch" };
    let mut calls: Vec<_> = world.all_calls();
    calls.retain(|call| !before.contains(call));
    let current = ["Current", "GetDevice", "SetDevice"];
    calls.retain(|(call, _)| !current.iter().any(|name| call.contains(name)));
    assert_eq!(calls, [(launch, 11)]);
    let set = if backend == Cuda {
        "cuGraphExecKernelNodeSetParams_v2"
    } else {
        "hipGraphExecKernelNodeSetParams"
    };
    graph.with("saxpy[1].a", 3.0f32).launch()?;
    assert_eq!(world.calls(set), 1, "one node has other arguments");
    graph.with("saxpy[1].a", 3.0f32).launch()?;
    assert_eq!(world.calls(set), 1, "and has them already");
    graph.launch()?;
    assert_eq!(world.calls(set), 2, "and gets its own back");
    assert_eq!(world.creates(), made);
    Ok(())
}

/// On the CPU a graph's launches run on this thread; other threads that use its tensors wait for their turn.
#[on_all_backends]
fn threads_may_use_tensors_of_a_graph_concurrently(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Explicit);
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    on.allow_races();
    let program = &on.program;
    let Scene { mut a, b, c, .. } = Scene::new(program)?;
    let mut graph = program.capture(|| {
        copy(&b, &mut a).launch()?;
        saxpy(1.0, &b, &mut a).launch()
    })?;
    graph.launch()?;
    let (a, b) = (&a, &b);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let mut mine = program.zeros::<f32, 1>([N]).expect("memory");
                let c = &c;
                scope.spawn(move || {
                    for _ in 0..50 {
                        saxpy(1.0, c, &mut mine).launch().expect("launched");
                        copy(a, &mut mine).launch().expect("launched");
                        assert!(a.to_vec().expect("read").iter().all(|x| [1.0, 2.0].contains(x)));
                        assert_eq!(b.to_vec().expect("read"), [1.0; N]);
                    }
                    mine.to_vec().expect("read")
                })
            })
            .collect();
        for _ in 0..100 {
            graph.launch().expect("launched");
        }
        for reader in readers {
            let read = reader.join().expect("no panic");
            assert!(read.iter().all(|x| [1.0, 2.0].contains(x)), "{read:?}");
        }
    });
    Ok(())
}

/// A host copy is ordered with all work that uses its tensor, on every stream, inside the graph and outside.
#[on_all_backends]
fn copies_and_fills_are_captured_in_order_with_launches(
    backend: TestBackend,
    #[values(false, true)] graphs: bool,
    #[values(Hazards::Explicit, Hazards::Check)] hazards: Hazards,
) -> Result<()> {
    let builder = Program::builder().graphs(graphs).hazards(hazards);
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let program = &on.program;
    for seed in 0..8 {
        if let Some(world) = &on.world {
            let adversarial = seed % 2 == 1;
            world.set_schedule(if adversarial { Schedule::Adversarial } else { Schedule::Random });
            world.set_seed(seed);
        }
        let Scene { s1, s2, mut a, mut b, mut c, .. } = Scene::new(program)?;
        let given: Vec<f32> = (0..N).map(|i| i as f32).collect();
        let mut graph = program.capture(|| {
            set(2.0, &mut a).launch_on(&s1)?;
            copy(&a, &mut b).launch_on(&s1)?;
            a.write(&given)?;
            a.slice_mut(..2)?.fill(50.0)?;
            copy(&a, &mut c).launch_on(&s2)
        })?;
        assert_eq!(graph.len(), 5);
        for round in 0..3 {
            // Other work that still uses the tensor: the copies wait for it.
            set(round as f32, &mut a).launch_on(&s2)?;
            graph.launch_on(&s1)?;
            assert_eq!(b.to_vec()?, [2.0; N]);
            let read = c.to_vec()?;
            assert_eq!((&read[..2], &read[2..]), (&[50.0; 2][..], &given[2..]));
            assert_eq!(a.to_vec()?, read);
        }
    }
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

#[on_all_backends]
fn copies_of_single_components_are_captured(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let zero = [Vector([0.0f32; 2]); 9];
    let mut x = program.tensor_with(&zero, [9], qd::Layout::StructOfArrays)?;
    let mut graph = program.capture(|| {
        shift(Vector([1.0, 2.0]), 1, &mut x).launch()?;
        x.slice_mut(3..5)?.write(&[Vector([7.0, 8.0]); 2])?;
        shift(Vector([1.0, 2.0]), 1, &mut x).launch()
    })?;
    graph.launch()?;
    let mut expected = [Vector([2.0, 4.0]); 9];
    expected[3..5].fill(Vector([8.0, 10.0]));
    assert_eq!(x.to_vec()?, expected);
    let wrong = program.capture(|| x.write(&zero[..3]));
    assert!(matches!(wrong, Err(Error::Shape { .. })), "{wrong:?}");
    Ok(())
}

#[on_all_backends]
fn an_empty_graph_can_be_launched(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut graph = program.capture(|| Ok(()))?;
    graph.launch()?;
    assert!(graph.is_empty());
    let mut empty = program.zeros::<f32, 1>([0])?;
    let mut one = program.zeros::<f32, 1>([1])?;
    let mut graph = program.capture(|| set(1.0, &mut empty).launch())?;
    graph.launch()?;
    graph.with("out", &mut one).launch()?;
    assert_eq!(one.to_vec()?, [1.0]);
    Ok(())
}

/// Drivers refuse to wait for a device while another thread captures one of its streams.
#[on_gpu_backends]
fn a_wait_for_the_device_is_repeated_while_another_thread_captures(
    backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let Some(world) = &on.world else { return Ok(()) };
    let function = match backend {
        TestBackend::Cuda => "cuCtxSynchronize",
        _ => "hipDeviceSynchronize",
    };
    let calls = world.calls(function);
    // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and hipErrorStreamCaptureUnsupported.
    for nth in 1..=3 {
        world.fail(function, nth, Code(900));
    }
    on.program.device_sync()?;
    assert_eq!((world.calls(function) - calls, world.armed_faults()), (4, 0));
    Ok(())
}
