//! Argument buffers of repeated launches: allocated and freed in stream order on explicit streams, and not at all on the
//! default stream.
