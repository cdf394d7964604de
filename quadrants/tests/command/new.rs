//! `quadrants new`: the project builds, runs and passes its tests; wrong names and taken folders are refused.

use std::{fs, path::Path, process::Command};

use super::{fails, quadrants, succeeds};

/// The repository.
const CLONE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn new(folder: &Path, name: &str) -> Command {
    let mut command = quadrants();
    command.current_dir(folder).args(["new", "--", name]);
    command
}

#[test]
fn a_project_has_no_placeholder_and_names_its_sources() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = succeeds(&mut new(folder.path(), "waves"));
    assert!(out.contains("cd waves") && out.contains("cargo run"), "{out}");
    let manifest = fs::read_to_string(folder.path().join("waves/Cargo.toml")).expect("a manifest");
    assert!(manifest.contains("name = \"waves\""), "{manifest}");
    assert!(manifest.contains("quadrants = { git = \"https://"), "{manifest}");
    assert!(manifest.contains("[profile.dev.package.kernels]\nopt-level = 3"), "{manifest}");
}

#[test]
fn wrong_names_and_taken_folders_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["", "2d", "a b", "a/b", "..", "-v", "kernels", "fn", "wäve"] {
        let error = fails(&mut new(folder.path(), name));
        assert!(error.contains("cannot be a project"), "{error}");
    }
    fs::create_dir(folder.path().join("taken")).expect("a folder");
    fs::write(folder.path().join("file"), "mine").expect("a file");
    for name in ["taken", "file"] {
        let error = fails(&mut new(folder.path(), name));
        assert!(error.contains("exists already"), "{error}");
    }
    let here = |entry: fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
    let mut left: Vec<_> = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|f| here(f.expect("a file")))
        .collect();
    left.sort();
    assert_eq!(left, ["file", "taken"], "nothing is left of a refused project");
    assert_eq!(fs::read(folder.path().join("file")).expect("a file"), b"mine");
}

#[test]
fn a_path_that_is_no_clone_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = quadrants();
    command.current_dir(folder.path());
    let error = fails(command.args(["new", "waves", "--path", "/nonexistent"]));
    assert!(error.contains("cannot use `/nonexistent`"), "{error}");
    let mut command = quadrants();
    command.current_dir(folder.path());
    let error = fails(command.args(["new", "waves", "--path", "."]));
    assert!(error.contains("is not a clone"), "{error}");
    assert!(!folder.path().join("waves").exists());
}

/// Takes minutes, because it builds the library anew: at full size only.
#[test]
fn the_project_builds_runs_and_passes_its_tests() {
    if std::env::var_os("QUADRANTS_TEST_FULL").is_none() {
        println!("skipped: QUADRANTS_TEST_FULL is not set");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = quadrants();
    command.current_dir(folder.path());
    succeeds(command.args(["new", "my-waves", "--path", CLONE]));
    let project = folder.path().join("my-waves");
    // The versions of the repository, which are on this machine already.
    fs::copy(Path::new(CLONE).join("Cargo.lock"), project.join("Cargo.lock")).expect("a file");
    // One target folder for all packages outside of the workspace: they share their dependencies.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("external");
    let cargo = |args: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(&project).args(args).arg("--offline").arg("--target-dir").arg(&target);
        cargo.env("QUADRANTS_ARCH", "cpu");
        let output = cargo.output().expect("cargo starts");
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(output.status.success(), "{out}{err}");
        assert!(!err.contains("warning"), "{err}");
        out
    };
    let out = cargo(&["run", "--quiet"]);
    assert!(out.contains("(cpu): [0.00"), "{out}");
    let out = cargo(&["test", "--quiet"]);
    assert!(out.contains("2 passed"), "{out}");
}
