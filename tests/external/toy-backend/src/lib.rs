//! A minimal backend outside the workspace. Its streams run work lazily, when something waits for it. It implements
//! only the traits; the conformance suite tests it.

mod world;

use std::sync::{Arc, Mutex};

use quadrants_rhi::*;

pub use world::Guarantee;
use world::{Position, World};

/// A driver with one device. The device violates the given guarantee, if any.
#[derive(Debug, Default)]
pub struct Toy(pub Option<Guarantee>);

#[derive(Debug)]
struct ToyDevice {
    info: DeviceInfo,
    capabilities: Capabilities,
    world: Mutex<World>,
}

// SAFETY: there is one device, and every handle belongs to the world of its device.
unsafe impl Driver for Toy {
    fn backend(&self) -> &'static str { "toy" }
    fn version(&self) -> String { "1".to_owned() }
    fn device_count(&self) -> Result<usize> { Ok(1) }

    fn open(&self, ordinal: usize) -> Result<Arc<dyn Device>> {
        if ordinal > 0 {
            return Err(Error::DeviceOrdinal { backend: "toy", ordinal, count: 1 });
        }
        let mut info = DeviceInfo::new("toy", 0, "a toy".to_owned(), "toy".to_owned());
        info.driver_version = self.version();
        let mut capabilities = Capabilities::new(ImageKind::Native);
        capabilities.stream_ordered_memory_reason = Some("toys wait".to_owned());
        let world = Mutex::new(World::new(self.0));
        Ok(Arc::new(ToyDevice { info, capabilities, world }))
    }
}

impl ToyDevice {
    fn with<R>(&self, then: impl FnOnce(&mut World) -> R) -> Result<R> {
        Ok(then(&mut self.world.lock().unwrap_or_else(|poisoned| poisoned.into_inner())))
    }

    fn enqueue(&self, stream: StreamHandle, work: impl FnOnce() + Send + 'static) -> Result<()> {
        self.with(|world| world.enqueue(stream.raw(), Box::new(work)))
    }
}

// SAFETY: allocations live until they are freed, and work runs in order under the world's lock. A device that violates
// a guarantee is used only by the tests of the suite.
unsafe impl Device for ToyDevice {
    fn info(&self) -> &DeviceInfo { &self.info }
    fn capabilities(&self) -> &Capabilities { &self.capabilities }
    fn memory_info(&self) -> Result<(u64, u64)> {
        Err(Error::Unsupported { operation: "memory_info", reason: "a toy".to_owned() })
    }
    fn synchronize(&self) -> Result<()> { self.with(World::finish_all) }

    fn alloc(&self, bytes: usize) -> Result<DevicePtr> {
        self.with(|world| world.allocate(bytes))?.map(DevicePtr)
    }
    unsafe fn free(&self, memory: DevicePtr) -> Result<()> { self.with(|world| world.free(memory.raw())) }
    unsafe fn alloc_async(&self, bytes: usize, _: StreamHandle) -> Result<DevicePtr> { self.alloc(bytes) }
    unsafe fn free_async(&self, memory: DevicePtr, stream: StreamHandle) -> Result<()> {
        self.with(|world| {
            world.finish(stream.raw());
            world.free(memory.raw());
        })
    }
    fn alloc_pinned(&self, bytes: usize) -> Result<*mut u8> { Ok(self.alloc(bytes)?.as_ptr()) }
    unsafe fn free_pinned(&self, memory: *mut u8) -> Result<()> {
        self.with(|world| world.free(memory as u64))
    }

    unsafe fn copy_htod_async(&self, dst: DevicePtr, src: *const u8, bytes: usize, stream: StreamHandle) -> Result<()> {
        let src = DevicePtr::from_ptr(src.cast_mut());
        // SAFETY: the caller keeps the handle rule.
        self.enqueue(stream, move || unsafe { src.as_ptr::<u8>().copy_to(dst.as_ptr(), bytes) })
    }
    unsafe fn copy_dtoh_async(&self, dst: *mut u8, src: DevicePtr, bytes: usize, stream: StreamHandle) -> Result<()> {
        let dst = DevicePtr::from_ptr(dst);
        // SAFETY: the caller keeps the handle rule.
        self.enqueue(stream, move || unsafe { src.as_ptr::<u8>().copy_to(dst.as_ptr(), bytes) })
    }
    unsafe fn copy_dtod_async(&self, dst: DevicePtr, src: DevicePtr, bytes: usize, stream: StreamHandle) -> Result<()> {
        // SAFETY: the caller keeps the handle rule.
        self.enqueue(stream, move || unsafe { src.as_ptr::<u8>().copy_to(dst.as_ptr(), bytes) })
    }
    unsafe fn fill_u8_async(&self, dst: DevicePtr, value: u8, bytes: usize, stream: StreamHandle) -> Result<()> {
        // SAFETY: the caller keeps the handle rule.
        self.enqueue(stream, move || unsafe { dst.as_ptr::<u8>().write_bytes(value, bytes) })
    }
    unsafe fn fill_u32_async(&self, dst: DevicePtr, value: u32, words: usize, stream: StreamHandle) -> Result<()> {
        self.enqueue(stream, move || {
            // SAFETY: the caller keeps the handle rule.
            (0..words).for_each(|at| unsafe { dst.as_ptr::<u32>().add(at).write(value) });
        })
    }

    fn create_stream(&self, _: StreamOptions) -> Result<StreamHandle> {
        self.with(|world| StreamHandle(world.number()))
    }
    unsafe fn destroy_stream(&self, stream: StreamHandle) -> Result<()> {
        self.with(|world| world.destroy(stream.raw()))
    }
    unsafe fn stream_query(&self, stream: StreamHandle) -> Result<bool> {
        self.with(|world| world.query(Position { stream: stream.raw(), end: u64::MAX }))
    }
    unsafe fn stream_synchronize(&self, stream: StreamHandle) -> Result<()> {
        self.with(|world| world.finish(stream.raw()))
    }
    unsafe fn stream_wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        self.with(|world| world.wait(stream.raw(), event.raw()))
    }

    fn create_event(&self, _: EventOptions) -> Result<EventHandle> {
        self.with(|world| EventHandle(world.number()))
    }
    unsafe fn destroy_event(&self, event: EventHandle) -> Result<()> {
        self.with(|world| world.destroy_event(event.raw()))
    }
    unsafe fn event_record(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        self.with(|world| world.record(event.raw(), stream.raw()))
    }
    unsafe fn event_query(&self, event: EventHandle) -> Result<bool> {
        self.with(|world| world.query(world.latest_record(event.raw())))
    }
    unsafe fn event_synchronize(&self, event: EventHandle) -> Result<()> {
        self.with(|world| world.run_until(world.latest_record(event.raw())))
    }
    unsafe fn event_elapsed_ms(&self, _: EventHandle, _: EventHandle) -> Result<f32> { Ok(0.0) }

    fn load_module(&self, image: &Image<'_>) -> Result<ModuleHandle> {
        let Image::Native(image) = image else {
            return Err(Error::Unsupported { operation: "load_module", reason: "no functions".to_owned() });
        };
        Ok(ModuleHandle::from_ptr(Box::into_raw(Box::new(image.clone()))))
    }
    unsafe fn unload_module(&self, module: ModuleHandle) -> Result<()> {
        // SAFETY: the caller keeps the handle rule.
        drop(unsafe { Box::from_raw(module.as_ptr::<NativeImage>()) });
        Ok(())
    }
    unsafe fn function(&self, module: ModuleHandle, name: &str) -> Result<FunctionHandle> {
        // SAFETY: the caller keeps the handle rule.
        let image = unsafe { &*module.as_ptr::<NativeImage>() };
        let found = image.functions.iter().find(|function| function.name == name);
        let handle = found.map(|function| FunctionHandle::from_ptr(&raw const *function as *mut u8));
        handle.ok_or_else(|| DriverError::new("function", "find", 1, name, DriverErrorKind::NotFound).into())
    }
    unsafe fn launch(&self, function: FunctionHandle, _: &LaunchConfig, args: &[u64], stream: StreamHandle) -> Result<()> {
        if size_of_val(args) > self.capabilities.max_argument_bytes {
            return Err(Error::InvalidArgument { what: "an argument block above the limit".to_owned() });
        }
        // SAFETY: the caller keeps the handle rule.
        let entry = unsafe { (*function.as_ptr::<NativeFunction>()).entry.clone() };
        let args = self.with(|world| world.arguments(args))?;
        self.enqueue(stream, move || entry(&NativeCall { args: &args.lock().expect("no thread panics") }))
    }
}
