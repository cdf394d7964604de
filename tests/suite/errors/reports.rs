//! Device errors that kernels report: their content, the stream that reports them, and how often.

use quadrants::{self as qd, Error, KernelErrorCause, Program, Severity, Tensor};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{
    TestBackend::{self, Cpu},
    on_all_backends, on_gpu_backends,
};

use super::kernel_error;
use crate::common::{copy, set};

const SHIFT_LINE: u32 = line!() + 4;
#[qd::kernel]
fn shift(by: usize, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>, z: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        y[i] = x[i + by] + 1.0;
        z[i + by] = 5.0;
    }
}

const PLANE_LINE: u32 = line!() + 4;
#[qd::kernel]
fn write_plane(at: &Tensor<usize, 1>, out: &mut Tensor<i32, 2>) {
    for i in 0..1 {
        out[[at[i], at[i + 1]]] += 9;
    }
}

#[qd::kernel]
fn count_around(x: &Tensor<u32, 1>, at: &Tensor<i32, 1>, counts: &mut Tensor<u32, 1>) {
    for i in 0..at.len() {
        qd::atomic_add(&mut counts[at[i] as usize], x[at[i] as usize] + 1);
    }
}

/// A sparse matrix, given by rows, times a vector.
#[qd::kernel]
fn rows_times(
    starts: &Tensor<u32, 1>,
    columns: &Tensor<u32, 1>,
    values: &Tensor<i32, 1>,
    x: &Tensor<i32, 1>,
    y: &mut Tensor<i32, 1>,
) {
    for i in 0..y.len() {
        let mut sum = 0;
        for k in starts[i]..starts[i + 1] {
            sum += values[k as usize] * x[columns[k as usize] as usize];
        }
        y[i] = sum;
    }
}

#[qd::kernel]
fn guarded(x: &Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        if i > 0 && i + 1 < x.len() {
            out[i] = x[i - 1] + x[i + 1];
        }
    }
}

const POSITIVE_LINE: u32 = line!() + 4;
#[qd::kernel]
fn positive(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 1>) -> i32 {
    for i in 0..x.len() {
        assert!(x[i] > 0, "not positive");
        assert!(x[i] < 100);
        out[i] = x[i];
    }
    out[0]
}

const DIVIDE_LINE: u32 = line!() + 4;
#[qd::kernel]
fn divide(x: &Tensor<i32, 1>, y: &mut Tensor<u64, 1>) {
    for i in 0..1 {
        y[i] = (100 / x[0]) as u64;
        y[i + 1] = 100 % y[i];
    }
}

#[qd::kernel]
fn double(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] *= 2;
    }
}

fn tensors<const N: usize>(program: &Program) -> [Tensor<f32, 1>; N] {
    [(); N].map(|()| program.tensor_from(&[3.0; 8], [8]).expect("memory"))
}

#[on_all_backends]
fn an_out_of_bounds_read_gives_zero_and_an_out_of_bounds_write_is_dropped(
    backend: TestBackend,
    #[values(1, 8, 1 << 40, usize::MAX - 20)] by: usize,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let [x, below, mut y, mut z, above] = tensors(&on.program);
    let launched = shift(by, &x, &mut y, &mut z).launch();
    let error = kernel_error(launched, || on.program.sync());
    assert_eq!(error.kernel, "shift");
    assert_eq!(error.launch, 1);
    assert!(error.file.ends_with("reports.rs"), "{}", error.file);
    let (tensor, line) = match &error.cause {
        KernelErrorCause::IndexOutOfRange { tensor, index, shape } => {
            assert_eq!(*shape, [8]);
            assert!((8..8 + by as u64).contains(&index[0]), "{index:?}");
            (tensor.as_str(), error.line - SHIFT_LINE)
        }
        other => panic!("{other:?}"),
    };
    assert!(matches!((tensor, line), ("x", 0) | ("z", 1)), "`{tensor}` in line {line}");
    assert!(error.to_string().contains("is out of range for its shape [8]"), "{error}");

    let inside = 8usize.saturating_sub(by);
    let (y, z) = (y.to_vec()?, z.to_vec()?);
    assert!((0..8).all(|i| y[i] == if i < inside { 4.0 } else { 1.0 }), "{y:?}");
    assert!((0..8).all(|i| z[i] == if i < by { 3.0 } else { 5.0 }), "{z:?}");
    for untouched in [x, below, above] {
        assert_eq!(untouched.to_vec()?, [3.0; 8]);
    }
    if let Some(world) = &on.world {
        assert_eq!(world.reports(), []);
    }
    Ok(())
}

#[on_all_backends]
fn each_index_of_a_multi_dimensional_access_is_checked(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<i32, 2>([3, 5])?;
    // Within the memory, but not within the shape; and far out.
    for index in [[1, 5], [3, 0], [0, usize::MAX], [usize::MAX, 1]] {
        let at = on.program.tensor_from(&index, [2])?;
        let launched = write_plane(&at, &mut out).launch();
        let error = kernel_error(launched, || on.program.sync());
        let index = index.map(|at| at as u64).to_vec();
        let cause =
            KernelErrorCause::IndexOutOfRange { tensor: "out".into(), index, shape: vec![3, 5] };
        assert_eq!((error.line, error.cause), (PLANE_LINE, cause));
    }
    assert_eq!(out.to_vec()?, [0; 15]);
    let at = on.program.tensor_from(&[2usize, 4], [2])?;
    write_plane(&at, &mut out).launch()?;
    assert_eq!(out.to_vec()?[14], 9);
    Ok(())
}

#[on_all_backends]
fn an_out_of_bounds_atomic_is_dropped(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[10u32, 20, 30], [3])?;
    let at = on.program.tensor_from(&[2, -1, 2, 3, 0], [5])?;
    let mut counts = on.program.zeros::<u32, 1>([3])?;
    let launched = count_around(&x, &at, &mut counts).launch();
    let error = kernel_error(launched, || on.program.sync());
    assert!(matches!(error.cause, KernelErrorCause::IndexOutOfRange { .. }));
    assert_eq!(counts.to_vec()?, [11, 0, 62]);
    Ok(())
}

/// On a GPU, loops with loaded indices run speculatively without reports, and again with them after a failure.
#[on_all_backends]
fn an_index_loaded_from_memory_is_checked_in_its_loop(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let starts = program.tensor_from(&[0u32, 9, 9, 11, 17], [5])?;
    let good: Vec<u32> = (0..17).map(|k| k % 5).collect();
    let values = program.tensor_from(&(1..=17).collect::<Vec<i32>>(), [17])?;
    let x = program.tensor_from(&[1, 10, 100, 1000, 10_000], [5])?;
    let expected = |columns: &[u32], values: usize, x: &[i32]| -> Vec<i32> {
        let of = |k: usize| match x.get(columns[k] as usize) {
            Some(other) if k < values => (k as i32 + 1) * other,
            _ => 0,
        };
        [0..9, 9..9, 9..11, 11..17].map(|row| row.map(of).sum()).to_vec()
    };
    let mut y = program.zeros::<i32, 1>([4])?;
    let columns = program.tensor_from(&good, [17])?;
    rows_times(&starts, &columns, &values, &x, &mut y).launch()?;
    program.sync()?;
    let own = x.to_vec()?;
    assert_eq!(y.to_vec()?, expected(&good, 17, &own));

    for at in [0, 3, 8, 10, 16] {
        let mut bad = good.clone();
        bad[at] = 5 + at as u32;
        let columns = program.tensor_from(&bad, [17])?;
        let launched = rows_times(&starts, &columns, &values, &x, &mut y).launch();
        let error = kernel_error(launched, || program.sync());
        let KernelErrorCause::IndexOutOfRange { tensor, index, shape } = &error.cause else {
            panic!("{error:?}")
        };
        assert_eq!((tensor.as_str(), index[0], shape[0]), ("x", u64::from(bad[at]), 5));
        program.sync()?;
        assert_eq!(y.to_vec()?, expected(&bad, 17, &own));
    }

    // Rows that are longer than what they read, and nothing to read at all.
    let launched = rows_times(&starts, &columns, &*values.slice(..12)?, &x, &mut y).launch();
    let error = kernel_error(launched, || program.sync());
    let KernelErrorCause::IndexOutOfRange { tensor, index, .. } = &error.cause else {
        panic!("{error:?}")
    };
    assert!(tensor == "values" && index[0] >= 12, "{error:?}");
    assert_eq!(y.to_vec()?, expected(&good, 12, &own));
    let launched = rows_times(&starts, &columns, &values, &*x.slice(..0)?, &mut y).launch();
    let error = kernel_error(launched, || program.sync());
    assert!(
        matches!(&error.cause, KernelErrorCause::IndexOutOfRange { tensor, .. } if tensor == "x"),
        "{error:?}"
    );
    assert_eq!(y.to_vec()?, [0; 4]);
    Ok(())
}

/// Sums of a plane's elements in the order of a list, whose indices have several types.
#[qd::kernel]
fn listed(
    rows: &Tensor<i32, 1>,
    columns: &Tensor<u64, 1>,
    layers: &Tensor<u8, 1>,
    plane: &Tensor<i32, 3>,
    sums: &mut Tensor<i32, 1>,
) {
    for i in 0..sums.len() {
        let mut sum = i as i32;
        for k in 0..rows.len() - i {
            sum += plane[[rows[k] as usize, columns[k] as usize, layers[k] as usize]];
        }
        sums[i] = sum;
    }
}

/// Indices of all types are checked in the run without reports: negative ones, and those of more than 32 bits.
#[on_all_backends]
fn loaded_indices_of_all_types_are_checked(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let shape = [3, 4, 5];
    let values: Vec<i32> = (0..60).map(|at| at * at % 47 + 1).collect();
    let plane = program.tensor_from(&values, shape)?;
    let good: Vec<(i32, u64, u8)> =
        (0..23).map(|k| (k % 3, (k * 7 % 4) as u64, (k * 3 % 5) as u8)).collect();
    let of = |&(row, column, layer): &(i32, u64, u8)| {
        let inside = (0..3).contains(&row) && column < 4 && layer < 5;
        let at = || (row as usize * 4 + column as usize) * 5 + usize::from(layer);
        if inside { values[at()] } else { 0 }
    };
    let row_of = |bad: &[(i32, u64, u8)], i: usize| {
        bad[..bad.len() - i].iter().map(of).sum::<i32>() + i as i32
    };
    let check = |list: &[(i32, u64, u8)], plane: &Tensor<i32, 3>| {
        let rows = program.tensor_from(&list.iter().map(|at| at.0).collect::<Vec<_>>(), [23])?;
        let columns = program.tensor_from(&list.iter().map(|at| at.1).collect::<Vec<_>>(), [23])?;
        let layers = program.tensor_from(&list.iter().map(|at| at.2).collect::<Vec<_>>(), [23])?;
        let mut sums = program.zeros::<i32, 1>([6])?;
        let launched = listed(&rows, &columns, &layers, plane, &mut sums).launch();
        let launched = launched.and_then(|()| program.sync());
        Ok::<_, Error>((launched, sums.to_vec()?))
    };
    let (launched, sums) = check(&good, &plane)?;
    launched?;
    assert_eq!(sums, (0..6).map(|i| row_of(&good, i)).collect::<Vec<_>>());
    for bad in [
        (-1, 0, 0),
        (i32::MIN, 1, 1),
        (3, 3, 4),
        (i32::MAX, 0, 0),
        (0, 4, 0),
        (1, 1 << 32, 0),
        (2, u64::MAX, 1),
        (0, 0, 5),
        (2, 3, 255),
    ] {
        let mut list = good.clone();
        list[9] = bad;
        let (launched, sums) = check(&list, &plane)?;
        let error = kernel_error(launched, || Ok(()));
        let index = vec![i64::from(bad.0) as u64, bad.1, u64::from(bad.2)];
        let cause = KernelErrorCause::IndexOutOfRange {
            tensor: "plane".into(),
            index,
            shape: vec![3, 4, 5],
        };
        assert_eq!(error.cause, cause);
        assert_eq!(sums, (0..6).map(|i| row_of(&list, i)).collect::<Vec<_>>(), "{bad:?}");
    }
    let (launched, sums) = check(&good, &program.zeros::<i32, 3>([3, 0, 5])?)?;
    assert!(matches!(launched, Err(Error::Kernel(_))), "{launched:?}");
    assert_eq!(sums, [0, 1, 2, 3, 4, 5]);
    Ok(())
}

#[on_all_backends]
fn an_out_of_bounds_access_in_a_branch_not_taken_is_no_error(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let x = on.program.tensor_from(&[1.0, 2.0, 4.0, 8.0], [4])?;
    let mut out = on.program.zeros::<f32, 1>([4])?;
    guarded(&x, &mut out).launch()?;
    on.program.sync()?;
    assert_eq!(out.to_vec()?, [0.0, 5.0, 10.0, 0.0]);
    Ok(())
}

#[on_all_backends]
fn an_assertion_reports_its_message(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<i32, 1>([3])?;
    for (values, message, line) in [
        ([7, -1, 5], "not positive", POSITIVE_LINE),
        ([7, 100, 5], "x[i] < 100", POSITIVE_LINE + 1),
    ] {
        let x = on.program.tensor_from(&values, [3])?;
        // The kernel has a result, so the launch waits and reports the error itself.
        let launched = positive(&x, &mut out).launch();
        assert_eq!(launched.as_ref().map_err(Error::severity), Err(Severity::LostData));
        let error = kernel_error(launched.map(drop), || Ok(()));
        let cause = KernelErrorCause::Assert { message: message.into() };
        assert_eq!((error.kernel.as_str(), error.line, error.cause), ("positive", line, cause));
        on.program.sync()?;
    }
    let x = on.program.tensor_from(&[7, 1, 5], [3])?;
    assert_eq!(positive(&x, &mut out).launch()?, 7);
    Ok(())
}

#[on_all_backends]
fn a_division_by_zero_is_reported(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut y = on.program.zeros::<u64, 1>([2])?;
    for (divisor, line) in [(0, DIVIDE_LINE), (101, DIVIDE_LINE + 1)] {
        let x = on.program.tensor_from(&[divisor], [1])?;
        let launched = divide(&x, &mut y).launch();
        let error = kernel_error(launched, || on.program.sync());
        assert_eq!((error.line, error.cause), (line, KernelErrorCause::DivideByZero));
    }
    let x = on.program.tensor_from(&[7], [1])?;
    divide(&x, &mut y).launch()?;
    assert_eq!(y.to_vec()?, [14, 2]);
    Ok(())
}

/// A GPU reads such elements in words, and those that fill no word one by one.
#[qd::kernel]
fn sum_of_shares(by: u8, x: &Tensor<u8, 1>, sum: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut sum[0], (x[i] / by + x[i] % by) as u32);
    }
}

/// One check stands for those of a quotient and a remainder by an argument.
#[qd::kernel]
fn split(by: u64, x: &Tensor<u64, 1>, y: &mut Tensor<u64, 2>) {
    for i in 0..x.len() {
        if x[i] > 100 {
            y[[i, 0]] = x[i] % by;
        } else {
            y[[i, 0]] = x[i] / by;
            y[[i, 1]] = x[i] % by + i as u64 / by;
        }
    }
}

#[on_all_backends]
fn a_division_by_an_argument_of_zero_is_reported(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    for n in [1, 5, 33, 200] {
        let bytes: Vec<u8> = (0..n).map(|i| (i * 37 % 101) as u8).collect();
        let x = program.tensor_from(&bytes, [bytes.len()])?;
        let mut sum = program.zeros::<u32, 1>([1])?;
        sum_of_shares(7, &x, &mut sum).launch()?;
        let of = |x: &u8| u32::from(x / 7 + x % 7);
        assert_eq!(sum.to_vec()?, [bytes.iter().map(of).sum::<u32>()]);
        let launched = sum_of_shares(0, &x, &mut sum).launch();
        let error = kernel_error(launched, || program.sync());
        assert_eq!(error.cause, KernelErrorCause::DivideByZero);

        let numbers: Vec<u64> = (0..n as u64).map(|i| i * 37 % 151 + (i % 5) * (1 << 40)).collect();
        let x = program.tensor_from(&numbers, [numbers.len()])?;
        let mut y = program.zeros::<u64, 2>([numbers.len(), 2])?;
        for by in [1, 6, 1 << 33] {
            split(by, &x, &mut y).launch()?;
            let of = |(i, x): (usize, &u64)| match *x > 100 {
                true => [x % by, 0],
                false => [x / by, x % by + i as u64 / by],
            };
            assert_eq!(y.to_vec()?, numbers.iter().enumerate().flat_map(of).collect::<Vec<_>>());
            y.fill(0)?;
        }
        let launched = split(0, &x, &mut y).launch();
        let error = kernel_error(launched, || program.sync());
        assert_eq!(error.cause, KernelErrorCause::DivideByZero);
    }
    Ok(())
}

#[on_all_backends]
fn integer_overflow_wraps_or_is_the_error_of_the_launch(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = on.program.tensor_from(&[1, i32::MAX], [2])?;
    match double(&mut x).launch() {
        Ok(()) => assert_eq!(x.to_vec()?, [2, -2]),
        Err(error @ Error::Panicked { .. }) if backend == Cpu => {
            let message = error.to_string();
            let Error::Panicked { line: Some(line), .. } = &error else { panic!("{error:?}") };
            let place = format!("tests/suite/errors/reports.rs:{line}");
            let expected =
                format!("kernel `double` ({place}) panicked: attempt to multiply with overflow");
            assert_eq!(message, expected);
            let source = include_str!("reports.rs").lines().nth(*line as usize - 1);
            assert_eq!(source.map(str::trim), Some("for i in 0..x.len() {"));
            assert_eq!(error.severity(), Severity::LostData);
        }
        Err(error) => panic!("{error:?}"),
    }
    x.fill(4)?;
    double(&mut x).launch()?;
    assert_eq!(x.to_vec()?, [8, 8]);
    Ok(())
}

#[on_gpu_backends]
fn an_error_is_reported_once_and_only_on_its_stream(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let [x, mut y, mut z, mut other, mut w] = tensors(program);

    shift(3, &x, &mut y, &mut z).launch_on(&s1)?;
    set(1.0, &mut other).launch_on(&s2)?;
    s2.synchronize()?;
    program.sync()?;
    set(1.0, &mut other).launch_on(&s2)?;
    assert_eq!(other.to_vec()?, [1.0; 8]);
    assert_eq!(kernel_error(Ok(()), || s1.synchronize()).kernel, "shift");
    s1.synchronize()?;
    program.device_sync()?;

    // A read of what the stream wrote reports too, a read of what it only read does not.
    shift(3, &x, &mut y, &mut z).launch_on(&s1)?;
    assert_eq!(x.to_vec()?, [3.0; 8]);
    assert_eq!(kernel_error(Ok(()), || y.to_vec().map(drop)).launch, 4);
    assert_eq!(y.to_vec()?[..], [4.0, 4.0, 4.0, 4.0, 4.0, 1.0, 1.0, 1.0]);
    s1.synchronize()?;

    // Each stream keeps its own.
    shift(3, &x, &mut y, &mut z).launch_on(&s1)?;
    shift(5, &x, &mut other, &mut w).launch_on(&s2)?;
    let mut launches = [(); 2].map(|()| kernel_error(Ok(()), || program.device_sync()).launch);
    launches.sort_unstable();
    assert_eq!(launches, [5, 6]);
    program.device_sync()?;
    s1.synchronize()?;
    s2.synchronize()
}

#[on_gpu_backends]
fn the_first_of_several_errors_is_reported(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    // All are launched before the first runs.
    on.world.as_ref().expect("simulated").set_schedule(Schedule::Lazy);
    let stream = on.program.create_stream()?;
    let [x, mut y, mut z] = tensors(&on.program);
    for by in 3..6 {
        shift(by, &x, &mut y, &mut z).launch_on(&stream)?;
    }
    assert_eq!(kernel_error(Ok(()), || stream.synchronize()).launch, 1);
    stream.synchronize()
}

/// Regression: the first reader cleared the record while later launches still ran and reported again.
#[on_gpu_backends]
fn an_error_found_without_a_wait_is_reported_once_for_the_first_launch(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let program = &on.program;
    let (stream, other) = (program.create_stream()?, program.create_stream()?);
    let [x, mut y, mut z, mut w] = tensors(program);
    let mut launched = 0;
    world.set_schedule(Schedule::Random);
    for seed in 0..1000 {
        world.set_seed(seed);
        let first = launched + 1;
        let mut submit = |outcome: quadrants::Result<()>| match outcome {
            Ok(()) => {
                launched += 1;
                None
            }
            Err(Error::Kernel(error)) => Some(error),
            Err(error) => panic!("seed {seed}: {error:?}"),
        };
        let mut found = None;
        for by in 3..6 {
            found = found.or_else(|| submit(shift(by, &x, &mut y, &mut z).launch_on(&stream)));
        }
        while found.is_none() {
            // Other streams report nothing.
            other.query()?;
            program.sync()?;
            found = match stream.query() {
                Ok(_) => submit(set(1.0, &mut w).launch_on(&stream)),
                Err(Error::Kernel(error)) => Some(error),
                Err(error) => panic!("seed {seed}: {error:?}"),
            };
        }
        assert_eq!(found.map(|error| error.launch), Some(first), "seed {seed}");
        stream.synchronize()?;
        program.device_sync()?;
    }
    Ok(())
}

#[on_gpu_backends]
fn the_next_launch_on_the_stream_reports_an_earlier_error(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    on.world.as_ref().expect("simulated").set_schedule(Schedule::Eager);
    let program = &on.program;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let [x, mut y, mut z, mut other, mut another] = tensors(program);
    shift(3, &x, &mut y, &mut z).launch_on(&s1)?;
    copy(&x, &mut other).launch_on(&s2)?;
    copy(&x, &mut another).launch()?;
    let error = kernel_error(copy(&y, &mut other).launch_on(&s1), || Ok(()));
    assert_eq!(error.kernel, "shift");
    // That launch did not happen; the next one does.
    assert_eq!(other.to_vec()?, [3.0; 8]);
    copy(&y, &mut other).launch_on(&s1)?;
    assert_eq!(other.to_vec()?, y.to_vec()?);
    Ok(())
}

#[on_gpu_backends]
fn the_error_of_a_dropped_stream_becomes_a_deferred_error(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let [x, mut y, mut z, mut other] = tensors(program);
    let stream = program.create_stream()?;
    shift(3, &x, &mut y, &mut z).launch_on(&stream)?;
    drop(stream);
    let deferred = program.take_deferred_errors();
    assert!(
        matches!(&deferred[..], [Error::Kernel(error)] if error.kernel == "shift"),
        "{deferred:?}"
    );
    assert!(program.take_deferred_errors().is_empty());

    // Destroyed by hand, the stream returns it; a later stream starts without it.
    let stream = program.create_stream()?;
    shift(3, &x, &mut y, &mut z).launch_on(&stream)?;
    assert_eq!(kernel_error(Ok(()), || stream.destroy()).kernel, "shift");
    let stream = program.create_stream()?;
    set(1.0, &mut other).launch_on(&stream)?;
    stream.destroy()?;
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

#[on_all_backends]
fn an_error_in_a_region_block_is_reported_on_the_launch_stream(
    backend: TestBackend,
) -> quadrants::Result<()> {
    #[qd::kernel]
    fn blocks(x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 1>, z: &mut Tensor<f32, 1>) {
        qd::stream_parallel(|| {
            for i in 0..x.len() {
                x[i] += 1.0;
            }
        });
        qd::stream_parallel(|| {
            for i in 0..z.len() {
                y[i] += 1.0;
            }
        });
        qd::stream_parallel(|| {
            for i in 0..z.len() {
                z[i] += 1.0;
            }
        });
    }
    let Some(on) = backend.open() else { return Ok(()) };
    let stream = on.program.create_stream()?;
    let [mut x, mut y, _] = tensors(&on.program);
    let mut z = on.program.zeros::<f32, 1>([9])?;
    let launched = blocks(&mut x, &mut y, &mut z).launch_on(&stream);
    let error = kernel_error(launched, || stream.synchronize());
    let cause =
        KernelErrorCause::IndexOutOfRange { tensor: "y".into(), index: vec![8], shape: vec![8] };
    assert_eq!(error.cause, cause);
    // The other blocks completed, and this one up to the error.
    assert_eq!((x.to_vec()?, y.to_vec()?), (vec![4.0; 8], vec![4.0; 8]));
    assert_eq!(z.to_vec()?, [1.0; 9]);
    stream.synchronize()
}

#[on_all_backends]
fn an_unchecked_launch_computes_the_same_results(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let at = on.program.tensor_from(&[2usize, 3], [2])?;
    let mut out = on.program.zeros::<i32, 2>([3, 5])?;
    // SAFETY: the indices [2, 3] lie within [3, 5], and 0 and 1 within `at`.
    unsafe { write_plane(&at, &mut out).launch_unchecked()? };
    assert_eq!(out.to_vec()?.iter().position(|x| *x == 9), Some(13));
    let (stream, mut out) = (on.program.create_stream()?, on.program.zeros::<i32, 2>([3, 5])?);
    // SAFETY: as above.
    unsafe { write_plane(&at, &mut out).launch_unchecked_on(&stream)? };
    assert_eq!(out.to_vec()?.iter().position(|x| *x == 9), Some(13));
    Ok(())
}

#[on_gpu_backends]
fn event_waits_and_stream_queries_report_device_errors(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    world.set_schedule(Schedule::Lazy);
    let program = &on.program;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let (event, other) = (program.create_event()?, program.create_event()?);
    let [x, mut y, mut z, mut w] = tensors(program);

    set(1.0, &mut w).launch_on(&s2)?;
    other.record(&s2)?;
    shift(3, &x, &mut y, &mut z).launch_on(&s1)?;
    event.record(&s1)?;
    other.synchronize()?;
    assert_eq!(kernel_error(Ok(()), || event.synchronize()).kernel, "shift");
    event.synchronize()?;
    s1.synchronize()?;

    // While it is busy, a query returns only that; afterwards it reports the error once.
    shift(3, &x, &mut y, &mut z).launch_on(&s1)?;
    assert!(!s1.query()?);
    world.set_schedule(Schedule::Eager);
    let asked = loop {
        match s1.query() {
            Ok(false) => {}
            other => break other,
        }
    };
    assert_eq!(kernel_error(asked.map(drop), || Ok(())).kernel, "shift");
    assert!(s1.query()?);

    // An event of a stream that is gone has nothing to say.
    event.record(&s1)?;
    s1.destroy()?;
    event.synchronize()
}

#[qd::kernel]
fn table(at: &Tensor<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..at.len() {
        let mut v = [1.0, 2.0, 3.0];
        let k = at[i] as usize;
        v[k] += 10.0;
        out[i] = v[k] + v[0];
    }
}

/// The line of its write.
const TABLE_LINE: u32 = line!() - 6;

#[qd::kernel]
fn vectors(at: &Tensor<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..at.len() {
        let v = qd::Vector([1.0, 2.0, 3.0]);
        out[i] = v[at[i] as usize];
    }
}

#[on_all_backends]
fn an_out_of_bounds_index_of_a_local_array_is_reported(
    backend: TestBackend,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut out = on.program.zeros::<f32, 1>([3])?;
    let good = on.program.tensor_from(&[2u32, 0, 1], [3])?;
    let bad = on.program.tensor_from(&[2u32, 3, 1], [3])?;
    let cause =
        KernelErrorCause::IndexOutOfRange { tensor: "v".into(), index: vec![3], shape: vec![3] };
    table(&good, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [14.0, 22.0, 13.0]);
    let launched = table(&bad, &mut out).launch();
    let error = kernel_error(launched, || on.program.sync());
    assert_eq!((error.line, &error.cause), (TABLE_LINE, &cause));
    vectors(&good, &mut out).launch()?;
    assert_eq!(out.to_vec()?, [3.0, 1.0, 2.0]);
    let launched = vectors(&bad, &mut out).launch();
    let error = kernel_error(launched, || on.program.sync());
    assert_eq!((error.line, &error.cause), (TABLE_LINE + 12, &cause));
    Ok(())
}

#[qd::kernel]
fn some_fail(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        out[i] = 1;
        for k in 0..3 {
            assert!(x[i] != k, "one of three");
            out[i] += 10;
        }
        out[i] += 100;
    }
    for i in (0..x.len()).step_by(2) {
        assert!(x[i] != 2);
        out[i] += 1000;
    }
}

#[qd::kernel]
fn some_threads_fail(x: &Tensor<i32, 1>, out: &mut Tensor<i32, 1>) {
    qd::block_for(x.len() / 8, 8, |b| {
        b.each(|t| {
            let i = b.index() * 8 + t;
            assert!(x[i] != 1);
            out[i] = 1;
        });
        b.each(|t| {
            let i = b.index() * 8 + t;
            out[i] += 2;
        });
    });
}

#[on_all_backends]
fn a_failed_assertion_ends_only_its_iteration(
    backend: TestBackend,
    #[values(5, 80_000)] n: usize,
) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let n = n.next_multiple_of(8);
    let x: Vec<i32> = (0..n as i32).map(|i| i % 7).collect();
    let x_on = on.program.tensor_from(&x, [n])?;
    let mut out = on.program.zeros::<i32, 1>([n])?;
    let error = kernel_error(some_fail(&x_on, &mut out).launch(), || on.program.sync());
    assert_eq!(error.cause, KernelErrorCause::Assert { message: "one of three".into() });
    let expected: Vec<i32> = x
        .iter()
        .enumerate()
        .map(|(i, &v)| {
            let first = if v < 3 { 1 + 10 * v } else { 131 };
            first + if i % 2 == 0 && v != 2 { 1000 } else { 0 }
        })
        .collect();
    assert_eq!(out.to_vec()?, expected);
    out.fill(0)?;
    let error = kernel_error(some_threads_fail(&x_on, &mut out).launch(), || on.program.sync());
    assert!(matches!(error.cause, KernelErrorCause::Assert { .. }));
    let expected: Vec<i32> = x.iter().map(|v| if *v == 1 { 2 } else { 3 }).collect();
    assert_eq!(out.to_vec()?, expected);
    Ok(())
}
