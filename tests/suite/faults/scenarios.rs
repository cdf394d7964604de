//! The scenarios in which one call fails. A scenario launches each kernel once at most, so that
//! the trace shows whether the failed launch had begun.

use quadrants::{
    self as qd, Kernel, Program, Result, Tensor, builder::KernelBuilder, ir::ScalarType::F32,
};

use super::scenario_env::{Fixture, N, ScenarioEnv};
use crate::common::{copy, saxpy, set, three_blocks};

#[qd::kernel]
pub(super) fn sum_of_ends(x: &Tensor<f32, 1>) -> f32 {
    x[0] + x[x.len() - 1]
}

pub(super) type Scenario = fn(&mut ScenarioEnv) -> Result<()>;

/// The scenarios by name.
pub(super) const SCENARIOS: [(&str, Scenario); 26] = [
    ("a launch", |stage| {
        let Some(Fixture { stream, x, .. }) = &mut stage.things else { return Ok(()) };
        set(2.0, x).launch_on(stream)
    }),
    ("a launch in a scope", |stage| {
        let Some(Fixture { stream, x, .. }) = &mut stage.things else { return Ok(()) };
        stream.scope(|| set(3.0, x).launch())
    }),
    ("a launch on the default stream", |stage| {
        let Some(Fixture { x, .. }) = &mut stage.things else { return Ok(()) };
        set(3.0, x).launch()
    }),
    ("a first launch", |stage| {
        let Some(Fixture { stream, x, y, .. }) = &mut stage.things else { return Ok(()) };
        saxpy(0.5, x, y).launch_on(stream)
    }),
    ("a launch with a value", |stage| {
        let Some(Fixture { stream, x, .. }) = &mut stage.things else { return Ok(()) };
        sum_of_ends(x).launch_on(stream).map(drop)
    }),
    ("a region", |stage| {
        let Some(Fixture { stream, x, y, z }) = &mut stage.things else { return Ok(()) };
        three_blocks(x, y, z).launch_on(stream)
    }),
    ("a region on the default stream", |stage| {
        let Some(Fixture { x, y, z, .. }) = &mut stage.things else { return Ok(()) };
        three_blocks(x, y, z).launch()
    }),
    ("a region that becomes a graph", |stage| {
        let Some(Fixture { stream, x, y, z }) = &mut stage.things else { return Ok(()) };
        // After the first one of the stage: by events, as a new graph, and as one that is set anew.
        three_blocks(x, y, z).launch_on(stream)?;
        three_blocks(x, y, z).launch_on(stream)?;
        three_blocks(y, x, z).launch_on(stream)
    }),
    ("a captured graph", |stage| {
        let (Some(Fixture { stream, x, y, z }), Some(program)) =
            (&mut stage.things, &stage.program)
        else {
            return Ok(());
        };
        let event = program.create_event()?;
        let mut graph = program.capture(|| {
            set(2.0, x).launch()?;
            z.write(&[4.0; N])?;
            event.record(program.default_stream())?;
            event.wait(stream)?;
            three_blocks(x, y, z).launch_on(stream)
        })?;
        graph.launch_on(stream)
    }),
    ("a captured graph with other arguments", |stage| {
        let (Some(Fixture { stream, x, y, z }), Some(program)) =
            (&mut stage.things, &stage.program)
        else {
            return Ok(());
        };
        let mut graph = program.capture(|| three_blocks(x, y, z).launch())?;
        graph.launch_on(stream)?;
        let mut other = program.zeros::<f32, 1>([3 * N])?;
        graph.with("c", &mut other).launch_on(stream)?;
        graph.launch_on(stream)
    }),
    ("a copy to the device", |stage| {
        let Some(Fixture { stream, x, .. }) = &mut stage.things else { return Ok(()) };
        set(2.0, x).launch_on(stream)?;
        x.write(&[5.0; N])
    }),
    ("a copy to the host", |stage| {
        let Some(Fixture { stream, x, .. }) = &mut stage.things else { return Ok(()) };
        set(2.0, x).launch_on(stream)?;
        x.to_vec().map(drop)
    }),
    ("a fill", |stage| {
        let Some(Fixture { stream, x, .. }) = &mut stage.things else { return Ok(()) };
        set(2.0, x).launch_on(stream)?;
        x.fill(5.0)
    }),
    ("new tensors", |stage| {
        let Some(program) = &stage.program else { return Ok(()) };
        let made = program.tensor_from(&[1.0f32; N], [N])?;
        let zeros = program.zeros::<f32, 2>([N, N])?;
        drop(made);
        zeros.to_vec().map(drop)
    }),
    ("a tensor dropped under its readers", |stage| {
        let (Some(Fixture { stream, y, z, .. }), Some(program)) =
            (&mut stage.things, &stage.program)
        else {
            return Ok(());
        };
        let x = program.tensor_from(&[1.0f32; N], [N])?;
        copy(&x, y).launch_on(stream)?;
        saxpy(1.0, &x, z).launch()
    }),
    ("memory used again", |stage| {
        let (Some(Fixture { stream, y, z, .. }), Some(program)) =
            (&mut stage.things, &stage.program)
        else {
            return Ok(());
        };
        let x = program.tensor_from(&[1.0f32; N], [N])?;
        copy(&x, y).launch_on(stream)?;
        saxpy(1.0, &x, z).launch()?;
        drop(x);
        let others = program.zeros::<f32, 1>([N])?;
        y.to_vec()?;
        z.to_vec()?;
        let again = program.zeros::<f32, 1>([N])?;
        drop(others);
        again.to_vec().map(drop)
    }),
    ("memory freed under its readers", |stage| {
        let (Some(Fixture { stream, y, z, .. }), Some(program)) =
            (&mut stage.things, &stage.program)
        else {
            return Ok(());
        };
        let x = program.tensor_from(&[1.0f32; N], [N])?;
        copy(&x, y).launch_on(stream)?;
        saxpy(1.0, &x, z).launch()?;
        drop(x);
        program.trim_pools();
        y.to_vec().map(drop)
    }),
    ("events", |stage| {
        let (Some(Fixture { stream, x, .. }), Some(program)) = (&mut stage.things, &stage.program)
        else {
            return Ok(());
        };
        let event = program.create_event()?;
        set(2.0, x).launch_on(stream)?;
        event.record(stream)?;
        event.wait(program.default_stream())?;
        event.query()?;
        event.synchronize()
    }),
    ("waiting", |stage| {
        let (Some(Fixture { stream, x, .. }), Some(program)) = (&mut stage.things, &stage.program)
        else {
            return Ok(());
        };
        set(2.0, x).launch_on(stream)?;
        stream.query()?;
        stream.synchronize()?;
        program.sync()?;
        program.device_sync()
    }),
    ("a stream dropped at work", |stage| {
        let (Some(Fixture { x, .. }), Some(program)) = (&mut stage.things, &stage.program) else {
            return Ok(());
        };
        let stream = program.create_stream()?;
        set(2.0, x).launch_on(&stream)
    }),
    ("a stream destroyed behind a region", |stage| {
        let (Some(Fixture { x, y, z, .. }), Some(program)) = (&mut stage.things, &stage.program)
        else {
            return Ok(());
        };
        let stream = program.create_stream()?;
        three_blocks(x, y, z).launch_on(&stream)?;
        stream.destroy()
    }),
    ("the end of a kernel", |stage| {
        let Some(Fixture { stream, x, .. }) = &mut stage.things else { return Ok(()) };
        let b = KernelBuilder::new("passing");
        let out = b.param_tensor_mut("out", F32, 1);
        b.range_for(0u64, N as u64, |i| out.store(i, 7.0f32));
        let kernel = Kernel::new(b.build().expect("a valid kernel"))?;
        kernel.call::<()>().arg(x).launch_on(stream)
    }),
    ("trimming the pools", |stage| {
        if let Some(program) = &stage.program {
            program.trim_pools();
        }
        Ok(())
    }),
    ("the end of all things", |stage| {
        if let Some(Fixture { stream, x, y, z }) = &mut stage.things {
            three_blocks(x, y, z).launch_on(stream)?;
        }
        stage.things = None;
        Ok(())
    }),
    ("another program", |stage| {
        let Some(opened) = stage.opened.clone() else { return Ok(()) };
        let program = Program::open(opened)?;
        let mut x = program.zeros::<f32, 1>([N])?;
        set(2.0, &mut x).launch()?;
        x.to_vec().map(drop)
    }),
    ("the end of the program", |stage| {
        if let Some(Fixture { stream, x, y, z }) = &mut stage.things {
            three_blocks(x, y, z).launch_on(stream)?;
        }
        (stage.things, stage.program, stage.opened) = (None, None, None);
        Ok(())
    }),
];
