//! Launches: a function call. A panic becomes the error of the launch.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use quadrants_rhi::{Error, NativeCall, NativeFunction, Result};

pub(crate) fn launch(function: &NativeFunction, args: &[u64]) -> Result<()> {
    // Unwind safety: what the body wrote is undefined after a panic, as the error's severity states
    // (`Severity::LostData`); its captures are immutable or its own responsibility.
    let call = AssertUnwindSafe(|| (function.entry)(&NativeCall { args }));
    catch_unwind(call).map_err(|payload| Error::Panicked { message: message(payload) })
}

fn message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => match payload.downcast::<&'static str>() {
            Ok(message) => (*message).to_owned(),
            Err(payload) => {
                // The destructor of an unknown type could panic again, outside of `catch_unwind`.
                std::mem::forget(payload);
                "a value that is not text".to_owned()
            }
        },
    }
}
