//! What goes wrong, and what it leaves behind: in kernels, at the device, and in calls.

mod calls;
mod device;
mod reports;
mod texts;

use quadrants::{Error, KernelError, Result};

/// The kernel error that a launch reported, by itself where it ran at once, else at `wait`.
fn kernel_error(launched: Result<()>, wait: impl FnOnce() -> Result<()>) -> KernelError {
    match launched.and_then(|()| wait()) {
        Err(Error::Kernel(error)) => *error,
        other => panic!("a kernel error, not {other:?}"),
    }
}
