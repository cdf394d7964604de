//! The kernels of the halo exchange: one step of the heat equation, or of a lattice Boltzmann fluid.
//!
//! A field has the shape `[rows, values of a cell, columns]`, so that rows are contiguous. Each kernel reads one row
//! more on each side than it writes. Columns are periodic. The kernels are `strict`, so that every backend and every
//! number of devices gives the same bits.

use quadrants as qd;

use qd::Tensor;

/// The columns beside a column, periodic.
#[qd::func]
fn beside(x: usize, width: usize) -> (usize, usize) {
    (if x > 0 { x - 1 } else { width - 1 }, if x + 1 < width { x + 1 } else { 0 })
}

/// The new temperature of a cell: the mean of its neighbours. Row `y` is the row above it.
#[qd::func]
fn mean_of_neighbours(from: &Tensor<f32, 3>, y: usize, x: usize) -> f32 {
    let [_, _, width] = from.shape();
    let (left, right) = beside(x, width);
    let across = from[[y + 1, 0, left]] + from[[y + 1, 0, right]];
    0.25 * (across + from[[y, 0, x]] + from[[y + 2, 0, x]])
}

/// A Jacobi step of rows that are beside each other: `from` has one more above and below.
#[qd::kernel(strict)]
pub(crate) fn jacobi(from: &Tensor<f32, 3>, to: &mut Tensor<f32, 3>) {
    let [rows, _, width] = to.shape();
    for (y, x) in qd::ndrange([rows, width]) {
        to[[y, 0, x]] = mean_of_neighbours(from, y, x);
    }
}

/// A Jacobi step of the first and the last row of a device, each with the rows around it.
#[qd::kernel(strict)]
pub(crate) fn jacobi_edges(
    around_first: &Tensor<f32, 3>,
    around_last: &Tensor<f32, 3>,
    first: &mut Tensor<f32, 3>,
    last: &mut Tensor<f32, 3>,
) {
    let [_, _, width] = first.shape();
    for x in 0..width {
        first[[0, 0, x]] = mean_of_neighbours(around_first, 0, x);
        last[[0, 0, x]] = mean_of_neighbours(around_last, 0, x);
    }
}

/// The relaxation rate of the fluid; its kinematic viscosity is `(1 / RATE - 0.5) / 3` in cells and steps.
const RATE: f32 = 1.9;

/// A step of a cell of the lattice Boltzmann method with nine velocities (D2Q9, BGK): takes the populations that move
/// into it, and relaxes them towards equilibrium. Row `y` of `from` is the row above the cell.
///
/// The velocities in the order of the populations: rest; right, down, left, up; then the diagonals, clockwise from
/// the lower right.
#[qd::func]
fn stream_and_collide(from: &Tensor<f32, 3>, to: &mut Tensor<f32, 3>, y: usize, x: usize) {
    let [_, _, width] = from.shape();
    let (left, right) = beside(x, width);
    let rest = from[[y + 1, 0, x]];
    let e = from[[y + 1, 1, left]];
    let s = from[[y, 2, x]];
    let w = from[[y + 1, 3, right]];
    let n = from[[y + 2, 4, x]];
    let se = from[[y, 5, left]];
    let sw = from[[y, 6, right]];
    let nw = from[[y + 2, 7, right]];
    let ne = from[[y + 2, 8, left]];
    let density = rest + ((e + w) + (n + s)) + ((se + nw) + (sw + ne));
    let ux = ((e - w) + ((se - nw) + (ne - sw))) / density;
    let uy = ((s - n) + ((se - nw) + (sw - ne))) / density;
    let base = 1.0 - 1.5 * (ux * ux + uy * uy);
    let diagonal = ux + uy;
    let other = ux - uy;
    let straight_weight = density * (RATE / 9.0);
    let diagonal_weight = density * (RATE / 36.0);
    let keep = 1.0 - RATE;
    to[[y, 0, x]] = keep * rest + density * (RATE * 4.0 / 9.0) * base;
    let even = base + 4.5 * ux * ux;
    to[[y, 1, x]] = keep * e + straight_weight * (even + 3.0 * ux);
    to[[y, 3, x]] = keep * w + straight_weight * (even - 3.0 * ux);
    let even = base + 4.5 * uy * uy;
    to[[y, 2, x]] = keep * s + straight_weight * (even + 3.0 * uy);
    to[[y, 4, x]] = keep * n + straight_weight * (even - 3.0 * uy);
    let even = base + 4.5 * diagonal * diagonal;
    to[[y, 5, x]] = keep * se + diagonal_weight * (even + 3.0 * diagonal);
    to[[y, 7, x]] = keep * nw + diagonal_weight * (even - 3.0 * diagonal);
    let even = base + 4.5 * other * other;
    to[[y, 8, x]] = keep * ne + diagonal_weight * (even + 3.0 * other);
    to[[y, 6, x]] = keep * sw + diagonal_weight * (even - 3.0 * other);
}

/// A step of the fluid in rows that are beside each other: `from` has one more above and below.
#[qd::kernel(strict)]
pub(crate) fn fluid(from: &Tensor<f32, 3>, to: &mut Tensor<f32, 3>) {
    let [rows, _, width] = to.shape();
    for (y, x) in qd::ndrange([rows, width]) {
        stream_and_collide(from, to, y, x);
    }
}

/// A step of the fluid in the first and the last row of a device, each with the rows around it.
#[qd::kernel(strict)]
pub(crate) fn fluid_edges(
    around_first: &Tensor<f32, 3>,
    around_last: &Tensor<f32, 3>,
    first: &mut Tensor<f32, 3>,
    last: &mut Tensor<f32, 3>,
) {
    let [_, _, width] = first.shape();
    for x in 0..width {
        stream_and_collide(around_first, first, 0, x);
        stream_and_collide(around_last, last, 0, x);
    }
}

/// A smooth bump: 1 in the middle of 0 to 1, and 0 at its ends.
#[qd::func]
fn bump(t: f32) -> f32 {
    let side = t * (1.0 - t);
    16.0 * side * side
}

/// The place of row `y` of a device in the whole field, from 0 to 1. Row 0 is the last one of the device above.
#[qd::func]
fn place(y: usize, first: usize, height: usize) -> f32 {
    (((first + height - 1 + y) % height) as f32 + 0.5) / height as f32
}

/// The first temperatures: two warm stripes across each other.
#[qd::kernel(strict)]
pub(crate) fn jacobi_start(first: usize, height: usize, to: &mut Tensor<f32, 3>) {
    let [rows, _, width] = to.shape();
    for (y, x) in qd::ndrange([rows, width]) {
        let across = bump((x as f32 + 0.5) / width as f32);
        to[[y, 0, x]] = across * bump(place(y, first, height)) + 0.25 * across;
    }
}

/// The first populations of the fluid: two streams side by side with a slight wave, in equilibrium.
#[qd::kernel(strict)]
pub(crate) fn fluid_start(first: usize, height: usize, to: &mut Tensor<f32, 3>) {
    let [rows, _, width] = to.shape();
    for (y, x) in qd::ndrange([rows, width]) {
        let ux = 0.08 * (24.0 * bump(place(y, first, height)) - 12.0).clamp(-1.0, 1.0);
        let wave = 3.0 * (x as f32 + 0.5) / width as f32;
        let uy = 0.02 * bump(wave - wave.floor()) - 0.01;
        let base = 1.0 - 1.5 * (ux * ux + uy * uy);
        to[[y, 0, x]] = base * (4.0 / 9.0);
        to[[y, 1, x]] = (base + 3.0 * ux + 4.5 * ux * ux) * (1.0 / 9.0);
        to[[y, 2, x]] = (base + 3.0 * uy + 4.5 * uy * uy) * (1.0 / 9.0);
        to[[y, 3, x]] = (base - 3.0 * ux + 4.5 * ux * ux) * (1.0 / 9.0);
        to[[y, 4, x]] = (base - 3.0 * uy + 4.5 * uy * uy) * (1.0 / 9.0);
        let diagonal = ux + uy;
        let other = ux - uy;
        to[[y, 5, x]] = (base + 3.0 * diagonal + 4.5 * diagonal * diagonal) * (1.0 / 36.0);
        to[[y, 6, x]] = (base - 3.0 * other + 4.5 * other * other) * (1.0 / 36.0);
        to[[y, 7, x]] = (base - 3.0 * diagonal + 4.5 * diagonal * diagonal) * (1.0 / 36.0);
        to[[y, 8, x]] = (base + 3.0 * other + 4.5 * other * other) * (1.0 / 36.0);
    }
}
