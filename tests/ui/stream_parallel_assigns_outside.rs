use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn outside(x: &mut Tensor<f32, 1>) {
    let mut n = x.len();
    qd::stream_parallel(|| {
        n = 2;
        for i in 0..n {
            x[i] = 0.0;
        }
    });
}

fn main() {}
