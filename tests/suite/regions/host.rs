//! Host-side regions: blocks of launches, copies and foreign operations.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quadrants::{self as qd, Error, Hazards, KernelErrorCause, Program, Result, Tensor};
use quadrants_driver_sim::{OpKind, Schedule, World};
use quadrants_tests::{
    On,
    TestBackend::{self, Cuda},
    on_all_backends, on_gpu_backends,
};

use crate::common::{copy, on_seeds, saxpy, set};

const N: usize = 40;

#[qd::kernel]
fn gather(offset: usize, from: &Tensor<f32, 1>, to: &mut Tensor<f32, 1>) {
    for i in 0..to.len() {
        to[i] = from[i + offset];
    }
}

fn tensors<const K: usize>(program: &Program) -> [Tensor<f32, 1>; K] {
    [(); K].map(|()| program.zeros([N]).expect("memory"))
}

#[on_all_backends]
fn a_region_comes_after_earlier_work_and_before_later_work(
    backend: TestBackend,
    #[values(false, true)] explicit: bool,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let made = prog.create_stream()?;
    let stream = if explicit { &made } else { prog.default_stream() };
    on_seeds(on.world.as_ref(), 200, |seed| {
        let value = seed as f32;
        let [mut x, mut a, mut b, mut c, mut sum] = tensors(prog);
        stream.scope(|| {
            set(value, &mut x).launch()?;
            let told = prog.stream_parallel(|p| {
                p.block(|| {
                    copy(&x, &mut a).launch()?;
                    saxpy(1.0, &x, &mut a).launch()
                })?;
                p.block(|| b.copy_from(&x))?;
                p.block(|| {
                    for _ in 0..3 {
                        saxpy(1.0, &x, &mut c).launch()?;
                    }
                    Ok("done")
                })
            })?;
            assert_eq!(told, "done");
            for part in [&a, &b, &c] {
                saxpy(1.0, part, &mut sum).launch()?;
            }
            set(-1.0, &mut x).launch()
        })?;
        assert_eq!(sum.to_vec()?, [6.0 * value; N]);
        assert_eq!((a.get([0])?, b.get([1])?, c.get([2])?), (2.0 * value, value, 3.0 * value));
        Ok(())
    })?;
    assert!(prog.take_hazards().is_empty(), "the fork and the join are known");
    Ok(())
}

/// The launches of each block, on the trace.
fn of_blocks(world: &World, blocks: usize) -> Vec<Vec<u64>> {
    let trace = world.trace();
    let launched: Vec<_> =
        trace.records().iter().filter(|r| matches!(r.kind, OpKind::Launch(_))).collect();
    let per_block = launched.len() / blocks;
    launched.chunks(per_block).map(|block| block.iter().map(|r| r.op).collect()).collect()
}

#[on_gpu_backends]
fn nothing_but_fork_and_join_orders_the_blocks(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let (prog, world) = (&on.program, on.world.as_ref().expect("simulated"));
    world.set_schedule(Schedule::Lazy);
    let [mut a, mut b, mut c] = tensors(prog);
    prog.device_sync()?;
    prog.stream_parallel(|p| {
        for x in [&mut a, &mut b, &mut c] {
            p.block(|| {
                set(1.0, x).launch()?;
                set(2.0, x).launch()
            })?;
        }
        Ok(())
    })?;
    assert!(world.live().pending >= 6, "the host does not wait");
    let blocks = of_blocks(world, 3);
    let trace = world.trace();
    for (at, block) in blocks.iter().enumerate() {
        assert!(trace.device_path(block[0], block[1]), "in order within the block");
        for other in blocks.iter().skip(at + 1).flatten() {
            assert!(block.iter().all(|op| trace.unordered(*op, *other)), "concurrent");
        }
    }
    set(3.0, &mut a).launch()?;
    let after = world.trace().launches("set_0").last().expect("launched").op;
    let trace = world.trace();
    assert!(blocks.iter().flatten().all(|op| trace.device_path(*op, after)), "the join");
    Ok(())
}

/// Fork and join of a repeated region make the driver calls of a kernel's region, and create nothing.
#[on_gpu_backends]
fn a_repeated_region_costs_what_a_kernels_region_costs(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Explicit);
    let Some(on) = backend.open_simulated_with(builder) else { return Ok(()) };
    let (prog, world) = (&on.program, on.world.as_ref().expect("simulated"));
    let [mut a, mut b, mut c] = tensors(prog);
    let mut region = || {
        prog.stream_parallel(|p| {
            p.block(|| set(1.0, &mut a).launch())?;
            p.block(|| set(1.0, &mut b).launch())?;
            p.block(|| set(1.0, &mut c).launch())
        })
    };
    region()?;
    region()?;
    let name = |cuda, hip| if backend == Cuda { cuda } else { hip };
    let calls = || {
        let names = [
            name("cuEventRecord", "hipEventRecord"),
            name("cuStreamWaitEvent", "hipStreamWaitEvent"),
            name("cuLaunchKernel", "hipModuleLaunchKernel"),
            name("cuStreamSynchronize", "hipStreamSynchronize"),
            name("cuEventSynchronize", "hipEventSynchronize"),
        ];
        names.map(|name| world.calls(name))
    };
    let (before, created) = (calls(), world.creates());
    region()?;
    let made: Vec<_> = calls().iter().zip(before).map(|(after, before)| after - before).collect();
    assert_eq!(made, [3, 4, 3, 0, 0], "records, waits, launches, host waits");
    assert_eq!(world.creates(), created);
    Ok(())
}

#[on_all_backends]
fn blocks_that_conflict_are_refused_under_every_policy(
    backend: TestBackend,
    #[values(Hazards::Explicit, Hazards::Report, Hazards::Check, Hazards::Auto)] hazards: Hazards,
    #[values(false, true)] captured: bool,
) -> Result<()> {
    let Some(on) = backend.open_with(Program::builder().hazards(hazards)) else { return Ok(()) };
    let prog = &on.program;
    let [mut a, mut b, c] = tensors(prog);
    // The work that a refused operation was not.
    let launched = |on: &On| on.world.as_ref().map(|world| world.trace().launches("set_0").count());
    let run = |body: &mut dyn FnMut(&mut qd::Region<'_>) -> Result<()>| {
        let mut region = || prog.stream_parallel(|p| body(p));
        if captured { prog.capture(region).map(drop) } else { region() }
    };
    let conflict = |result: Result<()>, later: &str, earlier: &str| {
        let Err(Error::RegionConflict(hazard)) = result else { panic!("{result:?}") };
        assert_eq!((&*hazard.later.kernel, &*hazard.earlier.kernel), (later, earlier));
        let text = Error::RegionConflict(hazard).to_string();
        assert!(text.contains("host.rs") && text.contains("one block"), "{text}");
    };
    // Write after write, in a worker's block and in the first.
    let refused = run(&mut |p| {
        p.block(|| set(1.0, &mut a).launch())?;
        p.block(|| set(2.0, &mut b).launch())?;
        let before = launched(&on);
        let refused = p.block(|| set(3.0, &mut a).launch());
        assert_eq!(launched(&on), before, "nothing of it was submitted");
        refused
    });
    conflict(refused, "set", "set");
    // Write after read, and a copy.
    let refused = run(&mut |p| {
        p.block(|| copy(&a, &mut b).launch())?;
        p.block(|| a.copy_from(&c))
    });
    conflict(refused, "Tensor::copy_from", "copy");
    // Read after write, by a foreign operation, which cannot be captured.
    if !captured {
        let refused = run(&mut |p| {
            p.block(|| set(1.0, &mut a).launch())?;
            p.block(|| {
                let refuse = |_: &qd::ForeignCall<'_>| panic!("called");
                prog.foreign_on_current("look", qd::reads![&a], qd::writes![], refuse)
            })
        });
        conflict(refused, "look", "set");
    }
    // Outside of the blocks.
    let refused = run(&mut |p| {
        p.block(|| set(1.0, &mut a).launch())?;
        set(2.0, &mut a).launch()
    });
    conflict(refused, "set", "set");
    // An error can be handled, and the other blocks go on.
    let mut refusals = 0;
    run(&mut |p| {
        p.block(|| set(5.0, &mut a).launch())?;
        refusals += usize::from(p.block(|| set(6.0, &mut a).launch()).is_err());
        p.block(|| set(7.0, &mut b).launch())
    })?;
    assert_eq!(refusals, 1);
    // What does not conflict: reads of the same tensor, disjoint slices, the same tensor in one block.
    run(&mut |p| {
        p.block(|| set(1.0, &mut *a.slice_mut(..10)?).launch())?;
        p.block(|| set(2.0, &mut *a.slice_mut(10..)?).launch())?;
        p.block(|| {
            copy(&c, &mut b).launch()?;
            saxpy(1.0, &c, &mut b).launch()
        })
    })?;
    if !captured {
        assert_eq!(a.to_vec()?, [[1.0; 10].to_vec(), [2.0; 30].to_vec()].concat());
        assert_eq!(b.to_vec()?, [0.0; N]);
    }
    // After the region, everything is as before.
    set(9.0, &mut a).launch()?;
    assert_eq!(a.to_vec()?, [9.0; N]);
    assert!(prog.take_hazards().is_empty());
    assert_eq!(prog.inserted_waits(), 0);
    Ok(())
}

#[on_all_backends]
fn errors_of_blocks_are_returned_by_later_waits(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let stream = prog.create_stream()?;
    let [x, mut a, mut b, mut c] = tensors(prog);
    let mut region = |a: &mut Tensor<f32, 1>| {
        let run = || {
            prog.stream_parallel(|p| {
                p.block(|| set(1.0, &mut c).launch())?;
                p.block(|| gather(3, &x, a).launch())?;
                p.block(|| set(1.0, &mut b).launch())
            })
        };
        stream.scope(run)
    };
    let is_index_error = |result: Result<()>| {
        let Err(Error::Kernel(error)) = &result else { panic!("{result:?}") };
        assert!(
            matches!(error.cause, KernelErrorCause::IndexOutOfRange { .. })
                && error.kernel == "gather"
        );
    };
    if backend == TestBackend::Cpu {
        // There a launch returns its own errors.
        is_index_error(region(&mut a));
        return Ok(());
    }
    region(&mut a)?;
    is_index_error(stream.synchronize());
    stream.synchronize()?;
    region(&mut a)?;
    is_index_error(a.to_vec().map(drop));
    region(&mut a)?;
    is_index_error(prog.device_sync());
    // The error of an earlier region is returned by a launch on the same worker, not lost.
    region(&mut a)?;
    prog.default_stream().synchronize()?;
    is_index_error(loop {
        match region(&mut a) {
            Ok(()) => {}
            error => break error,
        }
    });
    let _ = stream.synchronize();
    region(&mut a)?;
    drop(stream);
    assert_eq!(prog.take_deferred_errors().len(), 1);
    Ok(())
}

#[on_all_backends]
fn a_region_that_fails_or_panics_is_joined(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    on_seeds(on.world.as_ref(), 200, |seed| {
        let value = seed as f32;
        let [mut a, mut b, mut sum] = tensors(prog);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            prog.stream_parallel(|p| {
                p.block(|| set(value, &mut a).launch())?;
                p.block(|| -> Result<()> {
                    set(value, &mut b).launch()?;
                    panic!("in a block")
                })
            })
        }));
        assert!(panicked.is_err());
        saxpy(1.0, &a, &mut sum).launch()?;
        saxpy(1.0, &b, &mut sum).launch()?;
        let failed = prog.stream_parallel(|p| {
            p.block(|| set(1.0, &mut a).launch())?;
            p.block(|| {
                set(1.0, &mut b).launch()?;
                b.reshape([3]).map(drop)
            })
        });
        assert!(matches!(failed, Err(Error::Shape { .. })), "{failed:?}");
        saxpy(1.0, &b, &mut sum).launch()?;
        assert_eq!(sum.to_vec()?, [2.0 * value + 1.0; N]);
        Ok(())
    })?;
    assert!(prog.take_hazards().is_empty());
    Ok(())
}

#[on_all_backends]
fn regions_may_have_many_blocks_and_be_nested(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    on_seeds(on.world.as_ref(), 200, |seed| {
        let value = seed as f32;
        let mut all: Vec<_> = (0..70).map(|_| prog.zeros::<f32, 1>([N])).collect::<Result<_>>()?;
        prog.stream_parallel(|p| {
            for (at, x) in all.iter_mut().enumerate() {
                p.block(|| set(value + at as f32, x).launch())?;
            }
            Ok(())
        })?;
        let [mut a, mut b, mut c, mut d] = tensors(prog);
        prog.stream_parallel(|p| {
            p.block(|| set(1.0, &mut a).launch())?;
            p.block(|| {
                set(2.0, &mut b).launch()?;
                prog.stream_parallel(|p| {
                    p.block(|| saxpy(value, &b, &mut c).launch())?;
                    p.block(|| saxpy(1.0, &b, &mut d).launch())?;
                    // The outer region knows what the inner one does.
                    let refused = p.block(|| a.copy_from(&b));
                    assert!(matches!(refused, Err(Error::RegionConflict(_))), "{refused:?}");
                    Ok(())
                })?;
                saxpy(1.0, &c, &mut d).launch()
            })
        })?;
        assert_eq!((a.get([0])?, d.get([9])?), (1.0, 2.0 + 2.0 * value));
        for (at, x) in all.iter().enumerate().step_by(7) {
            assert_eq!(x.get([1])?, value + at as f32);
        }
        Ok(())
    })?;
    // Memory of tensors that are made and dropped in blocks.
    on_seeds(on.world.as_ref(), 200, |seed| {
        let value = seed as f32;
        let mut out = prog.zeros::<f32, 2>([4, N])?;
        let mut rows = Vec::new();
        let (first, rest) = out.split_at_mut(2)?;
        rows.extend([first, rest]);
        prog.stream_parallel(|p| {
            for row in &mut rows {
                p.block(|| {
                    let mut temporary = prog.zeros::<f32, 1>([2 * N])?;
                    set(value, &mut temporary).launch()?;
                    row.flat_mut()?.copy_from(&temporary)
                })?;
            }
            Ok(())
        })?;
        drop(rows);
        assert_eq!(out.to_vec()?, [value; 4 * N]);
        Ok(())
    })
}

#[on_all_backends]
fn a_region_is_captured_with_its_fork_and_join(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let [mut x, mut a, mut b, mut sum] = tensors(prog);
    let mut graph = prog.capture(|| {
        saxpy(1.0, &sum, &mut x).launch()?;
        prog.stream_parallel(|p| {
            p.block(|| copy(&x, &mut a).launch())?;
            p.block(|| {
                b.copy_from(&x)?;
                saxpy(1.0, &x, &mut b).launch()
            })
        })?;
        set(1.0, &mut sum).launch()?;
        saxpy(1.0, &a, &mut sum).launch()?;
        saxpy(1.0, &b, &mut sum).launch()
    })?;
    assert_eq!(graph.len(), 7);
    let mut expected = (0.0_f32, 0.0_f32);
    on_seeds(on.world.as_ref(), 200, |_| {
        let (x_before, sum_before) = expected;
        let x_now = (x_before + sum_before) % 1e6;
        expected = (x_now, 1.0 + 3.0 * x_now);
        if expected.1 > 1e6 {
            expected = (0.0, 0.0);
            x.fill(0.0)?;
            return sum.fill(0.0);
        }
        graph.launch()?;
        assert_eq!((x.get([0])?, sum.get([N - 1])?), expected);
        Ok(())
    })?;
    // In a graph of the driver, the blocks have no order.
    if let Some(world) = on.world.as_ref().filter(|_| on.uses_graphs()) {
        graph.launch()?;
        let trace = world.trace();
        let node = |name: &str| trace.launches(name).last().expect("launched").op;
        let copied = trace.records().iter().rfind(|r| r.kind == OpKind::CopyDtod);
        assert!(trace.unordered(node("copy_0"), copied.expect("copied").op));
    }
    Ok(())
}

/// What runs on an explicit stream in a block is ordered by that only, and the program's policy sees it.
#[on_gpu_backends]
fn an_explicit_stream_in_a_block_is_not_part_of_the_region(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_with(Program::builder().hazards(Hazards::Check)) else {
        return Ok(());
    };
    let prog = &on.program;
    let other = prog.create_stream()?;
    let [mut a, mut b] = tensors(prog);
    prog.stream_parallel(|p| {
        p.block(|| set(1.0, &mut a).launch())?;
        p.block(|| set(1.0, &mut b).launch_on(&other))
    })?;
    let error = copy(&b, &mut a).launch().unwrap_err();
    assert!(matches!(error, Error::Hazard(_)), "{error}");
    Ok(())
}
