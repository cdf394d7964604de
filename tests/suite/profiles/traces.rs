//! `QUADRANTS_TRACE` writes the trace of programs without a change of their source.

use std::{ffi::OsStr, fs, path::Path, time::Duration};

use quadrants::{Error, Result, Timeline};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{N, forms::check_trace, scale, spans_of};
use crate::child;

/// The works of children.
pub(crate) const WORKS: &[child::Work] = &[
    ("a program that is dropped", dropped),
    ("a program that is never dropped", leaked),
    ("a program that profiles itself", profiled),
    ("a program with a bad trace file", refused),
];

fn launch(backend: TestBackend, times: usize) -> Result<Option<quadrants_tests::On>> {
    let Some(on) = backend.open() else { return Ok(None) };
    let mut x = on.program.tensor_from(&[1.0f32; N], [N])?;
    (0..times).try_for_each(|_| scale(2.0, &mut x).launch())?;
    assert_eq!(x.to_vec()?[0], 2.0f32.powi(times as i32));
    drop(x);
    Ok(Some(on))
}

fn dropped(backend: TestBackend) -> Result<()> {
    for times in [3, 4] {
        drop(launch(backend, times)?);
    }
    Ok(())
}

fn leaked(backend: TestBackend) -> Result<()> {
    std::mem::forget(launch(backend, 5)?);
    Ok(())
}

fn profiled(backend: TestBackend) -> Result<()> {
    let Some(on) = launch(backend, 2)? else { return Ok(()) };
    let program = &on.program;
    let mut x = program.tensor_from(&[1.0f32; N], [N])?;
    let (launched, timeline) = program.profile(|| {
        assert!(matches!(program.profile(|| ()), Err(Error::ProfileActive)));
        scale(2.0, &mut x).launch()
    })?;
    launched?;
    super::check(&timeline);
    assert_eq!(spans_of(&timeline, quadrants::SpanKind::Task).count(), 1, "{timeline:#?}");
    Ok(())
}

fn refused(backend: TestBackend) -> Result<()> {
    let (_world, opened) = match backend.open_device() {
        Some(opened) => opened,
        None => return Ok(()),
    };
    let error = quadrants::Program::open(opened).expect_err("the file cannot be written");
    assert!(matches!(error, Error::Trace { .. }), "{error:?}");
    assert!(error.to_string().contains("QUADRANTS_TRACE"), "{error}");
    Ok(())
}

/// Runs a work with a trace to this file.
fn run(work: &str, backend: TestBackend, file: &Path) {
    let environment =
        [("QUADRANTS_TRACE", file.as_os_str()), ("QUADRANTS_CACHE", OsStr::new("off"))];
    let output = child::output_in(work, backend, Duration::from_secs(120), &environment);
    assert!(output.status.success(), "{output:#?}");
}

/// The number of launches of `scale` in a trace.
fn launches(file: &Path) -> usize {
    let mut count = 0;
    check_trace(&fs::read_to_string(file).expect("a trace"), |events| {
        let is_launch = |name: &str| name.starts_with("scale:");
        count = events.iter().filter(|e| e["name"].as_str().is_some_and(is_launch)).count();
    });
    count
}

#[on_all_backends]
fn the_trace_is_written_when_a_program_is_dropped(backend: TestBackend) -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    if backend.open().is_none() {
        return Ok(());
    }
    let file = folder.path().join("out.json");
    run("a program that is dropped", backend, &file);
    assert_eq!(launches(&file), 3);
    let trace = Timeline::from_chrome_trace(&fs::read_to_string(&file).expect("a trace"))?;
    super::check(&trace);
    let (_, profile) = backend.open().expect("as before").program.profile(|| ())?;
    assert_eq!(trace.clock(), profile.clock());
    assert_eq!(launches(&folder.path().join("out-2.json")), 4);
    Ok(())
}

#[on_all_backends]
fn the_trace_is_written_at_the_end_of_the_process(backend: TestBackend) -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    if backend.open().is_none() {
        return Ok(());
    }
    let file = folder.path().join("out.json");
    run("a program that is never dropped", backend, &file);
    assert_eq!(launches(&file), 5);
    Ok(())
}

#[on_all_backends]
fn a_traced_program_can_profile_itself(backend: TestBackend) -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    if backend.open().is_none() {
        return Ok(());
    }
    let file = folder.path().join("out.json");
    run("a program that profiles itself", backend, &file);
    assert_eq!(launches(&file), 3);
    run("a program with a bad trace file", backend, &folder.path().join("none/out.json"));
    Ok(())
}
