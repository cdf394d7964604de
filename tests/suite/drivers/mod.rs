//! Guarantees: every driver release, with and without memory pools, gives the same results.

mod downcast;
mod hardware;
mod releases;
