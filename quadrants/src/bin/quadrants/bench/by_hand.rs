//! The baseline of the measurements: the driver's calls through the device layer, with everything made beforehand. The
//! layer adds a few nanoseconds to a call.

use std::sync::Arc;

use quadrants::{
    Opened,
    builder::KernelBuilder,
    codegen::{CompileRequest, Compiler},
    ir::{
        self, ScalarType,
        abi::{FIRST_PARAM_WORD, Form, Passing},
    },
    rhi::{
        self, Current, Device, DevicePtr, EventHandle, EventOptions, FunctionHandle, Image,
        ImageKind, LaunchConfig, ModuleHandle, StreamHandle, StreamOptions,
    },
};

use super::N;
use crate::CommandError;

/// One block of threads, with a thread per element.
const CONFIG: LaunchConfig =
    LaunchConfig { grid_dim: [1; 3], block_dim: [N as u32, 1, 1], shared_bytes: 0 };

/// A kernel of one loop or of a region of several, with a tensor for each loop, and a stream and an event for each.
pub(super) struct ByHand {
    device: Arc<dyn Device>,
    module: Option<ModuleHandle>,
    functions: Vec<FunctionHandle>,
    memory: Vec<DevicePtr>,
    streams: Vec<StreamHandle>,
    events: Vec<EventHandle>,
    args: Vec<u64>,
}

impl ByHand {
    /// Compiles and loads a kernel of so many loops with the compiler of the device. None where the device has no
    /// compiler, because it runs functions of this process.
    pub(super) fn new(opened: &Opened, loops: usize) -> Result<Option<Self>, CommandError> {
        let Some(compiler) = &opened.compiler else { return Ok(None) };
        let kernel = offloaded(loops)?;
        let info = opened.device.info();
        let request = CompileRequest::new(&info.arch, Form::Proven, Passing::Value);
        let image = compile(&**compiler, &kernel, &request)?;
        let device = opened.device.clone();
        let mut made = Self {
            device,
            module: None,
            functions: Vec::new(),
            memory: Vec::new(),
            streams: Vec::new(),
            events: Vec::new(),
            args: vec![0; FIRST_PARAM_WORD],
        };
        made.load(&image, &kernel)?;
        Ok(Some(made))
    }

    /// Makes what the launches need. What exists after an error is released with `self`.
    fn load(&mut self, image: &[u8], kernel: &ir::Offloaded) -> rhi::Result<()> {
        let device = &*self.device;
        let image = match (device.capabilities().image, std::str::from_utf8(image)) {
            (ImageKind::Text, Ok(text)) => Image::Text(text),
            _ => Image::Binary(image),
        };
        let module = *self.module.insert(device.load_module(&image)?);
        for (id, _) in kernel.tasks() {
            // SAFETY: the module was loaded by this device.
            let function = unsafe { device.function(module, &kernel.function_name(id)) }?;
            self.functions.push(function);
            self.streams.push(device.create_stream(StreamOptions::default())?);
            self.events.push(device.create_event(EventOptions::default())?);
            let memory = device.alloc(size_of::<f32>() * N)?;
            self.memory.push(memory);
            self.args.extend([memory.raw(), N as u64]);
            // SAFETY: the memory has the words, and the default stream always exists.
            unsafe { device.fill_u32_async(memory, 0, N, StreamHandle::DEFAULT) }?;
        }
        device.synchronize()
    }

    /// The device with its context current, as a program keeps it over several calls.
    fn current(&self) -> rhi::Result<Current<'_>> {
        // SAFETY: the callers drop the guard before they return, and make no other.
        unsafe { Current::enter(&*self.device) }
    }

    /// Launches the first loop so many times on its stream.
    pub(super) fn launch(&self, times: usize) -> rhi::Result<()> {
        let _current = self.current()?;
        (0..times).try_for_each(|_| self.launch_one(0))
    }

    fn launch_one(&self, at: usize) -> rhi::Result<()> {
        // SAFETY: function and stream are of this device; the arguments are those that the function was compiled for,
        // with memory that lives until `drop` has waited.
        unsafe { self.device.launch(self.functions[at], &CONFIG, &self.args, self.streams[at]) }
    }

    /// Launches all loops so many times, each on its stream, forked from the first stream and joined to it.
    pub(super) fn fork_and_join(&self, times: usize) -> rhi::Result<()> {
        let _current = self.current()?;
        let (device, first, fork) = (&*self.device, self.streams[0], self.events[0]);
        for _ in 0..times {
            // SAFETY: streams and events are of this device, and live until `drop`.
            unsafe {
                device.event_record(fork, first)?;
                for stream in &self.streams[1..] {
                    device.stream_wait_event(*stream, fork)?;
                }
                (0..self.functions.len()).try_for_each(|at| self.launch_one(at))?;
                for (stream, joined) in self.streams.iter().zip(&self.events).skip(1) {
                    device.event_record(*joined, *stream)?;
                    device.stream_wait_event(first, *joined)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn wait(&self) -> rhi::Result<()> {
        self.device.synchronize()
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        let device = &*self.device;
        // The measurement has its result: errors of the release say nothing about it.
        let _ = device.synchronize();
        // SAFETY: all are of this device, and are used by nothing any more: the wait has returned.
        unsafe {
            self.events.drain(..).for_each(|event| _ = device.destroy_event(event));
            self.streams.drain(..).for_each(|stream| _ = device.destroy_stream(stream));
            self.memory.drain(..).for_each(|memory| _ = device.free(memory));
            if let Some(module) = self.module.take() {
                let _ = device.unload_module(module);
            }
        }
    }
}

/// Copies memory of a device by the driver's copy.
pub(super) struct CopyByHand {
    device: Arc<dyn Device>,
    /// From and to.
    memory: Vec<DevicePtr>,
    bytes: usize,
}

impl CopyByHand {
    pub(super) fn new(opened: &Opened, bytes: usize) -> rhi::Result<Self> {
        let mut made = Self { device: opened.device.clone(), memory: Vec::new(), bytes };
        for _ in 0..2 {
            let memory = made.device.alloc(bytes)?;
            made.memory.push(memory);
            // SAFETY: the memory has the bytes, and the default stream always exists.
            unsafe { made.device.fill_u8_async(memory, 0, bytes, StreamHandle::DEFAULT) }?;
        }
        made.device.synchronize()?;
        Ok(made)
    }

    /// Copies so many times, and waits.
    pub(super) fn copy(&self, times: usize) -> rhi::Result<()> {
        for _ in 0..times {
            // SAFETY: both have the bytes and do not overlap; they live until `drop`.
            unsafe {
                let (from, to) = (self.memory[0], self.memory[1]);
                self.device.copy_dtod_async(to, from, self.bytes, StreamHandle::DEFAULT)
            }?;
        }
        self.device.synchronize()
    }
}

impl Drop for CopyByHand {
    fn drop(&mut self) {
        let _ = self.device.synchronize();
        for memory in self.memory.drain(..) {
            // SAFETY: it is from `alloc` of this device, and nothing uses it any more.
            let _ = unsafe { self.device.free(memory) };
        }
    }
}

/// A loop that adds one to each element of a tensor; or such loops in blocks of a region.
fn offloaded(loops: usize) -> Result<ir::Offloaded, CommandError> {
    let refused = |why: String| CommandError::Refused(format!("a kernel cannot be built: {why}"));
    let b = KernelBuilder::new("by_hand");
    let tensors: Vec<_> =
        (0..loops).map(|k| b.param_tensor_mut(&format!("t{k}"), ScalarType::F32, 1)).collect();
    for tensor in &tensors {
        let body = || {
            b.range_for(0usize, tensor.len(), |i| {
                tensor.store([i], tensor.load([i]) + b.constant(1.0f32));
            });
        };
        if loops == 1 { body() } else { b.stream_parallel(body) }
    }
    drop(tensors);
    let kernel = b.build().map_err(|error| refused(error.to_string()))?;
    ir::offload(&kernel).map_err(|error| refused(error.to_string()))
}

fn compile(
    compiler: &dyn Compiler,
    kernel: &ir::Offloaded,
    request: &CompileRequest<'_>,
) -> Result<Vec<u8>, CommandError> {
    let compiled = compiler.compile(kernel, request);
    Ok(compiled.map_err(|error| CommandError::Refused(error.to_string()))?.image)
}
