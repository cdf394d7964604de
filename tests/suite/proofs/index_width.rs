//! Index arithmetic has 32 bits only in launches in which every value fits, so the same kernel gives the result of
//! 64-bit arithmetic for arguments on both sides of the limit.

use quadrants::{self as qd, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

/// Values around the limits of `u32` and `i32`.
const NUMBERS: [u64; 14] = [
    0,
    1,
    63,
    (1 << 31) - 65,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 66,
    (1 << 32) - 64,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 7,
    1 << 33,
    (1 << 40) + 12_345,
    u64::MAX / 3,
];

const N: usize = 64;

/// One kernel per way to compute an index from the iteration `i`, the length `n` and a number `k`.
macro_rules! indices {
    ($($name:ident: |$i:ident, $n:ident, $k:ident| $index:expr;)*) => {
        $(
            mod $name {
                use super::*;

                #[qd::kernel]
                pub(super) fn device(
                    $k: u64,
                    times: u32,
                    x: &Tensor<u32, 1>,
                    out: &mut Tensor<u32, 1>,
                ) {
                    let $n = x.len();
                    for $i in 0..out.len() {
                        let at = $index;
                        let mut sum = 0;
                        // With a loop, a thread executes one iteration at a time. Others keep 64-bit indices.
                        for _ in 0..times {
                            sum += x[at];
                        }
                        out[$i] = sum;
                    }
                }

                #[allow(clippy::all, clippy::pedantic)]
                pub(super) fn host($i: usize, $n: usize, $k: u64) -> usize {
                    $index
                }
            }
        )*

        #[on_all_backends]
        fn indices_are_those_of_64_bit_arithmetic(backend: TestBackend) -> Result<()> {
            let Some(on) = backend.open() else { return Ok(()) };
            let values: Vec<u32> = (0..N as u32).map(|i| i * 7919 % 1013).collect();
            let x = on.program.tensor_from(&values, [N])?;
            $(
                for k in NUMBERS {
                    let mut out = on.program.zeros::<u32, 1>([N])?;
                    $name::device(k, 3, &x, &mut out).launch()?;
                    let expected = (0..N).map(|i| 3 * values[$name::host(i, N, k)]);
                    let expected: Vec<u32> = expected.collect();
                    assert_eq!(out.to_vec()?, expected, "{}, {k}", stringify!($name));
                }
            )*
            Ok(())
        }
    };
}

indices! {
    shifted: |i, n, k| (i + k as usize) % n;
    scaled: |i, n, k| (i * (k as usize % 1_000_003)) % n;
    product: |i, n, k| (i * (k as usize >> 8)) % n;
    limited: |i, n, k| (i + k as usize).min(n - 1);
    saturated: |i, n, k| (i + n).saturating_sub(k as usize).min(n - 1);
    from_the_end: |i, n, k| n - 1 - (i + k as usize) / (k as usize + 1) % n;
    quotient: |i, n, k| (k as usize + i) / (k as usize + 1) % n;
    selected: |i, n, k| if i as u64 + k > 70 { (i + 1) % n } else { i };
    equal: |i, n, k| if i as u64 + (1 << 32) == k + 3 { 0 } else { i.min(n - 1) };
    high: |i, n, k| (((k + i as u64) >> 16) & 63).min(n as u64 - 1) as usize;
    low: |i, n, k| ((k + i as u64) & 63).min(n as u64 - 1) as usize;
    left: |i, n, k| (((i as u64) << (k % 60)) % n as u64) as usize;
    signed: |i, n, k| (i as i64 - (k >> 1) as i64).clamp(0, n as i64 - 1) as usize;
    wrapped: |i, n, k| (i as i64 - (k >> 1) as i64).rem_euclid(n as i64) as usize;
    absolute: |i, n, k| (i as i64 - (k >> 2) as i64).abs().min(n as i64 - 1) as usize;
    negated: |i, n, k| (-(i as i64) + (k >> 2) as i64).max(0).min(n as i64 - 1) as usize;
    small: |i, n, k| (i as i32 - (k % 100) as i32).clamp(0, n as i32 - 1) as usize;
    hashed: |i, n, k| ((i as u64 + k).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % n;
    mixed_hash: |i, n, k| ((i as u64 ^ 0xdead_beef_cafe).wrapping_add(k) % n as u64) as usize;
    inverted: |i, n, k| ((!(i as u64) ^ k) % n as u64) as usize;
    bits: |i, n, k| ((i as u64 ^ k) % n as u64) as usize;
    united: |i, n, k| ((i as u64 | k) % n as u64) as usize;
}

/// Sums over the values from `k` on: the bounds of the inner loop and its variable may have more than 32 bits, and also
/// what is computed from the variable besides indices.
#[qd::kernel]
fn sums(k: u64, x: &Tensor<u32, 1>, out: &mut Tensor<u64, 1>) {
    let n = x.len();
    for i in 0..out.len() {
        let mut sum = 0;
        for at in k as usize..k as usize + 5 {
            let from = (at + i) % n;
            sum = sum * 3 + x[from] as u64 + (at as u64) * 5;
            if at as u64 > u32::MAX as u64 {
                sum += 1;
            }
        }
        out[i] = sum;
    }
}

#[on_all_backends]
fn inner_loops_run_over_64_bit_numbers(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<u32> = (0..N as u32).map(|i| i * 7919 % 1013).collect();
    let x = on.program.tensor_from(&values, [N])?;
    for k in NUMBERS.into_iter().filter(|k| *k <= 1 << 41) {
        let mut out = on.program.zeros::<u64, 1>([N])?;
        sums(k, &x, &mut out).launch()?;
        let expected: Vec<u64> = (0..N as u64)
            .map(|i| {
                (k..k + 5).fold(0, |sum, at| {
                    let x = u64::from(values[((at + i) % N as u64) as usize]);
                    sum * 3 + x + at * 5 + u64::from(at > u64::from(u32::MAX))
                })
            })
            .collect();
        assert_eq!(out.to_vec()?, expected, "{k}");
    }
    Ok(())
}

/// Triangles of rows whose lengths are selected: compilers can move the selection out of the loop over the rows, so
/// that the length of a row is a sum of a 32-bit index.
#[qd::kernel]
fn triangles(upper: bool, times: u32, x: &Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
    for i in 0..out.shape()[0] {
        let length = if upper { out.shape()[0] - i } else { i + 1 };
        for j in 0..length {
            out[[i, j]] = x[(i + j) % x.len()];
        }
        for j in 0..=i {
            for _ in 0..times {
                out[[i, j]] += x[i * j % x.len()];
            }
        }
        for j in 0..if upper { i } else { length - 1 } {
            out[[i, j]] += out[[i, j]] / 2 + x[(i + 2 * j) % x.len()];
        }
        let few = times as usize % 2;
        let more = few + i;
        for j in 0..more + few {
            out[[i, j]] += x[(j + 3) % x.len()] / 3;
        }
    }
}

#[on_all_backends]
fn lengths_of_rows_are_selected(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<u32> = (0..N as u32).map(|i| i * 7919 % 1013).collect();
    let x = on.program.tensor_from(&values, [N])?;
    const ROWS: usize = 21;
    const COLUMNS: usize = ROWS + 2;
    const TIMES: u32 = 3;
    for upper in [false, true] {
        let mut out = on.program.zeros::<u32, 2>([ROWS, COLUMNS])?;
        triangles(upper, TIMES, &x, &mut out).launch()?;
        let at = |(i, j): (usize, usize)| {
            let is_written = if upper { i + j < ROWS } else { j <= i };
            let mut value = if is_written { values[(i + j) % N] } else { 0 };
            if j <= i {
                value += TIMES * values[i * j % N];
            }
            if j < i {
                value += value / 2 + values[(i + 2 * j) % N];
            }
            if j < i + 2 * (TIMES as usize % 2) {
                value += values[(j + 3) % N] / 3;
            }
            value
        };
        let expected: Vec<u32> =
            (0..ROWS * COLUMNS).map(|k| at((k / COLUMNS, k % COLUMNS))).collect();
        assert_eq!(out.to_vec()?, expected, "{upper}");
    }
    Ok(())
}

/// The same value inside a branch, where it fits, and outside of it, where it does not.
#[qd::kernel]
fn guarded(times: u32, x: &Tensor<u32, 1>, out: &mut Tensor<f64, 1>, last: &mut Tensor<u64, 1>) {
    for i in 0..out.len() {
        let mut found = 0;
        if i > 0 {
            for _ in 0..times {
                found = x[(i - 1) % x.len()];
            }
        }
        out[i] = i.wrapping_sub(1) as f64 + found as f64;
        last[i] = i.wrapping_sub(1) as u64;
    }
}

#[on_all_backends]
fn a_value_that_fits_only_in_a_branch_keeps_64_bits_elsewhere(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<u32> = (0..N as u32).collect();
    let x = on.program.tensor_from(&values, [N])?;
    let (mut out, mut last) = (on.program.zeros([N])?, on.program.zeros([N])?);
    let explanation = guarded(3, &x, &mut out, &mut last).explain(&on.program)?.to_string();
    assert_eq!(explanation.contains("32-bit indices"), backend != TestBackend::Cpu);
    guarded(3, &x, &mut out, &mut last).launch()?;
    let (out, last) = (out.to_vec()?, last.to_vec()?);
    assert_eq!((out[0], last[0]), (u64::MAX as f64, u64::MAX));
    assert_eq!((out[5], last[5]), (8.0, 4));
    Ok(())
}

#[on_gpu_backends]
fn the_launch_decides_the_width_of_indices(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (x, mut out) = (on.program.zeros([N])?, on.program.zeros([N])?);
    let mut has_32_bits = |k: u64| -> Result<[bool; 2]> {
        let shifted = shifted::device(k, 3, &x, &mut out).explain(&on.program)?.to_string();
        let hashed = hashed::device(k, 3, &x, &mut out).explain(&on.program)?.to_string();
        Ok([shifted, hashed].map(|text| text.contains("32-bit indices")))
    };
    assert_eq!(has_32_bits(5)?, [true, true]);
    assert_eq!(has_32_bits(1 << 33)?, [false, false], "the argument does not fit");
    Ok(())
}
