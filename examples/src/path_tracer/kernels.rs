//! The kernel of the path tracer and its funcs. It is `strict`, and the only inexact operations that it uses are
//! square roots and random draws, so every backend gives the same picture bit for bit.

use quadrants as qd;

use qd::Tensor;

/// The columns of the tensor of spheres: the centre, the radius, the color, what it is made of, and for metal how
/// rough it is, for glass how strongly it refracts.
pub(crate) const COLUMNS: usize = 9;

pub(crate) const DIFFUSE: f32 = 0.0;
pub(crate) const METAL: f32 = 1.0;
pub(crate) const GLASS: f32 = 2.0;

/// The distance of a ray that hits nothing: larger than any other.
pub(crate) const FAR: f32 = 1e9;
/// The smallest distance of a hit, so that a ray does not hit the surface that it starts from.
pub(crate) const NEAR: f32 = 1e-3;

/// The largest number of bounces.
pub(crate) const BOUNCES: u32 = 10;
/// How many random draws a sample may use: two for the position in the pixel, two for the position on the lens, the
/// others at the bounces.
pub(crate) const DRAWS: u32 = 64;

/// The direction of the sun, a unit vector.
pub(crate) const SUN: [f32; 3] = [-0.48, 0.6, 0.64];
pub(crate) const SUN_X: f32 = SUN[0];
pub(crate) const SUN_Y: f32 = SUN[1];
pub(crate) const SUN_Z: f32 = SUN[2];
/// The size of the sun; larger than the real one, for soft shadows.
pub(crate) const SUN_SIZE: f32 = 0.03;
/// The sunlight on a diffuse surface that faces the sun.
pub(crate) const SUN_RED: f32 = 2.0;
pub(crate) const SUN_GREEN: f32 = 1.7;
pub(crate) const SUN_BLUE: f32 = 1.25;

#[qd::func]
fn dot(ax: f32, ay: f32, az: f32, bx: f32, by: f32, bz: f32) -> f32 {
    ax * bx + ay * by + az * bz
}

/// The distance at which a ray of unit direction `d` hits a sphere whose center is at `c` relative to the ray's origin.
#[qd::func]
fn to_sphere(cx: f32, cy: f32, cz: f32, radius: f32, dx: f32, dy: f32, dz: f32) -> f32 {
    let along = dot(cx, cy, cz, dx, dy, dz);
    // The perpendicular from the center to the ray.
    let ax = cx - along * dx;
    let ay = cy - along * dy;
    let az = cz - along * dz;
    let inside = radius * radius - dot(ax, ay, az, ax, ay, az);
    if inside <= 0.0 {
        return FAR;
    }
    let half = inside.sqrt();
    if along - half > NEAR {
        along - half
    } else if along + half > NEAR {
        along + half
    } else {
        FAR
    }
}

/// The distance at which a ray hits the ground.
#[qd::func]
fn to_ground(oy: f32, dy: f32) -> f32 {
    let t = -oy / dy;
    // Far away the squares are smaller than pixels: show sky instead.
    if dy < -0.002 && t > NEAR { t } else { FAR }
}

/// The color of the sky, from horizon to zenith, including the sun.
#[qd::func]
fn sky(horizon: f32, zenith: f32, sun: f32, dx: f32, dy: f32, dz: f32) -> f32 {
    let up = dy.max(0.0).sqrt();
    let towards = dot(dx, dy, dz, SUN_X, SUN_Y, SUN_Z).max(0.0);
    let to_4 = towards * towards * (towards * towards);
    let to_16 = to_4 * to_4 * (to_4 * to_4);
    let to_64 = to_16 * to_16 * (to_16 * to_16);
    let disc = if towards > 0.9985 { 12.0 } else { 0.0 };
    horizon + (zenith - horizon) * up + sun * (0.25 * to_64 + disc)
}

/// The share of light that glass reflects at this cosine, by Schlick's approximation.
#[qd::func]
fn reflected(cosine: f32, index: f32) -> f32 {
    let root = (1.0 - index) / (1.0 + index);
    let least = root * root;
    let rest = (1.0 - cosine).max(0.0);
    least + (1.0 - least) * (rest * rest * (rest * rest) * rest)
}

/// Adds to each pixel the light of `samples` paths, counted from `first` on.
///
/// The rows of `camera` are the position of the eye, the offsets of the picture's right and upper edge
/// from its center, the offset of that center from the eye, and the radius of the lens in each direction.
#[qd::kernel(strict)]
pub(crate) fn trace(
    seed: u64,
    first: u32,
    samples: u32,
    camera: &Tensor<f32, 2>,
    spheres: &Tensor<f32, 2>,
    light: &mut Tensor<f32, 3>,
) {
    let [height, width, _colors] = light.shape();
    let count = spheres.shape()[0];
    for (py, px) in qd::ndrange([light.shape()[0], light.shape()[1]]) {
        let pixel = (py * width + px) as u64;
        let mut sum_red = 0.0;
        let mut sum_green = 0.0;
        let mut sum_blue = 0.0;
        for sample in first..first + samples {
            let mut draw = sample * DRAWS;
            let across = (px as f32 + qd::random_uniform(seed, pixel, draw)) / width as f32;
            let down = (py as f32 + qd::random_uniform(seed, pixel, draw + 1)) / height as f32;
            let u = 2.0 * across - 1.0;
            let v = 1.0 - 2.0 * down;
            let lens_u = camera[[4, 0]] * qd::random_normal(seed, pixel, draw + 2);
            let lens_v = camera[[4, 1]] * qd::random_normal(seed, pixel, draw + 3);
            // From a point on the lens to a point on the plane in focus.
            let lens_x = lens_u * camera[[1, 0]] + lens_v * camera[[2, 0]];
            let lens_y = lens_u * camera[[1, 1]] + lens_v * camera[[2, 1]];
            let lens_z = lens_u * camera[[1, 2]] + lens_v * camera[[2, 2]];
            let mut ox = camera[[0, 0]] + lens_x;
            let mut oy = camera[[0, 1]] + lens_y;
            let mut oz = camera[[0, 2]] + lens_z;
            let mut dx = camera[[3, 0]] + u * camera[[1, 0]] + v * camera[[2, 0]] - lens_x;
            let mut dy = camera[[3, 1]] + u * camera[[1, 1]] + v * camera[[2, 1]] - lens_y;
            let mut dz = camera[[3, 2]] + u * camera[[1, 2]] + v * camera[[2, 2]] - lens_z;

            // The share of the light at the path's end that reaches the eye.
            let mut red = 1.0;
            let mut green = 1.0;
            let mut blue = 1.0;
            for _ in 0..BOUNCES {
                draw += 4;
                let length = dot(dx, dy, dz, dx, dy, dz).sqrt();
                dx /= length;
                dy /= length;
                dz /= length;
                let mut t = to_ground(oy, dy);
                let mut nearest = count;
                for k in 0..count {
                    let cx = spheres[[k, 0]] - ox;
                    let cy = spheres[[k, 1]] - oy;
                    let cz = spheres[[k, 2]] - oz;
                    let to = to_sphere(cx, cy, cz, spheres[[k, 3]], dx, dy, dz);
                    if to < t {
                        t = to;
                        nearest = k;
                    }
                }
                if t >= FAR {
                    sum_red += red * sky(0.50, 0.09, 1.00, dx, dy, dz);
                    sum_green += green * sky(0.62, 0.23, 0.85, dx, dy, dz);
                    sum_blue += blue * sky(0.78, 0.62, 0.60, dx, dy, dz);
                    break;
                }
                ox += t * dx;
                oy += t * dy;
                oz += t * dz;

                // The properties of the surface.
                let mut nx = 0.0;
                let mut ny = 1.0;
                let mut nz = 0.0;
                let mut own_red = 0.13;
                let mut own_green = 0.15;
                let mut own_blue = 0.18;
                let mut kind = DIFFUSE;
                let mut extra = 0.0;
                if nearest < count {
                    let radius = spheres[[nearest, 3]];
                    nx = (ox - spheres[[nearest, 0]]) / radius;
                    ny = (oy - spheres[[nearest, 1]]) / radius;
                    nz = (oz - spheres[[nearest, 2]]) / radius;
                    own_red = spheres[[nearest, 4]];
                    own_green = spheres[[nearest, 5]];
                    own_blue = spheres[[nearest, 6]];
                    kind = spheres[[nearest, 7]];
                    extra = spheres[[nearest, 8]];
                } else if (ox.floor() + oz.floor()) as i32 & 1 == 0 {
                    own_red = 0.52;
                    own_green = 0.50;
                    own_blue = 0.46;
                }

                // A uniformly distributed direction.
                let gx = qd::random_normal(seed, pixel, draw);
                let gy = qd::random_normal(seed, pixel, draw + 1);
                let gz = qd::random_normal(seed, pixel, draw + 2);
                let any = dot(gx, gy, gz, gx, gy, gz).sqrt().max(1e-6);
                let cosine = -dot(dx, dy, dz, nx, ny, nz);
                if kind == DIFFUSE {
                    red *= own_red;
                    green *= own_green;
                    blue *= own_blue;
                    let sx = SUN_X + SUN_SIZE * gx;
                    let sy = SUN_Y + SUN_SIZE * gy;
                    let sz = SUN_Z + SUN_SIZE * gz;
                    let size = dot(sx, sy, sz, sx, sy, sz).sqrt();
                    let facing = dot(nx, ny, nz, sx, sy, sz) / size;
                    // Glass casts no shadow.
                    let mut is_lit = facing > 0.0;
                    for k in 0..count {
                        if is_lit && spheres[[k, 7]] != GLASS {
                            let cx = spheres[[k, 0]] - ox;
                            let cy = spheres[[k, 1]] - oy;
                            let cz = spheres[[k, 2]] - oz;
                            let radius = spheres[[k, 3]];
                            is_lit = to_sphere(cx, cy, cz, radius, sx / size, sy / size, sz / size)
                                >= FAR;
                        }
                    }
                    if is_lit {
                        sum_red += red * (SUN_RED * facing);
                        sum_green += green * (SUN_GREEN * facing);
                        sum_blue += blue * (SUN_BLUE * facing);
                    }
                    // Cosine-weighted: directions along the normal are more likely.
                    dx = nx + gx / any;
                    dy = ny + gy / any;
                    dz = nz + gz / any;
                } else if kind == METAL {
                    red *= own_red;
                    green *= own_green;
                    blue *= own_blue;
                    dx += 2.0 * cosine * nx + extra * gx / any;
                    dy += 2.0 * cosine * ny + extra * gy / any;
                    dz += 2.0 * cosine * nz + extra * gz / any;
                    if dot(dx, dy, dz, nx, ny, nz) <= 0.0 {
                        break;
                    }
                } else {
                    red *= own_red;
                    green *= own_green;
                    blue *= own_blue;
                    // Entering or leaving the glass.
                    let side = if cosine > 0.0 { 1.0 } else { -1.0 };
                    let ratio = if cosine > 0.0 { 1.0 / extra } else { extra };
                    let straight = side * cosine;
                    let within = 1.0 - ratio * ratio * (1.0 - straight * straight);
                    if within <= 0.0
                        || qd::random_uniform(seed, pixel, draw + 3) < reflected(straight, extra)
                    {
                        dx += 2.0 * cosine * nx;
                        dy += 2.0 * cosine * ny;
                        dz += 2.0 * cosine * nz;
                    } else {
                        let bend = side * (ratio * straight - within.sqrt());
                        dx = ratio * dx + bend * nx;
                        dy = ratio * dy + bend * ny;
                        dz = ratio * dz + bend * nz;
                    }
                }
            }
        }
        light[[py, px, 0]] += sum_red;
        light[[py, px, 1]] += sum_green;
        light[[py, px, 2]] += sum_blue;
    }
}
