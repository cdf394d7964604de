//! Host time of the launch of a captured graph: 64 tiny launches in a chain, against the same graph made by hand, with
//! the arguments as they were captured, with another one for one launch, and with another one for all.
//!
//! Both sides launch the same machine code in one process. Each sample enqueues 200 launches of the graph and then
//! waits outside the clock.

use quadrants::{Arch, Kernel, Program, Result};
use quadrants_bench::{
    Case, Options, SpeedTarget,
    driver::{DriverBaseline, Raw},
    enqueue,
    kernels::saxpy_at_run_time,
};

/// Launches of the graph in flight in one sample.
const IN_FLIGHT: usize = 200;
/// Launches in the graph.
const LAUNCHES: usize = 64;
/// Elements of each tensor.
const N: usize = 256;
const SAMPLES: usize = 51;

/// What changes between launches of the graph.
#[derive(Clone, Copy, PartialEq)]
enum Changes {
    Nothing,
    OneLaunch,
    AllLaunches,
}

fn main() -> Result<()> {
    let options = Options::from_args();
    if !options.wants("cuda") {
        return Ok(());
    }
    let program = Program::open(Arch::Cuda)?;
    let raw = Raw::load();
    let saxpy = saxpy_at_run_time();
    let by_hand = DriverBaseline::load(&raw, &saxpy);
    let kernel = Kernel::new(saxpy)?;
    let x = program.tensor_from(&[1.0f32; N], [N])?;
    let mut y = program.zeros::<f32, 1>([N])?;
    let stream = program.create_stream()?;
    let mut graph = program.capture(|| {
        (0..LAUNCHES).try_for_each(|_| kernel.call().arg(2.0f32).arg(&x).arg(&mut y).launch())
    })?;

    let memory = raw.buffers(2, 4 * N);
    let args = [2.0, 3.0].map(|a| by_hand.args(&[(memory[0], N), (memory[1], N)], Some(a)));
    let chain = raw.chain(&by_hand, &args[0], LAUNCHES);

    for (changes, name, target) in [
        (Changes::Nothing, "as captured", 1.05),
        (Changes::OneLaunch, "another argument of one launch each time", 1.1),
        (Changes::AllLaunches, "another argument of all launches each time", 1.1),
    ] {
        let case = Case::new("captured", format!("chain of {LAUNCHES} launches, {name}"), "us")
            .target(SpeedTarget::Ratio(target));
        let (mut ours, mut rival) = (0, 0);
        let launch = || {
            ours += 1;
            let a = [2.0f32, 3.0][ours % 2];
            let launched = match changes {
                Changes::Nothing => graph.launch_on(&stream),
                Changes::OneLaunch => graph.with("saxpy[40].a", a).launch_on(&stream),
                Changes::AllLaunches => graph.with("saxpy.a", a).launch_on(&stream),
            };
            launched.expect("launches");
        };
        let launch_by_hand = || {
            rival += 1;
            match changes {
                Changes::Nothing => {}
                Changes::OneLaunch => chain.set_one(40, &args[rival % 2]),
                Changes::AllLaunches => chain.set(&args[rival % 2]),
            }
            chain.launch();
        };
        options.run(
            &case,
            SAMPLES,
            &mut enqueue(IN_FLIGHT, launch, || stream.synchronize().expect("completes")),
            &mut [(
                "driver by hand",
                &mut enqueue(IN_FLIGHT, launch_by_hand, || raw.synchronize()),
            )],
        );
    }
    Ok(())
}
