//! Regressions: each test failed before a fix.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use quadrants::{self as qd, Error, Kernel, Program, Result, Tensor, builder::KernelBuilder};
use quadrants_driver_sim::{Code, Schedule};
use quadrants_tests::{
    TestBackend::{self, Cuda},
    on_all_backends, on_gpu_backends,
};

use crate::common::set;

const N: usize = 64;

#[qd::kernel]
fn below_one(value: f32, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        assert!(value < 1.0);
        out[i] = value;
    }
}

/// Memory that a stream still worked on was freed, and read before it was written.
#[on_gpu_backends]
fn work_of_a_stream_dropped_during_unwinding_is_waited_for(
    backend: TestBackend,
    #[values(None, Some(0))] argument_limit: Option<usize>,
    #[values(Schedule::Lazy, Schedule::Random)] schedule: Schedule,
) -> Result<()> {
    let (world, opened) = backend.simulated_device();
    let builder = match argument_limit {
        Some(limit) => Program::builder().argument_limit(limit),
        None => Program::builder(),
    };
    let program = builder.open(opened)?;
    world.set_schedule(schedule);
    for seed in 0..50 {
        world.set_seed(seed);
        let mut kept = program.zeros::<f32, 1>([N])?;
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let mut freed = program.zeros::<f32, 1>([N]).expect("memory");
            let stream = program.create_stream().expect("a stream");
            set(3.0, &mut freed).launch_on(&stream).expect("a launch");
            set(4.0, &mut kept).launch_on(&stream).expect("a launch");
            resume_unwind(Box::new(()));
        }));
        assert!(unwound.is_err());
        let next = program.zeros::<f32, 1>([N])?;
        assert_eq!(kept.to_vec()?, [4.0; N], "seed {seed}");
        program.device_sync()?;
        assert_eq!(next.to_vec()?, [0.0; N], "seed {seed}");
        assert_eq!(world.reports(), [], "seed {seed}");
    }
    drop(program);
    assert_eq!(world.reports(), []);
    let live = world.live();
    assert_eq!((live.streams, live.events, live.blocks, live.pinned), (0, 0, 0, 0));
    Ok(())
}

/// A wait between a launch's stamp and its work showed the work complete: the read came too early.
#[on_gpu_backends]
fn a_concurrent_wait_does_not_complete_a_launch_in_progress(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    on.world.as_ref().expect("simulated").set_schedule(Schedule::Lazy);
    let stream = on.program.create_stream()?;
    let mut x = on.program.zeros::<f32, 1>([N])?;
    let over = AtomicBool::new(false);
    let wrong = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(SeqCst) {
                stream.synchronize().expect("no errors");
            }
        });
        let mut count = || -> Result<usize> {
            let mut wrong = 0;
            for value in 1..1000 {
                set(value as f32, &mut x).launch_on(&stream)?;
                wrong += usize::from(x.to_vec()? != [value as f32; N]);
            }
            Ok(wrong)
        };
        let wrong = count();
        over.store(true, SeqCst);
        wrong
    })?;
    assert_eq!(wrong, 0);
    Ok(())
}

/// Regression: threads that waited at the same time all got the same error.
#[on_gpu_backends]
fn an_error_is_reported_to_exactly_one_waiting_thread(backend: TestBackend) -> Result<()> {
    const THREADS: usize = 4;
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = on.program.zeros::<f32, 1>([N])?;
    let stream = on.program.create_stream()?;
    for round in 0..500 {
        below_one(2.0, &mut x).launch_on(&stream)?;
        let (reported, ready) = (AtomicUsize::new(0), Barrier::new(THREADS));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    ready.wait();
                    reported.fetch_add(usize::from(stream.synchronize().is_err()), SeqCst);
                });
            }
        });
        assert_eq!(reported.load(SeqCst), 1, "round {round}");
    }
    Ok(())
}

/// A tensor of 257 dimensions was taken for one of one, and its extents for the addresses that follow.
#[on_all_backends]
fn the_tensor_rank_is_not_truncated(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let b = KernelBuilder::new("clear");
    let x = b.param_tensor_mut("x", qd::ir::ScalarType::F32, 1);
    b.range_for(0u64, x.len(), |i| x.store(i, 0.0f32));
    let clear = Kernel::new(b.build().expect("a valid kernel"))?;
    let mut x = on.program.zeros::<f32, 257>([1; 257])?;
    let refused = clear.call::<()>().arg(&mut x).launch();
    assert!(matches!(refused, Err(Error::Argument { position: 1, .. })), "{refused:?}");
    Ok(())
}

/// Memory was freed on a stream that did not wait for the fill under way.
#[on_gpu_backends]
fn a_failed_first_fill_frees_the_memory_after_it(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    world.set_schedule(Schedule::Random);
    let (fill, record) = match backend {
        Cuda => ("cuMemsetD8Async", "cuEventRecord"),
        _ => ("hipMemsetD8Async", "hipEventRecord"),
    };
    for seed in 0..50 {
        world.set_seed(seed);
        world.fail(fill, 1, Code::OUT_OF_MEMORY);
        assert!(on.program.zeros::<f32, 1>([N])?.to_vec().is_err());
        // The copy is under way when the event after it fails. Smaller ones are enqueued with the first use.
        world.fail(record, 1, Code::OUT_OF_MEMORY);
        assert!(on.program.tensor_from(&[1.0f32; 5000], [5000]).is_err());
        on.program.device_sync()?;
        assert_eq!(world.reports(), [], "seed {seed}");
    }
    Ok(())
}

/// More blocks than a region has worker streams.
#[on_all_backends]
fn a_region_of_forty_blocks_runs(backend: TestBackend) -> Result<()> {
    const BLOCKS: usize = 40;
    let Some(on) = backend.open() else { return Ok(()) };
    let b = KernelBuilder::new("many");
    let tensors: Vec<_> = (0..BLOCKS)
        .map(|k| b.param_tensor_mut(&format!("t{k}"), qd::ir::ScalarType::F32, 1))
        .collect();
    for (k, x) in tensors.iter().enumerate() {
        b.stream_parallel(|| {
            b.range_for(0u64, x.len(), |i| x.store(i, x.load(i) + k as f32));
        });
    }
    let many = Kernel::new(b.build().expect("a valid kernel"))?;
    let stream = on.program.create_stream()?;
    for seed in 0..20 {
        if let Some(world) = &on.world {
            world.set_schedule(Schedule::Random);
            world.set_seed(seed);
        }
        let mut tensors = (0..BLOCKS)
            .map(|_| on.program.zeros::<f32, 1>([N]))
            .collect::<Result<Vec<Tensor<f32, 1>>>>()?;
        for _ in 0..2 {
            let call = many.call::<()>();
            tensors.iter_mut().fold(call, |call, x| call.arg(x)).launch_on(&stream)?;
        }
        for (k, x) in tensors.iter().enumerate() {
            assert_eq!(x.to_vec()?, [2.0 * k as f32; N], "seed {seed}");
        }
    }
    Ok(())
}
