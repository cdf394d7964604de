//! Inspections: on the CPU, the indices of a checked loop are checked for many iterations before these run without
//! checks. What is observed must be the same as with a check per access: all values, and the error of a wrong index.

use quadrants::{self as qd, KernelErrorCause, KernelValue, Result, Tensor};
use quadrants_tests::{On, TestBackend, on_all_backends};

use crate::errors::kernel_error;

/// More than one inspection, and not a multiple of its length.
const N: usize = 3000;

#[derive(Clone, Copy, PartialEq, Debug, KernelValue)]
struct Particle {
    cell: u32,
    speed: [f32; 2],
}

#[qd::kernel]
fn gather(at: &Tensor<u32, 1>, x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
    for i in 0..y.len() {
        y[i] = 2 * x[at[i] as usize] + 1;
    }
}

/// The index is read after the loop wrote it: an inspection would see the old one.
#[qd::kernel]
fn written_first(
    below: u32,
    x: &Tensor<i32, 1>,
    next: &mut Tensor<u32, 1>,
    y: &mut Tensor<i32, 1>,
) {
    for i in 0..y.len() {
        next[i] = (i as u32 * 7) % below;
        let at = next[i] as usize;
        y[i] = x[at];
    }
}

/// Also through a condition, an inner loop and a local.
#[qd::kernel]
fn written_condition(x: &Tensor<i32, 1>, open: &mut Tensor<u32, 1>, y: &mut Tensor<i32, 1>) {
    for i in 0..y.len() {
        let was = open[i];
        open[i] = 0;
        let mut at = 0;
        for _ in 0..open[i] {
            at += 1_000_000;
        }
        if open[i] == 1 {
            at = 1_000_000;
        }
        y[i] = x[at] + was as i32;
    }
}

#[qd::kernel]
fn rows(
    first: &Tensor<u32, 1>,
    column: &Tensor<u32, 1>,
    value: &Tensor<i32, 1>,
    x: &Tensor<i32, 1>,
    y: &mut Tensor<i32, 1>,
) {
    for i in 0..y.len() {
        let mut sum = 0;
        for k in first[i]..first[i + 1] {
            sum += value[k as usize] * x[column[k as usize] as usize];
        }
        y[i] = sum;
    }
}

#[qd::kernel]
fn shifted(by: &Tensor<u32, 1>, x: &Tensor<i32, 2>, y: &mut Tensor<i32, 2>) {
    let [h, w] = y.shape();
    for (i, j) in qd::ndrange((1..h, 0..w)) {
        let (a, b) = (i + by[0] as usize, j + by[1] as usize);
        y[[i - 1, j]] = x[[a, b]] - x[[a - 1, b + 1]];
    }
}

#[qd::kernel]
fn counted(at: &Tensor<u32, 1>, counts: &mut Tensor<u32, 1>, most: &mut Tensor<u32, 1>) {
    let mut sum = 0;
    for i in 0..at.len() {
        qd::atomic_add(&mut counts[at[i] as usize], 1);
        qd::atomic_max(&mut most[0], at[i]);
        sum += at[i];
    }
    most[1] = sum;
}

/// Only where the guard holds is the index in range.
#[qd::kernel]
fn guarded(at: &Tensor<i32, 1>, x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
    for i in 0..y.len() {
        if at[i] < 0 {
            y[i] = -1;
            continue;
        }
        let mut k = at[i] as usize;
        while k >= x.len() {
            k -= x.len();
        }
        y[i] = x[k];
    }
}

#[qd::kernel]
fn asserted(at: &Tensor<u32, 1>, x: &Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
    for i in 0..y.len() {
        let value = x[at[i] as usize];
        assert!(value >= 0, "{value} at {i}");
        y[i] = value;
    }
}

/// The inner loop changes an index, and another index is a converted float.
#[qd::kernel]
fn advanced(half: f32, by: &Tensor<u32, 1>, x: &Tensor<i32, 2>, y: &mut Tensor<i32, 2>) {
    for i in 0..y.shape()[0] {
        let mut row = 0;
        let mut sum = 0;
        for k in 0..4 {
            sum += x[[row, k]] * x[[half as usize, k]];
            row += by[i] as usize;
        }
        y[[i, 0]] = sum;
    }
}

#[qd::func]
fn looked_up(x: &Tensor<i32, 1>, at: u32) -> i32 {
    x[at as usize]
}

/// Fields and parts of elements, a func, a stepped loop with an inner loop in place.
#[qd::kernel]
fn moved(x: &Tensor<i32, 1>, p: &mut Tensor<Particle, 1>) {
    for i in (0..p.len()).step_by(3) {
        for k in 0..2 {
            p[i].speed[k] += looked_up(x, p[i].cell) as f32 + k as f32;
        }
    }
}

/// The tensor and the index of the error.
fn wrong_index(on: &On, launched: Result<()>) -> (String, Vec<u64>) {
    let error = kernel_error(launched, || on.program.sync());
    let KernelErrorCause::IndexOutOfRange { tensor, index, .. } = error.cause else {
        panic!("{error}")
    };
    (tensor, index)
}

fn numbers() -> Vec<i32> {
    (0..N as i32).map(|i| i * 5 % 23).collect()
}

#[on_all_backends]
fn a_wrong_index_changes_nothing_but_its_own_iteration(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = numbers();
    let x_tensor = on.program.tensor_from(&x, [N])?;
    for wrong in [None, Some(0), Some(1023), Some(1024), Some(2000), Some(N - 1)] {
        let mut at: Vec<u32> = (0..N as u32).map(|i| i * 11 % N as u32).collect();
        if let Some(wrong) = wrong {
            at[wrong] = N as u32 + 5;
        }
        let at_tensor = on.program.tensor_from(&at, [N])?;
        let mut y = on.program.zeros::<i32, 1>([N])?;
        let launched = gather(&at_tensor, &x_tensor, &mut y).launch();
        match wrong {
            Some(_) => {
                assert_eq!(wrong_index(&on, launched), ("x".to_owned(), vec![N as u64 + 5]));
            }
            None => launched.and_then(|()| on.program.sync())?,
        }
        let read = |at: &u32| x.get(*at as usize).copied().unwrap_or(0);
        assert!(y.to_vec()?.iter().zip(&at).all(|(y, at)| *y == 2 * read(at) + 1), "{wrong:?}");
        // A tensor that is too short.
        let mut longer = on.program.zeros::<i32, 1>([N + 1])?;
        let launched = gather(&at_tensor, &x_tensor, &mut longer).launch();
        let (tensor, index) = wrong_index(&on, launched);
        assert!(tensor == "at" && index == [N as u64] || wrong.is_some() && tensor == "x");
    }
    Ok(())
}

#[on_all_backends]
fn indices_that_the_loop_writes_are_read_after_that(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = numbers();
    let x_tensor = on.program.tensor_from(&x, [N])?;
    let mut y = on.program.zeros::<i32, 1>([N])?;
    for before in [u32::MAX, 3] {
        let mut next = on.program.tensor_from(&[before; N], [N])?;
        written_first(N as u32, &x_tensor, &mut next, &mut y).launch()?;
        assert!(y.to_vec()?.iter().enumerate().all(|(i, y)| *y == x[i * 7 % N]));
        let mut next = on.program.tensor_from(&[before; N], [N])?;
        let launched = written_first(2 * N as u32, &x_tensor, &mut next, &mut y).launch();
        assert_eq!(wrong_index(&on, launched).0, "x");
        let read = |at: usize| x.get(at).copied().unwrap_or(0);
        assert!(y.to_vec()?.iter().enumerate().all(|(i, y)| *y == read(i * 7 % (2 * N))));
    }
    let mut open = on.program.tensor_from(&[1; N], [N])?;
    written_condition(&x_tensor, &mut open, &mut y).launch()?;
    assert_eq!(y.to_vec()?, [x[0] + 1; N]);
    Ok(())
}

#[on_all_backends]
fn rows_of_a_sparse_matrix(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = numbers();
    let mut first = vec![0_u32];
    (0..N as u32).for_each(|i| first.push(first[i as usize] + i * 7 % 5));
    let entries = first[N] as usize;
    let column: Vec<u32> = (0..entries as u32).map(|k| k * 13 % N as u32).collect();
    let value: Vec<i32> = (0..entries as i32).map(|k| k % 9 - 4).collect();
    let x_tensor = on.program.tensor_from(&x, [N])?;
    let value_tensor = on.program.tensor_from(&value, [entries])?;
    let mut y = on.program.zeros::<i32, 1>([N])?;
    let mut run = |first: &[u32], column: &[u32]| -> Result<(Result<()>, Vec<i32>)> {
        let first = on.program.tensor_from(first, [N + 1])?;
        let column = on.program.tensor_from(column, [entries])?;
        let launched = rows(&first, &column, &value_tensor, &x_tensor, &mut y).launch();
        let launched = launched.and_then(|()| on.program.sync());
        Ok((launched, y.to_vec()?))
    };
    let expected = |first: &[u32], column: &[u32]| -> Vec<i32> {
        let x_at = |k: usize| column.get(k).and_then(|at| x.get(*at as usize)).copied();
        let term = |k: u32| {
            let k = k as usize;
            value.get(k).copied().unwrap_or(0)
                * x_at(k).unwrap_or(if k < entries { 0 } else { x[0] })
        };
        (0..N).map(|i| (first[i]..first[i + 1]).map(term).sum()).collect()
    };
    let (launched, y) = run(&first, &column)?;
    launched?;
    assert_eq!(y, expected(&first, &column));
    let mut wrong = column.clone();
    wrong[entries / 2] = N as u32;
    let (launched, y) = run(&first, &wrong)?;
    assert_eq!(wrong_index(&on, launched), ("x".to_owned(), vec![N as u64]));
    assert_eq!(y, expected(&first, &wrong));
    let mut longer = first.clone();
    longer[N] += 3;
    let (launched, y) = run(&longer, &column)?;
    let (tensor, index) = wrong_index(&on, launched);
    assert!(["value", "column"].contains(&&*tensor) && index[0] >= entries as u64);
    assert_eq!(y, expected(&longer, &column));
    Ok(())
}

#[on_all_backends]
fn a_shift_in_two_dimensions(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (h, w) = (40, 75);
    let x: Vec<i32> = (0..h * w).map(|k| k as i32 * 31 % 101).collect();
    let x_tensor = on.program.tensor_from(&x, [h, w])?;
    let read = |i: usize, j: usize| if i < h && j < w { x[i * w + j] } else { 0 };
    for by in [[0_usize, 0], [3, 2], [4, 0], [0, 9], [1, 8]] {
        let (rows, columns) = (h - 4, w - 9);
        let mut y = on.program.zeros::<i32, 2>([rows, columns])?;
        let by_tensor = on.program.tensor_from(&by.map(|by| by as u32), [2])?;
        let launched = shifted(&by_tensor, &x_tensor, &mut y).launch();
        let fits = rows - 1 + by[0] < h && columns + by[1] < w;
        match fits {
            true => launched.and_then(|()| on.program.sync())?,
            false => assert_eq!(wrong_index(&on, launched).0, "x"),
        }
        let y = y.to_vec()?;
        for (i, j) in (1..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            let (a, b) = (i + by[0], j + by[1]);
            assert_eq!(y[(i - 1) * columns + j], read(a, b) - read(a - 1, b + 1), "{by:?} {i} {j}");
        }
    }
    Ok(())
}

#[on_all_backends]
fn atomic_operations_and_sums_are_done_once(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut at: Vec<u32> = (0..N as u32).map(|i| i * i % 50).collect();
    for wrong in [None, Some(1500)] {
        if let Some(wrong) = wrong {
            at[wrong] = 77;
        }
        let at_tensor = on.program.tensor_from(&at, [N])?;
        let mut counts = on.program.zeros::<u32, 1>([50])?;
        let mut most = on.program.zeros::<u32, 1>([2])?;
        let launched = counted(&at_tensor, &mut counts, &mut most).launch();
        match wrong {
            Some(_) => assert_eq!(wrong_index(&on, launched), ("counts".to_owned(), vec![77])),
            None => launched.and_then(|()| on.program.sync())?,
        }
        let of = |bin: u32| at.iter().filter(|at| **at == bin).count() as u32;
        assert_eq!(counts.to_vec()?, (0..50).map(of).collect::<Vec<_>>());
        assert_eq!(most.to_vec()?[0], *at.iter().max().unwrap());
        if wrong.is_none() {
            assert_eq!(most.to_vec()?[1], at.iter().sum::<u32>());
        }
    }
    Ok(())
}

#[on_all_backends]
fn guards_and_while_loops_decide_what_is_accessed(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = numbers();
    let x_tensor = on.program.tensor_from(&x, [N])?;
    let at: Vec<i32> = (0..N as i32).map(|i| if i % 3 == 0 { -i - 1 } else { i * 5 }).collect();
    let at_tensor = on.program.tensor_from(&at, [N])?;
    let mut y = on.program.zeros::<i32, 1>([N])?;
    guarded(&at_tensor, &x_tensor, &mut y).launch()?;
    let expected = |at: &i32| if *at < 0 { -1 } else { x[*at as usize % N] };
    assert!(y.to_vec()?.iter().zip(&at).all(|(y, at)| *y == expected(at)));
    Ok(())
}

#[on_all_backends]
fn assertions_fail_as_without_an_inspection(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = numbers();
    x[17] = -4;
    let x_tensor = on.program.tensor_from(&x, [N])?;
    let mut at: Vec<u32> = vec![0; N];
    for which in [None, Some(1234)] {
        if let Some(which) = which {
            at[which] = 17;
        }
        let at_tensor = on.program.tensor_from(&at, [N])?;
        let mut y = on.program.zeros::<i32, 1>([N])?;
        let launched = asserted(&at_tensor, &x_tensor, &mut y).launch();
        let launched = launched.and_then(|()| on.program.sync());
        match which {
            None => launched?,
            Some(which) => {
                let error = kernel_error(launched, || Ok(()));
                assert!(error.to_string().contains(&format!("-4 at {which}")), "{error}");
            }
        }
        let expected: Vec<i32> = at.iter().map(|at| x[*at as usize].max(0)).collect();
        assert_eq!(y.to_vec()?, expected);
    }
    Ok(())
}

#[on_all_backends]
fn elements_with_fields_change_once(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = numbers();
    let x_tensor = on.program.tensor_from(&x, [N])?;
    let start: Vec<Particle> = (0..N as u32)
        .map(|i| Particle { cell: i * 3 % N as u32, speed: [i as f32, 0.5] })
        .collect();
    let mut p = on.program.tensor_from(&start, [N])?;
    moved(&x_tensor, &mut p).launch()?;
    for (i, (after, before)) in p.to_vec()?.into_iter().zip(start).enumerate() {
        let mut expected = before;
        if i % 3 == 0 {
            let by = x[before.cell as usize] as f32;
            expected.speed = [before.speed[0] + by, before.speed[1] + by + 1.0];
        }
        assert_eq!(after, expected, "{i}");
    }
    Ok(())
}

#[on_all_backends]
fn an_inner_loop_changes_an_index(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x: Vec<i32> = (0..40 * 4).map(|i| i * 5 % 23).collect();
    let x_tensor = on.program.tensor_from(&x, [40, 4])?;
    for last in [9_u32, 14] {
        let mut by: Vec<u32> = (0..N as u32).map(|i| i % 13).collect();
        by[N / 2] = last;
        let by_tensor = on.program.tensor_from(&by, [N])?;
        let mut y = on.program.zeros::<i32, 2>([N, 1])?;
        let launched = advanced(2.7, &by_tensor, &x_tensor, &mut y).launch();
        match last {
            14 => assert_eq!(wrong_index(&on, launched), ("x".to_owned(), vec![42, 3])),
            _ => launched.and_then(|()| on.program.sync())?,
        }
        let read = |row: usize, k: usize| x.get(4 * row + k).copied().unwrap_or(0);
        let sum = |by: u32| (0..4).map(|k| read(by as usize * k, k) * read(2, k)).sum::<i32>();
        assert!(y.to_vec()?.iter().zip(by).all(|(y, by)| *y == sum(by)), "{last}");
    }
    Ok(())
}
