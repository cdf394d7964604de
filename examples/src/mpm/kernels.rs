//! The kernel of the material point method: particles carry matter, and a grid that is made anew in
//! every step lets them feel each other.
//!
//! Per particle: `place` and `speed` (x, y), `affine` (how the velocity changes around it, row by row),
//! `shape` (the deformation gradient, row by row), `packing` (what snow has kept of its volume) and
//! `kind`. Matrices are written out in scalars.

use quadrants as qd;

use qd::Tensor;

/// Keeps its shape.
pub(crate) const JELLY: u32 = 0;
/// Breaks where it is stretched, hardens where it is pressed.
pub(crate) const SNOW: u32 = 1;
/// Keeps its volume alone.
pub(crate) const LIQUID: u32 = 2;

/// How many cells at each wall push matter back.
pub(crate) const WALL: usize = 3;

/// Lamé's numbers for Young's modulus 1000 and Poisson's ratio 0.2.
pub(crate) const SHEAR: f32 = 1000.0 / 2.4;
/// The second one.
pub(crate) const BULK: f32 = 1000.0 * 0.2 / (1.2 * 0.6);

/// The quadratic B-spline's weight for the `k`-th of the three nodes around a place `f` cells from the first.
#[qd::func]
pub(crate) fn weight(k: usize, f: f32) -> f32 {
    match k {
        0 => 0.5 * (1.5 - f) * (1.5 - f),
        1 => 0.75 - (f - 1.0) * (f - 1.0),
        _ => 0.5 * (f - 0.5) * (f - 0.5),
    }
}

/// How stiff matter is, relative to what it is made of.
#[qd::func]
pub(crate) fn hardness(kind: u32, packing: f32) -> f32 {
    match kind {
        JELLY => 0.3,
        SNOW => (10.0 * (1.0 - packing)).exp().min(20.0),
        _ => 1.0,
    }
}

/// A step of `dt`: the particles' mass and momentum go to the grid, the grid moves, and the particles
/// take their velocity from it. The box has the side 1; `volume` is that of a particle, whose density is 1.
#[qd::kernel]
#[allow(clippy::too_many_arguments)] // a particle's properties and the grid's
pub(crate) fn step(
    dt: f32,
    gravity: f32,
    volume: f32,
    kind: &Tensor<u32, 1>,
    place: &mut Tensor<f32, 2>,
    speed: &mut Tensor<f32, 2>,
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
        // The deformation after this step: (1 + dt affine) shape.
        let c00 = affine[[p, 0]];
        let c01 = affine[[p, 1]];
        let c10 = affine[[p, 2]];
        let c11 = affine[[p, 3]];
        let old00 = shape[[p, 0]];
        let old01 = shape[[p, 1]];
        let old10 = shape[[p, 2]];
        let old11 = shape[[p, 3]];
        let mut f00 = old00 + dt * (c00 * old00 + c01 * old10);
        let mut f01 = old01 + dt * (c00 * old01 + c01 * old11);
        let mut f10 = old10 + dt * (c10 * old00 + c11 * old10);
        let mut f11 = old11 + dt * (c10 * old01 + c11 * old11);

        // Its polar decomposition: a rotation (cos, sin), and a stretch along two axes,
        // mean + half in the direction (along, across) / half and mean - half at right angles to it.
        let length = (f00 + f11).hypot(f10 - f01).max(1e-9);
        let cos = (f00 + f11) / length;
        let sin = (f10 - f01) / length;
        let s00 = cos * f00 + sin * f10;
        let s01 = cos * f01 + sin * f11;
        let s11 = cos * f11 - sin * f01;
        let mean = 0.5 * (s00 + s11);
        let along = 0.5 * (s00 - s11);
        let half = along.hypot(s01);

        if kind[p] == SNOW {
            // What is stretched or pressed beyond its limit stays so.
            let most = (mean + half).clamp(0.975, 1.0045);
            let least = (mean - half).clamp(0.975, 1.0045);
            let kept = packing[p] * ((mean + half) * (mean - half) / (most * least));
            packing[p] = kept.clamp(0.6, 1.3);
            let middle = 0.5 * (most + least);
            let turned = if half > 1e-9 { 0.5 * (most - least) / half } else { 0.0 };
            let t00 = middle + turned * along;
            let t01 = turned * s01;
            let t11 = middle - turned * along;
            f00 = cos * t00 - sin * t01;
            f01 = cos * t01 - sin * t11;
            f10 = sin * t00 + cos * t01;
            f11 = sin * t01 + cos * t11;
        }
        let grown = f00 * f11 - f01 * f10;
        if kind[p] == LIQUID {
            // It does not remember more than its volume.
            let root = grown.max(0.0).sqrt();
            f00 = root;
            f01 = 0.0;
            f10 = 0.0;
            f11 = root;
        }
        shape[[p, 0]] = f00;
        shape[[p, 1]] = f01;
        shape[[p, 2]] = f10;
        shape[[p, 3]] = f11;

        // Corotated stress, 2 mu (F - R) F' + lambda (J - 1) J, as the momentum that it gives in `dt`.
        let hard = hardness(kind[p], packing[p]);
        let shear = if kind[p] == LIQUID { 0.0 } else { 2.0 * SHEAR * hard };
        let pressure = BULK * hard * (grown - 1.0) * grown;
        let given = -dt * volume * 4.0 * per_side * per_side;
        let d00 = f00 - cos;
        let d01 = f01 + sin;
        let d10 = f10 - sin;
        let d11 = f11 - cos;
        let a00 = given * (shear * (d00 * f00 + d01 * f01) + pressure) + volume * c00;
        let a01 = given * (shear * (d00 * f10 + d01 * f11)) + volume * c01;
        let a10 = given * (shear * (d10 * f00 + d11 * f01)) + volume * c10;
        let a11 = given * (shear * (d10 * f10 + d11 * f11) + pressure) + volume * c11;

        let px = place[[p, 0]] * per_side;
        let py = place[[p, 1]] * per_side;
        let i0 = (px - 0.5) as usize;
        let j0 = (py - 0.5) as usize;
        let fx = px - i0 as f32;
        let fy = py - j0 as f32;
        for i in 0..3 {
            for j in 0..3 {
                let share = weight(i, fx) * weight(j, fy);
                let dx = (i as f32 - fx) * side;
                let dy = (j as f32 - fy) * side;
                let to_x = share * (volume * speed[[p, 0]] + a00 * dx + a01 * dy);
                let to_y = share * (volume * speed[[p, 1]] + a10 * dx + a11 * dy);
                qd::atomic_add(&mut momentum[[i0 + i, j0 + j, 0]], to_x);
                qd::atomic_add(&mut momentum[[i0 + i, j0 + j, 1]], to_y);
                qd::atomic_add(&mut mass[[i0 + i, j0 + j]], share * volume);
            }
        }
    }

    // From here on the grid has velocities.
    for (i, j) in qd::ndrange(mass.shape()) {
        let there = mass[[i, j]];
        if there > 0.0 {
            let mut to_x = momentum[[i, j, 0]] / there;
            let mut to_y = momentum[[i, j, 1]] / there - dt * gravity;
            // Walls let nothing through.
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
        let px = place[[p, 0]] * per_side;
        let py = place[[p, 1]] * per_side;
        let i0 = (px - 0.5) as usize;
        let j0 = (py - 0.5) as usize;
        let fx = px - i0 as f32;
        let fy = py - j0 as f32;
        let mut vx = 0.0;
        let mut vy = 0.0;
        let mut c00 = 0.0;
        let mut c01 = 0.0;
        let mut c10 = 0.0;
        let mut c11 = 0.0;
        for i in 0..3 {
            for j in 0..3 {
                let share = weight(i, fx) * weight(j, fy);
                let dx = i as f32 - fx;
                let dy = j as f32 - fy;
                let gx = share * momentum[[i0 + i, j0 + j, 0]];
                let gy = share * momentum[[i0 + i, j0 + j, 1]];
                vx += gx;
                vy += gy;
                c00 += gx * dx;
                c01 += gx * dy;
                c10 += gy * dx;
                c11 += gy * dy;
            }
        }
        speed[[p, 0]] = vx;
        speed[[p, 1]] = vy;
        affine[[p, 0]] = 4.0 * per_side * c00;
        affine[[p, 1]] = 4.0 * per_side * c01;
        affine[[p, 2]] = 4.0 * per_side * c10;
        affine[[p, 3]] = 4.0 * per_side * c11;
        // No particle leaves the cells whose neighbours are all there.
        place[[p, 0]] = (place[[p, 0]] + dt * vx).clamp(2.0 * side, 1.0 - 2.0 * side);
        place[[p, 1]] = (place[[p, 1]] + dt * vy).clamp(2.0 * side, 1.0 - 2.0 * side);
    }
}
