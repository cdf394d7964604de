//! What only the HIP runtime reports, and its limit of threads.

use quadrants_driver_sim::{Schedule, lease_world};
use quadrants_rhi_amdgpu::HipDevice;
use quadrants_rhi_amdgpu::rhi::{Error, LaunchConfig, StreamHandle};

use crate::gpu_backend::{simulated::add_kernel, support::open};

#[test]
fn the_architecture_is_reported_with_and_without_modes() {
    if !crate::is_selected() {
        return;
    }
    let device = open(&lease_world());
    let amd = HipDevice::from_device(&*device).unwrap();
    assert_eq!(device.info().arch, "gfx90a");
    assert_eq!(amd.arch_with_modes(), "gfx90a:sramecc+:xnack-");
}

#[test]
fn the_threads_of_an_axis_are_limited() {
    if !crate::is_selected() {
        return;
    }
    let world = lease_world();
    world.set_schedule(Schedule::Eager);
    let device = open(&world);
    let kernel = add_kernel();
    let limit = device.info().max_grid_threads;
    assert_eq!(limit, [u64::from(u32::MAX); 3]);
    let module = device.load_module(&kernel.image).unwrap();
    // SAFETY: the module is the device's.
    let function = unsafe { device.function(module, &kernel.function) }.unwrap();
    // No elements.
    let args = (kernel.args)(0, 0, 1);
    let launch = |blocks: u32| {
        let config =
            LaunchConfig { grid_dim: [blocks, 1, 1], block_dim: [256, 1, 1], shared_bytes: 0 };
        // SAFETY: the function takes these arguments, and accesses no element.
        unsafe { device.launch(function, &config, &args, StreamHandle::DEFAULT) }
    };
    let most = (limit[0] / 256) as u32;
    launch(most).unwrap();
    let refused = launch(most + 1);
    let Err(Error::Driver(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.name, "hipErrorInvalidConfiguration");
    device.synchronize().unwrap();
    // SAFETY: nothing uses it any more.
    unsafe { device.unload_module(module) }.unwrap();
}
