//! `matches!`, loops over the elements of arrays and vectors, destructuring assignments and struct update match plain
//! Rust on every backend.

use quadrants::{self as qd, KernelValue, Vector};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

const LIMIT: i32 = 7;

/// What a struct update changes a part of.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Body {
    place: Vector<f32, 2>,
    mass: f32,
    kind: (i32, bool),
}

/// A struct without names.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Pair(i32, i32);

#[qd::func]
fn is_vowel(letter: i32) -> bool {
    matches!(letter, 0 | 4 | 8 | 14 | 20)
}

#[qd::func]
fn counted(mut body: Body) -> Body {
    body.kind.0 += 1;
    Body { mass: body.mass * 2.0, ..body }
}

#[qd::func]
fn corners(x: i32) -> [i32; 3] {
    [x, x + 1, x * x]
}

#[qd::func]
fn first_above(values: [i32; 4], limit: i32) -> i32 {
    for value in values {
        if value > limit {
            return value;
        }
    }
    -1
}

source! { matching;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            let v = x[i];
            out[[i, 0]] = matches!(v, 1..=3 | 5) as i32;
            out[[i, 1]] = if matches!(v, LIMIT | -2) && !matches!(i, 0) { 10 } else { 20 };
            out[[i, 2]] = matches!(v * 2, n if n > 4 && n < 12) as i32;
            out[[i, 3]] = is_vowel(v) as i32 + matches!(v > 3, true) as i32 * 2;
            out[[i, 4]] = matches!({ let w = v + 1; w }, _) as i32;
            assert!(matches!(i, 0..=1000), "too many");
            let mut steps = 0;
            while !matches!(steps + v, 9..) {
                steps += 1;
            }
            out[[i, 5]] = steps;
        }
    }
}

source! { elements;
    fn run(scale: f32, x: &Tensor<i32, 1>, out: &mut Tensor<f32, 2>) {
        for i in 0..x.len() {
            let table = [x[i], 2, 7 - x[i], 4];
            let mut sum = 0;
            for v in table {
                if v == 2 {
                    continue;
                }
                if v == 4 && x[i] > 5 {
                    break;
                }
                sum += v;
            }
            out[[i, 0]] = sum as f32;
            let mut product = 1.0;
            for weight in [0.5, scale, 2.0] {
                product *= weight + x[i] as f32;
            }
            out[[i, 1]] = product;
            let vector = Vector([x[i] as f32, 1.0, scale]);
            let mut longest = 0.0;
            'outer: for a in vector {
                for mut b in vector {
                    b *= 0.5;
                    if a + b > 100.0 {
                        break 'outer;
                    }
                    if b > a {
                        continue 'outer;
                    }
                    longest = f32::max(longest, a - b);
                }
            }
            out[[i, 2]] = longest;
            let mut pairs = 0;
            for (at, [low, high]) in [(1, [2, x[i]]), (10, [x[i], 3])] {
                const FACTOR: i32 = 3;
                pairs += at * (high - low) * FACTOR;
            }
            for c in corners(x[i]) {
                pairs = pairs * 2 + c;
            }
            for _ in [0; 3] {
                pairs += 1;
            }
            out[[i, 3]] = pairs as f32;
            let mut rows = 0;
            let grid = [[1, 2, 3], [x[i], 5, 6]];
            for row in grid {
                for cell in row {
                    rows = rows * 3 + cell;
                }
            }
            for cell in grid[i % 2] {
                rows -= cell;
            }
            out[[i, 4]] = rows as f32 + first_above(table, 3) as f32;
            out[[i, 5]] = vector.len() as f32;
        }
    }
}

#[qd::kernel]
fn serial_elements(x: &qd::Tensor<i32, 1>, out: &mut qd::Tensor<i32, 1>) {
    let mut sum = 0;
    #[qd::serial]
    for v in [x[0], 5, x[1]] {
        sum = sum * 10 + v;
    }
    out[0] = sum;
    for i in 1..out.len() {
        out[i] = sum + i as i32;
    }
}

source! { swaps;
    fn run(x: &mut Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            let (mut a, mut b) = (x[i], x[i] * 3 + 1);
            (a, b) = (b, a);
            out[[i, 0]] = a * 100 + b;
            let mut line = [1, 2, 3, a];
            [line[0], line[3]] = [line[3], line[0]];
            (line[1], _) = (9, a);
            out[[i, 1]] = line[0] + line[1] * 7 + line[3] * 31;
            let mut pair = Pair(a, b);
            Pair(pair.1, pair.0) = pair;
            out[[i, 2]] = pair.0 * 2 + pair.1;
            let body = Body { place: Vector([1.5, 2.5]), mass: 0.5, kind: (a, a > 4) };
            let (mut mass, mut kind, mut is_large) = (x[i] as f32, 0, false);
            out[[i, 3]] = mass as i32 + kind + is_large as i32;
            Body { mass, kind: (kind, is_large), .. } = body;
            out[[i, 3]] = (mass * 4.0) as i32 + kind + is_large as i32 * 1000;
            let mut k = x[i] as usize & 1;
            line[k] += 1;
            (k, line[k]) = (2, 77);
            (a, (b, k)) = if i % 2 == 0 { (k as i32, (5, 1)) } else { (6, (7, 3)) };
            out[[i, 4]] = line[2] + line[0] + a * 3 + b * 5 + k as i32;
            (out[[i, 5]], x[i]) = (x[i], out[[i, 0]]);
            match a {
                2 => (a, b) = (b, a),
                _ => (a, b) = (0, b + 1),
            }
            out[[i, 6]] = a * 1000 + b;
        }
    }
}

source! { updates;
    fn run(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 2>) {
        for i in 0..x.len() {
            let body = Body { place: Vector([x[i], 2.0]), mass: 3.0, kind: (4, true) };
            let moved = Body { place: body.place * 2.0, ..body };
            let whole = Body { ..moved };
            let other = Body { kind: (whole.kind.0 + 1, false), mass: 1.0, ..counted(whole) };
            out[[i, 0]] = moved.place[0] + moved.mass * 10.0;
            out[[i, 1]] = other.place[1] + other.mass * 10.0 + other.kind.0 as f32;
            let mut changed = body;
            changed = Body { mass: { changed.place[1] = -1.0; 7.0 }, ..changed };
            out[[i, 2]] = changed.place[1] + changed.mass + changed.kind.1 as u32 as f32;
            let pair = Pair { 1: 5, ..Pair(x[i] as i32, 2) };
            out[[i, 3]] = (pair.0 * 10 + pair.1) as f32;
        }
    }
}

source! { updated_elements;
    fn run(bodies: &mut Tensor<Body, 1>) {
        for i in 0..bodies.len() {
            bodies[i] = Body { mass: bodies[i].mass + 1.0, ..bodies[i] };
        }
    }
}

fn numbers() -> Array<i32, 1> {
    Array::of(&(-3..14).collect::<Vec<_>>())
}

impl Same for Body {
    fn same(&self, other: &Self, _: f64) -> bool {
        self == other
    }
}

#[on_all_backends]
fn matches_is_a_match(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let out = Array::<i32, 2>::zeros([17, 6]);
    differential!(&on.program, matching[][numbers()][out]);
    Ok(())
}

#[on_all_backends]
fn loops_over_elements_take_them_in_order(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let out = Array::<f32, 2>::zeros([17, 6]);
    differential!(&on.program, elements[1.5][numbers()][out]);
    let (x, mut out) = (on.program.tensor_from(&[3, 4], [2])?, on.program.zeros([3])?);
    serial_elements(&x, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [354, 355, 356]);
    Ok(())
}

#[on_all_backends]
fn destructuring_assignments_evaluate_the_value_first(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (x, out) = (numbers(), Array::<i32, 2>::zeros([17, 7]));
    differential!(&on.program, swaps[][][x, out]);
    Ok(())
}

#[on_all_backends]
fn a_struct_update_takes_the_other_fields(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[0.5, -3.0, 8.25]);
    let out = Array::<f32, 2>::zeros([3, 4]);
    differential!(&on.program, updates[][x][out]);
    let body = |mass| Body { place: Vector([mass, 1.0]), mass, kind: (1, false) };
    let bodies = Array::of(&[body(1.0), body(2.5)]);
    differential!(&on.program, updated_elements[][][bodies]);
    Ok(())
}
