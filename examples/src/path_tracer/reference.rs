//! The reference in plain Rust, with points and directions as arrays.

use quadrants as qd;

use super::kernels::{
    BOUNCES, COLUMNS, DIFFUSE, DRAWS, FAR, GLASS, METAL, NEAR, SUN, SUN_BLUE, SUN_GREEN, SUN_RED,
    SUN_SIZE,
};

type Vector = [f32; 3];

/// The random draws of a pixel.
pub(crate) struct Draws {
    pub(crate) seed: u64,
    pub(crate) pixel: u64,
}

/// What a ray hits.
struct Hit {
    normal: Vector,
    color: Vector,
    kind: f32,
    extra: f32,
}

/// The light that one path adds to a pixel.
pub(crate) fn path(
    draws: &Draws,
    sample: u32,
    [px, py, width, height]: [usize; 4],
    camera: &[Vector; 5],
    spheres: &[[f32; COLUMNS]],
    sum: &mut Vector,
) {
    let uniform = |draw| qd::random_uniform(draws.seed, draws.pixel, sample * DRAWS + draw);
    let normal = |draw| qd::random_normal(draws.seed, draws.pixel, sample * DRAWS + draw);
    let [eye, right, up, forward, radius] = camera;
    let u = 2.0 * ((px as f32 + uniform(0)) / width as f32) - 1.0;
    let v = 1.0 - 2.0 * ((py as f32 + uniform(1)) / height as f32);
    let (lens_u, lens_v) = (radius[0] * normal(2), radius[1] * normal(3));
    let lens: Vector = each(|k| lens_u * right[k] + lens_v * up[k]);
    let mut at: Vector = each(|k| eye[k] + lens[k]);
    let mut towards: Vector = each(|k| forward[k] + u * right[k] + v * up[k] - lens[k]);
    let mut share = [1.0f32; 3];
    for bounce in 1..=BOUNCES {
        let length = dot(towards, towards).sqrt();
        towards = towards.map(|d| d / length);
        let Some((t, nearest)) = meet(spheres, at, towards) else {
            let colors = [(0.50, 0.09, 1.00), (0.62, 0.23, 0.85), (0.78, 0.62, 0.60)];
            *sum = each(|k| sum[k] + share[k] * sky(colors[k], towards));
            return;
        };
        at = each(|k| at[k] + t * towards[k]);
        let Hit { normal: n, color, kind, extra } = hit(nearest.map(|k| &spheres[k]), at);
        let random: Vector = each(|k| normal(4 * bounce + k as u32));
        let any = dot(random, random).sqrt().max(1e-6);
        let cosine = -dot(towards, n);
        share = each(|k| share[k] * color[k]);
        if kind == DIFFUSE {
            let sun: Vector = each(|k| SUN[k] + SUN_SIZE * random[k]);
            let size = dot(sun, sun).sqrt();
            let facing = dot(n, sun) / size;
            if facing > 0.0 && !is_shaded(spheres, at, sun.map(|s| s / size)) {
                let light = [SUN_RED, SUN_GREEN, SUN_BLUE];
                *sum = each(|k| sum[k] + share[k] * (light[k] * facing));
            }
            towards = each(|k| n[k] + random[k] / any);
        } else if kind == METAL {
            towards = each(|k| towards[k] + (2.0 * cosine * n[k] + extra * random[k] / any));
            if dot(towards, n) <= 0.0 {
                return;
            }
        } else {
            let side = if cosine > 0.0 { 1.0 } else { -1.0 };
            let ratio = if cosine > 0.0 { 1.0 / extra } else { extra };
            let straight = side * cosine;
            let within = 1.0 - ratio * ratio * (1.0 - straight * straight);
            if within <= 0.0 || uniform(4 * bounce + 3) < reflected(straight, extra) {
                towards = each(|k| towards[k] + 2.0 * cosine * n[k]);
            } else {
                let bend = side * (ratio * straight - within.sqrt());
                towards = each(|k| ratio * towards[k] + bend * n[k]);
            }
        }
    }
}

fn each(f: impl Fn(usize) -> f32) -> Vector {
    std::array::from_fn(f)
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The distance of the nearest hit, and the sphere if it is one.
fn meet(spheres: &[[f32; COLUMNS]], at: Vector, towards: Vector) -> Option<(f32, Option<usize>)> {
    let ground = -at[1] / towards[1];
    let mut first = (towards[1] < -0.002 && ground > NEAR).then_some((ground, None));
    for (k, sphere) in spheres.iter().enumerate() {
        if let Some(t) = to_sphere(sphere, at, towards)
            && first.is_none_or(|(nearest, _)| t < nearest)
        {
            first = Some((t, Some(k)));
        }
    }
    first.filter(|(t, _)| *t < FAR)
}

fn to_sphere(sphere: &[f32; COLUMNS], at: Vector, towards: Vector) -> Option<f32> {
    let centre: Vector = each(|k| sphere[k] - at[k]);
    let along = dot(centre, towards);
    let aside: Vector = each(|k| centre[k] - along * towards[k]);
    let inside = sphere[3] * sphere[3] - dot(aside, aside);
    let half = (inside > 0.0).then(|| inside.sqrt())?;
    [along - half, along + half].into_iter().find(|t| *t > NEAR)
}

fn hit(sphere: Option<&[f32; COLUMNS]>, at: Vector) -> Hit {
    match sphere {
        Some(sphere) => Hit {
            normal: each(|k| (at[k] - sphere[k]) / sphere[3]),
            color: each(|k| sphere[4 + k]),
            kind: sphere[7],
            extra: sphere[8],
        },
        None => {
            let is_light = (at[0].floor() + at[2].floor()) as i32 & 1 == 0;
            let color = if is_light { [0.52, 0.50, 0.46] } else { [0.13, 0.15, 0.18] };
            Hit { normal: [0.0, 1.0, 0.0], color, kind: DIFFUSE, extra: 0.0 }
        }
    }
}

fn is_shaded(spheres: &[[f32; COLUMNS]], at: Vector, towards: Vector) -> bool {
    let solid = spheres.iter().filter(|sphere| sphere[7] != GLASS);
    solid.into_iter().any(|sphere| to_sphere(sphere, at, towards).is_some())
}

fn sky((horizon, zenith, sun): (f32, f32, f32), towards: Vector) -> f32 {
    let square = |x: f32| x * x;
    let cosine = dot(towards, SUN).max(0.0);
    // To the power of 64.
    let glow = square(square(square(square(square(square(cosine))))));
    let disc = if cosine > 0.9985 { 12.0 } else { 0.0 };
    horizon + (zenith - horizon) * towards[1].max(0.0).sqrt() + sun * (0.25 * glow + disc)
}

fn reflected(cosine: f32, index: f32) -> f32 {
    let root = (1.0 - index) / (1.0 + index);
    let rest = (1.0 - cosine).max(0.0);
    let square = rest * rest;
    root * root + (1.0 - root * root) * (square * square * rest)
}
