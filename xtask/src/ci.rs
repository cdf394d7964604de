//! `cargo xtask ci`: all steps of CI; `.ci/run` installs missing tools and calls it.
//!
//! All steps run, even after a failure, so that one log shows all problems.

use std::{fs, path::PathBuf, process::Command, time::Instant};

use crate::{
    book, fuzz,
    matrix::{self, BackendChoice, DeviceChoice, Size},
    package,
    shell::{self, TaskError, Workspace, at},
    tidy,
    totals::Totals,
};

/// A part of the photograph that the simulator's interpreter can process in seconds.
const CROP: [&str; 2] = ["--crop", "256x256+0+0"];

/// Runs every step and prints the totals of tests and steps.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    let mut steps = Steps {
        totals: Totals::default(),
        failures: Vec::new(),
        since: Instant::now(),
        times: Vec::new(),
    };
    steps.add("tidy", tidy::run(workspace));
    steps.add("documentation", documentation(workspace));
    if book::is_possible() {
        steps.add("the book as HTML", book::run(workspace));
    } else {
        println!("left out: the book as HTML, because mdBook is not installed");
    }
    if deny(workspace, "--version").output().is_ok_and(|output| output.status.success()) {
        let mut deny = deny(workspace, "check");
        steps.add("dependencies", shell::run(deny.args(["bans", "licenses", "sources"])));
    } else {
        println!("left out: the rules for dependencies, because cargo-deny is not installed");
    }
    match semver(workspace) {
        Ok(mut checks) => steps.add("changes of public APIs", shell::run(&mut checks)),
        Err(reason) => println!("left out: changes of public APIs, because {reason}"),
    }
    steps.add("features", features(workspace));
    steps.add("packages", package::run(workspace));
    steps.add("source fuzzer", fuzz::in_ci(workspace));
    steps.add("the quadrants command", command(workspace));
    steps.add("sharing with cudarc", cudarc(workspace));
    galaxies(workspace, &mut steps);
    external_users(workspace, &mut steps);
    // The README's test command at full size, with documentation and examples.
    let tests = matrix::test(workspace, BackendChoice::All, DeviceChoice::Auto, Size::Full);
    steps.add_tests("tests", tests);
    if let Some(result) = dumped_sources(workspace) {
        steps.add("sources", result);
    }
    steps.finish()
}

/// The results of the steps so far.
struct Steps {
    totals: Totals,
    failures: Vec<String>,
    /// The end of the previous step.
    since: Instant,
    /// The steps with their seconds.
    times: Vec<(String, u64)>,
}

impl Steps {
    fn add(&mut self, name: &str, result: Result<(), TaskError>) {
        self.add_tests(name, result.map(|()| Totals { passed: 1, ..Totals::default() }));
    }

    /// Adds a step with several results.
    fn add_tests(&mut self, name: &str, result: Result<Totals, TaskError>) {
        self.times.push((name.to_owned(), self.since.elapsed().as_secs()));
        self.since = Instant::now();
        match result {
            Ok(totals) => self.totals.add(totals),
            Err(failure) => {
                println!("FAILED: {name}: {failure}");
                self.totals.failed += 1;
                self.failures.push(name.to_owned());
            }
        }
    }

    /// Prints the steps' times, the failed steps and the totals.
    fn finish(self) -> Result<(), TaskError> {
        for (name, seconds) in &self.times {
            println!("{seconds:5} s  {name}");
        }
        for name in &self.failures {
            println!("failed step: {name}");
        }
        println!("{}", self.totals);
        if self.failures.is_empty() {
            self.totals.success()
        } else {
            Err(TaskError::Steps { count: self.failures.len() })
        }
    }
}

/// Compiles the sources that the earlier steps dumped with every real compiler, for one supported architecture.
/// `None` if nothing was dumped.
fn dumped_sources(workspace: &Workspace) -> Option<Result<(), TaskError>> {
    let folder = std::env::var_os("QUADRANTS_DUMP")?;
    let mut test = workspace.cargo(["test", "--all-features", "--lib"]);
    test.args(["--package", "quadrants-rhi-cuda", "--package", "quadrants-rhi-amdgpu"]);
    test.args(["compiler::targets::", "--", "--show-output"]);
    test.env("QUADRANTS_COMPILE_DUMP", folder).env_remove("QUADRANTS_DUMP");
    Some(shell::run(&mut test))
}

fn documentation(workspace: &Workspace) -> Result<(), TaskError> {
    let mut doc = workspace.cargo(["doc", "--workspace", "--no-deps", "--quiet"]);
    // A crate's page may link private modules.
    doc.env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links");
    shell::run(&mut doc)
}

/// cargo-deny, whose rules are in `deny.toml`.
fn deny(workspace: &Workspace, command: &str) -> Command {
    workspace.cargo(["deny", command])
}

/// cargo-semver-checks against the last release, the newest tag `v…`.
///
/// # Errors
/// Why there is nothing to run.
fn semver(workspace: &Workspace) -> Result<Command, &'static str> {
    let mut version = workspace.cargo(["semver-checks", "--version"]);
    if !version.output().is_ok_and(|output| output.status.success()) {
        return Err("cargo-semver-checks is not installed");
    }
    let mut tag = Command::new("git");
    tag.current_dir(workspace.root());
    tag.args(["describe", "--tags", "--abbrev=0", "--match", "v*"]);
    let tag = tag.output().ok().filter(|output| output.status.success());
    let tag = tag.ok_or("there was no release")?;
    let mut checks = workspace.cargo(["semver-checks", "--workspace", "--baseline-rev"]);
    checks.arg(String::from_utf8_lossy(&tag.stdout).trim());
    Ok(checks)
}

/// The facade with each backend alone, without one, and with the command: features only add.
fn features(workspace: &Workspace) -> Result<(), TaskError> {
    for features in ["", "cpu", "cuda", "amdgpu", "cpu,cli", "cudarc"] {
        let mut clippy = workspace.cargo(["clippy", "--quiet", "--package", "quadrants"]);
        clippy.args(["--lib", "--bins", "--no-default-features", "--features", features]);
        shell::run(clippy.args(["--", "--deny", "warnings"]))?;
    }
    Ok(())
}

/// The tests of the command, which other steps do not build. A project that it makes is built too.
fn command(workspace: &Workspace) -> Result<(), TaskError> {
    let mut test = workspace.cargo(["test", "--package", "quadrants", "--features", "cli"]);
    test.args(["--bin", "quadrants", "--test", "command"]).env("QUADRANTS_TEST_FULL", "1");
    shell::run(&mut test)
}

/// The tests of the feature `cudarc`, which other steps do not build.
fn cudarc(workspace: &Workspace) -> Result<(), TaskError> {
    let mut test = workspace.cargo(["test", "--package", "quadrants", "--features", "cudarc"]);
    shell::run(test.args(["--test", "cudarc"]))
}

/// The example on the whole picture, then on a part of it on every backend; the catalogues must agree.
fn galaxies(workspace: &Workspace, steps: &mut Steps) {
    let mut build = workspace.cargo(["build", "--release", "--package", "quadrants"]);
    build.args(["--example", "galaxies"]);
    let mut simulator =
        workspace.cargo(["build", "--release", "--package", "quadrants-driver-sim"]);
    let built = shell::run(&mut build).and_then(|()| shell::run(&mut simulator));
    if built.is_err() {
        return steps.add("build of galaxies and the simulator", built);
    }
    let release = workspace.target().join("release");
    let program = release.join("examples/galaxies");
    let library = release.join("libquadrants_driver_sim.so");
    let out = |name: &str| workspace.target().join("ci-galaxies").join(name);
    let galaxies = |backend: &str, streams: &str, to: PathBuf| {
        let mut command = Command::new(&program);
        command.current_dir(workspace.root());
        command.args(["--backend", backend, "--streams", streams, "--out"]).arg(to);
        command
    };
    let mut run = |name: &str, mut command: Command| steps.add(name, shell::run(&mut command));

    run("galaxies on cpu", galaxies("cpu", "explicit", out("whole")));
    let mut part = galaxies("cpu", "explicit", out("cpu-explicit"));
    part.args(CROP);
    run("galaxies on a part, cpu explicit", part);
    let expected = out("cpu-explicit").join("sources.csv");
    for (backend, library_variable) in [
        ("cpu", None),
        ("cuda", Some("QUADRANTS_CUDA_LIBRARY")),
        ("amdgpu", Some("QUADRANTS_HIP_LIBRARY")),
    ] {
        for streams in ["explicit", "parallel", "serial"] {
            if backend == "cpu" && streams == "explicit" {
                continue;
            }
            let mut part = galaxies(backend, streams, out(&format!("{backend}-{streams}")));
            part.args(CROP).arg("--expect").arg(&expected);
            if let Some(variable) = library_variable {
                part.env(variable, &library);
            }
            run(&format!("galaxies on a part, {backend} {streams}"), part);
        }
    }
}

/// The packages in tests/external, which use one layer crate each from outside the workspace.
fn external_users(workspace: &Workspace, steps: &mut Steps) {
    let folder = workspace.path("tests/external");
    let packages = match fs::read_dir(&folder).map_err(at(&folder)) {
        Ok(packages) => packages,
        Err(failure) => return steps.add("external users", Err(failure)),
    };
    let mut manifests: Vec<PathBuf> = packages
        .filter_map(|entry| Some(entry.ok()?.path().join("Cargo.toml")))
        .filter(|manifest| manifest.is_file())
        .collect();
    manifests.sort();
    for manifest in manifests {
        let mut test = workspace.cargo(["test", "--quiet", "--manifest-path"]);
        // One target folder for all: they share their dependencies.
        test.arg(&manifest).arg("--target-dir").arg(workspace.target().join("external"));
        let name = manifest.parent().and_then(|p| p.file_name()).unwrap_or_default();
        steps.add(&format!("external user {}", name.to_string_lossy()), shell::run(&mut test));
    }
}
