//! `quadrants bench`: each line has a number, and a ratio if there is a baseline.

use super::{fails, quadrants, simulated, succeeds};

/// The last columns of the line that begins so.
fn ratio(out: &str, begin: &str) -> Option<f64> {
    let line = out
        .lines()
        .find(|line| line.starts_with(begin))
        .unwrap_or_else(|| panic!("{begin}: {out}"));
    let columns: Vec<&str> = line[32..].split_whitespace().collect();
    assert!(columns[0].parse::<f64>().is_ok_and(|time| time > 0.0), "{line}");
    columns.get(4)?.parse().ok()
}

#[test]
fn on_the_simulator_all_lines_have_a_ratio_and_a_warning() {
    let out = succeeds(simulated().args(["bench", "--arch", "cuda"]));
    assert!(out.contains("these times say nothing about a device"), "{out}");
    for line in [
        "launch ",
        "region of 4 blocks by events",
        "region of 4 blocks by a graph",
        "overlap of 4 loops",
        "copy of 1.0 KiB",
    ] {
        assert!(ratio(&out, line).is_some_and(|ratio| ratio > 0.0), "{line}: {out}");
    }
}

#[test]
fn on_the_cpu_lines_without_a_driver_have_no_ratio() {
    let out = succeeds(quadrants().args(["bench", "--arch", "cpu"]));
    assert!(out.contains("The CPU has no driver"), "{out}");
    assert!(!out.contains("by a graph"), "{out}");
    for (line, has_rival) in
        [("launch ", false), ("region of 4", false), ("overlap of 4", true), ("copy of ", true)]
    {
        assert_eq!(ratio(&out, line).is_some(), has_rival, "{line}: {out}");
    }
}

#[test]
fn a_backend_that_is_missing_or_fails_is_an_error() {
    let mut command = quadrants();
    command.env("QUADRANTS_CUDA_LIBRARY", "/nonexistent/libcuda.so");
    let error = fails(command.args(["bench", "--arch", "cuda"]));
    assert!(error.contains("could not be loaded"), "{error}");
    for faults in ["cuLaunchKernel@3=1", "cuMemAlloc_v2@2=2", "cuModuleLoadDataEx@1=209"] {
        let mut command = simulated();
        let error =
            fails(command.env("QUADRANTS_SIM_FAULTS", faults).args(["bench", "--arch", "cuda"]));
        assert!(error.contains("cu"), "{error}");
    }
}
