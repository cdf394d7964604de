//! `stream_parallel` regions: forked and joined by events, without any other order.

use quadrants::{
    self as qd, Backend as _, Hazards, Program, Stream, Tensor,
    rhi::{StreamHandle, StreamOptions},
};
use quadrants_driver_sim::{OpKind, Schedule};
use quadrants_tests::{
    TestBackend::{self, Cpu, Cuda},
    on_all_backends, on_gpu_backends,
};

use crate::common::{copy, set, three_blocks};

const N: usize = 40;

/// The stream that a test launches on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum On {
    Default,
    Explicit,
    Foreign,
}

#[qd::kernel]
fn one_block(a: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] += 1.0;
        }
        for i in 0..a.len() {
            a[i] *= 3.0;
        }
    });
}

#[qd::kernel]
fn bounded(
    counts: &Tensor<usize, 1>,
    a: &mut Tensor<f32, 1>,
    b: &mut Tensor<f32, 1>,
    c: &mut Tensor<f32, 1>,
) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] += 1.0;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..counts[0] {
            b[i] += 2.0;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..counts[1] {
            c[i] += 3.0;
        }
    });
}

#[on_all_backends]
fn a_region_is_ordered_with_earlier_and_later_work_of_its_stream(
    backend: TestBackend,
    #[values(On::Default, On::Explicit, On::Foreign)] place: On,
    #[values(false, true)] graphs: bool,
    // Launches go another way where nobody looks for hazards.
    #[values(Hazards::Explicit, Hazards::Report)] hazards: Hazards,
) -> quadrants::Result<()> {
    let (world, opened) = match backend {
        Cpu if place == On::Foreign => return Ok(()),
        Cpu if backend.open().is_none() => return Ok(()),
        Cpu => (None, backend.arch().open()?),
        _ => match backend.open_device() {
            Some(device) => device,
            None => return Ok(()),
        },
    };
    let foreign = match place {
        On::Foreign => Some(opened.device.create_stream(StreamOptions::default())?),
        _ => None,
    };
    {
        let program = Program::builder().graphs(graphs).hazards(hazards).open(opened.clone())?;
        let stream = match foreign {
            // SAFETY: made above, and destroyed behind the program.
            Some(handle) => unsafe { Stream::from_raw(&program, handle)? },
            None => program.create_stream()?,
        };
        let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).unwrap());
        let mut out = [(); 3].map(|()| program.zeros::<f32, 1>([N]).unwrap());
        for seed in 0..if world.is_some() { 1000 } else { 10 } {
            if let Some(world) = &world {
                world.set_schedule(Schedule::Random);
                world.set_seed(seed);
            }
            let mut all = || -> quadrants::Result<()> {
                set(1.0, &mut a).launch()?;
                set(10.0, &mut b).launch()?;
                set(20.0, &mut c).launch()?;
                // Region after region, one of them of a single block, with kernels around them.
                three_blocks(&mut a, &mut b, &mut c).launch()?;
                three_blocks(&mut a, &mut b, &mut c).launch()?;
                one_block(&mut a).launch()?;
                copy(&a, &mut out[0]).launch()?;
                copy(&b, &mut out[1]).launch()?;
                copy(&c, &mut out[2]).launch()?;
                three_blocks(&mut a, &mut b, &mut c).launch()
            };
            match place {
                On::Default => all()?,
                On::Explicit | On::Foreign => stream.scope(&mut all)?,
            }
            // First, while the region is under way.
            assert_eq!(b.to_vec()?, [19.0; N], "seed {seed}");
            assert_eq!(c.to_vec()?, [35.0; N], "seed {seed}");
            assert_eq!(out[0].to_vec()?, [33.0; N], "seed {seed}");
            assert_eq!(out[1].to_vec()?, [16.0; N], "seed {seed}");
            assert_eq!(out[2].to_vec()?, [30.0; N], "seed {seed}");
        }
    }
    if let Some(handle) = foreign {
        assert_ne!(handle, StreamHandle::DEFAULT);
        // SAFETY: nobody uses it any more.
        unsafe { opened.device.destroy_stream(handle)? };
    }
    Ok(())
}

#[on_gpu_backends]
fn region_blocks_are_ordered_only_by_fork_and_join(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).unwrap());
    set(1.0, &mut a).launch()?;
    three_blocks(&mut a, &mut b, &mut c).launch()?;
    set(2.0, &mut b).launch()?;

    let trace = world.trace();
    let one = |name: &str| trace.launches(name).next().expect("launched").op;
    // Tasks 0 and 1 are the two loops of the first block, 2 and 3 the other blocks.
    let task: Vec<_> = (0..4).map(|t| one(&format!("three_blocks_{t}"))).collect();
    let around: Vec<_> = trace.launches("set_0").map(|r| r.op).collect();
    for (x, y) in [(0, 2), (1, 2), (0, 3), (1, 3), (2, 3)] {
        assert!(trace.unordered(task[x], task[y]), "tasks {x} and {y} are ordered");
    }
    assert!(trace.device_path(task[0], task[1]), "loops of a block run in order");
    for task in &task {
        assert!(trace.device_path(around[0], *task), "the fork");
        assert!(trace.device_path(*task, around[1]), "the join");
    }
    assert!(!trace.records().iter().any(|r| r.kind == OpKind::HostWait && r.op > around[0]));
    Ok(())
}

/// The task that computes a loop's bound stood outside of its block: then the other blocks were ordered around it.
#[on_gpu_backends]
fn a_helper_task_runs_in_the_region_block_of_its_loop(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).unwrap());
    let counts = program.tensor_from(&[N / 2, N], [2])?;
    bounded(&counts, &mut a, &mut b, &mut c).launch()?;
    let trace = world.trace();
    // Tasks 1 and 3 compute the bounds of loops 2 and 4.
    let task: Vec<_> = (0..5)
        .map(|t| trace.launches(&format!("bounded_{t}")).next().expect("launched").op)
        .collect();
    for (x, y) in [(0, 1), (0, 2), (0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4)] {
        assert!(trace.unordered(task[x], task[y]), "tasks {x} and {y} are ordered");
    }
    for (helper, served) in [(1, 2), (3, 4)] {
        assert!(trace.device_path(task[helper], task[served]), "the bound of task {served}");
    }
    assert_eq!(a.to_vec()?, [1.0; N]);
    assert_eq!(b.to_vec()?, [[2.0; N / 2], [0.0; N / 2]].concat());
    assert_eq!(c.to_vec()?, [3.0; N]);
    Ok(())
}

#[on_gpu_backends]
fn a_region_with_one_nonempty_block_does_not_fork(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let mut a = program.zeros::<f32, 1>([N])?;
    let [mut b, mut c] = [(); 2].map(|()| program.zeros::<f32, 1>([0]).unwrap());
    three_blocks(&mut a, &mut b, &mut c).launch()?;
    assert_eq!(a.to_vec()?, [2.0; N]);
    assert!(b.to_vec()?.is_empty());
    assert_eq!(world.trace().launches("three_blocks_2").count(), 0);
    Ok(())
}

#[on_gpu_backends]
fn a_failed_region_leaks_nothing_and_the_next_region_works(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let (launch, code) = match backend {
        Cuda => ("cuLaunchKernel", quadrants_driver_sim::Code::OUT_OF_MEMORY),
        _ => ("hipModuleLaunchKernel", quadrants_driver_sim::Code::OUT_OF_MEMORY),
    };
    let builder = quadrants::Program::builder().graphs(false);
    let Some(on) = backend.open_simulated_with(builder) else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let [mut a, mut b, mut c] = [(); 3].map(|()| program.zeros::<f32, 1>([N]).unwrap());
    three_blocks(&mut a, &mut b, &mut c).launch()?;
    for nth in 1..=4 {
        world.fail(launch, nth, code);
        let failed = three_blocks(&mut a, &mut b, &mut c).launch();
        let Err(quadrants::Error::Launch { started, .. }) = failed else {
            panic!("call {nth}: {failed:?}");
        };
        assert_eq!(started, nth > 1);
        assert_eq!(world.armed_faults(), 0);
        program.device_sync()?;
        for tensor in [&mut a, &mut b, &mut c] {
            tensor.fill(1.0)?;
        }
        three_blocks(&mut a, &mut b, &mut c).launch()?;
        assert_eq!(a.to_vec()?, [4.0; N], "after a failure at call {nth}");
        assert_eq!(b.to_vec()?, [4.0; N]);
        assert_eq!(c.to_vec()?, [6.0; N]);
        assert!(program.take_deferred_errors().is_empty());
    }
    assert_eq!(world.reports(), []);
    Ok(())
}

/// Each of the driver's calls made the context current for itself.
#[on_gpu_backends]
fn a_launch_makes_its_context_current_once(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    // HIP's device 0 is current from the start.
    let (call, once) = match backend {
        Cuda => ("cuCtxPushCurrent_v2", 1..2),
        _ => ("hipSetDevice", 0..2),
    };
    let count = |what: &str, body: &mut dyn FnMut() -> quadrants::Result<()>| {
        let before = world.calls(call);
        body()?;
        let calls = world.calls(call) - before;
        assert!(once.contains(&calls), "{what}: {calls} calls of {call}");
        quadrants::Result::Ok(())
    };
    let stream = on.program.create_stream()?;
    let [mut a, mut b, mut c] = [(); 3].map(|()| on.program.zeros::<f32, 1>([N]).expect("memory"));
    three_blocks(&mut a, &mut b, &mut c).launch_on(&stream)?;
    count("a region", &mut || three_blocks(&mut a, &mut b, &mut c).launch_on(&stream))?;
    count("a read", &mut || a.to_vec().map(drop))?;
    count("a write that waits", &mut || b.slice_mut(1..N)?.fill(2.0))?;
    // The drop of a tensor in use records an event.
    three_blocks(&mut a, &mut b, &mut c).launch_on(&stream)?;
    let mut dropped = Some(c);
    count("a drop", &mut || {
        dropped = None;
        Ok(())
    })
}

#[on_gpu_backends]
fn a_repeated_region_makes_as_many_driver_calls_as_a_manual_fork_and_join(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let builder = Program::builder().graphs(false).argument_limit(4096);
    let Some(on) = backend.open_simulated_with(builder) else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let (program, stream) = (&on.program, on.program.create_stream()?);
    let mut tensors = [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    let [a, b, c] = &mut tensors;
    three_blocks(a, b, c).launch_on(&stream)?;
    let before = world.call_log().len();
    three_blocks(a, b, c).launch_on(&stream)?;
    let log = world.call_log().split_off(before);
    let (record, wait, launch) = match backend {
        Cuda => ("cuEventRecord", "cuStreamWaitEvent", "cuLaunchKernel"),
        _ => ("hipEventRecord", "hipStreamWaitEvent", "hipModuleLaunchKernel"),
    };
    let of_context = |call: &&str| call.contains("Ctx") || call.contains("Device");
    let (context, calls): (Vec<_>, Vec<_>) = log.into_iter().partition(of_context);
    // The first block has two loops.
    let fork = [record, wait, wait];
    let by_hand = [&fork[..], &[launch; 4], &[record, wait], &[record, wait]].concat();
    assert_eq!(calls, by_hand);
    // And the calls that restore a foreign context: the current one is queried at most once.
    let asked = if backend == Cuda { "cuCtxGetCurrent" } else { "hipSetDevice" };
    assert!(context.iter().filter(|call| **call == asked).count() <= 1, "{context:?}");
    assert!(context.len() <= 2, "{context:?}");
    Ok(())
}
