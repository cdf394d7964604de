#![doc = include_str!("../README.md")]
//!
//! The modules are named after the driver's concepts. `table` lists every function that is called;
//! `device` implements the trait.

#[cfg(feature = "compiler")]
pub mod compiler;
mod context;
mod device;
mod driver;
mod error;
mod generated;
mod graph;
mod module;
mod rccl;
#[cfg(feature = "compiler")]
mod roctracer;
mod table;

pub(crate) const BACKEND: &str = "amdgpu";

pub use device::HipDevice;
pub use driver::{LIBRARY_VARIABLE, driver, driver_from_path, driver_from_symbols, symbols};
pub use quadrants_rhi as rhi;
pub use rccl::RCCL_VARIABLE;
#[cfg(feature = "compiler")]
pub use roctracer::ROCTRACER_VARIABLE;
