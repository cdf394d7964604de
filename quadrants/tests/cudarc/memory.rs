//! Memory of cudarc as tensors.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use cudarc::driver::{DevicePtr, result::ctx};
use quadrants::{Complex, Tensor};

use crate::{N, Outcome, Scene, add, driver, sum_of};

pub(crate) fn a_slice_is_a_tensor() -> Outcome {
    let Scene { program, shared, other, .. } = Scene::new()?;
    let slice = driver(other.clone_htod(&[1.0_f32; N]))?;
    let address = slice.device_ptr(&other).0;
    let mut x: Tensor<f32, 1> = shared.tensor(slice, [N])?;
    assert_eq!(x.raw()?.address.raw(), address, "there is no copy");
    add(1.0, &mut x).launch_on(&shared)?;
    assert_eq!(x.to_vec()?, [2.0; N]);
    let z = driver(other.clone_htod(&[Complex { re: 1.0_f32, im: -1.0 }; 6]))?;
    let z: Tensor<Complex<f32>, 2> = shared.tensor(z, [2, 3])?;
    assert_eq!(z.get([1, 2])?, Complex { re: 1.0, im: -1.0 });
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

/// Work of cudarc on several streams is waited for, by the events of the slice.
pub(crate) fn a_tensor_waits_for_all_streams_of_cudarc() -> Outcome {
    let Scene { context, program, shared, other } = Scene::new()?;
    let third = driver(context.new_stream())?;
    for turn in 0..4 {
        let source = driver(third.clone_htod(&vec![turn as f32; N]))?;
        let mut slice = driver(other.alloc_zeros::<f32>(N))?;
        let mut copy = driver(third.alloc_zeros::<f32>(N))?;
        // The last work is a write or a read of a stream that the slice's own one does not wait for.
        driver(third.memcpy_dtod(&source, &mut slice))?;
        if turn % 2 == 1 {
            driver(third.memcpy_dtod(&slice, &mut copy))?;
        }
        let mut x: Tensor<f32, 1> = shared.tensor(slice, [N])?;
        add(1.0, &mut x).launch_on(&shared)?;
        assert_eq!(x.to_vec()?, [turn as f32 + 1.0; N]);
        let read = if turn % 2 == 1 { turn as f32 } else { 0.0 };
        assert_eq!(driver(third.clone_dtoh(&copy))?, [read; N], "read before the write");
    }
    assert!(program.take_hazards().is_empty());
    Ok(())
}

/// The tensor is dropped while its work is pending, and the memory may be allocated again at once.
pub(crate) fn a_slice_is_freed_after_its_last_use() -> Outcome {
    let Scene { context, program, shared, other } = Scene::new()?;
    let mut sum = program.zeros::<f32, 1>([N])?;
    for turn in 1..=8 {
        let slice = driver(other.clone_htod(&[1.0_f32; N]))?;
        let x: Tensor<f32, 1> = shared.tensor(slice, [N])?;
        sum_of(&x, &mut sum).launch_on(&shared)?;
        drop(x);
        let again = driver(other.clone_htod(&[100.0_f32; N]))?;
        drop(again);
        if turn % 4 == 0 {
            assert_eq!(sum.to_vec()?, [turn as f32; N]);
        }
    }
    program.device_sync()?;
    drop(sum);
    driver(context.check_err())?;
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

pub(crate) fn a_slice_may_be_dropped_on_any_thread() -> Outcome {
    let Scene { context, program, shared, .. } = Scene::new()?;
    // Memory of the default stream is freed in the context that is current.
    let slice = driver(context.default_stream().clone_htod(&[1.0_f32; N]))?;
    let mut x: Tensor<f32, 1> = shared.tensor(slice, [N])?;
    add(1.0, &mut x).launch_on(&shared)?;
    program.device_sync()?;
    let current = thread::spawn(move || {
        drop(x);
        ctx::get_current().map(|current| current.is_some())
    });
    let current = driver(current.join().expect("no panic"))?;
    assert!(!current, "the thread has no context afterwards");
    driver(context.check_err())?;
    assert!(program.take_deferred_errors().is_empty());
    Ok(())
}

/// Work of cudarc on any stream comes after that of the program on a view.
pub(crate) fn cudarc_waits_for_what_was_done_in_a_view() -> Outcome {
    let Scene { context, program, shared, other } = Scene::new()?;
    let second = program.create_stream()?;
    let mut slice = driver(other.alloc_zeros::<f32>(2 * N))?;
    let mut total = program.zeros::<f32, 1>([N])?;
    let third = driver(context.new_stream())?;
    for turn in 1..=4 {
        let mut half = slice.slice_mut(N..);
        // SAFETY: the tensor is only used in the closure.
        unsafe {
            shared.with_view_mut(&mut half, [N], |x| {
                add(1.0, x).launch_on(&shared)?;
                // Another stream of the program.
                let event = program.create_event()?;
                event.record(&shared)?;
                event.wait(&second)?;
                add(1.0, x).launch_on(&second)
            })??;
        }
        let found = driver(third.clone_dtoh(&slice))?;
        assert_eq!(found[..N], [0.0; N]);
        assert_eq!(found[N..], vec![2.0 * turn as f32; N]);
        // SAFETY: as above.
        unsafe {
            shared.with_view(&slice.slice(N..), [N], |x| {
                sum_of(x, &mut total).launch_on(&shared)
            })??;
        }
        // A write on the slice's own stream waits for the read.
        driver(other.memset_zeros(&mut slice.slice_mut(..N)))?;
    }
    assert_eq!(total.to_vec()?, [20.0; N]);
    drop(slice);
    driver(context.check_err())?;
    Ok(())
}

pub(crate) fn a_view_is_ordered_after_a_panic() -> Outcome {
    let Scene { shared, other, .. } = Scene::new()?;
    let mut slice = driver(other.alloc_zeros::<f32>(N))?;
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the tensor is only used in the closure.
        unsafe {
            shared.with_view_mut(&mut slice, [N], |x: &mut Tensor<f32, 1>| {
                add(3.0, x).launch_on(&shared).expect("a launch");
                panic!("inside")
            })
        }
    }));
    let unwound: Result<quadrants::cudarc::Result<()>, _> = unwound;
    assert!(unwound.is_err());
    assert_eq!(driver(other.clone_dtoh(&slice))?, [3.0; N]);
    Ok(())
}

/// Without events, a slice is ordered with the stream that it was allocated on.
pub(crate) fn slices_without_events_follow_their_stream() -> Outcome {
    let Scene { context, shared, other, .. } = Scene::new()?;
    // SAFETY: each slice below is used on its own stream, and by the program.
    unsafe { context.disable_event_tracking() };
    for turn in 0..4 {
        let mut slice = driver(other.clone_htod(&vec![turn as f32; N]))?;
        // SAFETY: the tensor is only used in the closure.
        unsafe { shared.with_view_mut(&mut slice, [N], |x| add(1.0, x).launch_on(&shared))?? };
        let copy = driver(other.clone_dtod(&slice))?;
        let mut x: Tensor<f32, 1> = shared.tensor(slice, [N])?;
        add(1.0, &mut x).launch_on(&shared)?;
        assert_eq!(driver(other.clone_dtoh(&copy))?, [turn as f32 + 1.0; N]);
        assert_eq!(x.to_vec()?, [turn as f32 + 2.0; N]);
    }
    Ok(())
}
