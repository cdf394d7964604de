//! `match`, and early returns of funcs.

// Kernels do not support this method.
#![allow(clippy::manual_is_multiple_of)]

use quadrants::{self as qd};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

const SPECIAL: i32 = 42;

#[qd::func]
#[allow(clippy::all)] // what is tried is the way it is written
fn class(v: i32) -> i32 {
    if v < 0 {
        return -1;
    }
    if v == 0 {
        return 0;
    }
    let half = v / 2;
    if half > 10 {
        let more = half * 2;
        if more > 50 {
            return more;
        }
    } else {
        return half + 100;
    }
    half + 1000
}

#[qd::func]
#[allow(clippy::all)] // as above
fn first_factor(n: u32) -> u32 {
    for k in 2..n {
        if n % k == 0 {
            return k;
        }
    }
    n
}

#[qd::func]
#[allow(clippy::all)] // as above
fn pair_sum(n: u32) -> u32 {
    let mut tried = 0;
    for a in 1..n {
        let mut b = a;
        loop {
            tried += 1;
            if a * a + b * b == n {
                return a * 1000 + b;
            }
            if b > 9 {
                break;
            }
            b += 1;
        }
        while b > 3 {
            b -= 1;
            if a + b == n {
                return 7_000_000 + tried;
            }
        }
    }
    tried
}

#[qd::func]
#[allow(clippy::all)] // as above
fn in_values(v: i32) -> i32 {
    let a = if v > 5 { v } else { return 50 };
    let b = {
        if a == 9 {
            return 90;
        }
        a + 1
    };
    let c = match b {
        7 => return 70,
        8 | 11 => b * 2,
        n if n > 12 => {
            let n = n - 1;
            n * n
        }
        _ => b,
    };
    return a + b * 10 + c * 100;
}

source! { matches;
    fn run(k: i32, on: bool, x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        let top = match on { true => 1, false => 2 };
        for i in 0..x.len() {
            let v = x[i];
            out[[i, 0]] = match v {
                -3 => 10,
                0 | 1 | 5 => 11,
                2..=4 => 12,
                SPECIAL => 13,
                6..9 => 14,
                i32::MIN..=-100 => 15,
                n if n == k => 16,
                n @ 9..=20 => n * 2,
                n => n + top,
            };
            match v % 4 {
                0 => out[[i, 1]] = 1,
                1 if v > 3 => {
                    out[[i, 1]] = 2;
                    out[[i, 2]] += 1;
                }
                1 | 3 => {}
                _ => out[[i, 1]] = 3,
            }
            match v > 3 {
                true => out[[i, 3]] += 1,
                false => out[[i, 3]] += 2,
            }
            let mut steps = 0;
            loop {
                match steps {
                    0..3 => steps += 2,
                    n if n > v => break,
                    _ => steps += 1,
                }
            }
            out[[i, 4]] = steps;
            out[[i, 5]] = match i { 0 => 100, _ if on => match v { 0 => 1, _ => 2 }, _ => 3 };
        }
    }
}

source! { returns;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            out[[i, 0]] = class(x[i]);
            out[[i, 1]] = first_factor(x[i] as u32 % 100) as i32;
            out[[i, 2]] = pair_sum(x[i] as u32 % 40) as i32;
            out[[i, 3]] = in_values(x[i]) + in_values(i as i32);
        }
    }
}

/// Two choices, a sum, a count and a store in one loop.
#[qd::kernel]
fn extremes(
    x: &qd::Tensor<i32, 2>,
    o: &mut qd::Tensor<i32, 2>,
) -> ([i32; 2], [usize; 4], i32, u32) {
    let [h, w] = x.shape();
    let (mut least, mut i_least, mut j_least) = (i32::MAX, 0, 0);
    let (mut most, mut i_most, mut j_most) = (i32::MIN, 0, 0);
    let (mut sum, mut count) = (0, 0);
    for (i, j) in qd::ndrange([h, w]) {
        let v = x[[i, j]] * 2;
        o[[i, j]] = v;
        sum += v;
        if v < least {
            least = v;
            (i_least, j_least) = (i, j);
        }
        let higher = v + 1;
        if higher > most {
            (most, i_most, j_most) = (higher, i, j);
        }
        if v > 0 {
            count += 1;
        }
    }
    ([least, most], [i_least, j_least, i_most, j_most], sum, count)
}

/// A choice by what the same loop has stored stays rejected; by what it stores later, it is not.
#[qd::kernel]
fn before_the_store(x: &mut qd::Tensor<i32, 1>) -> (i32, usize, i32) {
    let (mut best, mut at, mut sum) = (i32::MAX, 0, 0);
    for i in 0..x.len() {
        let v = x[i];
        if v < best {
            best = v;
            at = i;
        }
        x[i] = v + 1;
        sum += x[i];
    }
    (best, at, sum)
}

#[on_all_backends]
fn a_loop_may_choose_and_sum(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<i32> = (0..63).map(|k| (k * 29) % 63 - 20).collect();
    let x = on.program.tensor_from(&values, [7, 9])?;
    let mut o = on.program.zeros([7, 9])?;
    let doubled: Vec<i32> = values.iter().map(|v| v * 2).collect();
    let place = |v: i32| doubled.iter().position(|of| *of == v).unwrap();
    let (low, high) = (*doubled.iter().min().unwrap(), *doubled.iter().max().unwrap());
    let (a, b) = (place(low), place(high));
    let count = doubled.iter().filter(|v| **v > 0).count() as u32;
    let expected =
        ([low, high + 1], [a / 9, a % 9, b / 9, b % 9], doubled.iter().sum::<i32>(), count);
    assert_eq!(extremes(&x, &mut o).launch()?, expected);
    assert_eq!(o.to_vec()?, doubled);
    let mut x = on.program.tensor_from(&values, [63])?;
    let sum = values.iter().sum::<i32>() + 63;
    assert_eq!(before_the_store(&mut x).launch()?, (low / 2, a, sum));
    assert_eq!(x.to_vec()?, values.iter().map(|v| v + 1).collect::<Vec<_>>());
    Ok(())
}

fn numbers() -> Array<i32, 1> {
    let all: Vec<i32> = (-5..25).chain([42, 43, 60, 99, -100, -101, 200]).collect();
    Array::of(&all)
}

#[on_all_backends]
fn match_takes_the_first_matching_arm(
    backend: TestBackend,
    #[values(true, false)] on_or_off: bool,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = numbers();
    let out = Array::zeros([x.len(), 6]);
    differential!(&on.program, matches[21, on_or_off][x][out]);
    Ok(())
}

#[on_all_backends]
fn funcs_may_return_early(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = numbers();
    let out = Array::zeros([x.len(), 4]);
    differential!(&on.program, returns[][x][out]);
    Ok(())
}

/// Effects after the last choice, in the value of a `let` that nothing uses, happen in each iteration.
#[qd::kernel]
fn choices_before_an_effect(
    x: &qd::Tensor<f32, 1>,
    count: &mut qd::Tensor<u32, 1>,
    out: &mut qd::Tensor<usize, 1>,
) {
    let (mut least, mut lowest) = (f32::INFINITY, 0);
    let (mut most, mut highest) = (f32::NEG_INFINITY, 0);
    for i in 0..x.len() {
        if x[i] < least {
            least = x[i];
            lowest = i;
        }
        if x[i] > most {
            most = x[i];
            highest = i;
        }
        let _before = qd::atomic_add(&mut count[0], 1);
    }
    out[0] = lowest;
    out[1] = highest;
}

#[on_all_backends]
fn an_effect_after_choices_happens(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[5.0, 3.0, 1.0, 4.0], [4])?;
    let (mut count, mut out) = (on.program.zeros([1])?, on.program.zeros([2])?);
    choices_before_an_effect(&x, &mut count, &mut out).launch()?;
    assert_eq!((count.to_vec()?, out.to_vec()?), (vec![4], vec![2, 0]));
    Ok(())
}

// A guard with names of its own, which the arm's loops have as well.
source! { names_of_guards;
    fn run(k: i32, by: u64, x: &mut Tensor<i32, 1>) {
        match k {
            7 | -1 if (match by { 44 | 45 => false, v => v > 2 }) => {
                for i in 0..x.len() {
                    let v = x[i] + 5;
                    x[i] = v;
                }
            }
            n if (match by { x => x == n as u64 }) => {
                for i in 0..x.len() {
                    x[i] += n;
                }
            }
            _ => {}
        }
    }
}

#[on_all_backends]
fn names_in_guards_are_not_visible_in_arms(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for (k, by) in [(7, 3), (7, 44), (-1, 1), (3, 3), (3, 4)] {
        let x = Array::of(&[1, 2, 3]);
        differential!(&on.program, names_of_guards [k, by] [] [x]);
    }
    Ok(())
}
