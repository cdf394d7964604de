use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn chained(x: &mut Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = 1.0;
        }
    });
    qd::stream_parallel(|| {
        for i in 0..y.len() {
            y[i] = x[i];
        }
    });
}

#[qd::kernel]
fn shared(x: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| x[0] = 1.0);
    qd::stream_parallel(|| x[0] = 2.0);
}

fn main() {}
