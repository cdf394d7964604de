//! Loaded modules.

use std::sync::Arc;

use quadrants_rhi::{FunctionHandle, Image, ModuleHandle};

use crate::{Context, Result};

/// A loaded module; unloaded with its last owner, after the context's stamped work is complete.
#[derive(Debug)]
pub struct Module {
    context: Arc<Context>,
    handle: ModuleHandle,
}

impl Module {
    /// Loads a module.
    ///
    /// # Errors
    /// The device's refusal of the image, or what it returns.
    pub fn load(context: &Arc<Context>, image: &Image<'_>) -> Result<Self> {
        context.check()?;
        let handle = context.observe(context.device().load_module(image))?;
        Ok(Self { context: context.clone(), handle })
    }

    /// A function by name, valid as long as the module.
    ///
    /// # Errors
    /// What the device returns, for an unknown name above all.
    pub fn function(&self, name: &str) -> Result<FunctionHandle> {
        // SAFETY: the module is loaded as long as self.
        self.context.observe(unsafe { self.context.device().function(self.handle, name) })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // Launches may be in flight on any stream, and unloading must not overtake them.
        if !self.context.live.is_idle()
            && let Err(error) = self.context.synchronize()
        {
            self.context.defer(error);
        }
        // SAFETY: nothing uses the module any more: its launches are stamped, and all that is, is complete.
        let unloaded = unsafe { self.context.device().unload_module(self.handle) };
        if let Err(error) = self.context.observe(unloaded) {
            self.context.defer(error);
        }
    }
}
