//! Host arrays as arguments: staged in stream order, copied back before the launch returns, and not accessed otherwise.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use quadrants::{self as qd, Error, Result, Tensor, host, host_mut};
use quadrants_driver_sim::{Code, Schedule};
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use crate::common::{copy, on_seeds, saxpy, set, three_blocks};

const N: usize = 40;

#[qd::kernel]
fn below_one(value: f32, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        out[i] = value;
        assert!(value < 1.0);
    }
}

#[qd::kernel]
fn transpose(from: &Tensor<(f32, bool), 2>, to: &mut Tensor<(f32, bool), 2>) {
    for (i, j) in qd::ndrange(from.shape()) {
        to[[j, i]] = from[[i, j]];
    }
}

#[on_all_backends]
fn host_arrays_are_staged_in_stream_order(
    backend: TestBackend,
    #[values(false, true)] explicit: bool,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let stream = explicit.then(|| program.create_stream()).transpose()?;
    let stream = stream.as_ref().unwrap_or(program.default_stream());
    let mut t = program.zeros::<f32, 1>([N])?;
    on_seeds(on.world.as_ref(), 1000, |seed| {
        let value = seed as f32 + 1.0;
        let mut x = vec![2.0f32; N];
        let mut y = vec![-1.0f32; N];
        set(value, &mut t).launch_on(stream)?;
        // After the previous launch, and before the next one.
        copy(&t, &mut *host_mut(&mut y, [N])?).launch_on(stream)?;
        assert_eq!(y, [value; N], "seed {seed}");
        saxpy(3.0, &*host(&x, [N])?, &mut t).launch_on(stream)?;
        // What the launch read was copied: it may not have run yet.
        x.fill(f32::NAN);
        drop(x);
        copy(&t, &mut *host_mut(&mut y, [N])?).launch_on(stream)?;
        assert_eq!(y, [value + 6.0; N], "seed {seed}");
        Ok(())
    })
}

#[on_all_backends]
fn a_host_array_works_on_two_streams_and_in_regions(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let [mut a, mut b] = [(); 2].map(|()| program.zeros::<f32, 1>([N]).expect("memory"));
    let x = vec![4.0f32; N];
    let array = host(&x, [N])?;
    let [mut p, mut q, mut r] = [(); 3].map(|()| vec![0.0f32; N]);
    on_seeds(on.world.as_ref(), 1000, |seed| {
        a.fill(0.0)?;
        b.fill(1.0)?;
        saxpy(1.0, &array, &mut a).launch_on(&s1)?;
        saxpy(2.0, &array, &mut b).launch_on(&s2)?;
        for v in [&mut p, &mut q, &mut r] {
            v.fill(seed as f32);
        }
        three_blocks(
            &mut *host_mut(&mut p, [N])?,
            &mut *host_mut(&mut q, [N])?,
            &mut *host_mut(&mut r, [N])?,
        )
        .launch_on(&s1)?;
        let seed = seed as f32;
        assert_eq!((p[0], q[N - 1], r[7]), ((seed + 1.0) * 2.0, seed + 3.0, seed + 5.0));
        assert_eq!(a.to_vec()?, [4.0; N], "seed {seed}");
        assert_eq!(b.to_vec()?, [9.0; N], "seed {seed}");
        Ok(())
    })?;
    assert_eq!(x, [4.0; N]);
    Ok(())
}

#[on_all_backends]
fn host_arrays_support_shapes_slices_and_all_element_types(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let stream = on.program.create_stream()?;
    let x: Vec<(f32, bool)> = (0..12).map(|i| (i as f32, i % 5 == 0)).collect();
    let mut y = vec![(0.0f32, true); 24];
    {
        let mut all = host_mut(&mut y, [6, 4])?;
        // The middle of it: `[4, 3]` does not fit `[2, 4]`'s rows, so by columns of its own.
        all.slice_mut(1..4)?.fill((9.0, false))?;
        assert_eq!(all.row(3)?.to_vec()?, [(9.0, false); 4]);
        let mut part = all.slice_mut(2..5)?;
        transpose(&*host(&x, [4, 3])?, &mut part).launch_on(&stream)?;
    }
    let mut expected = vec![(0.0f32, true); 24];
    expected[4..8].fill((9.0, false));
    for (i, j) in (0..4).flat_map(|i| (0..3).map(move |j| (i, j))) {
        expected[8 + j * 4 + i] = x[i * 3 + j];
    }
    assert_eq!(y, expected);

    let refused = host(&x, [5, 3]).map(drop);
    assert!(matches!(refused, Err(Error::Shape { expected: 15, given: 12, .. })), "{refused:?}");
    let huge = host::<f32, 2>(&[], [usize::MAX, 0]).map(drop);
    assert!(huge.is_ok(), "{huge:?}");
    let huge = host_mut::<f32, 2>(&mut [], [usize::MAX, 2]).map(drop);
    assert!(matches!(huge, Err(Error::TooLarge { .. })), "{huge:?}");
    Ok(())
}

#[on_all_backends]
fn empty_host_arrays_are_supported(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let stream = on.program.create_stream()?;
    let mut none: [f32; 0] = [];
    let mut full = on.program.zeros::<f32, 1>([N])?;
    set(1.0, &mut *host_mut(&mut none, [0])?).launch_on(&stream)?;
    saxpy(1.0, &*host(&none, [0])?, &mut full).launch_on(&stream)?;
    let mut also_none: [f32; 0] = [];
    three_blocks(&mut *host_mut(&mut none, [0])?, &mut full, &mut *host_mut(&mut also_none, [0])?)
        .launch_on(&stream)?;
    assert_eq!(full.to_vec()?, [3.0; N]);
    Ok(())
}

#[on_all_backends]
fn argument_errors_are_reported_before_any_copy(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut x = [1.0f32; 4];
    // Without a tensor of a program, the scope's program is used.
    let nowhere = set(2.0, &mut *host_mut(&mut x, [4])?).launch();
    assert!(matches!(nowhere, Err(Error::NoProgram { .. })), "{nowhere:?}");
    assert_eq!(x, [1.0; 4]);
    let stream = on.program.create_stream()?;
    stream.scope(|| set(3.0, &mut *host_mut(&mut x, [4])?).launch())?;
    assert_eq!(x, [3.0; 4]);
    Ok(())
}

#[on_all_backends]
fn after_an_error_or_a_panic_a_host_array_is_unchanged(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let stream = on.program.create_stream()?;
    let mut x = vec![0.5f32; N];
    for _ in 0..3 {
        let failed = below_one(7.0, &mut *host_mut(&mut x, [N])?).launch_on(&stream);
        match failed {
            Err(Error::Kernel(error)) => assert_eq!(error.kernel, "below_one"),
            other => panic!("{other:?}"),
        }
        assert_eq!(x, [0.5; N]);
        // Reported once, and not again by the next launch.
        stream.synchronize()?;
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let mut array = host_mut(&mut x, [N]).expect("its shape");
            let _launch = below_one(0.25, &mut array);
            resume_unwind(Box::new(()));
        }));
        assert!(unwound.is_err());
        assert_eq!(x, [0.5; N], "nothing was launched");
        below_one(0.75, &mut *host_mut(&mut x, [N])?).launch_on(&stream)?;
        assert_eq!(x, [0.75; N]);
        x.fill(0.5);
    }
    Ok(())
}

/// Launches while its thread unwinds.
struct AtUnwinding<'a>(&'a quadrants::Stream, &'a mut [f32]);

impl Drop for AtUnwinding<'_> {
    fn drop(&mut self) {
        let len = self.1.len();
        let launched = host_mut(self.1, [len]).and_then(|mut x| set(8.0, &mut x).launch_on(self.0));
        assert!(launched.is_ok() || std::thread::panicking());
    }
}

#[on_all_backends]
fn a_panicking_thread_may_launch_with_host_arrays(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let stream = on.program.create_stream()?;
    let mut x = vec![0.0f32; N];
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _at_end = AtUnwinding(&stream, &mut x);
        resume_unwind(Box::new(()));
    }));
    assert!(unwound.is_err());
    assert_eq!(x, [8.0; N]);
    Ok(())
}

#[on_gpu_backends]
fn any_driver_call_of_a_launch_with_host_arrays_may_fail(
    backend: TestBackend,
    #[values(Code::UNKNOWN, Code::OUT_OF_MEMORY)] code: Code,
    #[values(false, true)] memory_is_new: bool,
) -> Result<()> {
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    let (world, opened) = backend.simulated_device();
    world.set_schedule(Schedule::Random);
    let program = qd::Program::open(opened)?;
    let stream = program.create_stream()?;
    let x = vec![2.0f32; N];
    let mut y = vec![1.0f32; N];
    let launch =
        |y: &mut [f32]| saxpy(1.5, &*host(&x, [N])?, &mut *host_mut(y, [N])?).launch_on(&stream);
    launch(&mut y)?;
    y.fill(1.0);
    let mut walked = 0;
    for nth in 1.. {
        world.set_seed(nth);
        if memory_is_new {
            program.trim_pools();
        }
        world.fail_any(nth, code);
        let outcome = launch(&mut y);
        if world.armed_faults() > 0 {
            world.disarm_faults();
            outcome?;
            break;
        }
        walked += 1;
        // A failure that is not the launch's is retried or becomes a deferred error.
        let expected = if outcome.is_ok() { 4.0 } else { 1.0 };
        assert_eq!(y, [expected; N], "call {nth}: {outcome:?}");
        drop(program.take_deferred_errors());
        y.fill(1.0);
        launch(&mut y)?;
        assert_eq!(y, [4.0; N], "after a failure of call {nth}");
        y.fill(1.0);
    }
    println!("{backend:?}, {code:?}: {walked} calls failed in turn");
    // Memory of earlier launches takes no allocation.
    let expected = if memory_is_new { 12 } else { 10 };
    assert!(walked > expected, "{walked} calls");
    assert_eq!(world.reports(), []);
    Ok(())
}

#[on_all_backends]
fn a_host_array_swapped_out_of_its_borrow_is_invalid(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut other = on.program.zeros::<f32, 1>([2])?;
    {
        let mut x = vec![1.0f32; 8];
        let mut array = host_mut(&mut x, [8])?;
        std::mem::swap(&mut *array, &mut other);
        assert!(matches!(
            set(1.0, &mut other).launch_on(on.program.default_stream()),
            Err(Error::MovedSlice)
        ));
    }
    // The array is gone; its tensor is in `other`.
    assert!(matches!(other.to_vec(), Err(Error::MovedSlice)));
    assert!(matches!(other.fill(9.0), Err(Error::MovedSlice)));
    assert!(matches!(other.row(0).map(drop), Err(Error::MovedSlice)));
    Ok(())
}
