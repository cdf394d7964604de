//! The compiler for simulated devices. It compiles nothing, because the simulator interprets the IR.

use quadrants_ir::{Offloaded, SimImage, verify_offloaded};

use crate::{CompileRequest, Compiled, Compiler, Result, SourceText};

/// The compiler for simulated devices: the image is the serialized kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulatorCompiler {
    print: Option<fn(&Offloaded, &CompileRequest<'_>) -> SourceText>,
}

impl SimulatorCompiler {
    /// A compiler whose [`text`](Compiler::text) is that of the simulated device, as printed by `print`.
    #[must_use]
    pub const fn with_text(print: fn(&Offloaded, &CompileRequest<'_>) -> SourceText) -> Self {
        Self { print: Some(print) }
    }
}

// SAFETY: the image is the kernel itself, and the simulator interprets it.
#[allow(unsafe_code)]
unsafe impl Compiler for SimulatorCompiler {
    fn identity(&self) -> Result<String> {
        Ok("simulator".to_owned())
    }

    fn compile(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Result<Compiled> {
        verify_offloaded(kernel)?;
        let image =
            SimImage { kernel: kernel.clone(), forms: request.forms, passing: request.passing };
        Ok(Compiled::new(image.encode(), None, String::new()))
    }

    fn text(&self, kernel: &Offloaded, request: &CompileRequest<'_>) -> Option<SourceText> {
        Some((self.print?)(kernel, request))
    }
}
