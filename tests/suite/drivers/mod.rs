//! Promises: every driver release, with and without memory pools, gives the same results.

mod hardware;
mod releases;
