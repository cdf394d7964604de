//! The kernels. Each loop runs in parallel on the device.

#![forbid(unsafe_code)]

use quadrants as qd;
use quadrants::Tensor;

/// `y[i] = sin(step * i)`
#[qd::kernel]
pub fn wave(step: f32, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        y[i] = (step * i as f32).sin();
    }
}

/// Each element becomes the mean of itself and its neighbours.
#[qd::kernel]
pub fn smooth(x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    let n = x.len();
    for i in 0..n {
        let left = if i > 0 { x[i - 1] } else { x[i] };
        let right = if i + 1 < n { x[i + 1] } else { x[i] };
        y[i] = (left + x[i] + right) / 3.0;
    }
}
