//! The compiler for simulated devices: none, for the simulator runs the IR.

use quadrants_ir::{Offloaded, SimImage, verify_offloaded};

use crate::{CompileRequest, Compiled, Compiler, Result};

/// The compiler for simulated devices: the image is the kernel itself, serialized.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulatorCompiler;

impl Compiler for SimulatorCompiler {
    fn identity(&self) -> Result<String> {
        Ok("simulator".to_owned())
    }

    fn compile(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Result<Compiled> {
        verify_offloaded(kernel)?;
        let image =
            SimImage { kernel: kernel.clone(), form: request.form, passing: request.passing };
        Ok(Compiled::new(image.encode(), None, String::new()))
    }
}
