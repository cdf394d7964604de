//! Jelly, snow and a liquid in a box, by the material point method (MLS-MPM): particles carry mass,
//! velocity and deformation, give them to a grid by atomic additions, and take its velocity back.

pub(crate) mod kernels;
#[cfg(test)]
pub(crate) mod reference;
pub(crate) mod start;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use image::RgbImage;
use quadrants as qd;

use crate::{About, Run, picture::Canvas};
use start::Particle;

/// The description of this example.
pub const ABOUT: About = About {
    name: "mpm",
    text: "Jelly, snow and a liquid in a box, by the material point method",
    steps: 165,
    size: 128,
    size_of: "Cells along a side of the grid; there are about 0.6 particles per cell",
    sizes: (16, 2048),
    kernels: include_str!("kernels.rs"),
};

/// The program's entry point.
#[must_use]
pub fn main() -> ExitCode {
    crate::main(&ABOUT, work)
}

/// Runs the simulation and writes its picture.
pub(crate) fn work(run: &mut Run) -> crate::Result<()> {
    let particles = start::scene(run.size());
    let mut matter = Matter::new(run.program(), run.size(), GRAVITY, &particles)?;
    run.say("particles", particles.len());
    run.each_step(|_| {
        for _ in 0..SUBSTEPS {
            matter.step()?;
        }
        Ok(())
    })?;
    run.write("mpm.png", &matter.picture(&particles)?)
}

/// Gravity, in sides of the box per second squared.
const GRAVITY: f32 = 50.0;
/// Kernel steps per step of the program.
const SUBSTEPS: usize = 10;
/// Pixels along a side of the picture.
const PIXELS: usize = 768;

/// The particles and the grid on the device.
struct Matter {
    dt: f32,
    gravity: f32,
    volume: f32,
    kind: qd::Tensor<u32, 1>,
    position: qd::Tensor<f32, 2>,
    velocity: qd::Tensor<f32, 2>,
    affine: qd::Tensor<f32, 2>,
    shape: qd::Tensor<f32, 2>,
    packing: qd::Tensor<f32, 1>,
    mass: qd::Tensor<f32, 2>,
    momentum: qd::Tensor<f32, 3>,
}

impl Matter {
    fn new(
        program: &qd::Program,
        cells: usize,
        gravity: f32,
        particles: &[Particle],
    ) -> qd::Result<Self> {
        let n = particles.len();
        let kinds: Vec<u32> = particles.iter().map(|p| p.kind).collect();
        let positions: Vec<f32> = particles.iter().flat_map(|p| p.position).collect();
        let velocities: Vec<f32> = particles.iter().flat_map(|p| p.velocity).collect();
        let undeformed: Vec<f32> = particles.iter().flat_map(|_| [1.0, 0.0, 0.0, 1.0]).collect();
        Ok(Self {
            dt: dt(cells),
            gravity,
            volume: start::volume(cells),
            kind: program.tensor_from(&kinds, [n])?,
            position: program.tensor_from(&positions, [n, 2])?,
            velocity: program.tensor_from(&velocities, [n, 2])?,
            affine: program.zeros([n, 4])?,
            shape: program.tensor_from(&undeformed, [n, 4])?,
            packing: program.tensor_from(&vec![1.0; n], [n])?,
            mass: program.zeros([cells, cells])?,
            momentum: program.zeros([cells, cells, 2])?,
        })
    }

    fn step(&mut self) -> qd::Result<()> {
        kernels::step(
            self.dt,
            self.gravity,
            self.volume,
            &self.kind,
            &mut self.position,
            &mut self.velocity,
            &mut self.affine,
            &mut self.shape,
            &mut self.packing,
            &mut self.mass,
            &mut self.momentum,
        )
        .launch()
    }

    fn picture(&self, particles: &[Particle]) -> qd::Result<RgbImage> {
        let (positions, velocities) = (self.position.to_vec()?, self.velocity.to_vec()?);
        let mut canvas = Canvas::new(PIXELS, PIXELS, |_, y| {
            let high = 1.0 - y as f32 / PIXELS as f32;
            [0.008 + 0.01 * high, 0.01 + 0.014 * high, 0.02 + 0.03 * high]
        });
        let radius = 0.42 / self.mass.shape()[0] as f32 * PIXELS as f32;
        for ((particle, position), velocity) in
            particles.iter().zip(positions.chunks(2)).zip(velocities.chunks(2))
        {
            let color = color(particle.kind, velocity[0].hypot(velocity[1]));
            let at = [position[0], 1.0 - position[1]].map(|along| along * PIXELS as f32);
            canvas.disc(at, radius, color, 0.85);
        }
        Ok(canvas.picture())
    }
}

/// The longest stable time step on a grid of this many cells.
pub(crate) fn dt(cells: usize) -> f32 {
    1e-4 * 128.0 / cells as f32
}

/// The color of a kind of matter; faster matter is brighter.
pub(crate) fn color(kind: u32, speed: f32) -> [f32; 3] {
    let [red, green, blue] = match kind {
        kernels::JELLY => [0.78, 0.05, 0.12],
        kernels::SNOW => [0.72, 0.78, 0.86],
        _ => [0.01, 0.17, 0.62],
    };
    let foam = 0.14 * (speed / 5.0).min(1.0);
    [red + foam, green + foam, blue + foam]
}
