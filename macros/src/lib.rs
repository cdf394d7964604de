//! The kernel and func attribute macros.
