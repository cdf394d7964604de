//! Functions that only the CUDA driver has.

use std::ffi::{c_int, c_void};

use quadrants_driver_sim::{CudaVersion, lease_world};
use quadrants_rhi_cuda::{CudaDevice, driver_from_symbols, rhi::Error, symbols};

use crate::gpu_backend::support::{driver_with, open};

extern "C" fn lazy(mode: *mut u32) -> c_int {
    // SAFETY: the caller passes a pointer to the number.
    unsafe { *mode = 2 };
    0
}

#[test]
fn the_loading_mode_is_that_of_the_driver() {
    if !crate::is_selected() {
        return;
    }
    let world = lease_world();
    let eager = open(&world);
    assert!(!CudaDevice::from_device(&*eager).unwrap().loads_lazily().unwrap());
    let driver = driver_with(&[("loading_mode", Some(lazy as *const c_void))]).unwrap();
    let lazy = driver.open(world.ordinal()).unwrap();
    assert!(CudaDevice::from_device(&*lazy).unwrap().loads_lazily().unwrap());
}

#[test]
fn the_loading_mode_of_an_old_driver_is_an_error() {
    if !crate::is_selected() {
        return;
    }
    let has = |name: &str| symbols().iter().any(|row| row.name == name && row.is_in((11, 0)));
    // SAFETY: the simulator's functions have the signatures of the driver's.
    let driver = unsafe {
        driver_from_symbols("11.0", |name| CudaVersion::V11_0.symbol(name).filter(|_| has(name)))
    };
    let device = driver.unwrap().open(lease_world().ordinal()).unwrap();
    let error = CudaDevice::from_device(&*device).unwrap().loads_lazily().unwrap_err();
    assert!(
        matches!(
            error,
            Error::SymbolMissing { symbol: "cuModuleGetLoadingMode", since: Some("11.7"), .. }
        ),
        "{error}"
    );
}
