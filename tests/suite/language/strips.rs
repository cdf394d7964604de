//! Bodies with inner loops, which the CPU runs in strips of iterations: for every number of iterations around
//! the strip length, the same bits as one iteration at a time.

use quadrants::{self as qd, Error, KernelErrorCause, Tensor};
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends,
};

use super::{Array, Same, differential, source};

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

// Exact sums of floats, so that the order of additions does not matter.
source! { reduced;
    fn run(m: usize, x: &Tensor<f64, 1>, out: &mut Tensor<f64, 1>) -> (f64, i64, f64) {
        let mut total = 0.0f64;
        let mut count = 0i64;
        let mut least = 1e9f64;
        for i in 0..x.len() {
            let mut sum = 0.0;
            for k in 0..m {
                let part = x[i] * k as f64;
                sum += part;
                if k == 2 {
                    count += 1;
                }
            }
            out[i] = sum;
            total += sum;
            least = least.min(sum);
        }
        let mut single = 0.0;
        for i in 1..x.len() {
            let mut sum = 1.0;
            for k in 0..m {
                sum += (k as f64 + x[i]).abs();
            }
            single += sum;
        }
        (total + single, count, least)
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

source! { triangles;
    fn run(most: f32, b: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>, rows: &mut Tensor<f32, 2>) {
        let [n, m] = b.shape();
        for (i, j) in qd::ndrange([m, m]) {
            if i == j {
                out[[i, j]] = -1.0;
            } else if i < j {
                let mut sum = 0.0;
                for k in 0..n {
                    sum += b[[k, i]] * b[[k, j]];
                }
                out[[i, j]] = sum;
                out[[j, i]] = sum + 1.0;
            }
        }
        for (i, j) in qd::ndrange([n, n]) {
            let first = b[[j, 0]];
            if first < most || i % 3 == 0 {
                let (mut sum, scale) = (0.5, first);
                let mut least = f32::MAX;
                for k in 0..m {
                    sum += b[[i, k]] * b[[j, k]] * scale;
                    least = least.min(b[[j, m - 1 - k]]);
                }
                rows[[i, j]] = sum + least;
            } else if j % 16 < 13 {
                rows[[i, j]] = first;
            }
        }
    }
}

source! { row_sums;
    fn run(
        a: f64,
        b: &Tensor<f64, 2>,
        x: &Tensor<f64, 1>,
        y: &mut Tensor<f64, 1>,
        tails: &mut Tensor<f64, 1>,
    ) {
        let m = b.shape()[1];
        for i in 0..y.len() {
            let mut sum = 0.0;
            let mut product = 1.0;
            for k in 0..m {
                sum += b[[i, k]] * x[k];
                if b[[i, k]] > a {
                    product *= 0.5 - b[[i, k]];
                }
            }
            y[i] = sum - product;
        }
        for i in 0..tails.len() {
            let mut sum = 0.0;
            let from = i / 3;
            for k in 0..m / 2 {
                sum -= x[(from + k) / 2];
                for l in 0..2 {
                    sum += b[[i, l]];
                }
            }
            tails[i] = sum;
        }
    }
}

source! { clamps;
    fn run(
        reach: usize,
        image: &Tensor<f32, 2>,
        rows: &mut Tensor<f32, 2>,
        squares: &mut Tensor<f32, 2>,
        edges: &mut Tensor<f32, 2>,
    ) {
        let [h, w] = image.shape();
        for (y, x) in qd::ndrange([h, w]) {
            let mut sum = 0.0;
            for k in 0..5 {
                sum += image[[y, (x + k).saturating_sub(reach).min(w - 1)]] * k as f32;
                let below = (y + k).min(h - 1);
                let before = x.saturating_sub(k);
                sum -= image[[below, before]] + image[[below, x]];
            }
            rows[[y, x]] = sum;
        }
        for (y, x) in qd::ndrange([h, w]) {
            let mut sum = 0.0;
            for dy in -2..=2 {
                for dx in -2..=2 {
                    let row = (y as i32 + dy).clamp(0, h as i32 - 1) as usize;
                    let column = (x as i32 + dx).clamp(0, w as i32 - 1) as usize;
                    sum += image[[row, column]];
                }
            }
            squares[[y, x]] = sum;
        }
        for (y, x) in qd::ndrange([h, w]) {
            let here = image[[y, x]];
            let right = (x + 1).min(w - 1);
            edges[[y, x]] = image[[y, right]] - image[[y, x.saturating_sub(reach)]]
                + image[[(y + 1).min(h - 1), x]].max(here)
                - if here > 0.0 { image[[y, x.max(3).min(w - 1)]] } else { 0.5 };
        }
    }
}

source! { guards;
    fn run(mask: &Tensor<f32, 2>, image: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>) {
        let [h, w] = image.shape();
        let [mask_h, mask_w] = mask.shape();
        for (y, x) in qd::ndrange([h, w]) {
            let mut sum = 0.0;
            for i in 0..mask_h {
                for j in 0..mask_w {
                    let row = y as i64 + i as i64 - 3;
                    let column = x as i64 + j as i64 - 3;
                    if row >= 0 && row < h as i64 && (column >= 0 && column < w as i64) {
                        sum += mask[[i, j]] * image[[row as usize, column as usize]];
                    } else if column < -1 {
                        sum += 0.125;
                    }
                    if 7 <= x && x + j < w {
                        sum -= image[[y, x + j]] + image[[y, x - 7]];
                    }
                }
            }
            out[[y, x]] = sum;
        }
    }
}

source! { updates;
    fn run(k: usize, a: &mut Tensor<f32, 2>, b: &mut Tensor<i32, 2>, c: &mut Tensor<u8, 1>) {
        let [h, w] = a.shape();
        for (i, j) in qd::ndrange((k + 1..h, k + 1..w)) {
            a[[i, j]] -= a[[i, k]] * a[[k, j]];
        }
        for (i, j) in qd::ndrange((1..h, 0..w)) {
            let scale = b[[0, j]] + i as i32;
            b[[i, j]] = b[[i, j]].wrapping_mul(scale) ^ b[[0, j]];
        }
        for i in c.len() / 2..c.len() {
            let half = c.len() / 2;
            c[i] |= c[i - half] & 14;
        }
    }
}

source! { names;
    fn run(reach: usize, image: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>, sums: &mut Tensor<f32, 1>) {
        let [h, w] = image.shape();
        for (y, x) in qd::ndrange([h, w]) {
            let c = (x + 1).min(w - 1);
            let first = image[[y, c.max(2).min(w - 1)]];
            let c = (x + 2).min(w - 1);
            let second = image[[y, c.max(2).min(w - 1)]];
            let third = image[[y, x.saturating_sub(reach)]];
            let reach = reach + 3;
            out[[y, x]] = first * 3.0 + second - third * image[[y, x.saturating_sub(reach)]];
        }
        for (y, x) in qd::ndrange([h, w]) {
            let step = 1;
            let at = (x + step).min(w - 1);
            let (before, least) = (image[[y, at]], 2);
            out[[y, x]] -= before;
            if at > least {
                out[[y, x]] += image[[y, (x + 3).min(w - 1)]];
            }
        }
        // The second loop has a local with the name of a sum.
        for y in 0..h {
            let mut total = 0.0;
            if w > 3 {
                let mut part = 0.0;
                for x in 0..w {
                    part += image[[y, x]];
                }
                sums[y] = part;
            }
            for x in 0..w {
                if image[[y, x]] > 0.5 {
                    let mut part = image[[y, x]];
                    part *= 2.0;
                    total += part;
                }
            }
            sums[y] -= total;
        }
    }
}

// Numbers that wrap are not successive, though their last one may be as far from the first.
source! { wraps;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        let w = x.len();
        for i in 5..w {
            let low = (i as u8).max(3);
            let kept = (i as i8).max(-100) as u8;
            let byte = i as u8;
            let right = x[(i + 1).min(w - 1)];
            out[[0, i]] = x[(low as usize).min(w - 1)];
            out[[1, i]] = x[(kept as usize).min(w - 1)];
            if byte >= 3 {
                out[[2, i]] = right;
            }
        }
        for i in 0..w {
            let before = i.wrapping_sub(3);
            let right = x[(i + 1).min(w - 1)];
            if before > 5 {
                out[[3, i]] = right;
            }
        }
        // A guarded subtraction does not overflow.
        for i in 0..w {
            let right = x[(i + 1).min(w - 1)];
            if i >= 4 && i - 4 < 30 {
                out[[3, i]] -= right;
            } else if w >= 40 && i < w - 40 {
                out[[3, i]] += right;
            }
        }
    }
}

source! { channels;
    fn run(
        image: &Tensor<u8, 3>,
        gray: &mut Tensor<u8, 2>,
        sums: &mut Tensor<f32, 2>,
        swapped: &mut Tensor<u16, 3>,
    ) {
        for (y, x) in qd::ndrange(gray.shape()) {
            let [red, green, blue] = [image[[y, x, 0]], image[[y, x, 1]], image[[y, x, 2]]];
            gray[[y, x]] = ((red as u32 * 77 + green as u32 * 150 + blue as u32 * 29) / 256) as u8;
        }
        for i in 0..sums.shape()[0] {
            for c in 0..2 {
                sums[[i, c]] = image[[0, i, c]] as f32 * 0.5 - sums[[i, 0]];
            }
        }
        for (y, x) in qd::ndrange([swapped.shape()[0], swapped.shape()[1]]) {
            swapped[[y, x, 1]] = image[[y, x, 0]] as u16;
            swapped[[y, x, 0]] = image[[y, x, 2]] as u16 + swapped.shape()[2] as u16;
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
            differential!(&on.program, shared [5, 0.75] [x, y] [out] within tolerance);
        }
        for m in [0, 1, 7] {
            let exact = Array::of(&numbers(n, |k| (k * 3 % 64) as f64 - 9.0));
            let out = Array::zeros([n]);
            differential!(&on.program, reduced[m][exact][out]);
        }
        differential!(&on.program, alone [0.75] [] [x] within tolerance);
        let x = Array::new(&numbers(3 * n, |k| k), [3, n]);
        let (out, rows) = (Array::zeros([2, n]), Array::zeros([3, n]));
        differential!(&on.program, nested [3] [x] [out, rows]);
    }
    for (h, m, w) in [(1, 1, 1), (3, 5, 70), (2, 0, 40), (0, 4, 64), (5, 3, 31), (2, 3, 303)] {
        let of = |shape: [usize; 2]| {
            Array::new(&numbers(shape[0] * shape[1], |k| k as f64 * 0.3), shape)
        };
        let (a, b) = (of([h, m]), of([m, w]));
        let out = Array::zeros([h, w]);
        differential!(&on.program, product [] [a, b] [out] within tolerance);
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
            differential!(&on.program, divergent [limit] [x] [steps, at]);
        }
        let x = Array::of(&numbers(n, |k| (k + 50) as u32 * 7 % 40));
        let out = Array::zeros([n, 3]);
        differential!(&on.program, leaving [] [x] [out]);
        let x = Array::of(&numbers(n, |k| k as i32 % 9));
        let list = Array::new(&numbers(4 * n, |k| k as i32), [n, 4]);
        let out = Array::zeros([n, 2]);
        differential!(&on.program, plain [] [x, list] [out]);
    }
    Ok(())
}

#[on_all_backends]
fn conditions_around_inner_loops_match_for_every_strip_length(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let tolerance = if backend == Cpu || on.world.is_some() { 0.0 } else { 1e-5 };
    for m in if backend == Cpu { &COUNTS[1..14] } else { &COUNTS[3..6] } {
        for n in [1, 5, 34] {
            let b = Array::new(&numbers(n * m, |k| k as f32 * 0.125), [n, *m]);
            let (out, rows) = (Array::zeros([*m, *m]), Array::zeros([n, n]));
            differential!(&on.program, triangles [1.5] [b] [out, rows] within tolerance);
        }
    }
    Ok(())
}

#[on_all_backends]
fn sums_along_rows_match_for_every_strip_length(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let tolerance = if backend == Cpu || on.world.is_some() { 0.0 } else { 1e-12 };
    for n in if backend == Cpu { &COUNTS[..] } else { &COUNTS[2..5] } {
        for m in [2, 3, 40] {
            let b = Array::new(&numbers(n * m, |k| k as f64 * 0.25), [*n, m]);
            let x = Array::of(&numbers(n + m, |k| k as f64 - 2.5));
            let (y, tails) = (Array::zeros([*n]), Array::zeros([*n]));
            differential!(&on.program, row_sums [0.5] [b, x] [y, tails] within tolerance);
        }
    }
    Ok(())
}

#[on_all_backends]
fn clamped_and_guarded_neighbours_match_for_every_strip_length(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let tolerance = if backend == Cpu || on.world.is_some() { 0.0 } else { 1e-4 };
    for w in if backend == Cpu { &COUNTS[1..] } else { &COUNTS[3..6] } {
        for h in [1, 4] {
            let image = Array::new(&numbers(h * w, |k| k as f32 * 0.125), [h, *w]);
            let mask = Array::new(&numbers(35, |k| k as f32 * 0.25), [5, 7]);
            let [rows, squares, edges, out] = [(); 4].map(|()| Array::zeros([h, *w]));
            for reach in [0, 1, 9] {
                let [rows, squares, edges] = [&rows, &squares, &edges].map(Clone::clone);
                differential!(&on.program, clamps [reach] [image] [rows, squares, edges] within tolerance);
            }
            differential!(&on.program, guards [] [mask, image] [out] within tolerance);
        }
    }
    Ok(())
}

#[on_all_backends]
fn updates_in_place_match_for_every_strip_length(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let tolerance = if backend == Cpu || on.world.is_some() { 0.0 } else { 1e-4 };
    for w in if backend == Cpu { &COUNTS[1..] } else { &COUNTS[3..6] } {
        for k in [0, w / 2] {
            let a = Array::new(&numbers(5 * w, |k| k as f32 * 0.125), [5, *w]);
            let b = Array::new(&numbers(5 * w, |k| k as i32), [5, *w]);
            let c = Array::of(&numbers(2 * w, |k| k as u8));
            differential!(&on.program, updates [k] [] [a, b, c] within tolerance);
        }
    }
    Ok(())
}

#[on_all_backends]
fn names_and_numbers_of_strips_keep_their_meaning(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let tolerance = if backend == Cpu || on.world.is_some() { 0.0 } else { 1e-4 };
    for w in if backend == Cpu { &COUNTS[1..] } else { &COUNTS[3..6] } {
        let image = Array::new(&numbers(3 * w, |k| k as f32 * 0.125), [3, *w]);
        let (out, sums) = (Array::zeros([3, *w]), Array::zeros([3]));
        for reach in [0, 1, 9] {
            let (out, sums) = (out.clone(), sums.clone());
            differential!(&on.program, names [reach] [image] [out, sums] within tolerance);
        }
        let x = Array::of(&numbers(*w, |k| k as i32));
        let out = Array::zeros([4, *w]);
        differential!(&on.program, wraps [] [x] [out]);
    }
    Ok(())
}

/// The CPU has a version for the extent that literal indices suggest.
#[on_all_backends]
fn channels_match_for_every_extent(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for w in [1, 33, 100] {
        for channels in [3, 4, 7] {
            let image = Array::new(&numbers(2 * w * channels, |k| k as u8), [2, w, channels]);
            let (gray, sums) = (Array::zeros([2, w]), Array::zeros([w, channels - 1]));
            let swapped = Array::zeros([2, w, channels - 1]);
            differential!(&on.program, channels [] [image] [gray, sums, swapped]);
        }
    }
    Ok(())
}

#[qd::kernel]
fn third_channel(image: &Tensor<f32, 2>, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        out[i] = image[[i, 2]] + image[[i, 0]];
    }
}

#[on_all_backends]
fn a_missing_channel_is_reported(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let image = on.program.tensor_from(&[1.0; 10], [5, 2])?;
    let mut out = on.program.zeros([5])?;
    let launched = third_channel(&image, &mut out).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = launched else { panic!("reported: {launched:?}") };
    assert!(matches!(error.cause, KernelErrorCause::IndexOutOfRange { .. }), "{error}");
    assert_eq!(out.to_vec()?, [1.0; 5], "a failed read gives zero");
    Ok(())
}
