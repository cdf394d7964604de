//! [`Kernel`]: a kernel made at run time.

use quadrants_ir::Kernel as IrKernel;

use super::{KernelResult, Launch};
use crate::{Error, Result, kernel::kernel_def::KernelDef};

/// A kernel made at run time, by the builder or from any IR.
///
/// On the CPU it runs in the reference interpreter; on other devices it is compiled like any kernel. Dropping it waits
/// for the devices that it was launched on, and unloads it there.
#[derive(Debug)]
pub struct Kernel {
    def: KernelDef,
}

impl Kernel {
    /// A kernel from IR, which is verified. Each launch is checked for races.
    ///
    /// # Errors
    /// [`Error::Build`] with the verifier's error; [`Error::Asserted`] where the IR asserts that an access does not
    /// race: use [`asserting`](Self::asserting).
    pub fn new(ir: IrKernel) -> Result<Self> {
        match ir.sites.iter().find(|site| site.asserted) {
            Some(site) => Err(Error::Asserted { kernel: ir.name.clone(), line: site.line }),
            None => Self::verified(ir),
        }
    }

    /// A kernel from IR that may assert that accesses do not race. The IR is verified. Launches do not check those
    /// accesses for races.
    ///
    /// # Errors
    /// [`Error::Build`] with the verifier's error.
    ///
    /// # Safety
    /// In no launch may two iterations of a loop, two threads of a block between barriers, or two blocks of a region
    /// access the same element, where one access writes and the site of one of them is
    /// [asserted](quadrants_ir::Site::asserted).
    pub unsafe fn asserting(ir: IrKernel) -> Result<Self> {
        Self::verified(ir)
    }

    fn verified(ir: IrKernel) -> Result<Self> {
        quadrants_ir::verify(&ir)
            .map_err(|error| Error::Build { kernel: ir.name.clone(), source: error.into() })?;
        Ok(Self { def: KernelDef::built(ir) })
    }

    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.def.name()
    }

    /// A launch without arguments. They are checked when it is submitted. `R` is the type of the kernel's value, or
    /// `()`.
    pub fn call<R: KernelResult>(&self) -> Launch<'_, R> {
        Launch::new(&self.def)
    }
}
