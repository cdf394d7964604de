//! The environment of a scenario: its own program in its own world, with all pools filled.

use quadrants::{Hazards, Opened, Program, Result, Stream, Tensor};
use quadrants_driver_sim::{Schedule, WorldLease};
use quadrants_tests::TestBackend;

use super::scenarios::sum_of_ends;
use crate::common::{set, three_blocks};

pub(super) const N: usize = 64;

/// The objects of a program.
pub(super) struct Fixture {
    pub(super) stream: Stream,
    pub(super) x: Tensor<f32, 1>,
    pub(super) y: Tensor<f32, 1>,
    pub(super) z: Tensor<f32, 1>,
}

/// A program and the objects that a scenario has left.
pub(super) struct ScenarioEnv {
    pub(super) things: Option<Fixture>,
    pub(super) program: Option<Program>,
    pub(super) opened: Option<Opened>,
    // The world is dropped last: everything else is returned to it.
    pub(super) world: WorldLease,
}

impl ScenarioEnv {
    /// The adversarial schedule runs only the operations that something waits for, so that leaked work stays visible.
    pub(super) fn new(backend: TestBackend, argument_limit: Option<usize>) -> Result<Self> {
        let (world, opened) = backend.simulated_device();
        world.set_schedule(Schedule::Adversarial);
        // Without an argument limit, launches run under `Hazards::Explicit`, which takes another path.
        let builder = match argument_limit {
            Some(limit) => Program::builder().argument_limit(limit),
            None => Program::builder().hazards(Hazards::Explicit),
        };
        let program = builder.open(opened.clone())?;
        let mut things = Fixture {
            stream: program.create_stream()?,
            x: program.zeros([N])?,
            y: program.zeros([N])?,
            z: program.zeros([N])?,
        };
        let Fixture { stream, x, y, z } = &mut things;
        set(1.0, x).launch_on(stream)?;
        three_blocks(x, y, z).launch_on(stream)?;
        sum_of_ends(x).launch_on(stream)?;
        program.device_sync()?;
        let (things, program, opened) = (Some(things), Some(program), Some(opened));
        Ok(Self { things, program, opened, world })
    }

    /// Leaked driver objects: streams, events, modules, blocks, page-locked blocks and graphs.
    pub(super) fn left(&self) -> [usize; 6] {
        let mut left = [0; 6];
        for live in [self.world.live(), self.world.left_behind()] {
            let graphs = live.graphs + live.graph_execs;
            let things =
                [live.streams, live.events, live.modules, live.blocks, live.pinned, graphs];
            left.iter_mut().zip(things).for_each(|(sum, count)| *sum += count);
        }
        left
    }
}
