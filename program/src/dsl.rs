//! What a kernel is written with besides Rust itself.
