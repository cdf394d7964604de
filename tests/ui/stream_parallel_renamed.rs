//! `stream_parallel` is recognized by its name: under another one, its call is no region.

use qd::{Tensor, stream_parallel as x};
use quadrants as qd;

#[qd::kernel]
fn renamed(a: &mut Tensor<f32, 1>) {
    x(|| {
        for i in 0..a.len() {
            a[i] = 1.0;
        }
    });
}

fn main() {}
