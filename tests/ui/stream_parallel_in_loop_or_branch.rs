use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn in_loop(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::stream_parallel(|| {
            x[i] = 0.0;
        });
    }
}

#[qd::kernel]
fn in_inner_loop(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        for _ in 0..3 {
            qd::stream_parallel(|| {
                x[i] = 0.0;
            });
        }
    }
}

#[qd::kernel]
fn in_branch(fast: bool, x: &mut Tensor<f32, 1>) {
    if fast {
        qd::stream_parallel(|| {
            for i in 0..x.len() {
                x[i] = 0.0;
            }
        });
    }
}

#[qd::kernel]
fn in_braces(x: &mut Tensor<f32, 1>) {
    {
        qd::stream_parallel(|| {
            for i in 0..x.len() {
                x[i] = 0.0;
            }
        });
    }
}

fn main() {}
