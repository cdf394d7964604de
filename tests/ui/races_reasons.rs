//! Why accesses are refused: each message has a reason.

use quadrants::{self as qd, Tensor};

#[qd::kernel]
fn tickets_of_several_counters(
    key: &Tensor<u32, 1>,
    cursor: &mut Tensor<u32, 1>,
    sorted: &mut Tensor<u32, 1>,
) {
    for i in 0..key.len() {
        let c = key[i] as usize;
        let at = qd::atomic_add(&mut cursor[c], 1) as usize;
        sorted[at] = i as u32;
    }
}

#[qd::kernel]
fn tickets_of_fixed_counters(cursor: &mut Tensor<u32, 1>, sorted: &mut Tensor<u32, 1>) {
    for i in 0..sorted.len() {
        let at = qd::atomic_add(&mut cursor[i % 4], 1) as usize;
        sorted[at + 1] = i as u32;
    }
}

#[qd::kernel]
fn old_values(least: &mut Tensor<u32, 1>, sorted: &mut Tensor<u32, 1>) {
    for i in 0..sorted.len() {
        let at = qd::atomic_max(&mut least[0], i as u32) as usize;
        sorted[at] = i as u32;
    }
}

#[qd::kernel]
fn ranks(starts: &Tensor<usize, 2>, key: &Tensor<usize, 1>, sorted: &mut Tensor<u32, 1>) {
    qd::block_for(starts.shape()[1], 64, |b| {
        let rank = b.scan_add(|t| key[b.index() * 64 + t]);
        b.each(|t| {
            let i = b.index() * 64 + t;
            let digit = key[i];
            sorted[starts[[digit, b.index()]] + rank[t]] = i as u32;
        });
        b.each(|t| {
            sorted[rank[t]] = t as u32;
        });
    });
}

#[qd::kernel]
fn parentheses(k: usize, m: usize, y: &mut Tensor<u32, 1>, list: &mut Tensor<u32, 2>) {
    for i in 0..y.len() {
        y[(i + k * m) % 7] = 1;
        y[(i - (k - 1)) / 2 + 3] = 1;
        y[!(i & 3) >> 61] = 1;
    }
    for (i, j) in qd::ndrange([m, m]) {
        list[[(j * k) + 1, (j as u32 & 3) as usize]] = i as u32;
    }
}

#[qd::kernel]
fn long(first_long_name: usize, second_long_name: usize, y: &mut Tensor<u32, 1>) {
    for i in 0..y.len() {
        y[(first_long_name * second_long_name + first_long_name * (second_long_name + 1)) / (i + 1) % 3] = 1;
    }
}

#[qd::kernel]
fn red_black_by_xor(red: bool, u: &mut Tensor<f32, 2>) {
    let [h, w] = u.shape();
    for (i, j) in qd::ndrange((1..h - 1, 1..w - 1)) {
        if ((i ^ j) & 1 == 0) == red {
            u[[i, j]] = u[[i - 1, j]] + u[[i + 1, j]];
        }
    }
}

#[qd::kernel]
fn wraps_twice(s: usize, y: &mut Tensor<u32, 1>) {
    let n = y.len();
    for i in 0..n {
        let mut a = i + s;
        if a >= n {
            a -= n;
        }
        if a >= n {
            a -= n;
        }
        y[a] = 1;
    }
}

#[qd::kernel]
fn products(y: &mut Tensor<u32, 1>) {
    for i in 0..y.len() {
        y[i * i % 1000] = 1;
        y[1000 / (i + 1)] = 1;
    }
}

#[qd::func]
fn next(x: &Tensor<usize, 1>, i: usize) -> usize {
    x[i] + 1
}

#[qd::kernel]
fn of_a_func(x: &Tensor<usize, 1>, y: &mut Tensor<u32, 1>) {
    for i in 0..y.len() {
        y[next(x, i)] = 1;
    }
    for i in 0..y.len() {
        let at = next(x, i) * 2;
        y[at] = 1;
    }
}

#[qd::kernel]
fn of_a_float(x: &Tensor<f32, 1>, y: &mut Tensor<u32, 1>) {
    for i in 0..y.len() {
        y[(x[i] * 2.0) as usize] = 1;
    }
    for i in 0..y.len() {
        let phase = (i as f32).sin();
        y[(phase * 7.0) as usize] = 1;
    }
}

#[qd::kernel]
fn changed(x: &Tensor<u32, 1>, y: &mut Tensor<u32, 1>) {
    for i in 0..y.len() {
        let mut k = i;
        while k < 100 {
            k = k * k + 1;
        }
        y[k] = 1;
    }
    for i in 0..y.len() {
        let (a, b) = (x[i] as usize, i);
        let k = if b > 3 { a } else { b };
        y[k] = 1;
    }
}

#[qd::kernel]
fn recurrence(a: &Tensor<f32, 1>, x: &mut Tensor<f32, 1>) {
    for i in 0..x.len() - 1 {
        x[i + 1] = x[i] + a[i];
    }
}

fn main() {}
