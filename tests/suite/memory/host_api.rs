//! Reads, writes and copies of tensors by the host: single elements, existing memory, pinned memory, views with another
//! shape, copies between tensors, and the text of tensors.

use quadrants::{self as qd, Error, Hazards, Layout, Pinned, Program, Result, Vector};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use crate::common::{copy, on_seeds, order, saxpy, set};

const N: usize = 40;

type Body = (Vector<f32, 3>, u8, f64);

fn body(at: usize) -> Body {
    let x = at as f32;
    (Vector([x, x + 0.5, -x]), at as u8, f64::from(x) * 3.0)
}

#[on_all_backends]
fn elements_are_read_and_written_one_by_one(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let mut grid = prog.zeros::<i32, 3>([2, 3, 4])?;
    for (at, i, j, k) in [(5, 0, 0, 0), (6, 1, 2, 3), (7, 1, 0, 2)] {
        grid.set([i, j, k], at)?;
        assert_eq!(grid.get([i, j, k])?, at);
    }
    let all = grid.to_vec()?;
    assert_eq!((all[0], all[12 + 8 + 3], all[12 + 2]), (5, 6, 7));
    assert_eq!(all.iter().sum::<i32>(), 18, "no other element changed");
    for index in [[2, 0, 0], [0, 3, 0], [0, 0, 4], [usize::MAX; 3]] {
        let error = grid.get(index).unwrap_err();
        assert!(matches!(&error, Error::Index { shape, .. } if *shape == [2, 3, 4]), "{error}");
        assert!(matches!(grid.set(index, 1), Err(Error::Index { .. })));
    }
    let mut one = prog.tensor_from(&[true], [])?;
    one.set([], false)?;
    assert!(!one.get([])?);
    for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
        let mut bodies = prog.tensor_with(&[body(1), body(2), body(3)], [3], layout)?;
        bodies.set([1], body(9))?;
        assert_eq!(
            (bodies.get([0])?, bodies.get([1])?, bodies.get([2])?),
            (body(1), body(9), body(3))
        );
        assert_eq!(bodies.slice(1..)?.get([1])?, body(3), "of a slice");
    }
    // After a launch that writes it.
    let mut x = prog.zeros::<f32, 1>([N])?;
    set(3.0, &mut x).launch()?;
    assert_eq!(x.get([N - 1])?, 3.0);
    let mut host = [1, 2, 3, 4];
    let mut tensor = qd::host_mut(&mut host, [2, 2])?;
    tensor.set([1, 0], 8)?;
    assert_eq!(tensor.get([1, 0])?, 8);
    Ok(())
}

#[on_all_backends]
fn a_tensor_is_read_into_existing_memory(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let mut x = prog.zeros::<f32, 2>([5, 8])?;
    let mut out = [-1.0; 40];
    x.read_into(&mut out)?;
    assert_eq!(out, [0.0; 40]);
    x.write(&[2.5; 40])?;
    x.row(1)?.read_into(&mut out[..8])?;
    assert_eq!((out[7], out[8]), (2.5, 0.0));
    assert!(matches!(x.read_into(&mut out[..8]), Err(Error::Shape { given: 8, expected: 40, .. })));
    // A type whose bytes are not all values, and one with another layout on the host.
    let flags = prog.tensor_from(&[true, false, true], [3])?;
    let mut read = [false; 3];
    flags.read_into(&mut read)?;
    assert_eq!(read, [true, false, true]);
    let all: Vec<Body> = (0..6).map(body).collect();
    for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
        let bodies = prog.tensor_with(&all, [6], layout)?;
        let mut read = vec![body(0); 2];
        bodies.slice(3..5)?.read_into(&mut read)?;
        assert_eq!(read, all[3..5]);
    }
    Ok(())
}

#[on_all_backends]
fn views_have_another_shape_and_the_same_elements(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let all: Vec<f32> = (0..24).map(|at| at as f32).collect();
    let mut x = prog.tensor_from(&all, [2, 3, 4])?;
    assert_eq!(x.reshape([4, 6])?.row(1)?.to_vec()?, all[6..12]);
    assert_eq!(x.flat()?.shape(), [24]);
    assert_eq!(x.row(1)?.flat()?.to_vec()?, all[12..]);
    set(1.0, &mut *x.flat_mut()?).launch()?;
    set(2.0, &mut *x.row_mut(1)?.flat_mut()?).launch()?;
    assert_eq!(x.to_vec()?, [[1.0; 12], [2.0; 12]].concat());
    let error = x.reshape([5, 5]).unwrap_err();
    assert!(matches!(error, Error::Shape { expected: 25, given: 24, .. }), "{error}");
    let error = x.reshape([usize::MAX, 2]).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let empty = prog.zeros::<f32, 2>([0, 7])?;
    assert_eq!(empty.reshape([usize::MAX, 0, 3])?.len(), 0);
    // A view of a mutable slice that was moved out cannot be made.
    let mut other = prog.zeros::<f32, 3>([1, 3, 4])?;
    let mut slice = x.slice_mut(..1)?;
    std::mem::swap(&mut *slice, &mut other);
    assert!(matches!(other.flat(), Err(Error::MovedSlice)));
    Ok(())
}

#[on_all_backends]
fn copies_between_tensors_run_in_the_order_of_the_stream(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let stream = prog.create_stream()?;
    on_seeds(on.world.as_ref(), 200, |seed| {
        let value = seed as f32;
        let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
        stream.scope(|| {
            set(value, &mut a).launch()?;
            b.copy_from(&a)?;
            // The source is overwritten after the copy, and the copy is used.
            set(-1.0, &mut a).launch()?;
            saxpy(2.0, &b, &mut a).launch()
        })?;
        assert_eq!((b.get([7])?, a.get([N - 1])?), (value, 2.0 * value - 1.0));
        let clone = b.slice(3..9)?.try_clone()?;
        drop(b);
        assert_eq!(clone.to_vec()?, [value; 6]);
        Ok(())
    })?;
    assert!(prog.take_hazards().is_empty());
    Ok(())
}

#[on_all_backends]
fn copies_keep_layouts_and_parts(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let all: Vec<Body> = (0..12).map(body).collect();
    for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
        let from = prog.tensor_with(&all, [12], layout)?;
        let mut to = prog.tensor_with(&[body(99); 7], [7], layout)?;
        to.slice_mut(2..5)?.copy_from(&*from.slice(8..11)?)?;
        let read = to.to_vec()?;
        assert_eq!(
            (&read[..2], &read[2..5], &read[5..]),
            (&[body(99); 2][..], &all[8..11], &[body(99); 2][..])
        );
        let clone = from.slice(4..)?.try_clone()?;
        assert_eq!(clone.to_vec()?, all[4..]);
        assert_eq!(from.try_clone()?.to_vec()?, all);
    }
    let mut planes = prog.zeros_with::<Body, 1>([12], Layout::StructOfArrays)?;
    let structs = prog.tensor_from(&all, [12])?;
    let error = planes.copy_from(&structs).unwrap_err();
    assert!(
        matches!(
            error,
            Error::CopyLayout { from: Layout::ArrayOfStructs, to: Layout::StructOfArrays }
        ),
        "{error}"
    );
    let error = planes.slice_mut(1..)?.copy_from(&prog.zeros([12])?).unwrap_err();
    assert!(
        matches!(&error, Error::CopyShape { from, to } if *from == [12] && *to == [11]),
        "{error}"
    );
    let mut empty = prog.zeros::<f32, 1>([0])?;
    empty.copy_from(&prog.zeros([0])?)?;
    // Host arrays take part, and wait.
    let mut host = [0.0; 4];
    let mut x = prog.tensor_from(&[1.0, 2.0, 3.0, 4.0], [4])?;
    qd::host_mut(&mut host, [4])?.copy_from(&x)?;
    assert_eq!(host, [1.0, 2.0, 3.0, 4.0]);
    x.copy_from(&*qd::host(&[5.0; 4], [4])?)?;
    assert_eq!(x.to_vec()?, [5.0; 4]);
    assert!(matches!(qd::host(&host, [4])?.try_clone(), Err(Error::HostArray { .. })));
    // So do tensors of other programs.
    let other = Program::open(qd::Arch::Cpu)?;
    x.copy_from(&other.tensor_from(&[6.0; 4], [4])?)?;
    assert_eq!(x.to_vec()?, [6.0; 4]);
    Ok(())
}

#[on_all_backends]
fn copies_become_nodes_of_a_graph(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let [mut a, mut b, mut c] = [(); 3].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    let side = prog.create_stream()?;
    let (forked, joined) = (prog.create_event()?, prog.create_event()?);
    let mut graph = prog.capture(|| {
        saxpy(1.0, &c, &mut a).launch()?;
        forked.record(prog.default_stream())?;
        forked.wait(&side)?;
        side.scope(|| b.copy_from(&a))?;
        joined.record(&side)?;
        joined.wait(prog.default_stream())?;
        set(7.0, &mut c).launch()?;
        c.slice_mut(..3)?.copy_from(&*b.slice(..3)?)
    })?;
    assert_eq!(graph.len(), 4);
    for round in 1..4 {
        graph.launch()?;
        // What `c` was before this launch is added to `a`.
        let sum = 7.0 * (round - 1) as f32;
        assert_eq!(b.get([N - 1])?, sum);
        assert_eq!(c.get([N - 1])?, 7.0);
    }
    drop(graph);
    assert!(prog.take_hazards().is_empty());
    Ok(())
}

/// A copy conflicts with launches on other streams as a launch does, under each policy and in a graph.
#[on_gpu_backends]
fn copies_are_hazards_as_launches_are(backend: TestBackend) -> Result<()> {
    let open = |hazards| backend.open_with(Program::builder().hazards(hazards));
    let Some(on) = open(Hazards::Check) else { return Ok(()) };
    let prog = &on.program;
    let [s1, s2] = [(); 2].map(|()| prog.create_stream().expect("a stream"));
    let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    set(1.0, &mut a).launch_on(&s1)?;
    let error = s2.scope(|| b.copy_from(&a)).unwrap_err();
    let Error::Hazard(hazard) = error else { panic!("{error}") };
    assert_eq!((&*hazard.later.kernel, &*hazard.later.parameter), ("Tensor::copy_from", "from"));
    assert_eq!((&*hazard.earlier.kernel, hazard.later.writes), ("set", false));
    order(prog, &s1, &s2)?;
    s2.scope(|| b.copy_from(&a))?;
    let error = set(2.0, &mut b).launch_on(&s1).unwrap_err();
    let Error::Hazard(hazard) = error else { panic!("{error}") };
    assert_eq!((&*hazard.earlier.parameter, hazard.earlier.writes), ("self", true));
    let mut host = prog.pinned(N)?;
    let error = s1.scope(|| b.read_async(&mut host)).unwrap_err();
    let Error::Hazard(hazard) = error else { panic!("{error}") };
    assert_eq!((&*hazard.later.kernel, &*hazard.later.parameter), ("Tensor::read_async", "self"));
    let captured = prog.capture(|| {
        s1.scope(|| a.copy_from(&b))?;
        s2.scope(|| copy(&a, &mut b).launch())
    });
    assert!(matches!(captured, Err(Error::Hazard(_))), "{captured:?}");
    drop(on);

    let Some(on) = open(Hazards::Auto) else { return Ok(()) };
    let prog = &on.program;
    let [s1, s2] = [(); 2].map(|()| prog.create_stream().expect("a stream"));
    on_seeds(on.world.as_ref(), 200, |seed| {
        let value = seed as f32;
        let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
        let mut host = prog.pinned(N)?;
        set(value, &mut a).launch_on(&s1)?;
        s2.scope(|| b.copy_from(&a))?;
        s1.scope(|| b.read_async(&mut host))?;
        assert_eq!(host.as_slice()?, [value; N]);
        Ok(())
    })
}

/// Without an order, the race detector reports the copy.
#[on_gpu_backends]
fn a_copy_without_an_order_is_a_race(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated_with(Program::builder().hazards(Hazards::Explicit))
    else {
        return Ok(());
    };
    on.allow_races();
    let prog = &on.program;
    let [s1, s2] = [(); 2].map(|()| prog.create_stream().expect("a stream"));
    let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    set(1.0, &mut a).launch_on(&s1)?;
    s2.scope(|| b.copy_from(&a))?;
    prog.device_sync()?;
    let races = on.world.as_ref().expect("simulated").races();
    assert_eq!(races.len(), 1, "{races:?}");
    Ok(())
}

#[on_all_backends]
fn pinned_memory_is_seen_after_its_copies(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let [s1, s2] = [(); 2].map(|()| prog.create_stream().expect("a stream"));
    let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
    let mut host: Pinned<f32> = prog.pinned(N)?;
    assert_eq!(host.as_slice()?, [0.0; N]);
    on_seeds(on.world.as_ref(), 200, |seed| {
        let value = seed as f32;
        host.as_mut_slice()?.fill(value);
        s1.scope(|| a.write_async(&host))?;
        // Another stream reads the same pinned memory, then both tensors are overwritten.
        s2.scope(|| b.write_async(&host))?;
        set(-1.0, &mut b).launch_on(&s2)?;
        assert_eq!(host.as_slice()?, [value; N]);
        // On another stream than the copies that read the pinned memory: the device orders them.
        s2.scope(|| b.read_async(&mut host))?;
        assert_eq!(host.as_slice()?, [-1.0; N]);
        s1.scope(|| a.read_async(&mut host))?;
        assert_eq!(host.as_slice()?, [value; N]);
        assert_eq!(a.to_vec()?, [value; N]);
        // Dropped with a copy in flight.
        let mut other = prog.pinned(N)?;
        s1.scope(|| a.read_async(&mut other))
    })?;
    let mut short = prog.pinned::<f32>(3)?;
    assert!(matches!(a.read_async(&mut short), Err(Error::Shape { .. })));
    a.slice(2..5)?.read_async(&mut short)?;
    assert_eq!(short.as_slice()?.len(), 3);
    let captured = prog.capture(|| a.read_async(&mut host));
    assert!(matches!(captured, Err(Error::Capture { .. })), "{captured:?}");
    assert!(matches!(
        qd::host(&[1.0; N], [N])?.read_async(&mut host),
        Err(Error::HostArray { .. })
    ));
    assert!(prog.take_deferred_errors().is_empty());
    Ok(())
}

/// The host goes on while the copies are in flight.
#[on_gpu_backends]
fn pinned_copies_do_not_wait(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    world.set_schedule(Schedule::Lazy);
    let prog = &on.program;
    let mut a = prog.zeros::<f32, 1>([N])?;
    let mut host = prog.pinned(N)?;
    let stream = prog.create_stream()?;
    prog.device_sync()?;
    stream.scope(|| {
        a.write_async(&host)?;
        a.copy_from(&prog.zeros([N])?)?;
        a.read_async(&mut host)
    })?;
    assert!(world.live().pending > 0, "nothing was waited for");
    assert_eq!(host.as_slice()?, [0.0; N]);
    Ok(())
}

#[on_all_backends]
fn the_text_of_a_tensor_shows_what_can_be_read(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let x = prog.tensor_from(&[1.0_f32, -0.5, 2.25], [3])?;
    x.to_vec()?;
    let text = format!("{x:?}");
    assert!(text.contains("shape: [3]") && text.contains("elements: [1.0, -0.5, 2.25]"), "{text}");
    let many = prog.tensor_from(&[7_u8; 100], [4, 25])?;
    many.to_vec()?;
    let text = format!("{many:?}");
    assert!(text.contains("[7, 7, 7, 7, 7, 7, 7, 7, …]"), "{text}");
    let bodies = prog.tensor_with(&[body(1), body(2)], [2], Layout::StructOfArrays)?;
    bodies.to_vec()?;
    let text = format!("{bodies:?}");
    assert!(text.contains("layout: StructOfArrays"), "{text}");
    assert!(text.contains("[(1.0, 1.5, -1.0, 1, 3.0), (2.0, 2.5, -2.0, 2, 6.0)]"), "{text}");
    assert!(format!("{:?}", prog.zeros::<f32, 1>([0])?).contains("elements: []"));
    // A struct of the user with a tensor of a type without a text.
    #[derive(Clone, Copy, qd::KernelValue)]
    struct Silent {
        x: f32,
    }
    let silent = prog.tensor_from(&[Silent { x: 1.5 }], [1])?;
    assert_eq!(silent.get([0])?.x, 1.5);
    assert!(format!("{silent:?}").contains("elements: [1.5]"));
    let text = prog.capture(|| {
        assert!(format!("{x:?}").contains("not read during a capture"));
        Ok(())
    });
    text.map(drop)
}

/// Neither work that never runs nor a lost device makes it wait or panic.
#[on_gpu_backends]
fn the_text_of_a_tensor_never_waits(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let prog = &on.program;
    let mut x = prog.zeros::<f32, 1>([N])?;
    prog.device_sync()?;
    world.set_schedule(Schedule::Lazy);
    let long: Vec<_> = (0..50).map(|_| set(1.0, &mut x).launch()).collect();
    long.into_iter().collect::<Result<()>>()?;
    let text = format!("{x:?}");
    assert!(text.contains("in flight"), "{text}");
    assert!(world.live().pending > 0);
    prog.sync()?;
    assert!(format!("{x:?}").contains("[1.0, 1.0"));
    world.lose(None, 1, quadrants_driver_sim::Code::LAUNCH_FAILED);
    let text = format!("{x:?}");
    assert!(text.contains("not readable") && text.contains("lost"), "{text}");
    Ok(())
}

#[on_all_backends]
fn a_program_names_its_backend_and_all_devices_are_listed(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    assert_eq!(on.program.arch().parse::<qd::Arch>()?, backend.arch());
    let devices = qd::devices();
    let cpu: Vec<_> = devices.iter().filter(|device| device.arch() == qd::Arch::Cpu).collect();
    assert_eq!((cpu.len(), cpu[0].ordinal(), cpu[0].to_string().as_str()), (1, 0, "cpu 0"));
    assert_eq!(Program::open(*cpu[0])?.arch(), "cpu");
    Ok(())
}
