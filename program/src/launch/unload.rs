//! How long kernels stay loaded: until their owner and the graphs that launch them are dropped.

use quadrants_ir::abi::ErrorRecord;
use quadrants_rhi::Severity;

use crate::{
    Result,
    kernel::kernel_def::KernelDef,
    launcher::{argument_head::kernel_of, errors::result_error, kernel_context::KernelContext},
    program_registry::UnloadKernel,
    state::ProgramShared,
};

impl UnloadKernel for ProgramShared {
    fn has_kernel(&self, id: u32) -> bool {
        self.launcher.get(id).is_some()
    }

    unsafe fn unload_kernel(&self, id: u32) -> bool {
        if let Some(context) = self.launcher.get(id) {
            let mut retention = context.retention.lock();
            retention.owner_dropped = true;
            if retention.graphs > 0 {
                return false;
            }
        }
        // SAFETY: by the caller, and no graph launches it.
        unsafe { self.unload(id) }
    }
}

impl ProgramShared {
    /// Unloads a kernel after all launches. Returns false where the wait for them failed.
    ///
    /// # Safety
    /// The kernel is not launched any more, and no graph keeps it.
    unsafe fn unload(&self, id: u32) -> bool {
        if let Err(error) = self.synchronize() {
            let lost = error.severity() == Severity::ContextLost;
            self.defer(error);
            if !lost {
                return false;
            }
        }
        for stream in self.manager.all() {
            if let Err(error) = stream.read_messages() {
                self.defer(error);
            }
        }
        let removed = self.records.unload_kernel(
            |record: &ErrorRecord| kernel_of(record.launch) == id,
            |record| self.launcher.decode(record),
            || {
                let _removal = self.launcher.removal.lock();
                // SAFETY: references are held by launches, which are complete, by `decode`, which is called under the
                // lock of the records, and by readers that hold `removal`.
                unsafe { self.launcher.contexts.remove(id) }
            },
        );
        // Outside of the locks: the drop waits for the device and unloads modules.
        drop(removed);
        true
    }

    /// The number and context of a kernel whose launch is captured. It stays until [`release`](Self::release).
    ///
    /// # Errors
    /// [`Error::ResultType`](crate::Error::ResultType) for a kernel that returns a value; why the kernel cannot be
    /// built.
    pub(crate) fn retain(&self, def: &KernelDef) -> Result<(u32, &KernelContext)> {
        let (id, context) = self.launcher.context_of(&self.loader, def)?;
        if !context.kernel.results.is_empty() {
            return Err(result_error(&context.kernel, None));
        }
        context.retention.lock().graphs += 1;
        Ok((id, context))
    }

    /// Ends one [`retain`](Self::retain). Unloads the kernel where nothing else keeps it.
    pub(crate) fn release(&self, id: u32) {
        let Some(context) = self.launcher.get(id) else { return };
        let last = {
            let mut retention = context.retention.lock();
            retention.graphs -= 1;
            retention.graphs == 0 && retention.owner_dropped
        };
        if last {
            // SAFETY: its owner was dropped, and so were the graphs that launched it.
            unsafe { self.unload(id) };
        }
    }
}
