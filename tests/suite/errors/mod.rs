//! Guarantees: no panic crosses the API; every error says what happened, where and how to fix it, is reported once, and
//! leaves the program usable where it is recoverable.

mod assertions;
mod calls;
mod device;
pub(crate) mod environment;
mod kernel_of_a_macro;
mod reports;
mod texts;

use quadrants::{Error, KernelError, Result};

/// The kernel error of a launch: returned by the launch where it runs at once, else by `wait`.
pub(crate) fn kernel_error(launched: Result<()>, wait: impl FnOnce() -> Result<()>) -> KernelError {
    match launched.and_then(|()| wait()) {
        Err(Error::Kernel(error)) => *error,
        other => panic!("a kernel error, not {other:?}"),
    }
}
