//! The kernels of the bodies. They are `strict`, so that every backend gives the same bits.

use quadrants as qd;

use qd::Tensor;

/// A step of all bodies under the gravity of all: speeds first, then places with the new speeds. Closer than
/// about `soft` bodies pull less, as they stand for clouds of stars.
#[qd::kernel(strict)]
pub(crate) fn step(
    dt: f32,
    soft: f32,
    mass: &Tensor<f32, 1>,
    place: &mut Tensor<f32, 2>,
    speed: &mut Tensor<f32, 2>,
) {
    let bodies = mass.len();
    for i in 0..bodies {
        let x = place[[i, 0]];
        let y = place[[i, 1]];
        let z = place[[i, 2]];
        let mut pull_x = 0.0;
        let mut pull_y = 0.0;
        let mut pull_z = 0.0;
        for j in 0..bodies {
            let dx = place[[j, 0]] - x;
            let dy = place[[j, 1]] - y;
            let dz = place[[j, 2]] - z;
            let square = dx * dx + dy * dy + dz * dz + soft * soft;
            let pull = mass[j] / (square * square.sqrt());
            pull_x += pull * dx;
            pull_y += pull * dy;
            pull_z += pull * dz;
        }
        speed[[i, 0]] += dt * pull_x;
        speed[[i, 1]] += dt * pull_y;
        speed[[i, 2]] += dt * pull_z;
    }
    for (i, axis) in qd::ndrange([bodies, 3]) {
        place[[i, axis]] += dt * speed[[i, axis]];
    }
}
