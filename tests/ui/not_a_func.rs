use quadrants as qd;
use quadrants::Tensor;

fn plain(x: f32) -> f32 {
    x
}

#[qd::kernel]
fn caller(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = plain(x[i]);
    }
}

fn main() {}
