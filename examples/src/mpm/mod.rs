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

/// What this example is.
pub const ABOUT: About = About {
    name: "mpm",
    text: "Jelly, snow and a liquid in a box, by the material point method",
    steps: 165,
    size: 128,
    size_of: "Cells along a side of the grid; there are about 0.6 particles per cell",
    sizes: (16, 2048),
    kernels: include_str!("kernels.rs"),
};

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    crate::main(&ABOUT, work)
}

/// All of a run.
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

/// How fast everything falls, in sides of the box per second squared.
const GRAVITY: f32 = 50.0;
/// The kernel's steps in a step of the program.
const SUBSTEPS: usize = 10;
/// Pixels along a side of the picture.
const PIXELS: usize = 768;

/// The particles and the grid on the device.
struct Matter {
    dt: f32,
    gravity: f32,
    volume: f32,
    kind: qd::Tensor<u32, 1>,
    place: qd::Tensor<f32, 2>,
    speed: qd::Tensor<f32, 2>,
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
        let places: Vec<f32> = particles.iter().flat_map(|p| p.place).collect();
        let speeds: Vec<f32> = particles.iter().flat_map(|p| p.speed).collect();
        let undeformed: Vec<f32> = particles.iter().flat_map(|_| [1.0, 0.0, 0.0, 1.0]).collect();
        Ok(Self {
            dt: dt(cells),
            gravity,
            volume: start::volume(cells),
            kind: program.tensor_from(&kinds, [n])?,
            place: program.tensor_from(&places, [n, 2])?,
            speed: program.tensor_from(&speeds, [n, 2])?,
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
            &mut self.place,
            &mut self.speed,
            &mut self.affine,
            &mut self.shape,
            &mut self.packing,
            &mut self.mass,
            &mut self.momentum,
        )
        .launch()
    }

    fn picture(&self, particles: &[Particle]) -> qd::Result<RgbImage> {
        let (places, speeds) = (self.place.to_vec()?, self.speed.to_vec()?);
        let mut canvas = Canvas::new(PIXELS, PIXELS, |_, y| {
            let high = 1.0 - y as f32 / PIXELS as f32;
            [0.008 + 0.01 * high, 0.01 + 0.014 * high, 0.02 + 0.03 * high]
        });
        let radius = 0.42 / self.mass.shape()[0] as f32 * PIXELS as f32;
        for ((particle, place), speed) in
            particles.iter().zip(places.chunks(2)).zip(speeds.chunks(2))
        {
            let color = color(particle.kind, speed[0].hypot(speed[1]));
            let at = [place[0], 1.0 - place[1]].map(|along| along * PIXELS as f32);
            canvas.disc(at, radius, color, 0.85);
        }
        Ok(canvas.picture())
    }
}

/// The longest time for which the method is stable on a grid of so many cells.
pub(crate) fn dt(cells: usize) -> f32 {
    1e-4 * 128.0 / cells as f32
}

/// What matter of a kind looks like; what moves is brighter.
pub(crate) fn color(kind: u32, speed: f32) -> [f32; 3] {
    let [red, green, blue] = match kind {
        kernels::JELLY => [0.78, 0.05, 0.12],
        kernels::SNOW => [0.72, 0.78, 0.86],
        _ => [0.01, 0.17, 0.62],
    };
    let foam = 0.14 * (speed / 5.0).min(1.0);
    [red + foam, green + foam, blue + foam]
}
