//! Kernel syntax tree, stream_parallel validation, lowering to IR, and the run-time kernel builder.
