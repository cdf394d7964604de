//! Runs the Python scripts that need no GPU, where Python and NumPy are installed.

use std::{path::Path, process::Command};

/// The shared library of this package, which cargo builds beside its tests.
fn library() -> std::path::PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    test.with_file_name(format!("{prefix}quadrants_library_examples{suffix}"))
}

#[test]
fn a_kernel_runs_between_operations_of_numpy() {
    let has_numpy = Command::new("python3").args(["-c", "import numpy"]).output();
    if !has_numpy.is_ok_and(|output| output.status.success()) {
        return println!("skipped: python3 with numpy is not installed");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/numpy_step.py");
    let run = Command::new("python3")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(script)
        .arg(library())
        .output()
        .expect("python3 starts");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}{err}");
    assert!(out.contains("x[0] is 3000.0"), "{out}");
}
