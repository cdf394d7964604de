use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn with_a_loop(x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = 0.0;
        }
    });
    for i in 0..y.len() {
        y[i] = 0.0;
    }
}

#[qd::kernel]
fn with_a_store(x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    y[0] = 1.0;
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = 0.0;
        }
    });
}

#[qd::kernel]
fn with_a_read(x: &mut Tensor<f32, 1>, y: &Tensor<f32, 1>) {
    let first = y[0];
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = first;
        }
    });
}

fn main() {}
