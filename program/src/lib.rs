//! Programs, tensors, kernel launcher and stream manager.
