//! Runs the code of the book in `docs/book` as documentation tests. A test in `suite/workspace/book.rs` checks that all
//! pages are here.

#[doc = include_str!("../../docs/book/src/introduction.md")]
mod introduction {}

#[doc = include_str!("../../docs/book/src/loops.md")]
mod loops {}

#[doc = include_str!("../../docs/book/src/reference.md")]
mod reference {}
