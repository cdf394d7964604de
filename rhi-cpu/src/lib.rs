#![doc = include_str!("../README.md")]

mod device;
mod driver;
mod launch;
mod memory;
mod module;

pub use driver::driver;
pub use quadrants_rhi as rhi;

pub(crate) const BACKEND: &str = "cpu";
