//! `cargo xtask ci`: all steps of CI; `.ci/run` installs missing tools and calls it.
//!
//! All steps run, even after a failure, so that one log shows all problems.

use std::{fs, path::PathBuf, process::Command};

use crate::{
    book, fuzz,
    matrix::{self, BackendChoice, DeviceChoice, Size},
    package,
    shell::{self, Failure, Workspace, at},
    tidy,
    totals::Totals,
};

/// A part of the photograph that the simulator's interpreter can process in seconds.
const CROP: [&str; 2] = ["--crop", "256x256+0+0"];

/// Runs every step and prints the totals of tests and steps.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let mut totals = Totals::default();
    let mut failures = Vec::new();
    {
        let mut step = |name: &str, result: Result<(), Failure>| match result {
            Ok(()) => totals.passed += 1,
            Err(failure) => {
                println!("FAILED: {name}: {failure}");
                totals.failed += 1;
                failures.push(name.to_owned());
            }
        };
        step("tidy", tidy::run(workspace));
        step("documentation", documentation(workspace));
        if book::is_possible() {
            step("the book as HTML", book::run(workspace));
        } else {
            println!("left out: the book as HTML, because mdBook is not installed");
        }
        if deny(workspace, "--version").output().is_ok_and(|output| output.status.success()) {
            let mut deny = deny(workspace, "check");
            step("dependencies", shell::run(deny.args(["bans", "licenses", "sources"])));
        } else {
            println!("left out: the rules for dependencies, because cargo-deny is not installed");
        }
        step("features", features(workspace));
        step("packages", package::run(workspace));
        step("source fuzzer", fuzz::in_ci(workspace));
        step("the quadrants command", command(workspace));
        step("sharing with cudarc", cudarc(workspace));
        for (name, result) in galaxies(workspace) {
            step(&name, result);
        }
        for (name, result) in external_users(workspace) {
            step(&name, result);
        }
    }
    // The README's test command at full size, with documentation and examples.
    match matrix::test(workspace, BackendChoice::All, DeviceChoice::Auto, Size::Full) {
        Ok(tests) => totals.add(tests),
        Err(failure) => {
            println!("FAILED: tests: {failure}");
            totals.failed += 1;
            failures.push("tests".to_owned());
        }
    }
    if let Some(result) = dumped_sources(workspace) {
        match result {
            Ok(()) => totals.passed += 1,
            Err(failure) => {
                println!("FAILED: sources: {failure}");
                totals.failed += 1;
                failures.push("sources".to_owned());
            }
        }
    }
    for name in &failures {
        println!("failed step: {name}");
    }
    println!("{totals}");
    if failures.is_empty() {
        totals.success()
    } else {
        Err(Failure::Steps { count: failures.len() })
    }
}

/// Compiles the sources that the earlier steps dumped with every real compiler, for one supported architecture.
/// `None` if nothing was dumped.
fn dumped_sources(workspace: &Workspace) -> Option<Result<(), Failure>> {
    let folder = std::env::var_os("QUADRANTS_DUMP")?;
    let mut test = workspace.cargo(["test", "--all-features", "--lib"]);
    test.args(["--package", "quadrants-rhi-cuda", "--package", "quadrants-rhi-amdgpu"]);
    test.args(["compiler::targets::", "--", "--show-output"]);
    test.env("QUADRANTS_COMPILE_DUMP", folder).env_remove("QUADRANTS_DUMP");
    Some(shell::run(&mut test))
}

fn documentation(workspace: &Workspace) -> Result<(), Failure> {
    let mut doc = workspace.cargo(["doc", "--workspace", "--no-deps", "--quiet"]);
    // A crate's page may link private modules.
    doc.env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links");
    shell::run(&mut doc)
}

/// cargo-deny, whose rules are in `deny.toml`.
fn deny(workspace: &Workspace, command: &str) -> Command {
    workspace.cargo(["deny", command])
}

/// The facade with each backend alone, without one, and with the command: features only add.
fn features(workspace: &Workspace) -> Result<(), Failure> {
    for features in ["", "cpu", "cuda", "amdgpu", "cpu,cli", "cudarc"] {
        let mut clippy = workspace.cargo(["clippy", "--quiet", "--package", "quadrants"]);
        clippy.args(["--lib", "--bins", "--no-default-features", "--features", features]);
        shell::run(clippy.args(["--", "--deny", "warnings"]))?;
    }
    Ok(())
}

/// The tests of the command, which other steps do not build. A project that it makes is built too.
fn command(workspace: &Workspace) -> Result<(), Failure> {
    let mut test = workspace.cargo(["test", "--package", "quadrants", "--features", "cli"]);
    test.args(["--bin", "quadrants", "--test", "command"]).env("QUADRANTS_TEST_FULL", "1");
    shell::run(&mut test)
}

/// The tests of the feature `cudarc`, which other steps do not build.
fn cudarc(workspace: &Workspace) -> Result<(), Failure> {
    let mut test = workspace.cargo(["test", "--package", "quadrants", "--features", "cudarc"]);
    shell::run(test.args(["--test", "cudarc"]))
}

/// The example on the whole picture, then on a part of it on every backend; the catalogues must agree.
fn galaxies(workspace: &Workspace) -> Vec<(String, Result<(), Failure>)> {
    let mut build = workspace.cargo(["build", "--release", "--package", "quadrants"]);
    build.args(["--example", "galaxies"]);
    let mut simulator =
        workspace.cargo(["build", "--release", "--package", "quadrants-driver-sim"]);
    let built = shell::run(&mut build).and_then(|()| shell::run(&mut simulator));
    if built.is_err() {
        return vec![("build of galaxies and the simulator".to_owned(), built)];
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
    let mut results = Vec::new();
    let mut run = |name: String, mut command: Command| {
        results.push((name, shell::run(&mut command)));
    };

    run("galaxies on cpu".to_owned(), galaxies("cpu", "explicit", out("whole")));
    let mut part = galaxies("cpu", "explicit", out("cpu-explicit"));
    part.args(CROP);
    run("galaxies on a part, cpu explicit".to_owned(), part);
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
            run(format!("galaxies on a part, {backend} {streams}"), part);
        }
    }
    results
}

/// The packages in tests/external, which use one layer crate each from outside the workspace.
fn external_users(workspace: &Workspace) -> Vec<(String, Result<(), Failure>)> {
    let folder = workspace.path("tests/external");
    let packages = match fs::read_dir(&folder).map_err(at(&folder)) {
        Ok(packages) => packages,
        Err(failure) => return vec![("external users".to_owned(), Err(failure))],
    };
    let mut manifests: Vec<PathBuf> = packages
        .filter_map(|entry| Some(entry.ok()?.path().join("Cargo.toml")))
        .filter(|manifest| manifest.is_file())
        .collect();
    manifests.sort();
    manifests
        .into_iter()
        .map(|manifest| {
            let mut test = workspace.cargo(["test", "--quiet", "--manifest-path"]);
            // One target folder for all: they share their dependencies.
            test.arg(&manifest).arg("--target-dir").arg(workspace.target().join("external"));
            let name = manifest.parent().and_then(|p| p.file_name()).unwrap_or_default();
            (format!("external user {}", name.to_string_lossy()), shell::run(&mut test))
        })
        .collect()
}
