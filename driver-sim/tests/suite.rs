//! Tests of the simulator through its C symbols.

#[path = "../../conformance/fixtures/selected.rs"]
mod selected;

mod suite {
    mod adversary;
    mod collectives {
        mod creation;
        mod failures;
        mod order;
        mod results;
        mod support;
    }
    mod context;
    mod copy_2d;
    mod cupti;
    mod exports;
    mod faults;
    mod graph;
    mod handle;
    mod hip;
    mod kernels;
    mod launch;
    mod memory;
    mod order;
    mod peer;
    mod pool;
    mod races;
    mod roctracer;
    mod support;
}
