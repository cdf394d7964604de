//! Writes a kernel with the facade alone, in a crate that forbids unsafe code.
#![forbid(unsafe_code)]

use quadrants as qd;
use qd::{KernelValue, Tensor, Tensors};

/// The derived implementations are unsafe to write by hand, and none of this crate's code.
#[derive(Clone, Copy, KernelValue)]
struct Body {
    place: f32,
    mass: f32,
}

#[derive(Tensors)]
struct Bodies<'a> {
    all: &'a mut Tensor<Body, 1>,
    pull: &'a Tensor<f32, 1>,
}

#[qd::kernel]
fn fall(bodies: &mut Bodies) {
    for i in 0..bodies.all.len() {
        bodies.all[i].place += bodies.all[i].mass * bodies.pull[0];
    }
}

/// Kernels rely on what `#[func]` emits for an implementation, so that the trait is unsafe to implement by hand.
#[qd::func]
trait Shape {
    fn area(&self) -> f32;
}

#[derive(Clone, Copy, KernelValue)]
struct Square(f32);

#[qd::func]
impl Shape for Square {
    fn area(&self) -> f32 {
        self.0 * self.0
    }
}

#[qd::func]
impl Square {
    fn grow(&mut self, by: f32) {
        self.0 += by;
    }
}

#[qd::kernel]
fn areas<T: Shape>(shape: T, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        let mut square = Square(i as f32);
        square.grow(1.0);
        out[i] = shape.area() + square.area();
    }
}

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

    let mut all = prog.tensor_from(&[Body { place: 1.0, mass: 2.0 }; 3], [3])?;
    let pull = prog.tensor_from(&[-0.5], [1])?;
    fall(&mut Bodies { all: &mut all, pull: &pull }).launch()?;
    assert!(all.to_vec()?.iter().all(|body| body.place == 0.0));

    let mut out = prog.zeros::<f32, 1>([2])?;
    areas(Square(3.0), &mut out).launch()?;
    assert_eq!(out.to_vec()?, [10.0, 13.0]);
    Ok(())
}
