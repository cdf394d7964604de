//! Tests that end their process, or measure it: each runs in a child of its own, with a time limit.
//!
//! The child is this test binary with the one test [`child::run`](run), and the work by its name in the environment.

use std::{
    ffi::OsStr,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use quadrants::Result;
use quadrants_tests::TestBackend::{self, AmdGpu, Cpu, Cuda};

/// What a child can be asked to do.
pub(crate) type Work = (&'static str, fn(TestBackend) -> Result<()>);

const VARIABLE: &str = "QUADRANTS_TEST_CHILD";

/// Runs a work in a child process, which must end by itself in time.
pub(crate) fn output(work: &str, backend: TestBackend, limit: Duration) -> Output {
    output_in(work, backend, limit, &[])
}

/// As [`output`], with more in its environment.
pub(crate) fn output_in(
    work: &str,
    backend: TestBackend,
    limit: Duration,
    environment: &[(&str, &OsStr)],
) -> Output {
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
            let output = child.wait_with_output().expect("its output");
            panic!("`{work}` on {backend:?} hangs: {output:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("its output")
}

/// What a child does; nothing where this is no child.
#[test]
fn run() {
    let Ok(asked) = std::env::var(VARIABLE) else { return };
    let (work, name) = asked.rsplit_once(' ').expect("a work and a backend");
    let backend = [Cpu, Cuda, AmdGpu].into_iter().find(|backend| backend.arch().name() == name);
    let backend = backend.expect("a backend");
    let all = [
        crate::lifetimes::process_exit::WORKS,
        crate::lifetimes::soak::WORKS,
        crate::hazards::race_detector::WORKS,
        crate::errors::environment::WORKS,
        crate::cache::image_bundles::WORKS,
    ];
    let mut all = all.into_iter().flatten();
    let (_, work) = all.find(|(name, _)| *name == work).expect("a known work");
    work(backend).expect("no error");
}
