//! One conformance suite over dyn Device that every backend inherits.
