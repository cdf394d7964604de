//! A field on several devices, each with some of its rows: a heat equation (Jacobi) or a fluid (lattice Boltzmann,
//! D2Q9). In each step a device computes its first and last row, and then, side by side in a region, exchanges them
//! with its neighbours and computes the rows between.
//!
//! The devices are in this process, each with a thread, or there is a process for each, as `torchrun` and other
//! launchers start them. With `--simulated` they are simulated, with the worst schedule that the dependencies allow.

mod command;
mod domain;
mod kernels;
mod measure;
#[cfg(test)]
mod tests;

use std::{sync::Arc, thread};

use clap::ValueEnum;
use image::RgbImage;
use quadrants::{
    self as qd, Program,
    collectives::{self, Communicator, CommunicatorBuilder, Reduction, bootstrap::ProcessGroup},
};
use quadrants_tests::{TestBackend, sim};

pub use command::main;
use domain::Domain;

use crate::progress::Progress;

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Equations {
    /// The heat equation, by Jacobi iteration
    Jacobi,
    /// A fluid, by the lattice Boltzmann method with nine velocities
    Fluid,
}

impl Equations {
    /// The number of values of a cell.
    pub(crate) fn values(self) -> usize {
        match self {
            Self::Jacobi => 1,
            Self::Fluid => 9,
        }
    }
}

/// The devices of this process.
#[derive(Debug)]
pub(crate) struct Devices {
    pub(crate) programs: Vec<Program>,
    pub(crate) builder: CommunicatorBuilder,
    /// The other processes, each with one device.
    pub(crate) processes: Option<Arc<ProcessGroup>>,
    /// The simulated devices. Dropped last.
    pub(crate) worlds: Vec<sim::WorldLease>,
}

/// A field and its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    pub(crate) equations: Equations,
    /// Rows and columns of the whole field.
    pub(crate) size: [usize; 2],
    pub(crate) steps: usize,
    pub(crate) exchange: Exchange,
}

/// How a step exchanges rows with the neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exchange {
    /// Beside the interior, in a region.
    Overlapped,
    /// Not at all, to measure the computation alone.
    Left,
    /// On a stream of its own that nothing orders: the mistake that the simulator finds.
    Unordered,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Seconds per step, of the slowest device.
    pub(crate) seconds: f64,
    /// The field, where it was requested.
    pub(crate) field: Vec<f32>,
}

impl Devices {
    /// Simulated devices, and the CPU where `backend` is that.
    pub(crate) fn simulated(backend: TestBackend, count: usize) -> crate::Result<Self> {
        let mut worlds = Vec::new();
        let mut programs = Vec::new();
        for _ in 0..count {
            let (world, opened) = backend.simulated_device();
            world.set_schedule(sim::Schedule::Adversarial);
            programs.push(Program::builder().open(opened)?);
            worlds.push(world);
        }
        let builder = Communicator::builder().library(backend.collective_library());
        Ok(Self { programs, builder, processes: None, worlds })
    }

    /// The number of devices of all processes.
    pub(crate) fn count(&self) -> usize {
        self.processes.as_ref().map_or(self.programs.len(), |group| group.world_size())
    }

    /// Calls `body` with the communicator of each device, on a thread for each, and returns what rank 0 of this process
    /// returns.
    fn on_each<R: Send>(
        &self,
        body: impl Fn(&Communicator) -> crate::Result<R> + Sync,
    ) -> crate::Result<R> {
        let id = match self.processes {
            Some(_) => None,
            None => Some(self.builder.unique_id(&self.programs[0])?),
        };
        let start = |rank: usize, program: &Program| {
            let communicator = match (&id, &self.processes) {
                (Some(id), _) => self.builder.rank(program, id, rank, self.programs.len())?,
                (None, Some(processes)) => self.builder.join(program, processes)?,
                (None, None) => return Err(crate::Error::Usage("there are no devices".to_owned())),
            };
            body(&communicator)
        };
        let results: Vec<_> = thread::scope(|scope| {
            let start = &start;
            let ranks = self.programs.iter().enumerate();
            let threads: Vec<_> =
                ranks.map(|(rank, program)| scope.spawn(move || start(rank, program))).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        let mut first = None;
        for result in results {
            let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            first.get_or_insert(result);
        }
        first.ok_or_else(|| crate::Error::Usage("there are no devices".to_owned()))
    }

    /// Runs a task. With `gather`, the outcome has the whole field, and the progress is shown.
    pub(crate) fn run(&self, problem: &Problem, gather: bool) -> crate::Result<Outcome> {
        let (count, [height, width]) = (self.count(), problem.size);
        // Three rows: the first, the last and one between.
        if height % count != 0 || height / count < 3 || width < 2 {
            let text =
                format!("{count} devices need a multiple of {count} rows, at least {}", 3 * count);
            return Err(crate::Error::Usage(text));
        }
        self.on_each(|communicator| {
            let (program, rows) = (communicator.program(), height / count);
            let first = communicator.rank() * rows;
            let mut domain = Domain::new(problem, communicator, [first, rows])?;
            // The first steps compile the kernels and connect the devices.
            let progress = match gather && communicator.rank() == 0 {
                true => Progress::new(problem.steps),
                false => Progress::hidden(),
            };
            let mut step = || -> crate::Result<()> {
                domain.step()?;
                Ok(progress.step(program)?)
            };
            (0..problem.steps.min(2)).try_for_each(|_| step())?;
            let rest = || (2..problem.steps).try_for_each(|_| step());
            let seconds = measure::slowest(communicator, rest)?;
            drop(progress);
            let seconds = seconds / problem.steps.saturating_sub(2).max(1) as f64;
            let field = match gather {
                true => whole(communicator, &domain.rows()?)?,
                false => Vec::new(),
            };
            Ok(Outcome { seconds, field })
        })
    }
}

/// The rows of all devices.
fn whole(communicator: &Communicator, rows: &[f32]) -> collectives::Result<Vec<f32>> {
    let program = communicator.program();
    let own = program.tensor_from(rows, [rows.len()])?;
    let mut all = program.zeros::<f32, 1>([rows.len() * communicator.size()])?;
    communicator.all_gather(&own, &mut all)?;
    Ok(all.to_vec()?)
}

/// What the program prints for these arguments.
#[cfg(test)]
pub(crate) fn run(arguments: &[&str]) -> crate::Result<String> {
    command::execute(&clap::Parser::parse_from(arguments))
}

/// The largest of the numbers of all devices.
fn largest(communicator: &Communicator, number: f64) -> collectives::Result<f64> {
    let mut number = communicator.program().tensor_from(&[number], [1])?;
    communicator.all_reduce_in_place(&mut number, Reduction::Max)?;
    Ok(number.get([0])?)
}

/// The field as a picture: temperatures, or the vorticity of the fluid.
pub(crate) fn picture(problem: &Problem, field: &[f32]) -> RgbImage {
    let [height, width] = problem.size;
    let values = problem.equations.values();
    let at = |x: usize, y: usize| {
        let first = (y % height * values) * width + x % width;
        move |value: usize| field[first + value * width]
    };
    let velocity = |x: usize, y: usize| {
        let of = at(x, y);
        let diagonal = of(5) - of(7);
        let other = of(8) - of(6);
        [of(1) - of(3) + diagonal + other, of(2) - of(4) + diagonal - other]
    };
    crate::picture::picture(width, height, |x, y| match problem.equations {
        Equations::Jacobi => {
            let t = at(x, y)(0);
            [t, t * t, 0.1 + 0.5 * t * t * t]
        }
        Equations::Fluid => {
            let across = velocity(x + 1, y)[1] - velocity(x + width - 1, y)[1];
            let down = velocity(x, y + 1)[0] - velocity(x, y + height - 1)[0];
            let spin = 0.05 * width as f32 * (across - down);
            [spin.max(0.0), 0.3 * spin.abs(), (-spin).max(0.0)]
        }
    })
}

impl From<collectives::Error> for crate::Error {
    fn from(source: collectives::Error) -> Self {
        match source {
            collectives::Error::Program(source) => source.into(),
            source => Self::Collective { source: Box::new(source) },
        }
    }
}

/// A program for each of the first `count` devices of a backend; all of them for none.
pub(crate) fn open(arch: qd::Arch, count: Option<usize>) -> crate::Result<Devices> {
    let name = arch.name();
    let failed = |source: qd::Error| crate::Error::Open { device: name, source: Box::new(source) };
    let available = match arch {
        // Programs on the CPU share it.
        qd::Arch::Cpu => 1,
        _ => {
            let driver = arch.driver().map_err(|error| failed(qd::Error::from(error)))?;
            driver.device_count().map_err(|error| failed(qd::Error::from(error)))?
        }
    };
    let count = count.unwrap_or(available).max(1);
    let open = |index: usize| {
        let ordinal = if arch == qd::Arch::Cpu { 0 } else { index };
        Program::open(arch.device(ordinal)).map_err(failed)
    };
    let programs = (0..count).map(open).collect::<crate::Result<_>>()?;
    let (builder, worlds) = (Communicator::builder(), Vec::new());
    Ok(Devices { programs, builder, processes: None, worlds })
}
