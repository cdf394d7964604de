//! The initial particles.

use super::kernels::{JELLY, LIQUID, SNOW};

/// A particle at the start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Particle {
    pub(crate) kind: u32,
    pub(crate) position: [f32; 2],
    pub(crate) velocity: [f32; 2],
}

/// The volume of a particle; a cell has four.
pub(crate) fn volume(cells: usize) -> f32 {
    let spacing = 0.5 / cells as f32;
    spacing * spacing
}

/// A pool of liquid, a snowball thrown into it, and a block of jelly above.
pub(crate) fn scene(cells: usize) -> Vec<Particle> {
    let mut particles = Vec::new();
    fill(cells, &mut particles, LIQUID, [0.0, 0.0], |[x, y]| {
        (0.03..0.42).contains(&x) && (0.03..0.25).contains(&y)
    });
    fill(cells, &mut particles, SNOW, [-3.0, -1.0], |[x, y]| (x - 0.78).hypot(y - 0.52) < 0.115);
    fill(cells, &mut particles, JELLY, [0.5, 0.0], |[x, y]| {
        // A square standing on a corner.
        (x - 0.27).abs() + (y - 0.66).abs() < 0.125
    });
    particles
}

/// Fills a region with particles, half a cell apart, with jitter.
pub(crate) fn fill(
    cells: usize,
    particles: &mut Vec<Particle>,
    kind: u32,
    velocity: [f32; 2],
    within: impl Fn([f32; 2]) -> bool,
) {
    let spacing = 0.5 / cells as f32;
    for at in 0..4 * cells * cells {
        let (i, j) = (at % (2 * cells), at / (2 * cells));
        let jitter = |seed: usize| {
            let mixed =
                (at as u32).wrapping_mul(0x9E37_79B1) ^ (seed as u32).wrapping_mul(0x85EB_CA6B);
            let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2C1B_3C6D);
            ((mixed >> 12) & 255) as f32 / 255.0 - 0.5
        };
        let position = [
            (i as f32 + 0.5 + 0.5 * jitter(1)) * spacing,
            (j as f32 + 0.5 + 0.5 * jitter(2)) * spacing,
        ];
        if within(position) {
            particles.push(Particle { kind, position, velocity });
        }
    }
}
