//! A dam break: water by smoothed-particle hydrodynamics with a hash grid.
//!
//! A column of water on the left of a tank runs over a bump, up the wall on the right, and back.

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
    picture::{due, picture},
};
use kernels::{CHUNK, HEIGHT, SOUND};

/// The description of this example.
pub const ABOUT: About = About {
    name: "sph",
    text: "A dam breaks, by smoothed-particle hydrodynamics with a hash grid",
    steps: 320,
    size: 80,
    size_of: "Particles along a metre; the water is 0.48 square metres",
    sizes: (8, 2000),
    kernels: include_str!("kernels.rs"),
};

/// The program's entry point.
#[must_use]
pub fn main() -> ExitCode {
    crate::main(&ABOUT, work)
}

/// Runs the simulation and writes its picture.
pub(crate) fn work(run: &mut Run) -> crate::Result<()> {
    let start = dam(run.size());
    let program = run.program().clone();
    let mut water = Water::new(&program, run.size(), &start)?;
    run.say("particles", start.len());
    // The simulated time depends neither on the number of steps nor on the kernels' time step.
    let (steps, span) = (run.steps(), TIME / run.steps() as f32);
    let substeps = (span / water.longest_step()).ceil();
    let mut panels = Panels::new((ROWS_APART * run.size()).min(MOST_ROWS));
    run.each_step(|step| {
        for _ in 0..substeps as u32 {
            water.step(span / substeps)?;
        }
        for panel in due(step, steps, PANELS) {
            panels.show(panel, &water.render(panels.width, panels.height)?.to_vec()?);
        }
        Ok(())
    })?;
    run.write("sph.png", &panels.picture())
}

/// The simulated time of a run in seconds.
const TIME: f32 = 1.6;
/// The initial column of water, in meters.
const COLUMN: [f32; 2] = [0.6, 0.8];
/// The smoothing length, in particle spacings.
const REACH: f32 = 3.0;

/// The number of panels, in rows of [`COLUMNS`].
const PANELS: usize = 4;
const COLUMNS: usize = 2;
/// The most rows of a panel, and how many rows there are at most between particles at rest.
const MOST_ROWS: usize = 400;
const ROWS_APART: usize = 5;

/// The initial positions of the particles, with this many per meter.
fn dam(per_metre: usize) -> Vec<[f32; 2]> {
    let apart = 1.0 / per_metre as f32;
    let [columns, rows] = COLUMN.map(|length| (length * per_metre as f32) as usize);
    let position = |k: usize| (k as f32 + 0.5) * apart;
    (0..columns * rows).map(|k| [position(k / rows), position(k % rows)]).collect()
}

/// The mass of a particle, for which a square lattice has density 1.
fn mass_of(reach: f32) -> f32 {
    let steps = REACH as i32;
    let lattice = (-steps..=steps).flat_map(|i| (-steps..=steps).map(move |j| i * i + j * j));
    let smooth = |square: i32| {
        let q = (square as f32).sqrt() / REACH;
        if q < 1.0 { (1.0 - q).powi(4) * (1.0 + 4.0 * q) } else { 0.0 }
    };
    let sum: f32 = lattice.map(smooth).sum();
    reach * reach / (7.0 / std::f32::consts::PI * sum)
}

/// The water on the device, and the grid that finds neighbours.
struct Water<'p> {
    program: &'p qd::Program,
    reach: f32,
    mass: f32,
    buckets: u32,
    position: [qd::Tensor<f32, 2>; 2],
    velocity: [qd::Tensor<f32, 2>; 2],
    density: qd::Tensor<f32, 1>,
    acceleration: qd::Tensor<f32, 2>,
    counts: qd::Tensor<u32, 1>,
    sums: qd::Tensor<u32, 1>,
    starts: qd::Tensor<u32, 1>,
    slots: qd::Tensor<u32, 1>,
    order: qd::Tensor<u32, 1>,
}

impl<'p> Water<'p> {
    fn new(program: &'p qd::Program, per_metre: usize, start: &[[f32; 2]]) -> qd::Result<Self> {
        let n = start.len();
        let buckets = n.next_power_of_two().max(CHUNK);
        let reach = REACH / per_metre as f32;
        Ok(Self {
            program,
            reach,
            mass: mass_of(reach),
            buckets: buckets as u32,
            position: [program.tensor_from(start.as_flattened(), [n, 2])?, program.zeros([n, 2])?],
            velocity: [program.zeros([n, 2])?, program.zeros([n, 2])?],
            density: program.zeros([n])?,
            acceleration: program.zeros([n, 2])?,
            counts: program.zeros([buckets])?,
            sums: program.zeros([buckets / CHUNK])?,
            starts: program.zeros([buckets + 1])?,
            slots: program.zeros([buckets])?,
            order: program.zeros([n])?,
        })
    }

    /// The longest stable time step: sound travels less than a particle spacing.
    fn longest_step(&self) -> f32 {
        0.25 * self.reach / SOUND
    }

    /// Sorts the particles into buckets, so that neighbors can be found.
    fn sort(&mut self) -> qd::Result<()> {
        let Self {
            reach,
            buckets,
            position: [position, new_position],
            velocity: [velocity, new_velocity],
            ..
        } = self;
        let Self { counts, sums, starts, slots, order, .. } = self;
        #[rustfmt::skip]
        kernels::sort(
            *reach, *buckets, position, velocity, counts, sums, starts, slots, order, new_position, new_velocity,
        )
        .launch()?;
        swap(position, new_position);
        swap(velocity, new_velocity);
        Ok(())
    }

    fn step(&mut self, dt: f32) -> qd::Result<()> {
        self.sort()?;
        let Self { reach, mass, buckets, starts, density, acceleration, .. } = self;
        let Self { position: [position, _], velocity: [velocity, _], .. } = self;
        kernels::step(
            dt,
            *mass,
            *reach,
            *buckets,
            starts,
            density,
            acceleration,
            position,
            velocity,
        )
        .launch()
    }

    /// Renders the density and speed of the water.
    fn render(&mut self, width: usize, height: usize) -> qd::Result<qd::Tensor<f32, 3>> {
        self.sort()?;
        let Self { reach, mass, buckets, starts, density, position, velocity, .. } = self;
        let mut image = self.program.zeros([height, width, 2])?;
        kernels::render(
            *mass,
            *reach,
            *buckets,
            starts,
            density,
            &position[0],
            &velocity[0],
            &mut image,
        )
        .launch()?;
        Ok(image)
    }
}

/// The picture: the water at several times.
struct Panels {
    /// The size of a panel in pixels.
    width: usize,
    height: usize,
    light: Vec<[f32; 3]>,
}

impl Panels {
    fn new(height: usize) -> Self {
        let width = 2 * height;
        Self { width, height, light: vec![[0.0; 3]; PANELS * width * height] }
    }

    fn show(&mut self, panel: usize, image: &[f32]) {
        let Self { width, height, .. } = *self;
        let (left, top) = (panel % COLUMNS * width, panel / COLUMNS * height);
        let pixel = HEIGHT / height as f32;
        for (at, values) in image.as_chunks().0.iter().enumerate() {
            let (x, y) = (at % width, at / width);
            let position = [(x as f32 + 0.5) * pixel, HEIGHT - (y as f32 + 0.5) * pixel];
            self.light[(top + y) * COLUMNS * width + left + x] = color(position, pixel, *values);
        }
    }

    fn picture(&self) -> RgbImage {
        let width = COLUMNS * self.width;
        picture(width, self.light.len() / width, |x, y| {
            // Thin lines between the panels.
            let is_line = x % self.width == 0 && x > 0 || y % self.height == 0 && y > 0;
            if is_line { [0.2; 3] } else { self.light[y * width + x] }
        })
    }
}

/// The color of a pixel of this size in meters: the floor, or water in front of the tank, brighter where it is faster.
fn color([x, y]: [f32; 2], pixel: f32, [water, motion]: [f32; 2]) -> [f32; 3] {
    const DEEP: [f32; 3] = [0.006, 0.05, 0.22];
    const FAST: [f32; 3] = [0.10, 0.52, 0.85];
    const FOAM: [f32; 3] = [0.92, 0.97, 1.0];
    let mix = |a: [f32; 3], b: [f32; 3], share: f32| -> [f32; 3] {
        std::array::from_fn(|c| a[c] + (b[c] - a[c]) * share.clamp(0.0, 1.0))
    };
    let back = mix([0.055, 0.06, 0.07], [0.012, 0.014, 0.02], y / HEIGHT);
    let speed = motion / water.max(1e-3);
    let wet = mix(DEEP, FAST, speed / 2.6);
    let wet = mix(wet, FOAM, (speed - 2.2) / 2.4);
    // Thin spray is bright.
    let wet = mix(FOAM, wet, (water - 0.25) / 0.5);
    let color = mix(back, wet, (water - 0.18) / 0.2);
    mix([0.16, 0.12, 0.09], color, 0.5 + kernels::to_floor(x, y) / pixel)
}
