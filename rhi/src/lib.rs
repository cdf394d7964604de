//! The seam between quadrants and a driver: what a backend implements, and nothing above it.
//!
//! A backend crate offers one [`Driver`], which opens [`Device`]s. Both traits are object safe, so
//! everything above is written once over `Arc<dyn Device>`. Handles are plain typed numbers that
//! own nothing; the crate `quadrants-runtime` wraps them in owners.
//!
//! This crate knows no kernel language and sets no policy: no pools, no caches, no retries.
//!
//! What its unsafe code relies on, who upholds it and which test fails otherwise:
//! [docs/unsafe.md](https://github.com/quadrants-rs/quadrants/blob/main/docs/unsafe.md#quadrants-rhi).

mod capabilities;
pub mod device;
mod driver;
pub mod environment;
mod error;
mod handle;
mod image;
mod launch;
mod padded_image;
pub mod table;

pub use capabilities::{Capabilities, DeviceInfo, ImageKind, PriorityRange};
pub use device::{Current, Device, Entered, EventOptions, StreamOptions};
pub use driver::Driver;
pub use error::{DriverError, DriverErrorKind, Error, Result, Severity};
pub use handle::{
    DevicePtr, EventHandle, FunctionHandle, GraphExecHandle, GraphHandle, GraphNodeHandle,
    ModuleHandle, StreamHandle,
};
pub use image::{Image, NativeCall, NativeEntry, NativeFunction, NativeImage};
pub use launch::LaunchConfig;
pub use padded_image::PaddedImage;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
