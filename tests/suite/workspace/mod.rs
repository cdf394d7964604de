//! Promises: the dependency rules of ARCHITECTURE.md, the tests that docs/unsafe.md names, the book, and the messages
//! of compile errors.
//!
//! These tests run cargo or rustc and use no device; test bundles leave them out.

mod book;
mod invariants;
mod ui;
