//! The host processor behind the quadrants device traits.
