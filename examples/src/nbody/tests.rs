//! The bodies match plain Rust bit for bit, and energy and momentum are conserved.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{
    Bodies, SOFT, reference,
    start::{Body, galaxies},
};

#[on_all_backends]
fn every_backend_matches_plain_rust_bit_for_bit(
    backend: TestBackend,
    #[values(false, true)] by_tiles: bool,
) -> crate::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    // 177 bodies leave the second tile partly empty.
    let mut expected = galaxies(177);
    let mut bodies = Bodies::new(&on.program, &expected)?;
    for _ in 0..3 {
        bodies.step(0.02, by_tiles)?;
        reference::step(&mut expected, 0.02, SOFT);
    }
    let flat = |of: fn(&Body) -> [f32; 3]| expected.iter().flat_map(of).collect::<Vec<f32>>();
    assert_eq!(bodies.position.to_vec()?, flat(|body| body.position), "position");
    assert_eq!(bodies.velocity.to_vec()?, flat(|body| body.velocity), "velocity");
    Ok(())
}

#[test]
fn energy_and_momentum_are_conserved() -> crate::Result<()> {
    let program = quadrants::Program::open(quadrants::Arch::Cpu)?;
    let mut now = galaxies(120);
    let mut bodies = Bodies::new(&program, &now)?;
    let (energy, momentum) = (energy(&now), momentum(&now));
    for _ in 0..150 {
        bodies.step(0.01, false)?;
    }
    let (position, velocity) = (bodies.position.to_vec()?, bodies.velocity.to_vec()?);
    for (k, body) in now.iter_mut().enumerate() {
        body.position.copy_from_slice(&position[3 * k..3 * k + 3]);
        body.velocity.copy_from_slice(&velocity[3 * k..3 * k + 3]);
    }
    // The galaxies are bound, and have moved.
    assert!(energy < -0.3, "{energy}");
    let change = (self::energy(&now) - energy) / energy;
    assert!(change.abs() < 0.01, "{change}");
    for (now, before) in self::momentum(&now).into_iter().zip(momentum) {
        assert!((now - before).abs() < 1e-4, "{now}, not {before}");
    }
    assert!((now[0].position[0] + 2.2).abs() > 0.3);
    Ok(())
}

#[test]
fn the_galaxies_have_the_requested_number_of_bodies() {
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
        let square: f64 = a.velocity.iter().map(|v| f64::from(*v).powi(2)).sum();
        energy += 0.5 * f64::from(a.mass) * square;
        for b in &bodies[..k] {
            let away: f64 = (0..3).map(|c| f64::from(a.position[c] - b.position[c]).powi(2)).sum();
            let distance = (away + f64::from(SOFT).powi(2)).sqrt();
            energy -= f64::from(a.mass) * f64::from(b.mass) / distance;
        }
    }
    energy
}

fn momentum(bodies: &[Body]) -> [f32; 3] {
    std::array::from_fn(|axis| bodies.iter().map(|body| body.mass * body.velocity[axis]).sum())
}
