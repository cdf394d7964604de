//! The kernels of this workspace's examples, compiled ahead into one file: what a user's own repository does with a
//! program of its own, `cargo run --bin precompile`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::{
    matrix::EXAMPLES,
    shell::{self, Failure, Workspace, at},
};

/// What `cargo xtask precompile` takes.
#[derive(Args)]
pub(crate) struct PrecompileArgs {
    /// An architecture, as often as wanted: `sm_90`, `compute_80`, `gfx90a`.
    #[arg(long, required = true, value_name = "NAME")]
    arch: Vec<String>,
    /// The file.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Runs the examples small and on the processor, where each kernel is known by its first launch.
pub(crate) fn run(workspace: &Workspace, args: &PrecompileArgs) -> Result<(), Failure> {
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
