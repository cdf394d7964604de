//! `quadrants info`, as text and as JSON.

use std::fs;

use serde_json::Value;

use super::{fails, quadrants, simulated, simulator, succeeds};

fn json(command: &mut std::process::Command) -> Value {
    let text = succeeds(command.args(["info", "--json"]));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn backend<'a>(report: &'a Value, name: &str) -> &'a Value {
    let backends = report["backends"].as_array().expect("backends");
    backends.iter().find(|backend| backend["name"] == name).expect(name)
}

#[test]
fn the_cpu_is_ready() {
    let report = json(&mut quadrants());
    assert_eq!(report["schema"], 1);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert!(report["cache"].is_null(), "it is off");
    let cpu = backend(&report, "cpu");
    assert_eq!((&cpu["status"], &cpu["install"]), (&"ready".into(), &Value::Null));
    let device = &cpu["devices"][0];
    assert_eq!((&device["ordinal"], &device["error"]), (&0.into(), &Value::Null));
    assert_eq!(device["compiler"]["needed"], false);
    assert!(device["memory_bytes"].as_u64() > Some(0) && device["name"].is_string(), "{device}");
    let text = succeeds(quadrants().arg("info"));
    assert!(text.contains("\ncpu: driver "), "{text}");
    assert!(text.ends_with("kernel cache: off\n"), "{text}");
}

#[test]
fn equal_devices_of_the_simulator_are_printed_once() {
    let report = json(simulated().env("QUADRANTS_SIM_DEVICES", "3"));
    let cuda = backend(&report, "cuda");
    assert_eq!(cuda["status"], "ready");
    assert_eq!(cuda["driver"]["library"].as_str(), simulator().to_str());
    let devices = cuda["devices"].as_array().expect("devices");
    assert_eq!(devices.len(), 3);
    for (ordinal, device) in devices.iter().enumerate() {
        assert_eq!(device["ordinal"], ordinal);
        assert_eq!((&device["simulated"], &device["arch"]), (&true.into(), &"sm_90".into()));
        assert_eq!(device["compiler"]["version"], "simulator");
        assert_eq!(device["details"]["code is loaded"], "with the module");
    }
    let text = succeeds(simulated().arg("info").env("QUADRANTS_SIM_DEVICES", "3"));
    assert!(text.contains("  0 to 2: Simulated CUDA device (sm_90, simulated)\n"), "{text}");
    assert_eq!(text.matches("Simulated CUDA").count(), 1, "{text}");
}

#[test]
fn pools_that_are_off_have_a_reason() {
    let report = json(simulated().env("QUADRANTS_MEMPOOL", "0"));
    let device = &backend(&report, "cuda")["devices"][0];
    assert_eq!(device["stream_ordered_memory"], false);
    let reason = device["stream_ordered_memory_reason"].as_str().expect("a reason");
    assert!(reason.contains("QUADRANTS_MEMPOOL"), "{reason}");
}

#[test]
fn a_missing_backend_has_its_reason_and_how_to_install_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let no_library = folder.path().join("libcuda.so");
    fs::write(&no_library, "text").expect("a file");
    for path in ["/nonexistent/libcuda.so".into(), no_library] {
        let with = || {
            let mut command = quadrants();
            command.env("QUADRANTS_CUDA_LIBRARY", &path);
            command
        };
        let report = json(&mut with());
        let cuda = backend(&report, "cuda");
        assert_eq!((&cuda["status"], &cuda["driver"]), (&"missing".into(), &Value::Null));
        let reason = cuda["reason"].as_str().expect("a reason");
        assert!(reason.contains(path.to_str().expect("UTF-8")), "{reason}");
        assert!(cuda["install"].as_str().is_some_and(|text| text.contains("NVRTC")), "{cuda}");
        let text = succeeds(with().arg("info"));
        assert!(text.starts_with("cuda: not available: the cuda library could"), "{text}");
        assert!(text.contains("\n  to use it: install NVIDIA's driver"), "{text}");
    }
    // A library without the functions of a driver.
    let report = json(quadrants().env("QUADRANTS_CUDA_LIBRARY", "libc.so.6"));
    let reason = backend(&report, "cuda")["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains("does not export cu"), "{reason}");
}

#[test]
fn a_driver_without_a_device_has_its_reason() {
    let without = || {
        let mut command = simulated();
        command.env("QUADRANTS_SIM_DEVICES", "0");
        command
    };
    let report = json(&mut without());
    let cuda = backend(&report, "cuda");
    assert_eq!(cuda["status"], "no device");
    assert!(cuda["reason"].as_str().is_some_and(|why| why.contains("no device")), "{cuda}");
    let text = succeeds(without().arg("info"));
    assert!(text.contains("cuda: driver 13.0, no device: "), "{text}");
}

/// Faults count the calls of each device.
#[test]
fn devices_that_cannot_be_opened_have_their_errors() {
    let broken = || {
        let mut command = simulated();
        let faults = "cuDevicePrimaryCtxRetain@1=2";
        command.env("QUADRANTS_SIM_DEVICES", "3").env("QUADRANTS_SIM_FAULTS", faults);
        command
    };
    let report = json(&mut broken());
    let cuda = backend(&report, "cuda");
    assert_eq!(cuda["status"], "failed");
    for ordinal in 0..3 {
        let device = &cuda["devices"][ordinal];
        assert_eq!(device["ordinal"], ordinal);
        let error = device["error"].as_str().expect("an error");
        assert!(error.contains("cuDevicePrimaryCtxRetain"), "{error}");
    }
    let text = succeeds(broken().arg("info"));
    assert!(text.contains("\n  0 to 2: ") && text.contains("\n  to use it: "), "{text}");
}

#[test]
fn the_cache_has_its_folder_and_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |path: &std::path::Path| {
        let mut command = quadrants();
        command.env("QUADRANTS_CACHE", path);
        command
    };
    super::cache::fill(folder.path(), 3);
    let report = json(&mut with(folder.path()));
    assert_eq!(report["cache"]["folder"].as_str(), folder.path().to_str());
    assert_eq!(report["cache"]["kernels"], 3);
    let bytes: u64 = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|file| file.and_then(|file| file.metadata()).expect("a file").len())
        .sum();
    assert_eq!(report["cache"]["bytes"], bytes);
    let text = succeeds(with(folder.path()).arg("info"));
    assert!(text.contains(": 3 kernels, "), "{text}");
    // A folder that does not exist is empty, and is not created.
    let missing = folder.path().join("missing");
    assert_eq!(json(&mut with(&missing))["cache"]["kernels"], 0);
    assert!(!missing.exists());
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    let error = fails(with(&file).arg("info"));
    assert!(error.contains("cannot read the kernel cache"), "{error}");
}
