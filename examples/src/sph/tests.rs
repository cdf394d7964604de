//! The water matches plain Rust bit for bit, and rests level.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{
    Water, dam,
    kernels::to_floor,
    reference::{Particle, Reference},
};

#[on_all_backends]
fn every_backend_matches_plain_rust_bit_for_bit(backend: TestBackend) -> crate::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    // One position is taken twice over, nearly: those two fly apart, and over the bump.
    let mut start = dam(12);
    start.extend([[1.3, 0.4], [1.301, 0.402]]);
    let mut water = Water::new(&on.program, 12, &start)?;
    let particles =
        start.iter().map(|p| Particle { position: *p, ..Particle::default() }).collect();
    let mut expected =
        Reference { particles, mass: water.mass, reach: water.reach, buckets: water.buckets };
    let dt = water.longest_step();
    for _ in 0..12 {
        water.step(dt)?;
        expected.step(dt);
    }
    let flat = |of: fn(&Particle) -> [f32; 2]| {
        expected.particles.iter().flat_map(of).collect::<Vec<f32>>()
    };
    let density: Vec<f32> = expected.particles.iter().map(|p| p.density).collect();
    assert_eq!(water.density.to_vec()?, density, "density");
    assert_eq!(water.position[0].to_vec()?, flat(|p| p.position), "position");
    assert_eq!(water.velocity[0].to_vec()?, flat(|p| p.velocity), "velocity");
    Ok(())
}

#[test]
fn sorting_is_stable_and_keeps_all_particles() -> crate::Result<()> {
    let program = quadrants::Program::open(quadrants::Arch::Cpu)?;
    let start = dam(25);
    let mut water = Water::new(&program, 25, &start)?;
    let velocity: Vec<f32> = (0..start.len()).flat_map(|k| [k as f32, 0.0]).collect();
    water.velocity[0] = program.tensor_from(&velocity, [start.len(), 2])?;
    water.sort()?;
    let (position, velocity) = (water.position[0].to_vec()?, water.velocity[0].to_vec()?);
    let starts = water.starts.to_vec()?;
    let mut seen = vec![false; start.len()];
    for bucket in starts.windows(2) {
        let numbers = (bucket[0]..bucket[1]).map(|slot| velocity[2 * slot as usize] as usize);
        assert!(numbers.is_sorted());
    }
    for (slot, position) in position.as_chunks::<2>().0.iter().enumerate() {
        let number = velocity[2 * slot] as usize;
        assert_eq!(*position, start[number]);
        assert!(!std::mem::replace(&mut seen[number], true));
    }
    assert_eq!(*starts.last().unwrap() as usize, start.len());
    // Some bucket has several particles.
    assert!(starts.windows(2).any(|bucket| bucket[1] > bucket[0] + 4));
    Ok(())
}

#[test]
fn resting_water_stays_level() -> crate::Result<()> {
    let program = quadrants::Program::open(quadrants::Arch::Cpu)?;
    let apart = 0.05;
    let position = |k: usize| (k as f32 + 0.5) * apart;
    let start: Vec<[f32; 2]> = (0..40 * 6)
        .map(|k| [position(k / 6), position(k % 6)])
        .filter(|[x, y]| to_floor(*x, *y) > 0.02)
        .collect();
    let mut water = Water::new(&program, 20, &start)?;
    let dt = water.longest_step();
    for _ in 0..150 {
        water.step(dt)?;
    }
    let position = water.position[0].to_vec()?;
    let highest = position.as_chunks::<2>().0.iter().map(|[_, y]| *y).fold(0.0, f32::max);
    assert!((0.27..0.40).contains(&highest), "{highest}");
    let density = water.density.to_vec()?;
    assert!(density.iter().all(|density| (0.5..1.08).contains(density)), "{density:?}");
    Ok(())
}
