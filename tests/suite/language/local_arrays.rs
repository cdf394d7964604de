//! Local arrays and matrices with dynamic indices: the same results as plain Rust, in registers and in local memory,
//! and errors with index and shape.

#![allow(clippy::needless_range_loop)] // kernels index where plain Rust would iterate

use quadrants::{self as qd, Error, KernelErrorCause, KernelValue, Matrix, Tensor, Vector};
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use super::{Array, Same, differential, source};
use crate::errors::kernel_error;

/// Scalars of two types, so that an array of it is two arrays.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Cell {
    at: Vector<f32, 2>,
    count: u32,
    hit: bool,
}

/// A large part in local memory, the rest in registers.
#[derive(Clone, Copy, Debug, PartialEq, KernelValue)]
struct Stack {
    items: [i32; 40],
    len: usize,
}

#[qd::func]
impl Stack {
    fn push(&mut self, item: i32) {
        self.items[self.len] = item;
        self.len += 1;
    }

    fn pop(&mut self) -> i32 {
        self.len -= 1;
        self.items[self.len]
    }
}

#[qd::func]
fn sum_from(values: [i32; 20], from: usize) -> i32 {
    let mut sum = 0;
    for k in from..20 {
        sum += values[k];
    }
    sum
}

source! { histogram;
    fn run(x: &Tensor<u32, 1>, out: &mut Tensor<u32, 2>) {
        for i in 0..out.shape()[0] {
            let mut counts = [1u32; 32];
            let mut order = [0u16; 100];
            for k in 0..x.len() {
                let bin = (x[k] as usize + i) % 32;
                counts[bin] += 1;
                order[k % 100] = bin as u16;
            }
            let copy = counts;
            counts[3] = 0;
            for k in 0..32 {
                out[[i, k]] = counts[k] * 1000 + copy[(k + 5) % 32] + order[k * 3] as u32 * 100_000;
            }
        }
    }
}

const PRIMES: [i32; 20] =
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71];

#[qd::func]
fn prime(at: usize) -> i32 {
    PRIMES[at % 20]
}

source! { unrolled;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.len() {
            const STEPS: [[i32; 3]; 8] =
                [[1, 0, 2], [0, 3, 1], [2, 2, 2], [5, 1, 0], [1, 1, 4], [0, 0, 7], [3, 1, 1], [2, 6, 0]];
            // Sorted in registers by nested triangular loops, downwards in the second.
            let mut v = [0; 7];
            for k in 0..7 {
                v[6 - k] = (x[i] * (k as i32 + 3)) % 17;
            }
            for a in 0..6 {
                for b in (a + 1..7).rev() {
                    if v[b] < v[a] {
                        (v[a], v[b]) = (v[b], v[a]);
                    }
                }
            }
            // A loop that ends early, around one that does not.
            let mut w = [0; 18];
            let mut turns = 0;
            for round in 0..5 {
                for k in 0..6 {
                    w[3 * k + round % 3] += STEPS[(k + round) % 8][k % 3] * v[(k + round) % 7];
                }
                if w[17 - round] > 40 {
                    continue;
                }
                turns += 1;
                if w[round] > 90 {
                    break;
                }
            }
            // Table and arrays by indices from the device.
            let mut sum = 0;
            let mut at = x[i] as usize;
            while at > 0 {
                sum += prime(at) * w[at % 18] - STEPS[at % 8][at % 3];
                at /= 2;
            }
            for k in 0..18 {
                out[[i, k]] = w[k];
            }
            out[[i, 18]] = sum + turns;
            out[[i, 19]] = v[3] + if i % 2 == 0 { PRIMES[i % 20] } else { v[i % 7] };
        }
    }
}

source! { columns;
    fn run(first: usize, x: &Tensor<i32, 2>, out: &mut Tensor<i32, 2>) {
        for j in 0..x.shape()[1] {
            // Batches of loads: of any length, with a sum that the next index depends on, and with an empty range.
            let mut sum = 0;
            let mut largest = -1;
            for k in 0..x.shape()[0] {
                let value = x[[k, j]];
                sum = (sum * 3 + value) % 1009;
                largest = largest.max(value - sum % 5);
            }
            let mut chased = 0;
            for k in 1..x.shape()[0] {
                chased += x[[(k + chased as usize) % 19, j]] % 7;
            }
            let mut tail = 0;
            for k in first..x.shape()[0] {
                tail += x[[k, j]] * k as i32;
            }
            let mut none = 5;
            for k in 30..x.shape()[0] {
                none += x[[k, j]];
            }
            out[[0, j]] = sum;
            out[[1, j]] = largest + chased;
            out[[2, j]] = tail;
            out[[3, j]] = none;
        }
    }
}

source! { sorted;
    fn run(x: &Tensor<i32, 2>, out: &mut Tensor<i32, 2>) {
        for i in 0..x.shape()[0] {
            let mut values = [0; 24];
            for k in 0..24 {
                values[k] = x[[i, k]];
            }
            for k in 1..24 {
                let mut at = k;
                while at > 0 && values[at - 1] > values[at] {
                    (values[at - 1], values[at]) = (values[at], values[at - 1]);
                    at -= 1;
                }
            }
            for k in 0..24 {
                out[[i, k]] = values[k];
            }
        }
    }
}

source! { cells;
    fn run(x: &Tensor<u32, 1>, out: &mut Tensor<f32, 2>) {
        for i in 0..out.shape()[0] {
            let mut cells = [Cell { at: Vector([0.5, 1.5]), count: 2, hit: true }; 18];
            for k in 0..x.len() {
                let c = x[k] as usize % 18;
                cells[c].at[k % 2] += k as f32;
                cells[c].count += i as u32;
                cells[17 - c].hit = k % 3 == 0;
                if c == i {
                    cells[c] = Cell { count: 9, ..cells[17 - c] };
                }
            }
            for k in 0..18 {
                let Cell { at, count, hit } = cells[k];
                out[[i, k]] = at[0] + at[1] * 100.0 + count as f32 * 0.5 + if hit { 0.25 } else { 0.0 };
            }
        }
    }
}

source! { matrices;
    fn run(m: Matrix<f32, 6, 5>, x: &Tensor<u32, 1>, out: &mut Tensor<f32, 1>) {
        for i in 0..x.len() {
            let (r, c) = (x[i] as usize % 6, x[i] as usize % 5);
            let mut copy = m;
            let mut small = Matrix([[1.0f32, 2.0], [3.0, 4.0]]);
            let mut nested = [[0.5f32; 7]; 5];
            copy[[r, c]] += 10.0;
            copy[[2, c]] *= 2.0;
            small[[r % 2, c % 2]] += 1.0;
            nested[c][r] = copy[[r, 1]];
            nested[1][2] -= 1.0;
            nested[c] = [nested[c][r]; 7];
            let row = nested[4 - c];
            out[i] = copy[[5 - r, 4 - c]] + small[[0, c % 2]] + nested[c][6] + row[r] + m[[r, c]];
        }
    }
}

source! { stacks;
    fn run(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 1>) {
        for i in 0..out.len() {
            let mut stack = Stack { items: [-1; 40], len: 0 };
            for k in 0..x.len() {
                if x[k] % 3 != 0 {
                    stack.push(x[k]);
                } else if stack.len > 1 {
                    let (a, b) = (stack.pop(), stack.pop());
                    stack.push(a * 2 + b);
                }
            }
            let mut first = [0; 20];
            for k in 0..20 {
                first[k] = stack.items[k * 2];
            }
            out[i] = stack.pop() * 100 + stack.len as i32 + sum_from(first, i);
        }
    }
}

source! { large;
    fn run(x: &Tensor<u32, 1>, out: &mut Tensor<f32, 1>) {
        for i in 0..out.len() {
            let mut table = [[1.5f32; 64]; 40];
            let mut seen = [false; 3000];
            for k in 0..x.len() {
                let (a, b) = (x[k] as usize % 40, (x[k] as usize + i) % 64);
                table[a][b] += k as f32;
                table[39][63] += 1.0;
                seen[a * 64 + b] = true;
            }
            let mut sum = 0.0;
            for k in 0..64 {
                sum += table[(k + i) % 40][k];
                if seen[k * 40] {
                    sum += 1000.0;
                }
            }
            out[i] = sum;
        }
    }
}

#[on_all_backends]
fn dynamic_indices_of_local_arrays_match_plain_rust(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&(0..50).map(|i| i * 7919 % 4001).collect::<Vec<u32>>());
    let out = Array::zeros([9, 32]);
    differential!(&on.program, histogram [] [x] [out]);
    let out = Array::zeros([9, 18]);
    differential!(&on.program, cells [] [x] [out]);
    let mut m = Matrix([[0.0; 5]; 6]);
    (0..30).for_each(|i| m[[i / 5, i % 5]] = i as f32);
    let out = Array::zeros([50]);
    differential!(&on.program, matrices[m][x][out]);
    let out = Array::zeros([7]);
    differential!(&on.program, large [] [x] [out]);
    let x = Array::of(&(0..50).map(|i| i * 7919 % 401).collect::<Vec<i32>>());
    let out = Array::zeros([9]);
    differential!(&on.program, stacks [] [x] [out]);
    let x = Array::of(&(0..300).map(|i| i * 7919 % 1013).collect::<Vec<i32>>());
    let out = Array::zeros([300, 20]);
    differential!(&on.program, unrolled [] [x] [out]);
    let x = Array::new(&(0..190).map(|i| i * 7919 % 113).collect::<Vec<i32>>(), [19, 10]);
    let out = Array::zeros([4, 10]);
    differential!(&on.program, columns[7][x][out]);
    let rows = Array::new(&(0..120).map(|i| i * 7919 % 113).collect::<Vec<i32>>(), [5, 24]);
    let out = Array::zeros([5, 24]);
    differential!(&on.program, sorted [] [rows] [out]);
    Ok(())
}

/// Serial code, and a table that several loops use.
#[qd::kernel]
fn in_tasks(at: usize, x: &mut Tensor<u32, 1>) -> u32 {
    let mut shared = [3u32; 20];
    shared[at] = 7;
    let mut table = [0u32; 200];
    #[qd::serial]
    for k in 0..200 {
        table[k] = (k * k) as u32;
    }
    let picked = table[at + 1];
    for i in 0..x.len() {
        x[i] = shared[i % 20] + picked;
    }
    for i in 0..x.len() {
        let mut own = [0u32; 17];
        own[i % 17] = shared[(i + 1) % 20];
        x[i] += own[at % 17] * 100;
    }
    let mut last = [picked; 30];
    last[at] += 1;
    last[at] * 10 + last[at + 1]
}

#[on_all_backends]
fn arrays_of_serial_code_are_visible_to_later_loops(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = on.program.zeros::<u32, 1>([40])?;
    assert_eq!(in_tasks(5, &mut x).launch()?, 37 * 10 + 36);
    let shared = |i: usize| if i % 20 == 5 { 7 } else { 3 };
    let expected: Vec<u32> = (0..40)
        .map(|i| shared(i) + 36 + if i % 17 == 5 { shared(i + 1) * 100 } else { 0 })
        .collect();
    assert_eq!(x.to_vec()?, expected);
    Ok(())
}

/// Arrays in thread blocks: of all threads outside of phases, and of one thread in a phase.
#[qd::kernel]
fn in_blocks(x: &Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let mut last = b.shared::<u32>(32);
        let weights = [2u32; 24];
        b.each(|t| {
            let mut counts = [0u32; 33];
            for k in 0..32 {
                counts[x[b.index() * 32 + k] as usize % 33] += weights[(k + t) % 24];
            }
            last[t] = counts[t];
        });
        b.each(|t| out[b.index() * 32 + t] = last[31 - t] + weights[t % 24]);
    });
}

#[on_all_backends]
fn thread_blocks_have_local_arrays(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<u32> = (0..64).map(|i| i * 7919 % 1009).collect();
    let x = on.program.tensor_from(&values, [64])?;
    let mut out = on.program.zeros([64])?;
    in_blocks(&x, &mut out).launch()?;
    let count = |b: usize, t: usize| {
        values[b * 32..][..32].iter().filter(|v| **v as usize % 33 == t).count() as u32
    };
    let expected: Vec<u32> = (0..64).map(|i| count(i / 32, 31 - i % 32) * 2 + 2).collect();
    assert_eq!(out.to_vec()?, expected);
    Ok(())
}

#[qd::kernel]
fn beyond(of: u32, at: usize, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        let mut small = [0.0f32; 4];
        let mut long = [0.0f32; 100];
        let mut m = Matrix([[0.0f32; 3]; 7]);
        let mut nested = [[0.0f32; 3]; 50];
        if of == 0 {
            small[at] = 1.0;
        }
        if of == 1 {
            long[at] = 1.0;
        }
        if of == 2 {
            m[[at, 1]] = 1.0;
        }
        if of == 3 {
            nested[1][at] = 1.0;
        }
        if of == 4 {
            out[i] = long[at + 1];
        }
        out[i] = small[0] + long[1] + m[[i % 7, i % 3]] + nested[i % 50][0] + 1.0;
    }
}

#[on_all_backends]
fn an_index_out_of_range_of_a_local_array_names_index_and_extents(
    backend: TestBackend,
    #[values(0, 1, 2, 3, 4)] of: u32,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<f32, 1>([3])?;
    let (name, index, shape): (_, Vec<u64>, Vec<u64>) = match of {
        0 => ("small", vec![4], vec![4]),
        1 => ("long", vec![100], vec![100]),
        2 => ("m", vec![7, 1], vec![7, 3]),
        3 => ("nested[]", vec![3], vec![3]),
        _ => ("long", vec![100], vec![100]),
    };
    let at = index[0] as usize - usize::from(of == 4);
    beyond(of, at - 1, &mut out).launch()?;
    on.program.sync()?;
    let launched = beyond(of, at, &mut out).launch();
    let error = kernel_error(launched, || on.program.sync());
    let cause = KernelErrorCause::IndexOutOfRange { tensor: name.into(), index, shape };
    assert_eq!(error.cause, cause);
    assert_eq!(error.kernel, "beyond");
    Ok(())
}

#[qd::kernel]
fn too_large(out: &mut Tensor<f64, 1>) {
    for i in 0..out.len() {
        let mut a = [1.0f64; 9000];
        a[i] = 2.0;
        out[i] = a[8999 - i] + a[i];
    }
}

#[on_gpu_backends]
fn a_limit_of_gpus_is_named(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros([3])?;
    let Err(Error::LocalMemory { kernel, bytes, limit }) = too_large(&mut out).launch() else {
        panic!("launched")
    };
    assert_eq!((kernel.as_str(), bytes, limit), ("too_large", 72_000, 65_536));
    Ok(())
}

#[test]
fn the_cpu_has_no_limit() -> quadrants::Result<()> {
    let program = quadrants::Program::open(quadrants::Arch::Cpu)?;
    let mut out = program.zeros([3])?;
    too_large(&mut out).launch()?;
    assert_eq!(out.to_vec()?, [3.0; 3]);
    Ok(())
}
