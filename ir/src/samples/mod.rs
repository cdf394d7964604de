//! Kernels for tests of this crate and of others: made in few words, drawn at random, and made small again
//! where one fails.

pub mod generate;
pub mod make;
pub mod shrink;
