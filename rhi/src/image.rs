//! What a module is loaded from.

use std::{fmt, sync::Arc};

/// A module's image, in one of the three kinds that devices run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Image<'a> {
    /// Machine code or an intermediate form. PTX ends with a zero byte.
    Binary(&'a [u8]),
    /// Text that the driver compiles itself.
    Text(&'a str),
    /// Functions of this process.
    Native(NativeImage),
}

/// What a native function gets: the launch's argument block.
#[derive(Clone, Copy, Debug)]
pub struct NativeCall<'a> {
    /// The argument block, 8-byte words, exactly as it was given to the launch.
    pub args: &'a [u64],
}

/// A native function. A panic in it is caught by the device and becomes the launch's error.
pub type NativeEntry = Arc<dyn Fn(&NativeCall<'_>) + Send + Sync>;

/// A named native function.
#[derive(Clone)]
pub struct NativeFunction {
    /// The name that [`function`](crate::Device::function) looks up.
    pub name: String,
    /// The code.
    pub entry: NativeEntry,
}

impl fmt::Debug for NativeFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeFunction").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A module whose functions are code of this process.
#[derive(Clone, Debug, Default)]
pub struct NativeImage {
    /// The functions.
    pub functions: Vec<NativeFunction>,
}
