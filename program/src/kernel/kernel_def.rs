//! Kernel definitions: the name, the IR and the CPU body of a kernel, and its number in this process.

use std::{fmt, sync::OnceLock};

use parking_lot::Mutex;
use quadrants_ir::Kernel as IrKernel;

use crate::{
    BoxError, Error, Result,
    body::{Body, NativeBody},
    program_registry,
};

/// The number of bits of a launch word that hold a kernel number.
pub(crate) const KERNEL_BITS: u32 = 24;

/// Kernel numbers are below this, the largest that a launch word can hold: it is reserved for captured copies.
pub(crate) const MAX_KERNELS: u32 = (1 << KERNEL_BITS) - 1;

static NUMBERS: Mutex<FreeNumbers> = Mutex::new(FreeNumbers { free: Vec::new(), next: 0 });

struct FreeNumbers {
    /// Numbers of dropped kernels.
    free: Vec<u32>,
    /// The smallest number that was never used.
    next: u32,
}

impl FreeNumbers {
    fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let number = self.next;
            (number < MAX_KERNELS).then(|| {
                self.next += 1;
                number
            })
        })
    }
}

/// A kernel definition, which the macro emits as a `static` or the builder makes at run time.
pub struct KernelDef {
    name: &'static str,
    source: IrSource,
    native: Option<NativeBody>,
    id: OnceLock<u32>,
    variants: VariantLink,
}

/// The variants of a kernel so far: a list that only grows, as that of monomorphizations.
type VariantLink = OnceLock<Box<Variant>>;

/// A variant of a kernel, which takes the strides of some tensors.
struct Variant {
    /// Whether each parameter has strides.
    strided: Box<[bool]>,
    def: KernelDef,
    next: VariantLink,
}

enum IrSource {
    Emitted(fn() -> Result<IrKernel, BoxError>),
    Built(Box<IrKernel>),
}

impl KernelDef {
    /// The definition of the kernel with this body. Its IR is made at the first launch.
    #[must_use]
    pub const fn of<B: Body>() -> Self {
        let native = Some(NativeBody::of::<B>());
        Self {
            name: B::NAME,
            source: IrSource::Emitted(B::ir),
            native,
            id: OnceLock::new(),
            variants: OnceLock::new(),
        }
    }

    pub(crate) fn built(kernel: IrKernel) -> Self {
        Self {
            name: "",
            source: IrSource::Built(Box::new(kernel)),
            native: None,
            id: OnceLock::new(),
            variants: OnceLock::new(),
        }
    }

    /// The variant of this kernel that takes strides for these parameters, made where it is missing. This kernel itself
    /// where the number of parameters is another one: then it accepts no such arguments.
    ///
    /// # Errors
    /// [`Error::Build`]
    pub(crate) fn strided(&self, strided: &[bool]) -> Result<&Self> {
        let mut link = &self.variants;
        loop {
            match link.get() {
                Some(variant) if *variant.strided == *strided => return Ok(&variant.def),
                Some(variant) => link = &variant.next,
                None => {
                    let failed = |source| Error::Build { kernel: self.name().to_owned(), source };
                    let mut ir = self.ir().map_err(failed)?;
                    if ir.params.len() != strided.len() {
                        return Ok(self);
                    }
                    let params = ir.params.iter_mut().zip(strided);
                    params.for_each(|(param, strided)| param.strided = *strided);
                    let (def, next) = (Self::built(ir), OnceLock::new());
                    let strided = strided.into();
                    // Another thread may have added one meanwhile: then this one is dropped, and that one looked at.
                    link.get_or_init(|| Box::new(Variant { strided, def, next }));
                }
            }
        }
    }

    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.source {
            IrSource::Emitted(_) => self.name,
            IrSource::Built(kernel) => &kernel.name,
        }
    }

    pub(crate) fn ir(&self) -> Result<IrKernel, BoxError> {
        match &self.source {
            IrSource::Emitted(make) => make(),
            IrSource::Built(kernel) => Ok((**kernel).clone()),
        }
    }

    pub(crate) fn native(&self) -> Option<&NativeBody> {
        self.native.as_ref()
    }

    /// The kernel's number, if it has one already.
    #[inline]
    pub(crate) fn assigned_id(&self) -> Option<u32> {
        self.id.get().copied()
    }

    /// The kernel's number in this process: its index in every program's table. It is reused after this kernel is
    /// dropped.
    #[inline]
    pub(crate) fn id(&self) -> Result<u32> {
        match self.id.get() {
            Some(id) => Ok(*id),
            None => self.assign_id(),
        }
    }

    #[cold]
    fn assign_id(&self) -> Result<u32> {
        // Checked again under the lock: another thread may have taken a number meanwhile.
        let mut numbers = NUMBERS.lock();
        if let Some(id) = self.id.get() {
            return Ok(*id);
        }
        let id = numbers.take().ok_or_else(|| Error::TooManyKernels {
            kernel: self.name().to_owned(),
            limit: MAX_KERNELS,
        })?;
        Ok(*self.id.get_or_init(|| id))
    }
}

impl Drop for KernelDef {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        // SAFETY: launches borrow the kernel, so there are none.
        let unloaded_everywhere = unsafe { program_registry::unload_kernel(id) };
        if unloaded_everywhere {
            NUMBERS.lock().free.push(id);
        }
    }
}

impl fmt::Debug for KernelDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelDef").field("name", &self.name()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_run_out_at_the_limit_and_are_reused_after_a_drop() {
        let mut numbers = FreeNumbers { free: Vec::new(), next: MAX_KERNELS - 1 };
        assert_eq!(numbers.take(), Some(MAX_KERNELS - 1));
        assert_eq!(numbers.take(), None);
        numbers.free.push(5);
        assert_eq!((numbers.take(), numbers.take()), (Some(5), None));
    }
}
