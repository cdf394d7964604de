//! Branches, loops, scopes, and evaluation order.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

source! { branches;
    fn run(limit: i32, x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            let v = x[i];
            if v > limit {
                out[[i, 0]] = 1;
            } else if v < -limit {
                out[[i, 0]] = 2;
            } else {
                out[[i, 0]] = 3;
            }
            if v % 2 == 0 {
                out[[i, 1]] = 5;
            }
            out[[i, 2]] = if v > 0 { v } else if v == 0 { 100 } else { -v };
            out[[i, 3]] = 1 + if v > 0 && v < limit { 10 } else { 20 } * 2;
            out[[i, 4]] = {
                let v = v * 2;
                let w = {
                    let v = v + 1;
                    v * 3
                };
                v + w
            };
            let v = v as f32 * 0.5;
            let v = v > 1.0;
            out[[i, 5]] = v as i32;
            let mut chosen = 0;
            if !v {
                chosen = if limit > 3 { 7 } else { 8 };
                if i > 2 {
                    chosen += 100;
                }
            }
            out[[i, 6]] = chosen;
        }
    }
}

source! { loops;
    fn run(x: &Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
        for i in 0..x.len() {
            // Collatz
            let mut n = x[i];
            let mut steps = 0;
            while n > 1 {
                if n % 2 == 0 {
                    n /= 2;
                } else {
                    n = 3 * n + 1;
                }
                steps += 1;
                if steps == 50 {
                    break;
                }
            }
            out[[i, 0]] = steps;

            // Odd numbers, all in a `for` with `continue`
            let mut sum = 0;
            for k in 0..x[i] {
                if k % 2 == 0 {
                    continue;
                }
                sum += k;
            }
            out[[i, 1]] = sum;

            // Euclid in a `loop`
            let mut a = x[i] + 12;
            let mut b = 18;
            loop {
                if b == 0 {
                    break;
                }
                let t = a % b;
                a = b;
                b = t;
            }
            out[[i, 2]] = a;

            // A `break` leaves the innermost loop only; empty and inverted ranges run nothing.
            let mut count = 0;
            for k in 0..5 {
                for l in 0..5 {
                    if l > k {
                        break;
                    }
                    count += 10;
                }
                for _ in 3..k {
                    count += 1;
                }
                for _ in x[i]..2 {
                    count += 1000;
                }
            }
            out[[i, 3]] = count;

            // A `continue` of the parallel loop ends the iteration.
            if x[i] == 7 {
                continue;
            }
            for (k, l) in qd::ndrange((1..4, 2..5)) {
                out[[i, 4]] += (k * 10 + l) as u32;
            }
            let mut down = -3;
            while down < 0 {
                down += 1;
                if down == -1 {
                    continue;
                }
                out[[i, 5]] += 1;
            }
        }
    }
}

source! { effects;
    fn run(x: &Tensor<i32, 1>, hits: &mut Tensor<i32, 1>, out: &mut Tensor<i32, 1>) {
        for i in 0..x.len() {
            if x[i] > 2 && qd::atomic_add(&mut hits[0], 1) >= 0 {
                out[i] += 1;
            }
            if x[i] > 2 || qd::atomic_add(&mut hits[1], 1) >= 0 {
                out[i] += 10;
            }
            let both = x[i] > 2 && (x[i] > 4 || qd::atomic_add(&mut hits[2], 1) < 0);
            out[i] += both as i32 * 100;
            let chosen = if x[i] == 3 { qd::atomic_add(&mut hits[3], 5) } else { 0 };
            out[i] += chosen;
            let mut rounds = 0;
            while rounds < x[i] && qd::atomic_add(&mut hits[4], 1) >= 0 {
                rounds += 1;
            }
        }
    }
}

source! { bindings;
    fn run(mut n: i32, x: &Tensor<i32, 1>, out: &mut Tensor<i32, 1>) {
        n *= 2;
        for i in 0..x.len() {
            let x = x[i];
            let i = i;
            let x = x + n;
            let _ = x * 2;
            let mut x = x;
            x += 1;
            {
                let x = 1000;
                let _ignored = x;
            }
            for n in 0..3 {
                let x = n;
                out[i] += x;
            }
            out[i] += x * 10 + n;
        }
    }
}

#[on_all_backends]
fn branches_and_block_expressions_match_rust(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[-9, -5, -4, -1, 0, 1, 2, 3, 4, 5, 6, 9]);
    for limit in [0, 3, 5] {
        let out = Array::zeros([x.len(), 7]);
        differential!(&on.program, branches[limit][x][out]);
    }
    Ok(())
}

#[on_all_backends]
fn inner_loops_match_rust(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[0, 1, 2, 3, 6, 7, 27, 97, 1000]);
    let out = Array::zeros([x.len(), 6]);
    differential!(&on.program, loops [] [x] [out]);
    Ok(())
}

#[on_all_backends]
fn short_circuit_operators_skip_side_effects(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    // One 3, so that every old value that is kept is the same in any order.
    let x = Array::of(&[0, 1, 2, 3, 4, 5, 6]);
    let (hits, out) = (Array::zeros([5]), Array::zeros([x.len()]));
    differential!(&on.program, effects [] [x] [hits, out]);
    Ok(())
}

#[on_all_backends]
fn names_can_be_shadowed(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[1, 2, 3, -4]);
    let out = Array::zeros([x.len()]);
    differential!(&on.program, bindings[21][x][out]);
    Ok(())
}
