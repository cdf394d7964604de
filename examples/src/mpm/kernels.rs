//! The kernel of the material point method: particles carry matter, and a grid that is rebuilt in
//! every step exchanges momentum between them.
//!
//! Per particle: `position` and `velocity` (x, y), `affine` (how the velocity changes around it, row by row),
//! `shape` (the deformation gradient, row by row), `packing` (what snow has kept of its volume) and
//! `kind`.

use quadrants::{self as qd, KernelValue, Matrix, Tensor, Vector};

/// Elastic: keeps its shape.
pub(crate) const JELLY: u32 = 0;
/// Plastic: breaks where it is stretched, hardens where it is compressed.
pub(crate) const SNOW: u32 = 1;
/// Keeps its volume only.
pub(crate) const LIQUID: u32 = 2;

/// How many cells at each wall stop matter.
pub(crate) const WALL: usize = 3;

/// Lamé's second parameter (shear modulus) for Young's modulus 1000 and Poisson's ratio 0.2.
pub(crate) const SHEAR: f32 = 1000.0 / 2.4;
/// Lamé's first parameter.
pub(crate) const BULK: f32 = 1000.0 * 0.2 / (1.2 * 0.6);

/// The quadratic B-spline's weight for the `k`-th of the three nodes around a position `f` cells from the first.
#[qd::func]
pub(crate) fn weight(k: usize, f: f32) -> f32 {
    match k {
        0 => 0.5 * (1.5 - f) * (1.5 - f),
        1 => 0.75 - (f - 1.0) * (f - 1.0),
        _ => 0.5 * (f - 0.5) * (f - 0.5),
    }
}

/// The stiffness of matter, relative to the Lamé parameters.
#[qd::func]
pub(crate) fn hardness(kind: u32, packing: f32) -> f32 {
    match kind {
        JELLY => 0.3,
        SNOW => (10.0 * (1.0 - packing)).exp().min(20.0),
        _ => 1.0,
    }
}

/// A particle's matter after it was deformed.
#[derive(Clone, Copy, Debug, KernelValue)]
pub(crate) struct Deformed {
    pub(crate) shape: Matrix<f32, 2, 2>,
    pub(crate) packing: f32,
    pub(crate) stress: Matrix<f32, 2, 2>,
}

/// The polar decomposition: the rotation in a deformation, and the stretch before it.
#[qd::func]
fn polar(shape: Matrix<f32, 2, 2>) -> (Matrix<f32, 2, 2>, Matrix<f32, 2, 2>) {
    let x = shape[[0, 0]] + shape[[1, 1]];
    let y = shape[[1, 0]] - shape[[0, 1]];
    let length = x.hypot(y).max(1e-9);
    let cos = x / length;
    let sin = y / length;
    let turn = Matrix([[cos, -sin], [sin, cos]]);
    (turn, turn.transpose() * shape)
}

/// A symmetric stretch with its eigenvalues clamped to `least..=most`.
#[qd::func]
fn limited(stretch: Matrix<f32, 2, 2>, least: f32, most: f32) -> Matrix<f32, 2, 2> {
    // The eigenvalues are mean + half and mean - half; (along, across) / half gives the axes.
    let mean = 0.5 * stretch.trace();
    let along = 0.5 * (stretch[[0, 0]] - stretch[[1, 1]]);
    let across = stretch[[0, 1]];
    let half = along.hypot(across);
    let high = (mean + half).clamp(least, most);
    let low = (mean - half).clamp(least, most);
    let kept = if half > 1e-9 { 0.5 * (high - low) / half } else { 0.0 };
    Matrix::diagonal(0.5 * (high + low)) + Matrix([[along, across], [across, -along]]) * kept
}

/// Applies plasticity to matter with the deformation `shape`, and computes its stress.
#[qd::func]
pub(crate) fn deformed(kind: u32, packing: f32, shape: Matrix<f32, 2, 2>) -> Deformed {
    let (turn, stretch) = polar(shape);
    let mut shape = shape;
    let mut packing = packing;
    let mut shear = 2.0 * SHEAR;
    if kind == SNOW {
        // Deformation beyond the limits is plastic.
        let kept = limited(stretch, 0.975, 1.0045);
        let packed = packing * (stretch.determinant() / kept.determinant());
        packing = packed.clamp(0.6, 1.3);
        shape = turn * kept;
    }
    if kind == LIQUID {
        // A liquid keeps only the change of its volume.
        shape = Matrix::diagonal(shape.determinant().max(0.0).sqrt());
        shear = 0.0;
    }
    // Corotated stress, 2 mu (F - R) F' + lambda (J - 1) J.
    let grown = shape.determinant();
    let hard = hardness(kind, packing);
    let pressure = BULK * hard * (grown - 1.0) * grown;
    let stress = (shape - turn) * shape.transpose() * (shear * hard) + Matrix::diagonal(pressure);
    Deformed { shape, packing, stress }
}

/// A step of `dt`: mass and momentum are transferred to the grid, the grid is updated, and the particles
/// take their velocity from it. The box has the side 1; `volume` is that of a particle, whose density is 1.
#[qd::kernel]
#[allow(clippy::too_many_arguments)] // a particle's properties and the grid's
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
) {
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
}
