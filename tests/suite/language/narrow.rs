//! Integers of 8 and 16 bits: wrapping, shifts, casts and methods match Rust.

use quadrants as qd;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

macro_rules! numbers {
    ($($name:ident: $ty:ident;)*) => {$(
        source! { $name;
            fn run(
                a: $ty,
                x: &Tensor<$ty, 1>,
                y: &Tensor<$ty, 1>,
                values: &mut Tensor<$ty, 2>,
                wide: &mut Tensor<i64, 2>,
                floats: &mut Tensor<f32, 2>,
            ) {
                const STEP: $ty = 3;
                let top = a / 2;
                for i in 0..x.len() {
                    let p = x[i];
                    let q = y[i];
                    values[[i, 0]] = p.wrapping_add(q);
                    values[[i, 1]] = p.wrapping_sub(q);
                    values[[i, 2]] = p.wrapping_mul(q);
                    values[[i, 3]] = p / a + top;
                    values[[i, 4]] = p % a;
                    values[[i, 5]] = p & q | 1;
                    values[[i, 6]] = !p ^ q;
                    values[[i, 7]] = p << (i % 8);
                    values[[i, 8]] = p >> (i as u32 % 8);
                    values[[i, 9]] = p.min(q).max(a);
                    values[[i, 10]] = p.rem_euclid(a);
                    values[[i, 11]] = p.saturating_add(q);
                    values[[i, 12]] = p.saturating_sub(q);
                    values[[i, 13]] = p.clamp(1, 100);
                    values[[i, 14]] = (floats[[i, 0]] * 3.7) as $ty;
                    values[[i, 15]] = (wide[[i, 0]] * 3) as $ty;
                    values[[i, 16]] = if p > q { p } else { a };
                    values[[i, 17]] = STEP;
                    let mut v = 100;
                    v -= a;
                    v >>= 1i64;
                    v |= 0x41;
                    values[[i, 18]] = v;
                    let mut sum = 0;
                    for k in a..a + 3 {
                        sum += k;
                    }
                    values[[i, 19]] = sum;
                    wide[[i, 0]] = p as i64;
                    wide[[i, 1]] = i64::from(p) * i64::from(q);
                    wide[[i, 2]] = p.count_ones() as i64 * 100 + p.leading_zeros() as i64;
                    wide[[i, 3]] = p.trailing_zeros() as i64 + (p < q) as i64 * 1000;
                    wide[[i, 4]] = p.abs_diff(q) as i64;
                    wide[[i, 5]] = match p { 0 => 1, 5..=9 => 2, n if n == q => 3, _ => 4 };
                    floats[[i, 0]] = p as f32;
                    floats[[i, 1]] = f32::from(q) * 0.5;
                }
            }
        }
    )*};
}

numbers! {
    of_i8: i8;
    of_i16: i16;
    of_u8: u8;
    of_u16: u16;
}

#[on_all_backends]
fn narrow_integers_match_rust(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    macro_rules! run {
        ($name:ident: $ty:ident) => {
            let all = [0, 1, 5, 7, 100, 101, 126, 127, $ty::MAX, $ty::MIN, $ty::MAX - 1, 64];
            let mut turned = all;
            turned.rotate_left(5);
            let (x, y) = (Array::of(&all), Array::of(&turned));
            let n = all.len();
            let values = Array::zeros([n, 20]);
            let many: Vec<i64> = (0..6 * n as i64).map(|i| i * 7_919 - 99_999).collect();
            let wide = Array::new(&many, [n, 6]);
            let reals: Vec<f32> = many.iter().map(|v| *v as f32 * 0.01).collect();
            let floats = Array::new(&reals[..2 * n], [n, 2]);
            differential!(&on.program, $name [7] [x, y] [values, wide, floats]);
        };
    }
    run!(of_i8: i8);
    run!(of_i16: i16);
    run!(of_u8: u8);
    run!(of_u16: u16);
    Ok(())
}

/// A picture, as it comes from a file: the elements lie a byte apart.
#[on_all_backends]
fn narrow_integers_have_their_size_in_memory(backend: TestBackend) -> quadrants::Result<()> {
    use quadrants::{self as qd, Tensor};

    #[qd::kernel]
    fn invert(picture: &mut Tensor<u8, 2>) {
        for (y, x) in qd::ndrange(picture.shape()) {
            picture[[y, x]] = 255 - picture[[y, x]];
        }
    }

    let Some(on) = backend.open() else { return Ok(()) };
    let bytes: Vec<u8> = (0..35).map(|i| i * 7).collect();
    let mut picture = on.program.tensor_from(&bytes, [5, 7])?;
    invert(&mut picture).launch()?;
    assert!(picture.to_vec()?.iter().zip(&bytes).all(|(found, before)| *found == 255 - before));
    Ok(())
}

source! { loops;
    fn run(from: u8, to: u8, low: i8, x: &Tensor<i16, 1>, out: &mut Tensor<u32, 1>, sums: &mut Tensor<i64, 1>) {
        for i in from..to {
            out[i as usize] = i as u32 * 3;
        }
        for i in (0..to).step_by(3) {
            out[i as usize] += 1000;
        }
        for i in (0_u16..200).rev() {
            out[i as usize] += 100_000;
        }
        for i in 0..=255_u8 {
            qd::atomic_add(&mut sums[0], i as i64);
        }
        for i in low..100 {
            let at = (i as i32 + 128) as usize;
            out[at] += 1;
        }
        for (i, j) in qd::ndrange([to / 16, 16]) {
            out[i as usize * 16 + j as usize] += 7;
        }
        for i in 0..1 {
            let mut sum = 0;
            for k in (x[i]..x[i + 1]).step_by(2) {
                sum += k as i64;
            }
            for k in (low..low + 9).rev() {
                sum = sum * 3 + k as i64;
            }
            sums[1] = sum;
        }
    }
}

#[on_all_backends]
fn loops_count_in_narrow_integers(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (x, out, sums) = (Array::of(&[-300_i16, 400]), Array::zeros([256]), Array::zeros([2]));
    for (from, to, low) in [(3, 250, -128), (0, 255, -5), (9, 9, 99), (7, 3, 127 - 9)] {
        differential!(&on.program, loops[from, to, low][x][out, sums]);
    }
    Ok(())
}
