//! Matter, air and a cloth: one kernel steps all three concurrently, in three `stream_parallel` blocks that a
//! device runs at the same time; a second kernel couples them.
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

/// The description of this example.
pub const ABOUT: About = About {
    name: "coupled",
    text: "Snow, jelly, a liquid, smoke and a cloth, stepped beside each other and coupled",
    steps: 900,
    size: 192,
    size_of: "Cells of air along a side of the box; there are half as many for matter",
    sizes: (64, 2048),
    kernels: include_str!("kernels.rs"),
};

/// The program's entry point.
#[must_use]
pub fn main() -> ExitCode {
    crate::main(&ABOUT, work)
}

/// Runs the simulation and writes its picture.
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

/// Gravity, in sides of the box per second squared.
const GRAVITY: f32 = 50.0;
/// Advection runs once per this many steps, with a time step that is as many times longer.
const CARRY_EVERY: usize = 8;
/// The share of smoke that remains after an advection.
const KEEP: f32 = 0.985;
/// The speed of the jets.
const JET: f32 = 6.0;
/// Buoyancy: the acceleration of smoke upwards.
const LIFT: f32 = 20.0;
/// The strength of vorticity confinement.
const SWIRL: f32 = 24.0;
/// Stiffness of the cloth's springs: acceleration per strain and distance, for a matter grid with cells of size 1.
const PULL: f32 = 20.0;
/// Drag of a node: deceleration per speed.
const DRAG: f32 = 4.0;
/// The rate at which a node's velocity approaches that of the air, per second.
const OF_AIR: f32 = 60.0;
/// The share of that momentum that the air gets back.
const ECHO: f32 = 0.6;
/// The share of a node's velocity relative to matter that it loses in a step.
const OF_MATTER: f32 = 0.3;
/// The rate at which a lone particle's velocity approaches that of the air, per second.
const BLOWN: f32 = 10.0;
/// The mass of a node, in particles.
const HEFT: f32 = 4.0;
/// Pixels along a side of the picture.
const PIXELS: usize = 768;

/// The horizontal slant of the two jets at a step.
fn slants(step: usize) -> [f32; 2] {
    let time = step as f32 * 0.004;
    [0.25 + 0.3 * (3.1 * time).sin(), -0.25 + 0.3 * (2.3 * time + 1.0).sin()]
}

/// The time step of the advection at a step.
fn carry(step: usize, dt: f32) -> f32 {
    if step.is_multiple_of(CARRY_EVERY) { CARRY_EVERY as f32 * dt } else { 0.0 }
}

/// The share of smoke that remains after a step.
fn keep(step: usize) -> f32 {
    if step.is_multiple_of(CARRY_EVERY) { KEEP } else { 1.0 }
}

/// The initial particles.
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

/// Rows and columns of the cloth, and the distance of its nodes, for this many cells of air.
fn cloth(size: usize) -> ([usize; 2], f32) {
    let columns = size / 4;
    ([(size / 32).max(3), columns], 0.76 / (columns - 1) as f32)
}

/// The initial positions of the nodes, row by row.
fn net(size: usize) -> Vec<f32> {
    let ([rows, columns], spacing) = cloth(size);
    (0..rows * columns)
        .flat_map(|at| {
            [0.12 + (at % columns) as f32 * spacing, 0.62 + (at / columns) as f32 * spacing]
        })
        .collect()
}

/// The stiffness of the springs for this many cells of matter: a finer net is stiffer.
fn stiffness(cells: usize) -> f32 {
    PULL * (cells * cells) as f32
}

/// Matter, air and cloth on the device. Fields that are advected have two buffers.
struct World {
    dt: f32,
    volume: f32,
    spacing: f32,
    kind: qd::Tensor<u32, 1>,
    position: qd::Tensor<f32, 2>,
    velocity: qd::Tensor<f32, 2>,
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
    node_velocity: qd::Tensor<f32, 3>,
    to_air: qd::Tensor<f32, 3>,
    to_matter: qd::Tensor<f32, 3>,
}

impl World {
    fn new(program: &qd::Program, size: usize, particles: &[Particle]) -> qd::Result<Self> {
        let (n, cells) = (particles.len(), size / 2);
        let kinds: Vec<u32> = particles.iter().map(|p| p.kind).collect();
        let positions: Vec<f32> = particles.iter().flat_map(|p| p.position).collect();
        let velocities: Vec<f32> = particles.iter().flat_map(|p| p.velocity).collect();
        let undeformed: Vec<f32> = particles.iter().flat_map(|_| [1.0, 0.0, 0.0, 1.0]).collect();
        let field = || program.zeros([size, size]);
        let air = || Ok::<_, qd::Error>([field()?, field()?, field()?, field()?]);
        let ([rows, columns], spacing) = cloth(size);
        Ok(Self {
            dt: mpm::dt(cells),
            volume: volume(cells),
            spacing,
            kind: program.tensor_from(&kinds, [n])?,
            position: program.tensor_from(&positions, [n, 2])?,
            velocity: program.tensor_from(&velocities, [n, 2])?,
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
            node_velocity: program.zeros([rows, columns, 2])?,
            to_air: program.zeros([size, size, 2])?,
            to_matter: program.zeros([cells, cells, 2])?,
        })
    }

    /// Steps all three concurrently.
    fn step(&mut self, step: usize) -> qd::Result<()> {
        let [left_slant, right_slant] = slants(step);
        let stiffness = stiffness(self.mass.shape()[0]);
        let [u, v, left, right] = &self.air;
        let [new_u, new_v, new_left, new_right] = &mut self.new_air;
        kernels::step(
            self.dt,
            GRAVITY,
            self.volume,
            &self.kind,
            &mut self.position,
            &mut self.velocity,
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
            stiffness,
            DRAG,
            &mut self.node,
            &mut self.node_velocity,
        )
        .launch()?;
        swap(&mut self.air, &mut self.new_air);
        Ok(())
    }

    /// Couples the three.
    fn couple(&mut self) -> qd::Result<()> {
        let [u, v, ..] = &mut self.air;
        kernels::couple(
            OF_AIR * self.dt,
            ECHO,
            OF_MATTER,
            BLOWN * self.dt,
            HEFT * self.volume,
            self.volume,
            &self.position,
            &mut self.velocity,
            &self.mass,
            &self.momentum,
            &self.node,
            &mut self.node_velocity,
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
        let pixel =
            |position: &[f32]| [position[0], 1.0 - position[1]].map(|along| along * PIXELS as f32);
        let (positions, velocities) = (self.position.to_vec()?, self.velocity.to_vec()?);
        let radius = 0.42 / self.mass.shape()[0] as f32 * PIXELS as f32;
        for ((particle, position), velocity) in
            particles.iter().zip(positions.chunks(2)).zip(velocities.chunks(2))
        {
            let color = mpm::color(particle.kind, velocity[0].hypot(velocity[1]));
            canvas.disc(pixel(position), radius, color, 0.85);
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
