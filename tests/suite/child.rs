//! Tests that end their process, measure it, or may hang: each runs in a child process with a time limit.
//!
//! The child is this test binary with the one test [`child::run`](run), and the name of the work in the environment.

use std::{
    ffi::OsStr,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use quadrants::Result;
use quadrants_tests::TestBackend;

/// A work of a child: its name and what it does.
pub(crate) type Work = (&'static str, fn(TestBackend) -> Result<()>);

const VARIABLE: &str = "QUADRANTS_TEST_CHILD";

/// Runs a work in a child process, which must end by itself in time.
pub(crate) fn output(work: &str, backend: TestBackend, limit: Duration) -> Output {
    output_in(work, backend, limit, &[])
}

/// As [`output`], with more variables in its environment.
pub(crate) fn output_in(
    work: &str,
    backend: TestBackend,
    limit: Duration,
    environment: &[(&str, &OsStr)],
) -> Output {
    wait(work, backend, limit, environment)
        .unwrap_or_else(|output| panic!("`{work}` on {backend:?} hangs: {output:?}"))
}

/// As [`output`]; none where the child does not end in time.
pub(crate) fn output_or_hang(work: &str, backend: TestBackend, limit: Duration) -> Option<Output> {
    wait(work, backend, limit, &[]).ok()
}

/// The output of a child that ended, or as an error that of one that was killed.
fn wait(
    work: &str,
    backend: TestBackend,
    limit: Duration,
    environment: &[(&str, &OsStr)],
) -> std::result::Result<Output, Output> {
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    command.envs(environment.iter().copied());
    command.args(["child::run", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(VARIABLE, format!("{work} {}", backend.arch().name()));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a child");
    let start = Instant::now();
    while child.try_wait().expect("its state").is_none() {
        if start.elapsed() > limit {
            child.kill().expect("an end");
            return Err(child.wait_with_output().expect("its output"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(child.wait_with_output().expect("its output"))
}

/// What a child does; nothing in other processes.
#[test]
fn run() {
    let Ok(request) = std::env::var(VARIABLE) else { return };
    let (work, name) = request.rsplit_once(' ').expect("a work and a backend");
    let backend = TestBackend::ALL.into_iter().find(|backend| backend.arch().name() == name);
    let backend = backend.expect("a backend");
    let all = [
        crate::lifetimes::process_exit::WORKS,
        crate::lifetimes::soak::WORKS,
        crate::hazards::policies::WORKS,
        crate::hazards::race_detector::WORKS,
        crate::errors::environment::WORKS,
        crate::cache::image_bundles::WORKS,
        crate::launch::reentrant_compiler::WORKS,
        crate::regions::overlap::WORKS,
        crate::profiles::interfaces::WORKS,
        crate::profiles::traces::WORKS,
        crate::collectives::processes::WORKS,
    ];
    let mut all = all.into_iter().flatten();
    let (_, work) = all.find(|(name, _)| *name == work).expect("a known work");
    work(backend).expect("no error");
}
