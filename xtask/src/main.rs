//! All developer tasks of the workspace as subcommands of `cargo xtask`, so that developers, CI and the README use the
//! same commands.

mod bench;
#[cfg(feature = "bindgen")]
mod bindgen;
mod book;
mod ci;
mod fuzz;
mod matrix;
mod package;
mod precompile;
mod probe;
mod shell;
mod test_bundle;
mod tidy;
mod totals;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::{
    matrix::{BackendChoice, DeviceChoice, Size},
    shell::{TaskError, Workspace},
};

/// The developer tasks of the quadrants workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run all tests, and print what ran on which backend and device.
    ///
    /// At full size, the whole-system suite runs again with arguments by buffer, and its modules about streams and
    /// regions again without graphs. Suites read QUADRANTS_TEST_BACKENDS and QUADRANTS_TEST_DEVICE. Prints a table, why
    /// tests were skipped, what the result means, and the line `N passed, N failed, N skipped`.
    Test {
        /// The backend whose tests run. Tests of no backend always run.
        #[arg(long, value_enum, default_value_t = BackendChoice::All)]
        backend: BackendChoice,
        /// Where GPU tests run: `auto` takes hardware where there is some, else the simulator; `hardware` fails where
        /// there is none.
        #[arg(long, value_enum, default_value_t = DeviceChoice::Auto)]
        device: DeviceChoice,
        /// Run the long tests at full size, and the suite with other settings too, as CI does.
        #[arg(long)]
        full: bool,
    },
    /// Make a folder that tests a backend on a machine with a GPU and no Rust.
    ///
    /// Contains the whole-system suite, the backend's own suite, the galaxies example with its photograph,
    /// the `quadrants` command, the simulator and a `run.sh` that runs them all on hardware.
    Bundle {
        /// The backend to test.
        #[arg(long, value_enum)]
        backend: test_bundle::GpuBackend,
        /// The folder; created if missing.
        #[arg(long)]
        out: PathBuf,
    },
    /// Measure against hand-written baselines and print both times and the ratio. Each bench alternates between this
    /// library and its baselines in one process. Prints a table, and writes `bench.json` and `bench.svg`. Run it on an
    /// idle machine.
    Bench(bench::BenchArgs),
    /// Compile the examples' kernels ahead, for machines without a compiler.
    ///
    /// Needs NVRTC for NVIDIA's architectures and hipRTC for AMD's, and no GPU. The file is for
    /// QUADRANTS_KERNELS, or `ProgramBuilder::kernels`.
    Precompile(precompile::PrecompileArgs),
    /// Run random kernels as Rust source on all backends, which must agree bit for bit unless rustc rejects the kernel.
    ///
    /// Generates modules, half of them with names that collide with those of emitted code, and compiles
    /// them against this workspace. CPU body, interpreter and both simulated GPUs run what rustc accepts. Ends with
    /// tables of productions and traps, and for each failure with how to run it alone. Full size: `--count 5000`.
    Fuzz(fuzz::FuzzArgs),
    /// Build the book as HTML and check its links (needs mdBook).
    ///
    /// `cargo install mdbook --locked` installs mdBook. The pages are in `target/book`. Reports each link to a page, an
    /// anchor or a picture that does not exist. `node docs/book/check.mjs` checks the pages in a browser.
    Book,
    /// The preprocessor of the book, which mdBook runs.
    #[command(hide = true)]
    BookLinks {
        /// `supports RENDERER` asks whether it works for a renderer; it does for all.
        question: Vec<String>,
    },
    /// Pack the public crates, and build a project outside the repository from them.
    ///
    /// Packs as for crates.io. The packed `quadrants` command makes a project, which runs on the CPU and is tested on
    /// the CPU and the simulator.
    Package,
    /// Run what CI runs: tidiness, the source fuzzer, tests, the example on every backend, external users.
    Ci,
    /// Check formatting, clippy's lints and the repository's own lints.
    ///
    /// Formatter and clippy (warnings denied), then the text of each source file: it starts with `//!`, has at most
    /// 800 lines, argues each `unsafe`, contains no stub and no ignored test, and its comments have at most 120
    /// columns, as has the prose of Markdown files.
    Tidy,
    /// Make the checked-in HIP types again from HIP's headers (needs libclang).
    Bindgen {
        /// The folder that holds `hip/hip_runtime_api.h`.
        #[arg(long, default_value = "/usr/include")]
        headers: PathBuf,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command) -> Result<(), TaskError> {
    let workspace = Workspace::find();
    match command {
        Command::Test { backend, device, full } => {
            let size = if *full { Size::Full } else { Size::Quick };
            let totals = matrix::test(&workspace, *backend, *device, size)?;
            println!("{totals}");
            totals.success()
        }
        Command::Bundle { backend, out } => test_bundle::make(&workspace, *backend, out),
        Command::Bench(args) => bench::run(&workspace, args),
        Command::Package => package::run(&workspace),
        Command::Precompile(args) => precompile::run(&workspace, args),
        Command::Fuzz(args) => fuzz::run(&workspace, args),
        Command::Book => book::run(&workspace),
        Command::BookLinks { question } if question.is_empty() => book::preprocess(&workspace),
        Command::BookLinks { .. } => Ok(()),
        Command::Ci => ci::run(&workspace),
        Command::Tidy => tidy::run(&workspace),
        Command::Bindgen { headers } => make_bindings(&workspace, headers),
    }
}

#[cfg(feature = "bindgen")]
fn make_bindings(workspace: &Workspace, headers: &std::path::Path) -> Result<(), TaskError> {
    let out = workspace.path("rhi-amdgpu/src/generated/hip.rs");
    bindgen::run(headers, &out).map_err(|source| TaskError::Bindgen { source })?;
    println!("wrote {}", out.display());
    Ok(())
}

/// Runs the same command again, built with the feature.
#[cfg(not(feature = "bindgen"))]
fn make_bindings(workspace: &Workspace, headers: &std::path::Path) -> Result<(), TaskError> {
    let mut cargo =
        workspace.cargo(["run", "--quiet", "--package", "xtask", "--features", "bindgen"]);
    cargo.args(["--", "bindgen", "--headers"]).arg(headers);
    shell::run(&mut cargo)
}
