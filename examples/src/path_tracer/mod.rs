//! A few spheres of paint, metal and glass on a checkered ground, under a sunny sky: a path tracer.
//!
//! Every pixel traces light paths backwards, from a lens into the scene, and at each surface in a random
//! direction. Random draws are indexed instead of sequential, so that every backend traces
//! the same paths.

mod kernels;
#[cfg(test)]
mod reference;
mod scene;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use image::RgbImage;
use quadrants as qd;

use crate::{About, Run, picture::picture};

/// The description of this example.
pub const ABOUT: About = About {
    name: "path_tracer",
    text: "Spheres of paint, metal and glass under a sunny sky, by path tracing",
    steps: 32,
    size: 480,
    size_of: "Rows of the picture, whose sides are as 4 to 3",
    sizes: (3, 4320),
    kernels: include_str!("kernels.rs"),
};

/// The program's entry point.
#[must_use]
pub fn main() -> ExitCode {
    crate::main(&ABOUT, work)
}

/// Runs the simulation and writes its picture.
pub(crate) fn work(run: &mut Run) -> crate::Result<()> {
    let height = run.size();
    let mut tracer = Tracer::new(run.program(), height * 4 / 3, height)?;
    run.each_step(|_| Ok(tracer.step(SAMPLES)?))?;
    run.say("samples", format!("{} per pixel", tracer.samples));
    run.write("path_tracer.png", &tracer.picture()?)
}

/// Paths per pixel in a step.
const SAMPLES: u32 = 8;
/// The seed of the random draws.
const SEED: u64 = 2_011;

/// The scene and the accumulated light.
struct Tracer {
    camera: qd::Tensor<f32, 2>,
    spheres: qd::Tensor<f32, 2>,
    light: qd::Tensor<f32, 3>,
    samples: u32,
}

impl Tracer {
    fn new(program: &qd::Program, width: usize, height: usize) -> qd::Result<Self> {
        let camera = scene::camera(width as f32 / height as f32);
        let spheres = scene::spheres();
        Ok(Self {
            camera: program.tensor_from(camera.as_flattened(), [camera.len(), 3])?,
            spheres: program
                .tensor_from(spheres.as_flattened(), [spheres.len(), kernels::COLUMNS])?,
            light: program.zeros([height, width, 3])?,
            samples: 0,
        })
    }

    /// Adds this many paths to each pixel.
    fn step(&mut self, samples: u32) -> qd::Result<()> {
        let Self { camera, spheres, light, .. } = self;
        kernels::trace(SEED, self.samples, samples, camera, spheres, light).launch()?;
        self.samples += samples;
        Ok(())
    }

    fn picture(&self) -> qd::Result<RgbImage> {
        let [height, width, colors] = self.light.shape();
        let light = self.light.to_vec()?;
        let share = 1.0 / self.samples as f32;
        Ok(picture(width, height, |x, y| {
            let at = (y * width + x) * colors;
            std::array::from_fn(|color| developed(share * light[at + color]))
        }))
    }
}

/// Tone mapping: nearly linear for dark values, never above 1.
fn developed(light: f32) -> f32 {
    let light = 0.7 * light;
    light * (2.5 * light + 0.03) / (light * (2.43 * light + 0.59) + 0.14)
}
