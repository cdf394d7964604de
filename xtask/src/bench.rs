//! `cargo xtask bench`: builds all benches, runs those of one backend, and writes a table, a JSON file and a plot.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::{Args, ValueEnum};

use crate::{
    shell::{self, TaskError, Workspace, at},
    test_bundle::{BuiltProgram, executables, strip, write_script},
};

/// The package, and the program in it that makes the table.
const PACKAGE: &str = "quadrants-bench";
const REPORT: &str = "report";

/// What `cargo xtask bench` takes.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// The backend whose cases run.
    #[arg(long, value_enum, default_value_t = BenchBackend::Cpu)]
    backend: BenchBackend,
    /// Only cases whose `bench: case` has this text.
    #[arg(long)]
    filter: Option<String>,
    /// Samples of each side; the default depends on the case.
    #[arg(long)]
    samples: Option<usize>,
    /// Where `bench.json` and `bench.svg` go.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
    /// Make the table of lines that a machine without Rust has printed, and measure nothing.
    #[arg(long, conflicts_with_all = ["pack", "samples"])]
    from: Option<PathBuf>,
    /// Measure nothing, but fill this folder for a machine without Rust: `sh run.sh` there prints lines.
    #[arg(long)]
    pack: Option<PathBuf>,
}

/// Where benches run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum BenchBackend {
    /// This processor.
    Cpu,
    /// An NVIDIA GPU, which has to be there.
    Cuda,
}

impl BenchBackend {
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }
}

/// Runs the benches, or what the arguments ask for instead.
pub(crate) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<(), TaskError> {
    let programs = build(workspace)?;
    let (report, benches): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|built| built.target == REPORT);
    if let Some(folder) = &args.pack {
        return pack(folder, &benches, &options(args));
    }
    let lines = match &args.from {
        Some(file) => fs::read_to_string(file).map_err(at(file))?,
        None => {
            let mut lines = String::new();
            for bench in &benches {
                lines += &shell::read(Command::new(&bench.path).args(options(args)))?;
            }
            lines
        }
    };
    let not_built = || TaskError::NotBuilt { what: REPORT.to_owned() };
    let report = report.first().ok_or_else(not_built)?;
    tell(&report.path, &workspace.path(&args.out), &lines)
}

fn options(args: &BenchArgs) -> Vec<String> {
    let mut options = vec!["--backend".to_owned(), args.backend.name().to_owned()];
    if let Some(filter) = &args.filter {
        options.extend(["--filter".to_owned(), filter.clone()]);
    }
    if let Some(samples) = args.samples {
        options.extend(["--samples".to_owned(), samples.to_string()]);
    }
    options
}

fn build(workspace: &Workspace) -> Result<Vec<BuiltProgram>, TaskError> {
    let json = "--message-format=json-render-diagnostics";
    let mut build = workspace.cargo(["build", "--release", json, "--bins", "--package", PACKAGE]);
    let mut built = executables(&shell::read(&mut build)?)?;
    built.retain(|built| built.package == PACKAGE);
    built.sort_by(|a, b| a.target.cmp(&b.target));
    Ok(built)
}

/// Writes a folder with the benches and a script that runs them all and reports each failure.
fn pack(folder: &Path, benches: &[BuiltProgram], options: &[String]) -> Result<(), TaskError> {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).map_err(at(&bin))?;
    let mut script = String::from("#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit 2\n");
    for bench in benches {
        let to = bin.join(&bench.target);
        fs::copy(&bench.path, &to).map_err(at(&to))?;
        strip(&to);
        let quoted: String = options.iter().map(|option| format!(" '{option}'")).collect();
        script += &format!("bin/{}{quoted} || echo '{} failed' >&2\n", bench.target, bench.target);
    }
    write_script(&folder.join("run.sh"), &script)
}

fn tell(report: &Path, out: &Path, lines: &str) -> Result<(), TaskError> {
    let mut command = Command::new(report);
    command.arg(out).stdin(Stdio::piped());
    let start = |source| TaskError::Start { program: REPORT.to_owned(), source };
    let mut child = command.spawn().map_err(start)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(lines.as_bytes()).map_err(start)?;
    }
    let status = child.wait().map_err(start)?;
    if !status.success() {
        return Err(TaskError::Command { command: shell::text(&command) });
    }
    println!("\n{}", out.join("bench.json").display());
    println!("{}", out.join("bench.svg").display());
    Ok(())
}
