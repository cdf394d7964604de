//! `Launch::explain`: how a launch runs, and which accesses it could not prove.

use quadrants::{self as qd, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

#[qd::kernel]
fn gather(index: &Tensor<u32, 1>, x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] *= 2.0;
    }
    for i in 0..y.len() {
        y[i] = x[index[i] as usize];
    }
}

#[qd::kernel]
fn total(x: &Tensor<f32, 1>, shift: usize, sum: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut sum[0], x[i + shift]);
    }
}

#[qd::kernel]
fn product(a: &Tensor<f32, 2>, b: &Tensor<f32, 2>, c: &mut Tensor<f32, 2>) {
    let n = a.shape()[1];
    for (i, j) in qd::ndrange(c.shape()) {
        let mut sum = 0.0;
        for k in 0..n {
            sum += a[[i, k]] * b[[k, j]];
        }
        c[[i, j]] = sum;
    }
}

#[qd::kernel]
fn halved(x: &Tensor<f64, 1>, y: &mut Tensor<f64, 1>) {
    qd::block_for(x.len() / 32, 32, |b| {
        let mut tile = b.shared::<f64>(32);
        let base = b.index() * 32;
        b.each(|t| {
            tile[t] = x[base + t];
        });
        b.each(|t| {
            y[base + t] = tile[31 - t].mul_add(0.5, 1.0);
        });
    });
}

/// What an iteration reads, writes and computes, and what the function uses of the device.
#[on_all_backends]
fn an_explanation_counts_work_and_registers(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let (a, b) = (prog.zeros([64, 10])?, prog.zeros([10, 32])?);
    let mut c = prog.zeros([64, 32])?;
    let explanation = product(&a, &b, &mut c).explain(prog)?;
    let [task] = &explanation.tasks[..] else { panic!("{explanation}") };
    let work = task.work;
    assert_eq!((work.read_bytes, work.written_bytes), (80, 4), "{explanation}");
    assert_eq!((work.float_operations, work.double_operations), (20, 0), "{explanation}");
    assert!(!work.has_open_loop, "{explanation}");
    let text = explanation.to_string();
    assert!(text.contains("an iteration reads 80 bytes and writes 4, 20 f32 operations"), "{text}");
    assert!(text.contains("0.24 float operations per byte"), "{text}");

    let (x, mut y) = (prog.zeros([64])?, prog.zeros([64])?);
    let blocks = halved(&x, &mut y).explain(prog)?;
    let [task] = &blocks.tasks[..] else { panic!("{blocks}") };
    assert_eq!((task.work.read_bytes, task.work.written_bytes), (256, 256), "{blocks}");
    assert_eq!(task.work.double_operations, 64, "{blocks}");
    if backend == TestBackend::Cpu {
        assert!(task.usage.is_none() && task.balance.is_none(), "{blocks}");
    } else {
        let usage = task.usage.expect("of a device");
        assert!(usage.registers > 0 && usage.blocks_per_multiprocessor > 0, "{blocks}");
        assert_eq!(usage.shared_bytes, 256, "{blocks}");
        let occupancy = task.occupancy.expect("of a device");
        assert!(occupancy > 0.0 && occupancy <= 1.0, "{blocks}");
        assert!(task.balance.is_some_and(|balance| balance > 0.0), "{blocks}");
        assert!(blocks.to_string().contains("limited by memory"), "{blocks}");
    }
    // A loop whose bounds are read from a tensor.
    let index = prog.zeros::<u32, 1>([8])?;
    let (x, mut y) = (prog.zeros::<f32, 1>([16])?, prog.zeros::<f32, 1>([8])?);
    let rows = rows(&index, &x, &mut y).explain(prog)?;
    assert!(rows.tasks[0].work.has_open_loop, "{rows}");
    assert!(rows.to_string().contains("one trip of loops"), "{rows}");
    Ok(())
}

#[qd::kernel]
fn rows(begin: &Tensor<u32, 1>, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() - 1 {
        for k in begin[i] as usize..begin[i + 1] as usize {
            y[i] += x[k];
        }
    }
}

#[on_all_backends]
fn an_explanation_names_what_was_not_proven(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    let index = prog.zeros::<u32, 1>([8])?;
    let (mut x, mut y) = (prog.zeros::<f32, 1>([16])?, prog.zeros::<f32, 1>([8])?);
    let explanation = gather(&index, &mut x, &mut y).explain(prog)?;
    let [first, second] = &explanation.tasks[..] else { panic!("{explanation}") };
    assert!(!first.is_checked && first.unproven.is_empty(), "{explanation}");
    assert!(second.is_checked, "{explanation}");
    let [reason] = &second.unproven[..] else { panic!("{explanation}") };
    assert!(reason.contains("of `x` at line 12"), "{explanation}");
    let text = explanation.to_string();
    assert!(text.starts_with("kernel `gather`\n") && text.contains("explain.rs:8: loop"), "{text}");
    assert_eq!(first.grid.is_some(), backend != TestBackend::Cpu, "{text}");

    // The values that an index may have, where the launch knows them.
    let mut sum = prog.zeros::<f32, 1>([1])?;
    let all = total(&x, 0, &mut sum).explain(prog)?;
    assert!(!all.tasks[0].is_checked, "{all}");
    let shifted = total(&x, 3, &mut sum).explain(prog)?;
    assert!(
        shifted.tasks[0]
            .unproven
            .iter()
            .any(|reason| reason.contains("may be 3 to 18; the extent is 16")),
        "{shifted}"
    );
    if backend != TestBackend::Cpu {
        let reduced = |text: &qd::Explanation| {
            text.to_string().contains("reduction atomic_add<f32> into sum[0]")
        };
        assert!(reduced(&all) && reduced(&shifted), "{all}\n{shifted}");
    }
    // Nothing was launched.
    assert_eq!(sum.to_vec()?, [0.0]);
    Ok(())
}

#[qd::kernel]
fn doubled_if(on: bool, x: &mut Tensor<u32, 1>) {
    if on {
        for i in 0..x.len() {
            x[i] *= 2;
        }
    }
    x[0] = 1;
}

#[qd::kernel]
fn asserted(x: &mut Tensor<u32, 1>) {
    // SAFETY: each iteration has an element of its own.
    unsafe {
        for i in 0..x.len() {
            x[i] *= 2;
        }
    }
}

#[qd::kernel]
fn in_a_value(x: &mut Tensor<u32, 1>) {
    let sum = {
        let mut sum = 0;
        for i in 0..x.len() {
            sum += x[i];
        }
        sum
    };
    x[0] = sum;
}

#[qd::kernel]
fn first(x: &mut Tensor<u32, 1>) {
    x[0] = 1;
}

#[on_all_backends]
fn an_explanation_names_loops_of_one_thread(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = on.program.zeros([8])?;
    let explained = in_a_value(&mut x).explain(&on.program)?.to_string();
    assert!(explained.contains("one thread runs its loops"), "{explained}");
    let explained = asserted(&mut x).explain(&on.program)?.to_string();
    assert!(!explained.contains("one thread runs"), "{explained}");
    for runs in [false, true] {
        let explained = doubled_if(runs, &mut x).explain(&on.program)?.to_string();
        assert!(!explained.contains("one thread runs"), "{explained}");
    }
    let explained = first(&mut x).explain(&on.program)?.to_string();
    assert!(!explained.contains("one thread runs"), "{explained}");
    Ok(())
}

#[qd::kernel]
fn inner(x: &Tensor<f32, 2>, y: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange((1..y.shape()[0] - 1, 4..y.shape()[1] - 4)) {
        y[[i, j]] = x[[i - 1, j - 4]] + x[[i + 1, j + 4]];
    }
}

/// The grid covers the iterations that are skipped at the begin of a row too. Results are those of the written loop.
#[on_all_backends]
fn rows_of_stencils_begin_at_whole_cache_lines(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let prog = &on.program;
    for columns in [132, 133, 9] {
        let values: Vec<f32> = (0..6 * columns).map(|k| k as f32).collect();
        let x = prog.tensor_from(&values, [6, columns])?;
        let mut y = prog.zeros::<f32, 2>([6, columns])?;
        let explanation = inner(&x, &mut y).explain(prog)?;
        if let Some((grid, block)) = explanation.tasks[0].grid {
            assert!(explanation.to_string().contains("begin 4 iterations early"), "{explanation}");
            let in_row = columns as u32 - 4;
            assert_eq!(grid[0], in_row.div_ceil(block[0]), "{explanation}");
        }
        inner(&x, &mut y).launch()?;
        let at = |i: usize, j: usize| values[i * columns + j];
        for (k, found) in y.to_vec()?.into_iter().enumerate() {
            let (i, j) = (k / columns, k % columns);
            let is_inner = (1..5).contains(&i) && (4..columns - 4).contains(&j);
            let expected = if is_inner { at(i - 1, j - 4) + at(i + 1, j + 4) } else { 0.0 };
            assert_eq!(found, expected, "{i} {j} of {columns}");
        }
    }
    Ok(())
}
