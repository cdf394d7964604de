//! Slices of tensors on the host and as kernel arguments.

use quadrants::{self as qd, Error, Result, Tensor};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use crate::common::{copy, saxpy, set};

#[qd::kernel]
fn add_rows(from: &Tensor<i32, 2>, to: &mut Tensor<i32, 2>) {
    for (i, j) in qd::ndrange(to.shape()) {
        to[[i, j]] += from[[i, j]];
    }
}

#[qd::kernel]
fn number(out: &mut Tensor<i32, 1>) {
    for i in 0..out.len() {
        out[i] = i as i32;
    }
}

#[on_all_backends]
fn slices_read_and_write_their_range(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let data: Vec<i32> = (0..24).collect();
    let mut t = on.program.tensor_from(&data, [4, 3, 2])?;
    assert_eq!(t.slice(1..3)?.shape(), [2, 3, 2]);
    assert_eq!(t.slice(1..=2)?.to_vec()?, data[6..18]);
    assert_eq!(t.slice(2..)?.slice(1..)?.to_vec()?, data[18..]);
    assert_eq!(t.row(2)?.row(1)?.to_vec()?, [14, 15]);
    assert_eq!((t.slice(2..2)?.len(), t.slice(..0)?.to_vec()?), (0, vec![]));
    t.slice_mut(1..2)?.fill(-1)?;
    t.row_mut(3)?.row_mut(0)?.write(&[7, 8])?;
    let (mut low, mut high) = t.split_at_mut(3)?;
    assert_eq!((low.shape(), high.shape()), ([3, 3, 2], [1, 3, 2]));
    low.row_mut(0)?.fill(5)?;
    high.slice_mut(..)?.row_mut(0)?.row_mut(2)?.fill(6)?;
    drop((low, high));
    let mut expected = data;
    expected[..6].fill(5);
    expected[6..12].fill(-1);
    expected[18..20].copy_from_slice(&[7, 8]);
    expected[22..].fill(6);
    assert_eq!(t.to_vec()?, expected);
    Ok(())
}

#[on_all_backends]
fn a_slice_out_of_bounds_is_rejected(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut t = on.program.zeros::<i32, 2>([4, 2])?;
    let range = |error: Error| match error {
        Error::Range { begin, end, shape } => (begin, end, shape),
        other => panic!("{other:?}"),
    };
    assert_eq!(range(t.slice(2..5).unwrap_err()), (2, 5, vec![4, 2]));
    #[allow(clippy::reversed_empty_ranges)] // the subject
    let inverted = t.slice(3..2).unwrap_err();
    assert_eq!(range(inverted), (3, 2, vec![4, 2]));
    assert_eq!(range(t.row(4).unwrap_err()), (4, 5, vec![4, 2]));
    assert_eq!(range(t.row_mut(usize::MAX).unwrap_err()).0, usize::MAX);
    assert_eq!(range(t.split_at_mut(5).unwrap_err()), (5, 4, vec![4, 2]));
    assert!(t.slice(..=usize::MAX).is_err());
    let none = on.program.zeros::<i32, 0>([])?;
    assert_eq!(range(none.slice(..).unwrap_err()), (0, 0, vec![]));
    Ok(())
}

#[on_all_backends]
fn slices_are_kernel_arguments(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut t = on.program.tensor_from(&[1, 2, 3, 4, 5, 6], [3, 2])?;
    {
        let (low, mut high) = t.split_at_mut(1)?;
        add_rows(&low, &mut *high.slice_mut(..1)?).launch()?;
        add_rows(&low, &mut *high.slice_mut(1..)?).launch()?;
    }
    assert_eq!(t.to_vec()?, [1, 2, 4, 6, 6, 8]);
    number(&mut *t.row_mut(1)?).launch()?;
    assert_eq!(t.to_vec()?, [1, 2, 0, 1, 6, 8]);
    // An index is checked against the part.
    let narrow = on.program.tensor_from(&[1], [1, 1])?;
    let failed = add_rows(&narrow, &mut *t.slice_mut(1..2)?).launch();
    let failed = failed.and_then(|()| on.program.sync());
    assert!(matches!(failed, Err(Error::Kernel(_))), "{failed:?}");
    let kept = t.to_vec()?;
    assert_eq!((&kept[..2], &kept[4..]), (&[1, 2][..], &[6, 8][..]));
    Ok(())
}

#[on_gpu_backends]
fn slices_share_the_stamps_of_their_tensor(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let streams = [on.program.create_stream()?, on.program.create_stream()?];
    for seed in 0..200 {
        world.set_schedule(Schedule::Random);
        world.set_seed(seed);
        let mut t = on.program.zeros::<f32, 1>([300])?;
        let mut out = on.program.zeros::<f32, 1>([100])?;
        {
            let (mut low, mut high) = t.split_at_mut(100)?;
            set(1.0, &mut low).launch_on(&streams[0])?;
            set(2.0, &mut high).launch_on(&streams[1])?;
            saxpy(3.0, &*high.slice(..100)?, &mut out).launch_on(&streams[1])?;
        }
        // After both streams; then the tensor is dropped while the copies may not have run.
        let all = t.to_vec()?;
        assert!(all[..100].iter().all(|v| *v == 1.0), "seed {seed}");
        assert!(all[100..].iter().all(|v| *v == 2.0), "seed {seed}");
        copy(&*t.slice(50..150)?, &mut out).launch_on(&streams[1])?;
        drop(t);
        let out = out.to_vec()?;
        assert_eq!((out[49], out[50]), (1.0, 2.0), "seed {seed}");
    }
    assert_eq!(world.reports(), []);
    Ok(())
}

#[on_all_backends]
fn a_slice_swapped_out_of_its_borrow_is_invalid(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut t = on.program.zeros::<f32, 1>([8])?;
    let mut other = on.program.zeros::<f32, 1>([2])?;
    {
        let mut part = t.slice_mut(..4)?;
        std::mem::swap(&mut *part, &mut other);
        assert!(matches!(set(1.0, &mut other).launch(), Err(Error::MovedSlice)));
        set(1.0, &mut part).launch()?;
        std::mem::swap(&mut *part, &mut other);
        assert_eq!(other.to_vec()?, [1.0; 2]);
        part.fill(3.0)?;
        std::mem::swap(&mut *part, &mut other);
    }
    // The borrow is over; its remainder is in `other`.
    assert!(matches!(other.to_vec(), Err(Error::MovedSlice)));
    assert!(matches!(other.fill(9.0), Err(Error::MovedSlice)));
    assert!(matches!(other.slice(..), Err(Error::MovedSlice)));
    let boxes: Vec<_> = (0..100).map(|_| Box::new(None::<Tensor<f32, 1>>)).collect();
    for mut place in boxes {
        *place = Some(other);
        assert!(matches!(
            place.as_ref().as_ref().map(Tensor::to_vec),
            Some(Err(Error::MovedSlice))
        ));
        other = place.take().expect("put there");
    }
    assert_eq!(t.to_vec()?, [3.0, 3.0, 3.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
    Ok(())
}

#[qd::kernel]
fn count_bytes(x: &Tensor<u8, 1>, bins: &mut Tensor<u32, 1>, total: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut bins[x[i] as usize], 1);
    }
    for i in 0..x.len() {
        qd::atomic_add(&mut total[0], x[i] as i32);
    }
}

/// GPU threads read narrow elements by words, from the first aligned address.
#[on_all_backends]
fn a_slice_of_narrow_elements_may_start_at_any_byte(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let data: Vec<u8> = (0..1000u32).map(|at| (at * at / 7) as u8).collect();
    let x = on.program.tensor_from(&data, [1000])?;
    for (begin, end) in (0..18).map(|at| (at, 1000 - at * at)).chain([(5, 5), (1, 2), (15, 33)]) {
        let mut bins = on.program.zeros::<u32, 1>([256])?;
        let mut total = on.program.zeros::<i32, 1>([1])?;
        count_bytes(&*x.slice(begin..end)?, &mut bins, &mut total).launch()?;
        let mut expected = vec![0; 256];
        data[begin..end].iter().for_each(|byte| expected[usize::from(*byte)] += 1);
        assert_eq!(bins.to_vec()?, expected, "{begin}..{end}");
        let sum: i32 = data[begin..end].iter().map(|byte| i32::from(*byte)).sum();
        assert_eq!(total.to_vec()?, [sum], "{begin}..{end}");
    }
    Ok(())
}
