//! Shared parts of all benches: timing, output lines, and the driver calls of the hand-written baselines (*rivals*).
//!
//! A bench is a program in `src/bin` that alternates between this library and its rivals in one process and prints
//! one JSON line per case ([`Line`]). `cargo xtask bench` builds them all, runs those of a backend and hands their
//! lines to `report`, which makes the table, the JSON file and the plot.

pub mod c;
pub mod child;
pub mod corpus;
pub mod driver;
pub mod idle;
pub mod kernels;
mod line;
mod measure;
pub mod nvrtc;
mod table;
pub mod two_devices;

pub use line::{Line, Rate, Side, SpeedTarget};
pub use measure::{Case, Options, Rival, enqueue, seconds, until_done};
