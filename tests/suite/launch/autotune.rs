//! Autotuning: trials compute the same bits, the host never waits for them, and a search ends with launches that cost
//! what others cost.

use quadrants::{self as qd, ProgramBuilder, Result, Tensor};
use quadrants_driver_sim::{Code, World};
use quadrants_tests::{TestBackend, on_gpu_backends};

/// More than the trials of any kernel here.
const LAUNCHES: usize = 100;

fn builder() -> ProgramBuilder {
    qd::Program::builder().autotune(true)
}

/// A loop of one dimension whose iterations are coarsened, one of two dimensions, a sum, and one whose author sets the
/// block size.
#[qd::kernel]
fn steps(
    x: &Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
    plane: &mut Tensor<f32, 2>,
    total: &mut Tensor<u32, 1>,
) {
    for i in 0..x.shape()[0] {
        y[i] += 0.1 * x[i];
    }
    for (i, j) in qd::ndrange(plane.shape()) {
        plane[[i, j]] = plane[[i, j]] * 0.9 + y[i] * 0.3;
    }
    for i in 0..x.shape()[0] {
        qd::atomic_add(&mut total[0], y[i].to_bits());
    }
    #[qd::block_size(64)]
    for i in 0..x.shape()[0] {
        y[i] += 1.0;
    }
}

#[qd::kernel]
fn scale(factor: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.shape()[0] {
        x[i] *= factor;
    }
}

fn event_records(world: World) -> u64 {
    world.calls("cuEventRecord") + world.calls("hipEventRecord")
}

fn waits(world: World) -> u64 {
    let calls = world.all_calls().into_iter();
    calls.filter(|(name, _)| name.contains("Synchronize")).map(|(_, count)| count).sum()
}

/// The number of driver calls that `work` makes.
fn calls_of(world: World, work: impl FnOnce() -> Result<()>) -> Result<u64> {
    let count = || world.all_calls().into_iter().map(|(_, count)| count).sum::<u64>();
    let before = count();
    work()?;
    Ok(count() - before)
}

/// Launches often, and returns the bits of the results after each launch.
fn bits(program: &qd::Program, n: usize) -> Result<Vec<Vec<u32>>> {
    let values: Vec<f32> = (0..n).map(|i| 1.0 / (1.0 + i as f32)).collect();
    let x = program.tensor_from(&values, [n])?;
    let mut y = program.zeros::<f32, 1>([n])?;
    let mut plane = program.zeros::<f32, 2>([n, 3])?;
    let mut all = Vec::new();
    for _ in 0..LAUNCHES {
        let mut total = program.zeros::<u32, 1>([1])?;
        steps(&x, &mut y, &mut plane, &mut total).launch()?;
        let floats = [y.to_vec()?, plane.to_vec()?].concat();
        all.push(floats.iter().map(|value| value.to_bits()).chain(total.to_vec()?).collect());
    }
    Ok(all)
}

#[on_gpu_backends]
fn trials_compute_the_same_bits_as_scheduled_launches(backend: TestBackend) -> Result<()> {
    const N: usize = 1500;
    let Some(on) = backend.open() else { return Ok(()) };
    let expected = bits(&on.program, N)?;
    drop(on);
    let Some(on) = backend.open_with(builder()) else { return Ok(()) };
    let tuned = bits(&on.program, N)?;
    for (launch, (tuned, expected)) in tuned.iter().zip(&expected).enumerate() {
        assert!(tuned == expected, "launch {launch}");
    }
    Ok(())
}

#[on_gpu_backends]
fn a_search_ends_and_then_launches_cost_what_others_cost(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated_with(builder()) else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    let mut x = on.program.zeros::<f32, 1>([5000])?;
    let mut launches_with_trials = 0;
    for _ in 0..LAUNCHES {
        let before = event_records(world);
        scale(1.0, &mut x).launch()?;
        launches_with_trials += usize::from(event_records(world) > before);
        on.program.default_stream().synchronize()?;
    }
    // Five block sizes; then the best one with three limits for the iterations per thread.
    assert_eq!(launches_with_trials, 5 * (5 + 3));
    let tuned = calls_of(world, || scale(1.0, &mut x).launch())?;
    let Some(other) = backend.open_simulated() else { return Ok(()) };
    let other_world = **other.world.as_ref().expect("simulated");
    let mut y = other.program.zeros::<f32, 1>([5000])?;
    scale(1.0, &mut y).launch()?;
    assert_eq!(tuned, calls_of(other_world, || scale(1.0, &mut y).launch())?);
    // Sizes of the same class need no further trials, those of others do.
    let mut long = on.program.zeros::<f32, 1>([10_000])?;
    scale(1.0, &mut long).launch()?;
    for (n, has_trials) in [(4500, false), (9000, true), (1000, false)] {
        let before = event_records(world);
        scale(1.0, &mut *long.slice_mut(..n)?).launch()?;
        assert_eq!(event_records(world) > before, has_trials, "{n}");
    }
    Ok(())
}

#[on_gpu_backends]
fn the_host_never_waits_for_a_trial(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated_with(builder()) else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    let stream = on.program.create_stream()?;
    let mut x = on.program.zeros::<f32, 1>([5000])?;
    on.program.default_stream().synchronize()?;
    let before = waits(world);
    for _ in 0..LAUNCHES {
        scale(2.0, &mut x).launch_on(&stream)?;
        scale(0.5, &mut x).launch_on(&stream)?;
    }
    assert_eq!(waits(world), before);
    assert_eq!(x.to_vec()?, [0.0; 5000]);
    Ok(())
}

#[on_gpu_backends]
fn without_timing_events_launches_run_as_scheduled(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated_with(builder()) else { return Ok(()) };
    let world = **on.world.as_ref().expect("simulated");
    let functions = [
        ("cuEventCreate", "hipEventCreateWithFlags"),
        ("cuEventRecord", "hipEventRecord"),
        ("cuEventQuery", "hipEventQuery"),
        ("cuEventElapsedTime", "hipEventElapsedTime"),
    ];
    for (k, (cuda, hip)) in functions.into_iter().enumerate() {
        // Another class of sizes has another search.
        let n = 2000 << k;
        let mut x = on.program.tensor_from(&vec![1.0_f32; n], [n])?;
        // The first fill is complete.
        x.to_vec()?;
        let function = if backend == TestBackend::Cuda { cuda } else { hip };
        world.fail(function, world.calls(function) + 2, Code::OUT_OF_MEMORY);
        for _ in 0..10 {
            scale(2.0, &mut x).launch()?;
        }
        assert_eq!(x.to_vec()?, vec![1024.0; n], "{function}");
        assert_eq!(world.armed_faults(), 0, "{function}");
    }
    Ok(())
}

#[on_gpu_backends]
fn several_threads_search_together(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_with(builder()) else { return Ok(()) };
    let program = &on.program;
    std::thread::scope(|scope| {
        let run = |_| {
            scope.spawn(move || {
                let stream = program.create_stream()?;
                let mut x = program.tensor_from(&[1.0_f32; 3000], [3000])?;
                for _ in 0..LAUNCHES {
                    scale(-1.0, &mut x).launch_on(&stream)?;
                    scale(-1.0, &mut x).launch_on(&stream)?;
                }
                assert_eq!(x.to_vec()?, [1.0; 3000]);
                Ok(())
            })
        };
        let threads: Vec<_> = (0..4).map(run).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}

#[on_gpu_backends]
fn a_captured_launch_is_no_trial(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_with(builder()) else { return Ok(()) };
    let mut x = on.program.tensor_from(&[1.0_f32; 3000], [3000])?;
    let mut graph = on.program.capture(|| scale(2.0, &mut x).launch())?;
    for _ in 0..3 {
        graph.launch()?;
    }
    drop(graph);
    for _ in 0..LAUNCHES {
        scale(-1.0, &mut x).launch()?;
    }
    assert_eq!(x.to_vec()?, [8.0; 3000]);
    Ok(())
}

#[qd::kernel]
fn fill(x: &mut Tensor<f32, 3>) {
    for (i, j, k) in qd::ndrange(x.shape()) {
        x[[i, j, k]] = 1.0;
    }
}

// The product of two extents does not fit into 64 bits.
#[on_gpu_backends]
fn an_empty_loop_may_have_large_extents(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_with(builder()) else { return Ok(()) };
    for shape in [[1 << 33, 1 << 33, 0], [0, 1 << 33, 1 << 33]] {
        let mut x = on.program.zeros::<f32, 3>(shape)?;
        fill(&mut x).launch()?;
        assert!(x.to_vec()?.is_empty());
    }
    Ok(())
}
