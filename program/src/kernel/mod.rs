//! Kernels made at run time.

pub(crate) mod dump;
pub(crate) mod host_memory;
pub(crate) mod image;
pub(crate) mod kernel_def;
pub(crate) mod monomorphizations;
pub(crate) mod stable_table;

use quadrants_ir::Kernel as IrKernel;

use crate::{Error, Launch, Result, kernel::kernel_def::KernelDef, launch::KernelResult};

/// A kernel made at run time, by the builder or from any IR.
///
/// On the CPU the reference interpreter runs it; elsewhere it is compiled as any other. Dropping it waits for
/// the devices that it was launched on, and unloads it there.
#[derive(Debug)]
pub struct Kernel {
    def: KernelDef,
}

impl Kernel {
    /// A kernel of verified IR. Each launch proves that it does not race.
    ///
    /// # Errors
    /// [`Error::Build`] with what the verifier finds; [`Error::Asserted`] where the IR asserts of an access
    /// that it does not race, and so asks for [`asserting`](Self::asserting).
    pub fn new(ir: IrKernel) -> Result<Self> {
        match ir.sites.iter().find(|site| site.asserted) {
            Some(site) => Err(Error::Asserted { kernel: ir.name.clone(), line: site.line }),
            None => Self::verified(ir),
        }
    }

    /// A kernel of verified IR that may assert of accesses that they do not race: no launch asks about those.
    ///
    /// # Errors
    /// [`Error::Build`] with what the verifier finds.
    ///
    /// # Safety
    /// In no launch may two iterations of a loop, two threads of a block between barriers, or two blocks of a
    /// region touch one element at a time, one of them writing, where the site of one of the accesses is
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

    /// A launch without arguments yet. They are checked when it is submitted. `R` is the
    /// type of the kernel's value, and `()` where it has none.
    pub fn call<R: KernelResult>(&self) -> Launch<'_, R> {
        Launch::new(&self.def)
    }
}
