//! The state of a thread: its current stream, its capture, and its host-side regions.

pub(crate) mod capture;
pub(crate) mod current_stream;
pub(crate) mod mode;
pub(crate) mod regions;
