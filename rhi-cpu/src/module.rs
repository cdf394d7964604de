//! Modules of native functions.
//!
//! The handle of a module is the address of its function list, and the handle of a function the address of its entry. A
//! launch therefore needs no table and no lock. Unloading a module drops the captures of its functions.

use std::collections::HashSet;

use quadrants_rhi::{
    DriverError, DriverErrorKind, Error, FunctionHandle, Image, ModuleHandle, NativeFunction,
    Result,
};

struct Module {
    /// Never resized: function handles point into it.
    functions: Box<[NativeFunction]>,
}

pub(crate) fn load(image: &Image<'_>) -> Result<ModuleHandle> {
    let Image::Native(image) = image else {
        return Err(Error::Unsupported {
            operation: "load_module",
            reason: "the CPU loads `Image::Native`".to_owned(),
        });
    };
    let mut names = HashSet::new();
    if let Some(twice) = image.functions.iter().find(|f| !names.insert(&f.name)) {
        let log = format!("two functions are named `{}`", twice.name);
        return Err(Error::ImageRejected { log, source: None });
    }
    let module = Box::new(Module { functions: image.functions.clone().into() });
    Ok(ModuleHandle::from_ptr(Box::into_raw(module)))
}

/// # Safety
/// `module` is a module of this device that is not used again, and none of its functions is running.
pub(crate) unsafe fn unload(module: ModuleHandle) {
    // SAFETY: from `load`'s `into_raw`, and not unloaded before, as the caller guarantees.
    drop(unsafe { Box::from_raw(module.as_ptr::<Module>()) });
}

/// # Safety
/// `module` is a module of this device.
pub(crate) unsafe fn function(module: ModuleHandle, name: &str) -> Result<FunctionHandle> {
    // SAFETY: from `load`'s `into_raw`, and not unloaded, as the caller guarantees.
    let module = unsafe { &*module.as_ptr::<Module>() };
    let found = module.functions.iter().find(|function| function.name == name);
    found
        .map(|function| FunctionHandle::from_ptr(std::ptr::from_ref(function).cast_mut()))
        .ok_or_else(|| {
            DriverError::new("function", "lookup", 0, name, DriverErrorKind::NotFound).into()
        })
}

/// # Safety
/// `function` is a function of a module of this device that stays loaded while the result is used.
pub(crate) unsafe fn resolve<'a>(function: FunctionHandle) -> &'a NativeFunction {
    // SAFETY: `function` returned the address of an entry of a loaded module, which only `unload` drops.
    unsafe { &*function.as_ptr::<NativeFunction>() }
}
