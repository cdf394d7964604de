//! Kernels whose race freedom depends on the launch, and launches whose race freedom `unsafe` asserts.

use quadrants::{self as qd, Error, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

#[qd::func]
fn place(row: usize, column: usize, width: usize) -> usize {
    row * width + column
}

/// Writes a plane row by row; race-free where a row is at least as long as the loop.
#[qd::kernel]
fn rows(h: usize, w: usize, length: usize, t: &mut Tensor<u32, 1>) {
    for (y, x) in qd::ndrange([h, w]) {
        t[y * length + x] = (y * 100 + x) as u32;
    }
}

/// The line of its loop.
const ROWS: u32 = line!() - 6;

/// The same through a func and narrower integers.
#[qd::kernel]
fn rows_by_func(h: usize, w: usize, length: usize, t: &mut Tensor<u32, 1>) {
    for (y, x) in qd::ndrange([h, w]) {
        let row = y as u32 + 1;
        t[place((row - 1) as usize, x, length)] = (y * 100 + x) as u32;
    }
}

/// Adds the second half to the first; race-free for halves that do not overlap.
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

/// The error of a launch that races: the tensor and the line of the loop.
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

#[on_all_backends]
fn rows_shorter_than_the_loop_are_a_race(backend: TestBackend) -> qd::Result<()> {
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
    // Nothing was launched, and the program stays usable.
    assert_eq!(t.to_vec()?, before);
    rows(2, 2, 2, &mut t).launch()
}

#[on_all_backends]
fn overlapping_halves_of_a_tensor_are_a_race(backend: TestBackend) -> qd::Result<()> {
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

#[on_all_backends]
fn races_that_depend_on_scalars_are_decided_per_launch(backend: TestBackend) -> qd::Result<()> {
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

#[on_all_backends]
fn launches_asserted_race_free_by_unsafe_run(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let at: Vec<u32> = (0..500).map(|i| i * 7 % 500).collect();
    let mut t = on.program.zeros::<u32, 1>([500])?;
    permute(&on.program.tensor_from(&at, [500])?, &mut t).launch()?;
    let found = t.to_vec()?;
    assert!(at.iter().enumerate().all(|(i, at)| found[*at as usize] == i as u32));
    Ok(())
}

/// Values that are truncated or wrap before they become an index.
#[qd::kernel]
fn cut(how: u32, n: usize, k: usize, t: &mut Tensor<u32, 1>) {
    let m = if how == 0 { n } else { 0 };
    for i in 0..m {
        t[i as u8 as usize] = 1;
    }
    let m = if how == 1 { n } else { 0 };
    for i in 0..m {
        t[(i * 4_294_967_296) as u32 as usize + 3] = 1;
    }
    let m = if how == 2 { n } else { 0 };
    for i in 0..m {
        t[i.wrapping_mul(k << 56)] = 1;
    }
    let m = if how == 3 { n } else { 0 };
    for i in 0..m {
        t[((i as u32) << k) as usize] = 1;
    }
    let m = if how == 4 { n } else { 0 };
    for i in 0..m {
        t[i.min(k)] = 1;
    }
    let m = if how == 5 { n } else { 0 };
    for i in (0..m).step_by(k) {
        t[i] = 1;
        t[i + 1] = 1;
    }
    let m = if how == 6 { n as i32 } else { 0 };
    for i in -m..m {
        t[(i as i16 as usize) % 400] = 1;
    }
    let m = if how == 7 { n } else { 0 };
    for i in 0..m {
        for j in 0..k {
            t[i * 4 + j] = 1;
        }
    }
    let m = if how == 8 { n } else { 0 };
    for i in (0..m).rev() {
        t[(k as i32 - i as i32) as u32 as usize % 512] = 1;
    }
}

/// The elements that each iteration of the loop `how` writes.
fn cut_by(how: u32, n: u64, k: u64) -> Vec<Vec<u64>> {
    let each = |of: &dyn Fn(u64) -> u64| (0..n).map(|i| vec![of(i)]).collect();
    match how {
        0 => each(&|i| u64::from(i as u8)),
        1 => each(&|i| u64::from((i << 32) as u32) + 3),
        2 => each(&|i| i.wrapping_mul(k << 56)),
        3 => each(&|i| u64::from((i as u32).wrapping_shl(k as u32))),
        4 => each(&|i| i.min(k)),
        5 => (0..n).step_by(k as usize).map(|i| vec![i, i + 1]).collect(),
        6 => (-(n as i64)..n as i64).map(|i| vec![i as i16 as u64 % 400]).collect(),
        7 => (0..n).map(|i| (0..k).map(|j| i * 4 + j).collect()).collect(),
        _ => each(&|i| u64::from((k as i32).wrapping_sub(i as i32) as u32) % 512),
    }
}

#[on_all_backends]
fn truncated_or_wrapping_indices_that_collide_are_rejected(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut t = on.program.zeros::<u32, 1>([512])?;
    let mut launched = [0; 9];
    for how in 0..9 {
        for n in [0, 1, 2, 3, 100, 256, 257, 300] {
            for k in [1, 2, 3, 4, 5, 31, 32, 99, 255] {
                let mut seen = std::collections::HashMap::new();
                let races = cut_by(how, n, k).into_iter().enumerate().any(|(by, elements)| {
                    elements.into_iter().any(|at| *seen.entry(at).or_insert(by) != by)
                });
                let what = format!("loop {how} of {n} with {k}");
                match cut(how, n as usize, k as usize, &mut t).launch() {
                    Err(Error::Race { .. }) => continue,
                    Ok(()) => {}
                    // Out of bounds; or an overflow where rustc checks.
                    Err(Error::Kernel(_) | Error::Panicked { .. }) => {}
                    Err(error) => panic!("{what}: {error}"),
                }
                let _ = on.program.sync();
                assert!(!races, "{what} races");
                launched[how as usize] += u32::from(n > 1);
            }
        }
    }
    // The cases in which something can be proven.
    assert!([0, 3, 4, 5, 7].iter().all(|how| launched[*how] > 0), "{launched:?}");
    Ok(())
}
