//! Writes through indices that are known to differ.

use quadrants::{self as qd, Arch, Distinct, Error, Tensor, host};
use quadrants_tests::{TestBackend, on_all_backends};

#[qd::kernel]
fn scatter(x: &Tensor<f32, 1>, to: &Distinct<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        out[to[i] as usize] = x[i];
    }
}

/// The value takes part in the index, with an offset, and in other dimensions.
#[qd::kernel]
fn rows(to: &Distinct<i32, 1>, out: &mut Tensor<u32, 2>) {
    for (i, j) in qd::ndrange([to.len(), out.shape()[1]]) {
        let row = (to[i] + 2) as usize;
        out[[row, j]] = (10 * i + j) as u32;
    }
}

/// Two elements for each index.
#[qd::kernel]
fn increments(of: &Distinct<u32, 2>, out: &mut Tensor<u32, 1>) {
    for (i, j) in qd::ndrange(of.shape()) {
        let at = of[[i, j]] as usize;
        out[2 * at] += 1;
        out[2 * at + 1] += out[2 * at];
    }
}

#[qd::func]
fn put(out: &mut Tensor<u32, 1>, to: &Distinct<u16, 1>, i: usize, value: u32) {
    out[to[i] as usize] = value;
}

#[qd::kernel]
fn by_func(to: &Distinct<u16, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..to.len() {
        put(out, to, i, i as u32 + 1);
    }
}

/// An inverse permutation, which is used in the next loop only as data.
#[qd::kernel]
fn inverse(of: &Distinct<usize, 1>, out: &mut Tensor<usize, 1>, sum: &mut Tensor<usize, 1>) {
    qd::stream_parallel(|| {
        for i in 0..of.len() {
            out[of[i]] = i;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..of.len() {
            qd::atomic_add(&mut sum[0], of[i]);
        }
    });
}

#[qd::kernel]
fn in_blocks(to: &Distinct<u32, 1>, out: &mut Tensor<u32, 1>) {
    qd::block_for(to.len() / 32, 32, |b| {
        b.each(|t| {
            let i = b.index() * 32 + t;
            out[to[i] as usize] = i as u32;
        });
    });
}

/// Pairs of iterations may have the same half.
#[qd::kernel]
fn halves(to: &Distinct<u32, 1>, n: u32, out: &mut Tensor<u32, 1>) {
    for i in 0..to.len() {
        out[(to[i] / n) as usize] = 1;
    }
}

#[qd::kernel]
fn set(index: &mut Tensor<u32, 1>, at: usize, value: u32) {
    for i in at..at + 1 {
        index[i] = value;
    }
}

fn permutation(n: usize, factor: usize) -> Vec<usize> {
    (0..n).map(|i| (i * factor + 3) % n).collect()
}

#[on_all_backends]
fn scatters_by_distinct_indices_are_accepted(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    for (n, factor) in [(1, 1), (2, 1), (97, 31), (4096, 1027)] {
        let order = permutation(n, factor);
        let x: Vec<f32> = (0..n).map(|i| i as f32 + 0.5).collect();
        let mut expected = vec![0.0; n];
        (0..n).for_each(|i| expected[order[i]] = x[i]);
        let to: Vec<u32> = order.iter().map(|at| *at as u32).collect();
        let (x, to) = (prog.tensor_from(&x, [n])?, prog.tensor_from(&to, [n])?);
        let mut out = prog.zeros([n])?;
        scatter(&x, qd::distinct(&to)?, &mut out).launch()?;
        assert_eq!(out.to_vec()?, expected, "{n}");

        let wide: Vec<i32> = order.iter().map(|at| *at as i32 - 2).collect();
        let wide = prog.tensor_from(&wide, [n])?;
        let mut out = prog.zeros([n, 3])?;
        rows(qd::distinct(&wide)?, &mut out).launch()?;
        let out = out.to_vec()?;
        for (i, at) in order.iter().enumerate() {
            assert_eq!(out[3 * at..3 * at + 3], [0, 1, 2].map(|j| (10 * i + j) as u32));
        }

        let (of, mut back, mut sum) =
            (prog.tensor_from(&order, [n])?, prog.zeros([n])?, prog.zeros([1])?);
        inverse(qd::distinct(&of)?, &mut back, &mut sum).launch()?;
        let back = back.to_vec()?;
        assert!((0..n).all(|i| back[order[i]] == i));
        assert_eq!(sum.to_vec()?, [n * (n - 1) / 2]);

        let narrow: Vec<u16> = order.iter().map(|at| *at as u16).collect();
        let (to, mut out) = (prog.tensor_from(&narrow, [n])?, prog.zeros([n])?);
        by_func(qd::distinct(&to)?, &mut out).launch()?;
        let out = out.to_vec()?;
        assert!((0..n).all(|i| out[order[i]] == i as u32 + 1));
    }
    let order: Vec<u32> = permutation(1024, 77).iter().map(|at| *at as u32).collect();
    let (to, mut out) = (prog.tensor_from(&order, [1024])?, prog.zeros([1024])?);
    in_blocks(qd::distinct(&to)?, &mut out).launch()?;
    let out = out.to_vec()?;
    assert!((0..1024).all(|i| out[order[i] as usize] == i as u32));

    let of: Vec<u32> = permutation(60, 7).iter().map(|at| *at as u32).collect();
    let (of, mut out) = (prog.tensor_from(&of, [12, 5])?, prog.zeros([120])?);
    increments(qd::distinct(&of)?, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [1; 120]);

    let (x, to) = ([7.0, 8.0, 9.0], [1_u32, 2, 0]);
    let (x, to) = (host(&x, [3])?, host(&to, [3])?);
    let mut out = prog.zeros([3])?;
    scatter(&x, qd::distinct(&to)?, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [9.0, 7.0, 8.0]);
    Ok(())
}

#[on_all_backends]
fn repeated_elements_are_reported(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let n = 5000;
    let mut values: Vec<i64> = (0..n).map(|i| i * 0x1_0000_0001 - 7).collect();
    qd::distinct(&prog.tensor_from(&values, [n as usize])?)?;
    // Far apart, and twice.
    (values[4321], values[4999]) = (values[17], values[18]);
    let index = prog.tensor_from(&values, [n as usize])?;
    let Err(Error::NotDistinct { value, positions }) = qd::distinct(&index) else { panic!() };
    assert_eq!((value, positions), (values[17].to_string(), [17, 4321]));
    let narrow = prog.tensor_from(&[3_u8, 255, 0, 255], [2, 2])?;
    let error = qd::distinct(&narrow).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("elements 1 and 3 of the tensor are both 255, but all must"),
        "{text}"
    );
    let all: Vec<i8> = (-128..=127).collect();
    qd::distinct(&prog.tensor_from(&all, [256])?)?;
    qd::distinct(&prog.zeros::<u32, 1>([0])?)?;
    assert!(matches!(qd::distinct(&*host(&[1, 1], [2])?), Err(Error::NotDistinct { .. })));
    Ok(())
}

/// A tensor is checked again after it was written, and only then.
#[on_all_backends]
fn a_version_is_checked_once(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let mut index = prog.tensor_from(&[0_u32, 1, 2, 3], [4])?;
    qd::distinct(&index)?;
    let allocated = || on.world.as_ref().map(|world| world.all_calls());
    let before = allocated();
    qd::distinct(&index)?;
    assert_eq!(allocated(), before, "no driver call");
    set(&mut index, 2, 0).launch()?;
    assert!(matches!(qd::distinct(&index), Err(Error::NotDistinct { positions: [0, 2], .. })));
    index.write(&[7, 1, 0, 3])?;
    qd::distinct(&index)?;
    index.write(&[7, 1, 0, 1])?;
    assert!(matches!(qd::distinct(&index), Err(Error::NotDistinct { positions: [1, 3], .. })));
    // Work on another stream, which is not waited for.
    let stream = prog.create_stream()?;
    set(&mut index, 3, 5).launch_on(&stream)?;
    qd::distinct(&index)?;
    Ok(())
}

#[on_all_backends]
fn launches_reject_what_distinct_indices_do_not_separate(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let to = prog.tensor_from(&[2_u32, 0, 3, 1], [4])?;
    let mut out = prog.zeros([4])?;
    // Without a division they differ.
    halves(qd::distinct(&to)?, 1, &mut out).launch()?;
    let error = halves(qd::distinct(&to)?, 2, &mut out).launch().unwrap_err();
    assert!(matches!(error, Error::Race { .. }), "{error}");
    // Elements after the end are all zero.
    let x = prog.zeros::<f32, 1>([5])?;
    let mut out = prog.zeros([4])?;
    let error = scatter(&x, qd::distinct(&to)?, &mut out).launch().unwrap_err();
    assert!(matches!(error, Error::Race { .. }), "{error}");
    // An element out of range is an error as everywhere.
    let (x, mut short) = (prog.zeros::<f32, 1>([4])?, prog.zeros([3])?);
    let launched = scatter(&x, qd::distinct(&to)?, &mut short).launch();
    let error = launched.and_then(|()| prog.sync()).unwrap_err();
    assert!(matches!(error, Error::Kernel(_)), "{error}");
    Ok(())
}

#[on_all_backends]
fn graphs_check_that_elements_are_still_distinct(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let x = prog.tensor_from(&[1.0, 2.0, 3.0], [3])?;
    let mut index = prog.tensor_from(&[2_u32, 0, 1], [3])?;
    let mut out = prog.zeros([3])?;
    let to = qd::distinct(&index)?;
    let mut graph = prog.capture(|| scatter(&x, to, &mut out).launch())?;
    for _ in 0..2 {
        graph.launch()?;
        assert_eq!(out.to_vec()?, [2.0, 3.0, 1.0]);
    }
    index.write(&[0, 0, 1])?;
    let error = graph.launch().unwrap_err();
    assert!(matches!(&error, Error::NoLongerDistinct { parameter, .. } if parameter == "to"));
    assert!(error.to_string().contains("call `distinct` again"), "{error}");
    index.write(&[0, 2, 1])?;
    assert!(graph.launch().is_err());
    qd::distinct(&index)?;
    graph.launch()?;
    assert_eq!(out.to_vec()?, [1.0, 3.0, 2.0]);
    // Replaced arguments: distinct ones, others, and the tensor itself as another argument.
    let other = prog.tensor_from(&[1_u32, 0, 2], [3])?;
    graph.with("to", qd::distinct(&other)?).launch()?;
    assert_eq!(out.to_vec()?, [2.0, 1.0, 3.0]);
    assert!(matches!(graph.with("to", &other).launch(), Err(Error::Argument { .. })));
    Ok(())
}

/// Tensors of no and of one element have nothing to check, also in graphs.
#[on_all_backends]
fn short_tensors_are_distinct(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    for n in [0, 1] {
        let (x, mut out) = (prog.tensor_from(&vec![2.0; n], [n])?, prog.zeros([1])?);
        let mut index = prog.zeros::<u32, 1>([n])?;
        let to = qd::distinct(&index)?;
        let mut graph = prog.capture(|| scatter(&x, to, &mut out).launch())?;
        graph.launch()?;
        index.write(&vec![0; n])?;
        graph.launch()?;
        assert_eq!(out.to_vec()?, [2.0 * n as f32]);
    }
    Ok(())
}

#[qd::kernel]
fn reverse(y: &mut Tensor<u32, 1>, n: u32) {
    for i in 0..y.len() {
        y[i] = n - y[i];
    }
}

#[on_all_backends]
fn graphs_that_write_a_tensor_exclude_distinct_elements(backend: TestBackend) -> qd::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let x = prog.tensor_from(&[1.0, 2.0, 3.0], [3])?;
    let (mut index, mut out) = (prog.tensor_from(&[2_u32, 0, 1], [3])?, prog.zeros([3])?);
    let mut y = prog.zeros([3])?;
    let mut graph = prog.capture(|| {
        reverse(&mut y, 2).launch()?;
        scatter(&x, qd::distinct(&index)?, &mut out).launch()
    });
    assert!(matches!(graph, Err(Error::Capture { .. })));
    // Known already, so that nothing has to be checked in the capture.
    qd::distinct(&index)?;
    graph = prog.capture(|| {
        reverse(&mut y, 2).launch()?;
        scatter(&x, qd::distinct(&index)?, &mut out).launch()
    });
    let mut graph = graph?;
    graph.launch()?;
    // The graph would write the indices before it uses them.
    let error = graph.with("y", &mut index).launch().unwrap_err();
    assert!(matches!(error, Error::NoLongerDistinct { .. }), "{error}");
    assert_eq!(index.to_vec()?, [2, 0, 1]);
    assert!(matches!(qd::distinct(&y), Err(Error::WrittenByGraph)));
    graph.launch()?;
    assert_eq!(out.to_vec()?, [2.0, 3.0, 1.0]);
    let copied = prog.capture(|| index.write(&[0, 1, 2]))?;
    assert!(matches!(qd::distinct(&index), Err(Error::WrittenByGraph)));
    drop(copied);
    Ok(())
}

#[test]
fn an_unchecked_tensor_can_be_made_distinct() -> qd::Result<()> {
    let prog = qd::Program::open(Arch::Cpu)?;
    let to = prog.tensor_from(&[1_u32, 0], [2])?;
    let (x, mut out) = (prog.tensor_from(&[5.0, 6.0], [2])?, prog.zeros([2])?);
    // SAFETY: the elements differ.
    let to = unsafe { Distinct::new_unchecked(&to)? };
    assert_eq!((to.len(), to.shape()), (2, [2]));
    scatter(&x, to, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [6.0, 5.0]);
    Ok(())
}
