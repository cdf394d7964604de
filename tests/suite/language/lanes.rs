//! Bodies with inner loops, which the CPU runs in strips of iterations: for every number of iterations around
//! the strip length, the same bits as one iteration at a time.

use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends,
};

use super::{Array, Same, referee, source};

/// Around no strip, one, and some of each length.
const COUNTS: [usize; 15] = [0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 95, 129, 200, 303];

source! { shared;
    fn run(rounds: i32, a: f32, x: &Tensor<f32, 1>, y: &Tensor<f32, 1>, out: &mut Tensor<f32, 2>) {
        for i in 0..x.len() {
            let xi = x[i];
            let mut sum = 0.0f32;
            let mut least = xi;
            let n = y.len();
            for j in 0..n {
                let d = y[j] - xi;
                sum += d / (d * d + a).sqrt();
                if d < least {
                    least = d;
                } else if d > 3.0 {
                    least += 0.125;
                }
            }
            // Shadows what the loop above has changed.
            let sum = sum * 2.0;
            let mut chain = sum;
            for _ in 0..rounds {
                chain = chain * a + 0.25;
            }
            let before = chain;
            for _ in 1..=rounds.min(3) {
                chain -= before * 0.5;
            }
            out[[i, 0]] = sum;
            out[[i, 1]] = least;
            out[[i, 2]] = chain;
            out[[i, 3]] = before;
        }
    }
}

source! { alone;
    fn run(a: f32, x: &mut Tensor<f32, 1>) {
        for i in 0..x.len() {
            let mut v = x[i];
            for _ in 0..9 {
                v = v * a + 0.5;
            }
            x[i] = v;
        }
    }
}

source! { nested;
    fn run(scale: i64, x: &Tensor<i64, 2>, out: &mut Tensor<i64, 2>, rows: &mut Tensor<i64, 2>) {
        for i in 0..x.shape()[1] {
            let mut total = 0;
            let mut odd = false;
            for r in 0..x.shape()[0] {
                let start: i64 = x[[r, i]] * scale;
                let mut part = start;
                for k in 0..3 {
                    let weight = k as i64 + 1;
                    part += weight * x[[r, i]] - total;
                    for _ in 0..2 {
                        odd = odd != (part & 1 == 1);
                    }
                }
                total = total.wrapping_mul(3).wrapping_add(part);
                rows[[r, i]] = part;
                for k in 0..r {
                    // What it wrote before.
                    total += rows[[k, i]];
                }
            }
            out[[0, i]] = total;
            out[[1, i]] = if odd { 1 } else { -1 };
        }
    }
}

source! { product;
    fn run(a: &Tensor<f64, 2>, b: &Tensor<f64, 2>, out: &mut Tensor<f64, 2>) {
        for (i, j) in qd::ndrange(out.shape()) {
            let mut sum = 0.0;
            for k in 0..a.shape()[1] {
                sum += a[[i, k]] * b[[k, j]];
            }
            out[[i, j]] = sum;
        }
    }
}

source! { divergent;
    fn run(limit: i32, x: &Tensor<f32, 1>, steps: &mut Tensor<i32, 1>, at: &mut Tensor<f32, 1>) {
        for i in 0..x.len() {
            let c = x[i];
            let mut z = 0.0f32;
            let mut count = 0;
            while count < limit && z * z < 4.0 {
                z = z * z + c;
                count += 1;
            }
            steps[i] = count;
            at[i] = z;
        }
    }
}

source! { leaving;
    fn run(x: &Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
        for i in 0..x.len() {
            let mut n = x[i];
            let mut rounds = 0u32;
            loop {
                if n <= 1 {
                    break;
                }
                rounds += 1;
                if n & 1 == 0 {
                    n = n / 2;
                    continue;
                }
                n = 3 * n + 1;
            }
            let mut left = x[i];
            // The last round would go below zero, where it is not left before.
            while left > 0 {
                left -= 1;
                if left & 3 == 3 {
                    continue;
                }
                rounds += 1000;
            }
            let mut sum = 0u32;
            for k in 0..40u32 {
                let next = sum + k;
                if next > x[i] * 4 {
                    break;
                }
                if k & 1 == 1 {
                    continue;
                }
                sum = next;
            }
            for s in 0..3u32 {
                let mut k = s;
                while k * k < n + x[i] {
                    k += 1;
                }
                sum += k;
            }
            out[[i, 0]] = rounds;
            out[[i, 1]] = sum;
            out[[i, 2]] = n + left;
        }
    }
}

source! { plain;
    fn run(x: &Tensor<i32, 1>, list: &Tensor<i32, 2>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            if x[i] < 0 {
                continue;
            }
            let mut sum = 0;
            for k in 0..x[i] {
                sum += list[[i, (k & 3) as usize]];
            }
            let mut local = [0; 3];
            for k in 0..7usize {
                local[k % 3] += sum;
            }
            out[[i, 0]] = sum;
            out[[i, 1]] = local[0] - local[2];
        }
    }
}

/// Numbers of both signs, without order.
fn numbers<T>(n: usize, of: impl Fn(i64) -> T) -> Vec<T> {
    (0..n as i64).map(|k| of((k * 7919 + 13) % 101 - 50)).collect()
}

#[on_all_backends]
fn inner_loops_with_a_uniform_trip_count_match_for_every_strip_length(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    // A GPU contracts a product and a sum.
    let tolerance = if backend == Cpu || on.world.is_some() { 0.0 } else { 1e-5 };
    for n in COUNTS {
        let x = Array::of(&numbers(n, |k| k as f32 * 0.125));
        for m in [0, 1, 7] {
            let y = Array::of(&(0..m).map(|k| k as f32).collect::<Vec<_>>());
            let out = Array::zeros([n, 4]);
            referee!(&on.program, shared [5, 0.75] [x, y] [out] within tolerance);
        }
        referee!(&on.program, alone [0.75] [] [x] within tolerance);
        let x = Array::new(&numbers(3 * n, |k| k), [3, n]);
        let (out, rows) = (Array::zeros([2, n]), Array::zeros([3, n]));
        referee!(&on.program, nested [3] [x] [out, rows]);
    }
    for (h, m, w) in [(1, 1, 1), (3, 5, 70), (2, 0, 40), (0, 4, 64), (5, 3, 31), (2, 3, 303)] {
        let of = |shape: [usize; 2]| {
            Array::new(&numbers(shape[0] * shape[1], |k| k as f64 * 0.3), shape)
        };
        let (a, b) = (of([h, m]), of([m, w]));
        let out = Array::zeros([h, w]);
        referee!(&on.program, product [] [a, b] [out] within tolerance);
    }
    Ok(())
}

#[on_all_backends]
fn inner_loops_with_varying_trip_counts_match_for_every_strip_length(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for n in COUNTS {
        let x = Array::of(&numbers(n, |k| k as f32 * 0.05));
        for limit in [0, 1, 50] {
            let (steps, at) = (Array::zeros([n]), Array::zeros([n]));
            referee!(&on.program, divergent [limit] [x] [steps, at]);
        }
        let x = Array::of(&numbers(n, |k| (k + 50) as u32 * 7 % 40));
        let out = Array::zeros([n, 3]);
        referee!(&on.program, leaving [] [x] [out]);
        let x = Array::of(&numbers(n, |k| k as i32 % 9));
        let list = Array::new(&numbers(4 * n, |k| k as i32), [n, 4]);
        let out = Array::zeros([n, 2]);
        referee!(&on.program, plain [] [x, list] [out]);
    }
    Ok(())
}
