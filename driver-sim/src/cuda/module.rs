//! Modules, functions and launches.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::{
    code::Code,
    entry::facade,
    handle::Kind,
    launch::Shape,
    pointer::{Array, ImageBytes, Out, Parameters, Text},
};

/// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
const ERROR_LOG: c_int = 5;
const ERROR_LOG_BYTES: c_int = 6;
/// `CU_MODULE_EAGER_LOADING`.
const EAGER_LOADING: c_uint = 1;

facade! { Cuda;
    /// Loads a module.
    fn cuModuleLoadData(module: Out<usize>, image: ImageBytes) |call| {
        let mut state = call.here()?;
        let loaded = state.load_image(&image).map_err(|_message| Code::INVALID_IMAGE)?;
        module.set(loaded)?;
    }

    /// Loads a module with options. Only the error log options have an effect.
    fn cuModuleLoadDataEx(
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
    fn cuModuleGetLoadingMode(mode: Out<c_uint>) |_call| {
        mode.set(EAGER_LOADING)?;
    }

    /// Unloads a module.
    fn cuModuleUnload(module: usize) |call| {
        let (mut state, module) = call.at(Kind::Module, module)?;
        state.unload_module(module)?;
    }

    /// Looks up a function.
    fn cuModuleGetFunction(function: Out<usize>, module: usize, name: Text) |call| {
        let (mut state, module) = call.at(Kind::Module, module)?;
        function.set(state.function(module, name.read()?)?)?;
    }

    /// Launches a function.
    fn cuLaunchKernel(
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
        let key = call.sibling(&state, Kind::Function, function)?;
        // The packed argument buffer (`extra`) is not simulated.
        if !extra.is_null() {
            return Err(Code::NOT_SUPPORTED.into());
        }
        let function = state.functions.get(key)?;
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared_bytes,
        };
        let args = parameters.words(function.words())?;
        let launch = function.launch(&shape, &args).ok_or(Code::INVALID_VALUE)?;
        state.launch(launch, stream)?;
    }
}
