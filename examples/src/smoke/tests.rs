//! The smoke matches plain Rust bit for bit, and the projection removes divergence.

use clap::Parser as _;
use quadrants::Tensor;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{
    DT, KEEP, LIFT, SPEED, SWIRL, Smoke, kernels,
    live::{self, Hand, Live},
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

/// The mass of each kind of smoke, if all its numbers are finite.
fn masses(smoke: &Smoke) -> crate::Result<[f64; 2]> {
    let mass = |field: &Tensor<f32, 2>| {
        let cells = field.to_vec()?;
        assert!(cells.iter().all(|cell| cell.is_finite() && *cell >= 0.0));
        Ok::<_, crate::Error>(cells.iter().map(|cell| f64::from(*cell)).sum())
    };
    Ok([mass(&smoke.left[0])?, mass(&smoke.right[0])?])
}

#[on_all_backends]
fn stirred_smoke_changes_and_keeps_its_mass(backend: TestBackend) -> crate::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut live = Live::new(&on.program, 64)?;
    let still = live.frame(None)?;
    let dark = |pixels: &[u32]| pixels.iter().all(|pixel| *pixel < 0x0020_2040);
    assert!(dark(&still), "a dark sky");
    let mut before = still;
    for frame in [0, 5, 10, 60, 65, 70] {
        let pixels = live.frame(Hand::at_frame(frame))?;
        assert_ne!(pixels, before, "frame {frame}");
        before = pixels;
    }
    assert!(before.iter().any(|pixel| pixel >> 16 > 0x80), "warm smoke");
    assert!(before.iter().any(|pixel| pixel & 0xff > 0x80), "cold smoke");
    let stirred = masses(&live.smoke)?;
    assert!(stirred.iter().all(|mass| *mass > 20.0), "{stirred:?}");
    for _ in 0..20 {
        live.frame(None)?;
    }
    // Semi-Lagrangian advection keeps the mass only where the velocity is smooth and has no divergence, so the bound is
    // wide on this small grid.
    let after = masses(&live.smoke)?;
    for (stirred, after) in stirred.into_iter().zip(after) {
        assert!((0.6..1.4).contains(&(after / stirred)), "{stirred} {after}");
    }
    Ok(())
}

#[test]
fn frames_without_a_window_are_written_as_pictures() -> crate::Result<()> {
    let folder = tempfile::TempDir::new().expect("a folder");
    let out = folder.path().join("new");
    let (text, trace) = (out.to_str().expect("a path"), folder.path().join("run.json"));
    let trace = trace.to_str().expect("a path");
    let options =
        ["smoke_window", "--size", "24", "--out", text, "--frames", "12", "--trace", trace];
    let options = live::Options::try_parse_from(options).expect("they are right");
    let summary = live::execute(&options)?;
    assert!(summary.contains("frames     12, ") && summary.contains(" per second"), "{summary}");
    assert!(summary.contains(&format!("trace      {trace}\n")), "{summary}");
    let timeline = std::fs::read_to_string(trace).expect("a trace");
    let timeline = quadrants::Timeline::from_chrome_trace(&timeline).expect("a trace");
    let shaded = timeline.spans().iter().filter(|span| &*span.name == "shade").count();
    // The first frame finds the kernels.
    assert_eq!(shaded, 13);
    let picture = |number: usize| {
        let path = out.join(format!("smoke_window-{number}.png"));
        assert!(summary.contains(&format!("picture    {}\n", path.display())), "{summary}");
        image::open(path).expect("a picture").to_rgb8()
    };
    let pictures: Vec<_> = (0..6).map(picture).collect();
    assert!(pictures.windows(2).all(|two| two[0] != two[1]));
    assert_eq!(pictures[0].dimensions(), (24, 24));
    Ok(())
}
