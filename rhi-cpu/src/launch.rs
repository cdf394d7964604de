//! Launches: a function call. A panic becomes the error of the launch.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quadrants_rhi::{Error, NativeCall, NativeFunction, Result, SourcePanic};

pub(crate) fn launch(function: &NativeFunction, args: &[u64]) -> Result<()> {
    // Unwind safety: what the body wrote is undefined after a panic, as the error's severity states
    // (`Severity::LostData`); its captures are immutable or its own responsibility.
    let call = AssertUnwindSafe(|| (function.entry)(&NativeCall { args }));
    catch_unwind(call).map_err(|payload| {
        let (message, line) = SourcePanic::of(payload);
        Error::Panicked { message, line }
    })
}
