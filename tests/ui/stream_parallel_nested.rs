use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn nested(x: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|| {
        qd::stream_parallel(|| {
            for i in 0..x.len() {
                x[i] = 0.0;
            }
        });
    });
}

fn main() {}
