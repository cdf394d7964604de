//! The kernels of the smoke: each reads some fields and writes others, so that cells are independent of
//! each other. They are `strict`, so that every backend gives the same bits.
//!
//! Row 0 of a field is at the floor. Lengths are in sides of the box and times in seconds; pressure is
//! in a unit that needs no divisions in the projection.

use quadrants as qd;

use qd::Tensor;

/// Bilinear interpolation of a field at a position in cells. Positions beyond a wall are clamped to it.
#[qd::func]
pub(crate) fn upstream(field: &Tensor<f32, 2>, x: f32, y: f32) -> f32 {
    let [height, width] = field.shape();
    let x = x.clamp(0.0, (width - 1) as f32);
    let y = y.clamp(0.0, (height - 1) as f32);
    let x0 = x as usize;
    let y0 = y as usize;
    let x1 = (x0 + 1).min(width - 1);
    let y1 = (y0 + 1).min(height - 1);
    let fx = x - x0 as f32;
    let low = field[[y0, x0]] + (field[[y0, x1]] - field[[y0, x0]]) * fx;
    let high = field[[y1, x0]] + (field[[y1, x1]] - field[[y1, x0]]) * fx;
    low + (high - low) * (y - y0 as f32)
}

/// Semi-Lagrangian advection: every cell takes the values `dt` upstream of it.
#[qd::kernel(strict)]
#[allow(clippy::too_many_arguments)] // four fields, before and after
pub(crate) fn advect(
    dt: f32,
    keep: f32,
    u: &Tensor<f32, 2>,
    v: &Tensor<f32, 2>,
    left: &Tensor<f32, 2>,
    right: &Tensor<f32, 2>,
    new_u: &mut Tensor<f32, 2>,
    new_v: &mut Tensor<f32, 2>,
    new_left: &mut Tensor<f32, 2>,
    new_right: &mut Tensor<f32, 2>,
) {
    let [height, width] = u.shape();
    for (y, x) in qd::ndrange(u.shape()) {
        let from_x = x as f32 - dt * width as f32 * u[[y, x]];
        let from_y = y as f32 - dt * height as f32 * v[[y, x]];
        new_u[[y, x]] = upstream(u, from_x, from_y);
        new_v[[y, x]] = upstream(v, from_x, from_y);
        new_left[[y, x]] = keep * upstream(left, from_x, from_y);
        new_right[[y, x]] = keep * upstream(right, from_x, from_y);
    }
}

/// Sets smoke and velocity in two discs above the floor, each with its own kind of smoke.
#[qd::kernel(strict)]
pub(crate) fn blow(
    speed: f32,
    left_slant: f32,
    right_slant: f32,
    u: &mut Tensor<f32, 2>,
    v: &mut Tensor<f32, 2>,
    left: &mut Tensor<f32, 2>,
    right: &mut Tensor<f32, 2>,
) {
    let [height, width] = u.shape();
    for (y, x) in qd::ndrange(u.shape()) {
        let px = (x as f32 + 0.5) / width as f32;
        let py = (y as f32 + 0.5) / height as f32 - 0.08;
        let to_left = px - 0.3;
        let to_right = px - 0.7;
        if to_left * to_left + py * py < 0.0009 {
            u[[y, x]] = speed * left_slant;
            v[[y, x]] = speed;
            left[[y, x]] = 1.0;
        }
        if to_right * to_right + py * py < 0.0009 {
            u[[y, x]] = speed * right_slant;
            v[[y, x]] = speed;
            right[[y, x]] = 1.0;
        }
    }
}

/// The curl of the velocity, per cell.
#[qd::kernel(strict)]
pub(crate) fn turn(u: &Tensor<f32, 2>, v: &Tensor<f32, 2>, curl: &mut Tensor<f32, 2>) {
    let [height, width] = u.shape();
    for (y, x) in qd::ndrange(u.shape()) {
        let west = x.saturating_sub(1);
        let east = (x + 1).min(width - 1);
        let south = y.saturating_sub(1);
        let north = (y + 1).min(height - 1);
        curl[[y, x]] = 0.5 * (v[[y, east]] - v[[y, west]] - (u[[north, x]] - u[[south, x]]));
    }
}

/// Buoyancy and vorticity confinement: smoke rises, and eddies regain rotation that the grid dissipates.
#[qd::kernel(strict)]
#[allow(clippy::too_many_arguments)] // three numbers and the fields they work on
pub(crate) fn push(
    dt: f32,
    lift: f32,
    swirl: f32,
    left: &Tensor<f32, 2>,
    right: &Tensor<f32, 2>,
    curl: &Tensor<f32, 2>,
    u: &mut Tensor<f32, 2>,
    v: &mut Tensor<f32, 2>,
) {
    let [height, width] = u.shape();
    for (y, x) in qd::ndrange(u.shape()) {
        let west = x.saturating_sub(1);
        let east = (x + 1).min(width - 1);
        let south = y.saturating_sub(1);
        let north = (y + 1).min(height - 1);
        let gx = curl[[y, east]].abs() - curl[[y, west]].abs();
        let gy = curl[[north, x]].abs() - curl[[south, x]].abs();
        let length = (gx * gx + gy * gy).sqrt() + 1e-6;
        let force = swirl * curl[[y, x]];
        u[[y, x]] += dt * (force * (gy / length));
        v[[y, x]] += dt * (lift * (left[[y, x]] + right[[y, x]]) - force * (gx / length));
    }
}

/// The divergence of each cell. Beyond a wall the velocity is mirrored.
#[qd::kernel(strict)]
pub(crate) fn outflow(u: &Tensor<f32, 2>, v: &Tensor<f32, 2>, divergence: &mut Tensor<f32, 2>) {
    let [height, width] = u.shape();
    for (y, x) in qd::ndrange(u.shape()) {
        let west = if x > 0 { u[[y, x - 1]] } else { -u[[y, x]] };
        let east = if x + 1 < width { u[[y, x + 1]] } else { -u[[y, x]] };
        let south = if y > 0 { v[[y - 1, x]] } else { -v[[y, x]] };
        let north = if y + 1 < height { v[[y + 1, x]] } else { -v[[y, x]] };
        divergence[[y, x]] = 0.5 * (east - west + (north - south));
    }
}

/// Two Jacobi sweeps for the pressure, from `pressure` to `scratch` and back. Beyond a wall the
/// pressure equals that of the cell at the wall.
#[qd::kernel(strict)]
pub(crate) fn relax(
    divergence: &Tensor<f32, 2>,
    pressure: &mut Tensor<f32, 2>,
    scratch: &mut Tensor<f32, 2>,
) {
    let [height, width] = divergence.shape();
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
}

/// Subtracts the pressure gradient from the velocity, which removes the divergence.
#[qd::kernel(strict)]
pub(crate) fn project(pressure: &Tensor<f32, 2>, u: &mut Tensor<f32, 2>, v: &mut Tensor<f32, 2>) {
    let [height, width] = u.shape();
    for (y, x) in qd::ndrange(u.shape()) {
        let west = pressure[[y, x.saturating_sub(1)]];
        let east = pressure[[y, (x + 1).min(width - 1)]];
        let south = pressure[[y.saturating_sub(1), x]];
        let north = pressure[[(y + 1).min(height - 1), x]];
        u[[y, x]] -= 0.5 * (east - west);
        v[[y, x]] -= 0.5 * (north - south);
    }
}

/// Moves the air around a hand along with it, and adds its smoke.
#[qd::kernel(strict)]
#[allow(clippy::too_many_arguments)] // the hand's six numbers and four fields
pub(crate) fn stir(
    at_x: f32,
    at_y: f32,
    speed_x: f32,
    speed_y: f32,
    warm: f32,
    cold: f32,
    u: &mut Tensor<f32, 2>,
    v: &mut Tensor<f32, 2>,
    left: &mut Tensor<f32, 2>,
    right: &mut Tensor<f32, 2>,
) {
    let [height, width] = u.shape();
    for (y, x) in qd::ndrange(u.shape()) {
        let px = (x as f32 + 0.5) / width as f32 - at_x;
        let py = (y as f32 + 0.5) / height as f32 - at_y;
        let near = (1.0 - (px * px + py * py) / 0.0025).max(0.0);
        u[[y, x]] += near * (speed_x - u[[y, x]]);
        v[[y, x]] += near * (speed_y - v[[y, x]]);
        left[[y, x]] = left[[y, x]].max(near * warm);
        right[[y, x]] = right[[y, x]].max(near * cold);
    }
}

/// The pixels of a frame as `0x00RRGGBB`, the top row first: warm and cold smoke in front of a dark sky.
#[qd::kernel]
pub(crate) fn shade(left: &Tensor<f32, 2>, right: &Tensor<f32, 2>, pixels: &mut Tensor<u32, 2>) {
    let [height, _] = left.shape();
    for (y, x) in qd::ndrange(pixels.shape()) {
        let warm = left[[height - 1 - y, x]];
        let cold = right[[height - 1 - y, x]];
        let thickness = warm + cold;
        let seen = thickness * (2.2 - thickness.min(1.0)) / 1.2;
        let seen = seen.min(1.0);
        let light = seen * (0.35 + 0.65 * seen) / thickness.max(1e-6);
        let sky = 1.0 - seen;
        // Square roots stand for the curve of sRGB.
        let red = (0.004 * sky + light * (warm + 0.05 * cold)).clamp(0.0, 1.0).sqrt();
        let green = (0.006 * sky + light * (0.3 * warm + 0.38 * cold)).clamp(0.0, 1.0).sqrt();
        let blue = (0.014 * sky + light * (0.05 * warm + cold)).clamp(0.0, 1.0).sqrt();
        let red = (255.0 * red) as u32;
        let green = (255.0 * green) as u32;
        pixels[[y, x]] = (red << 16) | (green << 8) | (255.0 * blue) as u32;
    }
}
