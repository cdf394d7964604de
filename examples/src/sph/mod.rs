//! A dam breaks: water as particles that carry it with them, by smoothed-particle hydrodynamics with a hash grid.
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

/// What this example is.
pub const ABOUT: About = About {
    name: "sph",
    text: "A dam breaks, by smoothed-particle hydrodynamics with a hash grid",
    steps: 320,
    size: 80,
    size_of: "Particles along a metre; the water is 0.48 square metres",
    sizes: (8, 2000),
    kernels: include_str!("kernels.rs"),
};

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    crate::main(&ABOUT, work)
}

/// All of a run.
pub(crate) fn work(run: &mut Run) -> crate::Result<()> {
    let start = dam(run.size());
    let program = run.program().clone();
    let mut water = Water::new(&program, run.size(), &start)?;
    run.say("particles", start.len());
    // The time of the run does not depend on its number of steps, nor on what a step of the kernels can be.
    let (steps, span) = (run.steps(), TIME / run.steps() as f32);
    let substeps = (span / water.longest_step()).ceil();
    let mut panels = Panels::new((ROWS_APART * run.size()).min(MOST_ROWS));
    run.each_step(|step| {
        for _ in 0..substeps as u32 {
            water.step(span / substeps)?;
        }
        for panel in due(step, steps, PANELS) {
            panels.show(panel, &water.look(panels.width, panels.height)?.to_vec()?);
        }
        Ok(())
    })?;
    run.write("sph.png", &panels.picture())
}

/// The time of a run in seconds.
const TIME: f32 = 1.6;
/// The column of water at the start, in metres.
const COLUMN: [f32; 2] = [0.6, 0.8];
/// How far particles feel each other, in distances between them.
const REACH: f32 = 3.0;

/// How many times the water is shown, in rows of [`COLUMNS`].
const PANELS: usize = 4;
const COLUMNS: usize = 2;
/// The most rows of a panel, and how many rows there are at most between particles at rest.
const MOST_ROWS: usize = 400;
const ROWS_APART: usize = 5;

/// The places of the particles at the start, with so many along a metre.
fn dam(per_metre: usize) -> Vec<[f32; 2]> {
    let apart = 1.0 / per_metre as f32;
    let [columns, rows] = COLUMN.map(|length| (length * per_metre as f32) as usize);
    let place = |k: usize| (k as f32 + 0.5) * apart;
    (0..columns * rows).map(|k| [place(k / rows), place(k % rows)]).collect()
}

/// The mass of a particle: that with which a square lattice of them has the density of 1.
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
    place: [qd::Tensor<f32, 2>; 2],
    speed: [qd::Tensor<f32, 2>; 2],
    density: qd::Tensor<f32, 1>,
    push: qd::Tensor<f32, 2>,
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
            place: [program.tensor_from(start.as_flattened(), [n, 2])?, program.zeros([n, 2])?],
            speed: [program.zeros([n, 2])?, program.zeros([n, 2])?],
            density: program.zeros([n])?,
            push: program.zeros([n, 2])?,
            counts: program.zeros([buckets])?,
            sums: program.zeros([buckets / CHUNK])?,
            starts: program.zeros([buckets + 1])?,
            slots: program.zeros([buckets])?,
            order: program.zeros([n])?,
        })
    }

    /// The longest step in which no sound passes a particle.
    fn longest_step(&self) -> f32 {
        0.25 * self.reach / SOUND
    }

    /// Sorts the particles, so that neighbours can be found.
    fn sort(&mut self) -> qd::Result<()> {
        let Self { reach, buckets, place: [place, new_place], speed: [speed, new_speed], .. } =
            self;
        let Self { counts, sums, starts, slots, order, .. } = self;
        #[rustfmt::skip]
        kernels::sort(
            *reach, *buckets, place, speed, counts, sums, starts, slots, order, new_place, new_speed,
        )
        .launch()?;
        swap(place, new_place);
        swap(speed, new_speed);
        Ok(())
    }

    fn step(&mut self, dt: f32) -> qd::Result<()> {
        self.sort()?;
        let Self { reach, mass, buckets, starts, density, push, .. } = self;
        let Self { place: [place, _], speed: [speed, _], .. } = self;
        kernels::step(dt, *mass, *reach, *buckets, starts, density, push, place, speed).launch()
    }

    /// Water and its motion in a picture.
    fn look(&mut self, width: usize, height: usize) -> qd::Result<qd::Tensor<f32, 3>> {
        self.sort()?;
        let Self { reach, mass, buckets, starts, density, place, speed, .. } = self;
        let mut seen = self.program.zeros([height, width, 2])?;
        kernels::look(*mass, *reach, *buckets, starts, density, &place[0], &speed[0], &mut seen)
            .launch()?;
        Ok(seen)
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

    fn show(&mut self, panel: usize, seen: &[f32]) {
        let Self { width, height, .. } = *self;
        let (left, top) = (panel % COLUMNS * width, panel / COLUMNS * height);
        let pixel = HEIGHT / height as f32;
        for (at, seen) in seen.as_chunks().0.iter().enumerate() {
            let (x, y) = (at % width, at / width);
            let place = [(x as f32 + 0.5) * pixel, HEIGHT - (y as f32 + 0.5) * pixel];
            self.light[(top + y) * COLUMNS * width + left + x] = color(place, pixel, *seen);
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

/// A pixel of so many metres: the floor, or the water before the tank, the brighter the faster.
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
    // Spray, which is thin, is bright.
    let wet = mix(FOAM, wet, (water - 0.25) / 0.5);
    let seen = mix(back, wet, (water - 0.18) / 0.2);
    mix([0.16, 0.12, 0.09], seen, 0.5 + kernels::to_floor(x, y) / pixel)
}
