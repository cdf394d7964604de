//! Copies of slices along any axis: the driver calls that they make, and their contents beside copies of other streams.

use quadrants::{KernelValue, Layout, Result, SpanKind, Tensor, Vector};
use quadrants_driver_sim::{Code, Schedule, World};
use quadrants_samples::generate::Rng;
use quadrants_tests::{On, TestBackend, on_all_backends, on_gpu_backends};

/// The calls that copy within the device or to and from it: plain ones, and 2-D ones.
fn copies(world: &World) -> (u64, u64) {
    let calls = |names: &[&str]| names.iter().map(|name| world.calls(name)).sum();
    let plain = [
        "cuMemcpyHtoDAsync_v2",
        "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2",
        "hipMemcpyHtoDAsync",
        "hipMemcpyDtoHAsync",
        "hipMemcpyDtoDAsync",
    ];
    (calls(&plain), calls(&["cuMemcpy2DAsync_v2", "hipMemcpy2DAsync"]))
}

/// The number of plain and of 2-D copies of an action.
fn count<T>(on: &On, action: impl FnOnce() -> Result<T>) -> Result<((u64, u64), T)> {
    let world = on.world.as_ref().expect("simulated");
    let before = copies(world);
    let result = action()?;
    let after = copies(world);
    Ok(((after.0 - before.0, after.1 - before.1), result))
}

/// Checks the calls of reading and writing a view, and that what is written is read.
#[track_caller]
fn check<T: KernelValue + PartialEq + std::fmt::Debug, const N: usize>(
    on: &On,
    view: &mut Tensor<T, N>,
    calls: (u64, u64),
) -> Result<()> {
    let (read, mut elements) = count(on, || view.to_vec())?;
    elements.reverse();
    let (written, ()) = count(on, || view.write(&elements))?;
    assert_eq!((read, written), (calls, calls), "plain and 2-D copies of {:?}", view.strides());
    assert_eq!(view.to_vec()?, elements);
    Ok(())
}

#[on_gpu_backends]
fn a_view_is_copied_by_as_few_calls_as_possible(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let numbers = |count: usize| (0..count).map(|at| at as f32).collect::<Vec<_>>();
    let mut t = on.program.tensor_from(&numbers(1000 * 7), [1000, 7])?;
    // The first fill is complete, so that it is not counted.
    t.to_vec()?;
    check(&on, &mut *t.index_axis_mut(1, 3)?, (0, 1))?;
    check(&on, &mut *t.slice_axis_mut(1, 2..6)?, (0, 1))?;
    check(&on, &mut *t.every_mut(0, 3)?, (0, 1))?;
    check(&on, &mut *t.every_mut(1, 2)?, (0, 4))?;
    check(&on, &mut *t.slice_axis_mut(0, 5..6)?, (1, 0))?;
    // All elements in another order: the host puts them right.
    check(&on, &mut *t.transposed_mut()?, (1, 0))?;
    check(&on, &mut *t.slice_axis_mut(1, 2..6)?.transposed_mut()?, (0, 1))?;

    let mut t = on.program.tensor_from(&numbers(4 * 50 * 6), [4, 50, 6])?;
    t.to_vec()?;
    // 4 × 50 rows have one distance.
    check(&on, &mut *t.slice_axis_mut(2, 1..3)?, (0, 1))?;
    check(&on, &mut *t.index_axis_mut(2, 0)?, (0, 1))?;
    check(&on, &mut *t.slice_axis_mut(1, 1..49)?, (0, 1))?;
    // Of the two distances, that with more rows: a call for each of the others.
    check(&on, &mut *t.slice_axis_mut(1, 1..49)?.slice_axis_mut(2, 1..3)?, (0, 4))?;
    check(&on, &mut *t.slice_axis_mut(1, 1..4)?.slice_axis_mut(2, 1..3)?, (0, 3))?;
    check(&on, &mut *t.slice_axis_mut(2, 1..3)?.permuted_axes_mut([2, 0, 1])?, (0, 1))?;
    check(&on, &mut *t.permuted_axes_mut([1, 2, 0])?, (1, 0))?;

    let structs: Vec<_> = (0..600).map(|at| (at as u8, Vector([at as f32; 3]))).collect();
    let with = |layout| {
        let mut t = on.program.zeros_with::<(u8, Vector<f32, 3>), 2>([60, 10], layout)?;
        t.write(&structs)?;
        t.to_vec().map(|_| t)
    };
    check(&on, &mut *with(Layout::ArrayOfStructs)?.index_axis_mut(1, 1)?, (0, 1))?;
    // One for each field: the planes of the vector follow each other.
    check(&on, &mut *with(Layout::StructOfArrays)?.index_axis_mut(1, 1)?, (0, 2))?;
    Ok(())
}

#[on_gpu_backends]
fn copies_between_views_are_as_few_as_possible(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let program = &on.program;
    let t = program.tensor_from(&(0..3000).collect::<Vec<i32>>(), [300, 10])?;
    t.to_vec()?;
    let (calls, column) = count(&on, || t.index_axis(1, 4)?.try_clone())?;
    assert_eq!((calls, column.to_vec()?[299]), ((0, 1), 2994));
    let mut other = program.zeros::<i32, 2>([300, 8])?;
    let (calls, ()) =
        count(&on, || other.slice_axis_mut(1, 1..4)?.copy_from(&*t.slice_axis(1, 5..8)?))?;
    assert_eq!((calls, other.get([7, 3])?), ((0, 1), 77));
    // The same elements in the same order, however they are indexed.
    let mut same = program.zeros::<i32, 2>([300, 10])?;
    let (calls, ()) = count(&on, || same.transposed_mut()?.copy_from(&*t.transposed()?))?;
    assert_eq!((calls, same.to_vec()? == t.to_vec()?), ((1, 0), true));
    // In another order, no two elements are neighbours: a call for each column.
    let mut transposed = program.zeros::<i32, 2>([10, 300])?;
    let (calls, ()) = count(&on, || transposed.copy_from(&*t.transposed()?))?;
    assert_eq!((calls, transposed.get([4, 299])?), ((0, 10), 2994));
    Ok(())
}

#[on_gpu_backends]
fn a_failed_copy_of_a_view_is_an_error_and_the_tensor_is_usable(
    backend: TestBackend,
) -> Result<()> {
    let Some(on) = backend.open_simulated() else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let mut t = on.program.tensor_from(&(0..300).collect::<Vec<i32>>(), [100, 3])?;
    let other = on.program.zeros::<i32, 1>([100])?;
    let name = match backend {
        TestBackend::AmdGpu => "hipMemcpy2DAsync",
        _ => "cuMemcpy2DAsync_v2",
    };
    let fail = || world.fail(name, 1, Code::OUT_OF_MEMORY);
    fail();
    assert!(t.index_axis(1, 0)?.to_vec().is_err());
    fail();
    assert!(t.index_axis_mut(1, 1)?.write(&[7; 100]).is_err());
    fail();
    assert!(t.index_axis_mut(1, 1)?.copy_from(&other).is_err());
    assert_eq!(world.armed_faults(), 0);
    assert_eq!(t.slice(99..)?.to_vec()?, [297, 298, 299]);
    t.index_axis_mut(1, 1)?.write(&[7; 100])?;
    assert_eq!(t.slice(99..)?.to_vec()?, [297, 7, 299]);
    Ok(())
}

#[on_all_backends]
fn a_copy_of_a_column_is_one_span(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut t = on.program.zeros::<f32, 2>([500, 5])?;
    t.to_vec()?;
    let (copied, timeline) = on.program.profile(|| {
        t.index_axis_mut(1, 1)?.write(&[1.0; 500])?;
        t.index_axis(1, 1)?.to_vec()
    })?;
    assert_eq!(copied?, [1.0; 500]);
    for kind in [SpanKind::CopyToDevice, SpanKind::CopyToHost] {
        let spans: Vec<_> = timeline.spans().iter().filter(|span| span.kind == kind).collect();
        assert_eq!(spans.len(), 1, "{kind:?}: {timeline}");
        assert_eq!(spans[0].bytes, Some(4 * 500));
    }
    Ok(())
}

/// Streams copy between random columns of tensors and change them, without order between the columns.
#[on_gpu_backends]
fn columns_are_copied_on_several_streams_at_once(backend: TestBackend) -> Result<()> {
    const ROWS: usize = 20;
    const COLUMNS: usize = 6;
    for seed in 0..40 {
        let Some(on) = backend.open_simulated() else { return Ok(()) };
        let world = on.world.as_ref().expect("simulated");
        world.set_schedule(Schedule::Adversarial);
        world.set_seed(seed);
        let program = &on.program;
        let random = &mut Rng::new(seed);
        let streams: Vec<_> = (0..3).map(|_| program.create_stream()).collect::<Result<_>>()?;
        let numbers: Vec<i64> = (0..(ROWS * COLUMNS) as i64).collect();
        let mut tensors = [
            program.tensor_from(&numbers, [ROWS, COLUMNS])?,
            program.tensor_from(&numbers, [ROWS, COLUMNS])?,
        ];
        let mut expected = [numbers.clone(), numbers];
        program.sync()?;
        for round in 0..30 {
            // Stream `i` has the columns `2 * i` and `2 * i + 1` of both tensors.
            let of = random.index(3);
            let (from, to) = (2 * of + random.index(2), 2 * of + random.index(2));
            let at = random.index(2);
            let [a, b] = &mut tensors;
            let (target, source) = if at == 0 { (a, &*b) } else { (b, &*a) };
            let mut column = target.index_axis_mut(1, to)?;
            if random.index(4) == 0 {
                // A host write waits for all uses of the tensor, and no other stream for it.
                column.write(&[round; ROWS])?;
                (0..ROWS).for_each(|row| expected[at][row * COLUMNS + to] = round);
            } else {
                streams[of].scope(|| column.copy_from(&*source.index_axis(1, from)?))?;
                for row in 0..ROWS {
                    expected[at][row * COLUMNS + to] = expected[1 - at][row * COLUMNS + from];
                }
            }
            if random.index(6) == 0 {
                let read = column.to_vec()?;
                let column = expected[at].iter().skip(to).step_by(COLUMNS);
                assert!(read.iter().eq(column), "seed {seed}, round {round}");
            }
        }
        for (tensor, expected) in tensors.iter().zip(&expected) {
            assert_eq!(tensor.to_vec()?, *expected, "seed {seed}");
        }
    }
    Ok(())
}
