//! Writes by the host: after all launches that use the tensor and before all later ones, on any stream, and without a
//! host wait.

use quadrants::{self as qd, Hazards, Program, Result, Stream, Tensor};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use crate::common::{copy, on_seeds, set};

const N: usize = 40;
/// Elements that are too many for a deferred upload.
const LARGE: usize = 5000;

#[qd::kernel]
fn double(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = x[i] * 2 + 1;
    }
}

#[qd::kernel]
fn add(x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
    for i in 0..y.len() {
        y[i] += x[i];
    }
}

fn synchronizations(world: quadrants_driver_sim::World, backend: TestBackend) -> u64 {
    let calls = match backend {
        TestBackend::Cuda => ["cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"],
        _ => ["hipStreamSynchronize", "hipEventSynchronize", "hipDeviceSynchronize"],
    };
    calls.iter().map(|call| world.calls(call)).sum()
}

#[on_gpu_backends]
fn a_write_does_not_wait(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    // Work that nothing waits for does not run.
    world.set_schedule(Schedule::Lazy);
    let (s1, s2) = (on.program.create_stream()?, on.program.create_stream()?);
    for (n, other) in [(N, true), (LARGE, false)] {
        let mut x = on.program.zeros::<f32, 1>([n])?;
        let mut y = on.program.zeros::<f32, 1>([n])?;
        let large_on = if other { &s2 } else { &s1 };
        let before = synchronizations(world, backend);
        set(1.0, &mut x).launch_on(&s1)?;
        s1.scope(|| x.write(&vec![2.0; n]))?;
        copy(&x, &mut y).launch_on(large_on)?;
        large_on.scope(|| x.write(&vec![3.0; n]))?;
        set(4.0, &mut x).launch_on(large_on)?;
        large_on.scope(|| x.write(&vec![5.0; n]))?;
        assert_eq!(synchronizations(world, backend), before, "{n}");
        assert!(world.live().pending > 0, "{n}: nothing waited");
        assert_eq!((y.to_vec()?, x.to_vec()?), (vec![2.0; n], vec![5.0; n]));
    }
    Ok(())
}

#[on_gpu_backends]
fn writes_before_the_next_launch_are_one_copy(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    let copies = || world.calls("cuMemcpyHtoDAsync_v2") + world.calls("hipMemcpyHtoDAsync");
    let (mut x, mut y) =
        (on.program.zeros::<f32, 1>([N])?, on.program.tensor_from(&[1.0; N], [N])?);
    let before = copies();
    for value in 0..10 {
        x.write(&[value as f32; N])?;
    }
    assert_eq!(copies(), before);
    copy(&x, &mut y).launch()?;
    copy(&x, &mut y).launch()?;
    // The contents of `x`, and the first ones of `y`.
    assert_eq!(copies(), before + 2);
    assert_eq!(y.to_vec()?, [9.0; N]);
    Ok(())
}

/// Of a write that other code, a graph or a view could see, the host knows the end.
#[on_all_backends]
fn writes_of_slices_and_of_tensors_in_graphs_are_ordered_too(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let s = program.create_stream()?;
    let (mut x, mut y) = (program.zeros::<i32, 1>([N])?, program.zeros::<i32, 1>([N])?);
    let mut graph = program.capture(|| add(&x, &mut y).launch())?;
    on_seeds(on.world.as_ref(), 30, |seed| {
        let value = seed as i32;
        y.write(&[1; N])?;
        x.write(&[value; N])?;
        graph.launch()?;
        x.write(&[value + 1; N])?;
        add(&x, &mut y).launch_on(&s)?;
        y.slice_mut(1..3)?.write(&[-1, -2])?;
        x.slice_mut(0..1)?.write(&[7])?;
        add(&x, &mut y).launch_on(&s)?;
        let mut expected = [1 + value + 2 * (value + 1); N];
        expected[0] = 1 + value + (value + 1) + 7;
        (expected[1], expected[2]) = (value, value - 1);
        assert_eq!(y.to_vec()?, expected, "seed {seed}");
        Ok(())
    })
}

/// A generator of numbers below a bound (xorshift).
pub(super) fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    }
}

/// Random launches, writes, reads, drops and new tensors on three streams. A tensor changes streams only at a write, or
/// behind a host wait.
fn random_work(program: &Program, streams: &[Stream; 3], seed: u64) -> Result<()> {
    let mut next = numbers(seed);
    let sizes = [1, 7, N, LARGE];
    let mut tensors: Vec<(Tensor<i32, 1>, Vec<i32>, Option<usize>)> = Vec::new();
    for step in 0..60 {
        if tensors.len() < 3 {
            let n = sizes[next(4)];
            let on = &streams[next(3)];
            let made = on.scope(|| match step % 2 {
                0 => program.zeros([n]).map(|x| (x, vec![0; n], None)),
                _ => program.tensor_from(&vec![step; n], [n]).map(|x| (x, vec![step; n], None)),
            })?;
            tensors.push(made);
            continue;
        }
        let (at, stream) = (next(tensors.len()), next(3));
        let (x, expected, used_on) = &mut tensors[at];
        let n = expected.len();
        match next(8) {
            0..3 => {
                let stream = used_on.unwrap_or(stream);
                double(x).launch_on(&streams[stream])?;
                expected.iter_mut().for_each(|x| *x = x.wrapping_mul(2).wrapping_add(1));
                *used_on = Some(stream);
            }
            3 | 4 => {
                let values: Vec<i32> = (0..n as i32).map(|k| k * step).collect();
                streams[stream].scope(|| x.write(&values))?;
                *expected = values;
                *used_on = None;
            }
            5 => {
                let first = next(n);
                let part = vec![-step; n - first];
                x.slice_mut(first..n)?.write(&part)?;
                expected[first..].fill(-step);
            }
            6 => assert!(x.to_vec()? == *expected, "seed {seed}, step {step}"),
            _ => drop(tensors.swap_remove(at)),
        }
    }
    for (x, expected, _) in &tensors {
        assert!(x.to_vec()? == *expected, "seed {seed}");
    }
    Ok(())
}

#[on_all_backends]
fn random_writes_and_launches_on_several_streams_are_in_order(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Check);
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let streams = [(); 3].map(|()| on.program.create_stream().expect("a stream"));
    let schedules = [Schedule::Adversarial, Schedule::Lazy, Schedule::Random, Schedule::Random];
    for seed in 0..100 {
        if let Some(world) = &on.world {
            world.set_schedule(schedules[seed as usize % 4]);
            world.set_seed(seed);
        }
        random_work(&on.program, &streams, seed)?;
    }
    Ok(())
}
