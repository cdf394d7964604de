//! The current stream of a thread: scopes nest, every exit restores the outer stream, and threads are independent.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Barrier,
    thread,
};

use quadrants::{Error, Result, Stream, Tensor};
use quadrants_driver_sim::{Code, Schedule};
use quadrants_tests::{
    On,
    TestBackend::{self, Cuda},
    on_all_backends, on_gpu_backends,
};

use crate::common::{set, three_blocks};

const N: usize = 64;
const THREADS: usize = 8;

/// The streams of all launches of `set` so far.
fn launched_on(on: &On) -> Vec<u64> {
    let world = on.world.as_ref().expect("simulated");
    world.trace().launches("set_0").map(|launch| launch.stream).collect()
}

#[on_gpu_backends]
fn stream_scopes_nest_and_restore_the_outer_stream_on_every_exit(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let streams: [Stream; 3] = [(); 3].map(|()| program.create_stream().expect("a stream"));
    let [s1, s2, s3] = &streams;
    let (launch, alloc) = match backend {
        Cuda => ("cuLaunchKernel", "cuMemAllocAsync"),
        _ => ("hipModuleLaunchKernel", "hipMallocAsync"),
    };
    // A tensor of its own for each launch: there is nothing to order.
    let go = || -> Result<()> { set(1.0, &mut program.zeros::<f32, 1>([N])?).launch() };
    go()?;
    s1.scope(|| -> Result<()> {
        go()?;
        s2.scope(|| -> Result<()> {
            // A launch that the driver refuses, in a scope of its own that its error leaves.
            let refused = s3.scope(|| -> Result<()> {
                let mut x = program.zeros::<f32, 1>([N])?;
                world.fail(launch, 1, Code::OUT_OF_MEMORY);
                set(1.0, &mut x).launch()?;
                unreachable!("it was refused")
            });
            assert!(matches!(refused, Err(Error::Launch { .. })), "{refused:?}");
            go()?;
            // An allocation that fails before anything is launched.
            (1..=3).for_each(|nth| world.fail(alloc, nth, Code::OUT_OF_MEMORY));
            // A size that no memory of dropped tensors has.
            assert!(s3.scope(|| program.zeros::<f32, 1>([8 * N])).is_err());
            go()?;
            // A region that fails half-way.
            let refused = s3.scope(|| -> Result<()> {
                let [mut a, mut b, mut c] =
                    [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
                world.fail(launch, 3, Code::OUT_OF_MEMORY);
                three_blocks(&mut a, &mut b, &mut c).launch()
            });
            assert!(matches!(refused, Err(Error::Launch { started: true, .. })), "{refused:?}");
            go()?;
            // A panic through two scopes.
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                s3.scope(|| {
                    s1.scope(|| {
                        go().expect("a launch");
                        resume_unwind(Box::new(()))
                    })
                })
            }));
            assert!(unwound.is_err());
            go()
        })?;
        go()
    })?;
    go()?;
    let [h1, h2, _] = streams.each_ref().map(|stream| stream.handle().raw());
    assert_eq!(launched_on(&on), [0, h1, h2, h2, h2, h1, h2, h1, 0]);
    Ok(())
}

#[on_gpu_backends]
fn the_current_stream_is_per_thread(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let program = &on.program;
    let (ready, own) = (Barrier::new(THREADS), program.create_stream()?);
    let handles = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| -> Result<(u64, u64)> {
                    let stream = program.create_stream()?;
                    let outer = program.create_stream()?;
                    let mut tensors: Vec<Tensor<f32, 1>> =
                        (0..2).map(|_| program.zeros([N])).collect::<Result<_>>()?;
                    ready.wait();
                    for _ in 0..100 {
                        outer.scope(|| -> Result<()> {
                            set(1.0, &mut tensors[0]).launch()?;
                            stream.scope(|| set(2.0, &mut tensors[1]).launch())?;
                            set(3.0, &mut tensors[0]).launch()
                        })?;
                    }
                    assert_eq!(tensors[0].to_vec()?, [3.0; N]);
                    assert_eq!(tensors[1].to_vec()?, [2.0; N]);
                    Ok((outer.handle().raw(), stream.handle().raw()))
                })
            })
            .collect();
        // The thread that waits for them is in a scope of its own all the while.
        own.scope(|| -> Result<Vec<(u64, u64)>> {
            let mut mine = program.zeros::<f32, 1>([N])?;
            for _ in 0..100 {
                set(4.0, &mut mine).launch()?;
            }
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        })
    })?;
    let launches = launched_on(&on);
    let on_stream = |handle| launches.iter().filter(|stream| **stream == handle).count();
    assert_eq!(launches.len(), 100 + THREADS * 300);
    assert_eq!(on_stream(own.handle().raw()), 100);
    assert_eq!(on_stream(0), 0, "none went to the default stream");
    // A stream that is gone leaves its handle to a later one.
    let total: usize = {
        let mut all: Vec<u64> =
            handles.iter().flat_map(|(outer, stream)| [*outer, *stream]).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(on_stream).sum()
    };
    assert_eq!(total, THREADS * 300);
    Ok(())
}

#[on_all_backends]
fn a_stream_runs_the_work_of_two_threads_in_submission_order(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let stream = program.create_stream()?;
    let rounds = if on.world.is_some() { 300 } else { 20 };
    for seed in 0..rounds {
        if let Some(world) = &on.world {
            world.set_schedule(Schedule::Random);
            world.set_seed(seed);
        }
        thread::scope(|scope| -> Result<()> {
            let threads: Vec<_> = (0..2)
                .map(|thread| {
                    let stream = &stream;
                    scope.spawn(move || -> Result<()> {
                        let [mut a, mut b, mut c] =
                            [(); 3].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
                        stream.scope(|| -> Result<()> {
                            set(thread as f32, &mut a).launch()?;
                            three_blocks(&mut a, &mut b, &mut c).launch()?;
                            set(5.0, &mut b).launch()?;
                            three_blocks(&mut a, &mut b, &mut c).launch()
                        })?;
                        let a = a.to_vec()?;
                        assert_eq!(
                            a,
                            [((thread as f32 + 1.0) * 2.0 + 1.0) * 2.0; N],
                            "seed {seed}"
                        );
                        assert_eq!(b.to_vec()?, [8.0; N], "seed {seed}");
                        assert_eq!(c.to_vec()?, [10.0; N], "seed {seed}");
                        Ok(())
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
    }
    stream.destroy()?;
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}
