//! Compiles the kernels of all simulations ahead, for GPUs that this machine need not have: they are launched on the
//! processor, which makes them known, and then exported. `cargo xtask precompile` runs it.

use std::{error::Error, path::PathBuf, process::ExitCode};

use clap::Parser;
use quadrants as qd;

/// Compile the simulations' kernels ahead, into one file
#[derive(Parser)]
#[command(max_term_width = 100)]
struct Options {
    /// An architecture; may be repeated: `sm_90`, `compute_80`, `gfx90a`
    #[arg(long, required = true, value_name = "NAME")]
    arch: Vec<String>,
    /// A file of exported kernels whose images are to be in the new one
    #[arg(long, value_name = "FILE")]
    with: Vec<PathBuf>,
    /// The new file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(written) => {
            println!("{written}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("precompile: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<String, Box<dyn Error>> {
    let targets =
        options.arch.iter().map(|arch| qd::target(arch)).collect::<qd::Result<Vec<_>>>()?;
    let program = qd::Program::open(qd::Arch::Cpu)?;
    let pictures = tempfile::tempdir()?;
    quadrants_examples::launch_all(&program, pictures.path())?;

    let mut export = qd::Export::new(targets);
    export.add(&program)?;
    for file in &options.with {
        export.add_file(&qd::ExportedKernels::open(file)?);
    }
    let written = export.write(&options.out)?;
    let (images, bytes, out) = (written.images, written.bytes, options.out.display());
    Ok(format!("{images} images for {}, {bytes} bytes: {out}", options.arch.join(", ")))
}
