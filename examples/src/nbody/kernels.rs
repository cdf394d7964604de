//! Two kernels for the same step. Both are `strict` and add in the same order, so that they
//! and all backends give identical bits.

use quadrants as qd;

use qd::Tensor;

/// Threads per block and bodies per tile.
pub(crate) const TILE: usize = 128;

/// One step of all bodies under their mutual gravity: velocities first, then positions with the new velocities. `soft`
/// is the softening length: bodies stand for clouds of stars, which attract less at short distances.
#[qd::kernel(strict)]
pub(crate) fn step(
    dt: f32,
    soft: f32,
    mass: &Tensor<f32, 1>,
    position: &mut Tensor<f32, 2>,
    velocity: &mut Tensor<f32, 2>,
) {
    let bodies = mass.len();
    for i in 0..bodies {
        let x = position[[i, 0]];
        let y = position[[i, 1]];
        let z = position[[i, 2]];
        let mut acceleration_x = 0.0;
        let mut acceleration_y = 0.0;
        let mut acceleration_z = 0.0;
        for j in 0..bodies {
            let dx = position[[j, 0]] - x;
            let dy = position[[j, 1]] - y;
            let dz = position[[j, 2]] - z;
            let square = dx * dx + dy * dy + dz * dz + soft * soft;
            let strength = mass[j] / (square * square.sqrt());
            acceleration_x += strength * dx;
            acceleration_y += strength * dy;
            acceleration_z += strength * dz;
        }
        velocity[[i, 0]] += dt * acceleration_x;
        velocity[[i, 1]] += dt * acceleration_y;
        velocity[[i, 2]] += dt * acceleration_z;
    }
    for (i, axis) in qd::ndrange([bodies, 3]) {
        position[[i, axis]] += dt * velocity[[i, axis]];
    }
}

/// The same step by thread blocks: a block loads the bodies tile by tile into shared memory, where
/// reads cost a GPU much less than from device memory.
#[qd::kernel(strict)]
pub(crate) fn step_by_tiles(
    dt: f32,
    soft: f32,
    mass: &Tensor<f32, 1>,
    position: &mut Tensor<f32, 2>,
    velocity: &mut Tensor<f32, 2>,
) {
    let bodies = mass.len();
    qd::block_for(bodies.div_ceil(TILE), TILE, |b| {
        let mut x = b.shared::<f32>(TILE);
        let mut y = b.shared::<f32>(TILE);
        let mut z = b.shared::<f32>(TILE);
        let mut masses = b.shared::<f32>(TILE);
        let mut acceleration_x = b.shared::<f32>(TILE);
        let mut acceleration_y = b.shared::<f32>(TILE);
        let mut acceleration_z = b.shared::<f32>(TILE);
        let first = b.index() * TILE;
        for tile in 0..bodies.div_ceil(TILE) {
            b.each(|t| {
                let j = tile * TILE + t;
                if j < bodies {
                    x[t] = position[[j, 0]];
                    y[t] = position[[j, 1]];
                    z[t] = position[[j, 2]];
                    masses[t] = mass[j];
                }
            });
            b.each(|t| {
                let i = first + t;
                if i < bodies {
                    let own_x = position[[i, 0]];
                    let own_y = position[[i, 1]];
                    let own_z = position[[i, 2]];
                    let mut sum_x = acceleration_x[t];
                    let mut sum_y = acceleration_y[t];
                    let mut sum_z = acceleration_z[t];
                    for j in 0..TILE.min(bodies - tile * TILE) {
                        let dx = x[j] - own_x;
                        let dy = y[j] - own_y;
                        let dz = z[j] - own_z;
                        let square = dx * dx + dy * dy + dz * dz + soft * soft;
                        let strength = masses[j] / (square * square.sqrt());
                        sum_x += strength * dx;
                        sum_y += strength * dy;
                        sum_z += strength * dz;
                    }
                    acceleration_x[t] = sum_x;
                    acceleration_y[t] = sum_y;
                    acceleration_z[t] = sum_z;
                }
            });
        }
        b.each(|t| {
            let i = first + t;
            if i < bodies {
                velocity[[i, 0]] += dt * acceleration_x[t];
                velocity[[i, 1]] += dt * acceleration_y[t];
                velocity[[i, 2]] += dt * acceleration_z[t];
            }
        });
    });
    for (i, axis) in qd::ndrange([bodies, 3]) {
        position[[i, axis]] += dt * velocity[[i, axis]];
    }
}
