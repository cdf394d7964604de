//! Computes the hash of the compiler's sources.

fn main() -> std::io::Result<()> {
    quadrants_source_hash::emit("src/compiler")
}
