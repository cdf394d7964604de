//! Host time of a launch and of a region, against the same driver calls made by hand: a region by events against a fork
//! and a join, and a repeated region, which becomes a graph, against a hand-written graph. If the arguments change from
//! launch to launch, the baseline sets every node each time; otherwise it only launches the graph.
//!
//! Both sides launch the same kernel in one process. Each sample enqueues 200 calls and then waits outside
//! the clock.

use quadrants::{
    Arch, Kernel, Program, Result,
    builder::KernelBuilder,
    ir::{self, ScalarType},
};
use quadrants_bench::{
    Case, Options, SpeedTarget,
    driver::{DriverBaseline, Raw},
    enqueue,
    kernels::{saxpy, saxpy_at_run_time, touch_some},
};

/// Calls in flight in one sample.
const IN_FLIGHT: usize = 200;
/// Elements of each tensor: too few for the device to fall behind.
const N: usize = 256;
const SAMPLES: usize = 101;

fn main() -> Result<()> {
    let options = Options::from_args();
    if !options.wants("cuda") {
        return Ok(());
    }
    let program = Program::open(Arch::Cuda)?;
    let raw = Raw::load();

    let at_run_time = saxpy_at_run_time();
    let by_hand = DriverBaseline::load(&raw, &at_run_time);
    let kernel = Kernel::new(at_run_time)?;
    let x = program.tensor_from(&[1.0f32; N], [N])?;
    let mut y = program.zeros::<f32, 1>([N])?;
    let stream = program.create_stream()?;
    let memory = raw.buffers(2, 4 * N);
    let args = by_hand.args(&[(memory[0], N), (memory[1], N)], Some(2.0));
    let raw_stream = raw.stream();

    let launch = |name, on_default: bool, ours: &mut dyn FnMut() -> Result<()>| {
        options.run(
            &Case::new("launch", name, "us").target(SpeedTarget::Ratio(1.05)),
            SAMPLES,
            &mut enqueue(
                IN_FLIGHT,
                || ours().expect("launches"),
                || program.sync().expect("completes"),
            ),
            &mut [(
                "driver by hand",
                &mut enqueue(
                    IN_FLIGHT,
                    || by_hand.launch(0, &args, if on_default { 0 } else { raw_stream }),
                    || raw.synchronize(),
                ),
            )],
        );
    };
    launch("launch, default stream", true, &mut || saxpy(2.0, &x, &mut y).launch());
    launch("launch, explicit stream", false, &mut || saxpy(2.0, &x, &mut y).launch_on(&stream));
    let mut n = 0;
    launch("launch, explicit stream, another bound each time", false, &mut || {
        n = (n + 1) % N;
        touch_some(n + 1, &mut y).launch_on(&stream)
    });
    launch("launch, explicit stream, kernel made at run time", false, &mut || {
        kernel.call::<()>().arg(2.0f32).arg(&x).arg(&mut y).launch_on(&stream)
    });

    let by_events = Program::builder().graphs(false).open(Arch::Cuda)?;
    for how in [RegionPath::Events, RegionPath::ChangingGraph, RegionPath::Graph] {
        // Beyond 16 for growth, which the device's own pace bounds.
        for blocks in [2, 4, 8, 16, 32, 64] {
            let program = if how == RegionPath::Events { &by_events } else { &program };
            regions(&options, program, &raw, blocks, how)?;
        }
    }
    Ok(())
}

/// How a region is launched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RegionPath {
    Events,
    /// By a graph, each launch with other arguments than the last.
    ChangingGraph,
    Graph,
}

fn regions(
    options: &Options,
    program: &Program,
    raw: &Raw,
    blocks: usize,
    how: RegionPath,
) -> Result<()> {
    let (name, target) = match how {
        RegionPath::Events => ("events", 1.02),
        RegionPath::ChangingGraph => ("graph, other arguments each time", 1.1),
        RegionPath::Graph => ("graph, the same arguments", 1.1),
    };
    let case = Case::new("launch", format!("region of {blocks} blocks, {name}"), "us")
        .target(SpeedTarget::Ratio(target));
    if !options.selects(&case) {
        return Ok(());
    }
    let stream = program.create_stream()?;
    let region = region(blocks);
    let by_hand = DriverBaseline::load(raw, &region);
    let kernel = Kernel::new(region)?;
    let mut sets: Vec<Vec<_>> = (0..2)
        .map(|_| (0..blocks).map(|_| program.zeros::<f32, 1>([N])).collect::<Result<_>>())
        .collect::<Result<_>>()?;
    let args: Vec<_> = (0..2)
        .map(|_| {
            let memory = raw.buffers(blocks, 4 * N);
            let tensors: Vec<_> = memory.iter().map(|m| (*m, N)).collect();
            by_hand.args(&tensors, None)
        })
        .collect();
    let fork = raw.fork_join(blocks);
    let graph = raw.graph(&by_hand, &args[0]);
    let (mut ours, mut rival) = (0, 0);
    let launch = || {
        ours += 1;
        let which = if how == RegionPath::Graph { 0 } else { ours % 2 };
        let mut call = kernel.call::<()>();
        for tensor in &mut sets[which] {
            call = call.arg(tensor);
        }
        call.launch_on(&stream).expect("launches");
    };
    let launch_by_hand = || {
        rival += 1;
        match how {
            RegionPath::Events => fork.run(&by_hand, &args[rival % 2]),
            RegionPath::ChangingGraph => {
                graph.set(&args[rival % 2]);
                graph.launch();
            }
            RegionPath::Graph => graph.launch(),
        }
    };
    options.run(
        &case,
        SAMPLES,
        &mut enqueue(IN_FLIGHT, launch, || stream.synchronize().expect("completes")),
        &mut [("driver by hand", &mut enqueue(IN_FLIGHT, launch_by_hand, || raw.synchronize()))],
    );
    Ok(())
}

/// A region of that many blocks, each one small loop over a tensor of its own.
fn region(blocks: usize) -> ir::Kernel {
    let b = KernelBuilder::new(&format!("region{blocks}"));
    let tensors: Vec<_> =
        (0..blocks).map(|k| b.param_tensor_mut(&format!("t{k}"), ScalarType::F32, 1)).collect();
    for tensor in tensors {
        b.stream_parallel(|| {
            b.range_for(0usize, tensor.len(), |i| {
                tensor.store([i], tensor.load([i]) + b.constant(1.0f32));
            });
        });
    }
    b.build().expect("a valid kernel")
}
