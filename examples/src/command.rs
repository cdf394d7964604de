//! The command line, the same for all examples.

use std::{ffi::OsString, num::NonZeroUsize, path::PathBuf, process::ExitCode};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use quadrants as qd;

use crate::{Error, Result, Run};

/// What a simulation says about itself, and what it takes where the command line says nothing.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name of the program, and of the folder for its pictures.
    pub name: &'static str,
    /// What it does, in one line.
    pub text: &'static str,
    /// How many steps it makes.
    pub steps: usize,
    /// How large it is.
    pub size: usize,
    /// What that size counts.
    pub size_of: &'static str,
    /// The least and the greatest size.
    pub sizes: (usize, usize),
    /// The text of its kernels, of which the summary says how many need `unsafe`.
    pub kernels: &'static str,
}

/// What the command line says.
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
}

/// What `--backend` takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum BackendChoice {
    /// The processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// An AMD GPU.
    Amdgpu,
    /// The best that there is.
    Auto,
}

/// The whole program: reads the command line, does the work and says what there is to say. Where
/// something is wrong it says so in one line, and the exit status is not 0.
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

/// Makes the run, does the work, and gives the summary.
pub(crate) fn execute(
    about: &About,
    options: &Options,
    open: impl FnOnce() -> Result<qd::Program>,
    work: impl FnOnce(&mut Run) -> Result<()>,
) -> Result<String> {
    let mut run = Run::new(about, options, open)?;
    work(&mut run)?;
    Ok(run.finish())
}

/// The options; none where help was asked for and given.
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
            // Without the advice that follows the first paragraph.
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or(&text);
            Err(Error::Usage(first.trim_start_matches("error: ").to_owned()))
        }
        Err(help) => {
            // Nobody is left to be told when this fails.
            let _ = help.print();
            Ok(None)
        }
    }
}

/// A program on the device.
fn open(backend: BackendChoice) -> Result<qd::Program> {
    let (device, opened) = match backend {
        BackendChoice::Cpu => ("cpu", qd::Program::open(qd::Arch::Cpu)),
        BackendChoice::Cuda => ("cuda", qd::Program::open(qd::Arch::Cuda)),
        BackendChoice::Amdgpu => ("amdgpu", qd::Program::open(qd::Arch::AmdGpu)),
        BackendChoice::Auto => ("auto", qd::Program::open(qd::Arch::from_env_or_best())),
    };
    opened.map_err(|source| Error::Open { device, source: Box::new(source) })
}
