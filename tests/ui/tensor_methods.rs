//! Methods of structs of tensors.

use quadrants::{self as qd, Tensor, Tensors};

#[derive(Tensors)]
struct Field<'a> {
    values: &'a mut Tensor<f32, 1>,
}

#[qd::func]
impl Field<'_> {
    fn at(&self, i: usize) -> f32 {
        self.values[i]
    }

    fn set(&mut self, i: usize, to: f32) {
        self.values[i] = to;
    }

    fn by_value(self) -> f32 {
        self.values[0]
    }

    fn len(&self) -> usize {
        1
    }

    fn whole(&self) -> f32 {
        self.values
    }

    fn wrong_type(&mut self) {
        self.values[0] = 1;
    }

    fn unknown(&self) -> f32 {
        self.values[0].nothing()
    }

    fn of_tensor(x: &Tensor<f32, 1>) -> f32 {
        x[0]
    }
}

impl Field<'_> {
    fn no_func(&self) -> f32 {
        1.0
    }
}

trait Plain {
    fn plain(&self) -> f32;
}

#[qd::func]
impl Plain for Field<'_> {
    fn plain(&self) -> f32 {
        1.0
    }
}

#[qd::kernel]
fn missing(f: &mut Field<'_>) {
    for i in 0..f.values.len() {
        f.missing(i);
    }
}

#[qd::kernel]
fn calls_no_func(f: &mut Field<'_>) {
    for i in 0..f.values.len() {
        f.values[i] = f.no_func();
    }
}

#[qd::kernel]
fn arguments(f: &Field<'_>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = f.at(1.5);
    }
}

#[qd::kernel]
fn changes(f: &Field<'_>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        f.set(i, x[i]);
    }
}

fn main() {}
