//! The scene and the camera.

use quadrants as qd;

use super::kernels::{COLUMNS, DIFFUSE, GLASS, METAL};

/// The position of the camera.
const EYE: [f32; 3] = [-2.4, 2.9, 10.5];
/// The point that the camera looks at.
const AIM: [f32; 3] = [0.1, 0.65, 0.2];
/// Half the height of the view at a distance of 1.
const ZOOM: f32 = 0.25;
/// The radius of the lens, relative to half the height of the plane in focus.
const LENS: f32 = 0.012;

/// The rows of the camera, as the kernel takes them.
pub(crate) fn camera(aspect: f32) -> [[f32; 3]; 5] {
    let forward: [f32; 3] = std::array::from_fn(|k| AIM[k] - EYE[k]);
    let distance = forward.iter().map(|x| x * x).sum::<f32>().sqrt();
    let [fx, fy, fz] = forward.map(|x| x / distance);
    // Perpendicular to the view direction, and horizontal.
    let level = (fx * fx + fz * fz).sqrt();
    let right = [-fz / level, 0.0, fx / level];
    let up = [-fx * fy / level, level, -fz * fy / level];
    let half = ZOOM * distance;
    [
        EYE,
        right.map(|x| x * half * aspect),
        up.map(|x| x * half),
        forward,
        [LENS / aspect, LENS, 0.0],
    ]
}

/// The spheres: three large ones and small ones around them, without overlaps.
pub(crate) fn spheres() -> Vec<[f32; COLUMNS]> {
    let mut spheres = vec![
        [0.0, 1.0, 0.6, 1.0, 0.98, 0.99, 0.99, GLASS, 1.5],
        [-2.3, 1.0, -0.6, 1.0, 0.70, 0.12, 0.08, DIFFUSE, 0.0],
        [2.3, 1.0, -0.4, 1.0, 0.95, 0.78, 0.45, METAL, 0.02],
        [0.4, 0.7, -3.2, 0.7, 0.80, 0.84, 0.90, METAL, 0.25],
    ];
    let draw = |k: u64, n| qd::random_uniform(7, k, n);
    for k in 0.. {
        if spheres.len() == 28 {
            break;
        }
        let radius = 0.16 + 0.16 * draw(k, 0);
        let x = 9.0 * draw(k, 1) - 4.5;
        let z = 6.2 * draw(k, 2) - 2.0;
        let free = spheres.iter().all(|other| {
            let (far_x, far_z) = (x - other[0], z - other[2]);
            let away = (far_x * far_x + far_z * far_z).sqrt();
            away > 0.15 + radius + other[3]
        });
        if !free {
            continue;
        }
        let [red, green, blue] = [3, 4, 5].map(|n| draw(k, n));
        let (color, kind, extra) = match (12.0 * draw(k, 6)) as u32 {
            0..6 => ([red * red, green * green, blue * blue].map(|c| 0.06 + 0.8 * c), DIFFUSE, 0.0),
            6..9 => ([red, green, blue].map(|c| 0.55 + 0.4 * c), METAL, 0.3 * draw(k, 7)),
            _ => ([1.0; 3], GLASS, 1.5),
        };
        let [red, green, blue] = color;
        spheres.push([x, radius, z, radius, red, green, blue, kind, extra]);
    }
    spheres
}
