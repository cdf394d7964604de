//! Indices, conditions, bounds and tickets that funcs return, and comparisons of tuples: the launch decides.

use quadrants::Result;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Bench, launch, patterns};

patterns! {
    func is_last(i: usize, n: usize) -> bool {
        i + 1 == n
    }

    func has_parity(i: usize, j: usize, parity: usize) -> bool {
        (i + j) % 2 == parity
    }

    func chunk(i: usize, n: usize, parts: usize) -> (usize, usize) {
        let width = n.div_ceil(parts);
        ((i * width).min(n), ((i + 1) * width).min(n))
    }

    func packed(i: usize, j: usize) -> usize {
        i * (i + 1) / 2 + j
    }

    func slot(count: &mut Tensor<u32, 1>, c: usize) -> usize {
        qd::atomic_add(&mut count[c], 1) as usize
    }

    func relax(u: &mut Tensor<u32, 2>, i: usize, j: usize) {
        u[[i, j]] = u[[i - 1, j]] + u[[i + 1, j]] + u[[i, j - 1]] + u[[i, j + 1]];
    }

    kernel under_a_func(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        if is_last(i, m) && x[i] < 100 {
            o[0] = x[i];
        }
    }

    kernel after_a_func(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        if !is_last(i, m) {
            continue;
        }
        o[0] = x[i];
    }

    kernel unless_a_func(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        if !is_last(i, m) {
            o[0] = x[i];
        }
    }

    kernel one_corner(a: usize, b: usize, x: &Tensor<u32, 2>, o: &mut Tensor<u32, 1>)
    [] for (i, j) in [qd::ndrange(x.shape())] {
        if (i, j) == (a, b) {
            o[0] = x[[i, j]];
        }
        if [j, i] == [a, b] {
            o[1] = x[[i, j]];
        }
    }

    kernel all_but_one_corner(a: usize, b: usize, x: &Tensor<u32, 2>, o: &mut Tensor<u32, 1>)
    [] for (i, j) in [qd::ndrange(x.shape())] {
        if (i, j) != (a, b) {
            o[0] = x[[i, j]];
        }
    }

    kernel chunks(parts: usize, more: usize, o: &mut Tensor<u32, 1>)
    [let n = o.len() - more;] for i in [0..parts] {
        let (begin, end) = chunk(i, n, parts);
        for k in begin..end + more {
            o[k] += i as u32;
        }
    }

    kernel chequered(parity: usize, u: &mut Tensor<u32, 2>)
    [let [h, w] = u.shape();] for (i, j) in [qd::ndrange([h, w])] {
        if i == 0 || j == 0 || i == h - 1 || j == w - 1 || !has_parity(i, j, parity) {
            continue;
        }
        relax(u, i, j);
    }

    kernel in_rows(step: usize, u: &mut Tensor<u32, 2>)
    [let [h, w] = u.shape();] for (i, j) in [qd::ndrange([h, w])] {
        if i > 0 && j > 0 && i + 1 < h && j + 1 < w && has_parity(i, step * j, 0) {
            relax(u, i, j);
        }
    }

    kernel triangle(n: usize, m: usize, o: &mut Tensor<u32, 1>) [] for k in [0..n * n] {
        let (i, j) = (k / n, k % n);
        if j <= i + m {
            o[packed(i, j)] += k as u32;
        }
    }

    kernel listed(cell: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, list: &mut Tensor<u32, 2>)
    [] for i in [0..cell.len()] {
        let c = cell[i] as usize;
        let at = slot(count, c);
        list[[c, at]] = i as u32;
    }

    kernel listed_in_one_row(cell: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, list: &mut Tensor<u32, 2>)
    [] for i in [0..cell.len()] {
        let at = slot(count, cell[i] as usize);
        list[[0, at]] = i as u32;
    }
}

#[on_all_backends]
fn what_funcs_return_is_followed_at_launch(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let x = bench.tensor(&[5, 1, 8, 2, 9, 4, 7, 3], [24])?;
    let mut o = bench.tensor(&[2, 6], [64])?;
    for m in [0, 1, 7, 24, 25] {
        launch!(bench, Accept, under_a_func(m; x; o));
        launch!(bench, Accept, after_a_func(m; x; o));
        launch!(bench, Collide, unless_a_func(m; x; o));
    }
    let plane = bench.tensor(&[5, 1, 8, 2, 9, 4, 7, 3], [4, 6])?;
    for (a, b) in [(0, 0), (3, 5), (2, 4), (9, 9)] {
        launch!(bench, Accept, one_corner(a, b; plane; o));
        launch!(bench, Collide, all_but_one_corner(a, b; plane; o));
    }
    for parts in [2, 3, 5, 7] {
        launch!(bench, Accept, chunks(parts, 0;; o));
        launch!(bench, Collide, chunks(parts, 1;; o));
    }
    let mut u = bench.tensor(&[2, 6, 1], [8, 9])?;
    for parity in 0..3 {
        launch!(bench, Accept, chequered(parity;; u));
    }
    launch!(bench, Accept, in_rows(1;; u));
    launch!(bench, Accept, in_rows(3;; u));
    launch!(bench, Collide, in_rows(2;; u));
    for n in [1, 2, 5, 8] {
        launch!(bench, Accept, triangle(n, 0;; o));
    }
    launch!(bench, Collide, triangle(5, 1;; o));
    let (mut count, mut list) = (bench.zeros([3])?, bench.tensor(&[99], [3, 24])?);
    let cell = bench.tensor(&[2, 0, 2, 1, 1, 2], [24])?;
    bench.sorted = true;
    launch!(bench, Accept, listed(; cell; count, list));
    launch!(bench, Collide, listed_in_one_row(; cell; count, list));
    Ok(())
}
