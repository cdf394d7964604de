use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn total(x: &Tensor<f32, 1>, sum: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        sum[0] += x[i];
    }
}

#[qd::kernel]
fn scatter(x: &Tensor<f32, 1>, at: &Tensor<u32, 1>, out: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let to = at[i] as usize;
        out[to] = x[i];
    }
}

#[qd::kernel]
fn columns(x: &Tensor<f32, 2>, out: &mut Tensor<f32, 1>) {
    for (y, x_) in qd::ndrange(x.shape()) {
        out[x_] = x[[y, x_]];
    }
}

fn main() {}
