//! Three concurrent blocks and the coupling give the same results as sequential plain Rust.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{ABOUT, World, reference::Reference, work};
use crate::{
    mpm::{
        kernels::{JELLY, LIQUID, SNOW},
        start::{Particle, fill},
    },
    testing::{self, assert_close},
};

const SIZE: usize = 32;
const STEPS: usize = 20;

/// A few particles of each kind: a snowball that falls through the net, and two drops in the jets.
fn particles() -> Vec<Particle> {
    let mut particles = Vec::new();
    for (kind, center, velocity) in [
        (SNOW, [0.5, 0.70], [0.0, -8.0]),
        (JELLY, [0.3, 0.2], [0.0, -2.0]),
        (LIQUID, [0.7, 0.2], [1.0, -2.0]),
    ] {
        fill(SIZE / 2, &mut particles, kind, velocity, |[x, y]| {
            (x - center[0]).hypot(y - center[1]) < 0.08
        });
    }
    particles
}

#[on_all_backends]
fn every_backend_matches_the_plain_rust_reference(backend: TestBackend) -> crate::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let particles = particles();
    let mut world = World::new(&on.program, SIZE, &particles)?;
    let mut reference = Reference::new(SIZE, &particles);
    let mut alone = Reference::new(SIZE, &particles);
    for step in 0..STEPS {
        world.step(step)?;
        world.couple()?;
        reference.step(step);
        reference.couple();
        alone.step(step);
    }
    // Atomic additions and fused multiply-adds round differently in another order.
    let Reference { matter, air, node, node_velocity, .. } = &reference;
    assert_close("position", &world.position.to_vec()?, matter.position.as_flattened(), 1e-4);
    assert_close("velocity", &world.velocity.to_vec()?, matter.velocity.as_flattened(), 2e-3);
    assert_close("u", &world.air[0].to_vec()?, &air.u, 2e-3);
    assert_close("v", &world.air[1].to_vec()?, &air.v, 2e-3);
    assert_close("left", &world.air[2].to_vec()?, &air.left, 2e-3);
    assert_close("right", &world.air[3].to_vec()?, &air.right, 2e-3);
    assert_close("node", &world.node.to_vec()?, node.as_flattened(), 1e-4);
    assert_close(
        "node velocity",
        &world.node_velocity.to_vec()?,
        node_velocity.as_flattened(),
        2e-3,
    );

    // Each of the three affects the others by far more than the tolerance.
    let apart = |a: &[f32], b: &[f32]| {
        let most = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        most / a.iter().fold(0.0f32, |most, v| most.max(v.abs()))
    };
    for (what, apart) in [
        ("cloth", apart(node_velocity.as_flattened(), alone.node_velocity.as_flattened())),
        ("air", apart(&air.v, &alone.air.v)),
        ("matter", apart(matter.velocity.as_flattened(), alone.matter.velocity.as_flattened())),
    ] {
        assert!(apart > 0.02, "{what} {apart}");
    }
    Ok(())
}

#[test]
fn a_run_draws_particles_smoke_and_cloth() -> crate::Result<()> {
    let folder = tempfile::TempDir::new().expect("a folder");
    let out = folder.path().to_str().expect("a name in UTF-8");
    let options = ["--out", out, "--steps", "2", "--size", "64"];
    let summary = testing::run(&ABOUT, work, &options)?;
    assert!(summary.contains("nodes"), "{summary}");
    let picture = image::open(folder.path().join("coupled.png")).expect("a picture").to_rgb8();
    for (what, least, like) in [
        ("cloth", 1_000, (|[r, g, b]| r > 200 && g > 150 && b < 150) as fn([u8; 3]) -> bool),
        ("jelly", 1_000, |[r, g, b]| r > 200 && g < 130 && b < 150),
        ("snow", 1_000, |[r, g, b]| r > 200 && g > 200 && b > 200),
        ("smoke", 1_000, |[r, g, b]| r < 110 && g > 80 && b > 180),
    ] {
        let count = picture.pixels().filter(|pixel| like(pixel.0)).count();
        assert!(count > least, "{what}: {count}");
    }
    Ok(())
}
