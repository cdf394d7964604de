use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn bound(x: &mut Tensor<f32, 1>) {
    let block = qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = 0.0;
        }
    });
}

#[qd::kernel]
fn last(x: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = 0.0;
        }
    })
}

fn main() {}
