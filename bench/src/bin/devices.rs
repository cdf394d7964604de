//! Copies and collective operations between two GPUs, against the CUDA driver and NCCL by hand.
//!
//! By hand, a copy has the order that ours has: after the earlier and before the later work of a stream on each device.
//! NCCL's calls block on both sides.

use quadrants::{
    self as qd, Arch, Program, Result,
    collectives::{Communicator, Group, Reduction},
};
use quadrants_bench::{Case, Options, SpeedTarget, enqueue, two_devices::TwoDevices, until_done};

const SAMPLES: usize = 21;
/// The bytes of a small, a medium and a large operation, with the number of calls in a sample.
const SIZES: [(usize, &str, usize); 3] =
    [(4 << 10, "4 KiB", 200), (4 << 20, "4 MiB", 50), (256 << 20, "256 MiB", 10)];
const TARGET: SpeedTarget = SpeedTarget::Ratio(1.1);

fn main() -> Result<()> {
    let options = Options::from_args();
    if !options.wants("cuda") {
        return Ok(());
    }
    let count = Arch::Cuda.driver().and_then(|driver| driver.device_count()).unwrap_or(0);
    if count < 2 {
        eprintln!("devices: skipped, because there are no two CUDA devices");
        return Ok(());
    }
    let [first, second] = [0, 1].map(|at| Program::open(Arch::Cuda.device(at)));
    let (first, second) = (first?, second?);
    let by_hand = TwoDevices::new(SIZES[2].0);
    let ranks = Communicator::builder().blocking(true).all(&[&first, &second]);
    let ranks = ranks.expect("NCCL is installed");
    let done = || {
        first.sync().expect("completes");
        second.sync().expect("completes");
    };
    for (bytes, size, calls) in SIZES {
        let floats = bytes / 4;
        let gigabytes = bytes as f64 / 1e9;
        let mut x = first.zeros::<f32, 1>([floats])?;
        let mut y = second.zeros::<f32, 1>([floats])?;
        let case = |what: &str, unit| {
            Case::new("devices", format!("{what} of {size}"), unit).target(TARGET)
        };
        options.run(
            &case("copy", "ms").work(gigabytes, "GB/s"),
            SAMPLES,
            &mut until_done(calls, || x.copy_to(&mut y).expect("a copy"), done),
            &mut [(
                "driver by hand",
                &mut until_done(calls, || by_hand.copy(bytes), || by_hand.wait()),
            )],
        );
        options.run(
            &case("enqueue a copy", "us"),
            SAMPLES,
            &mut enqueue(calls, || x.copy_to(&mut y).expect("a copy"), done),
            &mut [(
                "driver by hand",
                &mut enqueue(calls, || by_hand.copy(bytes), || by_hand.wait()),
            )],
        );
        let mut all_reduce = || -> qd::collectives::Result<()> {
            let mut group = Group::new();
            group.all_reduce_in_place(&ranks[0], &mut x, Reduction::Sum)?;
            group.all_reduce_in_place(&ranks[1], &mut y, Reduction::Sum)?;
            group.run()
        };
        options.run(
            // Each device sends and receives the whole array.
            &case("all-reduce", "ms").work(gigabytes, "GB/s"),
            SAMPLES,
            &mut until_done(calls, || all_reduce().expect("an operation"), done),
            &mut [(
                "NCCL by hand",
                &mut until_done(calls, || by_hand.all_reduce(floats), || by_hand.wait()),
            )],
        );
        options.run(
            &case("enqueue an all-reduce", "us"),
            SAMPLES,
            &mut enqueue(calls, || all_reduce().expect("an operation"), done),
            &mut [(
                "NCCL by hand",
                &mut enqueue(calls, || by_hand.all_reduce(floats), || by_hand.wait()),
            )],
        );
    }
    Ok(())
}
