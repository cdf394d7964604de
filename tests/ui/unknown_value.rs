use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn unknown_value(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = missing;
    }
}

fn main() {}
