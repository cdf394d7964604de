//! Owned streams, events, buffers and modules over any quadrants device, with their pools.
