//! Images: the code that a module is loaded from.

use std::{fmt, sync::Arc};

/// An image of one of the three [kinds](crate::ImageKind).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Image<'a> {
    /// Machine code or an intermediate form: cubin, PTX, HSACO. PTX need not end with a zero byte.
    Binary(&'a [u8]),
    /// Source text that the driver compiles.
    Text(&'a str),
    /// Functions of this process.
    Native(NativeImage),
}

/// The argument of a native function: the argument block of the launch.
#[derive(Clone, Copy, Debug)]
pub struct NativeCall<'a> {
    /// The argument block in 8-byte words, unchanged.
    pub args: &'a [u64],
}

/// The code of a native function. The device catches a panic and returns [`Error::Panicked`](crate::Error::Panicked).
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

/// An image whose functions are code of this process. Names must be unique.
#[derive(Clone, Debug, Default)]
pub struct NativeImage {
    /// The functions.
    pub functions: Vec<NativeFunction>,
}
