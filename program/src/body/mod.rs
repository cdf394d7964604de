//! What the emitted CPU bodies run on.
