//! Two galaxies that collide and merge: stars and dark matter, with gravity between all pairs of bodies.

mod kernels;
#[cfg(test)]
mod reference;
mod start;
#[cfg(test)]
mod tests;

use std::{process::ExitCode, time::Instant};

use image::RgbImage;
use quadrants as qd;

use crate::{
    About, Run,
    picture::{due, picture},
};
use start::Body;

/// The description of this example.
pub const ABOUT: About = About {
    name: "nbody",
    text: "Two galaxies that meet and merge, by the gravity between all bodies",
    steps: 600,
    size: 4096,
    size_of: "Bodies",
    sizes: (8, 1 << 20),
    kernels: include_str!("kernels.rs"),
};

/// The program's entry point.
#[must_use]
pub fn main() -> ExitCode {
    crate::main(&ABOUT, work)
}

/// Runs the simulation and writes its picture.
pub(crate) fn work(run: &mut Run) -> crate::Result<()> {
    let start = start::galaxies(run.size());
    let mut bodies = Bodies::new(run.program(), &start)?;
    // The simulated time does not depend on the number of steps.
    let (steps, dt) = (run.steps(), TIME / run.steps() as f32);
    let mut stars = Stars::default();
    stars.show(0, &start, start.iter().map(|body| body.position));
    run.each_step(|step| {
        bodies.step(dt, true)?;
        // The first panel shows the initial state.
        for panel in due(step, steps, PANELS - 1) {
            let position = bodies.position.to_vec()?;
            stars.show(panel + 1, &start, position.as_chunks().0.iter().copied());
        }
        Ok(())
    })?;
    // For comparison: the first such step compiles the kernel, the second is timed.
    bodies.step(dt, false)?;
    run.program().device_sync()?;
    let start = Instant::now();
    bodies.step(dt, false)?;
    run.program().device_sync()?;
    run.say("no tiles", format!("{:.3} ms", start.elapsed().as_secs_f64() * 1e3));
    run.write("nbody.png", &stars.picture())
}

/// The simulated time of a run.
const TIME: f32 = 11.0;
/// The softening length of gravity.
const SOFT: f32 = 0.05;

/// The number of panels, in rows of [`COLUMNS`].
const PANELS: usize = 6;
const COLUMNS: usize = 3;
/// The size of a panel in pixels, and half its height in units of the simulation.
const WIDTH: usize = 480;
const HEIGHT: usize = 360;
const SEEN: f32 = 2.9;

/// The bodies on the device.
struct Bodies {
    mass: qd::Tensor<f32, 1>,
    position: qd::Tensor<f32, 2>,
    velocity: qd::Tensor<f32, 2>,
}

impl Bodies {
    fn new(program: &qd::Program, start: &[Body]) -> qd::Result<Self> {
        let mass: Vec<f32> = start.iter().map(|body| body.mass).collect();
        let position: Vec<f32> = start.iter().flat_map(|body| body.position).collect();
        let velocity: Vec<f32> = start.iter().flat_map(|body| body.velocity).collect();
        Ok(Self {
            mass: program.tensor_from(&mass, [start.len()])?,
            position: program.tensor_from(&position, [start.len(), 3])?,
            velocity: program.tensor_from(&velocity, [start.len(), 3])?,
        })
    }

    /// A step by thread blocks that share tiles of bodies, or by a plain loop: the results are identical.
    fn step(&mut self, dt: f32, by_tiles: bool) -> qd::Result<()> {
        let Self { mass, position, velocity } = self;
        if by_tiles {
            kernels::step_by_tiles(dt, SOFT, mass, position, velocity).launch()
        } else {
            kernels::step(dt, SOFT, mass, position, velocity).launch()
        }
    }
}

/// The picture: the accumulated light of the stars, panel by panel.
struct Stars {
    light: Vec<[f32; 3]>,
}

impl Default for Stars {
    fn default() -> Self {
        let rows = PANELS / COLUMNS * HEIGHT;
        Self { light: vec![[0.0; 3]; COLUMNS * WIDTH * rows] }
    }
}

impl Stars {
    /// Adds the stars' light to a panel: a point and a glow around it.
    fn show(&mut self, panel: usize, start: &[Body], positions: impl Iterator<Item = [f32; 3]>) {
        const COLORS: [[f32; 3]; 2] = [[1.0, 0.60, 0.28], [0.32, 0.58, 1.0]];
        const REACH: i32 = 16;
        let (left, top) = (panel % COLUMNS * WIDTH, panel / COLUMNS * HEIGHT);
        let scale = HEIGHT as f32 / (2.0 * SEEN);
        let stars = start.iter().filter(|body| body.star_of.is_some()).count() as f32;
        for (body, [x, y, z]) in start.iter().zip(positions) {
            let Some(galaxy) = body.star_of else { continue };
            // The view is tilted a little.
            let (sin, cos) = 0.45f32.sin_cos();
            let at =
                [0.5 * WIDTH as f32 + scale * x, 0.5 * HEIGHT as f32 - scale * (cos * y + sin * z)];
            for down in -REACH..=REACH {
                for across in -REACH..=REACH {
                    let (px, py) = (at[0] as i32 + across, at[1] as i32 + down);
                    if !(0..WIDTH as i32).contains(&px) || !(0..HEIGHT as i32).contains(&py) {
                        continue;
                    }
                    let (dx, dy) = (px as f32 + 0.5 - at[0], py as f32 + 0.5 - at[1]);
                    let square = dx * dx + dy * dy;
                    let bright = 0.4 * (-square / 0.8).exp() + 0.018 * (-square / 60.0).exp();
                    let pixel =
                        &mut self.light[(top + py as usize) * COLUMNS * WIDTH + left + px as usize];
                    for (light, color) in pixel.iter_mut().zip(COLORS[galaxy]) {
                        *light += 2730.0 / stars * bright * color;
                    }
                }
            }
        }
    }

    fn picture(&self) -> RgbImage {
        let width = COLUMNS * WIDTH;
        picture(width, self.light.len() / width, |x, y| {
            // Thin lines between the panels.
            if x % WIDTH == 0 && x > 0 || y % HEIGHT == 0 && y > 0 {
                return [0.03; 3];
            }
            const NIGHT: [f32; 3] = [0.0002, 0.0003, 0.0008];
            let light = self.light[y * width + x];
            std::array::from_fn(|c| NIGHT[c] + 1.0 - (-1.4 * light[c]).exp())
        })
    }
}
