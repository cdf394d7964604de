//! Parallel loops that combine into locals give what the same loop gives in plain Rust.

use quadrants::{
    self as qd, Complex, Error, KernelErrorCause, KernelValue, Matrix, Tensor, Vector,
};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

// Exact in any order.
source! { sums;
    fn run(x: &Tensor<i32, 1>, ints: &mut Tensor<i64, 1>, floats: &mut Tensor<f64, 1>) {
        let mut sum = 5;
        let mut wide = 0;
        let mut halves = 0.25;
        let mut single = 1.0f32;
        let mut count: u64 = 0;
        for i in 0..x.len() {
            sum += x[i];
            wide = wide - x[i] as i64 * 10_000_000_000;
            halves -= x[i] as f64 * 0.5;
            single = x[i] as f32 + single;
            match x[i] % 4 {
                0 => count += 1,
                1 => {
                    count += 2;
                    continue;
                }
                _ => {}
            }
            for k in 0..3 {
                if k as i32 != x[i] { count += k }
            }
        }
        ints[0] = sum as i64;
        ints[1] = wide;
        ints[2] = count as i64;
        floats[0] = halves;
        floats[1] = single as f64;
    }
}

source! { extrema;
    fn run(x: &Tensor<i32, 1>, ints: &mut Tensor<i64, 1>, floats: &mut Tensor<f32, 1>) {
        let mut least = i32::MAX;
        let mut most = i64::MIN;
        let mut low = f32::INFINITY;
        let mut high = -1000.0;
        let mut limited = 3;
        for i in 0..x.len() {
            least = least.min(x[i]);
            most = (x[i] as i64 * 10_000_000_000).max(most);
            let value = x[i] as f32 / 8.0;
            if value < low { low = value; }
            if high < value {
                high = value;
            }
            if i % 2 == 0 {
                if x[i] <= limited { limited = x[i] }
            }
        }
        ints[0] = least as i64;
        ints[1] = most;
        ints[2] = limited as i64;
        floats[0] = low;
        floats[1] = high;
    }
}

#[derive(Clone, Copy, KernelValue)]
struct Weighed {
    sum: f32,
    count: i32,
}

// Locals that are called like methods, functions and fields.
source! { names_of_members;
    fn run(x: &Tensor<i32, 1>, ints: &mut Tensor<i64, 1>, floats: &mut Tensor<f32, 1>) {
        let mut min = i32::MAX;
        let mut max = f32::NEG_INFINITY;
        let mut sum = 0.0;
        let mut count = 0;
        for i in 0..x.len() {
            min = min.min(x[i]);
            max = f32::max(x[i] as f32, 0.5).max(max);
            let weighed = Weighed { sum: x[i] as f32, count: i as i32 };
            sum += weighed.sum;
            for _ in 0..weighed.count % 3 {
                count += weighed.count;
            }
        }
        ints[0] = min as i64;
        ints[1] = count as i64;
        floats[0] = max;
        floats[1] = sum;
    }
}

source! { bits;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i64, 1>) {
        let mut any = false;
        let mut all = true;
        let mut odd = false;
        let mut ones = -1i64;
        let mut set = 0u32;
        let mut parity = 7u64;
        for i in 0..x.len() {
            any = any || x[i] == 11;
            all = all && x[i] < 1000;
            odd ^= x[i] % 2 == 1;
            ones &= x[i] as i64 | 0x0f0f;
            set = set | 1 << (x[i] & 31);
            parity ^= x[i] as u64;
        }
        out[0] = any as i64 + all as i64 * 2 + odd as i64 * 4;
        out[1] = ones;
        out[2] = set as i64;
        out[3] = parity as i64;
    }
}

source! { narrow;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 1>) {
        let mut sum = 200u8;
        let mut least = 100i8;
        let mut most = 0u16;
        let mut flags = 0u8;
        for i in 0..x.len() {
            if x[i] == 11 {
                sum = sum - 3;
            }
            least = least.min(x[i] as i8);
            most = most.max((x[i] & 0x7fff) as u16);
            flags |= x[i] as u8;
        }
        out[0] = sum as i32;
        out[1] = least as i32;
        out[2] = most as i32;
        out[3] = flags as i32;
    }
}

source! { spaces;
    fn run(x: &Tensor<i32, 2>, out: &mut Tensor<i32, 1>) {
        let mut sum = 0;
        for (i, j) in qd::ndrange(x.shape()) {
            sum += x[[i, j]] * (i + 2 * j) as i32;
        }
        let first = sum;
        sum = 0;
        let mut most = 0;
        for i in (0..x.shape()[0]).step_by(3) {
            for j in 0..x.shape()[1] {
                sum += x[[i, j]];
            }
            most = most.max(i);
        }
        // The sum of one loop is an input of the next one.
        for i in 0..out.len() {
            out[i] = first + sum * i as i32 + most as i32;
        }
    }
}

source! { selections;
    fn run(x: &Tensor<i32, 1>, y: &Tensor<f32, 1>, out: &mut Tensor<i64, 1>) {
        let mut best = 1_000_000;
        let mut at = 0;
        for i in 0..x.len() {
            if x[i] < best {
                best = x[i];
                at = i;
            }
        }
        out[0] = best as i64;
        out[1] = at as i64;
        let mut most = f32::NEG_INFINITY;
        let mut last = -1;
        let mut other = 0.0;
        for i in 1..x.len() - 1 {
            let value = y[i] * 0.5;
            let next = y[i + 1];
            if value >= most {
                most = value;
                last = i as i64;
                other = next;
            }
        }
        out[2] = (most * 8.0) as i64;
        out[3] = last;
        out[4] = (other * 8.0) as i64;
        // Nothing is found.
        let mut none = -1_000_000;
        let mut nowhere = 77;
        for i in 0..x.len() {
            if x[i] < none { none = x[i]; nowhere = i; }
        }
        out[5] = none as i64;
        out[6] = nowhere as i64;
    }
}

source! { parts;
    fn run(x: &Tensor<f64, 1>, out: &mut Tensor<f64, 1>) {
        let mut sum = Vector([1.0, 2.0, 3.0]);
        let mut low = Vector([100.0, 0.0]);
        let mut matrix = Matrix([[0.0, 1.0], [2.0, 3.0]]);
        for i in 0..x.len() {
            sum += Vector([x[i], 2.0, -x[i]]);
            low = low.min(Vector([x[i], x[i] * 3.0]));
            matrix -= Matrix([[x[i], 0.0], [1.0, x[i]]]);
        }
        for k in 0..3 {
            out[k] = sum[k];
        }
        out[3] = low[0];
        out[4] = low[1];
        out[5] = matrix[[0, 0]] + matrix[[0, 1]] * 100.0 + matrix[[1, 0]] * 0.5;
        out[6] = matrix[[1, 1]];
    }
}

// Other ways to write the same.
source! { spellings;
    fn run(x: &Tensor<i32, 1>, ints: &mut Tensor<i64, 1>, floats: &mut Tensor<f32, 1>) {
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        let [mut chain, mut set] = [7i64, 0];
        let mut difference: i32 = 1;
        let mut least = f32::INFINITY;
        let mut most = 0.0;
        let mut nearest = 9.0;
        let mut farthest = -3;
        let (mut any, mut all, mut rare) = (false, true, false);
        for i in 0..x.len() {
            low = i32::min(low, x[i]);
            high = i32::max(x[i], i32::max(high, x[i] - 1));
            chain = chain + x[i] as i64 - 3 + i as i64;
            difference = x[i] + (difference - i as i32) - 2;
            set = set | 1 << (x[i] & 31) as i64 | 4;
            least = (x[i] as f32).min(least).min(x[i] as f32 * 2.0);
            most = f32::max(most, x[i] as f32 / 4.0);
            nearest = if nearest > x[i] as f32 { x[i] as f32 } else { nearest };
            farthest = if x[i] >= farthest { x[i] } else { farthest };
            if x[i] > 400 { any = true; }
            match x[i] {
                0 => all = false,
                1 => rare = true,
                _ => {}
            }
        }
        ints[0] = low as i64 * 1000 + high as i64;
        ints[1] = chain;
        ints[2] = difference as i64;
        ints[3] = set;
        ints[4] = farthest as i64;
        ints[5] = any as i64 + all as i64 * 2 + rare as i64 * 4;
        floats[0] = least;
        floats[1] = most;
        floats[2] = nearest;
    }
}

#[derive(Clone, Copy, KernelValue)]
struct Found {
    value: i32,
    at: usize,
    more: (i64, [i32; 2]),
}

// Selections by one assignment, and into parts of locals.
source! { selections_of_parts;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i64, 1>) {
        let (mut best, mut at) = (i32::MAX, 0);
        for i in 0..x.len() {
            if x[i] < best {
                (best, at) = (x[i], i);
            }
        }
        out[0] = best as i64 * 100_000 + at as i64;
        let mut found = Found { value: i32::MIN, at: 0, more: (-1, [5, 6]) };
        for i in 0..x.len() {
            let value = x[i] / 4;
            if value >= found.value {
                found.value = value;
                found.at = i;
            }
        }
        out[1] = found.value as i64 * 100_000 + found.at as i64;
        out[2] = found.more.0 + (found.more.1[0] * 10 + found.more.1[1]) as i64;
        let mut place = (7, 1, 2);
        let mut parity = 3;
        for i in 0..x.len() {
            let value = x[i] % 50;
            if place.0 > value {
                (found.more.1[1], found.more.0, (place.0)) = (x[i] - 1, i as i64, value);
                (place.2, parity) = (i, x[i] & 1);
            }
        }
        out[3] = (place.0 * 10 + place.1) as i64 * 100_000 + place.2 as i64;
        out[4] = found.more.0 * 10 + parity as i64;
        out[5] = (found.more.1[0] * 1000 + found.more.1[1]) as i64;
        let mut last = [0, -3];
        for (i, j) in qd::ndrange([x.len() / 2, 2]) {
            if x[2 * i + j] > last[0] {
                (last[0], last[1]) = (x[2 * i + j], (2 * i + j) as i32);
            }
        }
        out[6] = last[0] as i64 * 100_000 + last[1] as i64;
    }
}

#[derive(Clone, Copy, KernelValue)]
struct Cluster {
    mass: i64,
    center: [f64; 2],
    bounds: Bounds,
}

#[derive(Clone, Copy, KernelValue)]
struct Bounds {
    low: i32,
    high: i32,
}

source! { components;
    fn run(x: &Tensor<i32, 1>, ints: &mut Tensor<i64, 1>, floats: &mut Tensor<f64, 1>) {
        let bounds = Bounds { low: i32::MAX, high: i32::MIN };
        let mut cluster = Cluster { mass: 5, center: [0.5, -1.0], bounds };
        let mut counts = [0; 3];
        let mut pair = (0u32, true);
        let mut rows = [[1, 2], [3, 4]];
        let mut vector = Vector([0.0, 8.0, 0.25]);
        let mut matrix = Matrix([[0.0, 1.0], [2.0, 3.0]]);
        for i in 0..x.len() {
            cluster.mass += x[i] as i64;
            cluster.center[0] += x[i] as f64;
            cluster.center[1] -= x[i] as f64 * 0.5;
            cluster.bounds.low = cluster.bounds.low.min(x[i]);
            if x[i] > cluster.bounds.high { cluster.bounds.high = x[i]; }
            if x[i] % 3 == 0 { counts[0] += 1; } else { counts[0x2] += 2; }
            pair.0 |= x[i] as u32;
            pair.1 = pair.1 && x[i] < 505;
            rows[1][0] += i;
            rows[0][1] = rows[0][1].max(i);
            vector[2] += 0.5;
            matrix[[1, 0]] -= x[i] as f64;
            matrix[[0, 1]] += 2.0;
        }
        ints[0] = cluster.mass;
        ints[1] = cluster.bounds.low as i64 * 1000 + cluster.bounds.high as i64;
        ints[2] = counts[0] * 100_000 + counts[1] * 7 + counts[2];
        ints[3] = pair.0 as i64 * 2 + pair.1 as i64;
        ints[4] = rows[0][0] as i64 + rows[0][1] as i64 * 3 + rows[1][1] as i64;
        ints[5] = rows[1][0] as i64;
        floats[0] = cluster.center[0];
        floats[1] = cluster.center[1];
        floats[2] = vector[0] + vector[1] + vector[2] * 0.5;
        floats[3] = matrix[[0, 0]] + matrix[[0, 1]] * 0.25 + matrix[[1, 1]];
        floats[4] = matrix[[1, 0]];
    }
}

// The first or last of equal elements, in row-major order.
source! { positions;
    fn run(depth: i32, x: &Tensor<i32, 2>, out: &mut Tensor<i64, 1>) {
        let mut most = i32::MIN;
        let (mut row, mut column) = (0, 0);
        for (i, j) in qd::ndrange(x.shape()) {
            let value = x[[i, j]] / 8;
            if value > most {
                row = i;
                column = j;
                most = value;
            }
        }
        out[0] = most as i64;
        out[1] = (row * 1000 + column) as i64;
        let mut least = 3;
        let mut layer = -1;
        let mut near = 0;
        let mut far = 0;
        for (k, i, j) in qd::ndrange((-2..depth, 1..9, 0..5)) {
            let value = x[[i as usize, j as usize]] / 16 + k % 2;
            if least >= value {
                least = value;
                layer = k;
                near = i;
                far = j;
            }
        }
        out[2] = least as i64;
        out[3] = ((layer * 10 + near) * 10 + far) as i64;
        let [h, w] = x.shape();
        let mut odd = 0;
        let mut place = 0;
        for (i, j) in qd::ndrange([h - 1, w]) {
            if x[[i + 1, j]] % 7 > odd { odd = x[[i + 1, j]] % 7; place = i * w + j; }
        }
        out[4] = place as i64;
        out[5] = odd as i64;
    }
}

/// Each block of a region has its own sums.
#[qd::kernel]
fn in_blocks(
    x: &Tensor<f32, 1>,
    y: &Tensor<i32, 1>,
    a: &mut Tensor<f32, 1>,
    b: &mut Tensor<i32, 1>,
) {
    qd::stream_parallel(|| {
        let mut sum = 0.0;
        for i in 0..x.len() {
            sum += x[i];
        }
        let mean = sum / x.len() as f32;
        for i in 0..a.len() {
            a[i] = mean;
        }
    });
    qd::stream_parallel(|| {
        let mut sum = 0;
        for i in 0..y.len() {
            sum += y[i];
        }
        b[0] = sum;
    });
}

#[qd::kernel]
fn dot(x: &Tensor<f32, 1>, y: &Tensor<f32, 1>) -> f32 {
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += x[i] * y[i];
    }
    sum
}

#[qd::kernel]
fn total(z: &Tensor<Complex<f64>, 1>) -> Complex<f64> {
    let mut sum = Complex { re: 0.0, im: 1.0 };
    for i in 0..z.len() {
        sum += z[i];
    }
    sum
}

/// Of any number type.
#[qd::kernel]
fn span<T: qd::Number>(x: &Tensor<T, 1>) -> (T, T, T) {
    let mut sum = T::ZERO;
    let mut least = T::MAX;
    let mut most = T::MIN;
    for i in 0..x.len() {
        sum += x[i];
        if x[i] < least {
            least = x[i];
        }
        if x[i] > most {
            most = x[i];
        }
    }
    (sum, least, most)
}

#[qd::kernel]
fn parity<T: qd::Int>(x: &Tensor<T, 1>) -> T {
    let mut bits = T::ZERO;
    for i in 0..x.len() {
        bits ^= x[i];
    }
    bits
}

/// The index comes from memory, so that it is checked.
#[qd::kernel]
fn gathered(x: &Tensor<f32, 1>, at: &Tensor<u32, 1>) -> f32 {
    let mut sum = 0.0;
    for i in 0..at.len() {
        sum += x[at[i] as usize];
    }
    sum
}

#[qd::kernel]
fn least(x: &Tensor<f32, 1>, from: f32) -> (f32, f32, f32) {
    let mut by_method = from;
    let mut r#yield = from;
    let mut found = from;
    for i in 0..x.len() {
        by_method = by_method.min(x[i]);
        if x[i] < r#yield {
            r#yield = x[i];
        }
    }
    let mut at = 0;
    for i in 0..x.len() {
        if x[i] < found {
            found = x[i];
            at = i;
        }
    }
    (by_method, r#yield, found + at as f32)
}

#[on_all_backends]
fn loops_combine_into_locals(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for n in [2, 3, 64, 1000, 20_011] {
        let x: Vec<i32> = (0..n).map(|i| (i * 7919 + 3) % 1013 - 500).collect();
        let y: Vec<f32> = x.iter().map(|x| (*x / 3) as f32).collect();
        let halves: Vec<f64> = x.iter().map(|x| f64::from(*x) * 0.5).collect();
        let (x, y, halves) = (Array::of(&x), Array::of(&y), Array::of(&halves));
        let ints = Array::<i64, 1>::zeros([3]);
        let doubles = Array::<f64, 1>::zeros([2]);
        let floats = Array::<f32, 1>::zeros([2]);
        differential!(&on.program, sums[][x][ints, doubles]);
        differential!(&on.program, extrema[][x][ints, floats]);
        differential!(&on.program, names_of_members[][x][ints, floats]);
        let (four, seven) = (Array::<i64, 1>::zeros([4]), Array::<i64, 1>::zeros([7]));
        let (small, parts_of) = (Array::<i32, 1>::zeros([4]), Array::<f64, 1>::zeros([7]));
        differential!(&on.program, bits[][x][four]);
        differential!(&on.program, narrow[][x][small]);
        differential!(&on.program, selections[][x, y][seven]);
        differential!(&on.program, selections_of_parts[][x][seven]);
        differential!(&on.program, parts[][halves][parts_of]);
        let (six, more) = (Array::<i64, 1>::zeros([6]), Array::<f32, 1>::zeros([3]));
        differential!(&on.program, spellings[][x][six, more]);
        let (ints, five) = (Array::<i64, 1>::zeros([6]), Array::<f64, 1>::zeros([5]));
        differential!(&on.program, components[][x][ints, five]);
    }
    let grid: Vec<i32> = (0..31 * 17).map(|i| i * 37 % 101 - 50).collect();
    let grid = Array::new(&grid, [31, 17]);
    let out = Array::<i32, 1>::zeros([5]);
    differential!(&on.program, spaces[][grid][out]);
    for depth in [3, -2, 1] {
        let six = Array::<i64, 1>::zeros([6]);
        differential!(&on.program, positions[depth][grid][six]);
    }
    Ok(())
}

#[on_all_backends]
fn sums_are_results_and_inputs(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let values: Vec<f32> = (0..5000).map(|i| (i % 17) as f32).collect();
    let x = prog.tensor_from(&values, [5000])?;
    let expected: f32 = values.iter().map(|x| x * x).sum();
    for _ in 0..3 {
        assert_eq!(dot(&x, &x).launch()?, expected);
    }
    assert_eq!(span(&x).launch()?, (values.iter().sum(), 0.0, 16.0));
    let bytes = prog.tensor_from(&[3_u8, 200, 9, 100], [4])?;
    assert_eq!(span(&bytes).launch()?, (56, 3, 200));
    assert_eq!(parity(&bytes).launch()?, 3 ^ 200 ^ 9 ^ 100);
    let z: Vec<_> = (0..300).map(|i| Complex { re: i as f64, im: -1.0 }).collect();
    let z = prog.tensor_from(&z, [300])?;
    assert_eq!(total(&z).launch()?, Complex { re: 44_850.0, im: -299.0 });

    let y = prog.tensor_from(&(0..700).collect::<Vec<_>>(), [700])?;
    let (mut a, mut b) = (prog.zeros([40])?, prog.zeros([1])?);
    for _ in 0..4 {
        in_blocks(&x, &y, &mut a, &mut b).launch()?;
    }
    let mean = values.iter().sum::<f32>() / 5000.0;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![mean; 40], vec![244_650]));
    Ok(())
}

#[on_all_backends]
fn an_empty_loop_keeps_the_local(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[0.0_f32; 0], [0])?;
    assert_eq!(dot(&x, &x).launch()?.to_bits(), 0.0_f32.to_bits());
    assert_eq!(least(&x, 3.0).launch()?, (3.0, 3.0, 3.0));
    Ok(())
}

#[on_all_backends]
fn minima_treat_nan_as_the_author_wrote(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut values = vec![7.0_f32; 3000];
    values[100] = f32::NAN;
    values[2000] = -4.0;
    values[2500] = -4.0;
    let x = on.program.tensor_from(&values, [3000])?;
    assert_eq!(least(&x, 9.0).launch()?, (-4.0, -4.0, 1996.0));
    let (by_method, by_branch, found) = least(&x, f32::NAN).launch()?;
    assert!(by_method == -4.0 && by_branch.is_nan() && found.is_nan());
    Ok(())
}

#[on_all_backends]
fn a_sum_over_checked_indices_reports_the_iteration(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let x = prog.tensor_from(&[1.0, 2.0, 4.0], [3])?;
    let good = prog.tensor_from(&[2, 0, 2, 1], [4])?;
    assert_eq!(gathered(&x, &good).launch()?, 11.0);
    let bad = prog.tensor_from(&[2, 0, 5, 1], [4])?;
    let error = gathered(&x, &bad).launch().unwrap_err();
    let Error::Kernel(failure) = &error else { panic!("{error}") };
    assert!(matches!(failure.cause, KernelErrorCause::IndexOutOfRange { .. }), "{error}");
    Ok(())
}
