//! Kernels made at run time.

use quadrants_ir::Kernel as IrKernel;

use crate::{Launch, Result, def::KernelDef, launch::KernelResult};

/// A kernel made at run time, by the builder or from any IR.
///
/// On the CPU the reference interpreter runs it; elsewhere it is compiled as any other. Dropping it waits for
/// the devices that it was launched on, and unloads it there.
#[derive(Debug)]
pub struct Kernel {
    def: KernelDef,
}

impl Kernel {
    /// A kernel of verified IR.
    ///
    /// # Errors
    /// [`Error::Build`](crate::Error::Build) with what the verifier finds.
    pub fn new(ir: IrKernel) -> Result<Self> {
        quadrants_ir::verify(&ir).map_err(|error| crate::Error::Build {
            kernel: ir.name.clone(),
            source: error.into(),
        })?;
        Ok(Self { def: KernelDef::built(ir) })
    }

    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.def.name()
    }

    /// A launch without arguments yet. They are checked when it is submitted. `R` is the
    /// type of the kernel's value, and `()` where it has none.
    pub fn call<R: KernelResult>(&self) -> Launch<'_, R> {
        Launch::new(&self.def)
    }
}
