//! The kernels that are measured on every backend, as a user would write them.

#![allow(clippy::needless_range_loop)] // kernels index, as devices do

use quadrants::{
    self as qd, Tensor,
    builder::KernelBuilder,
    ir::{self, ScalarType},
};

/// Adds one to each element: hardly any work.
#[qd::kernel]
pub fn touch(a: &mut Tensor<f32, 1>) {
    for i in 0..a.len() {
        a[i] += 1.0;
    }
}

/// The same for the first `n` elements.
#[qd::kernel]
pub fn touch_some(n: usize, a: &mut Tensor<f32, 1>) {
    for i in 0..n {
        a[i] += 1.0;
    }
}

/// `y += a x`
#[qd::kernel]
pub fn saxpy(a: f32, x: &Tensor<f32, 1>, y: &mut Tensor<f32, 1>) {
    for i in 0..y.len() {
        y[i] += a * x[i];
    }
}

/// One step of Jacobi's method on the Laplace equation.
#[qd::kernel]
pub fn jacobi(a: &Tensor<f32, 2>, b: &mut Tensor<f32, 2>) {
    let [h, w] = a.shape();
    for (i, j) in qd::ndrange((1..h - 1, 1..w - 1)) {
        b[[i, j]] =
            0.2 * (a[[i, j]] + a[[i - 1, j]] + a[[i + 1, j]] + a[[i, j - 1]] + a[[i, j + 1]]);
    }
}

/// The sum of all elements.
#[qd::kernel]
pub fn sum(x: &Tensor<f32, 1>, total: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut total[0], x[i]);
    }
}

/// How often each byte occurs.
#[qd::kernel]
pub fn histogram(x: &Tensor<u8, 1>, bins: &mut Tensor<u32, 1>) {
    for i in 0..x.len() {
        qd::atomic_add(&mut bins[x[i] as usize], 1);
    }
}

/// The number of steps after which the sequence of each point leaves the circle of radius 2.
#[qd::kernel]
pub fn mandelbrot(most: u32, out: &mut Tensor<u32, 2>) {
    let [h, w] = out.shape();
    for (i, j) in qd::ndrange([h, w]) {
        let cr = -2.0 + 3.0 * j as f32 / w as f32;
        let ci = -1.5 + 3.0 * i as f32 / h as f32;
        let mut zr = 0.0;
        let mut zi = 0.0;
        let mut steps = 0u32;
        while steps < most && zr * zr + zi * zi < 4.0 {
            let next = zr * zr - zi * zi + cr;
            zi = 2.0 * zr * zi + ci;
            zr = next;
            steps += 1;
        }
        out[[i, j]] = steps;
    }
}

/// The acceleration of each body by all others.
#[qd::kernel(fast_math)]
#[allow(clippy::too_many_arguments)] // a body's place and mass, and the pull on it
pub fn nbody(
    x: &Tensor<f32, 1>,
    y: &Tensor<f32, 1>,
    z: &Tensor<f32, 1>,
    m: &Tensor<f32, 1>,
    ax: &mut Tensor<f32, 1>,
    ay: &mut Tensor<f32, 1>,
    az: &mut Tensor<f32, 1>,
) {
    let n = x.len();
    for i in 0..n {
        let xi = x[i];
        let yi = y[i];
        let zi = z[i];
        let mut sx = 0.0;
        let mut sy = 0.0;
        let mut sz = 0.0;
        for j in 0..n {
            let dx = x[j] - xi;
            let dy = y[j] - yi;
            let dz = z[j] - zi;
            let square = dx * dx + dy * dy + dz * dz + 1e-3;
            let inverse = 1.0 / square.sqrt();
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

/// Bodies per tile of a thread block.
pub const TILE: usize = 256;

/// The same by thread blocks with shared tiles.
#[qd::kernel(fast_math)]
#[allow(clippy::too_many_arguments)] // as above
pub fn nbody_tiled(
    x: &Tensor<f32, 1>,
    y: &Tensor<f32, 1>,
    z: &Tensor<f32, 1>,
    m: &Tensor<f32, 1>,
    ax: &mut Tensor<f32, 1>,
    ay: &mut Tensor<f32, 1>,
    az: &mut Tensor<f32, 1>,
) {
    let n = x.len();
    qd::block_for(n / TILE, TILE, |b| {
        let mut tx = b.shared::<f32>(TILE);
        let mut ty = b.shared::<f32>(TILE);
        let mut tz = b.shared::<f32>(TILE);
        let mut tm = b.shared::<f32>(TILE);
        let mut sx = b.shared::<f32>(TILE);
        let mut sy = b.shared::<f32>(TILE);
        let mut sz = b.shared::<f32>(TILE);
        let first = b.index() * TILE;
        for tile in 0..n / TILE {
            b.each(|t| {
                let j = tile * TILE + t;
                tx[t] = x[j];
                ty[t] = y[j];
                tz[t] = z[j];
                tm[t] = m[j];
            });
            b.each(|t| {
                let xi = x[first + t];
                let yi = y[first + t];
                let zi = z[first + t];
                let mut px = sx[t];
                let mut py = sy[t];
                let mut pz = sz[t];
                for k in 0..TILE {
                    let dx = tx[k] - xi;
                    let dy = ty[k] - yi;
                    let dz = tz[k] - zi;
                    let square = dx * dx + dy * dy + dz * dz + 1e-3;
                    let inverse = 1.0 / square.sqrt();
                    let weight = tm[k] * inverse * inverse * inverse;
                    px += dx * weight;
                    py += dy * weight;
                    pz += dz * weight;
                }
                sx[t] = px;
                sy[t] = py;
                sz[t] = pz;
            });
        }
        b.each(|t| {
            ax[first + t] = sx[t];
            ay[first + t] = sy[t];
            az[first + t] = sz[t];
        });
    });
}

/// 256 multiplications and additions, each on the result of the last.
#[qd::kernel]
pub fn chain(a: f32, b: f32, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() {
        let mut v = x[i];
        for _ in 0..256 {
            v = v.mul_add(a, b);
        }
        x[i] = v;
    }
}

/// One step of the heat equation in space.
#[qd::kernel]
pub fn stencil(a: &Tensor<f32, 3>, b: &mut Tensor<f32, 3>) {
    let [d, h, w] = a.shape();
    for (i, j, k) in qd::ndrange((1..d - 1, 1..h - 1, 1..w - 1)) {
        let around = a[[i - 1, j, k]]
            + a[[i + 1, j, k]]
            + a[[i, j - 1, k]]
            + a[[i, j + 1, k]]
            + a[[i, j, k - 1]]
            + a[[i, j, k + 1]];
        b[[i, j, k]] = 0.4 * a[[i, j, k]] + 0.1 * around;
    }
}

/// The transpose of a matrix of whole tiles: each block of threads turns one.
#[qd::kernel]
pub fn transpose(a: &Tensor<f32, 2>, b: &mut Tensor<f32, 2>) {
    let [h, w] = a.shape();
    qd::block_for([h / 32, w / 32], 256, |block| {
        let mut tile = block.shared_2d::<f32>([32, 33]);
        let [row, column] = block.index();
        let (top, left) = (row * 32, column * 32);
        block.each(|t| {
            let (i, j) = (t / 32, t % 32);
            for k in 0..4 {
                tile[[i + 8 * k, j]] = a[[top + i + 8 * k, left + j]];
            }
        });
        block.each(|t| {
            let (i, j) = (t / 32, t % 32);
            for k in 0..4 {
                b[[left + i + 8 * k, top + j]] = tile[[j, i + 8 * k]];
            }
        });
    });
}

/// The mean of a cell and its 26 neighbours.
#[qd::kernel]
pub fn box_filter(a: &Tensor<f32, 3>, b: &mut Tensor<f32, 3>) {
    let [n, m, l] = a.shape();
    for (i, j, k) in qd::ndrange((1..n - 1, 1..m - 1, 1..l - 1)) {
        let mut sum = 0.0;
        for di in 0..3 {
            for dj in 0..3 {
                for dk in 0..3 {
                    sum += a[[i + di - 1, j + dj - 1, k + dk - 1]];
                }
            }
        }
        b[[i, j, k]] = sum / 27.0;
    }
}

#[qd::func]
fn equilibrium(v: f32, square: f32) -> f32 {
    1.0 + 3.0 * v + 4.5 * v * v - square
}

/// One step of the lattice Boltzmann method with nine velocities on a periodic plane. Each velocity has a plane.
#[qd::kernel]
pub fn lattice(omega: f32, f: &Tensor<f32, 3>, g: &mut Tensor<f32, 3>) {
    let [_, h, w] = f.shape();
    for (y, x) in qd::ndrange([h, w]) {
        let up = if y > 0 { y - 1 } else { h - 1 };
        let down = if y + 1 < h { y + 1 } else { 0 };
        let left = if x > 0 { x - 1 } else { w - 1 };
        let right = if x + 1 < w { x + 1 } else { 0 };
        let f0 = f[[0, y, x]];
        let f1 = f[[1, y, left]];
        let f2 = f[[2, up, x]];
        let f3 = f[[3, y, right]];
        let f4 = f[[4, down, x]];
        let f5 = f[[5, up, left]];
        let f6 = f[[6, up, right]];
        let f7 = f[[7, down, right]];
        let f8 = f[[8, down, left]];
        let density = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
        let vx = (f1 + f5 + f8 - f3 - f6 - f7) / density;
        let vy = (f2 + f5 + f6 - f4 - f7 - f8) / density;
        let square = 1.5 * (vx * vx + vy * vy);
        let (sum, difference) = (vx + vy, vx - vy);
        let axis = density / 9.0;
        let corner = density / 36.0;
        g[[0, y, x]] = f0 + omega * (density * (4.0 / 9.0) * (1.0 - square) - f0);
        g[[1, y, x]] = f1 + omega * (axis * equilibrium(vx, square) - f1);
        g[[2, y, x]] = f2 + omega * (axis * equilibrium(vy, square) - f2);
        g[[3, y, x]] = f3 + omega * (axis * equilibrium(-vx, square) - f3);
        g[[4, y, x]] = f4 + omega * (axis * equilibrium(-vy, square) - f4);
        g[[5, y, x]] = f5 + omega * (corner * equilibrium(sum, square) - f5);
        g[[6, y, x]] = f6 + omega * (corner * equilibrium(-difference, square) - f6);
        g[[7, y, x]] = f7 + omega * (corner * equilibrium(-sum, square) - f7);
        g[[8, y, x]] = f8 + omega * (corner * equilibrium(difference, square) - f8);
    }
}

/// One step of a bitonic network: compares elements that are `step` apart, in runs of `size`.
#[qd::kernel]
pub fn bitonic(step: usize, size: usize, a: &mut Tensor<u32, 1>) {
    for i in 0..a.len() / 2 {
        let low = i / step * 2 * step + i % step;
        let high = low + step;
        let (x, y) = (a[low], a[high]);
        if (low / size).is_multiple_of(2) == (x > y) {
            a[low] = y;
            a[high] = x;
        }
    }
}

/// A sparse matrix, given by rows, times a vector.
#[qd::kernel]
pub fn spmv(
    starts: &Tensor<u32, 1>,
    columns: &Tensor<u32, 1>,
    values: &Tensor<f32, 1>,
    x: &Tensor<f32, 1>,
    y: &mut Tensor<f32, 1>,
) {
    for i in 0..y.len() {
        let mut sum = 0.0;
        for k in starts[i]..starts[i + 1] {
            sum += values[k as usize] * x[columns[k as usize] as usize];
        }
        y[i] = sum;
    }
}

/// The quadratic spline's weight of the `k`-th of three nodes around a position `f` cells from the first.
#[qd::func]
fn spline(k: usize, f: f32) -> f32 {
    match k {
        0 => 0.5 * (1.5 - f) * (1.5 - f),
        1 => 0.75 - (f - 1.0) * (f - 1.0),
        _ => 0.5 * (f - 0.5) * (f - 0.5),
    }
}

/// A step of the material point method in two dimensions: to the grid, on the grid, and back.
#[qd::kernel]
#[allow(clippy::too_many_arguments)] // a particle's properties and the grid's
pub fn mpm(
    dt: f32,
    place: &mut Tensor<f32, 2>,
    speed: &mut Tensor<f32, 2>,
    affine: &mut Tensor<f32, 2>,
    grown: &mut Tensor<f32, 1>,
    momentum: &mut Tensor<f32, 3>,
    mass: &mut Tensor<f32, 2>,
) {
    let cells = mass.shape()[0];
    let g = cells as f32;
    let side = 1.0 / g;
    let volume = 0.25 * side * side;
    for (i, j) in qd::ndrange(mass.shape()) {
        mass[[i, j]] = 0.0;
        momentum[[i, j, 0]] = 0.0;
        momentum[[i, j, 1]] = 0.0;
    }
    for p in 0..grown.len() {
        let stress = -dt * 4.0 * 400.0 * volume * (grown[p] - 1.0) * g * g;
        let vx = speed[[p, 0]];
        let vy = speed[[p, 1]];
        let xx = stress + volume * affine[[p, 0]];
        let xy = volume * affine[[p, 1]];
        let yx = volume * affine[[p, 2]];
        let yy = stress + volume * affine[[p, 3]];
        let x = place[[p, 0]] * g;
        let y = place[[p, 1]] * g;
        let i0 = ((x - 0.5) as usize).min(cells - 3);
        let j0 = ((y - 0.5) as usize).min(cells - 3);
        let fx = x - i0 as f32;
        let fy = y - j0 as f32;
        for i in 0..3 {
            for j in 0..3 {
                let dx = (i as f32 - fx) * side;
                let dy = (j as f32 - fy) * side;
                let w = spline(i, fx) * spline(j, fy);
                let to_x = w * (volume * vx + xx * dx + xy * dy);
                let to_y = w * (volume * vy + yx * dx + yy * dy);
                qd::atomic_add(&mut momentum[[i0 + i, j0 + j, 0]], to_x);
                qd::atomic_add(&mut momentum[[i0 + i, j0 + j, 1]], to_y);
                qd::atomic_add(&mut mass[[i0 + i, j0 + j]], w * volume);
            }
        }
    }
    for (i, j) in qd::ndrange(mass.shape()) {
        let m = mass[[i, j]];
        if m > 0.0 {
            let mut vx = momentum[[i, j, 0]] / m;
            let mut vy = momentum[[i, j, 1]] / m - dt * 9.8;
            if i < 3 {
                vx = vx.max(0.0);
            }
            if i + 3 >= cells {
                vx = vx.min(0.0);
            }
            if j < 3 {
                vy = vy.max(0.0);
            }
            if j + 3 >= cells {
                vy = vy.min(0.0);
            }
            momentum[[i, j, 0]] = vx;
            momentum[[i, j, 1]] = vy;
        }
    }
    for p in 0..grown.len() {
        let x = place[[p, 0]] * g;
        let y = place[[p, 1]] * g;
        let i0 = ((x - 0.5) as usize).min(cells - 3);
        let j0 = ((y - 0.5) as usize).min(cells - 3);
        let fx = x - i0 as f32;
        let fy = y - j0 as f32;
        let mut vx = 0.0;
        let mut vy = 0.0;
        let mut xx = 0.0;
        let mut xy = 0.0;
        let mut yx = 0.0;
        let mut yy = 0.0;
        for i in 0..3 {
            for j in 0..3 {
                let dx = i as f32 - fx;
                let dy = j as f32 - fy;
                let w = spline(i, fx) * spline(j, fy);
                let q = 4.0 * g * w;
                let node_x = momentum[[i0 + i, j0 + j, 0]];
                let node_y = momentum[[i0 + i, j0 + j, 1]];
                vx += w * node_x;
                vy += w * node_y;
                xx += q * node_x * dx;
                xy += q * node_x * dy;
                yx += q * node_y * dx;
                yy += q * node_y * dy;
            }
        }
        speed[[p, 0]] = vx;
        speed[[p, 1]] = vy;
        affine[[p, 0]] = xx;
        affine[[p, 1]] = xy;
        affine[[p, 2]] = yx;
        affine[[p, 3]] = yy;
        place[[p, 0]] += dt * vx;
        place[[p, 1]] += dt * vy;
        grown[p] *= 1.0 + dt * (xx + yy);
    }
}

/// [`saxpy`] made at run time, so that a rival can launch the same machine code.
///
/// # Panics
///
/// If the kernel is refused, which would be a mistake of the builder.
pub fn saxpy_at_run_time() -> ir::Kernel {
    let b = KernelBuilder::new("saxpy");
    let a = b.param_scalar("a", ScalarType::F32);
    let x = b.param_tensor("x", ScalarType::F32, 1);
    let y = b.param_tensor_mut("y", ScalarType::F32, 1);
    b.range_for(0usize, x.len(), |i| y.store([i], y.load([i]) + a * x.load([i])));
    b.build().expect("a valid kernel")
}
