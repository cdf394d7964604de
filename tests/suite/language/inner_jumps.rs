//! `return`, `break` and `continue` inside expressions: the rest of the statement around is not run. Regression: the IR
//! used to continue with zeros after such a `return` of a func, and the CPU body did not.

// What is tried is the way it is written.
#![allow(clippy::all, clippy::pedantic, unreachable_code, unused)]

use quadrants::{self as qd, KernelValue, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

#[qd::func]
fn add(a: u32, b: u32) -> u32 {
    a * 10 + b
}

#[qd::func]
fn limited(x: u32) -> u32 {
    if x > 5 {
        return 50;
    }
    x
}

/// A func that one thread calls with the numbers below 12, as a test of its own on all backends; beside it `put`,
/// which writes an element of its tensor and gives the value.
macro_rules! places {
    ($($place:ident { $($func:tt)* })*) => {
        $(
            mod $place {
                use super::*;

                mod device {
                    use super::super::{add, limited};
                    use quadrants::{self as qd, Tensor};

                    #[qd::func]
                    fn put(t: &mut Tensor<u32, 1>, at: usize, v: u32) -> u32 {
                        t[at] = v + 1;
                        v
                    }

                    #[qd::func]
                    $($func)*

                    #[qd::kernel]
                    pub(super) fn run(r: &mut Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
                        let mut c = 0;
                        while c < 12 {
                            r[c as usize] = f(t, c);
                            c += 1;
                        }
                    }
                }

                mod host {
                    use super::super::{add, limited};
                    use crate::language::Array as Tensor;
                    use quadrants as qd;

                    fn put(t: &mut Tensor<u32, 1>, at: usize, v: u32) -> u32 {
                        t[at] = v + 1;
                        v
                    }

                    $($func)*

                    pub(super) fn run(r: &mut Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
                        for c in 0..12 {
                            r[c as usize] = f(t, c);
                        }
                    }
                }

                mod both {
                    pub(super) use super::{device, host};
                }

                #[on_all_backends]
                fn a_jump_there_skips_the_rest(backend: TestBackend) -> quadrants::Result<()> {
                    let Some(on) = backend.open() else { return Ok(()) };
                    let (r, t) = (Array::zeros([12]), Array::new(&[3u32; 16], [16]));
                    differential!(&on.program, both [] [] [r, t]);
                    Ok(())
                }
            }
        )*
    };
}

places! {
    assigned_value {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let mut s = 9;
            s = { if c % 3 == 0 { return s; } c } + t[2];
            t[2] = s;
            s
        }
    }
    assigned_value_in_loop {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let mut s = 9;
            let mut n = 0;
            while n < 3 {
                n += 1;
                s = { if c == 4 + n { return s; } c } + t[2];
                t[2] = s;
            }
            s
        }
    }
    stored_value {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            t[0] = if c > 3 { return 1; } else { c };
            2
        }
    }
    stored_index {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            t[if c > 3 { return c; } else { c as usize }] = 77;
            2
        }
    }
    compound_value {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            t[0] += { if c == 4 { return 1; } c };
            t[1] += 1;
            2
        }
    }
    compound_index {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            t[{ if c > 6 { return 1; } c as usize }] += 5;
            2
        }
    }
    read_index {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let z = t[{ if c > 3 { return 7; } c as usize }] + put(t, 1, c);
            z + 1
        }
    }
    operand_before_an_atomic {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let z = (if c > 5 { return 9; } else { 2 }) + qd::atomic_add(&mut t[3], 1);
            z
        }
    }
    value_of_an_atomic {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            qd::atomic_add(&mut t[3], if c > 5 { return 9; } else { c })
        }
    }
    place_of_an_atomic {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            qd::atomic_max(&mut t[if c > 5 { return 9; } else { 3 }], c);
            1
        }
    }
    argument {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            put(t, 4, if c > 5 { return 9; } else { c })
        }
    }
    argument_before_effects {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let z = add(if c % 2 == 0 { return 9; } else { 1 }, put(t, 5, c));
            z + t[5]
        }
    }
    arguments_that_return_themselves {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let a = add(limited(limited(c) + 1), if limited(c + 1) == 50 { return 3; } else { limited(c) });
            a + put(t, 5, c)
        }
    }
    receiver_of_a_method {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let z = (if c == 3 { return 1; } else { c }).min(put(t, 0, 4));
            z
        }
    }
    operand_of_an_operator {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let z = !(if c > 3 { return 1; } else { c }) ^ -(if c == 2 { return put(t, 3, 8); } else { 5 }) as u32;
            z
        }
    }
    operand_of_a_cast {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let z = (if c == 1 { return 1; } else { 2.5 }) as u32 + put(t, 0, 4);
            z
        }
    }
    condition {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            if { if c > 3 { return 1; } c > 1 } { t[0] = 4; } else { t[0] = 5; }
            3
        }
    }
    condition_of_a_guard {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            if { if c == 3 { return 33; } put(t, 0, c) == 4 } { return 44; }
            c
        }
    }
    value_of_a_guard {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            if c > 1 { return 10 + { if c > 3 { return 1; } put(t, 10, c) }; }
            8
        }
    }
    condition_of_while {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let mut s = c;
            while { if s == 2 { return 22; } s > 3 } {
                s -= 2;
                t[6] += 1;
                if s == 5 { return 33; }
            }
            s
        }
    }
    loop_in_the_condition_of_while {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let mut s = c;
            while { loop { if s == 2 { return 22; } s += 1; if s % 4 == 0 { break; } } s < 12 } { t[6] += s; }
            s
        }
    }
    bounds_of_a_range {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            for j in (if c == 2 { return 4; } else { 1 })..(if c > 5 { return 1; } else { put(t, 2, c) }) {
                t[7] += j + 1;
            }
            3
        }
    }
    bounds_of_ndrange {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            for (j, k) in qd::ndrange([2, if c > 5 { return 1; } else { c }]) {
                t[7] += j + k;
                if t[7] > 40 { return t[7]; }
            }
            3
        }
    }
    scrutinee {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            match { if c == 2 { return 2; } c } { 0 => t[3] = 1, _ => t[3] = 2 }
            3
        }
    }
    guard_of_an_arm {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let z = match c {
                1 | 4 if { if put(t, 2, c) == 4 { return 40; } true } => 5,
                k if { if k == 7 { return 70; } k > 8 } => put(t, 3, k),
                _ => 6,
            };
            z + put(t, 4, z)
        }
    }
    value_of_an_arm {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            if (match c { 3 => return 30, 4 => { t[5] += 1; 4 } _ => 5 }) > 4 { t[6] += 2; }
            c
        }
    }
    asserted_condition {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            assert!({ if c > 3 { return 1; } c < 4 }, "as said");
            t[0] += 1;
            2
        }
    }
    divisor {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let z = 100 / (if c == 0 { return 7; } else { c });
            c + (if c == 3 { return 100; } else { 60 / c }) + put(t, 1, z) % (if c == 5 { return 6; } else { c })
        }
    }
    index_of_a_local_array {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let mut a = [5u32, 6, 7];
            a[if c > 2 { return 50; } else { c as usize }] += 100;
            t[0] = a[if c == 1 { return t[0]; } else { c as usize }];
            a[0] + a[1] + a[2]
        }
    }
    part_of_a_tuple {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let (a, b) = (if c > 3 { return 1; } else { 5 }, put(t, 0, 6));
            a + b
        }
    }
    element_of_an_array {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let a = [if c > 3 { return 1; } else { 5 }, put(t, 0, 6), c];
            let b = [{ if c == 2 { return 7; } put(t, 1, c) }; 3];
            a[0] + a[1] + b[2]
        }
    }
    operand_of_and {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let a = c > 3 && { return 1; } || put(t, 0, 8) == 8;
            a as u32 + 10
        }
    }
    operand_of_or {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            if c == 1 || { if c == 7 { return 77; } put(t, 1, c) == 5 } { return 5; }
            c
        }
    }
    final_operand {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            1 + { if c > 3 { return 1; } 5 } + put(t, 3, 4)
        }
    }
    final_branch {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            if c > 3 { if c == 5 { return 2; } put(t, 9, c) } else { return put(t, 8, c) + 1; }
        }
    }
    final_match {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            match c {
                0 => return 5,
                1 => put(t, 9, 7),
                _ => { if c == 5 { return 2; } put(t, 9, c) }
            }
        }
    }
    value_of_a_return {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            return 100 + if c > 2 { return 7; } else { put(t, 3, 3) };
        }
    }
    value_of_a_loop {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let mut s = 0;
            s += loop {
                s += 1;
                for j in 0..3 { if j == c { return s * 100; } }
                if s > 3 { break s; }
            };
            put(t, 3, 4) + loop { if c == 5 { return s; } break put(t, 4, s); }
        }
    }
    value_of_an_endless_loop {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let z = if c > 4 { loop { t[0] += 1; if t[0] > 9 { return c; } } } else { put(t, 1, c) };
            if z == 3 { loop { t[2] += 1; if t[2] > 20 { return t[2]; } } }
            z + 1
        }
    }
    loop_in_a_block_with_a_value {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let z = { loop { if c == 8 { return 3; } break; } put(t, 11, 4) };
            z
        }
    }
    block_without_checks {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            // SAFETY: one thread runs this.
            let z = unsafe { if c == 2 { return 6; } c } + put(t, 1, 1);
            // SAFETY: as above.
            unsafe { if z == 4 { return 7; } t[2] += z; }
            z
        }
    }
    nested_branches {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            if c > 2 { if c > 5 { return 1; } t[13] += 1; } else if c == 1 { return 4; } else { t[12] += 1; }
            { if c == 0 { return 9; } t[11] += 1; }
            t[14] += 2;
            3
        }
    }
    guards_before {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            if c == 0 { return 1; }
            t[0] += 1;
            if c == 1 { if t[0] > 3 { t[1] = if c > 20 { return 5; } else { 6 }; } return 2; }
            let z = put(t, 2, if c == 2 { return 3; } else { c });
            if z == 3 { return 4; }
            z + 10
        }
    }
    continue_and_break_in_operands {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let mut s = 0;
            for j in 0..5 {
                s += put(t, 12, { if j == c { continue; } if j + 4 == c { break; } j }) + 1;
            }
            s
        }
    }
    labels_in_operands {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let mut s = 0;
            'o: for j in 0..5 {
                for k in 0..4 {
                    s += put(t, 12, { if j == c { continue 'o; } if j + k == c { break 'o; } if k == 3 { return s; } j });
                }
                s += 1;
            }
            s
        }
    }
    value_of_a_break {
        fn f(t: &mut Tensor<u32, 1>, c: u32) -> u32 {
            let mut n = 0;
            loop {
                n += 1;
                if n > 9 { break 5; }
                if n > 2 { break 100 + { if c == 1 { break 3; } if c < 4 { continue; } if c == 5 { return 8; } put(t, 1, c) }; }
            }
        }
    }
}

source! { in_iterations;
    fn run(x: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
        for i in 0..x.len() {
            // Of the parallel loop, behind the writes of before.
            out[[i, 0]] = 1 + { if x[i] == 4 { continue; } x[i] };
            out[[i, if x[i] == 6 { continue; } else { 1 }]] = 5;
            let z = (if x[i] == 7 { continue; } else { 2 }) + qd::atomic_add(&mut t[0], 1) * 0;
            out[[i, 2]] = z / (if x[i] == 0 { continue; } else { x[i] }) + 3;
            let mut s = 0;
            for j in 0..(if x[i] == 12 { continue; } else { 9 }) {
                s += { if j == x[i] { break; } j } * match j { 2 => continue, 3 if { if x[i] > 20 { break; } true } => 2, _ => 1 };
                out[[i, 3]] = s;
            }
            let (a, b) = (s, if s == 3 { continue; } else { qd::atomic_add(&mut t[1], 1) * 0 + 4 });
            if a > 5 && { if x[i] == 19 { continue; } b == 4 } { out[[i, 4]] = a; }
            let m = [7u32, 8, 9];
            out[[i, 5]] = m[if x[i] > 30 { continue; } else { x[i] as usize % 3 }];
        }
    }
}

source! { in_conditions_of_while;
    fn run(x: &Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
        for i in 0..x.len() {
            let mut s = x[i];
            'w: while { if s > 16 { break 'w; } s += 1; true } {
                if s == 3 { s += 2; continue 'w; }
                s += 1;
            }
            out[[i, 0]] = s;
            let mut n = 0;
            'w: while { loop { n += 1; if n > 6 + x[i] { break 'w; } if n % 2 == 0 { break; } } true } { n += 1; }
            out[[i, 1]] = n;
            let mut m = 0;
            'w: while { m += 1; for j in 0..4 { if j + m == x[i] { m += 1; continue 'w; } } m < 9 } { m += 3; }
            out[[i, 2]] = m;
            let mut q = 0;
            'a: loop {
                q += 1;
                while { if q > 14 { break 'a; } if q == 3 { q += 1; continue 'a; } q < 9 + x[i] } {
                    q += 1;
                    if q == 2 { break; }
                }
                if q > 20 { break; }
            }
            out[[i, 3]] = q;
            let v = 'v: loop {
                while { for j in 0..5 { if j * q == x[i] { break 'v j; } } q > 30 } { q -= 1; }
                break 'v (if q > 9 { break 77; } else { 5 });
            };
            out[[i, 4]] = v;
        }
    }
}

#[on_all_backends]
fn continue_and_break_in_expressions_of_iterations_skip_the_rest(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (x, t, out) =
        (Array::of(&[0, 1, 2, 3, 4, 6, 7, 12, 19, 35]), Array::zeros([2]), Array::zeros([10, 6]));
    differential!(&on.program, in_iterations [] [x] [t, out]);
    Ok(())
}

#[on_all_backends]
fn jumps_in_conditions_of_while_go_where_labels_say(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (x, out) = (Array::of(&[0, 1, 4, 6, 7, 12, 19, 35]), Array::zeros([8, 5]));
    differential!(&on.program, in_conditions_of_while [] [x] [out]);
    Ok(())
}

/// What its methods leave with the fields as they were.
#[derive(Clone, Copy, KernelValue)]
struct Walker {
    at: usize,
    steps: u32,
}

#[qd::func]
impl Walker {
    fn set(&mut self, k: usize) -> u32 {
        self.at = (if k == 5 {
            return 1;
        } else {
            0
        }) & 3;
        2
    }

    fn in_a_loop(&mut self, k: usize) -> u32 {
        self.at = loop {
            if k == 5 {
                return 1;
            }
            break 0;
        } & 3;
        2
    }

    fn walk(&mut self, k: usize) {
        self.at += {
            if k == 3 {
                return;
            }
            k
        };
        self.steps += 1;
        if k == 4 {
            self.steps += match self.at {
                5 => return,
                7 => 4,
                _ => 8,
            };
        } else if k == 6 {
            return;
        }
        self.steps = if self.steps > 20 { return } else { self.steps + 10 };
    }
}

source! { of_methods;
    fn run(out: &mut Tensor<u32, 2>) {
        for i in 0..out.shape()[0] {
            let mut w = Walker { at: 1 + i % 2 * 2, steps: 0 };
            w.walk(i);
            out[[i, 0]] = w.at as u32;
            w.walk(4);
            out[[i, 1]] = w.at as u32;
            out[[i, 2]] = w.steps;
            w.walk({ if i == 7 { continue; } 6 });
            out[[i, 3]] = w.steps + w.set(i) + w.at as u32;
        }
    }
}

#[on_all_backends]
fn a_return_in_an_expression_of_a_method_leaves_its_receiver_as_it_is(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let out = Array::zeros([10, 4]);
    differential!(&on.program, of_methods [] [] [out]);
    Ok(())
}

#[qd::kernel]
fn reads(x: &Tensor<u32, 1>, z: &mut Tensor<u32, 1>) {
    for i in 0..z.len() {
        let mut w = Walker { at: 1 << 40, steps: 0 };
        let r = w.set(i);
        z[i] = x[w.at] + r;
    }
}

#[qd::kernel]
fn reads_after_a_loop(x: &Tensor<u32, 1>, z: &mut Tensor<u32, 1>) {
    for i in 0..z.len() {
        let mut w = Walker { at: 1 << 40, steps: 0 };
        let r = w.in_a_loop(i);
        z[i] = x[w.at] + r;
    }
}

#[qd::kernel]
fn writes(c: usize, z: &mut Tensor<u32, 1>) {
    let mut w = Walker { at: 1 << 40, steps: 0 };
    let r = w.set(c);
    z[w.at] = r;
}

/// Once proven to be 0, the index crashed the process.
#[on_all_backends]
fn an_index_that_a_return_leaves_out_of_range_is_reported(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[7u32; 4], [4])?;
    let mut z = on.program.zeros::<u32, 1>([5])?;
    reads(&x, &mut z).launch()?;
    assert_eq!(z.to_vec()?, [9; 5]);
    let mut z = on.program.zeros::<u32, 1>([12])?;
    let synced = |launched: quadrants::Result<()>| launched.and_then(|()| on.program.sync());
    for failed in [
        synced(reads(&x, &mut z).launch()),
        synced(reads_after_a_loop(&x, &mut z).launch()),
        synced(writes(5, &mut z).launch()),
    ] {
        let text = failed.unwrap_err().to_string();
        assert!(text.contains("index [1099511627776]"), "{text}");
    }
    Ok(())
}
