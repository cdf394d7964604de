//! The kernels of the bodies: one step, said twice. Both are `strict` and add in the same order, so that they
//! and all backends give the same bits.

use quadrants as qd;

use qd::Tensor;

/// So many threads read each tile of bodies once, for all of them.
pub(crate) const TILE: usize = 128;

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

/// The same step by blocks of threads: they bring tile by tile of the bodies into an array that they share, where
/// reading costs a GPU much less than from its memory.
#[qd::kernel(strict)]
pub(crate) fn step_by_tiles(
    dt: f32,
    soft: f32,
    mass: &Tensor<f32, 1>,
    place: &mut Tensor<f32, 2>,
    speed: &mut Tensor<f32, 2>,
) {
    let bodies = mass.len();
    qd::block_for(bodies.div_ceil(TILE), TILE, |b| {
        let mut x = b.shared::<f32>(TILE);
        let mut y = b.shared::<f32>(TILE);
        let mut z = b.shared::<f32>(TILE);
        let mut weight = b.shared::<f32>(TILE);
        let mut pull_x = b.shared::<f32>(TILE);
        let mut pull_y = b.shared::<f32>(TILE);
        let mut pull_z = b.shared::<f32>(TILE);
        let first = b.index() * TILE;
        for tile in 0..bodies.div_ceil(TILE) {
            b.each(|t| {
                let j = tile * TILE + t;
                if j < bodies {
                    x[t] = place[[j, 0]];
                    y[t] = place[[j, 1]];
                    z[t] = place[[j, 2]];
                    weight[t] = mass[j];
                }
            });
            b.each(|t| {
                let i = first + t;
                if i < bodies {
                    let own_x = place[[i, 0]];
                    let own_y = place[[i, 1]];
                    let own_z = place[[i, 2]];
                    let mut sum_x = pull_x[t];
                    let mut sum_y = pull_y[t];
                    let mut sum_z = pull_z[t];
                    for j in 0..TILE.min(bodies - tile * TILE) {
                        let dx = x[j] - own_x;
                        let dy = y[j] - own_y;
                        let dz = z[j] - own_z;
                        let square = dx * dx + dy * dy + dz * dz + soft * soft;
                        let pull = weight[j] / (square * square.sqrt());
                        sum_x += pull * dx;
                        sum_y += pull * dy;
                        sum_z += pull * dz;
                    }
                    pull_x[t] = sum_x;
                    pull_y[t] = sum_y;
                    pull_z[t] = sum_z;
                }
            });
        }
        b.each(|t| {
            let i = first + t;
            if i < bodies {
                speed[[i, 0]] += dt * pull_x[t];
                speed[[i, 1]] += dt * pull_y[t];
                speed[[i, 2]] += dt * pull_z[t];
            }
        });
    });
    for (i, axis) in qd::ndrange([bodies, 3]) {
        place[[i, axis]] += dt * speed[[i, axis]];
    }
}
