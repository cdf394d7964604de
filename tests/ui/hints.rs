//! Common mistakes whose messages say what to write instead.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn triangle(n: usize, o: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange((0..n, 0..i)) {
        o[[i, j]] = 1.0;
    }
}

#[qd::kernel]
fn chains(x: &Tensor<f32, 1>, o: &mut Tensor<f32, 1>) {
    for i in 0..o.len() {
        let a = [1.0, 2.0, 3.0];
        let sum: f32 = a.iter().map(|x| x * 2.0).sum();
        o[i] = sum + (0..10).map(|k| x[k]).sum::<f32>() + x.iter().fold(0.0, |a, b| a + b);
    }
}

#[qd::kernel]
fn flags(to: &Tensor<u32, 1>, next: &mut Tensor<bool, 1>, count: &mut Tensor<u32, 1>) {
    for i in 0..to.len() {
        next[to[i] as usize] = true;
        count[to[i] as usize] += 1;
    }
    for i in 0..to.len() {
        next[to[i] as usize] = false;
        count[to[i] as usize] = 7;
    }
    for i in 0..to.len() {
        count[0] = count[0].max(to[i]);
    }
}

#[qd::kernel]
fn swapped(o: &mut Tensor<f32, 1>) {
    for i in 0..o.len() {
        let mut v = [1.0, 2.0, 3.0];
        v.swap(0, 1);
        o[i] = v[0];
    }
}

#[qd::kernel]
fn index_per_dimension(a: &Tensor<f32, 3>, o: &mut Tensor<f32, 2>) {
    for i in 0..3 {
        o[i][0] = a[i][0][2 * i];
    }
}

#[qd::kernel]
fn signed(k: i32, o: &mut Tensor<f32, 1>, p: &mut Tensor<f32, 2>) {
    for i in 0..10i32 {
        o[i] = 1.0;
        p[[i, k]] = 1.0;
    }
}

#[qd::kernel]
fn in_place(a: &Tensor<f32, 2>, b: &mut Tensor<f32, 2>) {
    for (i, j) in qd::ndrange(b.shape()) {
        for k in i + 1..a.shape()[0] {
            b[[i, j]] += a[[k, i]] * b[[k, j]];
        }
    }
}

#[qd::kernel]
fn double_buffer(steps: usize, u: &mut Tensor<f32, 2>) {
    for t in 0..steps {
        for i in 1..u.shape()[1] - 1 {
            u[[(t + 1) % 2, i]] = u[[t % 2, i - 1]] + u[[t % 2, i + 1]];
        }
    }
}

#[qd::kernel]
fn iterated(x: &mut Tensor<f32, 1>) {
    for _ in 0..100 {
        x[0] = x[0] * 0.5 + 1.0;
    }
}

#[qd::kernel]
fn pairs(k: u32, o: &mut Tensor<f32, 1>) {
    for i in 0..o.len() {
        o[i] = match [i as u32 % 2, k] {
            [0, 1] => 1.0,
            _ => 2.0,
        };
    }
}

#[qd::func]
fn of_block(b: &qd::Block, t: usize) -> usize {
    t
}

#[qd::kernel]
fn one_index_of_two(k: usize, o: &mut Tensor<f32, 2>) {
    for i in 0..o.len() {
        o[i] = o[i + k] + o[0] + o[k as usize];
    }
}

/// No mistake: only the index is wanted.
#[qd::kernel]
fn argmin(x: &Tensor<f32, 1>) -> u64 {
    let mut least = f32::INFINITY;
    let mut at = 0;
    for i in 0..x.len() {
        if x[i] < least {
            least = x[i];
            at = i as u64;
        }
    }
    at
}

fn main() {}
