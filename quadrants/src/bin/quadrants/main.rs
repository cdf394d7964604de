//! The `quadrants` command: reports what this machine can run, diagnoses why something does not run, manages the kernel
//! cache, reads traces, and creates projects.

mod bench;
mod cache;
mod doctor;
mod info;
mod new;
mod text;
mod trace;

use std::{
    fmt,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{CommandFactory, Parser, Subcommand};

/// Kernels on many GPU streams.
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the backends, their drivers, devices and compilers, and the kernel cache.
    Info(info::Options),
    /// Try each step from the driver's library to the result of a kernel, and name the remedy of the first that fails.
    Doctor(doctor::Options),
    /// Show, clear or check the kernel cache.
    Cache(cache::Options),
    /// Print the table of a trace that QUADRANTS_TRACE wrote.
    Trace(trace::Options),
    /// Make a project that builds and runs.
    New(new::Options),
    /// Measure launches, regions, overlap and bandwidth against the same driver calls made by hand.
    Bench(bench::Options),
    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Why a command failed.
#[derive(Debug)]
enum CommandError {
    /// The command has printed what is wrong.
    Printed,
    /// The result cannot be printed.
    Output(io::Error),
    /// A file or folder cannot be used.
    File { what: &'static str, path: PathBuf, source: io::Error },
    /// An error of the library.
    Quadrants(quadrants::Error),
    /// A wrong argument, or a state in which the command cannot work.
    Refused(String),
}

fn main() -> ExitCode {
    let mut out = io::stdout();
    let done = run(Options::parse().command, &mut out);
    match done.and_then(|()| out.flush().map_err(CommandError::Output)) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough: `quadrants info | head -n 1`.
        Err(CommandError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(CommandError::Printed) => ExitCode::FAILURE,
        Err(failure) => {
            // Nothing is left to do where this fails.
            let _ = writeln!(io::stderr(), "error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command, out: &mut dyn Write) -> Result<(), CommandError> {
    match command {
        Command::Info(options) => info::run(&options, out),
        Command::Doctor(options) => doctor::run(&options, out),
        Command::Cache(options) => cache::run(&options, out),
        Command::Trace(options) => trace::run(&options, out),
        Command::New(options) => new::run(&options, out),
        Command::Bench(options) => bench::run(&options, out),
        Command::Completions { shell } => {
            // Into memory first: the generator panics where it cannot write.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Options::command(), "quadrants", &mut script);
            Ok(out.write_all(&script)?)
        }
    }
}

/// A backend by its name, for the command line.
fn parse_arch(name: &str) -> Result<quadrants::Arch, String> {
    name.parse().map_err(|error: quadrants::Error| error.to_string())
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Printed => Ok(()),
            Self::Output(error) => write!(f, "the result cannot be printed: {error}"),
            Self::File { what, path, source } => {
                write!(f, "{what} `{}`: {source}", path.display())
            }
            Self::Quadrants(error) => write!(f, "{error}"),
            Self::Refused(text) => f.write_str(text),
        }
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<quadrants::Error> for CommandError {
    fn from(error: quadrants::Error) -> Self {
        Self::Quadrants(error)
    }
}

impl From<quadrants::rhi::Error> for CommandError {
    fn from(error: quadrants::rhi::Error) -> Self {
        Self::Quadrants(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }
}
