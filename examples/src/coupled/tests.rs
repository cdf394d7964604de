//! What three blocks beside each other and the coupling give is what plain Rust gives, one after the other.

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
    for (kind, center, speed) in [
        (SNOW, [0.5, 0.70], [0.0, -8.0]),
        (JELLY, [0.3, 0.2], [0.0, -2.0]),
        (LIQUID, [0.7, 0.2], [1.0, -2.0]),
    ] {
        fill(SIZE / 2, &mut particles, kind, speed, |[x, y]| {
            (x - center[0]).hypot(y - center[1]) < 0.08
        });
    }
    particles
}

#[on_all_backends]
fn every_backend_gives_what_plain_rust_gives(backend: TestBackend) -> crate::Result<()> {
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
    // Sums of atomic additions and multiply-adds round in the order in which they come.
    let Reference { matter, air, node, node_speed, .. } = &reference;
    assert_close("place", &world.place.to_vec()?, matter.place.as_flattened(), 1e-4);
    assert_close("speed", &world.speed.to_vec()?, matter.speed.as_flattened(), 2e-3);
    assert_close("u", &world.air[0].to_vec()?, &air.u, 2e-3);
    assert_close("v", &world.air[1].to_vec()?, &air.v, 2e-3);
    assert_close("left", &world.air[2].to_vec()?, &air.left, 2e-3);
    assert_close("right", &world.air[3].to_vec()?, &air.right, 2e-3);
    assert_close("node", &world.node.to_vec()?, node.as_flattened(), 1e-4);
    assert_close("node speed", &world.node_speed.to_vec()?, node_speed.as_flattened(), 2e-3);

    // Each of the three feels the others, by far more than that.
    let apart = |a: &[f32], b: &[f32]| {
        let most = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        most / a.iter().fold(0.0f32, |most, v| most.max(v.abs()))
    };
    for (what, apart) in [
        ("cloth", apart(node_speed.as_flattened(), alone.node_speed.as_flattened())),
        ("air", apart(&air.v, &alone.air.v)),
        ("matter", apart(matter.speed.as_flattened(), alone.matter.speed.as_flattened())),
    ] {
        assert!(apart > 0.02, "{what} {apart}");
    }
    Ok(())
}

#[test]
fn a_run_paints_all_three() -> crate::Result<()> {
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
