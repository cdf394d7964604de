//! Programs, tensors, launches: kernels on many streams, written once over `dyn Device`.

pub mod body;
pub mod dsl;
mod element;

pub use element::Element;
