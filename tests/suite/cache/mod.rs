//! Guarantees: a cached or exported image is used only for the kernel, architecture and form that it was compiled for;
//! a program without a compiler runs from an image bundle; dumps do not change launches.

pub(crate) mod disk;
mod dump;
pub(crate) mod image_bundles;
