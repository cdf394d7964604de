//! Guarantees: no two launches share a temporary, a result slot or an argument block; no lock is held across a driver
//! call on the path of a repeated launch; loop bounds that the device computes stay on the device.

mod argument_buffers;
mod autotune;
mod device_bounds;
mod explain;
pub(crate) mod reentrant_compiler;
mod regressions;
mod threads;
pub(crate) mod tracing_events;
