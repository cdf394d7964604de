//! Which backends have a real device on this machine; `cargo xtask test` reads it to choose between hardware and
//! simulator.

use quadrants::Arch;

/// Prints `hardware: NAME` for each GPU backend with a real device.
#[test]
fn devices_are_listed() {
    let drivers = [
        (Arch::Cuda, quadrants_rhi_cuda::driver()),
        (Arch::AmdGpu, quadrants_rhi_amdgpu::driver()),
    ];
    for (arch, driver) in drivers {
        if driver.and_then(|driver| driver.open(0)).is_ok_and(|device| !device.info().simulated) {
            println!("hardware: {}", arch.name());
        }
    }
}
