//! Three simulations in one kernel, each in its own concurrent block, and a second
//! kernel that couples them.
//!
//! The loops of the first two blocks come from `mpm` and `smoke`, which explain them.

use quadrants::{self as qd, Matrix, Tensor, Vector};

use crate::{
    mpm::kernels::{WALL, deformed, weight},
    smoke::kernels::upstream,
};

/// How many springs a node of the cloth has.
const TIES: usize = 12;

/// Rows from a node to the one that its `k`-th spring ends at: the four beside it, the four across, and
/// four that are two away, against bending.
#[qd::func]
fn rows_to(k: usize) -> i32 {
    match k {
        0 | 4 | 5 => 1,
        1 | 6 | 7 => -1,
        8 => 2,
        9 => -2,
        _ => 0,
    }
}

/// Columns from a node to the one that its `k`-th spring ends at.
#[qd::func]
fn columns_to(k: usize) -> i32 {
    match k {
        2 | 4 | 6 => 1,
        3 | 5 | 7 => -1,
        10 => 2,
        11 => -2,
        _ => 0,
    }
}

/// A step of `dt` of matter, of the air, and of a cloth whose first and last columns hang on the walls. The
/// air is advected with its own, longer time step `carry`. Its fields after the
/// step are the `new_` ones. In the cloth's block `spacing` is between nodes, and `stiffness` and `drag` are
/// accelerations, per strain and per speed.
#[qd::kernel]
#[allow(clippy::too_many_arguments)] // those of three simulations
pub(crate) fn step(
    dt: f32,
    gravity: f32,
    volume: f32,
    kind: &Tensor<u32, 1>,
    position: &mut Tensor<f32, 2>,
    velocity: &mut Tensor<f32, 2>,
    affine: &mut Tensor<f32, 2>,
    shape: &mut Tensor<f32, 2>,
    packing: &mut Tensor<f32, 1>,
    mass: &mut Tensor<f32, 2>,
    momentum: &mut Tensor<f32, 3>,
    carry: f32,
    keep: f32,
    jet: f32,
    left_slant: f32,
    right_slant: f32,
    lift: f32,
    swirl: f32,
    u: &Tensor<f32, 2>,
    v: &Tensor<f32, 2>,
    left: &Tensor<f32, 2>,
    right: &Tensor<f32, 2>,
    new_u: &mut Tensor<f32, 2>,
    new_v: &mut Tensor<f32, 2>,
    new_left: &mut Tensor<f32, 2>,
    new_right: &mut Tensor<f32, 2>,
    curl: &mut Tensor<f32, 2>,
    divergence: &mut Tensor<f32, 2>,
    pressure: &mut Tensor<f32, 2>,
    scratch: &mut Tensor<f32, 2>,
    spacing: f32,
    stiffness: f32,
    drag: f32,
    node: &mut Tensor<f32, 3>,
    node_velocity: &mut Tensor<f32, 3>,
) {
    // Matter.
    qd::stream_parallel(|| {
        let cells = mass.shape()[0];
        let per_side = cells as f32;
        let side = 1.0 / per_side;

        for (i, j) in qd::ndrange(mass.shape()) {
            mass[[i, j]] = 0.0;
            momentum[[i, j, 0]] = 0.0;
            momentum[[i, j, 1]] = 0.0;
        }

        for p in 0..kind.len() {
            let c = Matrix([[affine[[p, 0]], affine[[p, 1]]], [affine[[p, 2]], affine[[p, 3]]]]);
            let old = Matrix([[shape[[p, 0]], shape[[p, 1]]], [shape[[p, 2]], shape[[p, 3]]]]);
            let now = deformed(kind[p], packing[p], old + c * old * dt);
            packing[p] = now.packing;
            shape[[p, 0]] = now.shape[[0, 0]];
            shape[[p, 1]] = now.shape[[0, 1]];
            shape[[p, 2]] = now.shape[[1, 0]];
            shape[[p, 3]] = now.shape[[1, 1]];

            // The momentum that a node receives: the particle's own at that distance, and that of its stress.
            let given = -dt * volume * 4.0 * per_side * per_side;
            let slope = now.stress * given + c * volume;
            let own = Vector([velocity[[p, 0]], velocity[[p, 1]]]) * volume;
            let px = position[[p, 0]] * per_side;
            let py = position[[p, 1]] * per_side;
            let i0 = (px - 0.5) as usize;
            let j0 = (py - 0.5) as usize;
            let fx = px - i0 as f32;
            let fy = py - j0 as f32;
            for i in 0..3 {
                for j in 0..3 {
                    let share = weight(i, fx) * weight(j, fy);
                    let away = Vector([i as f32 - fx, j as f32 - fy]) * side;
                    let to_node = (own + slope * away) * share;
                    qd::atomic_add(&mut momentum[[i0 + i, j0 + j, 0]], to_node[0]);
                    qd::atomic_add(&mut momentum[[i0 + i, j0 + j, 1]], to_node[1]);
                    qd::atomic_add(&mut mass[[i0 + i, j0 + j]], share * volume);
                }
            }
        }

        // From here on `momentum` contains velocities.
        for (i, j) in qd::ndrange(mass.shape()) {
            let there = mass[[i, j]];
            if there > 0.0 {
                let mut to_x = momentum[[i, j, 0]] / there;
                let mut to_y = momentum[[i, j, 1]] / there - dt * gravity;
                // Velocities at a wall do not point into it.
                if i < WALL {
                    to_x = to_x.max(0.0);
                }
                if i + WALL >= cells {
                    to_x = to_x.min(0.0);
                }
                if j < WALL {
                    to_y = to_y.max(0.0);
                }
                if j + WALL >= cells {
                    to_y = to_y.min(0.0);
                }
                momentum[[i, j, 0]] = to_x;
                momentum[[i, j, 1]] = to_y;
            }
        }

        for p in 0..kind.len() {
            let px = position[[p, 0]] * per_side;
            let py = position[[p, 1]] * per_side;
            let i0 = (px - 0.5) as usize;
            let j0 = (py - 0.5) as usize;
            let fx = px - i0 as f32;
            let fy = py - j0 as f32;
            let mut new_velocity: Vector<f32, 2> = Vector::zero();
            let mut c: Matrix<f32, 2, 2> = Matrix::diagonal(0.0);
            for i in 0..3 {
                for j in 0..3 {
                    let share = 4.0 * per_side * weight(i, fx) * weight(j, fy);
                    let dx = i as f32 - fx;
                    let dy = j as f32 - fy;
                    let x = momentum[[i0 + i, j0 + j, 0]];
                    let y = momentum[[i0 + i, j0 + j, 1]];
                    new_velocity += Vector([x, y]) * (weight(i, fx) * weight(j, fy));
                    c += Matrix([[x * dx, x * dy], [y * dx, y * dy]]) * share;
                }
            }
            velocity[[p, 0]] = new_velocity[0];
            velocity[[p, 1]] = new_velocity[1];
            affine[[p, 0]] = c[[0, 0]];
            affine[[p, 1]] = c[[0, 1]];
            affine[[p, 2]] = c[[1, 0]];
            affine[[p, 3]] = c[[1, 1]];
            // Keep the particle in cells that have all their neighbors.
            position[[p, 0]] =
                (position[[p, 0]] + dt * new_velocity[0]).clamp(2.0 * side, 1.0 - 2.0 * side);
            position[[p, 1]] =
                (position[[p, 1]] + dt * new_velocity[1]).clamp(2.0 * side, 1.0 - 2.0 * side);
        }
    });

    // The air and its smoke.
    qd::stream_parallel(|| {
        let [height, width] = u.shape();
        for (y, x) in qd::ndrange(u.shape()) {
            let from_x = x as f32 - carry * width as f32 * u[[y, x]];
            let from_y = y as f32 - carry * height as f32 * v[[y, x]];
            new_u[[y, x]] = upstream(u, from_x, from_y);
            new_v[[y, x]] = upstream(v, from_x, from_y);
            new_left[[y, x]] = keep * upstream(left, from_x, from_y);
            new_right[[y, x]] = keep * upstream(right, from_x, from_y);
        }
        for (y, x) in qd::ndrange(u.shape()) {
            let px = (x as f32 + 0.5) / width as f32;
            let py = (y as f32 + 0.5) / height as f32 - 0.08;
            let to_left = px - 0.3;
            let to_right = px - 0.7;
            if to_left * to_left + py * py < 0.0009 {
                new_u[[y, x]] = jet * left_slant;
                new_v[[y, x]] = jet;
                new_left[[y, x]] = 1.0;
            }
            if to_right * to_right + py * py < 0.0009 {
                new_u[[y, x]] = jet * right_slant;
                new_v[[y, x]] = jet;
                new_right[[y, x]] = 1.0;
            }
        }
        for (y, x) in qd::ndrange(new_u.shape()) {
            let west = x.saturating_sub(1);
            let east = (x + 1).min(width - 1);
            let south = y.saturating_sub(1);
            let north = (y + 1).min(height - 1);
            curl[[y, x]] = 0.5
                * (new_v[[y, east]] - new_v[[y, west]] - (new_u[[north, x]] - new_u[[south, x]]));
        }
        for (y, x) in qd::ndrange(new_u.shape()) {
            let west = x.saturating_sub(1);
            let east = (x + 1).min(width - 1);
            let south = y.saturating_sub(1);
            let north = (y + 1).min(height - 1);
            let gx = curl[[y, east]].abs() - curl[[y, west]].abs();
            let gy = curl[[north, x]].abs() - curl[[south, x]].abs();
            let length = (gx * gx + gy * gy).sqrt() + 1e-6;
            let force = swirl * curl[[y, x]];
            new_u[[y, x]] += dt * (force * (gy / length));
            new_v[[y, x]] +=
                dt * (lift * (new_left[[y, x]] + new_right[[y, x]]) - force * (gx / length));
        }
        for (y, x) in qd::ndrange(new_u.shape()) {
            let west = if x > 0 { new_u[[y, x - 1]] } else { -new_u[[y, x]] };
            let east = if x + 1 < width { new_u[[y, x + 1]] } else { -new_u[[y, x]] };
            let south = if y > 0 { new_v[[y - 1, x]] } else { -new_v[[y, x]] };
            let north = if y + 1 < height { new_v[[y + 1, x]] } else { -new_v[[y, x]] };
            divergence[[y, x]] = 0.5 * (east - west + (north - south));
            pressure[[y, x]] = 0.0;
        }
        for (y, x) in qd::ndrange(divergence.shape()) {
            let west = pressure[[y, x.saturating_sub(1)]];
            let east = pressure[[y, (x + 1).min(width - 1)]];
            let south = pressure[[y.saturating_sub(1), x]];
            let north = pressure[[(y + 1).min(height - 1), x]];
            scratch[[y, x]] = 0.25 * (west + east + (south + north) - divergence[[y, x]]);
        }
        for (y, x) in qd::ndrange(divergence.shape()) {
            let west = scratch[[y, x.saturating_sub(1)]];
            let east = scratch[[y, (x + 1).min(width - 1)]];
            let south = scratch[[y.saturating_sub(1), x]];
            let north = scratch[[(y + 1).min(height - 1), x]];
            pressure[[y, x]] = 0.25 * (west + east + (south + north) - divergence[[y, x]]);
        }
        for (y, x) in qd::ndrange(divergence.shape()) {
            let west = pressure[[y, x.saturating_sub(1)]];
            let east = pressure[[y, (x + 1).min(width - 1)]];
            let south = pressure[[y.saturating_sub(1), x]];
            let north = pressure[[(y + 1).min(height - 1), x]];
            scratch[[y, x]] = 0.25 * (west + east + (south + north) - divergence[[y, x]]);
        }
        for (y, x) in qd::ndrange(divergence.shape()) {
            let west = scratch[[y, x.saturating_sub(1)]];
            let east = scratch[[y, (x + 1).min(width - 1)]];
            let south = scratch[[y.saturating_sub(1), x]];
            let north = scratch[[(y + 1).min(height - 1), x]];
            pressure[[y, x]] = 0.25 * (west + east + (south + north) - divergence[[y, x]]);
        }
        for (y, x) in qd::ndrange(divergence.shape()) {
            let west = pressure[[y, x.saturating_sub(1)]];
            let east = pressure[[y, (x + 1).min(width - 1)]];
            let south = pressure[[y.saturating_sub(1), x]];
            let north = pressure[[(y + 1).min(height - 1), x]];
            scratch[[y, x]] = 0.25 * (west + east + (south + north) - divergence[[y, x]]);
        }
        for (y, x) in qd::ndrange(divergence.shape()) {
            let west = scratch[[y, x.saturating_sub(1)]];
            let east = scratch[[y, (x + 1).min(width - 1)]];
            let south = scratch[[y.saturating_sub(1), x]];
            let north = scratch[[(y + 1).min(height - 1), x]];
            pressure[[y, x]] = 0.25 * (west + east + (south + north) - divergence[[y, x]]);
        }
        for (y, x) in qd::ndrange(new_u.shape()) {
            let west = pressure[[y, x.saturating_sub(1)]];
            let east = pressure[[y, (x + 1).min(width - 1)]];
            let south = pressure[[y.saturating_sub(1), x]];
            let north = pressure[[(y + 1).min(height - 1), x]];
            new_u[[y, x]] -= 0.5 * (east - west);
            new_v[[y, x]] -= 0.5 * (north - south);
        }
    });

    // The cloth: springs accelerate every node, then all nodes move.
    qd::stream_parallel(|| {
        let [rows, columns, _] = node.shape();
        for (r, c) in qd::ndrange((0..rows, 1..columns - 1)) {
            let x = node[[r, c, 0]];
            let y = node[[r, c, 1]];
            let mut ax = 0.0;
            let mut ay = 0.0;
            for k in 0..TIES {
                let to_r = r as i32 + rows_to(k);
                let to_c = c as i32 + columns_to(k);
                if to_r >= 0 && to_r < rows as i32 && to_c >= 0 && to_c < columns as i32 {
                    let dx = node[[to_r as usize, to_c as usize, 0]] - x;
                    let dy = node[[to_r as usize, to_c as usize, 1]] - y;
                    let rest = spacing * (rows_to(k) as f32).hypot(columns_to(k) as f32);
                    let strain = 1.0 - rest / dx.hypot(dy).max(1e-6);
                    ax += stiffness * strain * dx;
                    ay += stiffness * strain * dy;
                }
            }
            node_velocity[[r, c, 0]] += dt * (ax - drag * node_velocity[[r, c, 0]]);
            node_velocity[[r, c, 1]] += dt * (ay - gravity - drag * node_velocity[[r, c, 1]]);
        }
        for (r, c) in qd::ndrange((0..rows, 1..columns - 1)) {
            node[[r, c, 0]] = (node[[r, c, 0]] + dt * node_velocity[[r, c, 0]]).clamp(0.02, 0.98);
            node[[r, c, 1]] = (node[[r, c, 1]] + dt * node_velocity[[r, c, 1]]).clamp(0.02, 0.98);
        }
    });
}

/// Couples the three for `dt`. Air and cloth drag each other, cloth and the matter
/// that passes through it drag each other, and matter sets the velocity of the air in its cells.
///
/// `of_air` is the share of its velocity relative to the air that a node loses, of which the air gets `echo`;
/// `of_matter` that relative to matter, and `blown` that which a lone particle loses to the air. `heft` is a node's
/// mass, `volume` a particle's.
#[qd::kernel]
#[allow(clippy::too_many_arguments)] // what the three need of each other
pub(crate) fn couple(
    of_air: f32,
    echo: f32,
    of_matter: f32,
    blown: f32,
    heft: f32,
    volume: f32,
    position: &Tensor<f32, 2>,
    velocity: &mut Tensor<f32, 2>,
    mass: &Tensor<f32, 2>,
    momentum: &Tensor<f32, 3>,
    node: &Tensor<f32, 3>,
    node_velocity: &mut Tensor<f32, 3>,
    u: &mut Tensor<f32, 2>,
    v: &mut Tensor<f32, 2>,
    to_air: &mut Tensor<f32, 3>,
    to_matter: &mut Tensor<f32, 3>,
) {
    let [height, width] = u.shape();
    let cells = mass.shape()[0];

    // The cloth's momentum is gathered first, so that no loop both reads and writes the same field.
    for (y, x, k) in qd::ndrange(to_air.shape()) {
        to_air[[y, x, k]] = 0.0;
    }
    for (i, j, k) in qd::ndrange(to_matter.shape()) {
        to_matter[[i, j, k]] = 0.0;
    }
    let [rows, columns, _] = node.shape();
    for (r, c) in qd::ndrange((0..rows, 1..columns - 1)) {
        let px = node[[r, c, 0]];
        let py = node[[r, c, 1]];
        let x = ((px * width as f32) as usize).min(width - 1);
        let y = ((py * height as f32) as usize).min(height - 1);
        let ax = of_air * (u[[y, x]] - node_velocity[[r, c, 0]]);
        let ay = of_air * (v[[y, x]] - node_velocity[[r, c, 1]]);
        qd::atomic_add(&mut to_air[[y, x, 0]], -echo * ax);
        qd::atomic_add(&mut to_air[[y, x, 1]], -echo * ay);

        let i = ((px * cells as f32 + 0.5) as usize).min(cells - 1);
        let j = ((py * cells as f32 + 0.5) as usize).min(cells - 1);
        let there = mass[[i, j]];
        let share = of_matter * there / (there + heft);
        let mx = share * (momentum[[i, j, 0]] - node_velocity[[r, c, 0]]);
        let my = share * (momentum[[i, j, 1]] - node_velocity[[r, c, 1]]);
        qd::atomic_add(&mut to_matter[[i, j, 0]], -heft * mx);
        qd::atomic_add(&mut to_matter[[i, j, 1]], -heft * my);

        node_velocity[[r, c, 0]] += ax + mx;
        node_velocity[[r, c, 1]] += ay + my;
    }

    // A particle gets its cell's share of the cloth's momentum; the air affects it more where there is less matter.
    for p in 0..position.shape()[0] {
        let px = position[[p, 0]];
        let py = position[[p, 1]];
        let x = ((px * width as f32) as usize).min(width - 1);
        let y = ((py * height as f32) as usize).min(height - 1);
        let i = ((px * cells as f32 + 0.5) as usize).min(cells - 1);
        let j = ((py * cells as f32 + 0.5) as usize).min(cells - 1);
        let there = mass[[i, j]].max(volume);
        let alone = blown * volume / there;
        velocity[[p, 0]] += to_matter[[i, j, 0]] / there + alone * (u[[y, x]] - velocity[[p, 0]]);
        velocity[[p, 1]] += to_matter[[i, j, 1]] / there + alone * (v[[y, x]] - velocity[[p, 1]]);
    }

    for (y, x) in qd::ndrange(u.shape()) {
        let i = ((x as f32 + 0.5) / width as f32 * cells as f32 + 0.5) as usize;
        let j = ((y as f32 + 0.5) / height as f32 * cells as f32 + 0.5) as usize;
        let i = i.min(cells - 1);
        let j = j.min(cells - 1);
        let full = (0.25 * mass[[i, j]] / volume).min(1.0);
        let windy = u[[y, x]] + to_air[[y, x, 0]];
        let lofty = v[[y, x]] + to_air[[y, x, 1]];
        u[[y, x]] = windy + full * (momentum[[i, j, 0]] - windy);
        v[[y, x]] = lofty + full * (momentum[[i, j, 1]] - lofty);
    }
}
