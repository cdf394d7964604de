//! The simulator in place of the driver: an unmodified program runs on it through environment variables, and the race
//! detector reports its missing event.

use std::{ffi::OsStr, time::Duration};

use quadrants::{Hazards, Program, Result};
use quadrants_tests::{
    TestBackend::{self, Cuda},
    on_gpu_backends,
};

use crate::{
    child,
    common::{copy, set},
};

const N: usize = 256;

/// The works of children.
pub(crate) const WORKS: &[child::Work] = &[
    ("two streams and an event", |backend| two_streams(backend, true)),
    ("two streams without the event", |backend| two_streams(backend, false)),
];

/// A program on the driver that the backend finds by itself.
fn two_streams(backend: TestBackend, with_event: bool) -> Result<()> {
    let program = Program::builder().hazards(Hazards::Explicit).open(backend.arch())?;
    let (produces, consumes) = (program.create_stream()?, program.create_stream()?);
    let done = program.create_event()?;
    let (mut a, mut b) = (program.zeros::<f32, 1>([N])?, program.zeros::<f32, 1>([N])?);
    set(7.0, &mut a).launch_on(&produces)?;
    done.record(&produces)?;
    if with_event {
        done.wait(&consumes)?;
    }
    copy(&a, &mut b).launch_on(&consumes)?;
    println!("first element: {}", b.to_vec()?[0]);
    Ok(())
}

/// Runs a work with the simulator as its driver; returns its standard output and standard error.
fn told(work: &str, backend: TestBackend) -> (String, String) {
    let beside = std::env::current_exe().expect("a program");
    let name = format!(
        "{}quadrants_driver_sim{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    );
    let library = beside.with_file_name(name);
    assert!(library.exists(), "{} is built with the tests", library.display());
    let variable = match backend {
        Cuda => "QUADRANTS_CUDA_LIBRARY",
        _ => "QUADRANTS_HIP_LIBRARY",
    };
    let environment = [
        (variable, library.as_os_str()),
        ("QUADRANTS_SIM_RACES", OsStr::new("1")),
        ("QUADRANTS_SIM_SCHEDULE", OsStr::new("adversarial")),
    ];
    let output = child::output_in(work, backend, Duration::from_secs(60), &environment);
    let [printed, told] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{printed}{told}");
    (printed, told)
}

#[on_gpu_backends]
fn the_race_detector_reports_a_missing_event_in_any_program(backend: TestBackend) {
    if backend.open_simulated().is_none() {
        return;
    }
    let (printed, clean) = told("two streams and an event", backend);
    assert!(printed.contains("first element: 7\n"), "{printed}");
    assert!(!clean.contains("race"), "{clean}");

    let (printed, report) = told("two streams without the event", backend);
    assert!(printed.contains("first element: 0\n"), "the adversary shows it too: {printed}");
    let races: Vec<_> = report.lines().filter(|line| line.contains("race on")).collect();
    let [race] = races[..] else { panic!("one race is expected: {report}") };
    let after = |text: &str| {
        let (_, rest) = race.split_once(text).unwrap_or_else(|| panic!("`{text}`: {race}"));
        rest.split([' ', ',', '.', ')']).next().unwrap_or_default().to_owned()
    };
    assert!(race.contains(&format!("race on {} bytes", 4 * N)), "{race}");
    let (first, second) = (after("(launch set_0) on stream "), after("(launch copy_0) on stream "));
    assert_ne!(first, second, "both streams are named: {race}");
    let (before, behind) = (after("write by operation "), after("read by operation "));
    let (edge, at) = (
        format!("Stream {second} does not wait for operation {before} "),
        format!("before operation {behind}"),
    );
    assert!(race.contains(&edge) && race.ends_with(&at), "the missing edge: {race}");
}
