//! Guarantees: the `quadrants` command does what its pages say, on the CPU and with the simulator as a driver. It
//! answers what it cannot do with a message on standard error and exit status 1, and never panics.

mod bench;
mod cache;
mod doctor;
mod info;
mod new;
mod trace;
mod usage;

use std::{
    env::consts::{DLL_PREFIX, DLL_SUFFIX},
    path::PathBuf,
    process::{Command, Output},
};

/// The command without the caller's variables, and without a kernel cache.
fn quadrants() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quadrants"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("QUADRANTS_") {
            command.env_remove(name);
        }
    }
    command.env("QUADRANTS_CACHE", "off");
    command
}

/// The same with the simulator as the CUDA driver.
fn simulated() -> Command {
    let mut command = quadrants();
    command.env("QUADRANTS_CUDA_LIBRARY", simulator());
    command
}

/// The simulator's library, which is built with the tests.
fn simulator() -> PathBuf {
    let library = format!("{DLL_PREFIX}quadrants_driver_sim{DLL_SUFFIX}");
    let library = std::env::current_exe().expect("a program").with_file_name(library);
    assert!(library.exists(), "{}", library.display());
    library
}

/// Standard output and standard error of a command that ends with this status.
fn ends_with(status: i32, command: &mut Command) -> (String, String) {
    let Output { status: found, stdout, stderr } = command.output().expect("it starts");
    let [out, err] = [stdout, stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
    assert_eq!(found.code(), Some(status), "{command:?}\n{out}{err}");
    assert!(!err.contains("panicked"), "{err}");
    (out, err)
}

/// Standard output of a command that succeeds and complains about nothing.
fn succeeds(command: &mut Command) -> String {
    let (out, err) = ends_with(0, command);
    assert_eq!(err, "", "{command:?}");
    out
}

/// Standard error of a command that fails.
fn fails(command: &mut Command) -> String {
    let (_, err) = ends_with(1, command);
    assert!(err.starts_with("error: "), "{err}");
    err
}
