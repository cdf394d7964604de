//! Loops whose accesses are not all proven: the interior runs without checks, the boundary with checks. `tracing`
//! events tell which iterations ran in which form.

use quadrants::{self as qd, Error, KernelErrorCause, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

use crate::launch::tracing_events::CapturedEvents;

/// Where `open` is not 0, both neighbours are there.
#[qd::kernel]
fn masked(open: &Tensor<u8, 1>, x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        if open[i] != 0 {
            out[i] = x[i - 1] + x[i + 1];
        }
    }
}

/// A plane indexed by one number: the guards are beyond the proof.
#[qd::kernel]
fn by_number(w: usize, x: &Tensor<i32, 1>, out: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        let (row, column) = (i / w, i % w);
        let mut sum = x[i];
        if column > 0 {
            sum += x[i - 1];
        }
        if row > 0 {
            sum += 10 * x[i - w];
        }
        if (row + 1) * w < x.len() {
            sum += 100 * x[i + w];
        }
        out[i] = sum;
    }
}

#[qd::kernel]
fn plane(open: &Tensor<u8, 2>, x: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(x.shape()) {
        if open[[i, j]] == 0 {
            continue;
        }
        out[[i, j]] = x[[i - 1, j]] + x[[i + 1, j]] + x[[i, j - 1]] + x[[i, j + 1]];
    }
}

#[qd::kernel]
fn cube(open: &Tensor<u8, 3>, x: &Tensor<i32, 3>, out: &mut Tensor<i32, 3>) {
    for (i, j, k) in qd::ndrange(x.shape()) {
        if open[[i, j, k]] != 0 {
            out[[i, j, k]] = x[[i - 1, j, k]] + x[[i, j + 1, k]] + x[[i, j, k - 2]];
        }
    }
}

/// Signed, reversed and strided; the loop does not end at the tensor's edge.
#[qd::kernel]
fn strides(from: i32, by: usize, x: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
    for i in from..from + 30 {
        if i % 3 != 0 {
            out[[0, (i + 40) as usize]] = if x[0] > 5 { x[(i + 5) as usize] } else { 1 };
        }
    }
    for i in (0..x.len()).rev().step_by(by) {
        let near = i.wrapping_sub(by);
        if x[i] % 7 != 0 {
            out[[1, i]] = x[near];
        }
    }
}

/// A loop with a device bound between two proven ones and serial code.
#[qd::kernel]
fn counted(count: &Tensor<usize, 1>, x: &mut Tensor<i32, 1>, y: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = 3 * i as i32;
    }
    for i in 0..count[0] {
        y[i] = x[i + 1];
    }
    y[0] += 1000;
    for i in 0..y.len() {
        y[i] += 1;
    }
}

#[qd::kernel]
fn off_by_one(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        out[i] = x[i + 1];
    }
}

#[qd::kernel]
fn gathered(at: &Tensor<u32, 1>, x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..at.len() {
        out[i] = x[at[i] as usize];
    }
}

/// Two blocks with separate interiors.
#[qd::kernel]
fn beside(
    open: &Tensor<u8, 1>,
    a: &mut Tensor<i32, 1>,
    b: &mut Tensor<i32, 1>,
    x: &Tensor<i32, 1>,
) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            if open[i] != 0 {
                a[i] = x[i - 1];
            }
        }
    });
    qd::stream_parallel(|| {
        for i in 0..b.len() {
            if open[i] != 0 {
                b[i] = x[i + 3];
            }
        }
    });
}

/// For each loop that is not fully proven: the interior iterations and the total.
pub(super) fn interiors(said: &CapturedEvents) -> Vec<(u64, u64)> {
    let all = said.all();
    let found = all.iter().filter(|(_, text)| text.starts_with("checked "));
    let number = |text: &str, field: &str| {
        let rest = text.split(field).nth(1).expect("the field is there");
        rest.split(' ').next().and_then(|n| n.parse().ok()).expect("a number")
    };
    found.map(|(_, text)| (number(text, " inside="), number(text, " of="))).collect()
}

fn mask(n: usize, edge: usize) -> Vec<u8> {
    (0..n).map(|i| u8::from(i >= edge && i + edge < n && i % 5 != 2)).collect()
}

#[on_all_backends]
fn the_interior_of_a_masked_stencil_runs_unchecked(
    backend: TestBackend,
    #[values(1, 2, 3, 1000, 300_000)] n: usize,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let said = CapturedEvents::listen();
    let open = mask(n, 1);
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let tensors = (on.program.tensor_from(&open, [n])?, on.program.tensor_from(&x, [n])?);
    let mut out = on.program.zeros::<f32, 1>([n])?;
    // The cached decision is used.
    for _ in 0..2 {
        masked(&tensors.0, &tensors.1, &mut out).launch()?;
    }
    let expected: Vec<f32> =
        (0..n).map(|i| if open[i] != 0 { x[i - 1] + x[i + 1] } else { 0.0 }).collect();
    assert_eq!(out.to_vec()?, expected);
    assert_eq!(interiors(&said), [(n.saturating_sub(2) as u64, n as u64)]);
    Ok(())
}

#[on_all_backends]
fn guards_that_are_not_proven_still_leave_an_interior(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let said = CapturedEvents::listen();
    let (w, h) = (17, 40);
    let x: Vec<i32> = (0..w * h).map(|i| (i * i % 97) as i32).collect();
    let mut out = on.program.zeros::<i32, 1>([w * h])?;
    by_number(w, &on.program.tensor_from(&x, [w * h])?, &mut out).launch()?;
    let expected: Vec<i32> = (0..w * h)
        .map(|i| {
            let mut sum = x[i];
            sum += if i % w > 0 { x[i - 1] } else { 0 };
            sum += if i >= w { 10 * x[i - w] } else { 0 };
            sum + if i + w < w * h { 100 * x[i + w] } else { 0 }
        })
        .collect();
    assert_eq!(out.to_vec()?, expected);
    // All but the first row, and at most the last.
    let [(inside, of)] = interiors(&said)[..] else { panic!("one loop") };
    assert_eq!(of, (w * h) as u64);
    assert!((of - 2 * w as u64..of).contains(&inside), "{inside} of {of}");
    Ok(())
}

#[on_all_backends]
fn interiors_of_several_dimensions_are_boxes(
    backend: TestBackend,
    #[values([1, 1], [3, 3], [40, 33], [900, 700])] shape: [usize; 2],
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let said = CapturedEvents::listen();
    let [h, w] = shape;
    let edge = |i: usize, j: usize| i == 0 || j == 0 || i + 1 == h || j + 1 == w;
    let cells = || (0..h * w).map(|k| (k / w, k % w));
    let open: Vec<u8> = cells().map(|(i, j)| u8::from(!edge(i, j) && (i * j) % 4 != 1)).collect();
    let x: Vec<f32> = cells().map(|(i, j)| (i * 7 + j * 3) as f32).collect();
    let mut out = on.program.zeros::<f32, 2>(shape)?;
    let tensors = (on.program.tensor_from(&open, shape)?, on.program.tensor_from(&x, shape)?);
    plane(&tensors.0, &tensors.1, &mut out).launch()?;
    let at = |i: usize, j: usize| x[i * w + j];
    let expected: Vec<f32> = cells()
        .map(|(i, j)| match open[i * w + j] {
            0 => 0.0,
            _ => at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1),
        })
        .collect();
    assert_eq!(out.to_vec()?, expected);
    let inside = h.saturating_sub(2) * w.saturating_sub(2);
    assert_eq!(interiors(&said), [(inside as u64, (h * w) as u64)]);
    Ok(())
}

#[on_all_backends]
fn the_third_dimension_limits_the_interior(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let said = CapturedEvents::listen();
    let shape = [6, 9, 11];
    let cells = || (0..6 * 9 * 11).map(|n| (n / 99, n / 11 % 9, n % 11));
    let fine = |(i, j, k): (usize, usize, usize)| i > 0 && j < 8 && k > 1 && (i + j + k) % 3 != 0;
    let open: Vec<u8> = cells().map(|cell| u8::from(fine(cell))).collect();
    let x: Vec<i32> = cells().map(|(i, j, k)| (i * 100 + j * 10 + k) as i32).collect();
    let mut out = on.program.zeros::<i32, 3>(shape)?;
    let tensors = (on.program.tensor_from(&open, shape)?, on.program.tensor_from(&x, shape)?);
    cube(&tensors.0, &tensors.1, &mut out).launch()?;
    let at = |i: usize, j: usize, k: usize| x[i * 99 + j * 11 + k];
    let expected: Vec<i32> = cells()
        .map(|(i, j, k)| match fine((i, j, k)) {
            true => at(i - 1, j, k) + at(i, j + 1, k) + at(i, j, k - 2),
            false => 0,
        })
        .collect();
    assert_eq!(out.to_vec()?, expected);
    assert_eq!(interiors(&said), [(5 * 8 * 9, 6 * 9 * 11)]);
    Ok(())
}

#[on_all_backends]
fn signed_and_strided_loops_are_split_into_interior_and_boundary(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let said = CapturedEvents::listen();
    let x: Vec<i32> = (0..40).map(|i| if i < 3 { 7 } else { 100 + i }).collect();
    let mut out = on.program.zeros::<i32, 2>([2, 80])?;
    strides(-5, 3, &on.program.tensor_from(&x, [40])?, &mut out).launch()?;
    let mut expected = vec![0; 160];
    for i in (-5..25).filter(|i| i % 3 != 0) {
        expected[(i + 40) as usize] = x[(i + 5) as usize];
    }
    for i in (0..40).rev().step_by(3).filter(|i| x[*i] % 7 != 0) {
        expected[80 + i] = x[i - 3];
    }
    assert_eq!(out.to_vec()?, expected);
    // The first loop is proven; the second without its last step, to element 0.
    assert_eq!(interiors(&said), [(13, 14)]);
    Ok(())
}

#[on_all_backends]
fn a_loop_with_a_device_bound_is_proven_up_to_the_tensor_length(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let said = CapturedEvents::listen();
    let (n, m) = (100, 70);
    let mut x = on.program.zeros::<i32, 1>([n])?;
    for count in [0, 1, 69, 70] {
        let mut y = on.program.zeros::<i32, 1>([m])?;
        counted(&on.program.tensor_from(&[count], [1])?, &mut x, &mut y).launch()?;
        let at = |i: usize| if i < count { 3 * (i as i32 + 1) } else { 0 };
        let expected: Vec<i32> = (0..m).map(|i| at(i) + if i == 0 { 1001 } else { 1 }).collect();
        assert_eq!(y.to_vec()?, expected, "{count}");
    }
    // Once; the other loops are proven.
    let [(inside, _)] = interiors(&said)[..] else { panic!("one loop") };
    assert_eq!(inside, 70);
    let mut y = on.program.zeros::<i32, 1>([m])?;
    let launched = counted(&on.program.tensor_from(&[71usize], [1])?, &mut x, &mut y).launch();
    let Err(Error::Kernel(error)) = launched.and_then(|()| on.program.sync()) else {
        panic!("index 70 is out of range")
    };
    let KernelErrorCause::IndexOutOfRange { tensor, index, shape } = &error.cause else {
        panic!("{error}")
    };
    assert_eq!((tensor.as_str(), &index[..], &shape[..]), ("y", &[70][..], &[70][..]));
    Ok(())
}

#[on_all_backends]
fn a_boundary_error_is_reported_and_loaded_indices_have_no_interior(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let said = CapturedEvents::listen();
    let x = on.program.tensor_from(&[1.0f32, 2.0, 3.0, 4.0, 5.0], [5])?;
    let mut out = on.program.zeros::<f32, 1>([5])?;
    let launched = off_by_one(&x, &mut out).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = launched else { panic!("{launched:?}") };
    let KernelErrorCause::IndexOutOfRange { tensor, index, .. } = &error.cause else {
        panic!("{error}")
    };
    assert_eq!((tensor.as_str(), &index[..]), ("x", &[5][..]));
    assert_eq!(x.to_vec()?, [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(interiors(&said), [(4, 5)]);

    let said = CapturedEvents::listen();
    let at = on.program.tensor_from(&[4u32, 0, 2], [3])?;
    gathered(&at, &x, &mut out).launch()?;
    assert_eq!(out.to_vec()?[..3], [5.0, 1.0, 3.0]);
    assert_eq!(interiors(&said), [(0, 3)]);
    Ok(())
}

#[on_all_backends]
fn region_blocks_have_separate_interiors(
    backend: TestBackend,
    #[values(false, true)] by_buffer: bool,
) -> Result<()> {
    let builder = qd::Program::builder();
    let builder = if by_buffer { builder.argument_limit(0) } else { builder };
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let said = CapturedEvents::listen();
    let n = 200;
    let open = mask(n, 3);
    let x: Vec<i32> = (0..n as i32).collect();
    let mut out = [on.program.zeros::<i32, 1>([n])?, on.program.zeros::<i32, 1>([n])?];
    let tensors = (on.program.tensor_from(&open, [n])?, on.program.tensor_from(&x, [n])?);
    let [a, b] = &mut out;
    beside(&tensors.0, a, b, &tensors.1).launch()?;
    for (out, away) in out.iter().zip([-1, 3]) {
        let at = |i: usize| if open[i] != 0 { i as i32 + away } else { 0 };
        assert_eq!(out.to_vec()?, (0..n).map(at).collect::<Vec<_>>());
    }
    assert_eq!(interiors(&said), [(199, 200), (197, 200)]);
    Ok(())
}

/// Loops within, downwards and in steps; every index is one of the tensor's.
#[qd::kernel]
fn triangles(by: usize, x: &Tensor<i64, 1>, out: &mut Tensor<i64, 2>) {
    let n = x.len();
    for i in 0..n {
        let mut sum = [0i64; 5];
        for k in (0..i).rev() {
            sum[0] = sum[0] * 3 % 1009 + x[k];
        }
        for k in (i..n).rev() {
            sum[1] = sum[1] * 3 % 1009 + x[k];
        }
        for k in (0..=i as u32).rev() {
            sum[2] = sum[2] * 3 % 1009 + x[k as usize];
        }
        for k in (1..n).step_by(by) {
            sum[3] = sum[3] * 3 % 1009 + x[k];
        }
        for k in (0..i).step_by(2) {
            sum[4] = sum[4] * 3 % 1009 + x[k];
        }
        for k in 0..5 {
            out[[i, k]] = sum[k];
        }
    }
    for i in (1..n).step_by(by) {
        for k in (0..5u32).rev() {
            out[[i, k as usize]] += 1;
        }
    }
}

#[on_all_backends]
fn reversed_and_strided_loops_are_proven(
    backend: TestBackend,
    #[values(1, 3)] by: usize,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let said = CapturedEvents::listen();
    let x: Vec<i64> = (0..50).map(|i| i * i % 31).collect();
    let n = x.len();
    let mut out = on.program.zeros::<i64, 2>([n, 5])?;
    triangles(by, &on.program.tensor_from(&x, [n])?, &mut out).launch()?;
    let fold = |at: &mut dyn Iterator<Item = usize>| at.fold(0, |sum, k| sum * 3 % 1009 + x[k]);
    let mut expected = Vec::new();
    for i in 0..n {
        let one = i64::from(i >= 1 && (i - 1) % by == 0);
        expected.extend([
            one + fold(&mut (0..i).rev()),
            one + fold(&mut (i..n).rev()),
            one + fold(&mut (0..=i).rev()),
            one + fold(&mut (1..n).step_by(by)),
            one + fold(&mut (0..i).step_by(2)),
        ]);
    }
    assert_eq!(out.to_vec()?, expected);
    assert_eq!(interiors(&said), []);
    Ok(())
}

#[qd::kernel]
fn stepped_back(a: usize, b: usize, k: usize, x: &Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in (a..b).step_by(k).rev() {
        if x[i] != 0 {
            out[i] = x[i + 1] + 1;
        }
    }
}

#[qd::kernel]
fn back_through_by_steps(a: u32, b: u32, k: usize, x: &Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in (a..=b).rev().step_by(k) {
        if x[i as usize] != 0 {
            out[i as usize] = x[(i + 1) as usize] + 1;
        }
    }
}

#[qd::kernel]
fn back_by_steps(a: i64, b: i64, k: usize, x: &Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in (a..b).rev().step_by(k) {
        if x[i as usize] != 0 {
            out[i as usize] = x[(i + 1) as usize] + 1;
        }
    }
}

#[qd::kernel]
fn stepped(a: i32, b: i32, k: usize, x: &Tensor<u32, 1>, out: &mut Tensor<u32, 1>) {
    for i in (a..=b).step_by(k) {
        if x[i as usize] != 0 {
            out[i as usize] = x[(i + 1) as usize] + 1;
        }
    }
}

#[on_all_backends]
fn an_interior_counts_the_positions_of_every_order_alike(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    for (len, a, b, k) in [(8, 0, 8, 2), (8, 0, 8, 3), (9, 1, 8, 3), (9, 2, 9, 4), (6, 0, 6, 5)] {
        for which in 0..4 {
            // The last element is 0, so that `x[i + 1]` is in range.
            let values: Vec<u32> = (0..len).map(|i| if i + 1 == len { 0 } else { 1 + i }).collect();
            let x = program.tensor_from(&values, [len as usize])?;
            // Beyond the slice, nothing changes.
            let mut whole = program.zeros::<u32, 1>([64])?;
            let visited: Vec<u32> = {
                let mut out = whole.slice_mut(..len as usize)?;
                match which {
                    0 => stepped_back(a as usize, b as usize, k, &x, &mut out).launch()?,
                    1 => back_through_by_steps(a, b - 1, k, &x, &mut out).launch()?,
                    2 => back_by_steps(a.into(), b.into(), k, &x, &mut out).launch()?,
                    _ => stepped(a as i32, b as i32 - 1, k, &x, &mut out).launch()?,
                }
                if which == 1 || which == 2 {
                    (a..b).rev().step_by(k).collect()
                } else {
                    (a..b).step_by(k).collect()
                }
            };
            let mut expected = vec![0; 64];
            for i in visited.into_iter().map(|i| i as usize).filter(|i| values[*i] != 0) {
                expected[i] = values[i + 1] + 1;
            }
            assert_eq!(whole.to_vec()?, expected, "{which}: {a}..{b} by {k} of {len}");
        }
    }
    // A range beyond the tensor is an error, not a write there.
    let x = program.tensor_from(&[1u32], [1])?;
    let mut whole = program.zeros::<u32, 1>([64])?;
    let failed = {
        let mut out = whole.slice_mut(..1)?;
        stepped_back(0, 4, 2, &x, &mut out).launch().and_then(|()| program.sync())
    };
    assert!(matches!(failed, Err(Error::Kernel(_))), "{failed:?}");
    assert_eq!(whole.to_vec()?[1..], [0; 63]);
    Ok(())
}
