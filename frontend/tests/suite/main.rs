//! The frontend's rules, lowering and builder, seen from outside.

mod agreement;
mod builder;
mod lowering;
mod proofs;
mod races;
mod rules;
mod run;
mod tree;
