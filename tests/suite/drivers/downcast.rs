//! The types of the backends' devices.

use quadrants::Arch;
use quadrants_rhi_amdgpu::HipDevice;
use quadrants_rhi_cuda::CudaDevice;
use quadrants_tests::TestBackend::{AmdGpu, Cpu, Cuda};

#[test]
fn a_device_is_downcast_only_to_the_type_of_its_backend() {
    let cpu = Arch::Cpu.driver().and_then(|driver| driver.open(0)).expect("the CPU opens");
    let opened = [Cuda, AmdGpu].map(|backend| (backend, backend.simulated_device()));
    for (backend, (_, opened)) in &opened {
        let device = &*opened.device;
        assert_eq!(CudaDevice::from_device(device).is_some(), *backend == Cuda);
        assert_eq!(HipDevice::from_device(device).is_some(), *backend == AmdGpu);
        assert_eq!(backend.arch().details(device).len(), 1);
        assert_eq!(Cpu.arch().details(device), []);
    }
    assert!(CudaDevice::from_device(&*cpu).is_none() && HipDevice::from_device(&*cpu).is_none());
    assert_eq!(Arch::Cuda.details(&*cpu), []);
}
