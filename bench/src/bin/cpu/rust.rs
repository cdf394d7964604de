//! The rival in plain Rust with rayon: indices where it is natural, iterators where they are faster.

use rayon::prelude::*;

/// Elements of a piece.
const PIECE: usize = 1 << 16;

pub(crate) fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    y.par_chunks_mut(PIECE).zip(x.par_chunks(PIECE)).for_each(|(y, x)| {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
    });
}

pub(crate) fn jacobi(a: &[f32], b: &mut [f32], n: usize) {
    let rows = b.par_chunks_mut(n).enumerate().skip(1).take(n.saturating_sub(2));
    rows.for_each(|(i, b)| {
        let [up, row, down] = [i - 1, i, i + 1].map(|i| &a[i * n..(i + 1) * n]);
        for j in 1..n - 1 {
            b[j] = 0.2 * (row[j] + up[j] + down[j] + row[j - 1] + row[j + 1]);
        }
    });
}

pub(crate) fn sum(x: &[f32], total: &mut f32) {
    *total += x.par_chunks(PIECE).map(|x| x.iter().sum::<f32>()).sum::<f32>();
}

pub(crate) fn mandelbrot(most: u32, out: &mut [u32], n: usize) {
    out.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
        let ci = -1.5 + 3.0 * i as f32 / n as f32;
        for (j, out) in row.iter_mut().enumerate() {
            let cr = -2.0 + 3.0 * j as f32 / n as f32;
            let (mut zr, mut zi, mut steps) = (0.0f32, 0.0f32, 0);
            while steps < most && zr * zr + zi * zi < 4.0 {
                (zr, zi) = (zr * zr - zi * zi + cr, 2.0 * zr * zi + ci);
                steps += 1;
            }
            *out = steps;
        }
    });
}

pub(crate) fn nbody([x, y, z, m]: &[Vec<f32>; 4], [ax, ay, az]: &mut [Vec<f32>; 3]) {
    let of = |i: usize| {
        let (mut sx, mut sy, mut sz) = (0.0, 0.0, 0.0);
        for (((xj, yj), zj), mj) in x.iter().zip(y).zip(z).zip(m) {
            let (dx, dy, dz) = (xj - x[i], yj - y[i], zj - z[i]);
            let inverse = 1.0 / (dx * dx + dy * dy + dz * dz + 1e-3).sqrt();
            let weight = mj * inverse * inverse * inverse;
            sx += dx * weight;
            sy += dy * weight;
            sz += dz * weight;
        }
        (sx, sy, sz)
    };
    let all = ax.par_iter_mut().zip(ay).zip(az).enumerate();
    all.for_each(|(i, ((ax, ay), az))| (*ax, *ay, *az) = of(i));
}

pub(crate) fn chains(x: &mut [f32], a: f32, b: f32) {
    x.par_chunks_mut(1 << 12).for_each(|x| {
        for v in x {
            for _ in 0..256 {
                *v = *v * a + b;
            }
        }
    });
}
