//! Tensors of one to three dimensions, their shapes, and the index spaces of loops.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

source! { two_dimensions;
    fn run(x: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>, sizes: &mut Tensor<usize, 1>) {
        let [h, w] = x.shape();
        sizes[0] = h * 100 + w;
        sizes[1] = x.len();
        let s = out.shape();
        sizes[2] = s[0] - s[1] + out.shape()[1] + s.len();
        for (i, j) in qd::ndrange(x.shape()) {
            out[[j, i]] = x[[i, j]];
        }
        for (i, j) in qd::ndrange((1..w - 1, 1..h - 1)) {
            out[[i, j]] = x[[j, i - 1]] + x[[j, i + 1]] + x[[j - 1, i]] + x[[j + 1, i]];
        }
    }
}

source! { three_dimensions;
    fn run(x: &Tensor<i32, 3>, out: &mut Tensor<i64, 3>, sums: &mut Tensor<i64, 2>) {
        for (k, i, j) in qd::ndrange(x.shape()) {
            out[[j, k, i]] = x[[k, i, j]] as i64 + (k * 100 + i * 10 + j) as i64;
        }
        let [_, h, _] = x.shape();
        for (k, i) in qd::ndrange([x.shape()[0], h]) {
            for j in 0..x.shape()[2] {
                sums[[k, i]] += x[[k, i, j]] as i64;
            }
        }
        for (k, i, j) in qd::ndrange((0..1, 1..2, 2..3)) {
            out[[j, k, i]] = -1;
        }
    }
}

source! { ranges;
    fn run(from: usize, to: usize, n: i32, out: &mut Tensor<i32, 2>) {
        for i in from..to {
            out[[0, i]] = 1;
        }
        for i in to..from {
            out[[1, i]] = 1;
        }
        for i in 7..7 {
            out[[2, i]] = 1;
        }
        for i in -3..n {
            out[[3, (i + 3) as usize]] = i * i;
        }
        for i in n..-3 {
            out[[4, (i + 90) as usize]] = i;
        }
        for i in qd::ndrange([from]) {
            out[[5, i]] = i as i32 + 1;
        }
        for i in qd::ndrange([from..to]) {
            out[[6, i]] = i as i32;
        }
        for (i, j) in qd::ndrange([7..9, 3..to]) {
            out[[i, j]] = (i * j) as i32;
        }
        for (i, j) in qd::ndrange([0..4, to..from]) {
            out[[i, j]] = 77;
        }
        for (i, j, k) in qd::ndrange([2, 3, 4]) {
            out[[9, i * 12 + j * 4 + k]] = (i * 100 + j * 10 + k) as i32;
        }
        for _ in 0..1 {
            out[[9, 30]] = 4;
        }
        for u in 5u32..9 {
            out[[9, 31 + u as usize]] = u as i32;
        }
    }
}

source! { bools;
    fn run(x: &Tensor<bool, 2>, out: &mut Tensor<bool, 2>, count: &mut Tensor<u32, 1>) {
        for (i, j) in qd::ndrange(x.shape()) {
            out[[i, j]] = !x[[i, j]] || j == 0;
            if x[[i, j]] {
                qd::atomic_add(&mut count[0], 1);
            }
        }
    }
}

source! { only_read;
    fn run(_unused: &Tensor<f64, 3>, read: &mut Tensor<i32, 1>, out: &mut Tensor<i32, 1>) {
        for i in 0..read.len() {
            out[i] = read[read.len() - 1 - i];
        }
    }
}

source! { gathered;
    fn run(x: &Tensor<f32, 1>, at: &Tensor<u32, 1>, rows: &Tensor<f32, 2>, out: &mut Tensor<f32, 1>) {
        for i in 0..at.len() {
            out[i] = x[at[i] as usize] + rows[[at[i] as usize % 2, (i * 7 + 1) % 3]];
        }
    }
}

fn ramp(n: usize) -> Vec<i32> {
    (0..n as i32).map(|i| (i * 37) % 101 - 50).collect()
}

#[on_all_backends]
fn tensors_of_two_and_three_dimensions_are_indexed(
    backend: TestBackend,
    #[values([5, 3, 4], [70, 3, 9], [1, 1, 3])] shape: [usize; 3],
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let [d, h, w] = shape;
    let plane: Vec<f32> = ramp(d * h).iter().map(|x| *x as f32).collect();
    let x = Array::new(&plane, [h, d]);
    let (out, sizes) = (Array::zeros([d, h]), Array::zeros([3]));
    differential!(&on.program, two_dimensions [] [x] [out, sizes]);
    let x = Array::new(&ramp(d * h * w), shape);
    let (out, sums) = (Array::zeros([w, d, h.max(2)]), Array::zeros([d, h]));
    differential!(&on.program, three_dimensions [] [x] [out, sums]);
    Ok(())
}

#[on_all_backends]
fn loops_run_over_ranges_and_shapes(
    backend: TestBackend,
    #[values((3, 40), (0, 1), (17, 17))] range: (usize, usize),
    #[values(-3, -2, 30)] n: i32,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let out = Array::zeros([10, 64]);
    differential!(&on.program, ranges [range.0, range.1, n] [] [out]);
    Ok(())
}

#[on_all_backends]
fn tensors_of_bools_are_read_and_written(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<bool> = (0..35).map(|i| i % 3 == 0).collect();
    let x = Array::new(&x, [5, 7]);
    let (out, count) = (Array::zeros([5, 7]), Array::zeros([1]));
    differential!(&on.program, bools [] [x] [out, count]);
    Ok(())
}

#[on_all_backends]
fn read_only_and_unused_tensors_are_allowed(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let unused = Array::zeros([2, 1, 2]);
    let (read, out) = (Array::of(&ramp(300)), Array::zeros([300]));
    differential!(&on.program, only_read [] [unused] [read, out]);
    Ok(())
}

#[on_all_backends]
fn indices_may_be_loaded_from_tensors(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<f32> = ramp(50).iter().map(|x| *x as f32).collect();
    let at: Vec<u32> = (0..200u32).map(|i| i * 31 % 50).collect();
    let (x, at) = (Array::of(&x), Array::of(&at));
    let rows = Array::new(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]);
    let out = Array::zeros([200]);
    differential!(&on.program, gathered [] [x, at, rows] [out]);
    Ok(())
}
