//! The initial state: two disks of stars, each in a cloud of dark matter, moving towards each other.

use std::f32::consts::{PI, SQRT_2, TAU};

use quadrants as qd;

/// A body in its initial state. The gravitational constant is 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    pub(crate) mass: f32,
    pub(crate) position: [f32; 3],
    pub(crate) velocity: [f32; 3],
    /// The number of its galaxy if it is a star.
    pub(crate) star_of: Option<usize>,
}

/// A galaxy: dark matter of mass 1, and stars of mass `DISK`.
struct Galaxy {
    number: usize,
    /// The rotation of the disk: about the x axis, then about the z axis.
    tilt: [f32; 2],
    position: [f32; 3],
    velocity: [f32; 3],
}

/// The mass of a disk.
const DISK: f32 = 0.15;
/// The scale length of a disk's exponential profile, and the disk's radius.
const DISK_SCALE: f32 = 0.36;
const DISK_END: f32 = 1.5;
/// The Plummer radius of a cloud of dark matter.
const CLOUD: f32 = 0.55;
/// The pericenter distance of the galaxies' orbit as point masses.
const NEAREST: f32 = 0.7;
/// The initial distance of the galaxies.
const APART: f32 = 4.4;

/// `bodies` bodies; two thirds are stars.
pub(crate) fn galaxies(bodies: usize) -> Vec<Body> {
    // A parabolic orbit: the speed of a fall from infinity.
    let both = 2.0 * (1.0 + DISK);
    let speed = (2.0 * both / APART).sqrt();
    let across = (2.0 * both * NEAREST).sqrt() / APART;
    let towards = (speed * speed - across * across).sqrt();
    let half = |sign: f32| {
        ([sign * 0.5 * APART, 0.0, 0.0], [-sign * 0.5 * towards, sign * 0.5 * across, 0.0])
    };
    let ((left, left_velocity), (right, right_velocity)) = (half(-1.0), half(1.0));
    let first = Galaxy { number: 0, tilt: [0.25, 0.0], position: left, velocity: left_velocity };
    let second = Galaxy { number: 1, tilt: [1.05, 0.6], position: right, velocity: right_velocity };
    let mut all = first.bodies(bodies / 2);
    all.extend(second.bodies(bodies - bodies / 2));
    all
}

impl Galaxy {
    fn bodies(&self, count: usize) -> Vec<Body> {
        let stars = (2 * count).div_ceil(3);
        let dark = count - stars;
        let mut bodies: Vec<Body> = (0..count)
            .map(|k| {
                let draw = |n| qd::random_uniform(self.number as u64, k as u64, n);
                if k < stars {
                    self.star(draw, DISK / stars as f32)
                } else {
                    dark_matter(draw, 1.0 / dark as f32)
                }
            })
            .collect();
        // Remove the mean position and velocity of each part.
        let (disk, cloud) = bodies.split_at_mut(stars);
        for part in [disk, cloud] {
            let count = part.len().max(1) as f32;
            for axis in 0..3 {
                let position = part.iter().map(|body| body.position[axis]).sum::<f32>() / count;
                let velocity = part.iter().map(|body| body.velocity[axis]).sum::<f32>() / count;
                for body in &mut *part {
                    body.position[axis] += self.position[axis] - position;
                    body.velocity[axis] += self.velocity[axis] - velocity;
                }
            }
        }
        bodies
    }

    fn star(&self, draw: impl Fn(u32) -> f32, mass: f32) -> Body {
        // An exponential disk: the sum of two exponential draws has its distribution of radii.
        let ends = 1.0 - (-DISK_END / DISK_SCALE).exp();
        let length = |n| -(1.0 - ends * draw(n)).ln() * DISK_SCALE;
        let radius = (length(0) + length(1)).clamp(0.03, DISK_END);
        let angle = TAU * draw(2);
        let [toss_x, toss_y, toss_z] = [3, 5, 7].map(|n| bell(draw(n), draw(n + 1)));
        let within = 1.0 - (1.0 + radius / DISK_SCALE) * (-radius / DISK_SCALE).exp();
        let dark = radius * radius / (radius * radius + CLOUD * CLOUD).powf(1.5);
        let round = (dark + DISK * within / radius).sqrt();
        let (sin, cos) = angle.sin_cos();
        let loose = 0.07 * round;
        Body {
            mass,
            position: self.turned([radius * cos, radius * sin, 0.02 * toss_z]),
            velocity: self.turned([
                -round * sin + loose * toss_x,
                round * cos + loose * toss_y,
                0.5 * loose * toss_z,
            ]),
            star_of: Some(self.number),
        }
    }

    fn turned(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let [(sin, cos), (sin_z, cos_z)] = self.tilt.map(f32::sin_cos);
        let (y, z) = (cos * y - sin * z, sin * y + cos * z);
        [cos_z * x - sin_z * y, sin_z * x + cos_z * y, z]
    }
}

/// A body of a Plummer sphere at rest, by the method of Aarseth, Hénon and Wielen.
fn dark_matter(draw: impl Fn(u32) -> f32, mass: f32) -> Body {
    // Leave out the outermost few percent, which would be far away.
    let share = 0.02 + 0.93 * draw(0);
    let radius = CLOUD / (share.powf(-2.0 / 3.0) - 1.0).sqrt();
    let escape = SQRT_2 * (radius * radius + CLOUD * CLOUD).powf(-0.25);
    let ratio = (0..)
        .map(|k| (draw(5 + 2 * k), draw(6 + 2 * k)))
        .find(|(q, test)| 0.1 * test < q * q * (1.0 - q * q).powf(3.5))
        .map_or(0.0, |(q, _)| q);
    let direction = |n| {
        let up = 2.0 * draw(n) - 1.0;
        let (sin, cos) = (2.0 * PI * draw(n + 1)).sin_cos();
        let level = (1.0 - up * up).sqrt();
        [level * cos, level * sin, up]
    };
    let position = direction(1).map(|c| c * radius);
    let velocity = direction(3).map(|c| c * ratio * escape);
    Body { mass, position, velocity, star_of: None }
}

/// A normally distributed draw from two uniform ones (Box-Muller).
fn bell(a: f32, b: f32) -> f32 {
    (-2.0 * (1.0 - a).ln()).sqrt() * (TAU * b).cos()
}
