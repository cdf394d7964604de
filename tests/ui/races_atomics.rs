use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn normalized(x: &Tensor<f32, 1>, sum: &mut Tensor<f32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut sum[0], x[i]);
        out[i] = x[i] / sum[0];
    }
}

#[qd::kernel]
fn two_and_one_more(x: &Tensor<f32, 1>, count: &mut Tensor<usize, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let k = qd::atomic_add(&mut count[0], 2);
        out[k] = x[i];
        out[k + 2] = x[i];
    }
}

fn main() {}
