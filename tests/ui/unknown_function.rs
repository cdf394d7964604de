use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn unknown_function(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = missing_function(x[i]);
    }
}

fn main() {}
