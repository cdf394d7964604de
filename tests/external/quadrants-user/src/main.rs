//! Writes a kernel with the facade alone, in a crate that forbids unsafe code.
#![forbid(unsafe_code)]

use quadrants as qd;
use qd::Tensor;

#[qd::func]
fn wave(x: f32) -> f32 {
    (x * 0.01).sin()
}

#[qd::kernel]
fn step(dt: f32, a: &mut Tensor<f32, 1>, b: &mut Tensor<f32, 2>) {
    qd::stream_parallel(|| {
        for i in 0..a.len() {
            a[i] += dt * wave(a[i]);
        }
        for i in 0..a.len() {
            a[i] *= 0.5; // the same block: after the loop above
        }
    });
    qd::stream_parallel(|| {
        for (i, j) in qd::ndrange(b.shape()) {
            b[[i, j]] = wave(b[[i, j]]) * dt;
        }
    });
}

fn main() -> qd::Result<()> {
    let prog = qd::Program::open(qd::Arch::from_env_or_best())?;
    let mut a = prog.tensor_from(&vec![1.0f32; 1 << 16], [1 << 16])?;
    let mut b = prog.zeros::<f32, 2>([256, 256])?;
    let (stream, done) = (prog.create_stream()?, prog.create_event()?);

    step(0.1, &mut a, &mut b).launch()?; // this thread's current stream: the default one
    done.record(prog.default_stream())?;
    done.wait(&stream)?; // the stream waits; the host does not
    step(0.1, &mut a, &mut b).launch_on(&stream)?;
    let host = a.to_vec()?; // ordered after every launch that wrote `a`
    assert_eq!(host.len(), 1 << 16);
    Ok(())
}
