//! Modules, functions and launches.

use std::ffi::{c_uint, c_void};

use crate::{
    code::{Code, Result},
    entry::facade,
    handle::Kind,
    launch::{Function, Launch, Shape},
    pointer::{ImageBytes, Out, Parameters, Text},
};

facade! { Hip;
    /// Loads a module.
    fn hipModuleLoadData(module: Out<usize>, image: ImageBytes) |call| {
        let mut state = call.here()?;
        let loaded = state.load_image(&image).map_err(|_message| Code::INVALID_IMAGE)?;
        module.set(loaded)?;
    }

    /// Unloads a module.
    fn hipModuleUnload(module: usize) |call| {
        let (mut state, module) = call.at(Kind::Module, module)?;
        state.unload_module(module)?;
    }

    /// Looks up a function.
    fn hipModuleGetFunction(function: Out<usize>, module: usize, name: Text) |call| {
        let (mut state, module) = call.at(Kind::Module, module)?;
        function.set(state.function(module, name.read()?)?)?;
    }

    /// Launches a function.
    fn hipModuleLaunchKernel(
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
        let launch = launch_of(function, &shape, &args)?;
        state.launch(launch, stream)?;
    }
}

/// Whether an axis of a grid has more threads than the runtime can count in 32 bits.
pub(crate) fn is_too_wide(grid: [u32; 3], block: [u32; 3]) -> bool {
    let threads = |(blocks, threads): (u32, u32)| u64::from(blocks) * u64::from(threads);
    grid.into_iter().zip(block).map(threads).any(|threads| threads > u64::from(u32::MAX))
}

/// Makes a launch if the runtime accepts its shape.
pub(super) fn launch_of(function: &Function, shape: &Shape, args: &[u64]) -> Result<Launch> {
    if is_too_wide(shape.grid, shape.block) {
        return Err(Code::INVALID_CONFIGURATION);
    }
    function.launch(shape, args).ok_or(Code::INVALID_CONFIGURATION)
}
