//! What the whole-system tests run on: a program of each backend, on hardware or on the simulator.
//!
//! Variables: `QUADRANTS_TEST_BACKENDS` (a list, default all) and `QUADRANTS_TEST_DEVICE` (`auto`, `hardware`,
//! `simulated`; default `simulated`) choose backends and devices; `QUADRANTS_ARGUMENT_LIMIT` sets the by-value limit
//! of every program; `QUADRANTS_TEST_FULL=1` runs long tests at full size. Each simulated program has its own world,
//! so that tests run side by side.

#[cfg(doctest)]
mod book;
mod harness;
#[cfg(doctest)]
mod hidden_types;

pub use quadrants_test_macros::{on_all_backends, on_gpu_backends};

pub use harness::{DevicePolicy, On, Release, TestBackend};
pub use quadrants_driver_sim as sim;
pub use quadrants_samples::full_size;
