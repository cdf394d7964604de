//! Tensors as views of cudarc.

use quadrants::{self as qd, Complex, Layout, Vector, cudarc::Error, reads, writes};

use crate::{N, Outcome, Scene, add, driver};

pub(crate) fn tensors_are_views_of_cudarc() -> Outcome {
    let Scene { context, program, shared, .. } = Scene::new()?;
    let mut x = program.zeros::<f32, 2>([4, N / 4])?;
    let mut y = program.zeros::<f32, 1>([N])?;
    for turn in 1..=4 {
        add(1.0, &mut *x.flat_mut()?).launch_on(&shared)?;
        let len =
            shared.foreign("copy", reads![&x], writes![&mut y], |stream, [x], [mut y]| {
                let (from, mut to) = (x.view::<f32>()?, y.view_mut::<f32>()?);
                stream.memcpy_dtod(&from.slice(..N / 2), &mut to.slice_mut(N / 2..))?;
                Ok::<_, Error>((from.len(), x.raw().shape().to_vec()))
            })??;
        assert_eq!(len, (N, vec![4, N / 4]));
        add(10.0, &mut y).launch_on(&shared)?;
        let y = y.to_vec()?;
        assert_eq!(y[..N / 2], [10.0 * turn as f32; N / 2]);
        assert_eq!(y[N / 2..], [turn as f32 + 10.0; N / 2]);
    }
    // A slice of a tensor, and the end of its memory right after the call.
    let mut part = program.zeros::<f32, 1>([N])?;
    shared.foreign(
        "part",
        [],
        writes![&mut part.slice_mut(3..7)?],
        |stream, [], [mut part]| {
            stream.memcpy_htod(&[1.0_f32, 2.0, 3.0, 4.0], &mut part.view_mut::<f32>()?)?;
            Ok::<(), Error>(())
        },
    )??;
    assert_eq!(part.to_vec()?[..8], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0]);
    driver(context.check_err())?;
    Ok(())
}

/// Another stream of cudarc waits for the program's work, and the program for its.
pub(crate) fn other_streams_of_cudarc_may_use_views() -> Outcome {
    let Scene { context, program, shared, other } = Scene::new()?;
    let mut x = program.zeros::<f32, 1>([N])?;
    let mut theirs = driver(other.alloc_zeros::<f32>(N))?;
    for turn in 1..=4 {
        add(1.0, &mut x).launch_on(&shared)?;
        shared.foreign("there and back", [], writes![&mut x], |_, [], [mut x]| {
            other.memcpy_dtod(&x.view::<f32>()?, &mut theirs)?;
            other.memcpy_dtod(&theirs, &mut x.view_mut::<f32>()?)?;
            Ok::<(), Error>(())
        })??;
        add(1.0, &mut x).launch_on(&shared)?;
        assert_eq!(driver(shared.cudarc().clone_dtoh(&theirs))?, [2.0 * turn as f32 - 1.0; N]);
        assert_eq!(x.to_vec()?, [2.0 * turn as f32; N]);
    }
    driver(context.check_err())?;
    Ok(())
}

pub(crate) fn views_have_the_type_of_the_tensor() -> Outcome {
    let Scene { program, shared, .. } = Scene::new()?;
    let mut x = program.zeros::<f32, 1>([N])?;
    let bools = program.zeros::<bool, 1>([N])?;
    let vectors = program.zeros::<Vector<f32, 2>, 1>([N])?;
    let mut z = program.tensor_from(&[Complex { re: 1.0_f64, im: 2.0 }; 3], [3])?;
    let split = program.zeros_with::<Complex<f32>, 1>([N], Layout::StructOfArrays)?;
    shared.foreign(
        "types",
        reads![&bools, &vectors, &split],
        writes![&mut x, &mut z],
        |stream, [bools, vectors, split], [mut x, mut z]| {
            for refused in [bools.view::<u8>().map(drop), x.view_mut::<u32>().map(drop)] {
                assert!(matches!(refused, Err(Error::ElementType { position: 0, .. })));
            }
            let refused = vectors.view::<f32>();
            assert!(matches!(refused, Err(Error::ElementType { position: 1, .. })));
            let refused = split.view::<Complex<f32>>();
            assert!(matches!(refused, Err(Error::Gaps { position: 2 })));
            let ones = [Complex { re: 1.0_f64, im: 1.0 }; 3];
            stream.memcpy_htod(&ones, &mut z.view_mut::<Complex<f64>>()?)?;
            Ok::<(), Error>(())
        },
    )??;
    assert_eq!(z.to_vec()?, [Complex { re: 1.0, im: 1.0 }; 3]);
    Ok(())
}

pub(crate) fn captures_are_refused() -> Outcome {
    let Scene { program, shared, other, .. } = Scene::new()?;
    let mut x = program.zeros::<f32, 1>([N])?;
    let mut slice = driver(other.alloc_zeros::<f32>(N))?;
    let graph = program.capture(|| {
        add(1.0, &mut x).launch_on(&shared)?;
        let refused = shared.foreign("capture", [], writes![&mut x], |_, [], [_]| ());
        assert!(matches!(refused, Err(Error::Quadrants(qd::Error::Capture { .. }))), "{refused:?}");
        // SAFETY: not called.
        let refused = unsafe { shared.with_view_mut(&mut slice, [N], |_| ()) };
        assert!(matches!(refused, Err(Error::Quadrants(qd::Error::Capture { .. }))), "{refused:?}");
        Ok(())
    });
    graph?.launch()?;
    assert_eq!(x.to_vec()?, [1.0; N]);
    Ok(())
}
