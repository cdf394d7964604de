//! Floats of 16 bits: stored as such, computed as `f32`, rounded to nearest even.

use quadrants::{self as qd, KernelValue, Layout, Tensor, Vector, f16};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

/// A particle as it is stored, in half of the memory.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Packed {
    flow: Vector<f16, 2>,
    heat: f16,
    kind: u8,
}

source! { wide;
    fn run(x: &Tensor<f16, 1>, out: &mut Tensor<f32, 1>, doubles: &mut Tensor<f64, 2>, bits: &mut Tensor<u16, 1>) {
        for i in 0..x.len() {
            out[i] = x[i].to_f32();
            doubles[[i, 0]] = f64::from(x[i]) + x[i].to_f64();
            doubles[[i, 1]] = f32::from(x[i]) as f64;
            bits[i] = if x[i].is_nan() { 0x7e00 } else { x[i].to_bits() };
        }
    }
}

source! { rounded;
    fn run(x: &Tensor<f32, 1>, out: &mut Tensor<f16, 1>, from: &mut Tensor<f16, 2>) {
        for i in 0..x.len() {
            out[i] = f16::from_f32(x[i]);
            from[[i, 0]] = f16::from_bits((i as u16).wrapping_mul(77));
            from[[i, 1]] = f16::from(i as u8);
            from[[i, 2]] = qd::f16::from_f32(0.1);
            from[[i, 3]] = f16::EPSILON;
        }
    }
}

source! { computed;
    fn run(a: f16, x: &Tensor<f16, 1>, y: &mut Tensor<f16, 2>, order: &mut Tensor<bool, 2>) {
        for i in 0..x.len() {
            let b = x[i];
            y[[i, 0]] = a + b;
            y[[i, 1]] = a * b - b;
            y[[i, 2]] += b / a;
            y[[i, 3]] *= -b;
            let larger = if a > b { a } else { b };
            y[[i, 4]] = larger;
            let mut sum = f16::ZERO;
            for k in 0..3 {
                sum += b * f16::from_f32(k as f32);
            }
            y[[i, 5]] = sum;
            order[[i, 0]] = a < b;
            order[[i, 1]] = b == b;
            order[[i, 2]] = b.is_infinite() || b.is_sign_negative();
        }
    }
}

#[qd::kernel]
fn cool(by: f32, all: &mut Tensor<Packed, 1>) {
    for i in 0..all.len() {
        all[i].heat = f16::from_f32(all[i].heat.to_f32() * by);
        all[i].flow[1] = all[i].flow[0] + all[i].heat;
        all[i].kind += 1;
    }
}

#[on_all_backends]
fn every_half_converts_exactly_to_f32(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let x = Array::of(&all);
    let n = all.len();
    let (out, doubles, bits) = (Array::zeros([n]), Array::zeros([n, 2]), Array::zeros([n]));
    differential!(&on.program, wide [] [x] [out, doubles, bits]);
    Ok(())
}

#[on_all_backends]
fn f32_rounds_to_the_nearest_even_half(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut floats = vec![0.0, -0.0, f32::NAN, f32::INFINITY, -f32::INFINITY, f32::MAX, f32::MIN];
    floats.extend([65504.0, 65519.9, 65520.0, -65520.0, 1e-8, f32::MIN_POSITIVE, -1e-40]);
    // Every half, the middle between it and the next, and what is just beside that.
    for bits in (0..0x7c00_u16).step_by(3).chain(0..0x20).chain(0x3f0..0x410) {
        let (low, high) = (f16::from_bits(bits).to_f32(), f16::from_bits(bits + 1).to_f32());
        let middle = if high.is_finite() { (low + high) / 2.0 } else { 65520.0 };
        let near =
            [-1_i32, 0, 1].map(|by| f32::from_bits(middle.to_bits().wrapping_add_signed(by)));
        floats.extend([low, -near[0], near[0], near[1], -near[1], near[2]]);
    }
    let x = Array::of(&floats);
    let (out, from) = (Array::zeros([floats.len()]), Array::zeros([floats.len(), 4]));
    // The smallest numbers are numbers, and not zeros.
    assert!(floats.iter().any(|x| f16::from_f32(*x).to_bits() == 1));
    let short = floats.len().min(256);
    let few = Array::of(&floats[..short]);
    let (some, of_few) = (Array::zeros([short]), Array::zeros([short, 4]));
    differential!(&on.program, rounded [] [few] [some, of_few]);
    differential!(&on.program, rounded [] [x] [out, from]);
    Ok(())
}

#[on_all_backends]
fn each_half_operation_rounds(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let all: Vec<f16> = (0..0xffff_u16).step_by(13).map(f16::from_bits).collect();
    let x = Array::of(&all);
    let n = all.len();
    let halves: Vec<f16> = (0..6 * n).map(|i| f16::from_f32(i as f32 * 0.37 - 900.0)).collect();
    let (y, order) = (Array::new(&halves, [n, 6]), Array::zeros([n, 3]));
    differential!(&on.program, computed [f16::from_f32(1.7)] [x] [y, order]);
    Ok(())
}

#[on_all_backends]
fn halves_are_fields_of_elements(
    backend: TestBackend,
    #[values(Layout::ArrayOfStructs, Layout::StructOfArrays)] layout: Layout,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let half = f16::from_f32;
    let one = Packed { flow: Vector([half(2.5), half(0.0)]), heat: half(8.0), kind: 254 };
    let mut all = on.program.tensor_with(&[one; 5], [5], layout)?;
    cool(0.25, &mut all).launch()?;
    let cooled = Packed { flow: Vector([half(2.5), half(4.5)]), heat: half(2.0), kind: 255 };
    assert_eq!(all.to_vec()?, [cooled; 5]);
    Ok(())
}
