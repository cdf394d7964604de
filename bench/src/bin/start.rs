//! From the start of a process to its first result on the GPU, with the kernel on disk: the library against the
//! driver's calls alone, from `cuInit` to the copy back. Both sides run this executable, so that loading takes the same
//! time. The time is measured from before the process is created until the process has written that it has the result.

use std::path::Path;

use quadrants::{self as qd, Arch, Program};
use quadrants_bench::{
    Case, Options, SpeedTarget,
    child::{self, DriverBaseline, N, stencil, tensors},
};

const SAMPLES: usize = 21;

fn main() -> qd::Result<()> {
    if let Some((work, folder)) = child::requested_work() {
        return run(&work, &folder);
    }
    let options = Options::from_args();
    let case = Case::new("start", "process to first result", "ms").target(SpeedTarget::Ratio(1.05));
    if !options.wants("cuda") || !options.selects(&case) {
        return Ok(());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let time = |work| {
        let (result, time) = child::line(work, folder.path(), &[]);
        assert_eq!(result.trim(), "1", "`{work}` computes something else");
        time
    };
    child::prepare(folder.path(), "ours");
    options.run(
        &case,
        SAMPLES,
        &mut || time("ours"),
        &mut [("driver by hand", &mut || time("by hand"))],
    );
    Ok(())
}

/// What a child does: says one point of the stencil of ones as soon as it has it. What goes at its end goes after that.
fn run(work: &str, folder: &Path) -> qd::Result<()> {
    match work {
        "ours" => {
            let program = Program::builder().cache(Some(folder.join("kept"))).open(Arch::Cuda)?;
            let [a, mut b] = tensors(&program)?;
            stencil(&a, &mut b).launch()?;
            println!("{}", b.to_vec()?[N + 1]);
        }
        "by hand" => {
            let hand = DriverBaseline::open();
            hand.run(&child::image(folder));
            println!("{}", hand.read()[N + 1]);
        }
        _ => panic!("no work of this name: {work}"),
    }
    Ok(())
}
