//! The tests of the crate, as its users see it.

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

use quadrants_ir::samples::{generate, make};
