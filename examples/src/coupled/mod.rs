//! Matter, air and a cloth: one kernel steps all three at once, in three `stream_parallel` blocks that a
//! device runs beside each other; a second one lets them act on each other.
//!
//! A snowball falls into a net that two jets of smoke blow against from below, jelly hangs above the floor and
//! a liquid spreads over it.

mod kernels;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::{mem::swap, process::ExitCode};

use image::RgbImage;
use quadrants as qd;

use crate::{
    About, Run,
    mpm::{
        self,
        kernels::{JELLY, LIQUID, SNOW},
        start::{Particle, fill, volume},
    },
    picture::Canvas,
    smoke,
};

/// What this example is.
pub const ABOUT: About = About {
    name: "coupled",
    text: "Snow, jelly, a liquid, smoke and a cloth, stepped beside each other and coupled",
    steps: 900,
    size: 192,
    size_of: "Cells of air along a side of the box; there are half as many for matter",
    sizes: (64, 2048),
    kernels: include_str!("kernels.rs"),
};

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    crate::main(&ABOUT, work)
}

/// All of a run.
pub(crate) fn work(run: &mut Run) -> crate::Result<()> {
    let particles = scene(run.size() / 2);
    let mut world = World::new(run.program(), run.size(), &particles)?;
    run.say("particles", particles.len());
    run.say("nodes", world.node.len() / 2);
    run.each_step(|step| {
        world.step(step)?;
        Ok(world.couple()?)
    })?;
    run.write("coupled.png", &world.picture(&particles)?)
}

/// How fast everything falls, in sides of the box per second squared.
const GRAVITY: f32 = 50.0;
/// The air carries things in every so many steps, for as many times their time.
const CARRY_EVERY: usize = 8;
/// What is left of smoke when it has been carried.
const KEEP: f32 = 0.985;
/// The speed of the jets.
const JET: f32 = 6.0;
/// How fast smoke is lifted.
const LIFT: f32 = 20.0;
/// How much of their turning eddies get back.
const SWIRL: f32 = 24.0;
/// What the cloth's springs accelerate a node by, per strain and distance, on cells of matter of the size 1.
const PULL: f32 = 20.0;
/// What slows a node, per its speed.
const DRAG: f32 = 4.0;
/// What a node loses of its speed relative to the air, in a second.
const OF_AIR: f32 = 60.0;
/// How much of a push the air gets back from a node.
const ECHO: f32 = 0.6;
/// What a node loses of its speed relative to matter, in a step.
const OF_MATTER: f32 = 0.3;
/// What a lone particle loses of its speed relative to the air, in a second.
const BLOWN: f32 = 10.0;
/// The mass of a node, in particles.
const HEFT: f32 = 4.0;
/// Pixels along a side of the picture.
const PIXELS: usize = 768;

/// How far to the side the two jets blow at a step.
fn slants(step: usize) -> [f32; 2] {
    let time = step as f32 * 0.004;
    [0.25 + 0.3 * (3.1 * time).sin(), -0.25 + 0.3 * (2.3 * time + 1.0).sin()]
}

/// The time for which the air carries things at a step.
fn carry(step: usize, dt: f32) -> f32 {
    if step.is_multiple_of(CARRY_EVERY) { CARRY_EVERY as f32 * dt } else { 0.0 }
}

/// What is left of smoke after a step.
fn keep(step: usize) -> f32 {
    if step.is_multiple_of(CARRY_EVERY) { KEEP } else { 1.0 }
}

/// Where the particles begin.
fn scene(cells: usize) -> Vec<Particle> {
    let mut particles = Vec::new();
    fill(cells, &mut particles, LIQUID, [0.0, 0.0], |[x, y]| {
        (0.40..0.60).contains(&x) && (0.04..0.2).contains(&y)
    });
    fill(cells, &mut particles, JELLY, [0.0, 0.0], |[x, y]| {
        (x - 0.84).abs() + (y - 0.42).abs() < 0.11
    });
    fill(cells, &mut particles, SNOW, [0.0, -2.0], |[x, y]| (x - 0.42).hypot(y - 0.84) < 0.09);
    particles
}

/// Rows and columns of the cloth, and the distance of its nodes, for so many cells of air.
fn cloth(size: usize) -> ([usize; 2], f32) {
    let columns = size / 4;
    ([(size / 32).max(3), columns], 0.76 / (columns - 1) as f32)
}

/// The nodes' places at the start, row by row.
fn net(size: usize) -> Vec<f32> {
    let ([rows, columns], spacing) = cloth(size);
    (0..rows * columns)
        .flat_map(|at| {
            [0.12 + (at % columns) as f32 * spacing, 0.62 + (at / columns) as f32 * spacing]
        })
        .collect()
}

/// What the springs accelerate by, for so many cells of matter: the finer the net, the stiffer.
fn pull(cells: usize) -> f32 {
    PULL * (cells * cells) as f32
}

/// All three on the device. Air that is carried is there twice.
struct World {
    dt: f32,
    volume: f32,
    spacing: f32,
    kind: qd::Tensor<u32, 1>,
    place: qd::Tensor<f32, 2>,
    speed: qd::Tensor<f32, 2>,
    affine: qd::Tensor<f32, 2>,
    shape: qd::Tensor<f32, 2>,
    packing: qd::Tensor<f32, 1>,
    mass: qd::Tensor<f32, 2>,
    momentum: qd::Tensor<f32, 3>,
    /// Velocity across, velocity up, smoke of the left jet, smoke of the right one.
    air: [qd::Tensor<f32, 2>; 4],
    new_air: [qd::Tensor<f32, 2>; 4],
    curl: qd::Tensor<f32, 2>,
    divergence: qd::Tensor<f32, 2>,
    pressure: qd::Tensor<f32, 2>,
    scratch: qd::Tensor<f32, 2>,
    node: qd::Tensor<f32, 3>,
    node_speed: qd::Tensor<f32, 3>,
    to_air: qd::Tensor<f32, 3>,
    to_matter: qd::Tensor<f32, 3>,
}

impl World {
    fn new(program: &qd::Program, size: usize, particles: &[Particle]) -> qd::Result<Self> {
        let (n, cells) = (particles.len(), size / 2);
        let kinds: Vec<u32> = particles.iter().map(|p| p.kind).collect();
        let places: Vec<f32> = particles.iter().flat_map(|p| p.place).collect();
        let speeds: Vec<f32> = particles.iter().flat_map(|p| p.speed).collect();
        let undeformed: Vec<f32> = particles.iter().flat_map(|_| [1.0, 0.0, 0.0, 1.0]).collect();
        let field = || program.zeros([size, size]);
        let air = || Ok::<_, qd::Error>([field()?, field()?, field()?, field()?]);
        let ([rows, columns], spacing) = cloth(size);
        Ok(Self {
            dt: mpm::dt(cells),
            volume: volume(cells),
            spacing,
            kind: program.tensor_from(&kinds, [n])?,
            place: program.tensor_from(&places, [n, 2])?,
            speed: program.tensor_from(&speeds, [n, 2])?,
            affine: program.zeros([n, 4])?,
            shape: program.tensor_from(&undeformed, [n, 4])?,
            packing: program.tensor_from(&vec![1.0; n], [n])?,
            mass: program.zeros([cells, cells])?,
            momentum: program.zeros([cells, cells, 2])?,
            air: air()?,
            new_air: air()?,
            curl: field()?,
            divergence: field()?,
            pressure: field()?,
            scratch: field()?,
            node: program.tensor_from(&net(size), [rows, columns, 2])?,
            node_speed: program.zeros([rows, columns, 2])?,
            to_air: program.zeros([size, size, 2])?,
            to_matter: program.zeros([cells, cells, 2])?,
        })
    }

    /// All three, beside each other.
    fn step(&mut self, step: usize) -> qd::Result<()> {
        let [left_slant, right_slant] = slants(step);
        let pull = pull(self.mass.shape()[0]);
        let [u, v, left, right] = &self.air;
        let [new_u, new_v, new_left, new_right] = &mut self.new_air;
        kernels::step(
            self.dt,
            GRAVITY,
            self.volume,
            &self.kind,
            &mut self.place,
            &mut self.speed,
            &mut self.affine,
            &mut self.shape,
            &mut self.packing,
            &mut self.mass,
            &mut self.momentum,
            carry(step, self.dt),
            keep(step),
            JET,
            left_slant,
            right_slant,
            LIFT,
            SWIRL,
            u,
            v,
            left,
            right,
            new_u,
            new_v,
            new_left,
            new_right,
            &mut self.curl,
            &mut self.divergence,
            &mut self.pressure,
            &mut self.scratch,
            self.spacing,
            pull,
            DRAG,
            &mut self.node,
            &mut self.node_speed,
        )
        .launch()?;
        swap(&mut self.air, &mut self.new_air);
        Ok(())
    }

    /// What they do to each other.
    fn couple(&mut self) -> qd::Result<()> {
        let [u, v, ..] = &mut self.air;
        kernels::couple(
            OF_AIR * self.dt,
            ECHO,
            OF_MATTER,
            BLOWN * self.dt,
            HEFT * self.volume,
            self.volume,
            &self.place,
            &mut self.speed,
            &self.mass,
            &self.momentum,
            &self.node,
            &mut self.node_speed,
            u,
            v,
            &mut self.to_air,
            &mut self.to_matter,
        )
        .launch()
    }

    fn picture(&self, particles: &[Particle]) -> qd::Result<RgbImage> {
        let size = self.curl.shape()[0];
        let (left, right) = (self.air[2].to_vec()?, self.air[3].to_vec()?);
        let mut canvas = Canvas::new(PIXELS, PIXELS, |x, y| {
            let at = [x, PIXELS - 1 - y]
                .map(|pixel| (pixel as f32 + 0.5) / PIXELS as f32 * size as f32 - 0.5);
            let [x0, y0] = at.map(|at| at.max(0.0) as usize);
            let (x1, y1) = ((x0 + 1).min(size - 1), (y0 + 1).min(size - 1));
            let [fx, fy] = [at[0] - x0 as f32, at[1] - y0 as f32].map(|f| f.max(0.0));
            let smooth = |field: &[f32]| {
                let row = |y: usize| {
                    let (a, b) = (field[y * size + x0], field[y * size + x1]);
                    a + (b - a) * fx
                };
                row(y0) + (row(y1) - row(y0)) * fy
            };
            smoke::color(smooth(&left), smooth(&right))
        });
        let pixel = |place: &[f32]| [place[0], 1.0 - place[1]].map(|along| along * PIXELS as f32);
        let (places, speeds) = (self.place.to_vec()?, self.speed.to_vec()?);
        let radius = 0.42 / self.mass.shape()[0] as f32 * PIXELS as f32;
        for ((particle, place), speed) in
            particles.iter().zip(places.chunks(2)).zip(speeds.chunks(2))
        {
            let color = mpm::color(particle.kind, speed[0].hypot(speed[1]));
            canvas.disc(pixel(place), radius, color, 0.85);
        }
        let [rows, columns, _] = self.node.shape();
        let nodes = self.node.to_vec()?;
        let node = |r: usize, c: usize| pixel(&nodes[2 * (r * columns + c)..]);
        for (r, c) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
            for (r1, c1) in [(r + 1, c), (r, c + 1)] {
                if r1 < rows && c1 < columns {
                    canvas.line(node(r, c), node(r1, c1), 0.9, [0.95, 0.75, 0.25], 0.9);
                }
            }
        }
        Ok(canvas.picture())
    }
}
