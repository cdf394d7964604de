//! What the whole-system tests run on: a program of each backend, on hardware or on the simulator.
//!
//! `QUADRANTS_TEST_BACKENDS` (a list, default all) and `QUADRANTS_TEST_DEVICE` (`auto`, `hardware`,
//! `simulated`; default `simulated`) choose; `QUADRANTS_ARGUMENT_LIMIT` sets the by-value limit of
//! every program. Each simulated program has a world of its own, so that tests run side by side.

mod harness;

pub use quadrants_test_macros::{on_all_backends, on_gpu_backends};

pub use harness::{DevicePolicy, On, Release, TestBackend};
