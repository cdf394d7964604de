//! Foreign operations in profiles: spans as those of launches, with the order and the times of their work.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quadrants::{
    ArrowKind, Hazards, Program, Result, Span, SpanKind, Timeline, TrackKind, reads, writes,
};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends, on_gpu_backends,
};

use super::Scene;
use crate::common::{order, saxpy, set};

const N: usize = 40;

fn foreign(timeline: &Timeline) -> Vec<&Span> {
    timeline.spans().iter().filter(|span| span.kind == SpanKind::Foreign).collect()
}

#[on_all_backends]
fn a_foreign_operation_is_a_span_of_its_stream(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    let stream = prog.create_stream()?;
    let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    // The first fills are complete, so that nothing waits for them.
    [&a, &b].into_iter().try_for_each(|tensor| tensor.to_vec().map(drop))?;
    let line = line!() + 4;
    let (called, timeline) = prog.profile(|| {
        set(3.0, &mut a).launch()?;
        order(prog, prog.default_stream(), &stream)?;
        prog.foreign("gemm", &stream, reads![&a], writes![&mut b], |raw| {
            // SAFETY: both have the elements, and are used on the stream only.
            unsafe { library.copy(raw.stream, raw.writes[0].address, raw.reads[0].address, N) };
        })?;
        order(prog, &stream, prog.default_stream())?;
        saxpy(1.0, &a, &mut b).launch()
    })?;
    called?;
    assert_eq!(b.to_vec()?, [6.0; N]);
    let [span] = foreign(&timeline)[..] else { panic!("{timeline:#?}") };
    assert_eq!((span.label(), span.reads, span.writes), (format!("gemm:{line}"), 1, 1));
    assert!(span.file.ends_with("interop/profiles.rs"), "{span:#?}");
    assert_eq!(timeline.tracks()[span.track].kind, TrackKind::Stream(stream.id()));
    let at = timeline.spans().iter().position(|s| s.kind == SpanKind::Foreign).expect("above");
    let arrows = timeline.arrows().iter().filter(|arrow| arrow.kind == ArrowKind::Event);
    let ends: Vec<_> = arrows.filter(|arrow| arrow.from == at || arrow.to == at).collect();
    assert_eq!(ends.len(), 2, "{timeline:#?}");
    for arrow in ends {
        assert!(timeline.spans()[arrow.from].end <= timeline.spans()[arrow.to].start);
    }
    // The library's copy is between the events.
    assert!(backend == Cpu || span.duration().as_nanos() > 0, "{span:#?}");
    assert!(timeline.rows().iter().any(|row| row.name == span.label() && row.count == 1));
    assert!(timeline.svg().contains("foreign operation: reads 1, writes 1"));
    let read = Timeline::from_chrome_trace(&timeline.chrome_trace())?;
    assert_eq!(format!("{:#?}", read.spans()), format!("{:#?}", timeline.spans()));
    // Nothing is recorded afterwards.
    prog.foreign("gemm", &stream, reads![&a], writes![&mut b], |_| ())?;
    let (_, empty) = prog.profile(|| ())?;
    assert!(foreign(&empty).is_empty(), "{empty:#?}");
    Ok(())
}

#[on_all_backends]
fn a_panic_of_the_library_is_a_span_too(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let prog = &scene.program;
    let (_, timeline) = prog.profile(|| {
        let call = || prog.foreign_on_current("broken", reads![], writes![], |_| panic!("broken"));
        let panicked: std::thread::Result<Result<()>> = catch_unwind(AssertUnwindSafe(call));
        assert!(panicked.is_err());
        prog.foreign_on_current("whole", reads![], writes![], |_| ())
    })?;
    let names: Vec<&str> = foreign(&timeline).iter().map(|span| &*span.name).collect();
    assert_eq!(names, ["broken", "whole"], "{timeline:#?}");
    assert_eq!(timeline.lost(), 0);
    let events = |scene: &Scene| scene.world.as_ref().map(|world| world.live().events);
    let before = events(&scene);
    let _ = prog.profile(|| prog.foreign_on_current("whole", reads![], writes![], |_| ()))?;
    assert_eq!(events(&scene), before, "the events of a profile are destroyed");
    Ok(())
}

#[on_gpu_backends]
fn a_missing_order_of_a_foreign_operation_is_an_arrow(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Report);
    let Some(scene) = Scene::simulated(backend, builder)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    scene.world.as_ref().expect("simulated").allow_races();
    let [s1, s2] = [(); 2].map(|()| prog.create_stream().expect("a stream"));
    let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    prog.device_sync()?;
    let (called, timeline) = prog.profile(|| {
        set(1.0, &mut a).launch_on(&s1)?;
        prog.foreign("copy", &s2, reads![&a], writes![&mut b], |raw| {
            // SAFETY: both have the elements; the missing order is what is tested, on the simulator.
            unsafe { library.copy(raw.stream, raw.writes[0].address, raw.reads[0].address, N) };
        })?;
        set(2.0, &mut b).launch_on(&s1)
    })?;
    called?;
    prog.device_sync()?;
    assert_eq!(prog.take_hazards().len(), 2);
    let missing = timeline.arrows().iter().filter(|arrow| arrow.kind == ArrowKind::Missing);
    let kind = |span: usize| timeline.spans()[span].kind;
    let ends: Vec<_> = missing.map(|arrow| (kind(arrow.from), kind(arrow.to))).collect();
    assert_eq!(
        ends,
        [(SpanKind::Task, SpanKind::Foreign), (SpanKind::Foreign, SpanKind::Task)],
        "{timeline:#?}"
    );
    Ok(())
}
