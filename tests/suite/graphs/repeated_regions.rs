//! Repeated regions become graphs, which changes their cost and nothing else.

use quadrants::{self as qd, Program, Tensor};
use quadrants_driver_sim::{Code, OpKind, Schedule};
use quadrants_tests::{
    TestBackend::{self, Cpu, Cuda},
    on_all_backends, on_gpu_backends,
};

use crate::common::{set, three_blocks};

const N: usize = 300;

/// Two blocks, each with its own part of the arguments.
#[qd::kernel]
fn two_blocks(step: f32, at: usize, a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] += step;
        }
        for i in 0..a.len() {
            a[i] *= 2.0;
        }
    });
    qd::stream_parallel(|| {
        b[at] = step;
    });
}

#[on_all_backends]
fn graph_launches_with_changed_arguments_match_plain_launches(
    backend: TestBackend,
    #[values(false, true)] graphs: bool,
    #[values(None, Some(0))] limit: Option<usize>,
) -> qd::Result<()> {
    let mut builder = Program::builder().graphs(graphs);
    if let Some(limit) = limit {
        builder = builder.argument_limit(limit);
    }
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let program = &on.program;
    let streams = [program.create_stream()?, program.create_stream()?];
    let rounds = 20;
    for seed in 0..rounds {
        if let Some(world) = &on.world {
            world.set_schedule(if seed % 2 == 0 {
                Schedule::Random
            } else {
                Schedule::Adversarial
            });
            world.set_seed(seed);
        }
        // All launches of a round are in flight together, on two streams with separate tensors.
        let mut sets: Vec<[Tensor<f32, 1>; 2]> = (0..6)
            .map(|k| [N + 1000 * k, 6].map(|n| program.zeros::<f32, 1>([n]).expect("memory")))
            .collect();
        for (k, [a, b]) in sets.iter_mut().enumerate() {
            for step in 0..3 {
                two_blocks(step as f32, k, a, b).launch_on(&streams[k % 2])?;
            }
        }
        for (k, [a, b]) in sets.iter().enumerate() {
            assert_eq!(a.to_vec()?, vec![8.0; N + 1000 * k], "set {k}, seed {seed}");
            let mut want = [0.0; 6];
            want[k] = 2.0;
            assert_eq!(b.to_vec()?, want, "set {k}, seed {seed}");
        }
    }
    let statistics = program.region_statistics();
    let launches = 6 * 3 * rounds;
    match backend {
        Cpu => assert_eq!(statistics, qd::RegionStatistics::default(), "one native body"),
        _ if graphs => {
            assert_eq!((statistics.graphs_made, statistics.graphs_refused), (2, 0));
            assert_eq!((statistics.by_events, statistics.as_graph), (4, launches - 4));
        }
        _ => assert_eq!((statistics.by_events, statistics.as_graph), (launches, 0)),
    }
    Ok(())
}

#[on_gpu_backends]
fn a_graph_is_ordered_in_its_stream_and_its_blocks_are_unordered(
    backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open_simulated_with(Program::builder().graphs(true)) else {
        return Ok(());
    };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).unwrap());
    for _ in 0..3 {
        three_blocks(&mut a, &mut b, &mut c).launch()?;
    }
    let events = world.creates().events;
    let before = world.trace().records().len();
    set(1.0, &mut b).launch()?;
    three_blocks(&mut a, &mut b, &mut c).launch()?;
    set(2.0, &mut b).launch()?;

    let trace = world.trace();
    let later = trace.records()[before].op;
    let one = |name: &str| trace.launches(name).find(|r| r.op >= later).expect("launched").op;
    let task: Vec<_> = (0..4).map(|t| one(&format!("three_blocks_{t}"))).collect();
    let around: Vec<_> =
        trace.launches("set_0").filter(|r| r.op >= later).map(|record| record.op).collect();
    for (x, y) in [(0, 2), (1, 2), (0, 3), (1, 3), (2, 3)] {
        assert!(trace.unordered(task[x], task[y]), "tasks {x} and {y} are ordered");
    }
    assert!(trace.device_path(task[0], task[1]), "loops of a block run in order");
    for task in &task {
        assert!(trace.device_path(around[0], *task), "behind what was before");
        assert!(trace.device_path(*task, around[1]), "before what comes later");
    }
    let of_events = |kind: &OpKind| matches!(kind, OpKind::Record | OpKind::Wait);
    assert!(!trace.records()[before..].iter().any(|record| of_events(&record.kind)));
    assert_eq!(world.creates().events, events);
    Ok(())
}

#[on_gpu_backends]
fn a_change_of_the_empty_blocks_makes_another_graph(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open_simulated_with(Program::builder().graphs(true)) else {
        return Ok(());
    };
    let program = &on.program;
    let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).unwrap());
    let mut empty = program.zeros::<f32, 1>([0])?;
    for _ in 0..5 {
        three_blocks(&mut a, &mut b, &mut c).launch()?;
        three_blocks(&mut empty, &mut b, &mut c).launch()?;
    }
    assert_eq!(a.to_vec()?, [62.0; N]);
    assert_eq!(b.to_vec()?, [30.0; N]);
    assert_eq!(c.to_vec()?, [50.0; N]);
    let statistics = program.region_statistics();
    assert_eq!((statistics.graphs_made, statistics.as_graph, statistics.by_events), (2, 6, 4));
    Ok(())
}

#[on_gpu_backends]
fn a_region_falls_back_to_events_where_the_driver_rejects_its_graph(
    backend: TestBackend,
    #[values(0, 1, 2, 3, 4)] call: usize,
) -> qd::Result<()> {
    let calls = match backend {
        Cuda => [
            "cuGraphCreate",
            "cuGraphAddKernelNode_v2",
            "cuGraphInstantiateWithFlags",
            "cuGraphExecKernelNodeSetParams_v2",
            "cuGraphLaunch",
        ],
        _ => [
            "hipGraphCreate",
            "hipGraphAddKernelNode",
            "hipGraphInstantiateWithFlags",
            "hipGraphExecKernelNodeSetParams",
            "hipGraphLaunch",
        ],
    };
    let Some(on) = backend.open_simulated_with(Program::builder().graphs(true)) else {
        return Ok(());
    };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let mut sets = [(); 2].map(|()| [(); 3].map(|()| program.zeros::<f32, 1>([N]).unwrap()));
    world.fail(calls[call], 2.min(1 + call % 2) as u64, Code::NOT_SUPPORTED);
    for _ in 0..6 {
        for [a, b, c] in &mut sets {
            three_blocks(a, b, c).launch()?;
        }
    }
    assert_eq!(world.armed_faults(), 0, "the call was made");
    for [a, b, c] in &sets {
        assert_eq!(a.to_vec()?, [126.0; N]);
        assert_eq!(b.to_vec()?, [18.0; N]);
        assert_eq!(c.to_vec()?, [30.0; N]);
    }
    let statistics = program.region_statistics();
    assert_eq!(statistics.graphs_refused, 1);
    assert_eq!(statistics.as_graph + statistics.by_events, 12);
    let live = world.live();
    assert_eq!((live.graphs, live.graph_execs), (0, 0), "given back at once");
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

#[on_gpu_backends]
fn the_fourth_graph_launch_creates_no_objects_and_all_are_freed_with_the_program(
    backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open_simulated_with(Program::builder().graphs(true)) else {
        return Ok(());
    };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let stream = program.create_stream()?;
    let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).unwrap());
    let mut round = || -> qd::Result<()> {
        three_blocks(&mut a, &mut b, &mut c).launch()?;
        program.sync()?;
        three_blocks(&mut a, &mut b, &mut c).launch_on(&stream)?;
        stream.synchronize()
    };
    for _ in 0..3 {
        round()?;
    }
    let made = world.creates();
    for _ in 0..20 {
        round()?;
    }
    assert_eq!(world.creates(), made);
    assert_eq!((made.graphs, made.graph_execs), (2, 2), "one per stream");
    Ok(())
}

/// Arguments are passed by value: an argument buffer may have another address in each launch.
#[on_gpu_backends]
fn unchanged_graph_node_parameters_are_not_set_again(backend: TestBackend) -> qd::Result<()> {
    let builder = Program::builder().graphs(true).argument_limit(4096);
    let Some(on) = backend.open_simulated_with(builder) else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let set = match backend {
        Cuda => "cuGraphExecKernelNodeSetParams_v2",
        _ => "hipGraphExecKernelNodeSetParams",
    };
    let program = &on.program;
    let [mut a, mut b, mut c, mut d] = [(); 4].map(|()| program.zeros::<f32, 1>([N]).unwrap());
    // The third launch creates the graph; then the arguments alternate.
    let swapped = [false, false, false, false, false, true, true, false];
    let mut calls = Vec::new();
    for swap in swapped {
        let last = if swap { &mut d } else { &mut c };
        three_blocks(&mut a, &mut b, last).launch()?;
        calls.push(world.calls(set));
    }
    assert_eq!(calls, [0, 0, 0, 0, 0, 4, 4, 8], "four loops, set where one argument is another");
    assert_eq!(b.to_vec()?, [24.0; N]);
    assert_eq!((c.to_vec()?, d.to_vec()?), (vec![30.0; N], vec![10.0; N]));
    let statistics = program.region_statistics();
    assert_eq!((statistics.graphs_made, statistics.as_graph), (1, 6));
    Ok(())
}

/// Threads that share a stream share its graph; a thread that finds it in use launches by events.
#[on_gpu_backends]
fn threads_that_share_a_stream_launch_graphs_correctly(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open_with(Program::builder().graphs(true)) else { return Ok(()) };
    let program = &on.program;
    let stream = program.create_stream()?;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let stream = &stream;
            scope.spawn(move || {
                let [mut a, mut b, mut c] =
                    [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
                for _ in 0..20 {
                    three_blocks(&mut a, &mut b, &mut c).launch_on(stream).expect("launched");
                }
                assert_eq!(b.to_vec().expect("read"), [60.0; N], "thread {thread}");
                assert_eq!(c.to_vec().expect("read"), [100.0; N], "thread {thread}");
            });
        }
    });
    let statistics = program.region_statistics();
    assert_eq!(statistics.as_graph + statistics.by_events, 80);
    assert_eq!((statistics.graphs_made, statistics.graphs_refused), (1, 0));
    Ok(())
}

#[on_gpu_backends]
fn a_device_error_in_a_graph_is_reported_for_its_launch(backend: TestBackend) -> qd::Result<()> {
    #[qd::kernel]
    fn checked(limit: f32, a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>) {
        qd::stream_parallel(|| {
            for i in 0..a.len() {
                a[i] += 1.0;
            }
        });
        qd::stream_parallel(|| {
            for i in 0..b.len() {
                b[i] += 1.0;
                assert!(b[i] <= limit);
            }
        });
    }
    let Some(on) = backend.open_with(Program::builder().graphs(true)) else { return Ok(()) };
    let program = &on.program;
    let [mut a, mut b] = [(); 2].map(|()| program.zeros::<f32, 1>([N]).unwrap());
    for _ in 0..4 {
        checked(100.0, &mut a, &mut b).launch()?;
    }
    checked(4.5, &mut a, &mut b).launch()?;
    match program.sync() {
        Err(qd::Error::Kernel(error)) => {
            assert_eq!(error.kernel, "checked");
            assert!(error.to_string().contains("limit"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    checked(100.0, &mut a, &mut b).launch()?;
    program.sync()?;
    assert_eq!(a.to_vec()?, [6.0; N]);
    assert!(program.region_statistics().as_graph >= 4);
    Ok(())
}
