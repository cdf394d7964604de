//! The command line, which all examples share.

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf, process::ExitCode};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use quadrants as qd;

use crate::{Error, Result, Run, trace::TraceOption};

/// The description of a simulation and the defaults of its options.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name of the program, and of the folder for its pictures.
    pub name: &'static str,
    /// A description in one line.
    pub text: &'static str,
    /// The default number of steps.
    pub steps: usize,
    /// The default size.
    pub size: usize,
    /// What the size counts.
    pub size_of: &'static str,
    /// The smallest and the largest size.
    pub sizes: (usize, usize),
    /// The source of its kernels; the summary counts those that need `unsafe`.
    pub kernels: &'static str,
}

/// The parsed command line.
#[derive(Parser, Debug)]
#[command(max_term_width = 100, args_override_self = true)]
pub(crate) struct Options {
    /// The device
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub(crate) backend: BackendChoice,
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[arg(long, value_name = "N")]
    pub(crate) steps: Option<NonZeroUsize>,
    #[arg(long, value_name = "N")]
    pub(crate) size: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) trace: TraceOption,
}

/// The values of `--backend`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BackendChoice {
    /// This processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// An AMD GPU.
    Amdgpu,
    /// The best available device.
    Auto,
}

/// The whole program: parses the command line, does the work and prints the summary. An error is
/// printed in one line, and the exit status is not 0.
#[must_use]
pub fn main(about: &About, work: impl FnOnce(&mut Run) -> Result<()>) -> ExitCode {
    match parse(about, std::env::args_os()) {
        Ok(Some(options)) => match execute(about, &options, || open(options.backend), work) {
            Ok(summary) => {
                print!("{summary}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("{}: {}", about.name, error.one_line());
                ExitCode::FAILURE
            }
        },
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {}", about.name, error.one_line());
            ExitCode::from(2)
        }
    }
}

/// Creates the run, does the work, and returns the summary.
pub(crate) fn execute(
    about: &About,
    options: &Options,
    open: impl FnOnce() -> Result<qd::Program>,
    work: impl FnOnce(&mut Run) -> Result<()>,
) -> Result<String> {
    let mut run = Run::new(about, options, open)?;
    let program = run.program().clone();
    let ((), files) = options.trace.record(&[program], || work(&mut run))?;
    Ok(run.finish() + &files)
}

/// The options; `None` if help was requested and printed.
pub(crate) fn parse(
    about: &About,
    args: impl IntoIterator<Item = OsString>,
) -> Result<Option<Options>> {
    let command = Options::command()
        .name(about.name)
        .about(about.text)
        .mut_arg("out", |arg| {
            arg.help(format!("The folder for pictures [default: target/{}]", about.name))
        })
        .mut_arg("steps", |arg| {
            arg.help(format!("How many steps to make [default: {}]", about.steps))
        })
        .mut_arg("size", |arg| arg.help(format!("{} [default: {}]", about.size_of, about.size)));
    let matches = command.try_get_matches_from(args);
    match matches.and_then(|matches| Options::from_arg_matches(&matches)) {
        Ok(options) => Ok(Some(options)),
        Err(error) if error.use_stderr() => {
            // Drop the advice after the first paragraph.
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or(&text);
            Err(Error::Usage(first.trim_start_matches("error: ").to_owned()))
        }
        Err(help) => {
            // Nothing can be done when printing fails.
            let _ = help.print();
            Ok(None)
        }
    }
}

/// A program on the device.
pub(crate) fn open(backend: BackendChoice) -> Result<qd::Program> {
    let (device, opened) = match backend {
        BackendChoice::Cpu => ("cpu", qd::Program::open(qd::Arch::Cpu)),
        BackendChoice::Cuda => ("cuda", qd::Program::open(qd::Arch::Cuda)),
        BackendChoice::Amdgpu => ("amdgpu", qd::Program::open(qd::Arch::AmdGpu)),
        BackendChoice::Auto => ("auto", qd::Program::open(qd::Arch::from_env_or_best())),
    };
    opened.map_err(|source| Error::Open { device, source: Box::new(source) })
}
