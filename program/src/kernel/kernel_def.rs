//! What a kernel is to the launcher: a name, a way to its IR, and on the CPU its compiled bodies.

use std::{fmt, sync::OnceLock};

use parking_lot::Mutex;
use quadrants_ir::Kernel as IrKernel;

use crate::{
    BoxError, Error, Result,
    body::{Body, NativeBody},
    program_registry,
};

/// Numbers of kernels are below this: a launch's number in the argument block has 24 bits for them, and all
/// of them set is no launch's.
const KERNELS: u32 = (1 << 24) - 1;

/// The numbers that kernels of this process have.
static NUMBERS: Mutex<Numbers> = Mutex::new(Numbers { free: Vec::new(), next: 0 });

/// Which numbers are free.
struct Numbers {
    /// Those of kernels that are gone.
    free: Vec<u32>,
    /// The smallest that was never used.
    next: u32,
}

impl Numbers {
    fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let number = self.next;
            (number < KERNELS).then(|| {
                self.next += 1;
                number
            })
        })
    }
}

/// A kernel, as the macro emits it into a `static` or the builder makes it at run time.
pub struct KernelDef {
    name: &'static str,
    source: IrSource,
    native: Option<NativeBody>,
    id: OnceLock<u32>,
}

enum IrSource {
    Emitted(fn() -> Result<IrKernel, BoxError>),
    Built(Box<IrKernel>),
}

impl KernelDef {
    /// The kernel of this body. Its IR is made when it is first launched.
    #[must_use]
    pub const fn of<B: Body>() -> Self {
        let native = Some(NativeBody::of::<B>());
        Self { name: B::NAME, source: IrSource::Emitted(B::ir), native, id: OnceLock::new() }
    }

    pub(crate) fn built(kernel: IrKernel) -> Self {
        Self {
            name: "",
            source: IrSource::Built(Box::new(kernel)),
            native: None,
            id: OnceLock::new(),
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

    /// The kernel's number, where it has one already.
    #[inline]
    pub(crate) fn assigned_id(&self) -> Option<u32> {
        self.id.get().copied()
    }

    /// The kernel's number in this process: its place in every program's table. A later kernel may have it
    /// when this one is gone.
    #[inline]
    pub(crate) fn id(&self) -> Result<u32> {
        match self.id.get() {
            Some(id) => Ok(*id),
            None => self.number(),
        }
    }

    #[cold]
    fn number(&self) -> Result<u32> {
        // Under the lock, so that two threads take one number.
        let mut numbers = NUMBERS.lock();
        if let Some(id) = self.id.get() {
            return Ok(*id);
        }
        let id = numbers.take().ok_or_else(|| Error::TooManyKernels {
            kernel: self.name().to_owned(),
            limit: KERNELS,
        })?;
        Ok(*self.id.get_or_init(|| id))
    }
}

impl Drop for KernelDef {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        // SAFETY: launches borrow the kernel, so that there are none.
        let forgotten = unsafe { program_registry::unload_kernel(id) };
        if forgotten {
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
    fn the_last_number_is_given_and_then_none_until_a_kernel_goes() {
        let mut numbers = Numbers { free: Vec::new(), next: KERNELS - 1 };
        assert_eq!(numbers.take(), Some(KERNELS - 1));
        assert_eq!(numbers.take(), None);
        numbers.free.push(5);
        assert_eq!((numbers.take(), numbers.take()), (Some(5), None));
    }
}
