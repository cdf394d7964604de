#![doc = include_str!("../README.md")]
//!
//! `quadrants-rhi` returns handles without ownership. This crate gives each an owner that keeps the [`Context`] alive,
//! releases the handle on drop, and frees memory only after the work that uses it.
//!
//! # Ordering of memory
//! Every use of a [`Buffer`] stores a stamp: the stream and the position in it. A free, host read or host write waits
//! for the stamped work of exactly those streams, through events that are recorded at that moment. A use costs a few
//! atomic operations.
//!
//! The memory of small buffers is used again without calls of the driver's allocator, after all work that used it.

mod access_history;
mod block_cache;
mod block_reuse;
mod buffer;
mod cache_entry;
mod context;
#[cfg(test)]
mod corrupted_files;
mod deferred_fill;
mod error;
mod event;
mod fill_order;
mod fill_streams;
mod foreign_owners;
mod graph;
mod handle_pool;
mod host_wait;
mod image_bundle;
mod image_cache;
mod lease_map;
mod leases;
mod module;
mod peer;
mod pending_fill;
mod pending_owners;
mod raw_stream;
mod rectangles;
mod staging;
mod staging_pool;
mod stamps;
mod stream;
mod stream_registry;
mod strided_range;
mod sync;
mod transfer_pieces;
mod upload;
mod watch;

pub use access_history::{AccessHistory, AccessOrigin, BufferUse};
pub use buffer::Buffer;
pub use cache_entry::{ImageKey, ImageLabel, ImageProblem};
pub use context::{Completed, Context, StreamUse};
pub use error::{Error, Result, SharedError};
pub use event::Event;
pub use graph::{ChildGraph, Graph, GraphBuilder, NodeLaunch};
pub use image_bundle::{BundleError, BundleWriter, ImageBundle};
pub use image_cache::{
    CacheStatistics, CachedImage, ImageCache, cached_images, check_cache_folder,
};
pub use lease_map::{Leasable, Lease, LeaseMap};
pub use leases::{EventLease, PoolStatistics, StreamLease};
pub use module::Module;
pub use peer::enqueue_between;
pub use rectangles::CopiedRange;
pub use staging::Pinned;
pub use stamps::Stamp;
pub use stream::{Stream, StreamOrigin};
pub use strided_range::StridedRange;
pub use transfer_pieces::TransferPiece;
pub use watch::Watch;

pub use quadrants_rhi as rhi;
