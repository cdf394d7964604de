//! One mistake, one message.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn unknown_method(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = x[i].squareroot();
    }
}

#[qd::kernel]
fn unknown_method_of_a_local(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        let n = x[i];
        x[i] = n.cube() + 1;
    }
}

#[qd::kernel]
fn sum_with_a_bool(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = true + 1.0;
    }
}

#[qd::kernel]
fn if_without_else(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = if i > 3 { 1.0 };
    }
}

#[qd::kernel]
fn let_without_else(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let a = if i > 3 { 1.0 };
        x[i] = a;
    }
}

#[qd::kernel]
fn vector_parameter(v: &Vec<f32>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = v[i];
    }
}

#[qd::kernel]
fn builtin_method_of_another_type(x: &mut Tensor<i32, 1>) {
    for i in 0..x.len() {
        x[i] = x[i].sqrt();
    }
}

#[qd::kernel]
fn builtin_method_of_an_array(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = [1.0, 2.0].sum();
    }
}

#[qd::kernel]
fn builtin_method_of_a_complex_number(x: &mut Tensor<qd::Complex<f32>, 1>) {
    for i in 0..x.len() {
        x[i].re = x[i].norm_squared();
    }
}

#[qd::func]
fn builtin_method_in_a_func(x: i32) -> i32 {
    x.sqrt()
}

#[qd::kernel]
fn branches_of_two_types(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = if i > 3 { 1.0 } else { 2 };
    }
}

#[qd::kernel]
fn arms_of_two_types(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let a = match i {
            0 => 1.0,
            _ => -2,
        };
        x[i] = a;
    }
}

#[qd::kernel]
fn memory_of_the_host(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let _list = Vec::new();
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn memory_of_the_host_by_type(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let _list: Vec<f32> = Vec::new();
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn pushes(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let mut list = Vec::new();
        list.push(x[i]);
        x[i] = list[0];
    }
}

#[qd::kernel]
fn time(x: &mut Tensor<f32, 1>) {
    let _start = std::time::Instant::now();
    for i in 0..x.len() {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn default_of_a_number(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = f32::default();
    }
}

trait OfTheUser {}

#[qd::kernel]
fn element_of_a_trait<T: OfTheUser>(x: &Tensor<T, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        y[i] = x.len() as f32;
    }
}

#[qd::func]
fn value_of_a_trait<T>(x: T) -> T
where
    T: OfTheUser,
{
    x
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Letter {
    number: f32,
    letter: char,
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Maybe<T> {
    value: T,
    other: Option<f32>,
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Text {
    text: &'static str,
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Borrowed<'a> {
    value: &'a f32,
}

#[qd::kernel]
fn uses_a_wrong_struct(letters: &Tensor<Letter, 1>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let letter = letters[i];
        x[i] = letter.number + letters[i].number;
    }
}

#[qd::kernel]
fn signed_index_of_a_scatter(counts: &mut Tensor<i32, 1>) {
    for i in 0..counts.len() {
        qd::atomic_add(&mut counts[i as i32], 1);
    }
}

#[derive(Clone, Copy, qd::KernelValue)]
struct Point {
    x: f32,
}

#[qd::func]
impl Point {
    fn at(x: f32) -> Self {
        Point { x }
    }
}

#[qd::kernel]
fn wrong_result_of_a_function(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let p: u32 = Point::at(x[i]);
        x[i] = p as f32;
    }
}

fn main() {}
