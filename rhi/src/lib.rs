//! The interface between quadrants and a driver: the traits that a backend implements.
//!
//! A backend crate provides a [`Driver`], which opens [`Device`]s. Both traits are dyn compatible, so the code above is
//! written once over `Arc<dyn Device>`. Handles are typed numbers without ownership; the crate `quadrants-runtime` has
//! their owners.
//!
//! This crate contains no kernel language and no policy: no pools, no caches, no retries. The contract of every
//! operation is in [`device`].
//!
//! The obligations of its unsafe code and the tests that check them:
//! [docs/unsafe.md](https://github.com/quadrants-rs/quadrants/blob/main/docs/unsafe.md#quadrants-rhi).

pub mod activity;
mod capabilities;
pub mod device;
mod driver;
pub mod environment;
mod error;
mod handle;
mod image;
mod launch;
mod options;
mod padded_image;
pub mod table;
pub mod table_device;

pub use activity::{Activities, Activity};
pub use capabilities::{
    Capabilities, CollectiveLibrary, DeviceInfo, DlpackNames, ImageKind, PriorityRange,
};
pub use device::{
    Copy2d, CopySides, Current, Device, Entered, LentContext, ManagedMemory, MemoryAt,
};
pub use driver::Driver;
pub use error::{DriverError, DriverErrorKind, Error, Result, Severity};
pub use handle::{
    DevicePtr, EventHandle, FunctionHandle, GraphExecHandle, GraphHandle, GraphNodeHandle,
    ModuleHandle, StreamHandle,
};
pub use image::{Image, NativeCall, NativeEntry, NativeFunction, NativeImage, SourcePanic};
pub use launch::{FunctionUsage, LaunchConfig};
pub use options::{EventOptions, StreamOptions};
pub use padded_image::PaddedImage;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
