//! The whole-system suite: one binary, one module per subject.

mod arguments;
mod bounds;
mod cache;
mod capture;
mod child;
mod counters;
mod current;
mod detector;
mod dump;
mod environment;
mod errors;
mod events;
mod exit;
mod export;
mod faults;
mod graphs;
mod hazards;
mod host_arrays;
mod interiors;
mod invariants;
mod kernels;
mod language;
mod lifetimes;
mod memory;
mod mutations;
mod order;
mod proofs;
mod races;
mod referee;
mod regions;
mod regressions;
mod releases;
mod slices;
mod soak;
mod streams;
mod threads;
mod ui;

/// Kernels that several subjects use, and an edge between two streams.
mod common {
    use quadrants as qd;
    use quadrants::{Program, Result, Stream, Tensor};

    /// Makes what comes later on a stream wait for what another has been given so far.
    pub(crate) fn order(program: &Program, before: &Stream, behind: &Stream) -> Result<()> {
        let mark = program.create_event()?;
        mark.record(before)?;
        mark.wait(behind)
    }

    #[qd::kernel]
    pub fn set(value: f32, out: &mut Tensor<f32, 1>) {
        for i in 0..out.len() {
            out[i] = value;
        }
    }

    #[qd::kernel]
    pub fn copy(from: &Tensor<f32, 1>, to: &mut Tensor<f32, 1>) {
        for i in 0..to.len() {
            to[i] = from[i];
        }
    }

    #[qd::kernel]
    pub fn saxpy(a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
        for i in 0..x.len() {
            y[i] += a * x[i];
        }
    }

    #[qd::kernel]
    pub fn three_blocks(a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 1>, c: &mut Tensor<f32, 1>) {
        qd::stream_parallel(|| {
            for i in 0..a.len() {
                a[i] += 1.0;
            }
            for i in 0..a.len() {
                a[i] *= 2.0;
            }
        });
        qd::stream_parallel(|| {
            for i in 0..b.len() {
                b[i] += 3.0;
            }
        });
        qd::stream_parallel(|| {
            for i in 0..c.len() {
                c[i] += 5.0;
            }
        });
    }
}
