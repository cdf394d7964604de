//! Lifetimes of streams, kernels and programs: no use after the owner is gone, and numbers are reused.

use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
};

use quadrants::{
    Error, Kernel, Program, Result, Stream, Tensor,
    builder::KernelBuilder,
    ir::ScalarType::{F32, I32, U64},
    rhi::StreamOptions,
};
use quadrants_driver_sim::Schedule;
use quadrants_runtime as rt;
use quadrants_tests::{TestBackend, full_size, on_all_backends, on_gpu_backends};

use crate::common::{order, set};

const N: usize = 64;

/// `out[i] = 7` for the first `count` elements: an error where there are fewer.
fn built(name: &str) -> Kernel {
    let b = KernelBuilder::new(name);
    let count = b.param_scalar("count", U64);
    let out = b.param_tensor_mut("out", I32, 1);
    b.range_for(0u64, count, |i| out.store(i, 7i32));
    Kernel::new(b.build().expect("a valid kernel")).expect("a valid kernel")
}

/// Stream numbers have 24 bits in a stamp. Regression: numbers were not reused and ran out, and a stamp
/// then named another stream than the one that used the memory.
#[on_gpu_backends]
fn reused_stream_numbers_ignore_stamps_of_destroyed_streams(backend: TestBackend) -> Result<()> {
    let (world, opened) = backend.simulated_device();
    world.set_schedule(Schedule::Lazy);
    let context = rt::Context::new(opened.device)?;
    let buffer = rt::Buffer::zeroed(&context, 16)?;
    let mut largest = 0;
    for _ in 0..100 {
        let stream = rt::Stream::new(&context, StreamOptions::default())?;
        largest = largest.max(stream.id());
        buffer.stamp_write(stream.next_stamp());
    }
    assert!(largest < 4, "{largest} after 100 streams, one at a time");

    // A later stream of the same number has work that the buffer has nothing to do with.
    let stranger = rt::Stream::new(&context, StreamOptions::default())?;
    let other = rt::Buffer::zeroed(&context, 16)?;
    // SAFETY: the buffer is live, and stamped at once.
    unsafe {
        let device = context.device();
        context.observe(device.fill_u8_async(other.address(), 7, 16, stranger.handle()))?;
    }
    other.stamp_write(stranger.next_stamp());
    buffer.read(0, &mut [0; 16])?;
    assert_eq!(world.live().pending, 1, "the read waited for a stranger");
    let mut bytes = [0; 16];
    other.read(0, &mut bytes)?;
    assert_eq!(bytes, [7; 16]);
    Ok(())
}

/// Another thread that had just found the stream in a stamp used the handle after its owner destroyed it.
#[on_gpu_backends]
fn a_foreign_stream_is_not_used_after_its_wrapper_is_dropped(backend: TestBackend) -> Result<()> {
    let (world, opened) = backend.simulated_device();
    world.set_schedule(Schedule::Eager);
    let device = opened.device.clone();
    let context = rt::Context::new(opened.device)?;
    let buffer = rt::Buffer::zeroed(&context, 16)?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| -> Result<()> {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    while !over.load(SeqCst) {
                        buffer.read(0, &mut [0; 16])?;
                    }
                    Ok(())
                })
            })
            .collect();
        let rounds = || -> Result<()> {
            for _ in 0..if full_size() { 2000 } else { 500 } {
                let handle = device.create_stream(StreamOptions::default())?;
                // SAFETY: the stream was made above, and is destroyed after its wrapper.
                let stream = unsafe { rt::Stream::from_raw(&context, handle)? };
                buffer.stamp_write(stream.next_stamp());
                thread::yield_now();
                drop(stream);
                // SAFETY: made above; the wrapper is gone.
                unsafe { device.destroy_stream(handle)? };
            }
            Ok(())
        };
        let done = rounds();
        over.store(true, SeqCst);
        done?;
        readers.into_iter().try_for_each(|reader| reader.join().expect("no panic"))
    })?;
    assert_eq!(world.reports(), []);
    assert_eq!(context.take_deferred_errors().len(), 0);
    Ok(())
}

#[on_all_backends]
fn a_kernel_result_of_another_type_is_rejected(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let b = KernelBuilder::new("first");
    let x = b.param_tensor("x", F32, 1);
    b.return_(x.load(0u64));
    let first = Kernel::new(b.build().expect("a valid kernel"))?;
    let x = on.program.tensor_from(&[2.5f32, 1.0], [2])?;
    assert_eq!(first.call::<f32>().arg(&x).launch()?, 2.5);
    let wrong = |error: Error, asked: &str, returns: &str| match error {
        Error::ResultType { kernel: _, asked: a, returns: r } => {
            assert_eq!((a.as_str(), r.as_str()), (asked, returns));
        }
        other => panic!("{other:?}"),
    };
    wrong(first.call::<u32>().arg(&x).launch().expect_err("a f32"), "u32", "f32");
    wrong(first.call::<f64>().arg(&x).launch().expect_err("a f32"), "f64", "f32");
    wrong(first.call::<()>().arg(&x).launch().expect_err("a f32"), "nothing", "f32");
    let mut out = on.program.zeros::<i32, 1>([4])?;
    let none = built("none").call::<i32>().arg(1u64).arg(&mut out).launch();
    wrong(none.expect_err("it has no value"), "i32", "nothing");
    assert_eq!(out.to_vec()?, [0; 4], "nothing was launched");
    Ok(())
}

/// What a thread does with everything it has, in the destructor of a thread-local.
struct AtEnd {
    program: Program,
    stream: Stream,
    x: Tensor<f32, 1>,
    kernel: Kernel,
    done: mpsc::Sender<thread::Result<Result<()>>>,
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        let Self { program, stream, x, kernel, .. } = self;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            set(2.0, x).launch()?;
            program.sync()?;
            stream.scope(|| set(3.0, x).launch())?;
            set(4.0, x).launch_on(stream)?;
            assert_eq!(x.to_vec()?, [4.0; N]);
            let mut out = program.zeros::<i32, 1>([4])?;
            kernel.call::<()>().arg(4u64).arg(&mut out).launch_on(stream)?;
            drop(out);
            program.device_sync()
        }));
        let _ = self.done.send(outcome);
    }
}

thread_local! {
    static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
}

#[on_all_backends]
fn thread_local_destructors_may_launch_and_drop(
    backend: TestBackend,
    #[values(false, true)] kept_first: bool,
) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let (done, outcome) = mpsc::channel();
    let program = on.program.clone();
    // Not joined in a scope: its thread-locals go after its function.
    let thread = thread::spawn(move || -> Result<()> {
        let keep = || -> Result<()> {
            let (stream, x) = (program.create_stream()?, program.zeros([N])?);
            let program = program.clone();
            let mine = AtEnd { program, stream, x, kernel: built("last"), done: done.clone() };
            AT_END.with_borrow_mut(|slot| *slot = Some(mine));
            Ok(())
        };
        // Destructors run in the reverse order of first use: ours comes before or after all others.
        if kept_first {
            keep()?;
        }
        let mut x = program.zeros::<f32, 1>([N])?;
        let stream = program.create_stream()?;
        set(1.0, &mut x).launch()?;
        order(&program, program.default_stream(), &stream)?;
        stream.scope(|| set(1.0, &mut x).launch())?;
        if !kept_first {
            keep()?;
        }
        Ok(())
    });
    thread.join().expect("the thread ends in peace")?;
    outcome.recv().expect("the destructor ran").expect("no panic")?;
    assert!(on.program.take_deferred_errors().is_empty());
    Ok(())
}

/// Memory that a launch takes on an explicit stream was refused while frees were still under way.
#[on_gpu_backends]
fn a_launch_waits_for_pending_frees_when_memory_is_short(backend: TestBackend) -> Result<()> {
    let (world, opened) = backend.simulated_device();
    world.set_schedule(Schedule::Lazy);
    let program = Program::builder().argument_limit(0).open(opened)?;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let mut kept = program.zeros::<f32, 1>([N])?;
    // Compiled, and with its pinned memory.
    set(1.0, &mut kept).launch_on(&s2)?;
    s2.synchronize()?;
    let mut large = program.zeros::<f32, 1>([1 << 20])?;
    let mut other = program.zeros::<f32, 1>([N])?;
    set(2.0, &mut other).launch_on(&s1)?;
    set(2.0, &mut large).launch_on(&s1)?;
    // Freed after work that nothing waits for yet; all other memory is in use.
    drop(large);
    world.set_memory_limit(world.live().bytes);
    for _ in 0..3 {
        set(3.0, &mut kept).launch_on(&s2)?;
    }
    assert_eq!(kept.to_vec()?, [3.0; N]);
    assert_eq!(world.reports(), []);
    Ok(())
}

/// Modules of kernels made at run time stayed loaded as long as their program.
#[on_gpu_backends]
fn a_dropped_kernel_unloads_its_modules(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    world.set_schedule(Schedule::Lazy);
    let program = &on.program;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let mut out = program.zeros::<i32, 1>([4])?;
    let before = world.live().modules;
    for round in 1..=20u64 {
        let kernel = built("passing");
        kernel.call::<()>().arg(round % 5).arg(&mut out).launch_on(&s1)?;
        assert_eq!(world.live().modules, before + 1);
        drop(kernel);
        assert_eq!(world.live().modules, before, "round {round}");
    }
    assert_eq!(world.reports(), [], "unloaded under a launch");
    assert_eq!(out.to_vec()?, [7; 4]);

    // What it reported is known by its name, also when it is gone and another has its place.
    let (gone, next) = (built("gone"), built("also_gone"));
    gone.call::<()>().arg(9u64).arg(&mut out).launch_on(&s1)?;
    order(program, &s1, &s2)?;
    next.call::<()>().arg(9u64).arg(&mut out).launch_on(&s2)?;
    drop((gone, next));
    let third = built("third");
    third.call::<()>().arg(1u64).arg(&mut out).launch()?;
    for (stream, kernel) in [(&s1, "gone"), (&s2, "also_gone")] {
        match stream.synchronize() {
            Err(Error::Kernel(error)) => {
                assert_eq!(error.kernel, kernel);
                assert!(error.to_string().contains("`out` is out of range"), "{error}");
            }
            other => panic!("{other:?}"),
        }
        stream.synchronize()?;
    }
    Ok(())
}

/// A cached launch decision is used only for the same inputs.
#[on_all_backends]
fn a_cached_launch_decision_is_used_only_for_equal_inputs(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let kernel = built("counted");
    let stream = on.program.create_stream()?;
    for (count, len) in [(4u64, 4), (4, 4), (9, 9), (4, 9), (9, 4), (4, 4), (0, 4), (4, 5)] {
        let mut out = on.program.zeros::<i32, 1>([len])?;
        let launched = kernel.call::<()>().arg(count).arg(&mut out).launch_on(&stream);
        let outcome = launched.and_then(|()| stream.synchronize());
        assert_eq!(outcome.is_err(), count > len as u64, "{count} of {len}: {outcome:?}");
        let written = out.to_vec()?.iter().filter(|x| **x == 7).count();
        assert_eq!(written as u64, count.min(len as u64), "{count} of {len}");
    }
    Ok(())
}

/// A stream of which nothing is stamped was taken to have no work, whatever others had enqueued by its handle.
#[on_gpu_backends]
fn work_submitted_through_the_raw_stream_handle_is_waited_for(
    backend: TestBackend,
    #[values(false, true)] foreign: bool,
) -> Result<()> {
    let (world, opened) = backend.simulated_device();
    world.set_schedule(Schedule::Lazy);
    let device = opened.device.clone();
    let program = Program::builder().open(opened)?;
    let theirs = foreign.then(|| device.create_stream(StreamOptions::default())).transpose()?;
    let stream = match theirs {
        // SAFETY: made above, and destroyed after its wrapper.
        Some(theirs) => unsafe { Stream::from_raw(&program, theirs)? },
        None => program.create_stream()?,
    };
    let by_hand = theirs.unwrap_or_else(|| stream.handle());
    // SAFETY: the stream is live, and the memory is freed behind what uses it.
    unsafe {
        let memory = device.alloc_async(16, by_hand)?;
        device.fill_u8_async(memory, 7, 16, by_hand)?;
        device.free_async(memory, by_hand)?;
    }
    assert!(world.live().pending > 0);
    drop(stream);
    assert_eq!(world.live().pending, 0, "work by others is in flight");
    if let Some(theirs) = theirs {
        // SAFETY: made above; the wrapper is gone.
        unsafe { device.destroy_stream(theirs)? };
    }
    Ok(())
}
