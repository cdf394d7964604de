//! Hazards: launches on different streams that use the same bytes, of which one writes, without an order between them.

mod clock;
mod policy;
pub(crate) mod tracker;

pub(crate) use clock::Clock;
pub use policy::Hazards;
