//! The integration tests of the crate.

mod batch_loads;
mod blocks;
mod errors;
mod evaluate;
mod guards;
mod image;
mod launch_analysis;
mod race_bits;
mod race_constraints;
mod races;
mod random;
mod schedule;
mod simplify;
mod text;
mod unroll_arrays;
mod verify;
