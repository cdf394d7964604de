use quadrants as qd;
use quadrants::Tensor;

#[qd::kernel]
fn never_ends(x: &mut Tensor<f32, 1>) {
    for i in (0..x.len()).step_by(0) {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn twice(x: &mut Tensor<f32, 1>) {
    for i in (0..x.len()).step_by(2).step_by(3) {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn other_iterator(x: &mut Tensor<f32, 1>) {
    for i in (0..x.len()).filter(|i| i % 2 == 0) {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn step_of_another_type(by: i32, x: &mut Tensor<f32, 1>) {
    for i in (0..x.len()).step_by(by) {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn overlaps(x: &mut Tensor<f32, 1>) {
    for i in (0..x.len() - 2).step_by(2) {
        x[i] = 1.0;
        x[i + 2] = 2.0;
    }
}

#[qd::kernel]
fn unknown_attribute(x: &mut Tensor<f32, 1>) {
    #[inline]
    for i in 0..x.len() {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn no_such_block(x: &mut Tensor<f32, 1>) {
    #[qd::block_size(2048)]
    for i in 0..x.len() {
        x[i] = 1.0;
    }
}

#[qd::kernel]
fn serial_inside(x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        #[qd::serial]
        for _ in 0..3 {
            x[i] += 1.0;
        }
        #[qd::block_size(32)]
        for _ in 0..3 {
            x[i] += 1.0;
        }
    }
}

#[qd::kernel]
fn unrolled(x: &mut Tensor<f32, 1>) {
    #[qd::unroll]
    for i in 0..x.len() {
        x[i] = 1.0;
        #[unroll(0)]
        for _ in 0..3 {
            x[i] += 1.0;
        }
    }
}

fn main() {}
