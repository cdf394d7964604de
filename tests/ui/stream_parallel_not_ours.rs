use quadrants as qd;
use quadrants::Tensor;

fn stream_parallel<F: FnOnce()>(_block: F) {}

mod forwarding {
    pub fn beside<F: FnOnce()>(block: F) {
        quadrants::stream_parallel(block);
    }
}

#[qd::kernel]
fn a_function_of_that_name(x: &mut Tensor<f32, 1>) {
    stream_parallel(|| {
        for i in 0..x.len() {
            x[i] = 0.0;
        }
    });
}

#[qd::kernel]
fn a_forwarder(x: &mut Tensor<f32, 1>) {
    forwarding::beside(|| {
        for i in 0..x.len() {
            x[i] = 0.0;
        }
    });
}

fn main() {}
