#![doc = include_str!("../README.md")]
//!
//! `quadrants-rhi` returns handles without ownership. This crate gives each an owner that keeps the [`Context`] alive,
//! releases the handle on drop, and frees memory only after the work that uses it.
//!
//! # Ordering of memory
//! Every use of a [`Buffer`] stores a stamp: the stream and the position in it. A free, host read or host write waits
//! for the stamped work of exactly those streams, through events that are recorded at that moment. A use costs a few
//! atomic operations.

mod access_history;
mod buffer;
mod cache;
mod context;
mod error;
mod event;
mod graph;
mod handle_pool;
mod image_bundle;
mod lease_map;
mod leases;
mod module;
mod staging;
mod staging_pool;
mod stamps;
mod stream;
mod stream_registry;
mod strided_range;
mod sync;

pub use access_history::{AccessHistory, Origin, Use};
pub use buffer::Buffer;
pub use cache::{CacheStatistics, ImageCache, ImageKey};
pub use context::{Completed, Context};
pub use error::{Error, Result};
pub use event::Event;
pub use graph::{Graph, GraphBuilder, NodeLaunch};
pub use image_bundle::{BundleEntry, BundleError, BundleWriter, ImageBundle};
pub use lease_map::{Leasable, Lease, LeaseMap};
pub use leases::{EventLease, PoolStatistics, StreamLease};
pub use module::Module;
pub use staging::Pinned;
pub use stamps::Stamp;
pub use stream::{Stream, StreamOrigin};
pub use strided_range::StridedRange;

pub use quadrants_rhi as rhi;
