use quadrants as qd;
use quadrants::Tensor;

#[deny(unused)]
#[qd::kernel]
fn lints(unused_parameter: f32, x: &mut Tensor<f32, 1>) {
    let unused_local = 1.0;
    let mut never_changed = 2.0;
    for i in 0..x.len() {
        x[i] = never_changed;
    }
}

fn main() {}
