//! Guarantees: memory and work of other code have the order, stamps and hazards of the program's own; the owner of
//! foreign memory is dropped after its last use and not before; typical mistakes are typed errors, or reported by the
//! simulator.

mod arrays;
mod dlpack;
mod memory;
mod operations;
mod profiles;

use std::sync::Arc;

use quadrants::{
    Backend as _, Program, ProgramBuilder, Result,
    rhi::{Device, DevicePtr, StreamHandle},
};
use quadrants_driver_sim::WorldLease;
use quadrants_tests::TestBackend;

use crate::common;

/// A program, and another user of its device: the "library", which calls the driver by itself.
pub(crate) struct Scene {
    pub(crate) program: Program,
    pub(crate) library: Library,
    /// None on hardware and on the CPU. Dropped last.
    pub(crate) world: Option<WorldLease>,
}

#[derive(Clone)]
pub(crate) struct Library(pub(crate) Arc<dyn Device>);

impl Scene {
    /// None where the backend is not selected.
    pub(crate) fn new(backend: TestBackend) -> Result<Option<Self>> {
        Self::with(backend, Program::builder())
    }

    pub(crate) fn with(backend: TestBackend, builder: ProgramBuilder) -> Result<Option<Self>> {
        let (world, opened) = if backend == TestBackend::Cpu {
            match backend.open() {
                Some(_) => (None, backend.arch().open()?),
                None => return Ok(None),
            }
        } else {
            match backend.open_device() {
                Some(device) => device,
                None => return Ok(None),
            }
        };
        let library = Library(opened.device.clone());
        Ok(Some(Self { program: builder.open(opened)?, library, world }))
    }

    /// None on hardware and on the CPU, too.
    pub(crate) fn simulated(backend: TestBackend, builder: ProgramBuilder) -> Result<Option<Self>> {
        if backend == TestBackend::Cpu || backend.open_simulated().is_none() {
            return Ok(None);
        }
        let (world, opened) = backend.simulated_device();
        let library = Library(opened.device.clone());
        Ok(Some(Self { program: builder.open(opened)?, library, world: Some(world) }))
    }

    /// Runs `test` on seeds of the random schedule where the backend is simulated, else a few times.
    pub(crate) fn on_seeds(&self, mut test: impl FnMut(f32) -> Result<()>) -> Result<()> {
        common::on_seeds(self.world.as_ref(), 200, |seed| test(seed as f32))
    }
}

impl Library {
    /// # Safety
    /// As for [`Device::fill_u32_async`].
    pub(crate) unsafe fn fill(
        &self,
        stream: StreamHandle,
        to: DevicePtr,
        value: f32,
        count: usize,
    ) {
        // SAFETY: by the caller.
        let filled = unsafe { self.0.fill_u32_async(to, value.to_bits(), count, stream) };
        filled.expect("the library works");
    }

    /// # Safety
    /// As for [`Device::copy_dtod_async`].
    pub(crate) unsafe fn copy(
        &self,
        stream: StreamHandle,
        to: DevicePtr,
        from: DevicePtr,
        count: usize,
    ) {
        // SAFETY: by the caller.
        let copied = unsafe { self.0.copy_dtod_async(to, from, 4 * count, stream) };
        copied.expect("the library works");
    }
}
