#![doc = include_str!("../README.md")]
//!
//! The modules are named after the driver's concepts. `table` lists every function that is called;
//! `device` implements the trait.

#[cfg(feature = "compiler")]
pub mod compiler;
mod context;
#[cfg(feature = "compiler")]
mod cupti;
mod device;
mod driver;
mod error;
mod graph;
mod module;
mod nccl;
mod table;

pub(crate) const BACKEND: &str = "cuda";

#[cfg(feature = "compiler")]
pub use cupti::CUPTI_VARIABLE;
pub use device::CudaDevice;
pub use driver::{LIBRARY_VARIABLE, driver, driver_from_path, driver_from_symbols, symbols};
pub use nccl::NCCL_VARIABLE;
pub use quadrants_rhi as rhi;
