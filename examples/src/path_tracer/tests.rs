//! The light matches plain Rust bit for bit, and more paths reduce the noise.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{
    SEED, Tracer, kernels, reference,
    scene::{camera, spheres},
};

const WIDTH: usize = 16;
const HEIGHT: usize = 12;

#[on_all_backends]
fn every_backend_matches_plain_rust_bit_for_bit(backend: TestBackend) -> crate::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut tracer = Tracer::new(&on.program, WIDTH, HEIGHT)?;
    tracer.step(3)?;
    tracer.step(2)?;
    let (camera, spheres) = (camera(WIDTH as f32 / HEIGHT as f32), spheres());
    let mut expected = Vec::new();
    for pixel in 0..WIDTH * HEIGHT {
        let draws = reference::Draws { seed: SEED, pixel: pixel as u64 };
        let position = [pixel % WIDTH, pixel / WIDTH, WIDTH, HEIGHT];
        let mut light = [0.0f32; 3];
        for samples in [0..3, 3..5] {
            let mut sum = [0.0; 3];
            samples.for_each(|s| reference::path(&draws, s, position, &camera, &spheres, &mut sum));
            light.iter_mut().zip(sum).for_each(|(light, sum)| *light += sum);
        }
        expected.extend(light);
    }
    assert_eq!(tracer.light.to_vec()?, expected);
    Ok(())
}

#[test]
fn the_scene_has_every_material_and_no_spheres_overlap() {
    let spheres = spheres();
    for kind in [kernels::DIFFUSE, kernels::METAL, kernels::GLASS] {
        assert!(spheres.iter().filter(|sphere| sphere[7] == kind).count() >= 3, "{kind}");
    }
    for (k, a) in spheres.iter().enumerate() {
        assert!(a[1] >= a[3], "sphere {k} is in the ground");
        for b in &spheres[..k] {
            let away = (0..3).map(|c| (a[c] - b[c]).powi(2)).sum::<f32>().sqrt();
            assert!(away > a[3] + b[3], "sphere {k} is in another");
        }
    }
}

#[test]
fn variance_falls_with_the_number_of_paths() -> crate::Result<()> {
    let program = quadrants::Program::open(quadrants::Arch::Cpu)?;
    // The difference of two pictures with this many paths.
    let difference = |samples: u32| -> crate::Result<f32> {
        let mut tracer = Tracer::new(&program, WIDTH, HEIGHT)?;
        tracer.step(samples)?;
        let first = tracer.light.to_vec()?;
        tracer.step(samples)?;
        let both = tracer.light.to_vec()?;
        let apart = first.iter().zip(both).map(|(one, both)| (2.0 * one - both).powi(2));
        Ok((apart.sum::<f32>() / first.len() as f32).sqrt() / samples as f32)
    };
    let (few, many) = (difference(8)?, difference(128)?);
    // Sixteen times as many paths give about a fourth of the noise.
    assert!(many < few / 3.0, "{few} {many}");
    Ok(())
}
