//! The reference in plain Rust.

use super::start::Body;

/// A step of all bodies.
pub(crate) fn step(bodies: &mut [Body], dt: f32, soft: f32) {
    let old = bodies.to_vec();
    for body in &mut *bodies {
        let mut acceleration = [0.0f32; 3];
        for other in &old {
            let away: [f32; 3] = std::array::from_fn(|k| other.position[k] - body.position[k]);
            let square = away.iter().fold(0.0, |sum, a| sum + a * a) + soft * soft;
            let strength = other.mass / (square * square.sqrt());
            acceleration = std::array::from_fn(|k| acceleration[k] + strength * away[k]);
        }
        body.velocity = std::array::from_fn(|k| body.velocity[k] + dt * acceleration[k]);
    }
    for body in bodies {
        body.position = std::array::from_fn(|k| body.position[k] + dt * body.velocity[k]);
    }
}
