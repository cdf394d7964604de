//! The backend against the machine's HIP runtime, where there is one, and against libraries that are none.

use std::{ffi::c_void, path::Path};

use quadrants_rhi_amdgpu::{driver, driver_from_path, driver_from_symbols, rhi::Error, symbols};

/// The machine's own libamdhip64 loads with all required symbols, and without a device opening one is the
/// typed error.
#[test]
fn the_system_library_loads() {
    let driver = match driver() {
        Ok(driver) => driver,
        Err(error @ Error::LibraryNotFound { .. }) => {
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

#[test]
fn a_missing_library_is_its_own_error() {
    let error = driver_from_path(Path::new("/nonexistent/libamdhip64.so")).unwrap_err();
    let Error::LibraryNotFound { backend: "amdgpu", tried, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(tried, ["/nonexistent/libamdhip64.so"]);
}

#[test]
fn a_library_without_the_functions_is_its_own_error() {
    let none = |_: &str| None::<*const c_void>;
    // SAFETY: nothing is called.
    let error = unsafe { driver_from_symbols("an empty library", none) }.unwrap_err();
    let Error::SymbolMissing { library, symbol, since: None } = error else { panic!("{error}") };
    assert_eq!((library.as_str(), symbol), ("an empty library", symbols()[0].name));
}
