//! The atomics of the parts that are checked by models (`tests/external/models`), where others with the same names stand
//! in their place.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, fence};
