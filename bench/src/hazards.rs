//! What looking for hazards costs a launch: four tensors, one stream or two that events order, on a driver that does
//! nothing.
//!
//! All policies alternate in one process; a line gives the median nanoseconds of a launch and what it is above
//! `Explicit`, the rival. `hazards [--samples N]`, JSON lines on standard output.

mod idle;

use std::time::Instant;

use quadrants::{self as qd, Event, Hazards, Program, Result, Stream, Tensor};

const N: usize = 256;
const LAUNCHES: usize = 1000;

const POLICIES: [Hazards; 4] = [Hazards::Explicit, Hazards::Report, Hazards::Check, Hazards::Auto];

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
    let samples = std::env::args().skip_while(|a| a != "--samples").nth(1);
    let samples: usize = samples.and_then(|n| n.parse().ok()).unwrap_or(201);
    for (case, taking_turns) in [("one stream", false), ("two streams, ordered by events", true)] {
        let mut sides = POLICIES.map(|policy| Side::new(policy).expect("a program"));
        let mut times = POLICIES.map(|_| Vec::new());
        for _ in 0..samples {
            for (side, times) in sides.iter_mut().zip(&mut times) {
                times.push(side.sample(taking_turns)?);
            }
        }
        let medians = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        for (policy, median) in POLICIES.iter().zip(medians) {
            println!(
                "{{\"case\": \"{case}\", \"hazards\": \"{policy:?}\", \"launch_ns\": {median:.0}, \
                 \"above_explicit_ns\": {:.0}}}",
                median - medians[0]
            );
        }
    }
    Ok(())
}
