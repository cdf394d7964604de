//! `quadrants doctor`: all steps succeed on a working machine; otherwise the first step that fails is named with its
//! remedy.

use std::{fs, process::Command};

use super::{ends_with, fails, quadrants, simulated, simulator, succeeds};

const STEPS: [&str; 13] = [
    "library",
    "driver",
    "device",
    "context",
    "memory",
    "compiler",
    "program",
    "tensors",
    "compile",
    "launch",
    "result",
    "two streams",
    "cache",
];

/// The states of the steps.
fn states(out: &str) -> Vec<&str> {
    let line = |step: &&str| {
        let line = out.lines().find(|line| line.starts_with(&format!("  {step} ")));
        let line = line.unwrap_or_else(|| panic!("{step}: {out}"));
        line[15..].split_whitespace().next().expect("a state")
    };
    STEPS.iter().map(line).collect()
}

/// Checks that this step is the first that fails; returns what is printed of it.
fn fails_at(step: &str, command: &mut Command) -> String {
    let (out, err) = ends_with(1, command);
    assert_eq!(err, "", "{out}");
    let failed = STEPS.iter().position(|name| *name == step).expect("a step");
    let expected = |at: usize| match at.cmp(&failed) {
        std::cmp::Ordering::Less => "ok",
        std::cmp::Ordering::Equal => "failed",
        std::cmp::Ordering::Greater => "skipped",
    };
    let expected: Vec<_> = (0..STEPS.len()).map(expected).collect();
    assert_eq!(states(&out), expected, "{out}");
    let told = out.split(" failed ").nth(1).expect("a failure");
    let (what, remedy) = told.split_once("remedy:").unwrap_or_else(|| panic!("{out}"));
    assert!(!what.trim().is_empty() && !what.contains("; help: "), "{out}");
    assert!(remedy.lines().next().is_some_and(|remedy| !remedy.trim().is_empty()), "{out}");
    told.to_owned()
}

#[test]
fn every_step_succeeds_on_the_cpu_and_on_the_simulator() {
    let cpu = succeeds(quadrants().args(["doctor", "--arch", "cpu"]));
    assert_eq!(states(&cpu), ["ok"; 13], "{cpu}");
    let cuda = succeeds(simulated().args(["doctor", "--arch", "cuda"]));
    assert_eq!(states(&cuda), ["ok"; 13], "{cuda}");
    assert!(cuda.contains(simulator().to_str().expect("UTF-8")), "{cuda}");
    let mut amdgpu = quadrants();
    amdgpu.env("QUADRANTS_HIP_LIBRARY", simulator()).args(["doctor", "--arch", "amdgpu"]);
    assert_eq!(states(&succeeds(&mut amdgpu)), ["ok"; 13]);
}

#[test]
fn the_schedules_of_the_simulator_do_not_matter() {
    for schedule in ["lazy", "random", "adversarial"] {
        let mut command = simulated();
        command.env("QUADRANTS_SIM_SCHEDULE", schedule).env("QUADRANTS_SIM_RACES", "1");
        succeeds(command.args(["doctor", "--arch", "cuda"]));
    }
}

#[test]
fn a_missing_library_skips_the_rest() {
    let mut command = quadrants();
    command.env("QUADRANTS_CUDA_LIBRARY", "/nonexistent/libcuda.so");
    let told = fails_at("library", command.args(["doctor", "--arch", "cuda"]));
    assert!(told.contains("/nonexistent/libcuda.so"), "{told}");
    assert!(told.contains("NVIDIA's driver") && told.contains("QUADRANTS_CUDA_LIBRARY"), "{told}");
    let mut command = quadrants();
    command.env("QUADRANTS_CUDA_LIBRARY", "libc.so.6");
    fails_at("driver", command.args(["doctor", "--arch", "cuda"]));
}

/// Each step that calls the driver fails with it.
#[test]
fn a_step_whose_driver_call_fails_is_named() {
    for (step, faults) in [
        ("context", "cuDevicePrimaryCtxRetain@1=2"),
        ("memory", "cuMemAlloc_v2@1=2"),
        ("memory", "cuMemcpyHtoDAsync_v2@1=999"),
        ("compile", "cuModuleLoadDataEx@1=209"),
        ("launch", "cuLaunchKernel@1=1"),
        ("two streams", "cuLaunchKernel@2=1"),
        ("two streams", "cuLaunchKernel@3=1"),
    ] {
        let mut command = simulated();
        command.env("QUADRANTS_SIM_FAULTS", faults).args(["doctor", "--arch", "cuda"]);
        fails_at(step, &mut command);
    }
    let mut command = simulated();
    command.env("QUADRANTS_SIM_DEVICES", "0").args(["doctor", "--arch", "cuda"]);
    fails_at("device", &mut command);
}

#[test]
fn a_cache_that_cannot_be_written_is_the_last_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    for cache in [file.clone(), file.join("kernels")] {
        let mut command = quadrants();
        let told = fails_at(
            "cache",
            command.env("QUADRANTS_CACHE", cache).args(["doctor", "--arch", "cpu"]),
        );
        assert!(told.contains("QUADRANTS_CACHE"), "{told}");
    }
    let new = folder.path().join("new");
    succeeds(quadrants().env("QUADRANTS_CACHE", &new).args(["doctor", "--arch", "cpu"]));
    assert_eq!(fs::read_dir(new).expect("it is created").count(), 0, "nothing is left in it");
}

#[test]
fn without_a_backend_it_tries_the_one_that_programs_use() {
    let out = succeeds(simulated().arg("doctor"));
    assert!(out.starts_with("cuda\n") && !out.contains("\ncpu\n"), "{out}");
    let out = succeeds(simulated().arg("doctor").env("QUADRANTS_ARCH", "cpu"));
    assert!(out.starts_with("cpu\n"), "{out}");
    let missing = "/nonexistent/library.so";
    let mut command = quadrants();
    command.env("QUADRANTS_CUDA_LIBRARY", missing).env("QUADRANTS_HIP_LIBRARY", missing);
    let out = succeeds(command.arg("doctor"));
    assert!(out.starts_with("cuda is not used: the cuda library could not be loaded"), "{out}");
    assert!(out.contains("\namdgpu is not used: ") && out.contains("\ncpu\n"), "{out}");
    let error = fails(quadrants().arg("doctor").env("QUADRANTS_ARCH", "tpu"));
    assert!(error.contains("unknown backend `tpu`"), "{error}");
}

#[test]
fn several_backends_fail_together() {
    let mut command = quadrants();
    command.env("QUADRANTS_CUDA_LIBRARY", "/nonexistent/libcuda.so");
    let (out, _) = ends_with(1, command.args(["doctor", "--arch", "cuda", "--arch", "cpu"]));
    let cpu = out.split("\ncpu\n").nth(1).expect("the CPU is tried too");
    assert_eq!(states(cpu), ["ok"; 13], "{out}");
}
