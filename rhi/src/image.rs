//! Images: the code that a module is loaded from.

use std::{any::Any, fmt, sync::Arc};

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

/// The payload of a panic that tells where in a native function it happened.
#[derive(Debug)]
pub struct SourcePanic {
    /// The panic's message.
    pub message: String,
    /// The source line.
    pub line: u32,
}

impl SourcePanic {
    /// The message of a panic's payload, and the line, if the payload is a `SourcePanic`.
    #[must_use]
    pub fn of(payload: Box<dyn Any + Send>) -> (String, Option<u32>) {
        let payload = match payload.downcast::<Self>() {
            Ok(panic) => return (panic.message, Some(panic.line)),
            Err(payload) => payload,
        };
        let payload = match payload.downcast::<String>() {
            Ok(message) => return (*message, None),
            Err(payload) => payload,
        };
        let message = match payload.downcast::<&'static str>() {
            Ok(message) => (*message).to_owned(),
            Err(payload) => {
                // The destructor of an unknown type could panic again, outside of `catch_unwind`.
                std::mem::forget(payload);
                "a value that is not text".to_owned()
            }
        };
        (message, None)
    }
}

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
