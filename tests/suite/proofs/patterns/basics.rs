//! Access patterns that are free of races by a guard or by the bounds of an inner loop, with launches that are not.

use quadrants::{self as qd, Error, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

/// One iteration writes each element: the first, the last, and those named by arguments.
#[qd::kernel]
fn single_iterations(m: usize, at: usize, x: &Tensor<f32, 1>, o: &mut Tensor<f32, 1>) {
    for i in 0..m {
        if i == 0 {
            o[0] = x[i];
        }
        if i == m - 1 {
            o[1] = x[i];
        }
        if i + 1 == m {
            o[2] = x[i];
        }
        if at == i + 2 {
            o[3] = x[i];
        }
    }
}

/// One iteration of two dimensions.
#[qd::kernel]
fn corner(x: &Tensor<f32, 2>, o: &mut Tensor<f32, 1>) {
    for (i, j) in qd::ndrange(x.shape()) {
        if i == 0 && j + 1 == x.shape()[1] {
            o[0] += x[[i, j]];
        }
    }
}

/// Each iteration writes a chunk; the last one may be shorter.
#[qd::kernel]
fn chunks(n: usize, width: usize, stride: usize, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        let begin = i * stride;
        let end = (begin + width).min(o.len());
        for k in begin..end {
            o[k] += (i + 1) as u32;
        }
    }
}

/// Chunks of a constant length, in a narrower type.
#[qd::kernel]
fn quads(n: u32, o: &mut Tensor<u32, 1>) {
    for i in 0..n {
        for k in 4 * i..4 * i + 4 {
            o[k as usize] += k;
        }
    }
}

/// A comparison in a narrower type holds in many iterations.
#[qd::kernel]
fn truncated(m: u8, o: &mut Tensor<u32, 1>) {
    for i in 0..o.len() {
        let low = i as u8;
        if low == m {
            o[0] = i as u32;
        }
    }
}

/// A variable with negative values.
#[qd::kernel]
fn signed(m: i32, o: &mut Tensor<i64, 1>) {
    for i in -5..m {
        if i + 3 == 0 {
            o[0] = i64::from(i);
        }
    }
}

fn is_race(launched: qd::Result<()>) -> bool {
    matches!(launched, Err(Error::Race { .. }))
}

#[on_all_backends]
fn one_iteration_may_write_an_element_that_all_share(on: TestBackend) -> qd::Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let values: Vec<f32> = (0..40u8).map(f32::from).collect();
    let x = on.program.tensor_from(&values, [40])?;
    for (m, at) in [(1, 2), (40, 7), (9, 1), (8, 100)] {
        let mut o = on.program.tensor_from(&[-1.0_f32; 4], [4])?;
        single_iterations(m, at, &x, &mut o).launch()?;
        let last = values[m - 1];
        let named = at.checked_sub(2).filter(|at| *at < m).map_or(-1.0, |at| values[at]);
        assert_eq!(o.to_vec()?, [0.0, last, last, named], "{m} {at}");
    }
    let x = on.program.tensor_from(&values, [5, 8])?;
    let mut o = on.program.zeros::<f32, 1>([1])?;
    corner(&x, &mut o).launch()?;
    assert_eq!(o.to_vec()?, [7.0]);
    let mut o = on.program.zeros::<i64, 1>([1])?;
    signed(9, &mut o).launch()?;
    assert_eq!(o.to_vec()?, [-3]);
    let mut o = on.program.zeros::<u32, 1>([600])?;
    assert!(is_race(truncated(3, &mut o).launch()), "iterations 3, 259 and 515");
    Ok(())
}

#[on_all_backends]
fn chunks_are_disjoint_if_they_are_no_longer_than_their_distance(
    on: TestBackend,
) -> qd::Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    for (n, width, stride, len) in
        [(8, 4, 4, 32), (8, 4, 4, 30), (7, 3, 5, 40), (1, 9, 2, 5), (4, 0, 1, 8), (9, 4, 4, 17)]
    {
        let mut o = on.program.zeros::<u32, 1>([len])?;
        chunks(n, width, stride, &mut o).launch()?;
        let mut expected = vec![0; len];
        for i in 0..n {
            let begin = (i * stride).min(len);
            let chunk = &mut expected[begin..(begin + width).min(len)];
            chunk.iter_mut().for_each(|element| *element += (i + 1) as u32);
        }
        assert_eq!(o.to_vec()?, expected, "{n} {width} {stride} {len}");
    }
    for (n, width, stride) in [(8, 5, 4), (2, 2, 1), (8, 3, 0)] {
        let mut o = on.program.zeros::<u32, 1>([64])?;
        let launched = chunks(n, width, stride, &mut o).launch();
        assert!(is_race(launched), "{n} {width} {stride}");
    }
    let mut o = on.program.zeros::<u32, 1>([64])?;
    quads(16, &mut o).launch()?;
    assert_eq!(o.to_vec()?, (0..64).collect::<Vec<u32>>());
    // The index wraps modulo 2^32: a chunk of large `i` may be that of a small one.
    let launched = quads((1 << 30) + 1, &mut o).launch();
    assert!(launched.is_err(), "{launched:?}");
    Ok(())
}

/// A race that depends on the arguments names two iterations.
#[on_all_backends]
fn a_race_at_launch_is_explained_by_an_example(on: TestBackend) -> qd::Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut o = on.program.zeros::<u32, 1>([64])?;
    let Err(error @ Error::Race { .. }) = chunks(8, 5, 4, &mut o).launch() else {
        panic!("no race")
    };
    let message = error.to_string();
    assert!(message.contains("for example, `i` = 0 and `i` = 1 both access `o[4]`"), "{message}");
    Ok(())
}
