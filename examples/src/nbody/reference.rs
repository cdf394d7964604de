//! The bodies once more in plain Rust, to compare with.

use super::start::Body;

/// A step of all bodies.
pub(crate) fn step(bodies: &mut [Body], dt: f32, soft: f32) {
    let old = bodies.to_vec();
    for body in &mut *bodies {
        let mut pull = [0.0f32; 3];
        for other in &old {
            let away: [f32; 3] = std::array::from_fn(|k| other.place[k] - body.place[k]);
            let square = away.iter().fold(0.0, |sum, a| sum + a * a) + soft * soft;
            let strength = other.mass / (square * square.sqrt());
            pull = std::array::from_fn(|k| pull[k] + strength * away[k]);
        }
        body.speed = std::array::from_fn(|k| body.speed[k] + dt * pull[k]);
    }
    for body in bodies {
        body.place = std::array::from_fn(|k| body.place[k] + dt * body.speed[k]);
    }
}
