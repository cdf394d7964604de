//! The driver: generates the modules of a run, compiles them, runs them, and prints a report.
#![forbid(unsafe_code)]

mod driver {
    //! The steps of a run.
    pub(crate) mod compile;
    pub(crate) mod execute;
    pub(crate) mod report;
}

use std::{path::PathBuf, process::ExitCode, time::Instant};

use clap::Parser;
use quadrants_source_fuzz::{KNOWN_DEFECTS, Module};

use driver::{compile, execute, report::FuzzReport};

/// Random kernels as Rust source: the CPU body, the interpreter and both simulated GPUs agree bit for bit, or rustc
/// rejects the kernel.
#[derive(Parser, Debug)]
struct Args {
    /// The seed of the run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of kernels.
    #[arg(long, default_value_t = 300)]
    count: u64,
    /// Generate and run only the kernel with this number.
    #[arg(long)]
    only: Option<u64>,
    /// Give every kernel a trap of this kind, such as `func.trait`.
    #[arg(long)]
    trap: Option<String>,
    /// Succeed if every known defect is found; run it with their fixes reverted.
    #[arg(long)]
    self_check: bool,
    /// Keep sources and binaries even if all kernels agree.
    #[arg(long)]
    keep: bool,
    /// Show why each module was rejected.
    #[arg(long)]
    rejections: bool,
    /// The optimization level of the generated crates.
    #[arg(long, default_value = "0")]
    opt: String,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FuzzError {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{program} could not be started: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("the library was not built: {text}")]
    Library { text: String },
    #[error("rustc failed on {crate_name}, but its errors name no module:\n{text}")]
    Unattributed { crate_name: String, text: String },
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("source-fuzz: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<bool, FuzzError> {
    let begin = Instant::now();
    let numbers: Vec<u64> = match args.only {
        Some(number) => vec![number],
        None => (0..args.count).collect(),
    };
    let modules: Vec<Module> = if args.self_check {
        // Twelve of each kind: more than are needed.
        let kinds = (0..).zip(KNOWN_DEFECTS);
        let kinds = kinds.flat_map(|(at, kind)| (0..12).map(move |n| (100 * at + n, kind)));
        kinds.map(|(number, kind)| Module::new(args.seed, number, Some(kind))).collect()
    } else {
        let kind = args.trap.as_deref();
        numbers.iter().map(|number| Module::new(args.seed, *number, kind)).collect()
    };
    let library = compile::library()?;
    let trap = args.trap.as_ref().map(|kind| format!("-{kind}")).unwrap_or_default();
    let only = args.only.map(|only| format!("-only-{only}")).unwrap_or_default();
    let name = format!("seed-{}{trap}{only}", args.seed);
    let folder = library.target.join("source-fuzz").join(name);
    let built = compile::all(&library, &modules, &folder, &args.opt)?;
    let compiled = begin.elapsed();
    let verdicts = execute::all(&built.binaries)?;
    let report = FuzzReport::new(args.seed, &modules, &built.rejected, &verdicts, &folder);
    report.print(args.rejections);
    println!(
        "compiled in {:.1} s, ran in {:.1} s",
        compiled.as_secs_f64(),
        (begin.elapsed() - compiled).as_secs_f64()
    );
    let fine = if args.self_check { report.finds_all() } else { report.is_fine() };
    if fine && !args.keep && args.only.is_none() {
        // A folder that cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&folder);
    } else {
        println!("sources: {}", folder.display());
    }
    Ok(fine)
}
