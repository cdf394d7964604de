//! Tensors in memory of other code.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use quadrants::{
    self as qd, Error, ForeignMemoryProblem, Hazards, Layout, Program, Result, Tensor, Vector,
    distinct, rhi::DevicePtr,
};
use quadrants_driver_sim::{Report, Schedule};
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use super::{Library, Scene};
use crate::common::{copy, order, set};

const N: usize = 40;

/// Memory that the library allocated. Frees it when it is dropped, and counts that.
struct Owner {
    library: Library,
    memory: DevicePtr,
    drops: Arc<AtomicUsize>,
}

impl Owner {
    fn new(library: &Library, bytes: usize, drops: &Arc<AtomicUsize>) -> Self {
        let memory = library.0.alloc(bytes).expect("memory");
        Self { library: library.clone(), memory, drops: drops.clone() }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
        // SAFETY: allocated by the library, and dropped after the last use: that is what is tested.
        unsafe { self.library.0.free(self.memory) }.expect("freed once");
    }
}

/// A tensor in memory of the library, which is filled with `value`.
fn foreign(scene: &Scene, value: f32, drops: &Arc<AtomicUsize>) -> Result<Tensor<f32, 1>> {
    let owner = Owner::new(&scene.library, 4 * N, drops);
    let memory = owner.memory;
    // SAFETY: the memory has the elements, which are written before the tensor is used, and only used through it.
    unsafe {
        scene.library.fill(qd::rhi::StreamHandle::DEFAULT, memory, value, N);
        scene.library.0.synchronize()?;
        scene.program.tensor_from_raw(memory, [N], owner)
    }
}

type Point = (Vector<f32, 2>, f32, i32);

#[qd::kernel]
fn moved(points: &Tensor<Point, 1>, out: &mut Tensor<Point, 1>) {
    for i in 0..out.len() {
        let (place, mass, number) = points[i];
        out[i] = (place * 2.0, mass + 1.0, number + 1);
    }
}

#[qd::kernel]
fn gathered(points: &Tensor<Point, 1>, order: &Tensor<u32, 1>, out: &mut Tensor<Point, 1>) {
    for i in 0..out.len() {
        let mut sum = (Vector([0.0, 0.0]), 0.0, 0);
        for k in 0..order.len() {
            let (place, mass, number) = points[order[k] as usize];
            if k == i {
                sum = (place, mass, number);
            }
        }
        out[i] = sum;
    }
}

/// Kernels access elements with vector loads and stores where the address of a tensor allows it. Memory of other code
/// may begin at any scalar.
#[on_all_backends]
fn elements_of_other_code_need_only_the_alignment_of_their_scalars(
    backend: TestBackend,
) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, drops) = (&scene.program, Arc::default());
    let size = size_of::<f32>() * 4;
    let point = |i: usize| (Vector([i as f32, 0.5]), i as f32, i as i32);
    let order: Vec<u32> = (0..N as u32).rev().collect();
    let order = prog.tensor_from(&order, [N])?;
    let points = prog.tensor_from(&(0..N).map(point).collect::<Vec<_>>(), [N])?;
    for shift in [0, 4, 8, 12] {
        let owner = Owner::new(&scene.library, size * (N + 1), &drops);
        let memory = owner.memory.offset(shift);
        // SAFETY: the memory has the elements, which a launch writes first, and is only used through the tensor.
        let mut x = unsafe { prog.tensor_from_raw::<Point, 1>(memory, [N], owner)? };
        let mut y = prog.zeros::<Point, 1>([N])?;
        moved(&points, &mut x).launch()?;
        let expected = |i: usize| (Vector([2.0 * i as f32, 1.0]), i as f32 + 1.0, i as i32 + 1);
        let all: Vec<_> = (0..N).map(expected).collect();
        assert_eq!(x.to_vec()?, all, "written, shifted by {shift}");
        gathered(&x, &order, &mut y).launch()?;
        let reversed: Vec<_> = all.iter().rev().copied().collect();
        assert_eq!(y.to_vec()?, reversed, "gathered, shifted by {shift}");
        // Parts of it, in a graph.
        let mut graph =
            prog.capture(|| moved(&*x.slice(3..N)?, &mut *y.slice_mut(3..N)?).launch())?;
        graph.launch()?;
        let again = |i: usize| {
            let (place, mass, number) = expected(i);
            (place * 2.0, mass + 1.0, number + 1)
        };
        assert_eq!(y.to_vec()?[3..], (3..N).map(again).collect::<Vec<_>>(), "part, by {shift}");
    }
    Ok(())
}

type Mixed = (f64, i8, Vector<f32, 3>);

/// Follows lists, with loops and a condition: if it is checked, it runs speculatively.
#[qd::kernel]
fn followed(
    points: &Tensor<Point, 1>,
    mixed: &Tensor<Mixed, 1>,
    next: &Tensor<u32, 1>,
    out: &mut Tensor<Point, 1>,
) {
    for i in 0..out.len() {
        let mut mass = 0.0_f32;
        let mut number = 0;
        let mut at = i;
        for k in 0..3 {
            at = next[at] as usize;
            let (place, own, of) = points[at];
            let (_, small, vector) = mixed[at];
            mass += own + vector[2] + place[0];
            if of != 3 {
                number += of + small as i32 + k;
            }
        }
        out[i] = (Vector([mass, 1.0]), mass, number);
    }
}

/// Repeated launches of one shape, with tensors at each alignment and in each layout.
#[on_all_backends]
fn alignments_and_layouts_alternate(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, drops) = (&scene.program, Arc::default());
    let point = |i: usize| (Vector([i as f32, 0.5]), i as f32, i as i32);
    let mixed = |i: usize| (0.1 * i as f64, i as i8 - 9, Vector([0.0, 7.0, 2.0 * i as f32]));
    let [points, all] =
        [(0..N).map(point).collect::<Vec<_>>(), vec![(Vector([0.0; 2]), 0.0, 0); N]];
    let mixed: Vec<Mixed> = (0..N).map(mixed).collect();
    let next: Vec<u32> = (0..N as u32).map(|i| (i * 7 + 3) % N as u32).collect();
    let wrong: Vec<u32> = next.iter().map(|at| if *at == 3 { 1 << 31 } else { *at }).collect();
    let expected = |next: &[u32], i: usize| {
        let (mut mass, mut number, mut at) = (0.0, 0, i);
        for k in 0..3 {
            at = next.get(at).map_or(0, |at| *at as usize);
            let (place, own, of) = points.get(at).copied().unwrap_or((Vector([0.0; 2]), 0.0, 0));
            let (_, small, vector) = mixed.get(at).copied().unwrap_or((0.0, 0, Vector([0.0; 3])));
            mass += own + vector[2] + place[0];
            if of != 3 {
                number += of + i32::from(small) + k;
            }
        }
        (Vector([mass, 1.0]), mass, number)
    };
    let bytes = size_of::<f32>() * 4 * (N + 1);
    let layouts = [Layout::ArrayOfStructs, Layout::StructOfArrays];
    let lists = [prog.tensor_from(&next, [N])?, prog.tensor_from(&wrong, [N])?];
    let (mut foreign, mut own, mut of_mixed) = (Vec::new(), Vec::new(), Vec::new());
    for shift in [0, 4, 8, 12] {
        let owner = Owner::new(&scene.library, bytes, &drops);
        let memory = owner.memory.offset(shift);
        // SAFETY: the memory has the elements, which are written before they are read.
        let mut x = unsafe { prog.tensor_from_raw::<Point, 1>(memory, [N], owner)? };
        x.write(&points)?;
        foreign.push(x);
    }
    for layout in layouts {
        own.push(prog.tensor_with(&points, [N], layout)?);
        of_mixed.push(prog.tensor_with(&mixed, [N], layout)?);
    }
    for round in 0..60 {
        let x = match round % 3 {
            0 => &own[round / 3 % 2],
            _ => &foreign[(round + round / 5) % 4],
        };
        let (of_mixed, fails) = (&of_mixed[round / 7 % 2], round % 11 == 10);
        let owner = Owner::new(&scene.library, bytes, &drops);
        let memory = owner.memory.offset([0, 4, 0, 12, 8][round % 5]);
        // SAFETY: as above.
        let mut y = unsafe { prog.tensor_from_raw::<Point, 1>(memory, [N], owner)? };
        y.write(&all)?;
        let list = &lists[usize::from(fails)];
        let found = followed(x, of_mixed, list, &mut y).launch().and_then(|()| prog.sync());
        assert_eq!(found.is_err(), fails, "{round}: {found:?}");
        let next = if fails { &wrong } else { &next };
        let all: Vec<_> = (0..N).map(|i| expected(next, i)).collect();
        assert_eq!(y.to_vec()?, all, "round {round}");
        if !fails && round % 4 == 0 {
            let (x, of_mixed) = (x.slice(1..N)?, of_mixed.slice(1..N)?);
            let mut part = y.slice_mut(2..5)?;
            // An index may be beyond the parts.
            let launched = followed(&x, &of_mixed, list, &mut part).launch();
            let _ = launched.and_then(|()| prog.sync());
        }
    }
    Ok(())
}

#[qd::kernel]
fn both(a: &mut Tensor<Point, 1>, b: &mut Tensor<Point, 1>, next: &Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            let mut sum = 0.0_f32;
            for k in 0..next[i] % 4 {
                let (_, mass, _) = a[i];
                sum += mass + next[next[k as usize] as usize] as f32;
            }
            a[i] = (Vector([sum, sum]), a[i].1, 4);
        }
    });
    qd::stream_parallel(|| {
        for i in 0..b.len() {
            let (place, mass, number) = b[i];
            if number > 2 {
                b[i] = (place, b[i].1, 2);
            }
            b[i] = (place, mass, 3);
        }
    });
}

/// Graphs and regions on tensors at each alignment; the lists map each element to itself.
#[on_all_backends]
fn graphs_and_regions_accept_each_alignment(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, drops) = (&scene.program, Arc::default());
    let next: Vec<u32> = (0..N as u32).collect();
    let next = prog.tensor_from(&next, [N])?;
    let point = |i: usize| (Vector([i as f32, 0.5]), i as f32, i as i32);
    let points: Vec<_> = (0..N).map(point).collect();
    let size = size_of::<f32>() * 4 * (N + 1);
    for shift in [0, 4, 8, 12, 0, 8] {
        let make = |shift: usize| -> Result<Tensor<Point, 1>> {
            let owner = Owner::new(&scene.library, size, &drops);
            let memory = owner.memory.offset(shift);
            // SAFETY: the memory has the elements, which are written before they are read.
            let mut x = unsafe { prog.tensor_from_raw::<Point, 1>(memory, [N], owner)? };
            x.write(&points)?;
            Ok(x)
        };
        let (mut a, mut b) = (make(shift)?, make(12 - shift)?);
        both(&mut a, &mut b, &next).launch()?;
        let of_a = |i: usize| {
            let sum = (0..i % 4).fold(0.0, |sum, k| sum + i as f32 + k as f32);
            (Vector([sum, sum]), i as f32, 4)
        };
        let of_b = |i: usize| (Vector([i as f32, 0.5]), i as f32, 3);
        let expected = [(0..N).map(of_a).collect::<Vec<_>>(), (0..N).map(of_b).collect()];
        assert_eq!([a.to_vec()?, b.to_vec()?], expected, "{shift}");
        for tensor in [&mut a, &mut b] {
            tensor.write(&points)?;
        }
        let mut graph = match prog.capture(|| both(&mut a, &mut b, &next).launch()) {
            Ok(graph) => graph,
            Err(_) if backend == TestBackend::Cpu && shift != 0 => continue,
            Err(error) => return Err(error),
        };
        graph.launch()?;
        graph.launch()?;
        drop(graph);
        assert_eq!([a.to_vec()?, b.to_vec()?], expected, "{shift}, in a graph");
    }
    Ok(())
}

/// A graph's tensor is replaced by one with another alignment.
#[on_all_backends]
fn tensors_of_graphs_are_replaced_by_some_of_each_alignment(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, drops) = (&scene.program, Arc::default());
    let point = |i: usize| (Vector([i as f32, 0.5]), i as f32, i as i32);
    let points: Vec<_> = (0..N).map(point).collect();
    let make = |shift: usize| -> Result<Tensor<Point, 1>> {
        let owner = Owner::new(&scene.library, size_of::<f32>() * 4 * (N + 1), &drops);
        let memory = owner.memory.offset(shift);
        // SAFETY: the memory has the elements, which are written before they are read.
        let mut x = unsafe { prog.tensor_from_raw::<Point, 1>(memory, [N], owner)? };
        x.write(&points)?;
        Ok(x)
    };
    for captured in [0, 4] {
        let (x, mut y) = (make(captured)?, prog.zeros::<Point, 1>([N])?);
        let mut graph = prog.capture(|| moved(&x, &mut y).launch())?;
        let aligned = |shift: usize| shift.is_multiple_of(16) || backend == TestBackend::Cpu;
        for shift in [0, 4, 8, 12, 0] {
            let mut x = make(shift)?;
            x.write(&points.iter().map(|point| (point.0, shift as f32, 1)).collect::<Vec<_>>())?;
            let mut to = prog.zeros::<Point, 1>([N])?;
            match graph.with("points", &x).with("out", &mut to).launch() {
                Ok(()) => {
                    assert!(to.to_vec()?.iter().all(|p| (p.1, p.2) == (shift as f32 + 1.0, 2)))
                }
                Err(Error::Argument { .. }) => assert_ne!(aligned(shift), aligned(captured)),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

#[on_all_backends]
fn foreign_memory_is_a_tensor_without_a_copy(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, drops) = (&scene.program, Arc::default());
    let mut x = foreign(&scene, 3.0, &drops)?;
    let raw = x.raw()?;
    assert_eq!(
        (raw.bytes, raw.backend, raw.ordinal),
        (4 * N, prog.arch(), prog.device_info().ordinal)
    );
    assert_eq!(x.to_vec()?, [3.0; N]);
    set(4.0, &mut *x.slice_mut(..10)?).launch()?;
    let mut y = prog.zeros::<f32, 1>([N])?;
    copy(&x, &mut y).launch()?;
    let expected = [vec![4.0; 10], vec![3.0; N - 10]].concat();
    assert_eq!(y.to_vec()?, expected);
    // The library sees what the program wrote, at its own address.
    let mut host = [0.0_f32; N];
    // SAFETY: the memory has the bytes, and no work on it is in flight.
    unsafe {
        let to = host.as_mut_ptr().cast();
        scene.library.0.copy_dtoh_async(to, raw.address, 4 * N, prog.default_stream().handle())?;
    }
    prog.sync()?;
    assert_eq!(host[..], expected);
    x.fill(7.0)?;
    assert_eq!(x.try_clone()?.to_vec()?, [7.0; N]);
    let kept = prog.pool_statistics().memory_blocks_cached;
    assert_eq!(drops.load(Relaxed), 0);
    prog.device_sync()?;
    drop(x);
    assert_eq!(drops.load(Relaxed), 1, "at once: all uses are known to be complete");
    assert_eq!(prog.pool_statistics().memory_blocks_cached, kept, "it is not kept");
    Ok(())
}

#[on_all_backends]
fn the_owner_is_dropped_after_the_last_use_on_every_stream(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let prog = &scene.program;
    let [s1, s2, s3] = [(); 3].map(|()| prog.create_stream().expect("a stream"));
    let drops = Arc::default();
    let mut made = 0;
    scene.on_seeds(|value| {
        made += 1;
        let [mut a, mut b] = [(); 2].map(|()| prog.zeros::<f32, 1>([N]).expect("memory"));
        let mut x = foreign(&scene, -1.0, &drops)?;
        set(value, &mut x).launch_on(&s1)?;
        order(prog, &s1, &s2)?;
        order(prog, &s1, &s3)?;
        copy(&x, &mut a).launch_on(&s2)?;
        copy(&x, &mut b).launch_on(&s3)?;
        drop(x);
        assert_eq!((a.to_vec()?, b.to_vec()?), (vec![value; N], vec![value; N]));
        Ok(())
    })?;
    prog.device_sync()?;
    assert_eq!(drops.load(Relaxed), made);
    Ok(())
}

#[on_gpu_backends]
fn the_host_does_not_wait_for_the_last_use(
    backend: TestBackend,
    #[values("device", "stream", "next", "allocation", "trim", "end")] found_by: &str,
) -> Result<()> {
    let Some(scene) = Scene::simulated(backend, Program::builder())? else { return Ok(()) };
    let (drops, world) = (Arc::default(), scene.world.as_ref().expect("simulated"));
    let stream = scene.program.create_stream()?;
    let mut x = foreign(&scene, 0.0, &drops)?;
    let other = foreign(&scene, 0.0, &drops)?;
    scene.program.device_sync()?;
    world.set_schedule(Schedule::Lazy);
    set(2.0, &mut x).launch_on(&stream)?;
    drop(x);
    assert_eq!((drops.load(Relaxed), world.live().pending > 0), (0, true));
    match found_by {
        "device" => scene.program.device_sync()?,
        "stream" => {
            stream.synchronize()?;
            // The event behind the stream's work on the stream of frees need not have been seen yet.
            scene.program.device_sync()?;
        }
        "end" => {
            let Scene { program, library, world } = scene;
            drop(stream);
            drop((program, library));
            assert_eq!(drops.load(Relaxed), 1);
            drop(other);
            assert_eq!(drops.load(Relaxed), 2);
            drop(world);
            return Ok(());
        }
        _ => {
            // Somebody else makes the device run.
            scene.library.0.synchronize()?;
            match found_by {
                "next" => drop(foreign(&scene, 0.0, &Arc::default())?),
                "allocation" => drop(scene.program.zeros::<f32, 1>([N])?),
                _ => scene.program.trim_pools(),
            }
        }
    }
    assert_eq!(drops.load(Relaxed), 1);
    drop(other);
    assert_eq!(world.reports(), []);
    Ok(())
}

/// The owner may own tensors of the same program, and the program may be dropped before the tensor or after it.
#[on_all_backends]
fn an_owner_may_own_tensors_of_the_program(
    backend: TestBackend,
    #[values(false, true)] program_first: bool,
) -> Result<()> {
    let Some(Scene { program, library, world }) = Scene::new(backend)? else { return Ok(()) };
    let inner = program.tensor_from(&[1.0_f32; N], [N])?;
    let address = inner.raw()?.address;
    // SAFETY: `inner` is the owner, and is not used any more.
    let mut outer: Tensor<f32, 1> = unsafe { program.tensor_from_raw(address, [N], inner)? };
    set(2.0, &mut outer).launch()?;
    assert_eq!(outer.get([3])?, 2.0);
    // In flight when it is dropped.
    set(5.0, &mut outer).launch()?;
    if program_first {
        drop((program, library));
        drop(outer);
    } else {
        drop(outer);
        drop((program, library));
    }
    if let Some(world) = world {
        let live = world.live();
        assert_eq!([live.streams, live.events, live.blocks, live.bytes, live.pinned], [0; 5]);
        assert_eq!(world.reports(), []);
    }
    Ok(())
}

/// A graph that uses the memory counts as a user.
#[on_all_backends]
fn the_owner_is_kept_as_long_as_a_graph_uses_the_memory(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, drops) = (&scene.program, Arc::default());
    let [mut x, mut y] = [foreign(&scene, 1.0, &drops)?, prog.zeros([N])?];
    let mut graph = prog.capture(|| {
        copy(&x, &mut y).launch()?;
        set(3.0, &mut x).launch()
    })?;
    drop(x);
    for value in [1.0, 3.0] {
        graph.launch()?;
        assert_eq!(y.to_vec()?, [value; N]);
    }
    assert_eq!(drops.load(Relaxed), 0);
    drop(graph);
    prog.device_sync()?;
    assert_eq!(drops.load(Relaxed), 1);
    Ok(())
}

/// Memory that its owner frees while the program still uses it.
#[on_gpu_backends]
fn foreign_memory_that_is_freed_too_early_is_reported(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::simulated(backend, Program::builder())? else { return Ok(()) };
    let world = scene.world.as_ref().expect("simulated");
    let memory = scene.library.0.alloc(4 * N)?;
    // SAFETY: the promise is broken below, which the simulator must see.
    let mut x: Tensor<f32, 1> = unsafe { scene.program.tensor_from_raw(memory, [N], ())? };
    scene.program.device_sync()?;
    world.set_schedule(Schedule::Lazy);
    set(1.0, &mut x).launch()?;
    // SAFETY: as above.
    unsafe { scene.library.0.free(memory)? };
    assert!(scene.program.device_sync().is_err());
    let told: Vec<_> = world.reports().iter().map(Report::to_string).collect();
    assert!(told.len() == 1 && told[0].contains("free"), "{told:?}");
    world.allow_races();
    Ok(())
}

#[on_all_backends]
fn memory_that_cannot_be_a_tensor_is_a_typed_error(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, drops) = (&scene.program, Arc::<AtomicUsize>::default());
    let owner = Owner::new(&scene.library, 64, &drops);
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let mut tried = 0;
    let mut try_at = |address: DevicePtr, shape: [usize; 1], wide: bool| {
        tried += 1;
        let counted = Counted(drops.clone());
        // SAFETY: either an error, or memory of the owner that is not used.
        let made = unsafe {
            match wide {
                true => prog.tensor_from_raw::<f64, 1>(address, shape, counted).map(drop),
                false => prog.tensor_from_raw::<u8, 1>(address, shape, counted).map(drop),
            }
        };
        assert_eq!(drops.load(Relaxed), tried, "the owner is dropped");
        match made {
            Ok(()) => None,
            Err(Error::ForeignMemory { problem, address: named, .. }) => {
                assert_eq!(named, address.raw());
                Some(problem)
            }
            Err(other) => panic!("{other}"),
        }
    };
    use ForeignMemoryProblem::*;
    let at = |offset| owner.memory.offset(offset);
    assert_eq!(try_at(DevicePtr::NULL, [1], true), Some(Null));
    assert_eq!(try_at(DevicePtr::NULL, [0], true), None);
    assert_eq!(try_at(at(4), [1], true), Some(Misaligned { alignment: 8 }));
    assert_eq!(try_at(at(8), [7], true), None);
    if backend == TestBackend::Cpu {
        assert_eq!(try_at(at(1), [5], false), None, "the CPU needs no whole words");
        return Ok(());
    }
    assert_eq!(try_at(at(2), [4], false), Some(Misaligned { alignment: 4 }));
    assert_eq!(try_at(at(4), [5], false), None);
    assert_eq!(try_at(at(0), [9], true), Some(TooSmall { needed: 72, available: 64 }));
    assert_eq!(try_at(at(32), [5], true), Some(TooSmall { needed: 40, available: 32 }));
    let host = Box::new([0_u64; 4]);
    let problem = try_at(DevicePtr((&raw const *host) as u64), [4], true);
    assert_eq!(problem, Some(NotOfDriver { backend: prog.arch() }));
    // Pinned memory is memory of all devices.
    let pinned = scene.library.0.alloc_pinned(64)?;
    assert_eq!(try_at(DevicePtr::from_ptr(pinned), [8], true), None);
    // SAFETY: allocated above, and not used.
    unsafe { scene.library.0.free_pinned(pinned)? };
    let Some(world) = &scene.world else { return Ok(()) };
    let (others, opened) = backend.simulated_device();
    let elsewhere = opened.device.alloc(64)?;
    let problem = try_at(elsewhere, [8], true).expect("an error");
    let (found, expected) = (others.ordinal(), world.ordinal());
    assert_eq!(problem, OtherDevice { backend: prog.arch(), found, expected });
    assert!(problem.to_string().contains(&format!("device {found}")), "{problem}");
    // SAFETY: allocated above, and not used.
    unsafe { opened.device.free(elsewhere)? };
    // Freed memory is nobody's.
    let memory = scene.library.0.alloc(64)?;
    // SAFETY: as above.
    unsafe { scene.library.0.free(memory)? };
    assert_eq!(try_at(memory, [8], true), Some(NotOfDriver { backend: prog.arch() }));
    Ok(())
}

/// What other code may change is checked each time.
#[on_all_backends]
fn nothing_is_remembered_about_the_contents_of_foreign_memory(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let (prog, library) = (&scene.program, &scene.library);
    let own = prog.tensor_from(&[3_u32, 1, 2, 0], [4])?;
    let base = prog.tensor_from(&[3_u32, 1, 2, 0], [4])?;
    let address = base.raw()?.address;
    // SAFETY: `base` is the owner, and used only through this.
    let foreign: Tensor<u32, 1> = unsafe { prog.tensor_from_raw(address, [4], base)? };
    for tensor in [own, foreign] {
        distinct(&tensor)?;
        let address = tensor.raw()?.address;
        let mut graph = None;
        let mut out = prog.zeros::<u32, 1>([4])?;
        if let Ok(made) = prog.capture(|| scatter(distinct(&tensor)?, &mut out).launch()) {
            graph = Some(made);
        }
        // SAFETY: no work on the tensor is in flight, and no borrow of it exists.
        unsafe {
            library.0.fill_u32_async(address, 1, 1, prog.default_stream().handle())?;
        }
        prog.sync()?;
        let error = distinct(&tensor).unwrap_err();
        assert!(matches!(error, Error::NotDistinct { positions: [0, 1], .. }), "{error}");
        if let Some(mut graph) = graph {
            assert!(matches!(graph.launch(), Err(Error::NoLongerDistinct { .. })));
        }
    }
    Ok(())
}

#[qd::kernel]
fn scatter(to: &qd::Distinct<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..to.len() {
        out[to[i] as usize] = i as u32;
    }
}

#[on_all_backends]
fn raw_tensors_describe_layouts_and_slices(backend: TestBackend) -> Result<()> {
    let Some(scene) = Scene::new(backend)? else { return Ok(()) };
    let prog = &scene.program;
    type Body = (Vector<f32, 3>, u8);
    let bodies = prog.zeros_with::<Body, 2>([4, 5], Layout::ArrayOfStructs)?;
    let (raw, row) = (bodies.raw()?, bodies.row(2)?.raw()?);
    assert_eq!(
        (raw.shape(), raw.layout, raw.bytes),
        (&[4, 5][..], Layout::ArrayOfStructs, 19 * 16 + 13)
    );
    assert_eq!(row.address.raw() - raw.address.raw(), 10 * 16);
    let [position, kind] = *raw.components() else { panic!("{raw:?}") };
    assert_eq!((position.scalars, position.element_stride, position.scalar_stride), (3, 16, 4));
    assert_eq!((kind.scalars, kind.address.raw() - raw.address.raw()), (1, 12));
    let planes = prog.zeros_with::<Body, 1>([100], Layout::StructOfArrays)?;
    let part = planes.slice(10..20)?;
    let (whole, part) = (planes.raw()?, part.raw()?);
    let [position, kind] = *part.components() else { panic!("{part:?}") };
    assert_eq!((position.element_stride, position.scalar_stride, kind.element_stride), (4, 400, 1));
    assert_eq!(position.address.raw() - whole.address.raw(), 40);
    assert_eq!(kind.address.raw() - whole.components()[1].address.raw(), 10);
    assert_eq!(prog.zeros::<f32, 1>([0])?.raw()?.bytes, 0);
    assert!(matches!(qd::host(&[1.0], [1])?.raw(), Err(Error::HostArray { .. })));
    // The first fill is complete.
    let fresh = prog.tensor_from(&[6.0_f32; N], [N])?;
    let (address, mut host) = (fresh.raw()?.address, [0.0_f32; N]);
    let stream = prog.create_stream()?;
    // SAFETY: the memory has the bytes; nothing writes it.
    unsafe {
        let to = host.as_mut_ptr().cast();
        scene.library.0.copy_dtoh_async(to, address, 4 * N, stream.handle())?;
    }
    stream.synchronize()?;
    assert_eq!(host, [6.0; N]);
    Ok(())
}

/// Two tensors in the same foreign memory, used without an order, are found by the race detector: the tracker knows
/// them as two buffers.
#[on_gpu_backends]
fn a_missing_edge_between_two_users_of_foreign_memory_is_a_race(
    backend: TestBackend,
) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Explicit);
    let Some(scene) = Scene::simulated(backend, builder)? else { return Ok(()) };
    let (prog, world) = (&scene.program, scene.world.as_ref().expect("simulated"));
    world.allow_races();
    let base = prog.tensor_from(&[0.0_f32; N], [N])?;
    let address = base.raw()?.address;
    // SAFETY: the race that this makes is what is tested.
    let [mut x, y] = [(); 2].map(|()| unsafe { prog.tensor_from_raw(address, [N], ()) });
    let mut out = prog.zeros::<f32, 1>([N])?;
    let [s1, s2] = [(); 2].map(|()| prog.create_stream().expect("a stream"));
    set(1.0, x.as_mut().expect("made")).launch_on(&s1)?;
    copy(y.as_ref().expect("made"), &mut out).launch_on(&s2)?;
    prog.device_sync()?;
    assert_eq!(world.races().len(), 1, "{:?}", world.races());
    Ok(())
}
