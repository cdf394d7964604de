//! The smoke matches plain Rust bit for bit, and the projection removes divergence.

use quadrants::Tensor;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{
    DT, KEEP, LIFT, SPEED, SWIRL, Smoke, kernels,
    reference::{Law, Reference},
    slants,
};

const N: usize = 20;
const SWEEPS: usize = 4;

#[on_all_backends]
fn every_backend_matches_plain_rust_bit_for_bit(backend: TestBackend) -> crate::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut smoke = Smoke::new(&on.program, N)?;
    let law = Law { dt: DT, carry: DT, keep: KEEP, jet: SPEED, lift: LIFT, swirl: SWIRL };
    let mut reference = Reference::new(N, law);
    for step in 0..6 {
        smoke.step(step, SWEEPS)?;
        reference.step(slants(step), SWEEPS);
    }
    assert_eq!(smoke.u[0].to_vec()?, reference.u, "u");
    assert_eq!(smoke.v[0].to_vec()?, reference.v, "v");
    assert_eq!(smoke.left[0].to_vec()?, reference.left, "left");
    assert_eq!(smoke.right[0].to_vec()?, reference.right, "right");
    assert_eq!(smoke.pressure[0].to_vec()?, reference.pressure, "pressure");
    // The fields are not all zero.
    assert!(reference.left.iter().sum::<f32>() > 1.0);
    assert!(reference.v.iter().any(|v| *v > 0.3));
    Ok(())
}

#[test]
fn the_pressure_solve_removes_divergence() -> crate::Result<()> {
    let program = quadrants::Program::open(quadrants::Arch::Cpu)?;
    let mut smoke = Smoke::new(&program, N)?;
    // A velocity field that converges in the middle.
    let towards = |cell: usize| -(std::f32::consts::PI * (cell as f32 + 0.5) / N as f32).cos();
    let inwards: Vec<f32> = (0..N * N).map(|at| -towards(at % N) * towards(at / N).abs()).collect();
    smoke.u[0] = program.tensor_from(&inwards, [N, N])?;
    let Smoke { u: [u, _], v: [v, _], pressure: [pressure, scratch], divergence, .. } = &mut smoke;
    fn outflow_of(
        u: &Tensor<f32, 2>,
        v: &Tensor<f32, 2>,
        divergence: &mut Tensor<f32, 2>,
    ) -> crate::Result<f32> {
        kernels::outflow(u, v, divergence).launch()?;
        Ok(divergence.to_vec()?.iter().map(|d| d * d).sum())
    }
    let before = outflow_of(u, v, divergence)?;
    for _ in 0..200 {
        kernels::relax(divergence, pressure, scratch).launch()?;
    }
    kernels::project(pressure, u, v).launch()?;
    let after = outflow_of(u, v, divergence)?;
    // A collocated grid cannot remove divergence that alternates from cell to cell.
    assert!(before > 1.0 && after < before / 6.0, "{before} {after}");
    Ok(())
}
