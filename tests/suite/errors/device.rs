//! Errors of the device: out of memory, lost context.

use quadrants::{self as qd, Error, Program, Result, Severity, Tensor, rhi};
use quadrants_driver_sim::{Code, ReportKind};
use quadrants_tests::{
    TestBackend::{self, Cuda},
    on_gpu_backends,
};

use crate::common::set;

#[qd::kernel]
fn scatter(at: &Tensor<usize, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..1 {
        out[at[i]] = 1.0;
    }
}

#[qd::kernel]
fn first(x: &Tensor<f32, 1>) -> f32 {
    x[0]
}

fn is_out_of_memory(error: &Error) -> bool {
    match error {
        Error::Runtime(quadrants_runtime::Error::Device(error)) => error.is_out_of_memory(),
        _ => false,
    }
}

#[on_gpu_backends]
fn out_of_memory_is_a_typed_error_and_the_program_stays_usable(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    world.set_memory_limit(1 << 20);
    let mut kept = on.program.zeros::<f32, 1>([1000])?;
    let error = on.program.zeros::<f64, 2>([1024, 1024]).expect_err("8 MiB do not fit");
    assert!(is_out_of_memory(&error), "{error:?}");
    assert_eq!(error.severity(), Severity::Recoverable);
    set(2.0, &mut kept).launch()?;
    assert_eq!(kept.to_vec()?, [2.0; 1000]);
    // The memory of a dropped tensor is available again.
    for _ in 0..8 {
        drop(on.program.zeros::<u64, 1>([100_000])?);
    }
    assert!(on.program.take_deferred_errors().is_empty());
    Ok(())
}

#[on_gpu_backends]
fn out_of_memory_in_a_launch_or_copy_is_recoverable(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let (alloc, pinned) = match backend {
        Cuda => ("cuMemAllocAsync", "cuMemHostAlloc"),
        _ => ("hipMallocAsync", "hipHostMalloc"),
    };
    let stream = on.program.create_stream()?;
    let x = on.program.tensor_from(&[1.5f32, 2.0], [2])?;
    let out_of_memory = |result: Result<()>| {
        let error = result.expect_err("the fault struck");
        assert!(is_out_of_memory(&error), "{error:?}");
        assert_eq!(error.severity(), Severity::Recoverable);
        assert_eq!(world.armed_faults(), 0);
    };
    // The kernel's result needs memory of the launch, whose allocation is retried after each wait.
    (1..=3).for_each(|nth| world.fail(alloc, nth, Code::OUT_OF_MEMORY));
    out_of_memory(first(&x).launch_on(&stream).map(drop));
    assert_eq!(first(&x).launch_on(&stream)?, 1.5);
    // A block larger than any that is pooled yet.
    let data = vec![1.0f32; 1 << 20];
    world.fail(pinned, 1, Code::OUT_OF_MEMORY);
    out_of_memory(on.program.tensor_from(&data, [1 << 20]).map(drop));
    assert_eq!(on.program.tensor_from(&data, [1 << 20])?.to_vec()?, data);
    assert!(on.program.take_deferred_errors().is_empty());
    Ok(())
}

/// The cause that a lost context is known by.
#[track_caller]
fn cause<T: std::fmt::Debug>(result: Result<T>) -> String {
    let error = result.expect_err("the context is lost");
    assert_eq!(error.severity(), Severity::ContextLost, "{error:?}");
    match error {
        Error::Runtime(quadrants_runtime::Error::ContextLost { cause })
        | Error::Launch { source: quadrants_runtime::Error::ContextLost { cause }, .. } => {
            cause.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[on_gpu_backends]
fn after_a_lost_context_every_call_reports_the_first_cause(backend: TestBackend) -> Result<()> {
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    let (world, opened) = backend.simulated_device();
    let program = Program::open(opened.clone())?;
    let (stream, event) = (program.create_stream()?, program.create_event()?);
    let mut out = program.zeros::<f32, 1>([4])?;
    let at = program.tensor_from(&[1usize << 45], [1])?;
    // SAFETY: there is none. The simulated device has no memory there, and no real one is harmed.
    unsafe { scatter(&at, &mut out).launch_unchecked()? };

    let first_cause = cause(program.sync());
    assert!(first_cause.contains("ILLEGAL_ADDRESS") || first_cause.contains("IllegalAddress"));
    let causes = [
        cause(program.sync()),
        cause(program.device_sync()),
        cause(stream.synchronize()),
        cause(stream.query()),
        cause(out.to_vec()),
        cause(out.fill(1.0)),
        cause(out.write(&[0.0; 4])),
        cause(set(1.0, &mut out).launch()),
        cause(set(1.0, &mut out).launch_on(&stream)),
        cause(program.zeros::<f32, 1>([4])),
        cause(program.tensor_from(&[1.0f32], [1])),
        cause(program.create_stream()),
        cause(program.create_event()),
        cause(event.record(&stream)),
        cause(event.wait(&stream)),
    ];
    for later in causes {
        assert_eq!(later, first_cause);
    }
    let reports = world.reports();
    assert!(matches!(reports[..], [ref r] if matches!(r.kind, ReportKind::Access(_))));

    // A second program on that device reports the same, over the same context or a new one.
    let over_the_same = cause(Program::open(opened).map(drop));
    let anew = backend.arch().open_with(&*backend.simulator(), world.ordinal());
    let anew = anew.and_then(Program::open).map(drop).expect_err("the context is lost");
    assert_eq!(anew.severity(), Severity::ContextLost);
    for error in [over_the_same, anew.to_string()] {
        assert!(error.contains("ILLEGAL_ADDRESS") || error.contains("IllegalAddress"), "{error}");
    }

    // Drops neither fail nor add errors; another device works on.
    drop((stream, event, out, at));
    assert!(program.take_deferred_errors().is_empty());
    let Some(other) = backend.open_simulated() else { return Ok(()) };
    let mut fine = other.program.zeros::<f32, 1>([4])?;
    set(1.0, &mut fine).launch()?;
    assert_eq!(fine.to_vec()?, [1.0; 4]);
    Ok(())
}

#[on_gpu_backends]
fn opening_a_program_without_a_device_reports_the_reason(backend: TestBackend) -> Result<()> {
    let Some(_on) = backend.open_simulated() else { return Ok(()) };
    let devices = quadrants_driver_sim::count();
    let error = backend.arch().open_with(&*backend.simulator(), devices).map(drop);
    let Err(Error::Runtime(quadrants_runtime::Error::Device(error))) = error else {
        panic!("{error:?}");
    };
    let rhi::Error::DeviceOrdinal { ordinal, count, .. } = error else { panic!("{error:?}") };
    assert_eq!((ordinal, count), (devices, devices));
    // `Program::open` passes it on.
    struct NoDevice(TestBackend);
    impl quadrants::Backend for NoDevice {
        fn open(&self) -> Result<quadrants::Opened> {
            self.0.arch().open_with(&*self.0.simulator(), usize::MAX)
        }
    }
    let error = Program::open(NoDevice(backend)).map(drop);
    assert!(matches!(error, Err(Error::Runtime(_))), "{error:?}");
    Ok(())
}
