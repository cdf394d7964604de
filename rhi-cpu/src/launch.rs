//! Launches: a call, with a panic turned into the launch's error.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use quadrants_rhi::{Error, NativeCall, NativeFunction, Result};

pub(crate) fn launch(function: &NativeFunction, args: &[u64]) -> Result<()> {
    // What a body has written when it panics is undefined to the caller too: the error says so
    // (`Severity::LostData`), and a body's captures are immutable or its own affair.
    let call = AssertUnwindSafe(|| (function.entry)(&NativeCall { args }));
    catch_unwind(call).map_err(|payload| Error::Panicked { message: message(payload) })
}

fn message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => match payload.downcast::<&'static str>() {
            Ok(message) => (*message).to_owned(),
            Err(payload) => {
                // An unknown type's destructor could panic again, and outside of any guard.
                std::mem::forget(payload);
                "a value that is not text".to_owned()
            }
        },
    }
}
