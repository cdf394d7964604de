//! The integration tests of the crate.

mod blocks;
mod errors;
mod evaluate;
mod guards;
mod image;
mod launch_analysis;
mod races;
mod random;
mod simplify;
mod text;
mod verify;
