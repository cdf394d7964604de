#![doc = include_str!("../README.md")]
//!
//! `quadrants-rhi` hands out plain handles that own nothing. Here each has an owner that keeps the
//! [`Context`] alive, gives itself back on every path, and never lets memory go before the work
//! that uses it.
//!
//! # Ordering of memory
//! Every use of a [`Buffer`] leaves a stamp: the stream and the position in it. A free, a host read
//! or a host write looks at the stamps, and orders itself behind exactly those streams: by events,
//! made at that moment. Ordinary use costs a few atomic operations.

mod buffer;
mod cache;
mod context;
mod error;
mod event;
mod graph;
mod handles;
mod live;
mod module;
mod pack;
mod pieces;
mod pool;
mod staging;
mod stamps;
mod stream;
mod sync;
mod uses;

pub use buffer::Buffer;
pub use cache::{CacheStatistics, ImageCache, ImageKey};
pub use context::{Context, Over};
pub use error::{Error, Result};
pub use event::Event;
pub use graph::{Graph, GraphBuilder, NodeLaunch};
pub use module::Module;
pub use pack::{ImagePack, PackEntry, PackError, PackWriter};
pub use pieces::Pieces;
pub use pool::{EventLease, PoolStatistics, StreamLease};
pub use staging::Pinned;
pub use stamps::Stamp;
pub use stream::{Stream, StreamOrigin};
pub use uses::{Origin, Use, Uses};

pub use quadrants_rhi as rhi;
