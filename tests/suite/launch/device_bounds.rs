//! Loop bounds that are read from tensors: they stay on the device, in temporaries of their launch and in
//! the order of their region block.

use std::ops::Range;

use quadrants::{self as qd, Error, KernelErrorCause, Program, Result, Stream, Tensor};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{On, TestBackend, on_all_backends};

/// Runs `body` on many schedules. Hardware has its own schedule and runs a few rounds.
fn seeds(on: &On) -> Range<u64> {
    0..if on.world.is_some() { 1000 } else { 50 }
}

#[qd::kernel]
fn mark(value: u32, count: &Tensor<usize, 1>, out: &mut Tensor<u32, 1>) {
    for i in 0..count[0] {
        out[i] += value;
    }
}

#[qd::kernel]
fn mark_both(count: &Tensor<usize, 1>, a: &mut Tensor<u32, 1>, b: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        let n = count[0];
        for i in 0..n {
            a[i] += 1;
        }
    });
    qd::stream_parallel(|| {
        let n = count[1];
        for i in 0..n {
            b[i] += 1;
        }
    });
}

#[qd::kernel]
fn mark_same(count: &Tensor<usize, 1>, a: &mut Tensor<u32, 1>, b: &mut Tensor<u32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..count[0] {
            a[i] += 1;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..count[0] {
            b[i] += 1;
        }
    });
}

/// Grows `count`, loops over it, and so on, in two blocks: serial code and loops as written.
#[qd::kernel]
fn in_order(
    m: &mut Tensor<usize, 1>,
    a: &mut Tensor<u32, 1>,
    n: &mut Tensor<usize, 1>,
    b: &mut Tensor<u32, 1>,
) {
    qd::stream_parallel(|| {
        m[0] = 2;
        for i in 0..m[0] {
            a[i] += 1;
        }
        m[0] += 3 + a[1] as usize;
        let end = m[0];
        m[0] = 1;
        for i in m[0]..end {
            a[i] += 10;
        }
        a[0] = a[5] + m[0] as u32;
    });
    qd::stream_parallel(|| {
        let end = n[0];
        for i in 0..end {
            b[i] += 100;
        }
        n[0] = b[0] as usize - 93;
        n[1] = end;
        for i in n[1]..n[0] {
            b[i] = 5;
        }
        n[1] += n[0];
    });
}

#[qd::kernel]
fn wrapped(n: &Tensor<usize, 1>, out: &mut Tensor<u32, 1>) {
    let last = n[0].wrapping_sub(1);
    out[0] = 3;
    for i in 0..last {
        out[i] = 1;
    }
    out[1] = 4;
}

#[qd::kernel]
fn wrapped_argument(n: usize, out: &mut Tensor<u32, 1>) {
    for i in 0..n - 1 {
        out[i] = 1;
    }
}

#[qd::kernel]
fn plane(bounds: &Tensor<i32, 1>, out: &mut Tensor<i32, 2>) {
    for (i, j) in qd::ndrange((bounds[0]..bounds[1], 1..bounds[2])) {
        out[[i as usize, j as usize]] = i * 10 + j;
    }
}

/// Host and device may round the sum differently: the device computes the bound.
#[qd::kernel]
fn rounded(a: f32, b: f32, out: &mut Tensor<u32, 1>) {
    let end = (a * 10.0 + b) as usize;
    for i in 0..end {
        out[i] = 1;
    }
}

/// The number of steps is at most that of all values, whatever their distance.
#[qd::kernel]
fn far(n: u64, by: usize, out: &mut Tensor<u32, 1>) {
    for i in (0..n).step_by(by) {
        out[i as usize] = 1;
    }
}

fn marked(n: usize) -> Vec<u32> {
    (0..60).map(|i| u32::from(i < n)).collect()
}

#[on_all_backends]
fn launches_on_two_streams_do_not_share_device_bounds(
    backend: TestBackend,
    #[values(false, true)] by_buffer: bool,
) -> Result<()> {
    let builder = Program::builder();
    let builder = if by_buffer { builder.argument_limit(0) } else { builder };
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let streams: [Stream; 2] = [on.program.create_stream()?, on.program.create_stream()?];
    for seed in seeds(&on) {
        if let Some(world) = &on.world {
            world.set_schedule(Schedule::Random);
            world.set_seed(seed);
        }
        let counts = [3 + seed as usize % 7, 50];
        let counts_on = [
            on.program.tensor_from(&counts[..1], [1])?,
            on.program.tensor_from(&counts[1..], [1])?,
        ];
        let mut out = [on.program.zeros::<u32, 1>([60])?, on.program.zeros::<u32, 1>([60])?];
        for ((stream, count), out) in streams.iter().zip(&counts_on).zip(&mut out) {
            mark(1, count, out).launch_on(stream)?;
        }
        for (count, out) in counts.iter().zip(&out) {
            assert_eq!(out.to_vec()?, marked(*count), "seed {seed}");
        }
    }
    Ok(())
}

#[on_all_backends]
fn region_blocks_with_equal_bounds_use_separate_temporaries(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let stream = on.program.create_stream()?;
    for seed in seeds(&on) {
        if let Some(world) = &on.world {
            world.set_schedule(Schedule::Random);
            world.set_seed(seed);
        }
        let counts = [seed as usize % 5, 40];
        let count = on.program.tensor_from(&counts, [2])?;
        let new = || on.program.zeros::<u32, 1>([60]);
        let (mut a, mut b) = (new()?, new()?);
        mark_both(&count, &mut a, &mut b).launch_on(&stream)?;
        assert_eq!(a.to_vec()?, marked(counts[0]), "seed {seed}");
        assert_eq!(b.to_vec()?, marked(counts[1]), "seed {seed}");
        // On a new stream, so that the memory of the bounds is not reused from an earlier launch.
        let (mut a, mut b) = (new()?, new()?);
        mark_same(&count, &mut a, &mut b).launch_on(&on.program.create_stream()?)?;
        assert_eq!(a.to_vec()?, marked(counts[0]), "seed {seed}");
        assert_eq!(b.to_vec()?, marked(counts[0]), "seed {seed}");
    }
    if let Some(world) = &on.world {
        assert_eq!(world.reports(), []);
    }
    Ok(())
}

#[on_all_backends]
fn serial_code_of_a_region_block_runs_in_source_order(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let stream = on.program.create_stream()?;
    for seed in seeds(&on) {
        if let Some(world) = &on.world {
            world.set_schedule(Schedule::Random);
            world.set_seed(seed);
        }
        let mut m = on.program.tensor_from(&[9usize], [1])?;
        let mut n = on.program.tensor_from(&[4usize, 0], [2])?;
        let (mut a, mut b) = (on.program.zeros::<u32, 1>([8])?, on.program.zeros::<u32, 1>([8])?);
        in_order(&mut m, &mut a, &mut n, &mut b).launch_on(&stream)?;
        assert_eq!(m.to_vec()?, [1], "seed {seed}");
        assert_eq!(a.to_vec()?, [11, 11, 10, 10, 10, 10, 0, 0], "seed {seed}");
        assert_eq!(n.to_vec()?, [7, 11], "seed {seed}");
        assert_eq!(b.to_vec()?, [100, 100, 100, 100, 5, 5, 5, 0], "seed {seed}");
    }
    Ok(())
}

#[on_all_backends]
fn bounds_of_several_dimensions_are_read_on_the_device(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    for bounds in [[0, 4, 5], [1, 3, 3], [2, 2, 5], [3, 1, 4], [0, 4, 1], [-5, -6, 0]] {
        let read = on.program.tensor_from(&bounds, [3])?;
        let mut out = on.program.zeros::<i32, 2>([4, 5])?;
        plane(&read, &mut out).launch()?;
        let at =
            |i: i32, j: i32| (bounds[0]..bounds[1]).contains(&i) && (1..bounds[2]).contains(&j);
        let expected: Vec<i32> =
            (0..20).map(|k| if at(k / 5, k % 5) { k / 5 * 10 + k % 5 } else { 0 }).collect();
        assert_eq!(out.to_vec()?, expected, "{bounds:?}");
    }
    Ok(())
}

#[on_all_backends]
fn a_bound_larger_than_the_tensor_is_an_out_of_bounds_error(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let count = on.program.tensor_from(&[61usize], [1])?;
    let mut out = on.program.zeros::<u32, 1>([60])?;
    let launched = mark(1, &count, &mut out).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = launched else { panic!("{launched:?}") };
    assert_eq!((error.kernel.as_str(), error.line), ("mark", 18));
    let KernelErrorCause::IndexOutOfRange { tensor, index, shape } = &error.cause else {
        panic!("{error:?}")
    };
    assert_eq!((tensor.as_str(), &index[..], &shape[..]), ("out", &[60][..], &[60][..]));
    let count = on.program.tensor_from(&[60usize], [1])?;
    mark(1, &count, &mut out).launch()?;
    on.program.sync()
}

#[on_all_backends]
fn a_bound_that_wraps_on_the_device_is_an_error_and_runs_no_iterations(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<u32, 1>([6])?;
    let n = on.program.tensor_from(&[0usize], [1])?;
    let launched = wrapped(&n, &mut out).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = launched else { panic!("{launched:?}") };
    assert_eq!((error.kernel.as_str(), error.line), ("wrapped", 91));
    let KernelErrorCause::BoundWrapped { iterations } = &error.cause else { panic!("{error:?}") };
    assert_eq!(iterations, &[u64::MAX]);
    assert_eq!(out.to_vec()?, [3, 4, 0, 0, 0, 0]);
    let n = on.program.tensor_from(&[4usize], [1])?;
    wrapped(&n, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [1, 4, 1, 0, 0, 0]);
    Ok(())
}

#[on_all_backends]
fn a_bound_that_wraps_on_the_host_is_rejected(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<u32, 1>([3])?;
    let launched = wrapped_argument(0, &mut out).launch();
    let Err(Error::Grid { kernel, .. }) = launched else { panic!("{launched:?}") };
    assert_eq!(kernel, "wrapped_argument");
    wrapped_argument(3, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [1, 1, 0]);
    Ok(())
}

#[qd::kernel]
fn keys(base: u64, n: u64, out: &mut Tensor<u32, 1>) {
    for key in base..base + n {
        out[(key - base) as usize] = 1;
    }
}

#[qd::kernel]
fn signed_keys(base: i64, rows: i64, out: &mut Tensor<u32, 1>) {
    for (_row, key) in qd::ndrange((0..rows, base..base + 2)) {
        qd::atomic_add(&mut out[(key - base) as usize], 1);
    }
}

#[qd::kernel]
fn keys_of_the_device(base: &Tensor<i64, 1>, out: &mut Tensor<u32, 1>) {
    let from = base[0];
    for key in from..from + 2 {
        out[(key - from) as usize] = 1;
    }
}

/// Loop bounds have the same limits on every backend, whether host or device computes them.
#[on_all_backends]
fn bounds_outside_the_supported_range_are_rejected_on_every_backend(
    backend: TestBackend,
) -> Result<()> {
    const FAR: u64 = 1 << 48;
    const LINES: [u32; 3] = [277, 284, 292];
    let Some(on) = backend.open() else { return Ok(()) };
    let fresh = || on.program.zeros::<u32, 1>([2]);
    let refused = |launched: Result<()>, named: &str, line: u32| {
        let Err(Error::Grid { kernel, what }) = launched else { panic!("{launched:?}") };
        assert_eq!(kernel, named);
        assert!(what.contains(&format!("line {line} ")) && what.contains("2^48"), "{what}");
    };

    let mut out = fresh()?;
    keys(FAR - 2, 2, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [1, 1]);
    keys(u64::MAX - 9, 0, &mut out).launch()?;
    for base in [FAR - 1, FAR, 1 << 60, 1 << 63, u64::MAX - 2] {
        refused(keys(base, 2, &mut out).launch(), "keys", LINES[0]);
    }

    let far = FAR as i64;
    let mut out = fresh()?;
    signed_keys(-far, 3, &mut out).launch()?;
    signed_keys(far - 2, 3, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [6, 6]);
    signed_keys(i64::MIN, 0, &mut out).launch()?;
    for base in [-far - 1, far - 1, i64::MIN, i64::MAX - 2] {
        refused(signed_keys(base, 3, &mut out).launch(), "signed_keys", LINES[1]);
    }
    assert_eq!(out.to_vec()?, [6, 6]);

    for (base, runs) in [(-far, true), (far - 2, true), (-far - 1, false), (far - 1, false)] {
        let mut out = fresh()?;
        let base = on.program.tensor_from(&[base], [1])?;
        let launched =
            keys_of_the_device(&base, &mut out).launch().and_then(|()| on.program.sync());
        if runs {
            launched?;
            assert_eq!(out.to_vec()?, [1, 1]);
            continue;
        }
        let Err(Error::Kernel(error)) = launched else { panic!("{launched:?}") };
        assert_eq!((error.kernel.as_str(), error.line), ("keys_of_the_device", LINES[2]));
        let KernelErrorCause::BoundWrapped { iterations } = &error.cause else {
            panic!("{error:?}")
        };
        assert_eq!(iterations, &[2]);
    }
    Ok(())
}

#[on_all_backends]
fn a_bound_computed_from_floats_is_evaluated_on_the_device(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<u32, 1>([60])?;
    rounded(2.5, 7.0, &mut out).launch()?;
    assert_eq!(out.to_vec()?, marked(32));
    rounded(-1.0, 3.0, &mut out).launch()?;
    rounded(f32::NAN, 3.0, &mut out).launch()?;
    assert_eq!(out.to_vec()?, marked(32));
    let launched = rounded(6.0, 1.0, &mut out).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = launched else { panic!("{launched:?}") };
    let KernelErrorCause::IndexOutOfRange { index, .. } = &error.cause else { panic!("{error:?}") };
    assert_eq!(index, &[60]);
    Ok(())
}

#[on_all_backends]
fn steps_are_counted_without_wrapping(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<u32, 1>([60])?;
    let launched = far(u64::MAX, 1 << 63, &mut out).launch().and_then(|()| on.program.sync());
    let Err(Error::Kernel(error)) = launched else { panic!("{launched:?}") };
    let KernelErrorCause::IndexOutOfRange { index, .. } = &error.cause else { panic!("{error:?}") };
    assert_eq!(index, &[1 << 63]);
    far(1, usize::MAX, &mut out).launch()?;
    far(0, 1 << 63, &mut out).launch()?;
    assert_eq!(out.to_vec()?, marked(1));
    Ok(())
}

#[on_all_backends]
fn an_empty_tensor_may_have_extents_whose_product_overflows(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.zeros::<u32, 3>([1 << 40, 1 << 40, 0])?;
    assert!(x.is_empty() && x.to_vec()?.is_empty());
    assert_eq!(x.slice(1 << 39..)?.shape(), [1 << 39, 1 << 40, 0]);
    let mut out = on.program.zeros::<u32, 1>([4])?;
    count_all(&x, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [0, 0, 5, 0]);
    Ok(())
}

#[qd::kernel]
fn count_all(x: &Tensor<u32, 3>, out: &mut Tensor<u32, 1>) {
    out[2] = x.len() as u32 + 5;
    for i in 0..x.len() {
        out[i] = x[[i, 0, 0]];
    }
}
