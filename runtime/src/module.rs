//! [`Module`]: an owned module.

use std::sync::Arc;

use quadrants_rhi::{FunctionHandle, FunctionUsage, Image, ModuleHandle};

use crate::{Context, Result};

/// A loaded module. Dropping it waits until the stamped work of the context is complete, and unloads it.
#[derive(Debug)]
pub struct Module {
    context: Arc<Context>,
    handle: ModuleHandle,
}

impl Module {
    /// Loads a module.
    ///
    /// # Errors
    /// The device's error, for example that it cannot load the image.
    pub fn load(context: &Arc<Context>, image: &Image<'_>) -> Result<Self> {
        context.check()?;
        let handle = context.observe(context.device().load_module(image))?;
        Ok(Self { context: context.clone(), handle })
    }

    /// Looks up a function by name. The handle is valid as long as the module.
    ///
    /// # Errors
    /// The device's error, for example that there is no function of this name.
    pub fn function(&self, name: &str) -> Result<FunctionHandle> {
        // SAFETY: the module is loaded as long as `self` lives.
        self.context.observe(unsafe { self.context.device().function(self.handle, name) })
    }

    /// Allows launches of a function of this module with up to `bytes` bytes of dynamic shared memory.
    ///
    /// # Errors
    /// The device's error.
    ///
    /// # Safety
    /// The function is of this module.
    pub unsafe fn allow_shared_bytes(&self, function: FunctionHandle, bytes: u32) -> Result<()> {
        // SAFETY: the module is loaded as long as `self` lives; the caller guarantees that the function is of it.
        let allowed = unsafe { self.context.device().allow_shared_bytes(function, bytes) };
        self.context.observe(allowed)
    }

    /// What a function of this module uses, and how many of its blocks run at once on a multiprocessor if each has
    /// `threads` threads and `shared_bytes` bytes of dynamic shared memory. None if the device cannot tell.
    ///
    /// # Errors
    /// The device's error.
    ///
    /// # Safety
    /// The function is of this module.
    pub unsafe fn function_usage(
        &self,
        function: FunctionHandle,
        threads: u32,
        shared_bytes: u32,
    ) -> Result<Option<FunctionUsage>> {
        // SAFETY: as above.
        let usage =
            unsafe { self.context.device().function_usage(function, threads, shared_bytes) };
        self.context.observe(usage)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // Launches may be pending on any stream; the module must stay loaded until they are complete.
        if !self.context.registry.is_idle()
            && let Err(error) = self.context.synchronize()
        {
            self.context.defer(error);
        }
        // SAFETY: all stamped work is complete, and all launches of the module are stamped.
        self.context.destroyed(unsafe { self.context.device().unload_module(self.handle) });
    }
}
