//! The field does not depend on the number of devices, and is that of plain Rust.

use quadrants_tests::{DevicePolicy, TestBackend, on_all_backends, on_gpu_backends};

use super::{Devices, Equations, Exchange, Problem, open, picture};

const SIZE: [usize; 2] = [24, 20];
const STEPS: usize = 9;

/// Devices as the tests select them; none where there are not as many.
fn devices(backend: TestBackend, count: usize) -> Option<Devices> {
    // Also says so where the backend is not selected.
    backend.open()?;
    let simulated =
        backend != TestBackend::Cpu && DevicePolicy::from_env() == DevicePolicy::Simulated;
    if simulated {
        return Some(Devices::simulated(backend, count).expect("the simulator opens"));
    }
    let opened = open(backend.arch(), Some(count));
    if opened.is_err() {
        println!("skipped: there are no {count} {backend:?} devices");
    }
    opened.ok()
}

/// A step of a periodic field in plain Rust, with the operations of the kernels in their order.
fn jacobi(field: &[f32]) -> Vec<f32> {
    let [height, width] = SIZE;
    let at = |y: usize, x: usize| field[y % height * width + x % width];
    let cell = |i: usize| {
        let (y, x) = (i / width, i % width);
        let across = at(y, x + width - 1) + at(y, x + 1);
        0.25 * (across + at(y + height - 1, x) + at(y + 1, x))
    };
    (0..height * width).map(cell).collect()
}

/// The populations of a cell, from those that move into it.
fn fluid(field: &[f32]) -> Vec<f32> {
    const VELOCITIES: [[isize; 2]; 9] =
        [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]];
    let [height, width] = SIZE;
    let mut next = vec![0.0; field.len()];
    for y in 0..height {
        for x in 0..width {
            let from = |k: usize| {
                let [ex, ey] = VELOCITIES[k];
                let wrap = |a: usize, e: isize, n: usize| (a + n).wrapping_add_signed(-e) % n;
                f64::from(field[(wrap(y, ey, height) * 9 + k) * width + wrap(x, ex, width)])
            };
            let populations: Vec<f64> = (0..9).map(from).collect();
            let density: f64 = populations.iter().sum();
            let along = |axis: usize| {
                let of = |k: usize| populations[k] * VELOCITIES[k][axis] as f64;
                (0..9).map(of).sum::<f64>() / density
            };
            let u = [along(0), along(1)];
            for (k, velocity) in VELOCITIES.iter().enumerate() {
                let weight = [4.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0]
                    [velocity.iter().filter(|e| **e != 0).count()];
                let eu = velocity[0] as f64 * u[0] + velocity[1] as f64 * u[1];
                let uu = u[0] * u[0] + u[1] * u[1];
                let equilibrium = density * weight * (1.0 + 3.0 * eu + 4.5 * eu * eu - 1.5 * uu);
                let relaxed = populations[k] + 1.9 * (equilibrium - populations[k]);
                next[(y * 9 + k) * width + x] = relaxed as f32;
            }
        }
    }
    next
}

fn problem(equations: Equations, steps: usize) -> Problem {
    Problem { equations, size: SIZE, steps, exchange: Exchange::Overlapped }
}

#[on_all_backends]
fn any_number_of_devices_gives_the_field_of_plain_rust(
    backend: TestBackend,
    #[values(1, 2, 3, 4, 8)] count: usize,
) -> crate::Result<()> {
    let Some(devices) = devices(backend, count) else { return Ok(()) };
    let mut expected = devices.run(&problem(Equations::Jacobi, 0), true)?.field;
    for _ in 0..STEPS {
        expected = jacobi(&expected);
    }
    assert_eq!(devices.run(&problem(Equations::Jacobi, STEPS), true)?.field, expected);

    let start = devices.run(&problem(Equations::Fluid, 0), true)?.field;
    let found = devices.run(&problem(Equations::Fluid, STEPS), true)?.field;
    let mut expected = start.clone();
    for _ in 0..STEPS {
        expected = fluid(&expected);
    }
    crate::testing::assert_close("populations", &found, &expected, 1e-5);
    let mass = |field: &[f32]| field.iter().map(|f| f64::from(*f)).sum::<f64>();
    assert!((mass(&found) / mass(&start) - 1.0).abs() < 1e-6, "mass is conserved");
    // One device gives the same bits.
    if let Some(alone) = self::devices(backend, 1) {
        assert_eq!(alone.run(&problem(Equations::Fluid, STEPS), true)?.field, found);
    }
    assert_eq!(picture(&problem(Equations::Fluid, 0), &found).dimensions(), (20, 24));
    Ok(())
}

#[on_gpu_backends]
fn the_simulator_finds_an_exchange_without_order(backend: TestBackend) -> crate::Result<()> {
    if DevicePolicy::from_env() != DevicePolicy::Simulated {
        return Ok(());
    }
    for equations in [Equations::Jacobi, Equations::Fluid] {
        let Some(devices) = devices(backend, 3) else { return Ok(()) };
        devices.worlds.iter().for_each(|world| world.allow_races());
        let unordered = Problem { exchange: Exchange::Unordered, ..problem(equations, STEPS) };
        devices.run(&unordered, true)?;
        for world in &devices.worlds {
            assert!(!world.races().is_empty(), "{backend:?} {equations:?}");
        }
    }
    Ok(())
}

#[test]
fn the_command_reports_what_the_simulator_found() {
    let run = |arguments: &[&str]| super::run(&[&["halo"], arguments].concat());
    let text = run(&["--simulated", "3"]).expect("it runs");
    assert!(text.contains("3 ×") && text.contains("simulated"), "{text}");
    assert!(text.ends_with("no operation raced with another\n"), "{text}");
    let text = run(&["jacobi", "--simulated", "2", "--omit-order"]).expect("it runs");
    assert!(text.contains("races; the first: race on"), "{text}");
    let error = run(&["--simulated", "5", "--size", "24"]).unwrap_err().to_string();
    assert_eq!(error, "5 devices need a multiple of 5 rows, at least 15");
}

#[test]
fn times_are_a_table() {
    let table = super::run(&[
        "halo",
        "jacobi",
        "--backend",
        "cpu",
        "--devices",
        "2",
        "--measure",
        "--size",
        "16",
        "--steps",
        "4",
    ])
    .expect("it runs");
    assert_eq!(table.lines().filter(|line| line.starts_with("| ")).count(), 6, "{table}");
    assert!(table.contains("| weak | 32 |"), "{table}");
}
