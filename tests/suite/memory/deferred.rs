//! Fills and writes that are enqueued with the next use: random work on several streams and threads, and driver calls
//! that fail in between.

use std::thread;

use quadrants::{
    self as qd, Error, Event, Hazards, KernelValue, Layout, Program, Result, Stream, Tensor, Vector,
};
use quadrants_driver_sim::{Code, CudaVersion, RocmVersion, Schedule, WorldLease};
use quadrants_tests::{Release, TestBackend, full_size, on_all_backends, on_gpu_backends};

use super::writes::numbers;
use crate::common::{order, set};

const MIB: usize = 1 << 20;
const SCHEDULES: [Schedule; 4] =
    [Schedule::Adversarial, Schedule::Lazy, Schedule::Random, Schedule::Eager];

/// The seeds of the random tests: `few` in a quick run.
fn seeds(few: u64) -> std::ops::Range<u64> {
    0..if full_size() { 25 * few } else { few }
}

fn set_seed(world: Option<&WorldLease>, seed: u64) {
    if let Some(world) = world {
        world.set_schedule(SCHEDULES[seed as usize % 4]);
        world.set_seed(seed);
    }
}

#[qd::kernel]
fn step(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = (x[i] * 3 + i as i32) % 1000;
    }
}

#[qd::kernel]
fn add(x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
    for i in 0..y.len() {
        y[i] = (y[i] + x[i]) % 1000;
    }
}

#[qd::kernel]
fn copy_all(x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
    for i in 0..y.len() {
        y[i] = x[i];
    }
}

/// A tensor, what it has, and the stream whose later work needs no event to use it.
struct Known {
    tensor: Tensor<i32, 1>,
    expected: Vec<i32>,
    used_on: Vec<usize>,
    written_on: Option<usize>,
}

struct Work<'a> {
    program: &'a Program,
    streams: Vec<Option<Stream>>,
    tensors: Vec<Known>,
    event: Event,
}

impl Work<'_> {
    fn wait(&self, before: usize, after: usize) -> Result<()> {
        if before != after {
            self.event.record(self.stream(before))?;
            self.event.wait(self.stream(after))?;
        }
        Ok(())
    }

    fn stream(&self, at: usize) -> &Stream {
        self.streams[at].as_ref().expect("a stream")
    }

    /// Orders a stream after the uses of a tensor that conflict with one there.
    fn order(&self, at: usize, on: usize, writes: bool) -> Result<()> {
        let known = &self.tensors[at];
        if let Some(before) = known.written_on {
            self.wait(before, on)?;
        }
        for before in known.used_on.iter().filter(|_| writes) {
            self.wait(*before, on)?;
        }
        Ok(())
    }
}

/// One of the ways to use a tensor by a shared reference.
fn read_by(
    kind: usize,
    program: &Program,
    from: &Tensor<i32, 1>,
    expected: &[i32],
    on: &Stream,
) -> Result<()> {
    let count = expected.len();
    let read = match kind {
        0 => from.to_vec()?,
        1 => {
            let (first, second) = (from.slice(..count / 2)?, from.slice(count / 2..)?);
            [first.to_vec()?, second.to_vec()?].concat()
        }
        2 => {
            let mut pinned = program.pinned(count)?;
            on.scope(|| from.read_async(&mut pinned))?;
            pinned.as_slice()?.to_vec()
        }
        3 => {
            assert!(!format!("{from:?}").is_empty());
            let mut to = program.zeros::<i32, 1>([count])?;
            copy_all(&*from.slice(..)?, &mut to).launch_on(on)?;
            to.to_vec()?
        }
        _ => {
            let mut to = program.zeros::<i32, 1>([count])?;
            copy_all(from, &mut to).launch_on(on)?;
            to.to_vec()?
        }
    };
    assert!(read == *expected);
    Ok(())
}

fn random_step(work: &mut Work<'_>, next: &mut impl FnMut(usize) -> usize, n: i32) -> Result<()> {
    let sizes = [1, 7, 40, 40, 5000, 20_000];
    let streams = work.streams.len();
    let on = next(streams);
    if work.tensors.len() < 4 {
        let count = sizes[next(6)];
        let values: Vec<i32> = (0..count as i32).map(|k| k * n).collect();
        let (program, kind) = (work.program, next(3));
        let make = || match kind {
            0 => Ok((program.zeros([count])?, vec![0; count])),
            _ => Ok((program.tensor_from(&values, [count])?, values.clone())),
        };
        let made: Result<_> = if next(2) == 0 { make() } else { work.stream(on).scope(make) };
        let (tensor, expected) = made?;
        let (used_on, written_on) = (Vec::new(), None);
        work.tensors.push(Known { tensor, expected, used_on, written_on });
        return Ok(());
    }
    let at = next(work.tensors.len());
    match next(18) {
        // A launch that writes.
        0..3 => {
            work.order(at, on, true)?;
            let Work { streams, tensors, .. } = work;
            let known = &mut tensors[at];
            step(&mut known.tensor).launch_on(streams[on].as_ref().expect("a stream"))?;
            for (i, x) in known.expected.iter_mut().enumerate() {
                *x = (*x * 3 + i as i32) % 1000;
            }
            (known.used_on, known.written_on) = (vec![], Some(on));
        }
        // A launch that reads it and writes another one.
        3..6 => {
            let of = work.tensors[at].expected.len();
            let other = (0..work.tensors.len())
                .find(|other| *other != at && work.tensors[*other].expected.len() <= of);
            let Some(other) = other else { return Ok(()) };
            work.order(at, on, false)?;
            work.order(other, on, true)?;
            let Work { streams, tensors, .. } = work;
            let [from, to] = tensors.get_disjoint_mut([at, other]).expect("two");
            add(&from.tensor, &mut to.tensor).launch_on(streams[on].as_ref().expect("a stream"))?;
            for (to, from) in to.expected.iter_mut().zip(&from.expected) {
                *to = (*to + *from) % 1000;
            }
            from.used_on.push(on);
            (to.used_on, to.written_on) = (vec![], Some(on));
        }
        // A write of all elements: no order is needed, before or after.
        6..9 => {
            let count = work.tensors[at].expected.len() as i32;
            let values: Vec<i32> = (0..count).map(|k| k * 5 - n).collect();
            let Work { streams, tensors, .. } = work;
            let known = &mut tensors[at];
            streams[on].as_ref().expect("a stream").scope(|| known.tensor.write(&values))?;
            known.expected = values;
            (known.used_on, known.written_on) = (vec![], None);
        }
        // A part, which waits.
        9 => {
            let known = &mut work.tensors[at];
            let first = next(known.expected.len());
            let part = vec![-n; known.expected.len() - first];
            let all = known.expected.len();
            match next(2) {
                0 => known.tensor.slice_mut(first..all)?.write(&part)?,
                _ => part
                    .iter()
                    .enumerate()
                    .take(2)
                    .try_for_each(|(i, x)| known.tensor.set([first + i], *x))?,
            }
            let changed = if known.tensor.get([all - 1])? == -n { all } else { first + 2 };
            known.expected[first..changed.min(all)].fill(-n);
            (known.used_on, known.written_on) = (vec![], None);
        }
        10 => {
            let known = &mut work.tensors[at];
            assert!(known.tensor.to_vec()? == known.expected, "step {n}");
            known.written_on = None;
        }
        11 => {
            let dropped = work.tensors.swap_remove(at);
            match next(2) {
                0 => drop(dropped),
                _ => thread::scope(|scope| drop(scope.spawn(move || drop(dropped)))),
            }
        }
        // A clone, which is a copy on the stream.
        12 => {
            work.order(at, on, false)?;
            let clone = work.stream(on).scope(|| work.tensors[at].tensor.try_clone())?;
            let (used_on, written_on) = (vec![], Some(on));
            let expected = work.tensors[at].expected.clone();
            work.tensors[at].used_on.push(on);
            work.tensors.push(Known { tensor: clone, expected, used_on, written_on });
        }
        // A stream ends, and its number is used again.
        13 => {
            let known = work.tensors.iter_mut();
            known.for_each(|known| {
                known.used_on.retain(|other| *other != on);
                if known.written_on == Some(on) {
                    known.written_on = None;
                }
            });
            work.streams[on] = None;
            work.streams[on] = Some(work.program.create_stream()?);
        }
        // A graph.
        14 => {
            work.order(at, on, true)?;
            let Work { streams, tensors, program, .. } = work;
            let known = &mut tensors[at];
            let mut graph = program.capture(|| step(&mut known.tensor).launch())?;
            graph.launch_on(streams[on].as_ref().expect("a stream"))?;
            for (i, x) in known.expected.iter_mut().enumerate() {
                *x = (*x * 3 + i as i32) % 1000;
            }
            (known.used_on, known.written_on) = (vec![], Some(on));
        }
        // Temporaries and writes in the blocks of a region.
        15 => {
            work.order(at, on, true)?;
            let Work { streams, tensors, program, .. } = work;
            let (known, stream) = (&mut tensors[at], streams[on].as_ref().expect("a stream"));
            let count = known.expected.len();
            let mut other = program.zeros::<i32, 1>([count])?;
            let values = vec![n; count];
            stream.scope(|| {
                program.stream_parallel(|region| {
                    region.block(|| {
                        let temporary = program.tensor_from(&values, [count])?;
                        copy_all(&temporary, &mut known.tensor).launch()
                    })?;
                    region.block(|| {
                        other.write(&values)?;
                        step(&mut other).launch()?;
                        other.write(&values)
                    })
                })?;
                known.expected = values.clone();
                (known.used_on, known.written_on) = (vec![], Some(on));
                add(&other, &mut known.tensor).launch()
            })?;
            known.expected = vec![n * 2 % 1000; count];
        }
        _ => match next(4) {
            0 => work.program.trim_pools(),
            1 => work.program.device_sync()?,
            // Shows what is known, and waits for nothing.
            2 => assert!(!format!("{:?}", work.tensors[at].tensor).is_empty()),
            _ => {
                // Used by several threads for the first time, each on its stream.
                for on in 0..streams {
                    work.order(at, on, false)?;
                }
                let (Known { tensor, expected, .. }, streams) = (&work.tensors[at], &work.streams);
                let (program, kinds) = (work.program, [next(5), next(5), next(5)]);
                thread::scope(|scope| {
                    let readers: Vec<_> = (streams.iter().flatten().zip(kinds))
                        .map(|(on, kind)| {
                            scope.spawn(move || read_by(kind, program, tensor, expected, on))
                        })
                        .collect();
                    readers.into_iter().try_for_each(|reader| reader.join().expect("no panic"))
                })?;
                work.tensors[at].used_on.extend(0..streams.len());
            }
        },
    }
    Ok(())
}

/// Random work. After an error, the tensors are made anew.
fn random_work(
    program: &Program,
    seed: u64,
    steps: i32,
    mut failed: impl FnMut(Error),
) -> Result<()> {
    let mut next = numbers(seed);
    let streams = (0..3).map(|_| program.create_stream().map(Some)).collect::<Result<_>>()?;
    let mut work = Work { program, streams, tensors: vec![], event: program.create_event()? };
    for n in 1..=steps {
        if let Err(error) = random_step(&mut work, &mut next, n) {
            failed(error);
            work.tensors.clear();
            for stream in work.streams.iter_mut().filter(|stream| stream.is_none()) {
                while stream.is_none() {
                    *stream = program.create_stream().ok();
                }
            }
        }
    }
    for known in &work.tensors {
        match known.tensor.to_vec() {
            Ok(elements) => assert!(elements == known.expected, "seed {seed}"),
            Err(error) => failed(error),
        }
    }
    Ok(())
}

#[on_all_backends]
fn random_work_is_in_order(backend: TestBackend) -> Result<()> {
    for hazards in [Hazards::Check, Hazards::Explicit] {
        let Some(on) = backend.open_with(Program::builder().hazards(hazards)) else {
            return Ok(());
        };
        for seed in seeds(6) {
            set_seed(on.world.as_ref(), seed);
            random_work(&on.program, seed, 80, |error| panic!("seed {seed}: {error:?}"))?;
            on.program.device_sync()?;
            check(on.world.as_ref(), seed);
            let pools = on.program.pool_statistics();
            let events = pools.events_created - pools.events_destroyed - pools.events_idle as u64;
            assert_eq!(events, 0, "seed {seed}: events leak");
            assert_eq!(pools.staging_bytes, pools.staging_bytes_idle, "seed {seed}");
        }
    }
    Ok(())
}

/// Without memory in stream order.
#[rstest::rstest]
fn random_work_is_in_order_with_blocking_allocation(
    #[values(Release::Cuda(CudaVersion::V13_0), Release::Rocm(RocmVersion::V6_4))] release: Release,
) -> Result<()> {
    let Some((world, opened)) = release.open_device(false) else { return Ok(()) };
    let program = Program::open(opened)?;
    for seed in seeds(4) {
        set_seed(Some(&world), seed);
        random_work(&program, seed, 80, |error| panic!("seed {seed}: {error:?}"))?;
        check(Some(&world), seed);
    }
    Ok(())
}

fn check(world: Option<&WorldLease>, seed: u64) {
    if let Some(world) = world {
        assert_eq!(world.reports(), [], "seed {seed}");
        assert_eq!(world.races(), [], "seed {seed}");
    }
}

/// Whatever fails, what is not reported as failed has happened.
#[on_gpu_backends]
fn random_failures_lose_no_fill(backend: TestBackend, #[values(0.0, 0.02)] any: f64) -> Result<()> {
    // Not waits: after two failures at once, work is left that nothing knows of.
    let calls = match backend {
        TestBackend::Cuda => [
            "cuMemcpyHtoDAsync_v2",
            "cuMemsetD8Async",
            "cuEventRecord",
            "cuStreamWaitEvent",
            "cuMemAllocAsync",
            "cuMemHostAlloc",
            "cuLaunchKernel",
        ],
        _ => [
            "hipMemcpyHtoDAsync",
            "hipMemsetD8Async",
            "hipEventRecord",
            "hipStreamWaitEvent",
            "hipMallocAsync",
            "hipHostMalloc",
            "hipModuleLaunchKernel",
        ],
    };
    let builder = Program::builder().hazards(Hazards::Check);
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let Some(world) = &on.world else { return Ok(()) };
    let mut failures = 0;
    for seed in seeds(6) {
        set_seed(Some(world), seed);
        if any > 0.0 {
            world.fail_often(None, any / 10.0, Code::UNKNOWN);
        }
        for call in calls {
            world.fail_often(Some(call), 0.03, Code::UNKNOWN);
        }
        let done = random_work(&on.program, seed, 80, |_| failures += 1);
        world.disarm_faults();
        failures += usize::from(done.is_err());
        on.program.device_sync()?;
        drop(on.program.take_deferred_errors());
        check(Some(world), seed);
    }
    assert!(failures > 0);
    Ok(())
}

/// Both sides of a copy between devices have a fill or a write that is not enqueued, before it and after it.
#[on_all_backends]
fn copies_between_devices_are_between_writes(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Check);
    let both = [(); 2].map(|()| backend.open_with(builder.clone()));
    let [Some(here), Some(there)] = both else { return Ok(()) };
    for seed in seeds(20) {
        set_seed(here.world.as_ref(), seed);
        set_seed(there.world.as_ref(), seed + 1);
        let n = [3, 5000][seed as usize / 4 % 2];
        let (s, t) = (here.program.create_stream()?, there.program.create_stream()?);
        let mut x = here.program.zeros::<i32, 1>([n])?;
        let mut y = there.program.tensor_from(&vec![-1; n], [n])?;
        for round in 0..3 {
            x.write(&vec![round; n])?;
            y.write(&vec![-2; n])?;
            s.scope(|| t.scope(|| x.copy_to(&mut y)))?;
            x.write(&vec![50; n])?;
            step(&mut x).launch()?;
            assert!(y.to_vec()? == vec![round; n], "seed {seed}");
            s.scope(|| t.scope(|| x.copy_to(&mut y)))?;
            y.write(&vec![7; n])?;
            step(&mut y).launch()?;
            assert!(
                y.to_vec()?[..3] == [21, 22, 23] && x.to_vec()?[..3] == [150, 151, 152],
                "seed {seed}"
            );
        }
        drop((x, y, s, t));
        check(here.world.as_ref(), seed);
        check(there.world.as_ref(), seed);
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Item {
    place: Vector<f32, 3>,
    count: u16,
    is_on: bool,
}

#[qd::kernel]
fn turn(x: &mut Tensor<Item, 2>) {
    for (i, j) in qd::ndrange(x.shape()) {
        x[[i, j]].is_on = !x[[i, j]].is_on;
        x[[i, j]].place[1] += 1.0;
    }
}

#[on_all_backends]
fn writes_of_structs_and_of_nothing_are_ordered(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_with(Program::builder().hazards(Hazards::Check)) else {
        return Ok(());
    };
    let (program, streams) =
        (&on.program, [(); 2].map(|()| on.program.create_stream().expect("a stream")));
    for seed in seeds(8) {
        set_seed(on.world.as_ref(), seed);
        for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
            for shape in [[3, 5], [0, 4], [30, 60]] {
                let item = Item { place: Vector([1.0, 2.0, 3.0]), count: 7, is_on: true };
                let items = vec![item; shape[0] * shape[1]];
                let turned = Item { place: Vector([1.0, 3.0, 3.0]), is_on: false, ..item };
                let mut x = program.tensor_with(&items, shape, layout)?;
                turn(&mut x).launch_on(&streams[0])?;
                x.write(&items)?;
                turn(&mut x).launch_on(&streams[1])?;
                assert!(x.to_vec()?.iter().all(|item| *item == turned));
                x.fill(turned)?;
                x.write(&items)?;
                turn(&mut *x.slice_axis_mut(1, 1..3)?).launch_on(&streams[0])?;
                x.write(&items)?;
                assert!(x.to_vec()?.iter().all(|other| *other == item));
                x.write(&items)?;
            }
        }
        check(on.world.as_ref(), seed);
    }
    Ok(())
}

/// Fills on several streams, which a further stream uses in turn.
#[on_gpu_backends]
fn launches_stop_waiting_for_fills_that_are_complete(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let (world, program) = (on.world.as_ref().expect("simulated"), &on.program);
    world.set_schedule(Schedule::Eager);
    let [s, t, u] = [(); 3].map(|()| program.create_stream().expect("a stream"));
    let (mut to, mut sum) = (program.zeros::<i32, 1>([4])?, program.zeros::<i32, 1>([4])?);
    let [x, y] = [(); 2].map(|()| program.tensor_from(&[1; 4], [4]).expect("memory"));
    copy_all(&x, &mut to).launch_on(&s)?;
    order(program, &s, &t)?;
    copy_all(&y, &mut to).launch_on(&t)?;
    let wait =
        if backend == TestBackend::Cuda { "cuStreamWaitEvent" } else { "hipStreamWaitEvent" };
    let waits = world.calls(wait);
    for _ in 0..100 {
        add(&x, &mut sum).launch_on(&u)?;
        add(&y, &mut sum).launch_on(&u)?;
    }
    let waits = world.calls(wait) - waits;
    assert!(waits < 20, "{waits}");
    Ok(())
}

/// Two failures in a row: nothing then tells when the copy is complete.
#[on_gpu_backends]
fn pinned_memory_outlives_a_copy_without_an_event(
    backend: TestBackend,
    #[values(false, true)] is_read: bool,
) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let (world, program) = (on.world.as_ref().expect("simulated"), &on.program);
    world.set_schedule(Schedule::Lazy);
    let mut x = program.zeros::<i32, 1>([4])?;
    set_all(3, &mut x).launch()?;
    let mut pinned = program.pinned::<i32>(4)?;
    let (record, wait) = match backend {
        TestBackend::Cuda => ("cuEventRecord", "cuStreamSynchronize"),
        _ => ("hipEventRecord", "hipStreamSynchronize"),
    };
    world.fail(record, 1, Code::UNKNOWN);
    world.fail(wait, 1, Code::UNKNOWN);
    assert!(x.read_async(&mut pinned).is_err());
    assert_eq!(world.armed_faults(), 0);
    if is_read {
        assert_eq!(pinned.as_slice()?, [3; 4]);
    }
    Ok(())
}

/// A tensor of a long kernel's stream that was written since.
#[on_gpu_backends]
fn the_text_of_a_tensor_with_a_pending_write_waits_for_nothing(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    world.set_schedule(Schedule::Lazy);
    let (s, mut x) = (on.program.create_stream()?, on.program.zeros::<f32, 1>([4])?);
    for value in 0..20 {
        set(value as f32, &mut x).launch_on(&s)?;
    }
    x.write(&[7.0; 4])?;
    let pending = world.live().pending;
    let text = format!("{x:?}");
    assert!(text.contains("in flight"), "{text}");
    assert!(world.live().pending + 2 > pending, "a query is no wait");
    s.synchronize()?;
    let text = format!("{x:?}");
    assert!(text.contains("7.0, 7.0"), "{text}");
    Ok(())
}

#[qd::kernel]
fn set_some(value: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..8 {
        x[i] = value;
    }
}

/// A large write whose second chunk has no staging memory. The first one is under way.
#[on_gpu_backends]
fn launches_after_a_write_that_failed_are_ordered_after_it(
    backend: TestBackend,
    #[values(false, true)] is_used: bool,
) -> Result<()> {
    let Some(on) = backend.open_with(Program::builder().hazards(Hazards::Explicit)) else {
        return Ok(());
    };
    let Some(world) = &on.world else { return Ok(()) };
    world.set_schedule(Schedule::Adversarial);
    let (s1, s2) = (on.program.create_stream()?, on.program.create_stream()?);
    let values = vec![5.0; 3 * MIB];
    let mut x = on.program.zeros::<f32, 1>([3 * MIB])?;
    on.program.device_sync()?;
    // The first fill is known to be complete.
    set_some(3.0, &mut x).launch_on(&s1)?;
    on.program.device_sync()?;
    set_some(4.0, &mut x).launch_on(&s1)?;
    if !is_used {
        on.program.device_sync()?;
    }
    world.fail(pinned_alloc(backend), 2, Code::OUT_OF_MEMORY);
    assert!(s1.scope(|| x.write(&values)).is_err());
    assert_eq!(world.armed_faults(), 0);
    set_some(1.0, &mut x).launch_on(&s2)?;
    assert_eq!(x.slice(..8)?.to_vec()?, [1.0; 8]);
    Ok(())
}

/// The name of the function that allocates pinned memory.
fn pinned_alloc(backend: TestBackend) -> &'static str {
    if backend == TestBackend::Cuda { "cuMemHostAlloc" } else { "hipHostMalloc" }
}

#[qd::kernel]
fn set_all(value: i32, x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = value;
    }
}

#[on_gpu_backends]
fn after_a_write_that_failed_nothing_is_known_about_the_elements(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let values: Vec<i32> = (0..5000).collect();
    let mut x = on.program.tensor_from(&values, [5000])?;
    qd::distinct(&x)?;
    set_all(3, &mut x).launch()?;
    on.program.device_sync()?;
    on.program.trim_pools();
    world.fail(pinned_alloc(backend), 1, Code::OUT_OF_MEMORY);
    assert!(x.write(&values).is_err());
    assert!(matches!(qd::distinct(&x), Err(Error::NotDistinct { .. })));
    Ok(())
}
