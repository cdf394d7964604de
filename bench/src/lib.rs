//! What all benches share: how time is taken, what a line says, and the rivals' driver calls.
//!
//! A bench is a program in `src/bin` that runs ours and its rivals in turns in one process and prints one JSON line
//! per case ([`Line`]). `cargo xtask bench` builds them all, runs those of a backend and hands their lines to
//! `report`, which makes the table, the JSON file and the plot.

pub mod child;
pub mod driver;
pub mod idle;
pub mod kernels;
mod line;
mod measure;
pub mod nvrtc;
mod table;

pub use line::{Asked, Line, Rate, Side};
pub use measure::{Case, Options, Rival, enqueue, seconds, until_done};
