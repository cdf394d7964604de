//! The whole-system suite: one binary. Each folder holds the tests of one promise of ARCHITECTURE.md ("Invariants");
//! its `mod.rs` says which.

mod cache;
mod child;
mod collectives;
mod differential;
mod drivers;
mod errors;
mod faults;
mod graphs;
mod hazards;
mod interop;
mod language;
mod launch;
mod lifetimes;
mod memory;
mod profiles;
mod proofs;
mod regions;
mod streams;
mod workspace;

/// Kernels and helpers that several folders use.
mod common {
    use quadrants as qd;
    use quadrants::{Error, Program, Result, Stream, Tensor};
    use quadrants_driver_sim::{Schedule, WorldLease};

    /// Whether a launch was rejected because of a hazard. Any other error fails the test.
    pub(crate) fn is_hazard(result: Result<()>) -> bool {
        match result {
            Err(Error::Hazard(_)) => true,
            other => {
                other.expect("nothing but hazards");
                false
            }
        }
    }

    /// Runs `body` on seeds of the random schedule where the device is simulated, else a few times.
    pub(crate) fn on_seeds(
        world: Option<&WorldLease>,
        seeds: u64,
        mut body: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let Some(world) = world else { return (0..8).try_for_each(body) };
        world.set_schedule(Schedule::Random);
        for seed in 0..seeds {
            world.set_seed(seed);
            body(seed)?;
            assert_eq!(world.reports(), [], "seed {seed}");
        }
        Ok(())
    }

    /// Makes later work of `after` wait for the work that `before` has so far.
    pub(crate) fn order(program: &Program, before: &Stream, after: &Stream) -> Result<()> {
        let mark = program.create_event()?;
        mark.record(before)?;
        mark.wait(after)
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
