//! Parallel loops under a condition at the top level, and `return` before them.

#![allow(unreachable_code, unused_unsafe)] // loops after a `return`; plain Rust needs no `unsafe` for arrays

use quadrants::{self as qd, Error, KernelValue, Program, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

#[derive(Clone, Copy, PartialEq, Debug, KernelValue)]
enum Mode {
    Fill,
    Double,
    Reverse,
}

// A condition of launch arguments. The range of the loop would wrap where the condition is false.
source! { by_argument;
    fn run(on: bool, n: usize, x: &mut Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
        if n > 0 {
            for i in 0..n - 1 {
                x[i] += 1;
            }
        }
        if on {
            for i in 0..y.len() {
                y[i] = x[i] * 2;
            }
            y[0] += 100;
            for i in 0..x.len() {
                x[i] -= 1;
            }
        } else {
            for i in 0..x.len() {
                x[i] = -x[i];
            }
        }
    }
}

// Conditions of what the device knows: an element, which the loop then writes, and a result of an earlier loop.
source! { by_element;
    fn run(limit: i32, x: &mut Tensor<i32, 1>, y: &mut Tensor<i32, 1>) -> i32 {
        if x[0] > 0 {
            for i in 0..x.len() {
                x[i] = 7 * i as i32;
            }
        }
        let mut sum = 0;
        for i in 0..x.len() {
            sum += x[i];
        }
        if sum > limit {
            let first = x[1];
            for i in 0..y.len() {
                y[i] += first;
            }
        } else if sum == limit {
            for i in 0..y.len() {
                y[i] -= 1;
            }
        } else {
            y[1] = -5;
        }
        sum
    }
}

// What serial code defines under a condition: from tensors, by divisions that may fail, in locals that change.
source! { locals;
    fn run(parts: u32, x: &Tensor<u32, 1>, y: &mut Tensor<u32, 1>) -> u32 {
        let mut total = 1;
        if parts > 0 {
            let share = x.len() as u32 / parts;
            let mut from = x[0] % parts;
            if from == 1 {
                from = 2;
            }
            let table = [3, 5, 7];
            let picked = table[from as usize % 3];
            for i in from..x.len() as u32 {
                y[i as usize] = share + picked;
            }
            from += 1;
            let mut sum: u8 = 0;
            for i in from..x.len() as u32 {
                total += y[i as usize];
                sum += x[i as usize] as u8;
            }
            total += from + sum as u32;
        }
        {
            let more = total + 1;
            for i in 0..y.len() {
                y[i] += more;
            }
        }
        total
    }
}

source! { matched;
    fn run(mode: Mode, k: i32, x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
        match mode {
            Mode::Fill => for i in 0..y.len() {
                y[i] = k;
            },
            Mode::Double => {
                for i in 0..y.len() {
                    y[i] = 2 * x[i];
                }
            }
            Mode::Reverse if k > 3 => {}
            _ => {
                let n = x.len();
                for i in 0..n {
                    y[n - 1 - i] = x[i];
                }
            }
        }
        match (k, x[0]) {
            (0, v) | (v, 0) if v > 0 => {
                for i in 0..y.len() {
                    y[i] += v;
                }
            }
            (1 | 2, _) => {
                for i in 0..y.len() {
                    y[i] *= 3;
                }
            }
            _ => {}
        }
        if let 4..=6 = k {
            for i in 0..y.len() {
                y[i] -= k;
            }
        }
    }
}

source! { nested;
    fn run(a: i32, b: usize, x: &Tensor<i32, 1>, y: &mut Tensor<i32, 2>) {
        let [h, w] = y.shape();
        if a > 0 {
            if x[b] > 0 {
                for (i, j) in qd::ndrange([h, w]) {
                    y[[i, j]] = 1;
                }
            } else {
                if x[b] < -1 {
                    for (i, j) in qd::ndrange([h - 1, w - 1]) {
                        y[[i + 1, j]] = 2;
                    }
                }
                for i in (0..h).step_by(2) {
                    y[[i, 0]] += 10;
                }
            }
            for i in (1..=h - 1).rev() {
                y[[i, 1]] += 100;
            }
        }
    }
}

source! { stops;
    fn run(n: usize, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) -> f32 {
        if n == 0 {
            return -1.0;
        }
        let mut sum = 0.0;
        for i in 0..n {
            sum += x[i];
        }
        if sum < 0.0 {
            y[0] = 9.0;
            return sum;
        }
        for i in 0..n {
            y[i] = x[i] + 1.0;
        }
        let mean = sum / n as f32;
        if mean > 10.0 {
            return mean;
        }
        for i in 0..n {
            y[i] += 2.0;
        }
        sum
    }
}

source! { stops_in_loop;
    fn run(limit: i32, x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
        let mut steps = 0;
        for i in 0..y.len() {
            y[i] = 1;
        }
        while steps < 10 {
            if x[steps] == limit {
                return;
            }
            steps += 1;
        }
        let kind = match x[0] {
            0 => 5,
            1 => return,
            v if v > 3 => v,
            _ => {
                y[0] = 50;
                return;
            }
        };
        for i in 0..y.len() {
            y[i] += kind;
        }
        if kind > 7 {
            if x[1] == 2 {
                return;
            }
            y[1] = -1;
        } else {
            return;
        }
        for i in 0..y.len() {
            y[i] *= 2;
        }
    }
}

// A condition that returns, after the last loop; and many returns before it.
source! { many_returns;
    fn run(n: i32, x: &mut Tensor<i32, 1>) -> i32 {
        if n == 1 {
            return 1;
        }
        if n == 2 {
            return 2;
        }
        if n == 3 {
            return 3;
        }
        if n == 4 {
            return 4;
        }
        if n == 5 {
            return 5;
        }
        if n == 6 {
            return 6;
        }
        if n == 7 {
            return 7;
        }
        if n == 8 {
            return 8;
        }
        if n == 9 {
            return 9;
        }
        if n == 10 {
            return 10;
        }
        if n == 11 {
            return 11;
        }
        if n == 12 {
            return 12;
        }
        if n == 13 {
            return 13;
        }
        if n == 14 {
            return 14;
        }
        if n == 15 {
            return 15;
        }
        if n == 16 {
            return 16;
        }
        if n == 17 {
            return 17;
        }
        if n == 18 {
            return 18;
        }
        if n == 19 {
            return 19;
        }
        for i in 0..x.len() {
            x[i] += n;
        }
        if n > 30 || (if n == 30 { return x[1] } else { n == 29 }) {
            x[0] = 5;
        }
        x[0]
    }
}

source! { whole_value;
    fn run(n: usize, x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) -> i32 {
        if n > 2 {
            let mut most = i32::MIN;
            for i in 0..n {
                most = most.max(x[i]);
            }
            for i in 0..n {
                y[i] = most;
            }
            most
        } else if n == 2 {
            for i in 0..n {
                y[i] = -1;
            }
            return x[1];
        } else {
            0
        }
    }
}

// A step of Gauss-Jordan elimination: the pivot is chosen in the tensor that the kernel writes.
source! { eliminate;
    fn run(k: usize, a: &mut Tensor<f64, 2>, factors: &mut Tensor<f64, 1>) -> bool {
        let [n, w] = a.shape();
        let mut best = -1.0;
        let mut row = k;
        for i in k..n {
            if a[[i, k]].abs() > best {
                best = a[[i, k]].abs();
                row = i;
            }
        }
        if best < 1e-9 {
            return false;
        }
        if row != k {
            for j in 0..w {
                let t = a[[k, j]];
                a[[k, j]] = a[[row, j]];
                a[[row, j]] = t;
            }
        }
        let pivot = a[[k, k]];
        for j in 0..w {
            a[[k, j]] /= pivot;
        }
        for i in 0..n {
            factors[i] = a[[i, k]];
        }
        for (i, j) in qd::ndrange([n, w]) {
            if i != k {
                a[[i, j]] -= factors[i] * a[[k, j]];
            }
        }
        true
    }
}

source! { never;
    fn run(x: &mut Tensor<i32, 1>) -> i32 {
        for i in 0..x.len() {
            x[i] += 1;
        }
        return x[0];
        for i in 0..x.len() {
            x[i] += 10;
        }
        x[1]
    }
}

// The host knows that the bounds do not matter where they wrap, although the device has the other condition.
source! { known_in_part;
    fn run(n: usize, x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
        if n > 0 && x[0] > 0 {
            for i in 0..n - 1 {
                y[i] += 1;
            }
        } else {
            for i in 0..y.len() {
                y[i] -= 1;
            }
        }
        if n == 0 {
            return;
        }
        if x[n] > 0 {
            for i in (0..n - 1).rev() {
                y[i] += 10;
            }
        }
    }
}

const WIDE: bool = false;

source! { by_constant;
    fn run(x: &mut Tensor<i32, 1>) {
        if WIDE {
            for i in 0..x.len() {
                x[i] += 1;
            }
        } else {
            for i in 0..x.len() {
                x[i] += 2;
            }
        }
        if cfg!(target_os = "none") {
            for i in 0..x.len() {
                x[i] += 4;
            }
        }
        for i in 0..x.len() {
            x[i] *= 3;
        }
    }
}

// `unsafe` at the top level, also in branches, with sums and serial code.
source! { asserted;
    fn run(on: bool, at: &Tensor<u32, 1>, x: &mut Tensor<i32, 1>, y: &mut Tensor<i32, 1>) -> i32 {
        let mut sum = 0;
        // SAFETY: `at` is a permutation.
        unsafe {
            let first = x[0];
            for i in 0..at.len() {
                x[at[i] as usize] = i as i32 + first;
            }
            for i in 0..x.len() {
                sum += x[i];
            }
            if on {
                for i in 0..at.len() {
                    y[at[i] as usize] += 2;
                }
            } else {
                // SAFETY: as above.
                unsafe {
                    for i in 0..at.len() {
                        y[at[i] as usize] -= 1;
                    }
                }
                return -sum;
            }
            y[0] = 100;
        }
        for i in 0..y.len() {
            y[i] += 1;
        }
        sum
    }
}

#[on_all_backends]
fn loops_in_unsafe_are_parallel(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let at = Array::of(&(0..300).map(|i| i * 7 % 300).collect::<Vec<u32>>());
    for on_or_off in [false, true] {
        let (x, y) = (Array::of(&[3; 300]), Array::of(&[5; 300]));
        differential!(&on.program, asserted [on_or_off] [at] [x, y]);
    }
    Ok(())
}

fn argument_conditions(program: &Program) -> qd::Result<()> {
    let numbers: Vec<i32> = (0..300).collect();
    for (on, n) in [(false, 0), (true, 0), (true, 5), (false, 300)] {
        let (x, y) = (Array::of(&numbers), Array::zeros([200]));
        differential!(program, by_argument [on, n] [] [x, y]);
    }
    Ok(())
}

#[on_all_backends]
fn loops_run_under_conditions_of_arguments(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    argument_conditions(&on.program)?;
    for parts in [0, 1, 3, 20] {
        let (x, y) = (Array::of(&[4, 1, 2, 3, 4, 5, 6, 7, 8, 9]), Array::of(&[1; 10]));
        differential!(&on.program, locals[parts][x][y]);
    }
    for mode in [Mode::Fill, Mode::Double, Mode::Reverse] {
        for k in 0..8 {
            for first in [0, 3] {
                let (x, y) = (Array::of(&[first, 2, -3, 4]), Array::of(&[9; 4]));
                differential!(&on.program, matched [mode, k] [x] [y]);
            }
        }
    }
    let x = Array::of(&[1, 2]);
    differential!(&on.program, by_constant [] [] [x]);
    let x = Array::of(&[1, 2]);
    differential!(&on.program, never [] [] [x]);
    Ok(())
}

#[on_all_backends]
fn loops_run_under_conditions_of_elements(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for limit in [-100, 3, 10_000] {
        for first in [-4, 0, 1] {
            let (x, y) = (Array::of(&[first, 2, 1 - first]), Array::of(&[5; 40]));
            differential!(&on.program, by_element [limit] [] [x, y]);
        }
    }
    for n in 0..3 {
        for first in [0, 1] {
            let (x, y) = (Array::of(&[first, 4, 0]), Array::of(&[3; 6]));
            differential!(&on.program, known_in_part[n][x][y]);
        }
    }
    for a in [0, 1] {
        for b in 0..3 {
            let (x, y) = (Array::of(&[1, 0, -5]), Array::zeros([7, 40]));
            differential!(&on.program, nested [a, b] [x] [y]);
        }
    }
    Ok(())
}

#[on_all_backends]
fn a_return_skips_the_loops_after_it(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for n in [0, 1, 2, 4] {
        for scale in [-1.0, 1.0, 100.0] {
            let x = Array::of(&[1.0, 2.0, 3.0, 4.0].map(|x: f32| x * scale));
            let y = Array::of(&[0.5; 4]);
            differential!(&on.program, stops[n][x][y]);
        }
    }
    for limit in [-1, 7, 11] {
        for first in [0, 1, 2, 5, 9] {
            for second in [2, 3] {
                let mut x = [0, second, 2, 3, 4, 5, 6, 7, 8, 9];
                x[0] = first;
                let (x, y) = (Array::of(&x), Array::of(&[3; 6]));
                differential!(&on.program, stops_in_loop[limit][x][y]);
            }
        }
    }
    let start: Vec<f64> = (0..20).map(|k| f64::from(k * k * 17 % 23 - 11)).collect();
    for scale in [0.0, 1.0] {
        let elements: Vec<f64> = start.iter().map(|x| x * scale).collect();
        let mut a = Array::new(&elements, [4, 5]);
        for k in 0..4 {
            let factors = Array::of(&[0.0; 4]);
            let before = a.clone();
            eliminate::host::run(k, &mut a, &mut factors.clone());
            differential!(&on.program, eliminate [k] [] [before, factors] within 1e-12);
        }
    }
    for n in 0..33 {
        let x = Array::of(&[4, 9, 2, 1]);
        differential!(&on.program, many_returns [n] [] [x]);
    }
    for n in 0..2 {
        let x = Array::of(&[4, 9, 2, 1]);
        differential!(&on.program, loop_in_value [n] [] [x]);
    }
    for n in 0..5 {
        let (x, y) = (Array::of(&[4, 9, 2, 1]), Array::of(&[3; 6]));
        differential!(&on.program, whole_value[n][x][y]);
    }
    Ok(())
}

#[qd::kernel]
fn chosen_blocks(on: bool, x: &Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    if on && x[0] > 0 {
        qd::block_for(x.len().div_ceil(64), 64, |block| {
            let mut part = block.shared::<u32>(64);
            block.each(|t| {
                let i = block.index() * 64 + t;
                part[t] = if i < x.len() { x[i] } else { 0 };
            });
            block.each(|t| {
                let i = block.index() * 64 + t;
                if i < y.len() {
                    y[i] = part[63 - t];
                }
            });
        });
    }
}

#[on_all_backends]
fn a_grid_of_thread_blocks_runs_under_a_condition(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for (first, chosen) in [(1, false), (0, true), (1, true)] {
        let x: Vec<u32> = (0..128).map(|i| if i == 0 { first } else { i }).collect();
        let mut y = on.program.zeros([128])?;
        chosen_blocks(chosen, &on.program.tensor_from(&x, [128])?, &mut y).launch()?;
        let reversed = |i: usize| x[i / 64 * 64 + 63 - i % 64];
        let runs = chosen && first > 0;
        let expected: Vec<u32> = (0..128).map(|i| if runs { reversed(i) } else { 0 }).collect();
        assert_eq!(y.to_vec()?, expected, "{first} {chosen}");
    }
    Ok(())
}

#[qd::kernel]
fn chosen_streams(mode: u32, x: &mut Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        if mode == 1 {
            for i in 0..x.len() {
                x[i] += 1;
            }
        } else {
            x[0] = 9;
            for i in 1..x.len() {
                x[i] += x[0];
            }
        }
    });
    qd::stream_parallel(|| {
        if y[0] > 2 {
            for i in 0..y.len() {
                y[i] = mode;
            }
        }
    });
}

#[on_all_backends]
fn loops_in_streams_run_under_conditions(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for (mode, first) in [(1, 3), (0, 3), (1, 2)] {
        let mut x = on.program.zeros([100])?;
        let mut y = on.program.tensor_from(&[first, 0, 0], [3])?;
        for _ in 0..3 {
            chosen_streams(mode, &mut x, &mut y).launch()?;
        }
        let last = if mode == 1 { 3 } else { 27 };
        assert_eq!(x.to_vec()?[1..], [last; 99]);
        assert_eq!(y.to_vec()?[1], if first > 2 { mode } else { 0 });
    }
    Ok(())
}

// The branches are the value of a block.
#[qd::kernel]
fn last_in_stream(x: &Tensor<i32, 1>, f: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        if x[0] > 5 && x[1] > 5 {
            for i in 0..y.len() {
                y[i] = f[0];
            }
        } else {
            for i in 0..y.len() {
                y[i] = f[i];
            }
        }
    });
}

#[on_all_backends]
fn each_branch_is_proven_or_checked(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let f = on.program.tensor_from(&[1.0, 2.0], [2])?;
    let mut y = on.program.zeros([50])?;
    for (first, is_in_range) in [(1, false), (9, true)] {
        let x = on.program.tensor_from(&[first, 9], [2])?;
        let launched =
            last_in_stream(&x, &f, &mut y).launch().and_then(|()| on.program.device_sync());
        match launched {
            Ok(()) => assert!(is_in_range),
            Err(Error::Kernel(_)) => assert!(!is_in_range),
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(y.to_vec()?, [1.0; 50]);
    Ok(())
}

// A loop under a condition is one task of many threads, and none where the host knows that it does not run.
#[qd::kernel]
fn rows(on: bool, [h, w]: [usize; 2], row: usize, x: &mut Tensor<f32, 1>) {
    if on {
        for (i, j) in qd::ndrange([h, w]) {
            x[i * row + j] = 1.0;
        }
    }
}

#[on_all_backends]
fn the_race_check_knows_conditions_of_arguments(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = on.program.zeros([500])?;
    rows(true, [4, 100], 100, &mut x).launch()?;
    // Rows of 100 elements overlap at a distance of 99, unless the loop does not run.
    rows(false, [4, 100], 99, &mut x).launch()?;
    match rows(true, [4, 100], 99, &mut x).launch() {
        Err(Error::Race { .. }) => {}
        other => panic!("{other:?}"),
    }
    let text = rows(true, [4, 100], 100, &mut x).explain(&on.program)?.to_string();
    assert!(text.contains(": loop"), "{text}");
    assert!(!text.contains("serial"), "{text}");
    Ok(())
}

// The distance of rows is computed under a condition, and by a branch that may return.
#[qd::kernel]
fn rows_by_parts(h: usize, k: usize, y: &mut Tensor<f32, 1>) {
    if k > 3 {
        let w = k * 2 / (k - 3);
        for i in 0..h {
            for j in 0..8 {
                y[i * w + j] = i as f32;
            }
        }
    }
}

#[qd::kernel]
fn rows_by_mode(h: usize, k: usize, y: &mut Tensor<f32, 1>) {
    let w = match k {
        0 => 8,
        1 => return,
        other => other,
    };
    for i in 0..h {
        for j in 0..8 {
            y[i * w + j] = i as f32;
        }
    }
}

#[on_all_backends]
fn the_race_check_follows_values_of_branches(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut y = on.program.zeros([200])?;
    let accepted = |launched: qd::Result<()>| match launched {
        Ok(()) => true,
        Err(Error::Race { .. }) => false,
        Err(other) => panic!("{other:?}"),
    };
    for k in 0..12 {
        // Not launched, launched with rows of 8 elements, and refused.
        assert_eq!(accepted(rows_by_parts(10, k, &mut y).launch()), k <= 4, "{k}");
        assert_eq!(accepted(rows_by_mode(10, k, &mut y).launch()), !(2..8).contains(&k), "{k}");
    }
    on.program.sync()
}

// A loop in a value is serial, although the value may return.
source! { loop_in_value;
    fn run(n: i32, x: &mut Tensor<i32, 1>) -> i32 {
        let last = if n > 0 {
            let mut last = 0;
            for i in 1..x.len() {
                x[i] += x[i - 1];
                last = x[i];
            }
            last
        } else {
            return -1;
        };
        for i in 0..x.len() {
            x[i] -= last;
        }
        last
    }
}

#[qd::kernel]
fn out_of_range(n: usize, at: &Tensor<u32, 1>, x: &Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    let k = at[0] as usize;
    if k < x.len() {
        let first = x[k];
        for i in 0..n {
            y[i] = x[k] + first;
        }
    }
}

#[on_all_backends]
fn what_a_condition_excludes_raises_no_error(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[1, 2, 3], [3])?;
    let mut y = on.program.zeros([50])?;
    for (k, expected) in [(2, 6), (3, 6), (u32::MAX, 6), (0, 2)] {
        let at = on.program.tensor_from(&[k], [1])?;
        out_of_range(50, &at, &x, &mut y).launch()?;
        on.program.sync()?;
        assert_eq!(y.to_vec()?, [expected; 50], "{k}");
    }
    // An index of the loop itself is checked, only where the loop runs.
    let at = on.program.tensor_from(&[9], [1])?;
    out_of_range(51, &at, &x, &mut y).launch()?;
    on.program.sync()?;
    let at = on.program.tensor_from(&[1], [1])?;
    let failed = out_of_range(51, &at, &x, &mut y).launch().and_then(|()| on.program.sync());
    assert!(matches!(failed, Err(Error::Kernel(_))), "{failed:?}");
    Ok(())
}
