//! Many threads use one program: launches, kernel registrations, and separate arguments.

use std::{sync::Barrier, thread};

use quadrants::{
    self as qd, Kernel, Program, Result, Tensor,
    builder::KernelBuilder,
    ir::ScalarType::{I32, U32},
};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{
    TestBackend::{self, Cpu},
    full_size, on_all_backends,
};

use crate::common::{copy, set, three_blocks};

const THREADS: usize = 8;
const N: usize = 200;
/// Elements of a tensor in tests with many kernels.
const FEW: usize = 8;
/// How many kernels are registered in one program, at full size and otherwise.
const KERNELS: [usize; 2] = [10_000, 2_000];

#[qd::kernel]
fn mix(a: f32, b: i32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) -> f32 {
    let first = x[0];
    for i in 0..y.len() {
        y[i] = a * x[i] + b as f32 + first;
    }
    y[y.len() - 1]
}

#[qd::kernel]
fn add(value: i32, sums: &mut Tensor<i32, 1>, count: &mut Tensor<u32, 1>) {
    for i in 0..sums.len() {
        sums[i] += value;
        qd::atomic_add(&mut count[0], 1);
    }
}

/// Runs `body` on 8 threads that start together.
fn together(body: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let ready = Barrier::new(THREADS);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (ready, body) = (&ready, &body);
                scope.spawn(move || {
                    ready.wait();
                    body(thread)
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}

#[on_all_backends]
fn one_kernel_with_different_arguments_from_many_threads(
    backend: TestBackend,
    #[values(false, true)] explicit: bool,
    #[values(None, Some(0))] argument_limit: Option<usize>,
) -> Result<()> {
    let builder = match argument_limit {
        Some(limit) => Program::builder().argument_limit(limit),
        None => Program::builder(),
    };
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    if let Some(world) = &on.world {
        world.set_schedule(Schedule::Random);
    }
    let program = &on.program;
    together(|thread| {
        let stream = explicit.then(|| program.create_stream()).transpose()?;
        let stream = stream.as_ref().unwrap_or(program.default_stream());
        let x = program.tensor_from(&[thread as f32; N], [N])?;
        let mut y = program.zeros::<f32, 1>([N])?;
        let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
        for round in 0..10 {
            let (scale, shift) = (round as f32 * 2.0, (thread * 100) as i32 - round);
            let expected = (scale + 1.0) * thread as f32 + shift as f32;
            assert_eq!(mix(scale, shift, &x, &mut y).launch_on(stream)?, expected);
            assert_eq!(y.to_vec()?, [expected; N], "thread {thread}, round {round}");
            stream.scope(|| three_blocks(&mut a, &mut b, &mut c).launch())?;
            set(expected, &mut b).launch_on(stream)?;
            copy(&b, &mut c).launch_on(stream)?;
        }
        assert_eq!(a.to_vec()?, [2046.0; N]);
        assert_eq!(c.to_vec()?, b.to_vec()?);
        Ok(())
    })?;
    program.device_sync()?;
    assert!(program.take_deferred_errors().is_empty());
    if let Some(world) = &on.world {
        assert_eq!(world.reports(), []);
    }
    Ok(())
}

#[on_all_backends]
fn kernels_register_from_many_threads_during_launches(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    // Real compilers need a tenth of a second per kernel.
    let each = if backend == Cpu || on.world.is_some() {
        KERNELS[usize::from(!full_size())] / THREADS
    } else {
        4
    };
    together(|thread| {
        let mut x = program.zeros::<i32, 1>([FEW])?;
        let mut count = program.zeros::<u32, 1>([1])?;
        let mut kernels = Vec::new();
        let mut expected = 0;
        for k in 0..each {
            let value = (thread * 10_000 + k) as i32;
            let b = KernelBuilder::new("made");
            let out = b.param_tensor_mut("out", I32, 1);
            let _ = b.param_tensor("unused", U32, 1);
            b.range_for(0u64, out.len(), |i| out.store(i, out.load(i) + value));
            kernels.push((value, Kernel::new(b.build().expect("a valid kernel"))?));
            // The new kernel, and sometimes an older one and one made by the macro.
            let again = (k % 16 == 0).then(|| &kernels[k / 2]);
            for (value, kernel) in again.into_iter().chain([&kernels[k]]) {
                kernel.call::<()>().arg(&mut x).arg(&count).launch()?;
                expected += value;
            }
            if again.is_some() {
                add(1, &mut x, &mut count).launch()?;
                expected += 1;
            }
        }
        assert_eq!(x.to_vec()?, [expected; FEW], "thread {thread}");
        assert_eq!(count.to_vec()?, [(each.div_ceil(16) * FEW) as u32]);
        Ok(())
    })?;
    program.device_sync()
}

#[on_all_backends]
fn many_threads_share_a_stream_and_a_read_only_tensor(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    if let Some(world) = &on.world {
        world.set_schedule(Schedule::Random);
    }
    let program = &on.program;
    let stream = program.create_stream()?;
    let shared = program.tensor_from(&[0.5f32; N], [N])?;
    together(|thread| {
        let mut y = program.zeros::<f32, 1>([N])?;
        let mut sums = program.zeros::<i32, 1>([N])?;
        let mut count = program.zeros::<u32, 1>([1])?;
        for round in 0..20 {
            let value = mix(2.0, thread as i32, &shared, &mut y).launch_on(&stream)?;
            assert_eq!(value, thread as f32 + 1.5, "round {round}");
            stream.scope(|| add(round, &mut sums, &mut count).launch())?;
        }
        assert_eq!(sums.to_vec()?, [190; N]);
        assert_eq!(count.to_vec()?, [20 * N as u32]);
        Ok(())
    })?;
    drop(shared);
    stream.destroy()?;
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

#[on_all_backends]
fn concurrent_launches_have_separate_argument_buffers(
    backend: TestBackend,
    #[values(0, 64, 4096)] argument_limit: usize,
) -> Result<()> {
    let builder = Program::builder().argument_limit(argument_limit);
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let program = &on.program;
    let streams = [program.create_stream()?, program.create_stream()?];
    let seeds = if on.world.is_some() { 200 } else { 8 };
    // Four tensors, two per stream, all launches in flight at once, and some on the default stream.
    let mut outs = [(); 5].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    for seed in 0..seeds {
        if let Some(world) = &on.world {
            world.set_schedule(Schedule::Random);
            world.set_seed(seed);
        }
        let value = |k: usize| (seed * 10) as f32 + k as f32;
        for (k, out) in outs.iter_mut().enumerate() {
            let stream = streams.get(k % 3).unwrap_or(program.default_stream());
            set(-1.0, out).launch_on(stream)?;
            set(value(k), out).launch_on(stream)?;
        }
        for (k, out) in outs.iter().enumerate() {
            assert_eq!(out.to_vec()?, [value(k); N], "seed {seed}");
        }
    }
    if let Some(world) = &on.world {
        assert_eq!(world.reports(), []);
    }
    Ok(())
}
