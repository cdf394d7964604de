//! Our side: plain kernels, the same that run on a GPU.

// Kernels index, as devices do.
#![allow(clippy::needless_range_loop, clippy::too_many_arguments)]

use quadrants::{self as qd, Tensor};

#[qd::kernel]
pub(crate) fn touch(a: &mut Tensor<f32, 1>) {
    for i in 0..a.len() {
        a[i] += 1.0;
    }
}

#[qd::kernel]
pub(crate) fn saxpy(a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        y[i] += a * x[i];
    }
}

#[qd::kernel]
pub(crate) fn jacobi(a: &Tensor<f32, 2>, b: &mut Tensor<f32, 2>) {
    let [h, w] = a.shape();
    for (i, j) in qd::ndrange((1..h - 1, 1..w - 1)) {
        b[[i, j]] =
            0.2 * (a[[i, j]] + a[[i - 1, j]] + a[[i + 1, j]] + a[[i, j - 1]] + a[[i, j + 1]]);
    }
}

#[qd::kernel]
pub(crate) fn sum(x: &Tensor<f32, 1>, total: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut total[0], x[i]);
    }
}

#[qd::kernel]
pub(crate) fn mandelbrot(out: &mut Tensor<i32, 2>) {
    let [h, w] = out.shape();
    for (i, j) in qd::ndrange([h, w]) {
        let cr = -2.0 + 3.0 * j as f32 / w as f32;
        let ci = -1.5 + 3.0 * i as f32 / h as f32;
        let mut zr = 0.0f32;
        let mut zi = 0.0f32;
        let mut steps = 0;
        while steps < 256 && zr * zr + zi * zi < 4.0 {
            let next = zr * zr - zi * zi + cr;
            zi = 2.0 * zr * zi + ci;
            zr = next;
            steps += 1;
        }
        out[[i, j]] = steps;
    }
}

#[qd::kernel]
pub(crate) fn nbody(
    x: &Tensor<f32, 1>,
    y: &Tensor<f32, 1>,
    z: &Tensor<f32, 1>,
    m: &Tensor<f32, 1>,
    ax: &mut Tensor<f32, 1>,
    ay: &mut Tensor<f32, 1>,
    az: &mut Tensor<f32, 1>,
) {
    for i in 0..x.len() {
        let xi = x[i];
        let yi = y[i];
        let zi = z[i];
        let mut sx = 0.0f32;
        let mut sy = 0.0f32;
        let mut sz = 0.0f32;
        for j in 0..x.len() {
            let dx = x[j] - xi;
            let dy = y[j] - yi;
            let dz = z[j] - zi;
            let inverse = 1.0 / (dx * dx + dy * dy + dz * dz + 1e-3).sqrt();
            let weight = m[j] * inverse * inverse * inverse;
            sx += dx * weight;
            sy += dy * weight;
            sz += dz * weight;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    }
}

#[qd::kernel]
pub(crate) fn chains(a: f32, b: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let mut v = x[i];
        for _ in 0..256 {
            v = v.mul_add(a, b);
        }
        x[i] = v;
    }
}
