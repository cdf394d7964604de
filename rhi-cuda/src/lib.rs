//! The CUDA driver API behind the quadrants device traits.
