//! The tests of the crate, as its users see it.

mod blocks;
mod errors;
mod evaluate;
mod guards;
mod host;
mod image;
mod races;
mod random;
mod simplify;
mod text;
mod verify;

use quadrants_ir::samples::{generate, make};
