//! Contexts and streams.

use cudarc::driver::{CudaContext, result::ctx};
use quadrants::{
    self as qd, Program,
    cudarc::{Error, SharedStream},
    reads, writes,
};

use crate::{N, Outcome, Scene, add, driver, simulated};

pub(crate) fn contexts_are_compared() -> Outcome {
    let context = driver(CudaContext::new(0))?;
    let program = qd::cudarc::open(&context)?;
    assert_eq!(qd::cudarc::context(&program)?, context);
    let cpu = Program::open(qd::Arch::Cpu)?;
    let refused = qd::cudarc::context(&cpu);
    assert!(matches!(refused, Err(Error::OtherBackend { backend: "cpu" })), "{refused:?}");
    let refused = SharedStream::new(&cpu, context.default_stream());
    assert!(matches!(refused, Err(Error::OtherBackend { .. })), "{refused:?}");
    if simulated() {
        // The simulator has several devices.
        let other = driver(CudaContext::new(1))?;
        let refused = SharedStream::new(&program, other.default_stream());
        assert!(
            matches!(refused, Err(Error::OtherDevice { found: 1, expected: 0, .. })),
            "{refused:?}"
        );
        let scene = SharedStream::new(&program, context.default_stream())?;
        let slice = driver(other.default_stream().alloc_zeros::<f32>(N))?;
        let refused = scene.tensor(slice, [N]);
        assert!(matches!(refused, Err(Error::OtherDevice { .. })), "{refused:?}");
        let on_other = qd::cudarc::open(&other)?;
        assert_eq!(on_other.device_info().ordinal, 1);
    } else {
        let other = driver(CudaContext::new_non_primary(0, 0))?;
        let refused = qd::cudarc::open(&other);
        assert!(matches!(refused, Err(Error::OtherContext { ordinal: 0, .. })), "{refused:?}");
        let refused = SharedStream::new(&program, driver(other.new_stream())?);
        assert!(matches!(refused, Err(Error::OtherContext { .. })), "{refused:?}");
    }
    Ok(())
}

pub(crate) fn streams_are_shared() -> Outcome {
    let Scene { context, program, shared, .. } = Scene::new()?;
    assert_eq!(shared.handle().0, shared.cudarc().cu_stream() as usize as u64);
    let mut x = program.zeros::<f32, 1>([N])?;
    // The default stream, and one that is dropped by cudarc before the wrapper.
    let by_default = SharedStream::new(&program, context.default_stream())?;
    for stream in [&shared, &by_default] {
        add(1.0, &mut x).launch_on(stream)?;
        stream.foreign("clear", [], writes![&mut x], |stream, [], [mut x]| {
            stream.memset_zeros(&mut x.view_mut::<f32>()?)?;
            Ok::<(), Error>(())
        })??;
        add(2.0, &mut x).launch_on(stream)?;
        assert_eq!(x.to_vec()?, [2.0; N]);
    }
    // A stream of the program for cudarc.
    let own = program.create_stream()?;
    add(1.0, &mut x).launch_on(&own)?;
    let mut found = vec![0.0_f32; N];
    // SAFETY: dropped before the stream, and used in a foreign operation.
    let borrowed = unsafe { qd::cudarc::borrow_stream(&program, &context, &own)? };
    program
        .foreign("copy", &own, reads![&x], [], |raw| {
            // SAFETY: the memory has the elements, and the copy is on the stream of the operation.
            unsafe {
                let from = raw.reads[0].address.raw();
                cudarc::driver::result::memcpy_dtoh_async(&mut found, from, borrowed.cu_stream())
            }
        })?
        .map_err(Error::from)?;
    driver(borrowed.synchronize())?;
    assert_eq!(found, [3.0; N]);
    drop(borrowed);
    Ok(())
}

pub(crate) fn what_cannot_be_shared_is_refused() -> Outcome {
    let Scene { context, program, shared, other } = Scene::new()?;
    let refused = SharedStream::new(&program, context.per_thread_stream());
    assert!(matches!(refused, Err(Error::PerThreadStream)), "{refused:?}");
    for shape in [[N + 1], [N - 1], [0]] {
        let slice = driver(other.alloc_zeros::<f32>(N))?;
        let refused = shared.tensor(slice, shape);
        assert!(matches!(refused, Err(Error::Length { elements: N, .. })), "{refused:?}");
    }
    // A range that is not aligned to its elements does not exist in cudarc; empty slices are allowed.
    let empty = shared.tensor(driver(other.null::<f32>())?, [3, 0, 2])?;
    assert!(empty.to_vec()?.is_empty());
    // The context that was current stays so.
    // SAFETY: none is current then.
    driver(unsafe { ctx::set_current(std::ptr::null_mut()) })?;
    let again = SharedStream::new(&program, context.default_stream())?;
    assert_eq!(driver(ctx::get_current())?, None);
    drop(again);
    Ok(())
}
