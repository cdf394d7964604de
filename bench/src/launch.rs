//! What a launch and a region cost the host, against the same driver calls made by hand: a region by events against
//! a fork and a join, and a repeated one, which becomes a graph, against a graph by hand. Where the arguments
//! change from launch to launch, that sets every node anew each time; where they stay, it is launched alone.
//!
//! Both sides launch the same machine code in one process. Each sample enqueues 200 calls and then
//! waits outside the clock; sides alternate, and a line gives the medians over all samples and their
//! ratio. `launch [--samples N]`, JSON lines on standard output.

mod driver;

use std::time::Instant;

use driver::{ByHand, Raw};
use quadrants::{
    Arch, Kernel, Program, Result,
    builder::KernelBuilder,
    ir::{self, ScalarType},
};

/// Calls in flight in one sample.
const IN_FLIGHT: usize = 200;
/// Elements of each tensor: too few for the device to fall behind.
const N: usize = 256;

fn main() -> Result<()> {
    let samples = std::env::args().skip_while(|a| a != "--samples").nth(1);
    let samples: usize = samples.and_then(|n| n.parse().ok()).unwrap_or(101);
    let program = Program::open(Arch::Cuda)?;
    let raw = Raw::load();

    let saxpy = saxpy();
    let by_hand = ByHand::load(&raw, &saxpy);
    let kernel = Kernel::new(saxpy)?;
    let x = program.tensor_from(&[1.0f32; N], [N])?;
    let mut y = program.zeros::<f32, 1>([N])?;
    let stream = program.create_stream()?;
    let memory = raw.buffers(2, 4 * N);
    let args = by_hand.args(&[(memory[0], N), (memory[1], N)], Some(2.0));
    let raw_stream = raw.stream();

    compare(
        "launch, default stream",
        samples,
        || program.sync(),
        || kernel.call::<()>().arg(2.0f32).arg(&x).arg(&mut y).launch(),
        || raw.synchronize(),
        || by_hand.launch(0, &args, 0),
    );
    compare(
        "launch, explicit stream",
        samples,
        || stream.synchronize(),
        || kernel.call::<()>().arg(2.0f32).arg(&x).arg(&mut y).launch_on(&stream),
        || raw.synchronize(),
        || by_hand.launch(0, &args, raw_stream),
    );

    let by_events = Program::builder().graphs(false).open(Arch::Cuda)?;
    for how in [How::Events, How::ChangingGraph, How::Graph] {
        for blocks in [2, 4, 8, 16] {
            let program = if how == How::Events { &by_events } else { &program };
            regions(program, &raw, blocks, how, samples)?;
        }
    }
    Ok(())
}

/// How a region is launched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Events,
    /// By a graph, each launch with other arguments than the last.
    ChangingGraph,
    Graph,
}

fn regions(program: &Program, raw: &Raw, blocks: usize, how: How, samples: usize) -> Result<()> {
    let stream = program.create_stream()?;
    let region = region(blocks);
    let by_hand = ByHand::load(raw, &region);
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
    let name = match how {
        How::Events => "events",
        How::ChangingGraph => "graph, other arguments each time",
        How::Graph => "graph, the same arguments",
    };
    let (mut ours, mut rival) = (0, 0);
    compare(
        &format!("region of {blocks} blocks, {name}"),
        samples,
        || stream.synchronize(),
        || {
            ours += 1;
            let which = if how == How::Graph { 0 } else { ours % 2 };
            let mut call = kernel.call::<()>();
            for tensor in &mut sets[which] {
                call = call.arg(tensor);
            }
            call.launch_on(&stream)
        },
        || raw.synchronize(),
        || {
            rival += 1;
            match how {
                How::Events => fork.run(&by_hand, &args[rival % 2]),
                How::ChangingGraph => {
                    graph.set(&args[rival % 2]);
                    graph.launch();
                }
                How::Graph => graph.launch(),
            }
        },
    );
    Ok(())
}

/// Prints the medians of `ours` and `rival` in microseconds per call.
fn compare(
    case: &str,
    samples: usize,
    mut wait: impl FnMut() -> Result<()>,
    mut ours: impl FnMut() -> Result<()>,
    mut rival_wait: impl FnMut(),
    mut rival: impl FnMut(),
) {
    let mut sample_ours = || {
        let start = Instant::now();
        (0..IN_FLIGHT).for_each(|_| ours().expect("ours launches"));
        let time = start.elapsed().as_secs_f64() * 1e6 / IN_FLIGHT as f64;
        wait().expect("ours completes");
        time
    };
    let mut sample_rival = || {
        let start = Instant::now();
        (0..IN_FLIGHT).for_each(|_| rival());
        let time = start.elapsed().as_secs_f64() * 1e6 / IN_FLIGHT as f64;
        rival_wait();
        time
    };
    (0..3).for_each(|_| {
        sample_ours();
        sample_rival();
    });
    let (ours, rival): (Vec<f64>, Vec<f64>) =
        (0..samples).map(|_| (sample_ours(), sample_rival())).unzip();
    let (ours, rival) = (quartiles(ours), quartiles(rival));
    println!(
        "{{\"case\": \"{case}\", \"ours_us\": {:.3}, \"by_hand_us\": {:.3}, \"ratio\": {:.3}, \
         \"ours_quartiles\": [{:.3}, {:.3}], \"by_hand_quartiles\": [{:.3}, {:.3}]}}",
        ours[1],
        rival[1],
        ours[1] / rival[1],
        ours[0],
        ours[2],
        rival[0],
        rival[2],
    );
}

fn quartiles(mut times: Vec<f64>) -> [f64; 3] {
    times.sort_by(f64::total_cmp);
    [1, 2, 3].map(|q| times[(times.len() - 1) * q / 4])
}

fn saxpy() -> ir::Kernel {
    let b = KernelBuilder::new("saxpy");
    let a = b.param_scalar("a", ScalarType::F32);
    let x = b.param_tensor("x", ScalarType::F32, 1);
    let y = b.param_tensor_mut("y", ScalarType::F32, 1);
    b.range_for(0usize, x.len(), |i| y.store([i], y.load([i]) + a * x.load([i])));
    b.build().expect("a valid kernel")
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
