//! Tensors of zero to six dimensions.

use quadrants::{self as qd, Error, KernelErrorCause, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

source! { scalar;
    fn run(x: &Tensor<i32, 1>, scale: &Tensor<i32, 0>, total: &mut Tensor<i32, 0>) -> i32 {
        total[[]] = 3;
        for i in 0..x.len() {
            qd::atomic_add(&mut total[[]], x[i] * scale[[]]);
        }
        total[[]] += scale.len() as i32;
        total[[]] * 2
    }
}

source! { high;
    fn run(x: &Tensor<i32, 4>, y: &mut Tensor<i32, 5>, z: &mut Tensor<i64, 6>) {
        let [a, b, c, d] = x.shape();
        for (i, j, k) in qd::ndrange([a, b, c]) {
            for l in 0..d {
                y[[i, j, k, l, 1]] = x[[i, j, k, l]] + l as i32;
                z[[i, 0, j, k, 1, l]] += x[[i, j, k, l]] as i64 * z.shape()[4] as i64;
            }
        }
        for i in 0..1 {
            z[[i, 1, 0, 0, 0, 0]] = x.len() as i64 + y.len() as i64 + z.len() as i64;
        }
    }
}

source! { many_dimensions;
    fn run(x: &Tensor<i32, 4>, y: &mut Tensor<i32, 5>, z: &mut Tensor<i64, 6>, sums: &mut Tensor<i64, 1>) {
        let [a, b, c, d] = x.shape();
        for (i, j, k, l) in qd::ndrange(x.shape()) {
            if x[[i, j, k, l]] == 7 {
                continue;
            }
            y[[i, j, k, l, 1]] = x[[i, j, k, l]] + l as i32;
        }
        for (i, j, k, l, m) in qd::ndrange((0..a, 1..b, 0..c, 1..d - 1, 0..2)) {
            y[[i, j, k, l, m]] += (i * 1000 + j * 100 + k * 10 + l) as i32 + m as i32;
        }
        'all: for (i, j, k, l, m, n) in qd::ndrange([2, 2, b, c, 2, d]) {
            for q in 0..3 {
                if q == 1 && l == 2 {
                    continue 'all;
                }
                z[[i, j, k, l, m, n]] += (i + 2 * j + 3 * k + 5 * l + 7 * m + 11 * n + q) as i64;
            }
        }
        for t in 0..1 {
            let mut sum = 0;
            for (i, j, k, l, m) in qd::ndrange(y.shape()) {
                sum = sum * 3 + y[[i, j, k, l, m]] as i64 % 7 + (m as i64);
                sum %= 1_000_003;
            }
            for (i, _, _, l) in qd::ndrange((t..2, 0..2, 3..4, 1..3)) {
                sum += i as i64 * 10 + l as i64;
            }
            sums[t] = sum;
        }
    }
}

source! { tuples_of_extents;
    fn run(x: &Tensor<i32, 4>, y: &mut Tensor<i32, 4>, found: &mut Tensor<i64, 1>) {
        let [a, b, c, d] = x.shape();
        for (i, j) in qd::ndrange((a, b)) {
            y[[i, j, 0, 0]] = x[[i, j, 0, 0]] + 1;
        }
        for (i, j, k) in qd::ndrange((a, b, c)) {
            y[[i, j, k, 1]] = 2 * x[[i, j, k, 1]];
        }
        for (i, j, k, l) in qd::ndrange((a, b, c - 1, d)) {
            y[[i, j, k, l]] += x[[i, j, k, l]];
        }
        let mut best = i32::MIN;
        let mut at = (0, 0);
        for (i, j) in qd::ndrange((a, b)) {
            if x[[i, j, 1, 1]] > best {
                best = x[[i, j, 1, 1]];
                at = (i, j);
            }
        }
        let mut sum = 0;
        for (i, j, k) in qd::ndrange((2, b, c)) {
            sum += x[[i, j, k, 2]] as i64;
        }
        for t in 0..1 {
            let mut inner = 0;
            for (i, j) in qd::ndrange((3, 5u8)) {
                inner += (i * j) as i64;
            }
            found[t] = best as i64 * 10000 + (at.0 * 10 + at.1) as i64 + sum + inner;
        }
    }
}

#[qd::kernel]
fn side_by_side(x: &mut Tensor<u32, 4>, y: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        for (i, j, k, l) in qd::ndrange(x.shape()) {
            x[[i, j, k, l]] = (i * 1000 + j * 100 + k * 10 + l) as u32;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..y.len() {
            y[i] = 3;
        }
    });
}

#[qd::kernel]
fn corner(at: &Tensor<usize, 1>, x: &mut Tensor<u32, 6>) {
    for i in 0..1 {
        x[[i, at[0], at[1], at[2], at[3], at[4]]] += 1;
    }
}

#[on_all_backends]
fn a_tensor_of_no_dimensions_has_one_element(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = Array::of(&[1, 2, 3, 40]);
    let (scale, total) = (Array::new(&[7], []), Array::zeros([]));
    differential!(&on.program, scalar [] [x, scale] [total]);
    let mut one = on.program.zeros::<i32, 0>([])?;
    one.fill(4)?;
    assert_eq!((one.len(), one.shape(), one.to_vec()?), (1, [], vec![4]));
    Ok(())
}

#[on_all_backends]
fn tensors_have_up_to_six_dimensions(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<i32> = (0..120).collect();
    let x = Array::new(&values, [2, 3, 4, 5]);
    let (y, z) = (Array::zeros([2, 3, 4, 5, 2]), Array::zeros([2, 2, 3, 4, 2, 5]));
    differential!(&on.program, high [] [x] [y, z]);
    Ok(())
}

#[on_all_backends]
fn an_error_reports_all_six_indices(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = on.program.zeros::<u32, 6>([1, 2, 3, 4, 5, 6])?;
    let at = on.program.tensor_from(&[1usize, 2, 3, 4, 6], [5])?;
    let failed = corner(&at, &mut x).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = failed else { panic!("{failed:?}") };
    let KernelErrorCause::IndexOutOfRange { index, shape, .. } = &error.cause else {
        panic!("{error:?}")
    };
    assert_eq!((&index[..], &shape[..]), (&[0, 1, 2, 3, 4, 6][..], &[1, 2, 3, 4, 5, 6][..]));
    assert_eq!(x.to_vec()?, [0; 720]);
    let at = on.program.tensor_from(&[1usize, 2, 3, 4, 5], [5])?;
    corner(&at, &mut x).launch()?;
    let mut expected = [0; 720];
    expected[719] = 1;
    assert_eq!(x.to_vec()?, expected);
    Ok(())
}

#[on_all_backends]
fn an_index_space_may_be_a_tuple_of_extents(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<i32> = (0..120).map(|i| i * 37 % 113).collect();
    let x = Array::new(&values, [2, 3, 4, 5]);
    let (y, found) = (Array::zeros([2, 3, 4, 5]), Array::zeros([1]));
    differential!(&on.program, tuples_of_extents [] [x] [y, found]);
    Ok(())
}

#[on_all_backends]
fn loops_have_up_to_six_dimensions(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let values: Vec<i32> = (0..120).collect();
    let x = Array::new(&values, [2, 3, 4, 5]);
    let (y, z) = (Array::zeros([2, 3, 4, 5, 2]), Array::zeros([2, 2, 3, 4, 2, 5]));
    let sums = Array::zeros([1]);
    differential!(&on.program, many_dimensions [] [x] [y, z, sums]);
    let mut x = on.program.zeros::<u32, 4>([2, 3, 2, 4])?;
    let mut y = on.program.zeros::<u32, 1>([5])?;
    side_by_side(&mut x, &mut y).launch()?;
    assert_eq!(x.to_vec()?.last(), Some(&1213));
    assert_eq!(y.to_vec()?, [3; 5]);
    Ok(())
}
