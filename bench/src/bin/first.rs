//! The cost of the first launch of a kernel: without a cache, which loads and runs the compiler; with the kernel
//! in the cache; and from an image bundle. Each sample is a new process, which has opened the device and
//! created its tensors when the clock starts, and has completed the launch when it stops.

use std::path::Path;

use quadrants::{self as qd, Arch, ExportedKernels, Program, ProgramBuilder};
use quadrants_bench::{
    Case, Options, SpeedTarget,
    child::{self, DriverBaseline, stencil, tensors},
    seconds,
};

const SAMPLES: usize = 21;
/// The folder for kept kernels, and the file of exported ones, in the bench's own.
const KEPT: &str = "kept";
const FILE: &str = "kernels.qdk";

fn main() -> qd::Result<()> {
    if let Some((work, folder)) = child::requested_work() {
        println!("{}", run(&work, &folder)?);
        return Ok(());
    }
    let options = Options::from_args();
    let case = |name, more| Case::new("first", name, "ms").target(SpeedTarget::Above(more));
    let empty = case("first launch, nothing kept", 3.0);
    let kept = case("first launch, kernel on disk", 0.5);
    let exported = case("first launch, exported kernel", 0.5);
    if !options.wants("cuda") || ![&empty, &kept, &exported].iter().any(|c| options.selects(c)) {
        return Ok(());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    child::prepare(at, "ours, on disk");
    export(at)?;

    let by_hand = "NVRTC and driver by hand";
    options.run(
        &empty,
        SAMPLES,
        &mut || child::number("ours, nothing kept", at),
        &mut [(by_hand, &mut || child::number("by hand, compiled", at))],
    );
    for (case, work) in [(&kept, "ours, on disk"), (&exported, "ours, exported")] {
        options.run(
            case,
            SAMPLES,
            &mut || child::number(work, at),
            &mut [("driver by hand", &mut || child::number("by hand, loaded", at))],
        );
    }
    Ok(())
}

/// The exported kernel, for the device that is here.
fn export(folder: &Path) -> qd::Result<()> {
    let arch = Program::open(Arch::Cuda)?.device_info().arch.clone();
    let program = Program::open(Arch::Cpu)?;
    let [a, mut b] = tensors(&program)?;
    stencil(&a, &mut b).prepare(&program)?;
    program.export_cache(folder.join(FILE), &[qd::target(&arch)?]).map(drop)
}

/// The work of a child: prints the milliseconds of its first launch.
fn run(work: &str, folder: &Path) -> qd::Result<f64> {
    let builder = Program::builder();
    match work {
        "ours, nothing kept" => {
            let nothing = tempfile::tempdir().expect("a folder");
            ours(builder.cache(Some(nothing.path().to_owned())))
        }
        "ours, on disk" => ours(builder.cache(Some(folder.join(KEPT)))),
        "ours, exported" => {
            let kernels = ExportedKernels::open(folder.join(FILE))?;
            ours(builder.cache(None).kernels(kernels))
        }
        "by hand, compiled" => {
            let (hand, text) = (DriverBaseline::open(), child::text(folder));
            Ok(seconds(|| hand.compile_and_run(&text)) * 1e3)
        }
        "by hand, loaded" => {
            let (hand, image) = (DriverBaseline::open(), child::image(folder));
            Ok(seconds(|| hand.run(&image)) * 1e3)
        }
        _ => panic!("no work of this name: {work}"),
    }
}

fn ours(builder: ProgramBuilder) -> qd::Result<f64> {
    let program = builder.open(Arch::Cuda)?;
    let [a, mut b] = tensors(&program)?;
    let launch = || {
        stencil(&a, &mut b).launch().expect("launches");
        program.sync().expect("completes");
    };
    Ok(seconds(launch) * 1e3)
}
