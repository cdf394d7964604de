//! The bodies are those of plain Rust, bit by bit, and nature's laws hold.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{
    Bodies, SOFT, reference,
    start::{Body, galaxies},
};

#[on_all_backends]
fn every_backend_gives_the_bits_of_plain_rust(
    backend: TestBackend,
    #[values(false, true)] by_tiles: bool,
) -> crate::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    // The second tile is not full.
    let mut expected = galaxies(177);
    let mut bodies = Bodies::new(&on.program, &expected)?;
    for _ in 0..3 {
        bodies.step(0.02, by_tiles)?;
        reference::step(&mut expected, 0.02, SOFT);
    }
    let flat = |of: fn(&Body) -> [f32; 3]| expected.iter().flat_map(of).collect::<Vec<f32>>();
    assert_eq!(bodies.place.to_vec()?, flat(|body| body.place), "place");
    assert_eq!(bodies.speed.to_vec()?, flat(|body| body.speed), "speed");
    Ok(())
}

#[test]
fn energy_and_momentum_stay() -> crate::Result<()> {
    let program = quadrants::Program::open(quadrants::Arch::Cpu)?;
    let mut now = galaxies(210);
    let mut bodies = Bodies::new(&program, &now)?;
    let (energy, momentum) = (energy(&now), momentum(&now));
    for _ in 0..150 {
        bodies.step(0.01, false)?;
    }
    let (place, speed) = (bodies.place.to_vec()?, bodies.speed.to_vec()?);
    for (k, body) in now.iter_mut().enumerate() {
        body.place.copy_from_slice(&place[3 * k..3 * k + 3]);
        body.speed.copy_from_slice(&speed[3 * k..3 * k + 3]);
    }
    // They are bound, and have moved.
    assert!(energy < -0.3, "{energy}");
    let change = (self::energy(&now) - energy) / energy;
    assert!(change.abs() < 0.01, "{change}");
    for (now, before) in self::momentum(&now).into_iter().zip(momentum) {
        assert!((now - before).abs() < 1e-4, "{now}, not {before}");
    }
    assert!((now[0].place[0] + 2.2).abs() > 0.3);
    Ok(())
}

#[test]
fn the_galaxies_are_as_large_as_asked_for() {
    for count in [8, 9, 100] {
        let bodies = galaxies(count);
        assert_eq!(bodies.len(), count);
        let mass: f32 = bodies.iter().map(|body| body.mass).sum();
        assert!((mass - 2.3).abs() < 1e-4, "{mass}");
        let stars = |galaxy| bodies.iter().filter(move |b| b.star_of == Some(galaxy)).count();
        assert!(stars(0).abs_diff(stars(1)) <= 1 && stars(0) + stars(1) >= count / 2);
    }
}

fn energy(bodies: &[Body]) -> f64 {
    let mut energy = 0.0;
    for (k, a) in bodies.iter().enumerate() {
        let square: f64 = a.speed.iter().map(|v| f64::from(*v).powi(2)).sum();
        energy += 0.5 * f64::from(a.mass) * square;
        for b in &bodies[..k] {
            let away: f64 = (0..3).map(|c| f64::from(a.place[c] - b.place[c]).powi(2)).sum();
            let distance = (away + f64::from(SOFT).powi(2)).sqrt();
            energy -= f64::from(a.mass) * f64::from(b.mass) / distance;
        }
    }
    energy
}

fn momentum(bodies: &[Body]) -> [f32; 3] {
    std::array::from_fn(|axis| bodies.iter().map(|body| body.mass * body.speed[axis]).sum())
}
