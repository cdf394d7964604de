//! Simulations that run on the processor and on GPUs, and write pictures.
//!
//! One module per simulation: its `kernels`, the struct that owns its tensors and steps them, its
//! picture, and, for its tests, a `reference` in plain Rust that must give the same. The programs in
//! the folder `examples` are one line each, so that `cargo run --release --example smoke` runs one.
//!
//! Shared parts: the command line ([`About`], [`main`]), the progress, the trace and the summary of
//! a run ([`Run`]), and errors in one line ([`Error`]).

mod command;
mod error;
mod picture;
mod precompile;
mod progress;
mod run;
mod trace;
mod unsafe_share;

pub mod coupled;
pub mod halo;
pub mod mpm;
pub mod nbody;
pub mod path_tracer;
pub mod smoke;
pub mod sph;

pub use command::{About, main};
pub use error::{Error, Result};
pub use precompile::launch_all;
pub use run::Run;

/// All simulations.
pub const ALL: &[About] =
    &[coupled::ABOUT, mpm::ABOUT, nbody::ABOUT, path_tracer::ABOUT, smoke::ABOUT, sph::ABOUT];

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
