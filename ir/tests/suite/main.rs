//! The tests of the crate, as its users see it.

mod blocks;
mod errors;
mod evaluate;
mod generate;
mod guards;
mod host;
mod image;
mod make;
mod races;
mod random;
mod text;
mod verify;
