use quadrants as qd;
use quadrants::Tensor;

fn elsewhere() {}

#[qd::kernel]
fn not_a_closure() {
    qd::stream_parallel(elsewhere);
}

#[qd::kernel]
fn parameters(x: &mut Tensor<f32, 1>) {
    qd::stream_parallel(|n: usize| {
        for i in 0..n {
            x[i] = 0.0;
        }
    });
}

#[qd::kernel]
fn nothing() {
    qd::stream_parallel();
}

#[qd::kernel]
fn two(x: &mut Tensor<f32, 1>) {
    qd::stream_parallel(
        || {
            for i in 0..x.len() {
                x[i] = 0.0;
            }
        },
        1,
    );
}

fn main() {}
