use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn writes_shared(x: &Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn assigns_outer(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += x[i];
    }
    y[0] = sum;
}

#[qd::kernel]
fn breaks(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        if x[i] > 1.0 {
            break;
        }
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn returns(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        if x[i] > 1.0 {
            return;
        }
        x[i] = 0.0;
    }
}

#[qd::kernel]
fn labels(x: &mut Tensor<f32, 1>) {
    'rows: for i in 0..x.len() {
        for _ in 0..3 {
            if x[i] > 1.0 {
                break 'rows;
            }
        }
    }
}

#[qd::kernel]
fn tries(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        x[i] = Some(1.0)?;
    }
}

fn main() {}
