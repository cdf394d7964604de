//! Test kernels, also for other crates: a builder, a random generator, and a shrinker of failing kernels.

pub mod builder;
pub mod generate;
pub mod shrink;
