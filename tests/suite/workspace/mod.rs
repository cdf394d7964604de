//! Guarantees: the dependency rules of ARCHITECTURE.md, what published crates need, the tests that docs/unsafe.md
//! names, the book with its catalogue of errors, and the messages of compile errors.
//!
//! These tests read the repository, run cargo or rustc, and use no GPU; test bundles leave them out.

mod book;
mod catalogue;
mod imports;
mod invariants;
mod metadata;
mod packages;
mod ui;
