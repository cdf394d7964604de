//! Computes the hash of this crate's sources.

fn main() -> std::io::Result<()> {
    quadrants_source_hash::emit("src")
}
