//! Code that ends early: labelled blocks, `return` in closures and phases, `panic!`; and other forms that stand for
//! simpler ones: `..` and `@` in patterns, patterns as parameters, `contains`, chains of iterators over arrays,
//! collectives in expressions, bare variants of enums.

use quadrants::{self as qd, KernelErrorCause, KernelValue, Matrix, Result, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use crate::errors::kernel_error;

#[derive(KernelValue, Clone, Copy, Debug, PartialEq)]
enum Cell {
    Empty,
    Sand,
    Water,
}
use Cell::*;

#[derive(KernelValue, Clone, Copy, Debug, PartialEq)]
struct Pair {
    first: i32,
    second: i32,
}

on_host_too! {
    /// Exits under conditions, at several depths and with values.
    fn labelled(a: i32, b: i32) -> i32 {
        let found = 'find: {
            if a > 3 {
                break 'find a * 2;
            }
            let b = b + 1;
            if b == 2 {
                let a = a + b;
                if a > 2 { break 'find a; }
                break 'find -a;
            } else if b == 3 {
                break 'find 7;
            }
            a + b
        };
        let mut sum = found;
        'done: {
            if sum > 10 { break 'done; }
            sum += 100;
            if a == b { sum += 1; } else { break 'done; }
            sum += 1000;
        }
        // An exit from a loop, from a `match`, and from a value.
        let k = 'outer: {
            for k in 0..4 {
                if k == a { break 'outer k * 10; }
                if k == 2 { continue; }
                sum += k;
            }
            let c = if b > 2 { break 'outer 5 } else { b };
            match c {
                0 => break 'outer 6,
                1 => c + 1,
                _ => 'inner: { if a == 0 { break 'outer 9; } if a == 1 { break 'inner 8; } c },
            }
        };
        sum * 50 + k
    }

    /// Blocks in blocks, and a label that is never used.
    #[allow(unused_labels)]
    fn unused_labels(a: i32) -> i32 {
        let one = 'a: {
            let two = 'b: { if a > 1 { break 'b 2; } 3 };
            if two == 3 { break 'a 4; }
            two + a
        };
        'unused: { one * 2 }
    }

    fn returning_closures(a: i32, b: i32) -> i32 {
        let mut calls = 0;
        let mut sign = |x: i32| -> i32 {
            calls += 1;
            if x < 0 { return -1; }
            if x == 0 {
                return 0;
            }
            for k in 0..3 {
                if k == x { return k * 10; }
            }
            match x { 5 => return 55, _ => {} }
            1
        };
        let first = sign(a) + sign(b) * 100;
        let all = [a, b, 2].map(|v| { if v > 2 { return v - 2; } v * 3 });
        let nested = |x: i32| {
            let inner = |y: i32| { if y == x { return 1000; } y };
            if x > 3 { return inner(4); }
            inner(2) + x
        };
        let labelled = |x: i32| {
            if x == 3 { return 'a: { if b > 2 { break 'a 30; } 31 }; }
            'b: { if x < 1 { break 'b 32; } 'c: loop { break 'c 33; } }
        };
        let first = first + labelled(a) * 3;
        let mut log = 0;
        let mut note = |x: i32| { if x < 2 { return; } log += x; };
        note(a);
        note(b);
        first + calls * 7 + all[0] + all[1] * 3 + nested(a) + nested(b) + log
    }

    fn rests(a: i32, b: i32) -> i32 {
        let [p, q, ..] = [a, b, 3, 4];
        let [r, .., s] = [a, b, b, 9];
        let (t, ..) = (a, 2.5_f32, true);
        let (.., u) = (true, 2.5_f32, b);
        let (v, .., (w, ..)) = (a, 1.5_f32, true, (b, a));
        let whole @ [x, ..] = [b, 5];
        let pair @ Pair { first, .. } = Pair { first: a, second: b };
        let [y, ..] = Vector([b, a, a]).0;
        let m = match (a, b, 1.5_f32) {
            (0, ..) => 1,
            (k, 1, ..) => k * 2,
            (..) => 3,
        };
        p + q * 2 + r * 3 + s * 5 + t * 7 + u * 11 + v * 13 + w * 17 + x * 19 + whole[1] + pair.second + first + y + m
    }

    fn parameters((a, b): (i32, i32), Pair { first, .. }: Pair, [p, .., q]: [i32; 3], _: bool) -> i32 {
        a * 1000 + b * 100 + first * 10 + p - q
    }

    fn ranges(a: i32, b: i32) -> i32 {
        let mut bits = 0;
        if (1..4).contains(&a) { bits |= 1; }
        if (a..=b).contains(&2) { bits |= 2; }
        if !(..b).contains(&(a + 1)) { bits |= 4; }
        if (a + 1..).contains(&b) && (-1..=a * 2).contains(&(b - 1)) { bits |= 8; }
        if (0.5..1.5_f32).contains(&(a as f32 * 0.5)) { bits |= 16; }
        bits
    }

    fn chains(a: i32, b: i32) -> i32 {
        let (x, y) = ([a, b, 3, 9], [b, 4, a]);
        let v = Vector([7, a]);
        let mut sum = 0_i32;
        for (p, q) in x.iter().zip(y.iter()) { sum += p * q; }
        for (n, (p, &q)) in x.iter().zip(&y).enumerate() { sum += (n as i32) * p * q; }
        for (p, q) in x.iter().zip(y) { sum += *p * q; }
        for p in x.iter().rev() { sum = sum % 10_000 * 2 + p; }
        for (n, p) in x.iter().rev().enumerate() { sum += p * n as i32; }
        for (n, p) in x.iter().enumerate().rev() { sum = sum % 10_000 * 3 + *p * n as i32; }
        for p in x.into_iter() { sum += p; }
        for p in y.iter().copied().rev() { sum = 2 * (sum % 10_000) + p; }
        for p in returned(a) { sum += p; }
        for (n, (p, q)) in returned(b).into_iter().zip(x.into_iter()).rev().enumerate() {
            if n == 3 { continue; }
            sum = sum % 10_000 * 2 + p * q + n as i32;
        }
        #[allow(clippy::needless_range_loop)]
        for k in 0..2 { sum += v[k]; }
        for p in v.0.iter() { sum += p; }
        sum
    }

    fn returned(a: i32) -> [i32; 4] {
        [a, 1, 2, a * a]
    }

    fn variants(kind: i32, a: i32) -> i32 {
        let cell = match kind { 0 => Empty, 1 => Sand, _ => Water };
        let next = match (cell, a) {
            (Sand | Water, 0) => Empty,
            (Empty, n) if n > 1 => Water,
            (other, _) => other,
        };
        match next {
            Empty if a > 2 => 1,
            Empty => 2,
            Sand => 3 + a,
            Water => 5,
        }
    }

    fn without_values(a: i32, b: i32) -> i32 {
        let c;
        let d: (i32, f32);
        if a > b { c = a; d = (1, 0.5); } else if a == b { c = 7; d = (2, 1.5); } else { c = b - a; d = (c, 2.5); }
        let e;
        {
            let c = c + 1;
            e = [c, d.0];
        }
        let mut sum = 0;
        for k in 0..3 {
            let f;
            match k { 0 => f = 2_i64, 1 => f = a as i64, _ => { f = 5; sum += 1; } }
            sum += f as i32 * e[0];
        }
        let g;
        let h;
        (g, h) = (sum, a as f32);
        g + e[1] * 100 + (d.1 * 2.0) as i32 + h as i32
    }

    /// Constants of the body, with operators and code of their own.
    fn constants(a: i32) -> i32 {
        const SIZE: usize = 4;
        const INVERSE: f32 = 1.0 / SIZE as f32;
        const SQUARE: i32 = { let side = 3; side * side };
        const TABLE: [i32; 4] = {
            let mut table = [0; 4];
            let mut k = 0;
            while k < SIZE {
                table[k] = (k * k) as i32 % 5;
                k += 1;
            }
            table
        };
        const LAST: i32 = TABLE[SIZE - 1] / 2;
        (a as f32 * INVERSE) as i32 + SQUARE + TABLE[(a & 3) as usize] * 100 + LAST
    }

    /// Failures that do not happen, in values and statements.
    fn failures(a: i32) -> i32 {
        if a > 100 { panic!("too large: {a}"); }
        let b = match a & 3 { 0 => 5, 1 => 6, 2 => 7, 3 => 8, _ => unreachable!() };
        let c = if b < 100 { b } else { panic!("large: {b}") };
        match c { 5.. => c + 1, _ => unreachable!("{c} is {}", 5 - c) }
    }
}

#[qd::kernel]
fn all(out: &mut Tensor<[i32; 9], 2>) {
    for (i, j) in qd::ndrange(out.shape()) {
        let (a, b) = (i as i32 - 1, j as i32 - 1);
        out[[i, j]] = [
            device::labelled(a, b),
            device::unused_labels(a),
            device::returning_closures(a, b),
            device::rests(a, b),
            device::parameters((a, b), Pair { first: b, second: a }, [a, 3, b], true),
            device::ranges(a, b),
            device::chains(a, b),
            device::variants(a, b),
            device::failures(a) + device::without_values(a, b) * 64 + device::constants(a) * 9,
        ];
    }
}

#[on_all_backends]
fn shorter_forms_mean_what_rust_says(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros([8, 8])?;
    all(&mut out).launch()?;
    let of = |at: usize| {
        let (a, b) = ((at / 8) as i32 - 1, (at % 8) as i32 - 1);
        [
            host::labelled(a, b),
            host::unused_labels(a),
            host::returning_closures(a, b),
            host::rests(a, b),
            host::parameters((a, b), Pair { first: b, second: a }, [a, 3, b], true),
            host::ranges(a, b),
            host::chains(a, b),
            host::variants(a, b),
            host::failures(a) + host::without_values(a, b) * 64 + host::constants(a) * 9,
        ]
    };
    assert_eq!(out.to_vec()?, (0..64).map(of).collect::<Vec<_>>());
    Ok(())
}

#[qd::kernel]
fn fails(kind: i32, out: &mut Tensor<i32, 1>) {
    for i in 0..out.len() {
        out[i] = match kind {
            0 => 4,
            1 if i == 3 => panic!("element {i} of {}", kind + 1),
            2 if i == 3 => unreachable!(),
            3 => {
                if i > 2 {
                    unreachable!("kind {kind}");
                }
                5
            }
            _ => 6,
        };
    }
}

#[on_all_backends]
fn a_panic_is_the_error_of_the_launch(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros([4])?;
    let mut message_of = |kind| {
        let error = kernel_error(fails(kind, &mut out).launch(), || on.program.sync());
        let KernelErrorCause::Assert { message } = &error.cause else { panic!("{error}") };
        message.clone()
    };
    assert_eq!(message_of(1), "element 3 of 2");
    assert_eq!(message_of(2), "internal error: entered unreachable code");
    assert_eq!(message_of(3), "internal error: entered unreachable code: kind 3");
    fails(0, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [4; 4]);
    fails(4, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [6; 4]);
    Ok(())
}

/// `return` ends the phase of one thread; a constant of the body is the number of threads; collectives are parts of
/// expressions and conditions.
#[qd::kernel]
fn phases(n: usize, x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>, rounds: &mut Tensor<f32, 1>) {
    const HALF: usize = 16;
    const THREADS: usize = HALF * 2;
    qd::block_for(n.div_ceil(THREADS) + 3, THREADS, |b| {
        if b.index() * THREADS >= n {
            return;
        }
        let mut tile = b.shared::<f32>(THREADS);
        b.each(|t| {
            let i = b.index() * THREADS + t;
            if i >= n {
                return;
            }
            tile[t] = x[i];
            if x[i] < 0.0 {
                tile[t] = -x[i];
                return;
            }
            tile[t] += 1.0;
        });
        let mean = b.reduce_add(|t| {
            if b.index() * THREADS + t >= n {
                return 0.0;
            }
            tile[t]
        }) / THREADS as f32;
        let mut count = 0.0;
        while b.reduce_max(|t| tile[t]) > 1.0 {
            b.each(|t| tile[t] *= 0.5);
            count += 1.0;
        }
        let mut largest = 0.0;
        largest += b.reduce_max(|t| tile[t]) + b.reduce_min(|t| tile[t]);
        if b.reduce_max(|t| (tile[t] > 0.75) as u32) != 0 {
            largest = -largest;
        }
        b.each(|t| {
            let i = b.index() * THREADS + t;
            if (0..n).contains(&i) {
                out[i] = tile[t] + mean;
            }
            if t == 0 {
                rounds[b.index()] = count * 100.0 + largest;
            }
        });
    });
}

#[on_all_backends]
fn phases_end_early_and_collectives_are_expressions(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    const N: usize = 75;
    // Powers of two, so that all sums are exact.
    let x: Vec<f32> = (0..N).map(|i| [0.5, -2.0, 7.0, 0.0, -0.25][i * i % 5]).collect();
    let (mut out, mut rounds) = (on.program.zeros([N])?, on.program.zeros([3])?);
    phases(N, &on.program.tensor_from(&x, [N])?, &mut out, &mut rounds).launch()?;
    let (mut expected, mut counts) = (Vec::new(), Vec::new());
    for block in x.chunks(32) {
        let mut tile = [0.0_f32; 32];
        for (t, &x) in block.iter().enumerate() {
            tile[t] = if x < 0.0 { -x } else { x + 1.0 };
        }
        let mean = tile.iter().sum::<f32>() / 32.0;
        let max = |tile: &[f32]| tile.iter().copied().fold(f32::MIN, f32::max);
        let mut count = 0.0;
        while max(&tile) > 1.0 {
            tile.iter_mut().for_each(|v| *v *= 0.5);
            count += 1.0;
        }
        let mut largest = max(&tile) + tile.iter().copied().fold(f32::MAX, f32::min);
        if tile.iter().any(|&v| v > 0.75) {
            largest = -largest;
        }
        expected.extend(tile[..block.len()].iter().map(|v| v + mean));
        counts.push(count * 100.0 + largest);
    }
    assert_eq!(out.to_vec()?, expected);
    assert_eq!(rounds.to_vec()?, counts);
    Ok(())
}

/// Collectives in the conditions of `else if` and `match`, and as the value of a block; an exit from a loop of phases.
#[qd::kernel]
fn decisions(y: &mut Tensor<f32, 1>) {
    qd::block_for(y.len() / 32, 32, |b| {
        let mut w = 0.0;
        let base = b.index() * 32;
        if b.any(|t| y[base + t] > 100.0) {
            w = 1.0;
        } else if b.any(|t| y[base + t] > 10.0) {
            w = 2.0;
        } else if base > 0 && base < 64 {
            w = 3.0;
        } else if b.all(|t| y[base + t] < 1.0) {
            w = 4.0;
        }
        let twice = {
            let k = 2.0;
            b.reduce_add(|t| y[base + t] * k)
        };
        let level = if base == 0 {
            1.0
        } else if b.reduce_max(|t| y[base + t]) > 5.0 {
            7.0
        } else {
            8.0
        };
        let count = match b.reduce_add(|t| (t < 20) as u32) {
            20 => 10.0,
            _ => 20.0,
        };
        'done: {
            if w == 4.0 {
                break 'done;
            }
            while b.reduce_max(|t| y[base + t]) > 30.0 {
                if w > 1.0 {
                    break 'done;
                }
                b.each(|t| y[base + t] *= 0.5);
            }
            w += 100.0;
        }
        b.each(|t| {
            if t != 0 {
                return;
            }
            y[base] = w + twice * 1000.0 + level + count;
        });
    });
}

#[on_all_backends]
fn collectives_decide(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<f32> = (0..128).map(|i| [200.0, 20.0, 2.0, 0.5][i / 32]).collect();
    let mut y = on.program.tensor_from(&x, [128])?;
    decisions(&mut y).launch()?;
    let y = y.to_vec()?;
    let first: Vec<f32> = y.iter().copied().step_by(32).collect();
    let of = |w: f32, twice: f32, level: f32| w + twice * 1000.0 + level + 10.0;
    let expected = [
        of(101.0, 12800.0, 1.0),
        of(102.0, 1280.0, 7.0),
        of(100.0, 128.0, 8.0),
        of(4.0, 32.0, 8.0),
    ];
    assert_eq!(first, expected);
    assert_eq!(y[1], 25.0);
    Ok(())
}

#[derive(KernelValue, Clone, Copy, Debug, PartialEq)]
struct Moments {
    count: i32,
    second: Matrix<f32, 2, 2>,
    first: [f32; 2],
    /// Twice, less, and the largest of each component.
    others: [[f32; 8]; 3],
}

/// Inner loops over the parts of a local that a parallel loop combines into.
#[qd::kernel]
fn moments(x: &Tensor<Vector<f32, 2>, 1>) -> (Moments, [[f32; 2]; 2]) {
    let mut all =
        Moments { count: 0, second: Matrix::zero(), first: [0.0; 2], others: [[0.0; 8]; 3] };
    let mut bounds = [[f32::MAX; 2], [f32::MIN; 2]];
    for i in 0..x.len() {
        all.count += 1;
        for r in 0..2 {
            for c in 0..2 {
                all.second[[r, c]] += x[i][r] * x[i][c];
            }
            all.first[r] += x[i][r] + r as f32;
        }
        for d in 0..8 {
            all.others[0][d] += x[i][d % 2] * 2.0;
        }
        for d in 0..8 {
            all.others[1][d] -= x[i][d % 2];
        }
        for d in 0..8 {
            all.others[2][d] = all.others[2][d].max(x[i][d % 2]);
        }
        for d in 0..=1 {
            let v = x[i][d];
            if v > -3.0 {
                bounds[0][d] = bounds[0][d].min(v);
            }
            bounds[1][d] = bounds[1][d].max(v);
        }
    }
    (all, bounds)
}

#[on_all_backends]
fn loops_over_parts_combine_into_them(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<_> = (0..100).map(|i| Vector([(i % 7) as f32 - 4.0, (i % 5) as f32])).collect();
    let (all, bounds) = moments(&on.program.tensor_from(&x, [100])?).launch()?;
    let mut expected =
        Moments { count: 100, second: Matrix::zero(), first: [0.0; 2], others: [[0.0; 8]; 3] };
    for v in &x {
        for r in 0..2 {
            for c in 0..2 {
                expected.second[[r, c]] += v[r] * v[c];
            }
            expected.first[r] += v[r] + r as f32;
        }
        for d in 0..8 {
            expected.others[0][d] += v[d % 2] * 2.0;
            expected.others[1][d] -= v[d % 2];
            expected.others[2][d] = expected.others[2][d].max(v[d % 2]);
        }
    }
    assert_eq!(all, expected);
    assert_eq!(bounds, [[-2.0, 0.0], [2.0, 4.0]]);
    Ok(())
}

#[qd::kernel]
fn streams_after_returns(
    mode: u32,
    n: usize,
    h: f32,
    x: &mut Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
) {
    if n == 0 {
        return;
    }
    let last = n - 1;
    let step = match mode {
        0 => 1.0,
        1 => 2.0,
        _ => return,
    };
    if h > 2.0 || (h < 0.0 && mode == 1) {
        return;
    }
    qd::stream_parallel(|| {
        for i in 0..last {
            x[i] += step;
        }
        if mode == 1 {
            for i in 0..last {
                x[i] *= 2.0;
            }
        }
    });
    qd::stream_parallel(|| {
        for i in 0..y.len() {
            y[i] += h;
        }
        y[last] += 100.0;
    });
}

#[on_all_backends]
fn a_return_before_streams_skips_all_of_them(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (mut x, mut y) = (on.program.zeros([4])?, on.program.zeros([4])?);
    for _ in 0..3 {
        for (mode, n, h) in [(0, 0, 1.0), (2, 3, 1.0), (0, 3, 2.5), (1, 3, -1.0)] {
            streams_after_returns(mode, n, h, &mut x, &mut y).launch()?;
        }
    }
    assert_eq!((x.to_vec()?, y.to_vec()?), (vec![0.0; 4], vec![0.0; 4]));
    streams_after_returns(0, 3, -1.0, &mut x, &mut y).launch()?;
    assert_eq!(x.to_vec()?, [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(y.to_vec()?, [-1.0, -1.0, 99.0, -1.0]);
    streams_after_returns(1, 4, 1.0, &mut x, &mut y).launch()?;
    assert_eq!(x.to_vec()?, [6.0, 6.0, 4.0, 0.0]);
    assert_eq!(y.to_vec()?, [0.0, 0.0, 100.0, 100.0]);
    Ok(())
}

#[qd::func]
fn large(n: u32) -> u32 {
    assert!(n > 3, "small");
    n
}

#[qd::kernel]
fn unused_values(n: u32, m: u32, k: u32, x: &mut Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    let _unused = 10 / n;
    let a = k + 1;
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = a;
        }
    });
    let _unused = 10 / m;
    qd::stream_parallel(|| {
        let a = 7;
        y[0] = a;
    });
    let y = a - 1;
    let _unused = large(y + 1);
}

#[on_all_backends]
fn values_that_no_block_uses_may_be_errors(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (mut x, mut y) = (on.program.zeros([4])?, on.program.zeros([1])?);
    let cases = [
        (0, 1, 3, Some("division by zero")),
        (1, 0, 3, Some("division by zero")),
        (1, 1, 2, Some("assertion failed: small")),
        (1, 1, 3, None),
    ];
    for (n, m, k, expected) in cases {
        let launched = unused_values(n, m, k, &mut x, &mut y).launch();
        let error = launched.and_then(|()| on.program.sync()).err().map(|error| error.to_string());
        let is_expected = match (&error, expected) {
            (Some(error), Some(expected)) => error.contains(expected),
            (error, expected) => error.is_none() && expected.is_none(),
        };
        assert!(is_expected, "{n} {m} {k}: {error:?}");
    }
    assert_eq!((x.to_vec()?, y.to_vec()?), (vec![4; 4], vec![7]));
    Ok(())
}
