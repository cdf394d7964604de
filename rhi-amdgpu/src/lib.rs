//! The HIP runtime API behind the quadrants device traits.
