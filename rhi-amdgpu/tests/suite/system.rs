//! The conformance suite on the installed HIP runtime.

use quadrants_conformance::{Subject, conformance_tests};
use quadrants_rhi_amdgpu::{driver, rhi::Error};

use crate::{
    installed::{requires_hardware, tests_installed_driver},
    selected::is_selected,
};

conformance_tests!(subject);

/// Without a kernel: a code object is for one chip only, and this test has no compiler.
fn subject(_case: &str) -> Option<Subject> {
    if !is_selected("amdgpu") || !tests_installed_driver() {
        return None;
    }
    let device = match driver().and_then(|driver| driver.open(0)) {
        Ok(device) => device,
        Err(Error::LibraryNotFound { .. } | Error::NoDevice { .. }) if !requires_hardware() => {
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    // The simulator has its own tests.
    (!device.info().simulated).then_some(Subject { device, add: None, keep: None })
}

/// A real libamdhip64 loads with all required functions. Without a device, `open` returns `NoDevice`.
#[test]
fn the_library_loads() {
    if !is_selected("amdgpu") {
        return;
    }
    let driver = match driver() {
        Ok(driver) => driver,
        Err(error @ Error::LibraryNotFound { .. }) if !requires_hardware() => {
            eprintln!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let count = driver.device_count().unwrap();
    eprintln!("HIP runtime {}: {count} devices", driver.version());
    match driver.open(0) {
        Ok(device) => {
            assert!(count > 0);
            assert!(device.info().arch.starts_with("gfx"), "{:?}", device.info());
        }
        Err(Error::NoDevice { backend: "amdgpu", .. }) => assert_eq!(count, 0),
        Err(error) => panic!("{error}"),
    }
}
