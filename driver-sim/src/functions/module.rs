//! Modules, functions and launches.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::{
    code::{Code, Result},
    entry::{ApiCall, Family, driver_functions},
    handle::HandleKind,
    launch::{
        Function, KernelLaunch, LaunchShape, MAX_SHARED, MAX_SHARED_HIP, MAX_SHARED_OPTIN,
        RESIDENT_THREADS,
    },
    pointer::{Array, ImageBytes, Out, Parameters, Text},
};

/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const ERROR_LOG: c_int = 5;
const ERROR_LOG_BYTES: c_int = 6;
/// `CU_MODULE_EAGER_LOADING`.
const EAGER_LOADING: c_uint = 1;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MAX_DYNAMIC_SHARED: c_int = 8;
/// `CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES` and `CU_FUNC_ATTRIBUTE_NUM_REGS`, and HIP's attributes of these names.
const SHARED_BYTES: c_int = 1;
const NUM_REGISTERS: c_int = 4;
/// What every function reports.
const REGISTERS: c_int = 32;

driver_functions! {
    /// Loads a module.
    fn [Cuda cuModuleLoadData, Hip hipModuleLoadData](module: Out<usize>, image: ImageBytes) |call| {
        let mut state = call.here()?;
        let loaded = state.load_image(&image).map_err(|_message| Code::INVALID_IMAGE)?;
        module.set(loaded)?;
    }

    /// Loads a module with options. Only the error log options have an effect.
    fn [Cuda cuModuleLoadDataEx](
        module: Out<usize>,
        image: ImageBytes,
        count: c_uint,
        options: Array<c_int>,
        values: Array<*mut c_void>,
    ) |call| {
        let mut state = call.here()?;
        match state.load_image(&image) {
            Ok(loaded) => module.set(loaded)?,
            Err(message) => {
                let options = options.read(count as usize)?;
                let values = values.read(count as usize)?;
                let value = |wanted: c_int| {
                    let at = options.iter().position(|&option| option == wanted)?;
                    Some(values[at])
                };
                if let (Some(log), Some(bytes)) = (value(ERROR_LOG), value(ERROR_LOG_BYTES)) {
                    Out::within(log.cast::<c_char>()).set_text(&message, bytes as usize)?;
                }
                return Err(Code::INVALID_IMAGE.into());
            }
        }
    }

    /// Whether the code of functions is loaded at their first use: the simulator loads it with the module.
    fn [Cuda cuModuleGetLoadingMode](mode: Out<c_uint>) |_call| {
        mode.set(EAGER_LOADING)?;
    }

    /// Unloads a module.
    fn [Cuda cuModuleUnload, Hip hipModuleUnload](module: usize) |call| {
        let (mut state, module) = call.at(HandleKind::Module, module)?;
        state.unload_module(module)?;
    }

    /// Looks up a function.
    fn [Cuda cuModuleGetFunction, Hip hipModuleGetFunction](
        function: Out<usize>,
        module: usize,
        name: Text,
    ) |call| {
        let (mut state, module) = call.at(HandleKind::Module, module)?;
        let max_shared = match call.family {
            Family::Cuda => MAX_SHARED,
            Family::Hip => MAX_SHARED_HIP,
        };
        function.set(state.function(module, name.read()?, max_shared)?)?;
    }

    /// Changes an attribute of a function. Only the most dynamic shared memory of a launch has an effect.
    fn [Cuda cuFuncSetAttribute](function: usize, attribute: c_int, value: c_int) |call| {
        let (mut state, function) = call.at(HandleKind::Function, function)?;
        let function = state.functions.get_mut(function)?;
        if attribute == MAX_DYNAMIC_SHARED {
            let fixed = function.fixed_shared_bytes();
            let all = u64::try_from(value).ok().and_then(|bytes| bytes.checked_add(fixed));
            let all = all.and_then(|all| u32::try_from(all).ok());
            let all = all.filter(|all| *all <= MAX_SHARED_OPTIN).ok_or(Code::INVALID_VALUE)?;
            function.max_shared = all.max(MAX_SHARED);
        }
    }

    /// Reads an attribute of a function: the shared memory of its code; its registers, as if each thread had
    /// [`REGISTERS`]; and of others 0. The function must be of the current context or device.
    fn [Cuda cuFuncGetAttribute, Hip hipFuncGetAttribute](value: Out<c_int>, attribute: c_int, function: usize) |call| {
        let state = call.here()?;
        let function = call.sibling(&state, HandleKind::Function, function)?;
        value.set(match attribute {
            SHARED_BYTES => state.functions.get(function)?.fixed_shared_bytes() as c_int,
            NUM_REGISTERS => REGISTERS,
            other if (0..=15).contains(&other) => 0,
            _ => return Err(Code::INVALID_VALUE.into()),
        })?;
    }

    /// The number of a function's blocks that run at once on a multiprocessor, as far as threads and shared memory
    /// limit it. The function must be of the current context or device.
    fn [
        Cuda cuOccupancyMaxActiveBlocksPerMultiprocessor,
        Hip hipModuleOccupancyMaxActiveBlocksPerMultiprocessor
    ](count: Out<c_int>, function: usize, threads: c_int, shared_bytes: usize) |call| {
        let state = call.here()?;
        let function = call.sibling(&state, HandleKind::Function, function)?;
        let function = state.functions.get(function)?;
        let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0);
        let by_threads = RESIDENT_THREADS / threads.ok_or(Code::INVALID_VALUE)?;
        let shared = function.fixed_shared_bytes() + shared_bytes as u64;
        let all_shared = match call.family {
            Family::Cuda => MAX_SHARED_OPTIN,
            Family::Hip => MAX_SHARED_HIP,
        };
        let by_shared = u64::from(all_shared).checked_div(shared).unwrap_or(u64::MAX);
        count.set(u64::from(by_threads).min(by_shared) as c_int)?;
    }

    /// Launches a function.
    fn [Cuda cuLaunchKernel, Hip hipModuleLaunchKernel](
        function: usize,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: usize,
        parameters: Parameters,
        extra: *mut *mut c_void,
    ) |call| {
        let (mut state, stream) = call.on_stream(stream)?;
        let key = call.sibling(&state, HandleKind::Function, function)?;
        // The packed argument buffer (`extra`) is not simulated.
        if !extra.is_null() {
            return Err(Code::NOT_SUPPORTED.into());
        }
        let shape = LaunchShape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared_bytes,
        };
        let launch = launch_of(call, state.functions.get(key)?, &shape, parameters)?;
        state.launch(launch, stream)?;
    }
}

/// Whether an axis of a grid has more threads than HIP's runtime can count in 32 bits.
pub(crate) fn is_too_wide(grid: [u32; 3], block: [u32; 3]) -> bool {
    let threads = |(blocks, threads): (u32, u32)| u64::from(blocks) * u64::from(threads);
    grid.into_iter().zip(block).map(threads).any(|threads| threads > u64::from(u32::MAX))
}

/// Makes a launch if the driver accepts its shape.
pub(super) fn launch_of(
    call: &ApiCall,
    function: &Function,
    shape: &LaunchShape,
    parameters: Parameters,
) -> Result<KernelLaunch> {
    let args = parameters.words(function.words)?;
    let (accepted, invalid) = match call.family {
        Family::Cuda => (true, Code::INVALID_VALUE),
        Family::Hip => (!is_too_wide(shape.grid, shape.block), Code::INVALID_CONFIGURATION),
    };
    let launch = accepted.then(|| function.launch(shape, &args)).flatten();
    launch.ok_or(invalid)
}
