//! Runs other programs: prints each command and reports failures.

use std::{
    ffi::OsStr,
    fmt::Write as _,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

/// The errors of all developer tasks.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TaskError {
    #[error("{program} could not be started: {source}")]
    Start { program: String, source: io::Error },
    #[error("failed: {command}")]
    Command { command: String },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("cargo wrote a message that is not JSON: {source}")]
    Message { source: serde_json::Error },
    #[error("no hardware for {backends}; `--device auto` would take the simulator")]
    NoHardware { backends: String },
    #[error("{failed} of the tests failed")]
    Tests { failed: u64 },
    #[error("the tests did not run: {step} ended with an error and no failed test")]
    NoTests { step: String },
    #[error("the repository's lints have {count} findings")]
    Tidy { count: usize },
    #[error("{what} was not built")]
    NotBuilt { what: String },
    #[error("{path} is missing from the package")]
    MissingInPackage { path: PathBuf },
    #[error("the bundle has {mebibytes} MiB, which is over its limit of {limit}")]
    TooLarge { mebibytes: u64, limit: u64 },
    #[error("{count} links of the book have no target")]
    Links { count: usize },
    #[error("{count} steps failed")]
    Steps { count: usize },
    #[cfg(feature = "bindgen")]
    #[error("{source}")]
    Bindgen { source: crate::bindgen::BindgenError },
}

/// The folder of the workspace.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace that this program was built in.
    pub(crate) fn find() -> Self {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self { root: own.parent().unwrap_or(own).to_owned() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// The cargo that runs this program, in the workspace's folder.
    pub(crate) fn cargo<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(program);
        command.current_dir(&self.root).args(args);
        command
    }

    /// What `cargo metadata` says about each package of the workspace.
    pub(crate) fn members(&self) -> Result<Vec<Value>, TaskError> {
        let mut metadata = self.cargo(["metadata", "--no-deps", "--format-version", "1"]);
        let mut metadata: Value = serde_json::from_str(&read(&mut metadata)?)
            .map_err(|source| TaskError::Message { source })?;
        match metadata["packages"].take() {
            Value::Array(members) => Ok(members),
            _ => Ok(Vec::new()),
        }
    }

    /// Cargo's target folder.
    pub(crate) fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| self.path("target"), |dir| self.path(dir))
    }
}

/// The command line, without the folder of the program.
pub(crate) fn text(command: &Command) -> String {
    let mut text = String::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            let _ = write!(text, "{}={} ", name.to_string_lossy(), value.to_string_lossy());
        }
    }
    let program = Path::new(command.get_program());
    text.push_str(&program.file_name().unwrap_or(program.as_os_str()).to_string_lossy());
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    text
}

/// Runs a command with this program's own output.
pub(crate) fn run(command: &mut Command) -> Result<(), TaskError> {
    announce(command);
    let status = command.status().map_err(|source| could_not_start(command, source))?;
    if status.success() { Ok(()) } else { Err(TaskError::Command { command: text(command) }) }
}

/// Runs a command and returns its standard output; standard error is inherited.
pub(crate) fn read(command: &mut Command) -> Result<String, TaskError> {
    announce(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| could_not_start(command, source))?;
    if !output.status.success() {
        return Err(TaskError::Command { command: text(command) });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command and calls `line` with every line of standard output and standard error, in the order written.
/// Returns whether it succeeded.
pub(crate) fn follow(command: &mut Command, mut line: impl FnMut(&str)) -> Result<bool, TaskError> {
    announce(command);
    let pipe = |source| TaskError::Start { program: "a pipe".to_owned(), source };
    let (reader, writer) = io::pipe().map_err(pipe)?;
    let mut child = command
        .stdout(writer.try_clone().map_err(pipe)?)
        .stderr(writer)
        .spawn()
        .map_err(|source| could_not_start(command, source))?;
    // Close the command's copies of the writer, so that the reader sees the end of the pipe.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).map_err(pipe)? > 0 {
        line(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']));
        bytes.clear();
    }
    Ok(child.wait().map_err(pipe)?.success())
}

/// Adds the path to a file error.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> TaskError + '_ {
    move |source| TaskError::File { path: path.to_owned(), source }
}

fn announce(command: &Command) {
    eprintln!("$ {}", text(command));
}

fn could_not_start(command: &Command, source: io::Error) -> TaskError {
    TaskError::Start { program: command.get_program().to_string_lossy().into_owned(), source }
}
