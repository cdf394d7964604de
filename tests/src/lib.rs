//! Whole-system tests of quadrants, per backend.
