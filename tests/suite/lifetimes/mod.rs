//! Guarantees: no driver handle is owned twice; handles, kernels and programs may be dropped in any order, on any
//! thread and at the end of the process; nothing accumulates.

mod handles;
pub(crate) mod process_exit;
pub(crate) mod soak;
