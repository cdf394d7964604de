//! Compiled code on a device: a GPU, or the simulator. Runs below the launcher, so that one
//! thread can run iterations that depend on their order.

use std::sync::Arc;

use quadrants::{
    Opened,
    codegen::{CompileRequest, Compiler},
    ir::{
        TaskId,
        abi::{ERROR_WORD, ErrorRecord, Passing, block_words},
        launch_analysis::LaunchAnalysis,
    },
    rhi::{Current, Device, DevicePtr, Image, LaunchConfig, StreamHandle},
};
use quadrants_samples::case::Case;
use quadrants_tests::{TestBackend, on_gpu_backends};

use super::{CompiledSide, Trial, all, seeds};

/// Where the compiler takes a tenth of a second for each form of each.
const ON_HARDWARE: u64 = 1000;
/// Where none is: it is the interpreter that runs them.
const SIMULATED: u64 = 300;

/// A device with its compiler.
pub(super) struct OnDevice {
    device: Arc<dyn Device>,
    compiler: Arc<dyn Compiler>,
}

#[on_gpu_backends]
fn random_kernels_on_a_device_match_the_interpreter(backend: TestBackend) {
    let Some((world, opened)) = backend.open_device() else { return };
    let on = OnDevice::new(opened);
    let kernels = if world.is_some() { SIMULATED } else { ON_HARDWARE };
    let [checked, proven] = all(&on, seeds(kernels), true, "compiled::device");
    let info = on.device.info();
    println!("{checked} kernels checked, {proven} of them also proven, on {}", info.name);
}

impl CompiledSide for OnDevice {
    /// As a program would compile it.
    fn wants_simple(&self) -> bool {
        true
    }

    fn judge(&self, trials: &[Trial<'_>]) -> Vec<Option<String>> {
        trials
            .iter()
            .map(|trial| match self.run(trial) {
                Ok(found) => trial.case.disagreement(&trial.expected, Some(&found)),
                Err(said) => Some(said),
            })
            .collect()
    }
}

impl OnDevice {
    pub(super) fn new(opened: Opened) -> Self {
        let compiler = opened.compiler.expect("GPUs have a compiler");
        Self { device: opened.device, compiler }
    }

    /// The buffers after the tasks ran, or the error.
    pub(super) fn run(&self, trial: &Trial<'_>) -> Result<Vec<Vec<u8>>, String> {
        let (kernel, device) = (trial.case.kernel, &*self.device);
        let request = CompileRequest::new(&device.info().arch, trial.forms, trial.passing);
        let compiled = self.compiler.compile(kernel, &request).map_err(|e| format!("{e:?}"))?;
        let driver = |error: quadrants::rhi::Error| format!("{error:?}");
        // SAFETY: dropped at the end of this function; the device's own calls alone come in between.
        let _current = unsafe { Current::enter(device) }.map_err(driver)?;
        let memory = Memory::new(device, &trial.case).map_err(driver)?;
        let module = device.load_module(&Image::Binary(&compiled.image)).map_err(driver)?;
        let args = match trial.passing {
            Passing::Value => memory.words[..block_words(kernel, trial.forms)].to_vec(),
            Passing::Buffer => vec![memory.block],
        };
        let launched = trial.case.tasks.iter().try_for_each(|task| {
            // SAFETY: the module is loaded; the words are those that the function was compiled for, and what
            // their addresses are of stays until `memory` is dropped, behind the wait.
            unsafe {
                let function = device.function(module, &kernel.function_name(*task))?;
                let config = config(&trial.case, *task);
                device.launch(function, &config, &args, StreamHandle::DEFAULT)
            }
        });
        let waited = device.synchronize();
        // SAFETY: no launch is unfinished.
        let unloaded = unsafe { device.unload_module(module) };
        launched.and(waited).and(unloaded).map_err(driver)?;
        memory.read(&trial.case).map_err(driver)
    }
}

/// One thread, or some blocks of some threads where the order is free.
fn config(case: &Case<'_>, task: TaskId) -> LaunchConfig {
    if let Some(threads) = case.kernel.tasks[task.index()].kind.threads() {
        let shared = LaunchAnalysis::new(case.kernel).shared_bytes(task, &case.words);
        let shared_bytes = shared.map_or(0, |shared| shared.dynamic as u32);
        return LaunchConfig { block_dim: [threads, 1, 1], shared_bytes, ..LaunchConfig::SERIAL };
    }
    if !case.large {
        return LaunchConfig::SERIAL;
    }
    let rank = case.rank(task);
    let pick = |sizes: [u32; 3]| std::array::from_fn(|at| if at < rank { sizes[at] } else { 1 });
    LaunchConfig { grid_dim: pick([2, 3, 2]), block_dim: pick([32, 2, 2]), shared_bytes: 0 }
}

/// The buffers of a case in one piece of device memory; behind them the word that error reports are claimed at, and
/// the argument block.
struct Memory<'a> {
    device: &'a dyn Device,
    address: DevicePtr,
    at: Vec<usize>,
    words: Vec<u64>,
    block: u64,
}

impl<'a> Memory<'a> {
    fn new(device: &'a dyn Device, case: &Case<'_>) -> quadrants::rhi::Result<Self> {
        let mut bytes = Vec::new();
        let mut at = Vec::new();
        for buffer in &case.buffers {
            at.push(bytes.len());
            bytes.extend(&buffer.bytes);
            bytes.resize(bytes.len().next_multiple_of(256), 0);
        }
        let (lease_world, block) = (bytes.len(), bytes.len() + 256);
        let address = device.alloc(block + 8 * case.words.len())?;
        let mut memory = Self {
            device,
            address,
            at,
            words: case.words.clone(),
            block: address.raw() + block as u64,
        };
        for (buffer, at) in case.buffers.iter().zip(&memory.at) {
            memory.words[buffer.word] = address.raw() + *at as u64;
            if buffer.word == ERROR_WORD {
                let field = at + std::mem::offset_of!(ErrorRecord, claim);
                let word = address.raw() + lease_world as u64;
                bytes[field..field + 8].copy_from_slice(&word.to_le_bytes());
            }
        }
        bytes.extend(ErrorRecord::NO_LAUNCH.to_le_bytes());
        bytes.resize(block, 0);
        bytes.extend(memory.words.iter().flat_map(|word| word.to_le_bytes()));
        // SAFETY: the memory has so many bytes; the source lives until the wait.
        unsafe {
            device.copy_htod_async(address, bytes.as_ptr(), bytes.len(), StreamHandle::DEFAULT)?;
        }
        device.synchronize()?;
        Ok(memory)
    }

    fn read(&self, case: &Case<'_>) -> quadrants::rhi::Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        for (buffer, at) in case.buffers.iter().zip(&self.at) {
            let mut bytes = buffer.bytes.clone();
            let from = self.address.offset(*at);
            if !bytes.is_empty() {
                // SAFETY: so many bytes lie there and are room for; both live until the wait.
                unsafe {
                    let to = bytes.as_mut_ptr();
                    self.device.copy_dtoh_async(to, from, bytes.len(), StreamHandle::DEFAULT)?;
                }
                self.device.synchronize()?;
            }
            if buffer.word == ERROR_WORD {
                let field = std::mem::offset_of!(ErrorRecord, claim);
                bytes[field..field + 8].fill(0);
            }
            found.push(bytes);
        }
        Ok(found)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: whoever launched waited, or got an error of the device.
        if let Err(error) = unsafe { self.device.free(self.address) } {
            println!("not freed: {error}");
        }
    }
}
