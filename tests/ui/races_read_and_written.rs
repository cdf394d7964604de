use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn smooth(x: &mut Tensor<f32, 1>) {
    for i in 1..x.len() - 1 {
        x[i] = 0.5 * x[i] + 0.25 * (x[i - 1] + x[i + 1]);
    }
}

#[qd::kernel]
fn transpose(a: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(a.shape()) {
        let v = a[[j, i]];
        a[[i, j]] = v;
    }
}

#[qd::kernel]
fn both(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() - 1 {
        x[i] = 1.0;
        x[i + 1] = 2.0;
    }
}

fn main() {}
