//! Smoke in a closed box, by Stam's Stable Fluids: semi-Lagrangian advection, which is stable for
//! every time step, and a pressure projection by Jacobi's method.
//!
//! Two jets of different smoke blow towards each other, meet, and rise.

pub(crate) mod kernels;
pub mod live;
#[cfg(test)]
pub(crate) mod reference;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use image::RgbImage;
use quadrants as qd;

use crate::{About, Run, picture::picture};

/// The description of this example.
pub const ABOUT: About = About {
    name: "smoke",
    text: "Two jets of smoke in a closed box, by the Stable Fluids method",
    steps: 400,
    size: 512,
    size_of: "Cells along a side of the box",
    sizes: (8, 8192),
    kernels: include_str!("kernels.rs"),
};

/// The program's entry point.
#[must_use]
pub fn main() -> ExitCode {
    crate::main(&ABOUT, work)
}

/// Runs the simulation and writes its picture.
pub(crate) fn work(run: &mut Run) -> crate::Result<()> {
    let mut smoke = Smoke::new(run.program(), run.size())?;
    run.each_step(|step| Ok(smoke.step(step, SWEEPS)?))?;
    run.write("smoke.png", &smoke.picture()?)
}

/// The time of a step in seconds.
const DT: f32 = 1.0 / 60.0;
/// The speed of the jets, in sides of the box per second.
const SPEED: f32 = 0.7;
/// Buoyancy: the acceleration of smoke upwards.
const LIFT: f32 = 0.3;
/// The strength of vorticity confinement.
const SWIRL: f32 = 3.0;
/// The share of smoke that remains after a step.
const KEEP: f32 = 0.99;
/// Pairs of Jacobi sweeps per step.
const SWEEPS: usize = 20;

/// The horizontal slant of the two jets at a step: they lean towards each other and oscillate.
fn slants(step: usize) -> [f32; 2] {
    let time = step as f32 * DT;
    [0.35 + 0.45 * (3.1 * time).sin(), -0.35 + 0.45 * (2.3 * time + 1.0).sin()]
}

/// The air and its smoke. Fields that a kernel reads and writes at different cells have two buffers.
struct Smoke {
    u: [qd::Tensor<f32, 2>; 2],
    v: [qd::Tensor<f32, 2>; 2],
    left: [qd::Tensor<f32, 2>; 2],
    right: [qd::Tensor<f32, 2>; 2],
    pressure: [qd::Tensor<f32, 2>; 2],
    divergence: qd::Tensor<f32, 2>,
    curl: qd::Tensor<f32, 2>,
}

impl Smoke {
    fn new(program: &qd::Program, size: usize) -> qd::Result<Self> {
        let field = || program.zeros([size, size]);
        let fields = || Ok::<_, qd::Error>([field()?, field()?]);
        Ok(Self {
            u: fields()?,
            v: fields()?,
            left: fields()?,
            right: fields()?,
            pressure: fields()?,
            divergence: field()?,
            curl: field()?,
        })
    }

    /// One step. The previous step's pressure is the initial guess.
    fn step(&mut self, step: usize, sweeps: usize) -> qd::Result<()> {
        self.advect(KEEP)?;
        let [left_slant, right_slant] = slants(step);
        let Self { u: [u, _], v: [v, _], left: [left, _], right: [right, _], .. } = self;
        kernels::blow(SPEED, left_slant, right_slant, u, v, left, right).launch()?;
        self.flow(sweeps)
    }

    /// Carries everything along with the air.
    fn advect(&mut self, keep: f32) -> qd::Result<()> {
        let Self { u, v, left, right, .. } = self;
        for field in [&mut *u, v, left, right] {
            field.swap(0, 1);
        }
        let ([u, old_u], [v, old_v]) = (u, v);
        let ([left, old_left], [right, old_right]) = (left, right);
        kernels::advect(DT, keep, old_u, old_v, old_left, old_right, u, v, left, right).launch()
    }

    /// Applies the forces of the air and of the smoke.
    fn flow(&mut self, sweeps: usize) -> qd::Result<()> {
        let Self { u, v, left, right, pressure, divergence, curl } = self;
        let ([u, _], [v, _], [left, _], [right, _]) = (u, v, left, right);
        let [pressure, scratch] = pressure;
        kernels::turn(u, v, curl).launch()?;
        kernels::push(DT, LIFT, SWIRL, left, right, curl, u, v).launch()?;
        kernels::outflow(u, v, divergence).launch()?;
        for _ in 0..sweeps {
            kernels::relax(divergence, pressure, scratch).launch()?;
        }
        kernels::project(pressure, u, v).launch()
    }

    fn picture(&self) -> qd::Result<RgbImage> {
        let [height, width] = self.u[0].shape();
        let (left, right) = (self.left[0].to_vec()?, self.right[0].to_vec()?);
        Ok(picture(width, height, |x, y| {
            let at = (height - 1 - y) * width + x;
            color(left[at], right[at])
        }))
    }
}

/// The color of two kinds of smoke in front of a dark sky, as linear light.
pub(crate) fn color(left: f32, right: f32) -> [f32; 3] {
    const SKY: [f32; 3] = [0.004, 0.006, 0.014];
    const WARM: [f32; 3] = [1.0, 0.30, 0.05];
    const COLD: [f32; 3] = [0.05, 0.38, 1.0];
    let thickness = left + right;
    let seen = 1.0 - (-2.2 * thickness).exp();
    std::array::from_fn(|c| {
        let mixed = (WARM[c] * left + COLD[c] * right) / thickness.max(1e-6);
        SKY[c] * (1.0 - seen) + mixed * seen * (0.35 + 0.65 * seen)
    })
}
