//! The material points go where plain Rust's go, and neither mass nor momentum is lost on the way.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{
    ABOUT, Matter, dt,
    kernels::{JELLY, LIQUID, SNOW},
    reference::Reference,
    start::{Particle, fill, scene, volume},
    work,
};
use crate::testing::{self, assert_close};

const CELLS: usize = 16;

/// Three small pieces that fly into each other, far from the walls.
fn pieces() -> Vec<Particle> {
    let mut particles = Vec::new();
    for (kind, center, velocity) in [
        (JELLY, [0.38, 0.5], [3.0, 0.5]),
        (SNOW, [0.62, 0.5], [-3.0, 0.0]),
        (LIQUID, [0.5, 0.68], [0.5, -4.0]),
    ] {
        fill(CELLS, &mut particles, kind, velocity, |[x, y]| {
            (x - center[0]).abs() < 0.1 && (y - center[1]).abs() < 0.08
        });
    }
    particles
}

#[on_all_backends]
fn every_backend_matches_the_plain_rust_reference(backend: TestBackend) -> crate::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let particles = pieces();
    let mut matter = Matter::new(&on.program, CELLS, 50.0, &particles)?;
    let mut reference = Reference::new(CELLS, 50.0, &particles);
    for _ in 0..30 {
        matter.step()?;
        reference.step();
    }
    // Atomic additions and fused multiply-adds round differently in another order.
    assert_close("position", &matter.position.to_vec()?, reference.position.as_flattened(), 1e-5);
    assert_close("velocity", &matter.velocity.to_vec()?, reference.velocity.as_flattened(), 1e-3);
    assert_close("shape", &matter.shape.to_vec()?, flat(&reference.shape), 1e-3);
    assert_close("affine", &matter.affine.to_vec()?, flat(&reference.affine), 2e-3);
    assert_close("packing", &matter.packing.to_vec()?, &reference.packing, 1e-3);
    assert_close("mass", &matter.mass.to_vec()?, &reference.mass, 1e-3);
    // Snow was pressed together, so that what is compared is more than flying.
    assert!(reference.packing.iter().any(|kept| *kept < 0.99));
    Ok(())
}

fn flat(matrices: &[[[f32; 2]; 2]]) -> &[f32] {
    matrices.as_flattened().as_flattened()
}

#[on_all_backends]
fn mass_and_momentum_are_conserved(backend: TestBackend) -> crate::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let particles = pieces();
    let steps = 20;
    let mut matter = Matter::new(&on.program, CELLS, 50.0, &particles)?;
    for _ in 0..steps {
        matter.step()?;
    }
    let n = particles.len() as f32;
    let mass: f32 = matter.mass.to_vec()?.iter().sum();
    let expected = n * volume(CELLS);
    assert!((mass - expected).abs() < 1e-5 * expected, "{mass} {expected}");
    // All particles weigh the same, and nothing but gravity acts on them together.
    let velocities = matter.velocity.to_vec()?;
    for axis in 0..2 {
        let before: f32 = particles.iter().map(|p| p.velocity[axis]).sum();
        let after: f32 = velocities.iter().skip(axis).step_by(2).sum();
        let fallen = if axis == 1 { -50.0 * dt(CELLS) * steps as f32 * n } else { 0.0 };
        assert!((after - before - fallen).abs() < 2e-3 * n, "{axis}: {before} {after} {fallen}");
    }
    Ok(())
}

#[test]
fn the_scene_contains_all_three_materials_inside_the_grid() {
    let particles = scene(ABOUT.size);
    assert!((9_000..11_000).contains(&particles.len()), "{}", particles.len());
    for kind in [JELLY, SNOW, LIQUID] {
        assert!(particles.iter().filter(|p| p.kind == kind).count() > 1_000);
    }
    assert!(particles.iter().all(|p| p.position.iter().all(|at| (0.02..0.98).contains(at))));
}

#[test]
fn a_run_draws_its_particles() -> crate::Result<()> {
    let folder = tempfile::TempDir::new().expect("a folder");
    let out = folder.path().to_str().expect("a name in UTF-8");
    let options = ["--out", out, "--steps", "1", "--size", "16"];
    let summary = testing::run(&ABOUT, work, &options)?;
    assert!(summary.contains("particles"), "{summary}");
    let picture = image::open(folder.path().join("mpm.png")).expect("a picture").to_rgb8();
    let reddish = picture.pixels().filter(|p| p[0] > 200 && p[2] < 150).count();
    let bluish = picture.pixels().filter(|p| p[2] > 150 && p[0] < 120).count();
    assert!(reddish > 500 && bluish > 500, "{reddish} {bluish}");
    Ok(())
}
