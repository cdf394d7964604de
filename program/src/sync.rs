//! The atomics of the modules that the loom models check (`tests/external/models`); the models replace them by loom's.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, fence};
