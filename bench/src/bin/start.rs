//! From the start of a process to its first result on the GPU, with the kernel on disk: ours against the driver's calls
//! alone, from `cuInit` to the copy back. Both are this program again, so that it is loaded alike; the clock runs from
//! before the process is made until it has written that it has the result.

use std::path::Path;

use quadrants::{self as qd, Arch, Program};
use quadrants_bench::{
    Asked, Case, Options,
    child::{self, ByHand, N, stencil, tensors},
};

const SAMPLES: usize = 21;

fn main() -> qd::Result<()> {
    if let Some((work, folder)) = child::asked() {
        println!("{}", run(&work, &folder)?);
        return Ok(());
    }
    let options = Options::from_args();
    let case = Case::new("start", "process to first result", "ms").asked(Asked::Ratio(1.05));
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

/// What a child does: one point of the stencil of ones.
fn run(work: &str, folder: &Path) -> qd::Result<f32> {
    let result = match work {
        "ours" => {
            let program = Program::builder().cache(Some(folder.join("kept"))).open(Arch::Cuda)?;
            let [a, mut b] = tensors(&program)?;
            stencil(&a, &mut b).launch()?;
            b.to_vec()?
        }
        "by hand" => {
            let hand = ByHand::open();
            hand.run(&child::image(folder));
            hand.read()
        }
        _ => panic!("no work of this name: {work}"),
    };
    Ok(result[N + 1])
}
