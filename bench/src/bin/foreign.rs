//! The cost of a foreign operation besides its closure, which does nothing: on the CPU, and on a driver that does
//! nothing.
//!
//! The rival is the closure alone. Each tensor costs its description for the closure, its checks and its stamp.

use std::{hint::black_box, time::Instant};

use quadrants::{
    self as qd, ForeignCall, Hazards, Program, Result, Stream, Tensor, reads, rhi::StreamHandle,
    writes,
};
use quadrants_bench::{Case, Options, SpeedTarget, idle};

const N: usize = 256;
const CALLS: usize = 1000;

/// Above the closure.
const TARGET_NS: f64 = 100.0;

struct Scene {
    program: Program,
    stream: Stream,
    tensors: [Tensor<f32, 1>; 3],
}

impl Scene {
    fn new(backend: &str, hazards: Hazards) -> Result<Self> {
        let builder = Program::builder().hazards(hazards);
        let program = match backend {
            "cpu" => builder.open(qd::Arch::Cpu)?,
            _ => builder.open(idle::open())?,
        };
        let stream = program.create_stream()?;
        let tensors = [(); 3].map(|()| program.zeros([N]).expect("memory"));
        Ok(Self { program, stream, tensors })
    }

    /// Nanoseconds of a foreign operation.
    fn sample(&mut self, with_tensors: bool) -> Result<f64> {
        let Self { program, stream, tensors: [a, b, c] } = self;
        let call = |raw: &ForeignCall<'_>| closure(raw.stream);
        let begin = Instant::now();
        for _ in 0..CALLS {
            if with_tensors {
                program.foreign("empty", stream, reads![&*a, &*b], writes![&mut *c], call)?;
            } else {
                program.foreign("empty", stream, [], [], call)?;
            }
        }
        Ok(begin.elapsed().as_nanos() as f64 / CALLS as f64)
    }
}

fn closure(stream: StreamHandle) {
    black_box(stream);
}

/// Nanoseconds of the closure.
fn alone() -> f64 {
    let begin = Instant::now();
    for _ in 0..CALLS {
        closure(black_box(StreamHandle::DEFAULT));
    }
    begin.elapsed().as_nanos() as f64 / CALLS as f64
}

fn main() -> Result<()> {
    let options = Options::from_args();
    for (backend, driver) in [("cpu", "CPU"), ("cuda", "idle driver")] {
        if !options.wants(backend) {
            continue;
        }
        for hazards in [Hazards::Explicit, Hazards::Check] {
            for (name, with_tensors) in [("no tensors", false), ("3 tensors", true)] {
                let case = Case::new("foreign", format!("{driver}, {hazards:?}, {name}"), "ns")
                    .target(SpeedTarget::Above(TARGET_NS));
                let mut scene = Scene::new(backend, hazards)?;
                options.run(
                    &case,
                    201,
                    &mut || scene.sample(with_tensors).expect("a foreign operation"),
                    &mut [("closure", &mut alone)],
                );
            }
        }
    }
    Ok(())
}
