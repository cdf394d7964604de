//! The spans of a profile: one for each operation, with its place in the source.

use std::thread;

use quadrants::{self as qd, Error, SpanKind, Timeline, TimelineClock, TrackKind};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends, on_gpu_backends,
};

use super::{
    BLOCK_LINES, N, SCALE_LINE, blocks, check, fail, scale, spans_of, sum, tasks, track_of,
};

#[on_all_backends]
fn every_launch_is_one_span_with_kernel_line_and_stream(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let stream = program.create_stream()?;
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    // Before the profile, so that later launches could take the fast path.
    for _ in 0..3 {
        scale(2.0, &mut x).launch_on(&stream)?;
    }
    let (launched, timeline) = program.profile(|| {
        (0..5).try_for_each(|_| scale(2.0, &mut x).launch_on(&stream))?;
        stream.synchronize()?;
        (0..2).try_for_each(|_| scale(0.5, &mut x).launch())
    })?;
    launched?;
    check(&timeline);
    assert_eq!(tasks(&timeline), [(("scale".to_owned(), SCALE_LINE), 7)].into());
    let on_stream = |id| {
        let on = |span: &&qd::Span| track_of(&timeline, span) == TrackKind::Stream(id);
        spans_of(&timeline, SpanKind::Task).filter(on).count()
    };
    assert_eq!((on_stream(stream.id()), on_stream(program.default_stream().id())), (5, 2));
    for span in spans_of(&timeline, SpanKind::Task) {
        assert!(span.file.ends_with("profiles/mod.rs"), "{span:#?}");
        assert_eq!((span.task, span.region_block), (0, 0));
    }
    // Launches after the profile are as before.
    program.sync()?;
    scale(0.5, &mut x).launch_on(&stream)?;
    assert_eq!(x.to_vec()?, [32.0; N]);
    let (_, empty) = program.profile(|| ())?;
    assert_eq!(spans_of(&empty, SpanKind::Task).count(), 0);
    Ok(())
}

#[on_gpu_backends]
fn the_tasks_of_regions_have_groups_and_workers(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let (mut a, mut b) = (program.zeros::<f32, 1>([N])?, program.zeros::<f32, 1>([N])?);
    // Enough launches for a graph.
    for _ in 0..4 {
        blocks(&mut a, &mut b).launch()?;
    }
    let (launched, timeline) =
        program.profile(|| (0..3).try_for_each(|_| blocks(&mut a, &mut b).launch()))?;
    launched?;
    check(&timeline);
    let expected = BLOCK_LINES.map(|line| (("blocks".to_owned(), line), 3));
    assert_eq!(tasks(&timeline), expected.into());
    for span in spans_of(&timeline, SpanKind::Task) {
        let in_first = span.line == BLOCK_LINES[0];
        assert_eq!(span.region_block, if in_first { 1 } else { 2 }, "{span:#?}");
        assert_eq!(track_of(&timeline, span) == TrackKind::Worker, !in_first, "{span:#?}");
    }
    let arrows = |kind| timeline.arrows().iter().filter(|arrow| arrow.kind == kind).count();
    // The first fork has nothing before it, except for a copy of arguments.
    let by_buffer = spans_of(&timeline, SpanKind::CopyToDevice).count() != 0;
    let forks = if by_buffer { 3 } else { 2 };
    assert_eq!((arrows(qd::ArrowKind::Fork), arrows(qd::ArrowKind::Join)), (forks, 2));
    // Without a profile, the region is a graph again.
    let before = program.region_statistics().as_graph;
    blocks(&mut a, &mut b).launch()?;
    let as_graph = u64::from(on.uses_graphs());
    assert_eq!(program.region_statistics().as_graph, before + as_graph);
    let expected: Vec<f32> = vec![8.0; N];
    assert_eq!(a.to_vec()?, expected);
    Ok(())
}

#[on_all_backends]
fn a_region_on_any_backend_is_recorded(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (mut a, mut b) = (on.program.zeros::<f32, 1>([N])?, on.program.zeros::<f32, 1>([N])?);
    let (launched, timeline) = on.program.profile(|| blocks(&mut a, &mut b).launch())?;
    launched?;
    check(&timeline);
    // On the CPU a kernel is one function.
    assert_eq!(spans_of(&timeline, SpanKind::Task).count(), if backend == Cpu { 1 } else { 3 });
    assert_eq!((a.to_vec()?[0], b.to_vec()?[0]), (1.0, 4.0));
    Ok(())
}

#[on_all_backends]
fn copies_fills_and_values_are_recorded(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let (made, timeline) = program.profile(|| {
        let x = program.tensor_from(&[2.0f32; N], [N])?;
        let y = program.zeros::<f32, 1>([2 * N])?;
        let total = sum(&x).launch()?;
        Ok::<_, quadrants::Error>((total, y.to_vec()?.len()))
    })?;
    assert_eq!(made?, (2.0 * N as f32, 2 * N));
    check(&timeline);
    let bytes = |kind| spans_of(&timeline, kind).filter_map(|span| span.bytes).max();
    assert_eq!(bytes(SpanKind::CopyToDevice), Some(4 * N as u64), "{timeline}");
    assert!(bytes(SpanKind::CopyToHost) >= Some(4), "{timeline}");
    assert!(spans_of(&timeline, SpanKind::Task).any(|span| &*span.name == "sum"));
    if backend != Cpu {
        assert_eq!(bytes(SpanKind::Fill), Some(8 * N as u64), "{timeline}");
        assert!(spans_of(&timeline, SpanKind::HostWait).count() > 0, "{timeline}");
        assert!(spans_of(&timeline, SpanKind::Allocation).count() >= 2, "{timeline}");
    }
    Ok(())
}

#[on_all_backends]
fn a_captured_graph_is_recorded(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    let mut graph = program.capture(|| {
        scale(2.0, &mut x).launch()?;
        scale(2.0, &mut x).launch()
    })?;
    graph.launch()?;
    let (launched, timeline) = program.profile(|| (0..3).try_for_each(|_| graph.launch()))?;
    launched?;
    check(&timeline);
    let graphs: Vec<_> = spans_of(&timeline, SpanKind::Graph).collect();
    if on.uses_graphs() {
        assert_eq!(graphs.len(), 3, "{timeline}");
        assert!(graphs.iter().all(|span| &*span.name == "graph of scale 2×"), "{graphs:#?}");
        check_nodes(&timeline, &[SCALE_LINE, SCALE_LINE]);
    } else {
        assert_eq!(tasks(&timeline), [(("scale".to_owned(), SCALE_LINE), 6)].into());
    }
    graph.launch()?;
    assert_eq!(x.to_vec()?[0], 2.0f32.powi(10));
    Ok(())
}

/// Checks the nodes of each graph by their lines, in the order of the capture. Their times are within the graph's,
/// where they are known: on the simulator.
fn check_nodes(timeline: &Timeline, lines: &[u32]) {
    let mut nodes = 0;
    for graph in spans_of(timeline, SpanKind::Graph) {
        let listed: Vec<u32> = graph.nodes.iter().map(|node| node.line).collect();
        assert_eq!(listed, lines, "{graph:#?}");
        assert!(graph.nodes.iter().all(|node| !node.file.is_empty()), "{graph:#?}");
        if !graph.has_node_times {
            assert_ne!(timeline.clock(), TimelineClock::Logical);
            assert!(timeline.to_string().contains("has nodes without times: "), "{timeline}");
            assert!(timeline.svg().contains("the times of nodes in graphs are not known"));
            continue;
        }
        let TrackKind::Stream(stream) = track_of(timeline, graph) else { panic!("{graph:#?}") };
        let is_node = |span: &&qd::Span| {
            let track = track_of(timeline, span);
            track == TrackKind::Nodes(stream) && graph.start <= span.start && span.end <= graph.end
        };
        let mut ran: Vec<u32> = timeline.spans().iter().filter(is_node).map(|s| s.line).collect();
        nodes += ran.len();
        let mut lines = lines.to_vec();
        ran.sort_unstable();
        lines.sort_unstable();
        assert_eq!(ran, lines, "{timeline:#?}");
        assert!(timeline.svg().contains(&format!("nodes of stream {stream}")));
    }
    let is_node = |span: &&qd::Span| matches!(track_of(timeline, span), TrackKind::Nodes(_));
    assert_eq!(timeline.spans().iter().filter(is_node).count(), nodes);
    let read = Timeline::from_chrome_trace(&timeline.chrome_trace()).expect("its own trace");
    assert_eq!(format!("{:#?}", read.spans()), format!("{:#?}", timeline.spans()));
    assert_eq!((read.to_string(), read.svg()), (timeline.to_string(), timeline.svg()));
}

#[on_gpu_backends]
fn the_nodes_of_a_graph_have_places_groups_and_streams(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let stream = program.create_stream()?;
    let [mut x, mut a, mut b] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    let copied = line!() + 4;
    let mut graph = program.capture(|| {
        blocks(&mut a, &mut b).launch()?;
        crate::common::order(program, program.default_stream(), &stream)?;
        stream.scope(|| x.copy_from(&b))?;
        scale(2.0, &mut x).launch_on(&stream)
    })?;
    let (launched, timeline) = program.profile(|| graph.launch())?;
    launched?;
    check(&timeline);
    if !on.uses_graphs() {
        return Ok(());
    }
    let [first, second, third] = BLOCK_LINES;
    check_nodes(&timeline, &[first, second, third, copied, SCALE_LINE]);
    let graph = spans_of(&timeline, SpanKind::Graph).next().expect("a graph");
    let default = program.default_stream().id();
    let nodes: Vec<_> =
        graph.nodes.iter().map(|n| (n.kind, n.region_block, n.stream, n.bytes)).collect();
    let expected = [
        (SpanKind::Task, 1, default, None),
        (SpanKind::Task, 2, default, None),
        (SpanKind::Task, 2, default, None),
        (SpanKind::CopyOnDevice, 0, stream.id(), Some(4 * N as u64)),
        (SpanKind::Task, 0, stream.id(), None),
    ];
    assert_eq!(nodes, expected);
    if timeline.clock() == TimelineClock::Logical {
        // The blocks overlap.
        let (busy, overlap) = timeline.busy();
        assert!(!overlap.is_zero() && overlap < busy, "{timeline:#?}");
    }
    Ok(())
}

#[on_all_backends]
fn many_launches_need_a_bounded_number_of_events(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut x = program.zeros::<f32, 1>([4])?;
    scale(1.0, &mut x).launch()?;
    let before = on.world.as_ref().map(|world| world.live().events);
    let most = std::cell::Cell::new(0);
    let (launched, timeline) = program.profile(|| {
        (0..20_000).try_for_each(|_| {
            let live = on.world.as_ref().map_or(0, |world| world.live().events);
            most.set(most.get().max(live));
            scale(1.0, &mut x).launch()
        })
    })?;
    launched?;
    check(&timeline);
    assert_eq!(spans_of(&timeline, SpanKind::Task).count(), 20_000);
    let before = before.unwrap_or(0);
    assert!(most.get() <= before + 30_000, "{} events", most.get());
    let after = on.world.as_ref().map_or(0, |world| world.live().events);
    assert!(after <= before + 2, "{before} events before, {after} after");
    Ok(())
}

#[on_all_backends]
fn threads_launch_while_a_profile_runs(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let (launched, timeline) = program.profile(|| {
        thread::scope(|scope| {
            let work = || {
                let stream = program.create_stream()?;
                let mut x = program.tensor_from(&[1.0f32; N], [N])?;
                (0..50).try_for_each(|_| scale(1.0, &mut x).launch_on(&stream))?;
                stream.synchronize()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })
    })?;
    launched?;
    check(&timeline);
    assert_eq!(spans_of(&timeline, SpanKind::Task).count(), 200);
    Ok(())
}

#[on_all_backends]
fn profiles_do_not_nest(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    let ((nested, elsewhere), timeline) = program
        .profile(|| {
            let nested = program.profile(|| panic!("not called"));
            let elsewhere =
                thread::scope(|scope| scope.spawn(|| program.profile(|| ()).err()).join().unwrap());
            scale(2.0, &mut x).launch().map(|()| (nested.err(), elsewhere))
        })
        .map(|(result, timeline)| (result.expect("a launch"), timeline))?;
    assert!(matches!(nested, Some(Error::ProfileActive)), "{nested:?}");
    assert!(matches!(elsewhere, Some(Error::ProfileActive)), "{elsewhere:?}");
    assert_eq!(spans_of(&timeline, SpanKind::Task).count(), 1, "the outer one goes on");
    let graph = program.capture(|| program.profile(|| ()).map(drop));
    assert!(matches!(graph, Err(Error::Capture { .. })), "{graph:?}");
    Ok(())
}

#[on_all_backends]
fn errors_and_panics_end_a_profile(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    let (launched, timeline) = program.profile(|| {
        scale(2.0, &mut x).launch()?;
        fail(N, &mut x).launch()?;
        program.sync()
    })?;
    assert!(matches!(launched, Err(Error::Kernel(_))), "{launched:?}");
    check(&timeline);
    let names: Vec<_> = spans_of(&timeline, SpanKind::Task).map(|span| &*span.name).collect();
    assert_eq!(names, ["scale", "fail"]);
    // A kernel's error that the closure does not take stays with its stream.
    let (launched, _) = program.profile(|| fail(N, &mut x).launch())?;
    assert!(launched.and_then(|()| program.sync()).is_err());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        program.profile(|| std::panic::panic_any("in the body")).map(drop)
    }));
    assert!(panicked.is_err());
    let (launched, timeline) = program.profile(|| scale(0.5, &mut x).launch())?;
    launched?;
    assert_eq!(spans_of(&timeline, SpanKind::Task).count(), 1);
    assert_eq!(x.to_vec()?[0], 1.0);
    Ok(())
}

#[on_gpu_backends]
fn a_device_without_events_loses_times_not_launches(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let program = &on.program;
    let world = on.world.as_ref().expect("simulated");
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    scale(1.0, &mut x).launch()?;
    let create =
        if backend == TestBackend::Cuda { "cuEventCreate" } else { "hipEventCreateWithFlags" };
    let (launched, timeline) = program.profile(|| {
        let calls = world.calls(create);
        for nth in calls + 1..calls + 40 {
            world.fail(create, nth, quadrants_driver_sim::Code(2));
        }
        (0..10).try_for_each(|_| scale(2.0, &mut x).launch())
    })?;
    launched?;
    assert!(timeline.lost() > 0 && timeline.lost() <= 10, "{timeline:#?}");
    assert_eq!(x.to_vec()?[0], 1024.0);
    Ok(())
}
