//! Local closures in kernels and funcs, and `map` of vectors and arrays.

use quadrants::{self as qd, KernelValue, Result, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

#[derive(KernelValue, Clone, Copy, Debug, PartialEq)]
struct Step {
    by: f32,
    count: i32,
}

on_host_too! {
    /// Types from uses and annotations, several parameters, a closure in a closure.
    fn bilinear(a: f32, b: f32, u: f32, v: f32) -> f32 {
        let lerp = |x, y, t| x + (y - x) * t;
        let clamp01 = |t: f32| -> f32 { t.clamp(0.0, 1.0) };
        let weight = |t| clamp01(t) * 2.0 - 1.0;
        let top = lerp(a, b, clamp01(u));
        lerp(top, lerp(b, a, weight(u)), weight(v))
    }

    /// Captured locals that change between and inside calls.
    fn counter(a: i32, b: i32, n: i32) -> i32 {
        let (mut sum, mut calls) = (0, 0);
        let mut add = |x: i32| {
            let twice = x * 2;
            if twice > 4 { sum += twice; } else { sum -= 1; }
            calls += 1;
        };
        add(a);
        for k in 0..n {
            add(b + k);
        }
        sum * 100 + calls
    }

    /// Arguments with the names of parameters and of locals of the body, and of structs, tuples and `_`.
    fn names(a: i32, b: i32) -> i32 {
        let sub = |a: i32, b: i32| { let c = a - b; c * 3 };
        let c = sub(b, a);
        let first = |(a, _): (i32, i32), Step { count, .. }: Step| a + count;
        let step = Step { by: 0.5, count: b };
        sub(sub(c, a), sub(b, c)) + first((c, a), step)
    }

    /// A name declared again: the later closure counts.
    fn again(a: i32) -> i32 {
        let f = |x: i32| x + a;
        let f = f(1) + f(2);
        let g = |x: i32| x * f;
        let g = |x: i32| g(x) - 1;
        g(3)
    }

    /// Names and calls in the arguments of macros of std, also in conditions and indices.
    fn macros(a: i32, b: i32) -> i32 {
        let limit = 2;
        let is_large = |v: i32| matches!(v, w if w > limit);
        let twice = |v: i32| {
            debug_assert!(v + limit > -1000, "{v} {limit}");
            v * 2
        };
        assert!(twice(a) < 1000 && twice(b) != 1001, "{} of {limit}", twice(a));
        assert_eq!(twice(a), a + a);
        debug_assert_ne!(twice(b), 2 * b + 1, "{}", twice(b));
        let table = [1, 10, 100, 1000];
        let mut sum = if matches!(twice(a), 0 | 4) { 7 } else { table[twice(1) as usize] };
        while twice(sum) < 20 {
            sum += twice(1);
        }
        twice(b) * is_large(a) as i32 - twice(sum) / twice(1) + -twice(3)
    }

    fn vectors(a: f32, b: f32) -> f32 {
        let v = Vector([a, b, a - b]);
        let floors = v.map(|x| x.floor());
        let whole = (v * 2.0).map(|x| x as i32);
        let signs = whole.map(|x: i32| if x < 0 { -1_i64 } else { 1 });
        let array = [a, b].map(|x| x * x + a);
        let mut last = 0.0;
        let running = v.map(|x| { last = last * 0.5 + x; last });
        floors.sum() + whole[0] as f32 + whole.sum() as f32 * 0.25 + signs.sum() as f32 + array[1] + running[2]
    }
}

#[qd::kernel]
fn all(x: &Tensor<f32, 1>, floats: &mut Tensor<f32, 2>, ints: &mut Tensor<i32, 2>) {
    // Declared outside of the loop, with what the loop is over.
    let n = x.len();
    let next = |i: usize| x[if i + 1 == n { 0 } else { i + 1 }];
    for i in 0..x.len() {
        let (a, b) = (x[i], next(i));
        floats[[0, i]] = device::bilinear(a, b, a * 0.5, b * 0.25);
        floats[[1, i]] = device::vectors(a, b);
        let (p, q) = (a as i32, b as i32);
        ints[[0, i]] = device::counter(p, q, 4);
        ints[[1, i]] = device::names(p, q);
        ints[[2, i]] = device::again(p) + device::macros(p, q);
        let put = |value: i32| ints[[3, i]] = value;
        put(p + q);
    }
}

#[on_all_backends]
fn closures_mean_what_they_mean_on_the_host(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<f32> = (0..60).map(|i| ((i * 29) % 41) as f32 * 0.5 - 10.25).collect();
    let x = on.program.tensor_from(&values, [values.len()])?;
    let mut floats = on.program.zeros::<f32, 2>([2, values.len()])?;
    let mut ints = on.program.zeros::<i32, 2>([4, values.len()])?;
    all(&x, &mut floats, &mut ints).launch()?;
    let (floats, ints) = (floats.to_vec()?, ints.to_vec()?);
    for i in 0..values.len() {
        let (a, b) = (values[i], values[(i + 1) % values.len()]);
        let (p, q) = (a as i32, b as i32);
        let found = [floats[i], floats[values.len() + i]];
        assert_eq!(
            found,
            [host::bilinear(a, b, a * 0.5, b * 0.25), host::vectors(a, b)],
            "{a} {b}"
        );
        let found: Vec<i32> = (0..4).map(|row| ints[row * values.len() + i]).collect();
        let again = host::again(p) + host::macros(p, q);
        let expected = [host::counter(p, q, 4), host::names(p, q), again, p + q];
        assert_eq!(found, expected, "{p} {q}");
    }
    Ok(())
}

#[qd::kernel]
fn sums(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    let scaled = |v: f32| v * 0.5;
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += scaled(x[i]);
    }
    for i in 0..out.len() {
        out[i] = sum;
    }
}

#[on_all_backends]
fn a_reduction_may_call_a_closure(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[1.0_f32; 1000], [1000])?;
    let mut out = on.program.zeros::<f32, 1>([2])?;
    sums(&x, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [500.0, 500.0]);
    Ok(())
}

#[qd::kernel]
fn in_blocks(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    qd::block_for(x.len() / 64, 64, |b| {
        let mut tile = b.shared::<f32>(64);
        let base = b.index() * 64;
        let next = |t: usize| if t + 1 == 64 { 0 } else { t + 1 };
        b.each(|t| {
            tile[t] = x[base + t];
        });
        b.each(|t| {
            let pair = Vector([tile[t], tile[next(t)]]).map(|x| x * 2.0);
            out[base + t] = pair.sum();
        });
    });
}

#[on_all_backends]
fn thread_blocks_may_call_closures(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let x = on.program.tensor_from(&values, [128])?;
    let mut out = on.program.zeros::<f32, 1>([128])?;
    in_blocks(&x, &mut out).launch()?;
    let next = |i: usize| values[i / 64 * 64 + (i + 1) % 64];
    let expected: Vec<f32> = (0..128).map(|i| 2.0 * (values[i] + next(i))).collect();
    assert_eq!(out.to_vec()?, expected);
    Ok(())
}
