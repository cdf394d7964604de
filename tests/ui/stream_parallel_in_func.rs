use quadrants as qd;
use quadrants::Tensor;

#[qd::func]
fn blocks(x: f32) -> f32 {
    qd::stream_parallel(|| {});
    x
}

#[qd::kernel]
fn caller(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = blocks(x[i]);
    }
}

fn main() {}
