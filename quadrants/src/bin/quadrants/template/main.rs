//! Two streams: one writes a wave, the other smooths it as soon as it is complete.

#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use kernels::{smooth, wave};
use quadrants as qd;

fn main() -> qd::Result<()> {
    // CUDA, AMDGPU, else the CPU. The environment variable QUADRANTS_ARCH chooses another one.
    let prog = qd::Program::open(qd::Arch::from_env_or_best())?;
    let values = smoothed_wave(&prog, 1 << 20)?;
    println!("{} ({}): {:?}", prog.device_info().name, prog.arch(), &values[..4]);
    Ok(())
}

fn smoothed_wave(prog: &qd::Program, n: usize) -> qd::Result<Vec<f32>> {
    let (producer, consumer) = (prog.create_stream()?, prog.create_stream()?);
    let done = prog.create_event()?;
    let mut x = prog.zeros::<f32, 1>([n])?;
    let mut y = prog.zeros::<f32, 1>([n])?;

    wave(0.001, &mut x).launch_on(&producer)?;
    done.record(&producer)?;
    done.wait(&consumer)?; // the stream waits; the host does not
    smooth(&x, &mut y).launch_on(&consumer)?;
    y.to_vec() // waits for what wrote `y`
}
