//! The cost of hazard checks per launch: four tensors, one stream or two that events order, on a driver that does
//! nothing.
//!
//! Each policy is measured against `Explicit`.

use std::time::Instant;

use quadrants::{self as qd, Event, Hazards, Program, Result, Stream, Tensor};
use quadrants_bench::{Case, Options, SpeedTarget, idle};

const N: usize = 256;
const LAUNCHES: usize = 1000;

/// Above `Explicit`, with four tensors.
const TARGET_NS: f64 = 200.0;

const POLICIES: [Hazards; 3] = [Hazards::Report, Hazards::Check, Hazards::Auto];

#[qd::kernel]
fn combine(a: &Tensor<f32, 1>, b: &Tensor<f32, 1>, c: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        out[i] = a[i] + b[i] + c[i];
    }
}

struct Side {
    streams: [Stream; 2],
    done: Event,
    tensors: [Tensor<f32, 1>; 4],
}

impl Side {
    fn new(hazards: Hazards) -> Result<Self> {
        let program = Program::builder().hazards(hazards).open(idle::open())?;
        Ok(Self {
            streams: [program.create_stream()?, program.create_stream()?],
            done: program.create_event()?,
            tensors: [(); 4].map(|()| program.zeros([N]).expect("memory")),
        })
    }

    /// Nanoseconds of a launch. Where streams take turns, the events that order them are not timed.
    fn sample(&mut self, taking_turns: bool) -> Result<f64> {
        let [a, b, c, out] = &mut self.tensors;
        let mut nanoseconds = 0;
        for at in 0..LAUNCHES {
            let stream = &self.streams[if taking_turns { at % 2 } else { 0 }];
            if taking_turns {
                self.done.wait(stream)?;
            }
            let begin = Instant::now();
            combine(a, b, c, out).launch_on(stream)?;
            nanoseconds += begin.elapsed().as_nanos();
            if taking_turns {
                self.done.record(stream)?;
            }
        }
        Ok(nanoseconds as f64 / LAUNCHES as f64)
    }
}

fn main() -> Result<()> {
    let options = Options::from_args();
    for (name, taking_turns) in [("one stream", false), ("two streams, ordered by events", true)] {
        for policy in POLICIES {
            let case = Case::new("hazards", format!("{policy:?}, {name}"), "ns")
                .target(SpeedTarget::Above(TARGET_NS));
            let mut ours = Side::new(policy)?;
            let mut rival = Side::new(Hazards::Explicit)?;
            options.run(
                &case,
                201,
                &mut || ours.sample(taking_turns).expect("launches"),
                &mut [("Explicit", &mut || rival.sample(taking_turns).expect("launches"))],
            );
        }
    }
    Ok(())
}
