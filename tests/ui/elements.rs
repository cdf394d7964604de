use quadrants as qd;
use quadrants::{KernelValue, Tensor, Tensors, Vector};

#[derive(Clone, Copy, KernelValue)]
struct Body {
    place: Vector<f32, 3>,
    mass: f32,
}

#[derive(Clone, Copy)]
struct Stranger {
    mass: f32,
}

#[derive(Tensors)]
struct Bodies<'a> {
    place: &'a mut Tensor<Vector<f32, 3>, 1>,
    mass: &'a Tensor<f32, 1>,
}

#[derive(Tensors)]
struct Owned {
    mass: Tensor<f32, 1>,
}

#[qd::kernel]
fn field(bodies: &mut Tensor<Body, 1>) {
    for i in 0..bodies.len() {
        bodies[i].speed = 1.0;
    }
}

#[qd::kernel]
fn of_a_stranger(bodies: &Tensor<Stranger, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..out.len() {
        out[i] = bodies[i].mass;
    }
}

#[qd::kernel]
fn only_read(bodies: &Tensor<Body, 1>) {
    for i in 0..bodies.len() {
        bodies[i].place[0] = 1.0;
    }
}

#[qd::kernel]
fn neighbours(bodies: &mut Tensor<Body, 1>) {
    for i in 1..bodies.len() {
        bodies[i].mass = bodies[i - 1].mass;
        bodies[i].place[0] = bodies[i - 1].mass;
    }
}

#[qd::kernel]
fn whole(bodies: &mut Tensor<Body, 1>) {
    for i in 1..bodies.len() {
        let before = bodies[i - 1];
        bodies[i].mass = before.mass;
    }
}

#[qd::kernel]
fn of_a_group(p: &mut Bodies<'_>) {
    for i in 0..p.place.len() {
        p.mass[i] = 1.0;
    }
}

#[qd::kernel]
fn all_of_a_group(p: &mut Bodies<'_>) {
    for i in 0..p.place.len() {
        p.place[0][0] = p.mass[i];
    }
}

fn main() {}
