//! Typed kernel IR: arenas, printer, verifier, offload, access analysis and reference interpreter.
