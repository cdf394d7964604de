//! Indices of neighbours at a border, in the ways in which they are written: all are proven, so that no check runs.

use quadrants::{self as qd, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

use super::interiors::interiors;
use crate::launch::tracing_events::CapturedEvents;

#[qd::func]
fn wrapped(at: usize, n: usize) -> usize {
    if at >= n { at - n } else { at }
}

#[qd::func]
fn before(at: usize, n: usize) -> usize {
    if at == 0 {
        return n - 1;
    }
    at - 1
}

#[qd::func]
fn both(at: usize, n: usize) -> (usize, usize) {
    let left = if at > 0 { at - 1 } else { n - 1 };
    let right = if at < n - 1 { at + 1 } else { 0 };
    (left, right)
}

/// One kernel per way to compute an index from `i` and the length `n`.
macro_rules! indices {
    ($($name:ident: |$i:ident, $n:ident| $index:expr;)*) => {
        $(
            mod $name {
                use super::*;

                #[qd::kernel]
                pub(super) fn device(x: &Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
                    let $n = x.len();
                    for $i in 0..x.len() {
                        let at = $index;
                        out[$i] = x[at];
                    }
                }

                #[allow(clippy::all, clippy::pedantic)]
                pub(super) fn host($i: usize, $n: usize) -> usize {
                    $index
                }
            }
        )*

        #[on_all_backends]
        fn indices_of_neighbours_are_proven(backend: TestBackend) -> Result<()> {
            let Some(on) = backend.open() else { return Ok(()) };
            for n in [4, 5, 64, 1000] {
                let values: Vec<u32> = (0..n as u32).map(|i| i * 7919 % 1013).collect();
                let x = on.program.tensor_from(&values, [n])?;
                $({
                    let said = CapturedEvents::listen();
                    let mut out = on.program.zeros::<u32, 1>([n])?;
                    $name::device(&x, &mut out).launch()?;
                    let expected: Vec<u32> = (0..n).map(|i| values[$name::host(i, n)]).collect();
                    assert_eq!(out.to_vec()?, expected, "{}", stringify!($name));
                    assert_eq!(interiors(&said), [], "{} is checked", stringify!($name));
                })*
            }
            Ok(())
        }
    };
}

indices! {
    last_to_first: |i, n| if i + 1 == n { 0 } else { i + 1 };
    at_last: |i, n| if i == n - 1 { 0 } else { i + 1 };
    below_last: |i, n| if i + 1 < n { i + 1 } else { 0 };
    remainder: |i, n| (i + 1) % n;
    remainder_down: |i, n| (i + n - 1) % n;
    wrapping_remainder: |i, n| i.wrapping_add(n - 1) % n;
    above_first: |i, n| if i > 0 { i - 1 } else { n - 1 };
    at_first: |i, n| if i == 0 { n - 1 } else { i - 1 };
    euclidean_down: |i, n| (i as i32 - 1).rem_euclid(n as i32) as usize;
    euclidean_up: |i, n| (i as i64 + 3).rem_euclid(n as i64) as usize;
    subtracted: |i, n| {
        let mut at = i + 2;
        if at >= n {
            at -= n;
        }
        at
    };
    added: |i, n| {
        let mut at = i;
        if at == 0 {
            at = n;
        }
        at - 1
    };
    assigned: |i, n| {
        let mut at = 0;
        if i + 1 < n {
            at = i + 1;
        }
        at
    };
    assigned_twice: |i, n| {
        let mut at = i as i32 - 2;
        if at < 0 {
            at += n as i32;
        } else if at > n as i32 - 4 {
            at = 0;
        }
        at as usize
    };
    matched: |i, n| match i {
        0 => n - 1,
        _ => i - 1,
    };
    saturating: |i, _n| i.saturating_sub(1);
    limited: |i, n| (i + 1).min(n - 1);
    clamped: |i, n| (i as i32 - 1).clamp(0, n as i32 - 1) as usize;
    raised: |i, _n| (i as i32 - 1).max(0) as usize;
    mirrored_down: |i, _n| {
        let at = i as i32 - 2;
        (if at < 0 { -at } else { at }) as usize
    };
    mirrored_by_abs: |i, _n| (i as i32 - 3).abs() as usize;
    mirrored_up: |i, n| {
        let at = i + 3;
        if at >= n { 2 * n - 2 - at } else { at }
    };
    by_parts: |i, n| {
        let (at, other) = if i > 0 { (i - 1, i) } else { (n - 1, 0) };
        if other > 0 { other - 1 } else { at }
    };
    by_func: |i, n| wrapped(i + 1, n);
    by_return: |i, n| before(i, n);
    by_left_of_both: |i, n| both(i, n).0;
    by_right_of_both: |i, n| both(i, n).1;
    by_flag: |i, n| {
        let is_first = i == 0;
        if is_first { n - 1 } else { i - 1 }
    };
    by_two_conditions: |i, n| if i > 0 && i + 1 < n { i + 1 } else { 0 };
    halves: |i, n| if i % 2 == 0 { i / 2 } else { n - 1 - i / 2 };
}
