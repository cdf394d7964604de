//! What a kernel is to the launcher: a name, a way to its IR, and on the CPU its compiled bodies.

use std::{
    fmt,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use quadrants_ir::Kernel as IrKernel;

use crate::{BoxError, body::NativeBody};

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
    /// A kernel whose IR is made when it is first launched.
    #[must_use]
    pub const fn new(
        name: &'static str,
        ir: fn() -> Result<IrKernel, BoxError>,
        native: Option<NativeBody>,
    ) -> Self {
        Self { name, source: IrSource::Emitted(ir), native, id: OnceLock::new() }
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

    /// The kernel's number in this process: its place in every program's table.
    pub(crate) fn id(&self) -> u32 {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        *self.id.get_or_init(|| NEXT.fetch_add(1, Relaxed))
    }
}

impl fmt::Debug for KernelDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelDef").field("name", &self.name()).finish_non_exhaustive()
    }
}
