//! Foreign operations: work that a library enqueues on a stream of the program.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quadrants::{self as qd, Error, Hazards, Program, Result, reads, writes};
use quadrants_driver_sim::{Schedule, cuda_symbol, hip_symbol};
use quadrants_tests::{
    TestBackend::{self, Cuda},
    on_all_backends, on_gpu_backends,
};

use super::Scene;
use crate::common::{copy, order, saxpy, set};

const N: usize = 40;

#[on_all_backends]
fn a_foreign_operation_has_the_order_of_its_stream(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    let stream = prog.create_stream()?;
    scene.on_seeds(|value| {
        let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
        set(value, &mut a).launch_on(&stream)?;
        let told = prog.foreign("copy", &stream, reads![&a], writes![&mut b], |raw| {
            let (from, to) = (&raw.reads[0], &raw.writes[0]);
            assert_eq!(
                (from.shape(), to.bytes, to.ordinal),
                (&[N][..], 4 * N, prog.device_info().ordinal)
            );
            // SAFETY: both have the elements, and are used on the stream only.
            unsafe { library.copy(raw.stream, to.address, from.address, N) };
            raw.stream
        })?;
        assert_eq!(told, stream.handle());
        set(-1.0, &mut a).launch_on(&stream)?;
        saxpy(1.0, &a, &mut b).launch_on(&stream)?;
        // On the current stream, and on part of a tensor.
        stream.scope(|| {
            prog.foreign_on_current("fill", reads![], writes![&mut b.slice_mut(..3)?], |raw| {
                // SAFETY: as above.
                unsafe { library.fill(raw.stream, raw.writes[0].address, 9.0, 3) };
            })
        })?;
        let expected = [vec![9.0; 3], vec![value - 1.0; N - 3]].concat();
        assert_eq!(b.to_vec()?, expected, "the read waits");
        // Dropped with the library's work in flight.
        prog.foreign("fill", &stream, reads![], writes![&mut b], |raw| {
            // SAFETY: as above.
            unsafe { library.fill(raw.stream, raw.writes[0].address, 1.0, N) };
        })?;
        drop(b);
        let mut next = prog.zeros::<f32, 1>([N])?;
        set(5.0, &mut next).launch()?;
        assert_eq!(next.to_vec()?, [5.0; N]);
        Ok(())
    })?;
    prog.device_sync()?;
    assert!(prog.take_hazards().is_empty());
    Ok(())
}

/// A fresh tensor: the library's work comes after the first fill.
#[on_all_backends]
fn a_foreign_operation_comes_after_the_first_fill(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    let stream = prog.create_stream()?;
    scene.on_seeds(|value| {
        let a = prog.tensor_from(&[value; N], [N])?;
        let mut b = prog.zeros::<f32, 1>([N])?;
        prog.foreign("copy", &stream, reads![&a], writes![&mut b], |raw| {
            // SAFETY: both have the elements, and are used on the stream only.
            unsafe { library.copy(raw.stream, raw.writes[0].address, raw.reads[0].address, N) };
        })?;
        assert_eq!(b.to_vec()?, [value; N]);
        Ok(())
    })
}

#[on_gpu_backends]
fn foreign_operations_are_hazards_as_launches_are(backend: TestBackend) -> Result<()> {
    let builder = || Program::builder().hazards(Hazards::Check);
    let Some(scene) = Scene::with(backend, builder())? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    let [s1, s2] = [(); 2].map(|()| prog.create_stream().expect("a stream"));
    let [mut a, mut b, mut c] = [(); 3].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    set(1.0, &mut b).launch_on(&s1)?;
    let mut called = false;
    let error = prog.foreign("gemm", &s2, reads![&a, &b], writes![&mut c], |_| called = true);
    let Err(Error::Hazard(hazard)) = error else { panic!("{error:?}") };
    assert_eq!((&*hazard.later.kernel, &*hazard.later.parameter), ("gemm", "reads[1]"));
    assert!(hazard.to_string().contains("operations.rs"), "{hazard}");
    assert!(!called, "a refused operation calls nothing");
    order(prog, &s1, &s2)?;
    prog.foreign("gemm", &s2, reads![&a, &b], writes![&mut c], |raw| {
        // SAFETY: both have the elements, and are used on the stream only.
        unsafe { library.copy(raw.stream, raw.writes[0].address, raw.reads[1].address, N) };
    })?;
    let error = copy(&c, &mut a).launch_on(&s1).unwrap_err();
    let Error::Hazard(hazard) = error else { panic!("{error}") };
    assert_eq!((&*hazard.earlier.kernel, &*hazard.earlier.parameter), ("gemm", "writes[0]"));
    order(prog, &s2, &s1)?;
    copy(&c, &mut a).launch_on(&s1)?;
    assert_eq!(a.to_vec()?, [1.0; N]);
    drop(scene);

    let Some(scene) = Scene::with(backend, Program::builder().hazards(Hazards::Auto))? else {
        return Ok(());
    };
    let (prog, library) = (&scene.program, &scene.library);
    let [s1, s2] = [(); 2].map(|()| prog.create_stream().expect("a stream"));
    scene.on_seeds(|value| {
        let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
        set(value, &mut a).launch_on(&s1)?;
        prog.foreign("copy", &s2, reads![&a], writes![&mut b], |raw| {
            // SAFETY: as above.
            unsafe { library.copy(raw.stream, raw.writes[0].address, raw.reads[0].address, N) };
        })?;
        saxpy(1.0, &b, &mut a).launch_on(&s1)?;
        assert_eq!(a.to_vec()?, [2.0 * value; N]);
        Ok(())
    })
}

/// The simulator sees what the library really did: a call on another stream than the given one, and a missing edge.
#[on_gpu_backends]
fn a_library_call_on_the_wrong_stream_is_a_race(
    backend: TestBackend,
    #[values(false, true)] wrong_stream: bool,
) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Explicit);
    let Some(scene) = Scene::simulated(backend, builder)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    let world = scene.world.as_ref().expect("simulated");
    world.allow_races();
    let [s1, s2] = [(); 2].map(|()| prog.create_stream().expect("a stream"));
    let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    // The first fills are complete.
    [&a, &b].into_iter().try_for_each(|tensor| tensor.to_vec().map(drop))?;
    set(1.0, &mut a).launch_on(&s1)?;
    if wrong_stream {
        // The operation is declared on the right stream, and enqueued on another.
        let wrong = s2.handle();
        prog.foreign("copy", &s1, reads![&a], writes![&mut b], |raw| {
            // SAFETY: wrong, as tested.
            unsafe { library.copy(wrong, raw.writes[0].address, raw.reads[0].address, N) };
        })?;
    } else {
        prog.foreign("copy", &s2, reads![&a], writes![&mut b], |raw| {
            // SAFETY: the order is missing, as tested.
            unsafe { library.copy(raw.stream, raw.writes[0].address, raw.reads[0].address, N) };
        })?;
    }
    prog.device_sync()?;
    let races = world.races();
    assert_eq!(races.len(), 1, "{races:?}");
    assert!(races[0].to_string().contains("set_0"), "{}", races[0]);
    Ok(())
}

/// The number of the context or device that the driver has as current.
fn current(backend: TestBackend) -> usize {
    let mut context = 0_usize;
    let name = if backend == Cuda { "cuCtxGetCurrent" } else { "hipGetDevice" };
    let symbol = if backend == Cuda { cuda_symbol(name) } else { hip_symbol(name) };
    // SAFETY: the C signatures of both functions, of which one writes a smaller number.
    let get: extern "C" fn(*mut usize) -> i32 =
        unsafe { std::mem::transmute(symbol.expect("simulated")) };
    assert_eq!(get(&mut context), 0);
    context
}

/// Makes another context or device current.
fn change(backend: TestBackend, to: usize) {
    let name = if backend == Cuda { "cuCtxSetCurrent" } else { "hipSetDevice" };
    let symbol = if backend == Cuda { cuda_symbol(name) } else { hip_symbol(name) };
    // SAFETY: the C signatures of both functions, of which one reads a smaller number.
    let set: extern "C" fn(usize) -> i32 =
        unsafe { std::mem::transmute(symbol.expect("simulated")) };
    assert_eq!(set(to), 0);
}

#[on_gpu_backends]
fn the_context_is_current_in_the_call_and_restored_after_it(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::simulated(backend, Program::builder())? else { return Ok(()) };
    let (prog, stream) = (&scene.program, scene.program.create_stream()?);
    let mut a = prog.zeros::<f32, 1>([N])?;
    let before = current(backend);
    let inside = prog.foreign("look", &stream, reads![], writes![&mut a], |_| {
        let inside = current(backend);
        if backend == Cuda {
            change(backend, 0);
            assert_eq!(current(backend), 0);
        } else {
            change(backend, 0);
        }
        // The program works, whatever is current.
        prog.zeros::<f32, 1>([N]).map(drop).map(|()| inside)
    })??;
    if backend == Cuda {
        assert_ne!(inside, 0);
    } else {
        assert_eq!(inside, prog.device_info().ordinal);
    }
    assert_eq!(current(backend), before);
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        prog.foreign("panic", &stream, reads![], writes![&mut a], |_| {
            if backend == Cuda {
                change(backend, 0);
            }
            panic!("inside")
        })
    }));
    assert!(unwound.is_err());
    assert_eq!(current(backend), before);
    Ok(())
}

/// A panic after the library enqueued work: the tensors are stamped, and everything goes on.
#[on_all_backends]
fn a_panic_in_the_call_leaves_everything_usable(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    let stream = prog.create_stream()?;
    if let Some(world) = &scene.world {
        world.set_schedule(Schedule::Lazy);
    }
    let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        prog.foreign("fill", &stream, reads![&b], writes![&mut a], |raw| {
            // SAFETY: the memory has the elements, and is used on the stream only.
            unsafe { library.fill(raw.stream, raw.writes[0].address, 3.0, N) };
            panic!("inside {}", raw.reads.len())
        })
    }));
    let payload = unwound.unwrap_err();
    assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some("inside 1"));
    assert_eq!(a.to_vec()?, [3.0; N], "the read waits for what was enqueued");
    set(4.0, &mut b).launch_on(&stream)?;
    prog.foreign("copy", &stream, reads![&b], writes![&mut a], |raw| {
        // SAFETY: as above.
        unsafe { library.copy(raw.stream, raw.writes[0].address, raw.reads[0].address, N) };
    })?;
    assert_eq!(a.to_vec()?, [4.0; N]);
    assert!(prog.take_deferred_errors().is_empty());
    Ok(())
}

#[on_all_backends]
fn what_cannot_be_used_is_refused_before_the_call(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let prog = &scene.program;
    let other = Program::open(qd::Arch::Cpu)?;
    let mut a = prog.zeros::<f32, 1>([N])?;
    let theirs = other.zeros::<f32, 1>([N])?;
    let refuse = |_: &qd::ForeignCall<'_>| panic!("called");
    let stream = prog.default_stream();
    let error = prog.foreign("x", stream, reads![&theirs], writes![&mut a], refuse);
    assert!(matches!(error, Err(Error::OtherProgram { .. })), "{error:?}");
    let error = prog.foreign("x", other.default_stream(), reads![], writes![&mut a], refuse);
    assert!(matches!(error, Err(Error::OtherProgram { .. })), "{error:?}");
    let host = qd::host(&[1.0_f32; N], [N])?;
    let error = prog.foreign("x", stream, reads![&host], writes![&mut a], refuse);
    assert!(matches!(error, Err(Error::HostArray { what: "x" })), "{error:?}");
    let mut slice = a.slice_mut(..3)?;
    let mut moved = prog.zeros::<f32, 1>([3])?;
    std::mem::swap(&mut *slice, &mut moved);
    let error = prog.foreign("x", stream, reads![&moved], writes![], refuse);
    assert!(matches!(error, Err(Error::MovedSlice)), "{error:?}");
    std::mem::swap(&mut *slice, &mut moved);
    drop(slice);
    Ok(())
}

/// The call is made once, and its work is part of each launch of the graph. A device without graphs refuses it.
#[on_all_backends]
fn a_foreign_operation_becomes_nodes_of_a_graph(
    backend: TestBackend,
    #[values(false, true)] graphs: bool,
) -> Result<()> {
    let Some(scene) = Scene::with(backend, Program::builder().graphs(graphs))? else {
        return Ok(());
    };
    let (prog, library) = (&scene.program, &scene.library);
    let [mut a, mut b, mut c] = [(); 3].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    let mut calls = 0;
    let captured = prog.capture(|| {
        saxpy(1.0, &c, &mut a).launch()?;
        prog.stream_parallel(|p| {
            p.block(|| {
                prog.foreign_on_current("copy", reads![&a], writes![&mut b], |raw| {
                    calls += 1;
                    let (from, to) = (raw.reads[0].address, raw.writes[0].address);
                    // SAFETY: both have the elements, and are used on the stream only.
                    unsafe {
                        library.copy(raw.stream, to, from, N);
                        library.fill(raw.stream, to, 5.0, 2);
                    }
                })
            })?;
            p.block(|| set(1.0, &mut c).launch())
        })?;
        saxpy(1.0, &b, &mut c).launch()
    });
    let mut graph = match captured {
        Ok(graph) => graph,
        Err(error) => {
            let has_none = backend == TestBackend::Cpu || !graphs;
            assert!(has_none && matches!(error, Error::Capture { .. }), "{error}");
            assert_eq!(calls, 0);
            return Ok(());
        }
    };
    assert_eq!((graph.len(), calls), (4, 1));
    let (mut a_now, mut c_now) = (0.0, 0.0);
    scene.on_seeds(|_| {
        if c_now > 1e5 {
            (a_now, c_now) = (0.0, 0.0);
            a.fill(0.0)?;
            c.fill(0.0)?;
        }
        graph.launch()?;
        a_now += c_now;
        c_now = 1.0 + a_now;
        assert_eq!((b.get([N - 1])?, b.get([1])?, c.get([N - 1])?), (a_now, 5.0, c_now));
        // The first two elements are other ones, so that they stay finite.
        c.slice_mut(..2)?.fill(0.0)
    })?;
    assert_eq!(calls, 1);
    drop(graph);
    assert!(prog.take_hazards().is_empty() && prog.take_deferred_errors().is_empty());
    Ok(())
}

/// What cannot be captured is an error, a panic ends the capture, and the program goes on.
#[on_gpu_backends]
fn a_capture_of_a_foreign_operation_that_fails_has_no_effect(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    let stream = prog.create_stream()?;
    for _ in 0..2 {
        let mut refused = None;
        let mut graph = prog.capture(|| {
            set(1.0, &mut a).launch_on(&stream)?;
            refused = Some(prog.foreign("wait", &stream, reads![&a], writes![], |raw| {
                // SAFETY: the stream is captured, so the driver refuses to wait for it.
                unsafe { library.0.stream_synchronize(raw.stream).is_err() }
            }));
            Ok(())
        })?;
        // Some drivers invalidate the capture.
        assert!(matches!(refused, Some(Ok(true) | Err(Error::Runtime(_)))), "{refused:?}");
        graph.launch_on(&stream)?;
        assert_eq!(a.to_vec()?, [1.0; N]);
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            prog.capture(|| {
                prog.foreign("panic", &stream, reads![&a], writes![&mut b], |raw| {
                    let (from, to) = (raw.reads[0].address, raw.writes[0].address);
                    // SAFETY: both have the elements.
                    unsafe { library.copy(raw.stream, to, from, N) };
                    panic!("inside")
                })
            })
        }));
        assert!(unwound.is_err());
    }
    assert_eq!(b.to_vec()?, [0.0; N], "nothing ran");
    let statistics = prog.pool_statistics();
    assert_eq!(statistics.streams_destroyed, 0, "{statistics:?}");
    assert!(prog.take_deferred_errors().is_empty());
    Ok(())
}

/// The call may use the program: nested operations, launches, reads, also of memory that a graph keeps.
#[on_all_backends]
fn the_call_may_use_the_program(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    let stream = prog.create_stream()?;
    let [mut a, mut b, mut c] = [(); 3].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    let mut graph = prog.capture(|| set(2.0, &mut a).launch())?;
    graph.launch_on(&stream)?;
    prog.foreign("outer", &stream, reads![&a], writes![], |outer| -> Result<()> {
        set(1.0, &mut c).launch_on(&stream)?;
        assert_eq!(a.get([0])?, 2.0);
        prog.foreign("inner", &stream, reads![&a], writes![&mut b], |raw| {
            assert_eq!(raw.reads[0], outer.reads[0]);
            // SAFETY: both have the elements, and are used on the stream only.
            unsafe { library.copy(raw.stream, raw.writes[0].address, raw.reads[0].address, N) };
        })
    })??;
    assert_eq!((b.to_vec()?, c.to_vec()?), (vec![2.0; N], vec![1.0; N]));
    Ok(())
}

/// A stream that other code captures is refused, before anything is enqueued, and the capture goes on.
#[on_gpu_backends]
fn a_stream_that_other_code_captures_is_refused(
    backend: TestBackend,
    #[values(Hazards::Explicit, Hazards::Auto)] hazards: Hazards,
) -> Result<()> {
    let builder = Program::builder().hazards(hazards);
    let Some(scene) = Scene::simulated(backend, builder)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library.0);
    let (theirs, late) =
        (library.create_stream(Default::default())?, library.create_stream(Default::default())?);
    // SAFETY: dropped before the library's stream is destroyed below.
    let stream = unsafe { quadrants::Stream::from_raw(prog, theirs)? };
    let (mut x, y) = (prog.zeros::<f32, 1>([N])?, prog.zeros::<f32, 1>([N])?);
    let address = y.raw()?.address;
    let [event, recorded] = [prog.create_event()?, prog.create_event()?];
    recorded.record(&stream)?;
    let mut pinned = prog.pinned::<f32>(N)?;
    let mut graph = prog.capture(|| set(3.0, &mut x).launch())?;
    for repetition in 0..3 {
        // Known to the fast path the second time.
        set(1.0, &mut x).launch_on(&stream)?;
        prog.device_sync()?;
        // A tensor whose first fill is not complete.
        let mut fresh = prog.tensor_from(&[2.0_f32; N], [N])?;
        // SAFETY: streams of the device, which are not capturing; the memory has the elements.
        let refused = unsafe {
            library.begin_capture(theirs)?;
            library.begin_capture(late)?;
            scene.library.fill(theirs, address, 7.0, N);
            [
                set(2.0, &mut x).launch_on(&stream),
                stream.scope(|| set(2.0, &mut fresh).launch()),
                stream.scope(|| fresh.copy_from(&x)),
                stream.scope(|| x.read_async(&mut pinned)),
                stream.scope(|| prog.foreign_on_current("work", [], writes![&mut x], |_| ())),
                graph.launch_on(&stream),
                event.record(&stream),
                recorded.wait(&stream),
                x.order_before(&stream),
                quadrants::Stream::from_raw(prog, late).map(drop),
            ]
        };
        for refused in refused {
            assert!(matches!(refused, Err(Error::ForeignCapture { .. })), "{refused:?}");
        }
        assert_eq!(x.to_vec()?, [1.0; N], "{repetition}");
        // SAFETY: capturing since above. Both graphs are executed once, and destroyed.
        unsafe {
            library.destroy_graph(library.end_capture(late)?)?;
            let theirs_graph = library.end_capture(theirs)?;
            let exec = library.instantiate_graph(theirs_graph)?;
            library.launch_graph(exec, theirs)?;
            library.stream_synchronize(theirs)?;
            library.destroy_graph_exec(exec)?;
            library.destroy_graph(theirs_graph)?;
        }
        assert_eq!(y.to_vec()?, [7.0; N]);
    }
    drop(stream);
    // SAFETY: created above, and not used any more.
    unsafe {
        library.destroy_stream(theirs)?;
        library.destroy_stream(late)?;
    }
    Ok(())
}
