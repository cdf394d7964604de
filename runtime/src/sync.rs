//! The atomics and locks of the modules that loom checks. The crate of the loom models (`tests/external/models`)
//! includes these modules and replaces the types here by loom's.

pub(crate) use std::sync::atomic::AtomicU64;

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
