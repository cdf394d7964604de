//! Kernels whose freedom from races depends on the launch, and what `unsafe` asserts.

use quadrants::{self as qd, Error, Tensor};
use quadrants_tests::TestBackend::{self, AmdGpu, Cpu, Cuda};
use rstest::rstest;

#[qd::func]
fn place(row: usize, column: usize, width: usize) -> usize {
    row * width + column
}

/// Writes a plane row by row; right where a row is at least as long as the loop is wide.
#[qd::kernel]
fn rows(h: usize, w: usize, length: usize, t: &mut Tensor<u32, 1>) {
    for (y, x) in qd::ndrange([h, w]) {
        t[y * length + x] = (y * 100 + x) as u32;
    }
}

/// The line of its loop.
const ROWS: u32 = line!() - 6;

/// The same by way of a func and of narrower integers.
#[qd::kernel]
fn rows_by_func(h: usize, w: usize, length: usize, t: &mut Tensor<u32, 1>) {
    for (y, x) in qd::ndrange([h, w]) {
        let row = y as u32 + 1;
        t[place((row - 1) as usize, x, length)] = (y * 100 + x) as u32;
    }
}

/// Adds the second half to the first; right for halves that do not overlap.
#[qd::kernel]
fn fold(n: usize, shift: usize, t: &mut Tensor<u32, 1>) {
    for i in 0..n {
        t[i] += t[i + shift];
    }
}

#[qd::kernel]
fn reverse(n: usize, t: &mut Tensor<u32, 1>) {
    let last = t.len() - 1;
    for i in 0..n {
        let v = t[i];
        t[i] = t[last - i];
        t[last - i] = v;
    }
}

/// Rows and columns from one number.
#[qd::kernel]
fn unravel(w: usize, count: usize, g: &mut Tensor<u32, 2>) {
    for i in 0..count {
        g[[i / w, i % w]] = i as u32;
    }
}

#[qd::kernel]
fn from_element(at: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
    let from = at[0] as usize;
    for i in 0..4 {
        t[from + i] += i as u32;
    }
}

#[qd::kernel]
fn halves(split: usize, begin: usize, t: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..split {
            t[i] = 1;
        }
    });
    qd::stream_parallel(|| {
        for i in begin..t.len() {
            t[i] = 2;
        }
    });
}

/// A permutation, which only the caller knows to be one.
#[qd::kernel]
fn permute(at: &Tensor<u32, 1>, t: &mut Tensor<u32, 1>) {
    for i in 0..at.len() {
        // SAFETY: no two numbers in `at` are the same.
        unsafe { t[at[i] as usize] = i as u32 };
    }
}

/// What a launch that races says: the tensor and the line of the loop.
#[track_caller]
fn refused(launch: qd::Result<()>, tensor_is: &str, line_is: u32) {
    let Err(error) = launch else { panic!("the launch races") };
    assert_eq!(error.severity(), qd::Severity::Recoverable);
    match error {
        Error::Race { tensor, line, file, .. } => {
            assert_eq!((tensor.as_str(), line), (tensor_is, line_is));
            assert!(file.ends_with("races.rs"));
        }
        other => panic!("{other}"),
    }
}

#[rstest]
fn rows_must_be_as_long_as_the_loop_is_wide(
    #[values(Cpu, Cuda, AmdGpu)] backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut t = on.program.zeros::<u32, 1>([64])?;
    for (h, w, length) in [(4, 16, 16), (4, 10, 16), (1, 16, 3), (0, 16, 3)] {
        rows(h, w, length, &mut t).launch()?;
        rows_by_func(h, w, length, &mut t).launch()?;
    }
    let before = t.to_vec()?;
    assert_eq!(before[17], 101);
    for (h, w, length) in [(4, 16, 15), (2, 2, 1), (4, 16, 0)] {
        refused(rows(h, w, length, &mut t).launch(), "t", ROWS);
        assert!(matches!(rows_by_func(h, w, length, &mut t).launch(), Err(Error::Race { .. })));
    }
    // Nothing was launched, and the program goes on.
    assert_eq!(t.to_vec()?, before);
    rows(2, 2, 2, &mut t).launch()
}

#[rstest]
fn halves_of_a_tensor_must_not_overlap(
    #[values(Cpu, Cuda, AmdGpu)] backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let numbers: Vec<u32> = (0..10).collect();
    let mut t = on.program.tensor_from(&numbers, [10])?;
    fold(5, 5, &mut t).launch()?;
    assert_eq!(t.to_vec()?, [5, 7, 9, 11, 13, 5, 6, 7, 8, 9]);
    assert!(matches!(fold(6, 4, &mut t).launch(), Err(Error::Race { .. })));
    // Each element with itself
    fold(5, 0, &mut t).launch()?;
    assert_eq!(t.to_vec()?[..5], [10, 14, 18, 22, 26]);

    let mut t = on.program.tensor_from(&numbers, [10])?;
    reverse(5, &mut t).launch()?;
    assert_eq!(t.to_vec()?, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    assert!(matches!(reverse(6, &mut t).launch(), Err(Error::Race { .. })));
    let mut t = on.program.tensor_from(&numbers[..9], [9])?;
    assert!(matches!(reverse(6, &mut t).launch(), Err(Error::Race { .. })));
    reverse(4, &mut t).launch()?;
    assert_eq!(t.to_vec()?, [8, 7, 6, 5, 4, 3, 2, 1, 0]);

    let mut t = on.program.zeros::<u32, 1>([10])?;
    halves(4, 4, &mut t).launch()?;
    assert_eq!(t.to_vec()?, [1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
    halves(3, 20, &mut t).launch()?;
    assert!(matches!(halves(5, 4, &mut t).launch(), Err(Error::Race { .. })));
    Ok(())
}

#[rstest]
fn what_the_numbers_decide(#[values(Cpu, Cuda, AmdGpu)] backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut g = on.program.zeros::<u32, 2>([4, 7])?;
    unravel(7, 28, &mut g).launch()?;
    assert!(g.to_vec()?.iter().copied().eq(0..28));

    let at = on.program.tensor_from(&[3u32], [1])?;
    let mut t = on.program.zeros::<u32, 1>([8])?;
    from_element(&at, &mut t).launch()?;
    assert_eq!(t.to_vec()?, [0, 0, 0, 0, 1, 2, 3, 0]);
    Ok(())
}

#[rstest]
fn what_unsafe_asserts_is_launched(
    #[values(Cpu, Cuda, AmdGpu)] backend: TestBackend,
) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let at: Vec<u32> = (0..500).map(|i| i * 7 % 500).collect();
    let mut t = on.program.zeros::<u32, 1>([500])?;
    permute(&on.program.tensor_from(&at, [500])?, &mut t).launch()?;
    let found = t.to_vec()?;
    assert!(at.iter().enumerate().all(|(i, at)| found[*at as usize] == i as u32));
    Ok(())
}
