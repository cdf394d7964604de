//! C rivals, compiled by the system's compiler when a bench runs, and loaded.

use std::{mem::ManuallyDrop, process::Command};

use libloading::Library;

/// Compiles a C file with OpenMP for this processor and loads it, or says why that failed.
///
/// The library is never unloaded: OpenMP's threads run its code until the process ends.
pub fn compile(text: &str, options: &[&str]) -> Result<ManuallyDrop<Library>, String> {
    const FLAGS: &[&str] = &["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"];
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (source, library) = (folder.path().join("rivals.c"), folder.path().join("rivals.so"));
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    let mut command = Command::new("cc");
    command.args(FLAGS).args(options).arg(&source).arg("-o").arg(&library).arg("-lm");
    let output = command.output().map_err(|error| format!("cc: {error}"))?;
    if !output.status.success() {
        return Err(format!("cc: {}", String::from_utf8_lossy(&output.stderr)));
    }
    // SAFETY: what was compiled has no initializers except OpenMP's.
    unsafe { Library::new(&library) }.map(ManuallyDrop::new).map_err(|error| error.to_string())
}
