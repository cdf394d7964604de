//! Tests of the frontend's public interface: rules, lowering, builder.

mod agreement;
mod block_loops;
mod builder;
mod lowering;
mod overlapping;
mod positions;
mod proofs;
mod races;
mod rules;
mod run;
mod tree;
