//! Slices along any axis on several streams, in graphs and with other libraries: what their accesses are compared by.

use quadrants::{
    self as qd, Error, Hazards, Layout, Program, Result, Tensor, ViewProblem,
    collectives::{Communicator, Reduction},
};
use quadrants_driver_sim::Schedule;
use quadrants_tests::{TestBackend, on_all_backends, on_gpu_backends};

use crate::{
    collectives::Ranks,
    common::{copy, is_hazard, set},
};

const N: usize = 30;

#[qd::kernel]
fn set_all(value: f32, out: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(out.shape()) {
        out[[i, j]] = value;
    }
}

#[qd::kernel]
fn set_heat(value: f32, out: &mut Tensor<(f32, u8), 2>) {
    for (i, j) in qd::ndrange(out.shape()) {
        out[[i, j]].0 = value;
    }
}

#[on_all_backends]
fn disjoint_columns_are_no_hazard_and_common_ones_are(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Check);
    let Some(on) = backend.open_with(builder) else { return Ok(()) };
    let program = &on.program;
    let (s1, s2) = (program.create_stream()?, program.create_stream()?);
    let mut t = program.zeros::<f32, 2>([N, 6])?;
    {
        let (mut left, mut right) = t.split_axis_at_mut(1, 2)?;
        set_all(1.0, &mut left).launch_on(&s1)?;
        set_all(2.0, &mut right).launch_on(&s2)?;
        set(3.0, &mut *left.index_axis_mut(1, 0)?).launch_on(&s1)?;
        set(4.0, &mut *right.index_axis_mut(1, 3)?).launch_on(&s2)?;
        assert!(is_hazard(set(5.0, &mut *left.index_axis_mut(1, 1)?).launch_on(&s2)));
        assert!(is_hazard(set(5.0, &mut *right.index_axis_mut(1, 3)?).launch_on(&s1)));
        let mut out = program.zeros::<f32, 1>([N])?;
        assert!(is_hazard(copy(&*left.index_axis(1, 1)?, &mut out).launch_on(&s2)));
        assert!(is_hazard(s2.scope(|| out.copy_from(&*left.index_axis(1, 1)?))));
        s2.scope(|| out.copy_from(&*right.index_axis(1, 2)?))?;
    }
    assert!(is_hazard(set_all(0.0, &mut *t.transposed_mut()?).launch_on(&s1)));
    let row = |row: &[f32]| row == [3.0, 1.0, 2.0, 2.0, 2.0, 4.0];
    assert!(t.to_vec()?.chunks(6).all(row), "{t:?}");
    // Interleaved columns of structs, whose fields are apart.
    for layout in [Layout::ArrayOfStructs, Layout::StructOfArrays] {
        let mut t = program.zeros_with::<(f32, u8), 2>([N, 6], layout)?;
        let (mut left, mut right) = t.split_axis_at_mut(1, 2)?;
        set_heat(1.0, &mut left).launch_on(&s1)?;
        set_heat(2.0, &mut right).launch_on(&s2)?;
        assert!(is_hazard(set_heat(2.0, &mut left).launch_on(&s2)));
    }
    Ok(())
}

#[on_all_backends]
fn blocks_of_a_region_use_disjoint_columns(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut t = on.program.zeros::<f32, 2>([N, 4])?;
    {
        let (mut left, mut right) = t.split_axis_at_mut(1, 2)?;
        on.program.stream_parallel(|region| {
            region.block(|| set_all(1.0, &mut left).launch())?;
            region.block(|| set_all(2.0, &mut right).launch())
        })?;
    }
    assert!(t.to_vec()?.chunks(4).all(|row| row == [1.0, 1.0, 2.0, 2.0]));
    let refused = on.program.stream_parallel(|region| {
        region.block(|| set_all(1.0, &mut *t.slice_axis_mut(1, ..3)?).launch())?;
        region.block(|| set_all(2.0, &mut *t.slice_axis_mut(1, 2..)?).launch())
    });
    assert!(matches!(refused, Err(Error::RegionConflict(_))), "{refused:?}");
    Ok(())
}

/// The race detector compares bytes, and launches of both halves may run at once. The reads come after both.
#[on_gpu_backends]
fn launches_on_disjoint_columns_do_not_race(backend: TestBackend) -> Result<()> {
    let builder = Program::builder().hazards(Hazards::Explicit);
    let Some(on) = backend.open_simulated_with(builder) else { return Ok(()) };
    let world = on.world.as_ref().expect("simulated");
    let streams = [on.program.create_stream()?, on.program.create_stream()?];
    for seed in 0..100 {
        world.set_schedule(Schedule::Random);
        world.set_seed(seed);
        let mut t = on.program.zeros::<f32, 2>([N, 5])?;
        {
            let (mut left, mut right) = t.split_axis_at_mut(1, 2)?;
            for value in [1.0, 2.0] {
                set_all(value, &mut left).launch_on(&streams[0])?;
                set_all(-value, &mut right).launch_on(&streams[1])?;
            }
            assert_eq!(left.get([N - 1, 1])?, 2.0, "seed {seed}");
            set_all(3.0, &mut *right.every_mut(1, 2)?).launch_on(&streams[1])?;
        }
        let all = t.to_vec()?;
        let row = |row: &[f32]| row == [2.0, 2.0, 3.0, -2.0, 3.0];
        assert!(all.chunks(5).all(row), "seed {seed}: {all:?}");
    }
    assert_eq!(world.reports(), []);
    assert!(world.races().is_empty());
    Ok(())
}

#[on_all_backends]
fn a_view_is_captured_where_kernels_are_compiled(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let program = &on.program;
    let mut t = program.zeros::<f32, 2>([N, 4])?;
    let (x, mut y) = (program.tensor_from(&[7.0; N], [N])?, program.zeros::<f32, 1>([N])?);
    // Copies are captured on every device.
    let mut graph = program.capture(|| {
        t.index_axis_mut(1, 1)?.copy_from(&x)?;
        y.copy_from(&*t.index_axis(1, 1)?)?;
        t.index_axis_mut(1, 0)?.fill(2.0)
    })?;
    graph.launch()?;
    assert!(t.to_vec()?.chunks(4).all(|row| row == [2.0, 7.0, 0.0, 0.0]));
    assert_eq!(y.to_vec()?, [7.0; N]);
    let captured = program.capture(|| {
        copy(&*t.index_axis(1, 1)?, &mut y).launch()?;
        set(4.0, &mut *t.index_axis_mut(1, 3)?).launch()
    });
    if backend == TestBackend::Cpu {
        assert!(matches!(captured, Err(Error::Capture { .. })), "{captured:?}");
        return Ok(());
    }
    let mut graph = captured?;
    for round in 0..3 {
        t.index_axis_mut(1, 1)?.fill(round as f32)?;
        t.index_axis_mut(1, 3)?.fill(0.0)?;
        graph.launch()?;
        assert_eq!(y.to_vec()?, [round as f32; N]);
        assert!(t.to_vec()?.chunks(4).all(|row| row == [2.0, round as f32, 0.0, 4.0]));
    }
    // Scalars are replaced, but no tensor by or of another order.
    graph.with("value", 5.0_f32).launch()?;
    assert_eq!(t.index_axis(1, 3)?.to_vec()?, [5.0; N]);
    let other = program.zeros::<f32, 1>([N])?;
    let told = graph.with("from", &other).launch();
    assert!(matches!(told, Err(Error::Argument { .. })), "{told:?}");
    let view = program.zeros::<f32, 2>([N, 2])?;
    let told = graph.with("from", &*view.index_axis(1, 0)?).launch();
    let problem = |error: &Error| matches!(error, Error::View(ViewProblem::NotContiguous { .. }));
    assert!(told.as_ref().is_err_and(problem), "{told:?}");
    let mut contiguous = program.capture(|| copy(&x, &mut y).launch())?;
    let told = contiguous.with("from", &*view.index_axis(1, 0)?).launch();
    assert!(told.as_ref().is_err_and(problem), "{told:?}");
    Ok(())
}

#[on_all_backends]
fn collectives_refuse_what_is_not_contiguous(backend: TestBackend) -> Result<()> {
    let Some(ranks) = Ranks::open(backend, 1, &Program::builder()) else { return Ok(()) };
    let programs = ranks.programs();
    let comms = Communicator::builder().all(&programs).or_else(|_| ranks.builder.all(&programs));
    let comm = &comms.expect("a communicator")[0];
    let (x, mut y) = (programs[0].zeros::<f32, 2>([N, 4])?, programs[0].zeros::<f32, 2>([N, 4])?);
    let column = x.slice_axis(1, 1..3)?;
    let mut half = programs[0].zeros::<f32, 2>([N, 2])?;
    let told = comm.all_reduce(&column, &mut half, Reduction::Sum).unwrap_err().to_string();
    assert!(told.contains("row-major order without gaps"), "{told}");
    let told = comm.broadcast(&mut *y.slice_axis_mut(1, 1..3)?, 0).unwrap_err().to_string();
    assert!(told.contains("row-major order without gaps"), "{told}");
    comm.all_reduce(&x, &mut y, Reduction::Sum).expect("contiguous");
    Ok(())
}

/// Its variants are unloaded with it.
#[on_all_backends]
fn a_kernel_made_at_run_time_takes_views(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut t = on.program.zeros::<f32, 2>([N, 4])?;
    let built = on.program.launcher().len();
    let kernel = qd::Kernel::new(set(0.0, &mut *t.index_axis_mut(1, 2)?).ir()?)?;
    for value in [1.0_f32, 2.0] {
        kernel.call::<()>().arg(value).arg(&mut *t.index_axis_mut(1, 2)?).launch()?;
        kernel.call::<()>().arg(value).arg(&mut *t.row_mut(0)?).launch()?;
    }
    let told = kernel.call::<()>().arg(&mut *t.index_axis_mut(1, 2)?).launch();
    assert!(matches!(told, Err(Error::Argument { .. })), "{told:?}");
    let told = kernel.call::<()>().arg(1.0_f32).arg(&mut *t.transposed_mut()?).launch();
    assert!(matches!(told, Err(Error::Argument { .. })), "{told:?}");
    let told = kernel.call::<()>().arg(1.0_f32).arg(&*t.index_axis(1, 2)?).launch();
    assert!(matches!(told, Err(Error::Argument { .. })), "{told:?}");
    assert_eq!(t.slice(..2)?.to_vec()?, [2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 2.0, 0.0]);
    assert!(on.program.launcher().len() > built);
    drop(kernel);
    assert_eq!(on.program.launcher().len(), built);
    Ok(())
}

#[on_all_backends]
fn a_launch_with_views_is_prepared_and_explained(backend: TestBackend) -> Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut t = on.program.zeros::<f32, 2>([N, 4])?;
    let built = on.program.launcher().len();
    set(1.0, &mut *t.index_axis_mut(1, 2)?).prepare(&on.program)?;
    assert_eq!(on.program.launcher().len(), built + 1, "only what the launch needs");
    let explained = set(1.0, &mut *t.index_axis_mut(1, 2)?).explain(&on.program)?;
    assert_eq!(explained.tasks.len(), 1);
    set(1.0, &mut *t.index_axis_mut(1, 2)?).launch()?;
    assert_eq!(on.program.launcher().len(), built + 1);
    set(2.0, &mut *t.row_mut(0)?).launch()?;
    let expected = if backend == TestBackend::Cpu { 1 } else { 2 };
    assert_eq!(on.program.launcher().len(), built + expected);
    assert_eq!(t.slice(..2)?.to_vec()?, [2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 1.0, 0.0]);
    let text = format!("{:?}", t.index_axis(1, 2)?);
    assert!(text.contains("strides: [4]") && text.contains("[2.0, 1.0, 1.0"), "{text}");
    Ok(())
}
