//! `cargo xtask precompile`: compiles the kernels of the examples ahead into one image bundle. A user's repository does
//! the same with its own program, as in `cargo run --bin precompile`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::{
    matrix::EXAMPLES,
    shell::{self, TaskError, Workspace, at},
};

/// The options of `cargo xtask precompile`.
#[derive(Args)]
pub(crate) struct PrecompileArgs {
    /// An architecture; may be repeated: `sm_90`, `compute_80`, `gfx90a`.
    #[arg(long, required = true, value_name = "NAME")]
    arch: Vec<String>,
    /// The file.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Runs the examples at a small size on the CPU, where the first launch registers each kernel.
pub(crate) fn run(workspace: &Workspace, args: &PrecompileArgs) -> Result<(), TaskError> {
    let folder = workspace.target().join("precompile");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let galaxies = folder.join("galaxies.qdk");
    let archs = || args.arch.iter().flat_map(|arch| ["--arch", arch]);

    let mut cargo = workspace.cargo(["run", "--quiet", "--package", "quadrants"]);
    cargo.args(["--example", "galaxies", "--", "--backend", "cpu", "--crop", "17x17+0+0"]);
    cargo.arg("--out").arg(&folder).arg("--export").arg(&galaxies).args(archs());
    shell::run(&mut cargo)?;

    let out = std::env::current_dir().map_err(at(Path::new(".")))?.join(&args.out);
    let mut cargo = workspace.cargo(["run", "--quiet", "--package", EXAMPLES]);
    cargo.args(["--bin", "precompile", "--", "--with"]).arg(&galaxies);
    shell::run(cargo.arg("--out").arg(out).args(archs()))
}
