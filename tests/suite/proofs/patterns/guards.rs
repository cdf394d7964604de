//! Conditions that leave each element to one iteration.

use quadrants::Result;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Bench, launch, patterns};

patterns! {
    kernel red_black(colour: usize, step: usize, u: &mut Tensor<u32, 2>)
    [let [h, w] = u.shape();] for (i, j) in [qd::ndrange([h, w])] {
        if i > 0 && j > 0 && i + 1 < h && j + 1 < w && (i + step * j) % 2 == colour {
            u[[i, j]] = u[[i - 1, j]] + u[[i + 1, j]] + u[[i, j - 1]] + u[[i, j + 1]];
        }
    }

    kernel red_black_of_a_box(colour: usize, modulus: usize, u: &mut Tensor<u32, 3>)
    [let [l, h, w] = u.shape();] for (i, j, k) in [qd::ndrange([l, h, w])] {
        if i > 0 && j > 0 && k > 0 && i + 1 < l && j + 1 < h && k + 1 < w {
            if (i + j + k) % modulus == colour {
                u[[i, j, k]] = u[[i - 1, j, k]] + u[[i + 1, j, k]] + u[[i, j - 1, k]]
                    + u[[i, j + 1, k]] + u[[i, j, k - 1]] + u[[i, j, k + 1]];
            }
        }
    }

    kernel red_black_of_a_line(colour: usize, reach: usize, u: &mut Tensor<u32, 1>)
    [let n = u.len();] for i in [0..n] {
        if i % 2 == colour && i + reach < n {
            u[i] += u[i + reach];
        }
    }

    kernel even_reads_odd(u: &mut Tensor<u32, 1>) [let n = u.len();] for i in [0..n / 2] {
        u[2 * i] = u[2 * i + 1];
    }

    kernel transposed(n: usize, a: &mut Tensor<u32, 2>) [] for (i, j) in [qd::ndrange([n, n])] {
        if i < j {
            let t = a[[i, j]];
            a[[i, j]] = a[[j, i]];
            a[[j, i]] = t;
        }
    }

    kernel mirrored(n: usize, a: &mut Tensor<u32, 2>) [] for (i, j) in [qd::ndrange([n, n])] {
        if j < i {
            a[[j, i]] = a[[i, j]];
        }
    }

    kernel averaged(n: usize, a: &mut Tensor<u32, 2>) [] for i in [0..n] {
        for j in 0..=i {
            let mean = (a[[i, j]] + a[[j, i]]) / 2;
            a[[i, j]] = mean;
            a[[j, i]] = mean;
        }
    }

    kernel upper_rows(n: usize, a: &mut Tensor<u32, 2>) [] for i in [0..n] {
        for j in i + 1..n {
            let t = a[[i, j]];
            a[[i, j]] = a[[j, i]];
            a[[j, i]] = t;
        }
    }

    kernel even_to_front(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) [] for i in [0..x.len()] {
        if i % 2 == 1 {
            continue;
        }
        o[i / 2] = x[i];
    }

    kernel residue(m: usize, r: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        if i % m == r {
            o[i / m] = x[i];
        }
    }

    kernel third_residue(r: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        if i % 3 == r {
            o[i / 3] = x[i];
        }
    }

    kernel not_beyond(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        if !(i >= m) {
            o[i] = x[i];
        }
        if i >= m {
            o[i - m] = x[i];
        }
    }

    kernel either_end(m: usize, o: &mut Tensor<u32, 1>) [let n = o.len();] for i in [0..n] {
        if i == 0 || i + 1 == n {
            o[i / m] = i as u32;
        }
    }

    kernel in_two_branches(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        if i < m {
            o[i] = x[i];
        } else if i < 2 * m {
            o[i] = x[i - m];
        } else {
            o[i] = 7;
        }
    }

    kernel asserted(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) [] for i in [0..x.len()] {
        assert!(i < m);
        o[i % m] = x[i];
    }

    kernel window(a: usize, b: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        if a <= i && i < b {
            o[i - a] = x[i];
        }
    }

    /// Reads in one branch, writes in the other.
    kernel halves(m: usize, o: &mut Tensor<u32, 1>) [] for i in [0..2 * m] {
        if i < m {
            o[i] = o[i + m];
        }
    }

    kernel halves_without_guard(m: usize, k: usize, o: &mut Tensor<u32, 1>) [] for i in [0..k] {
        o[i] = o[i + m];
    }

    kernel switched(t: usize, a: &mut Tensor<u32, 1>, b: &mut Tensor<u32, 1>)
    [let n = a.len();] for i in [0..n - 1] {
        if t % 2 == 0 {
            a[i] = b[i + 1];
        } else {
            b[i] = a[i + 1];
        }
    }

    kernel bitonic(j: usize, k: usize, a: &mut Tensor<u32, 1>) [] for i in [0..a.len()] {
        let l = i ^ j;
        if l > i {
            let (x, y) = (a[i], a[l]);
            if ((i & k) == 0) == (x > y) {
                a[i] = y;
                a[l] = x;
            }
        }
    }

    kernel bitonic_of_all(j: usize, m: usize, a: &mut Tensor<u32, 1>) [] for i in [0..m] {
        let l = i ^ j;
        let (x, y) = (a[i], a[l]);
        a[i] = y;
        a[l] = x;
    }

    kernel named_iteration(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        let is_named = i == m;
        if is_named {
            o[0] = x[i];
        }
        if i == m + 1 {
            o[1] = x[i];
        }
    }

    kernel both_variables(a: usize, b: usize, x: &Tensor<u32, 2>, o: &mut Tensor<u32, 1>)
    [] for (i, j) in [qd::ndrange(x.shape())] {
        if i == a && j == b {
            o[0] = x[[i, j]];
        }
    }

    kernel diagonal(m: usize, o: &mut Tensor<u32, 1>) [] for (i, j) in [qd::ndrange([m, m])] {
        if i == j {
            o[i] = i as u32;
        }
    }

    kernel antidiagonal(m: usize, o: &mut Tensor<u32, 1>) [] for (i, j) in [qd::ndrange([m, m])] {
        if i + j + 1 == m {
            o[i] = j as u32;
        }
    }

    kernel two_antidiagonals(m: usize, k: usize, o: &mut Tensor<u32, 1>)
    [] for (i, j) in [qd::ndrange([m, m])] {
        if i + j + 1 == m || i + j == k {
            o[i] = j as u32;
        }
    }
}

#[on_all_backends]
fn a_condition_may_leave_each_element_to_one_iteration(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let x = bench.tensor(&[5, 1, 8, 2, 9, 4, 7], [24])?;
    let mut o = bench.tensor(&[3, 7, 1], [48])?;
    launch!(bench, Accept, even_to_front(; x; o));
    launch!(bench, Accept, even_reads_odd(; ; o));
    for m in 0..5 {
        launch!(bench, Accept, third_residue(m; x; o));
        launch!(bench, Accept, in_two_branches(m * 4; x; o));
        launch!(bench, Sound, not_beyond(m * 8; x; o));
        launch!(bench, Accept, named_iteration(m; x; o));
        launch!(bench, Accept, halves(m * 5; ; o));
        for k in 0..5 {
            if m > 0 {
                launch!(bench, Accept, residue(m, k; x; o));
            }
            launch!(bench, Accept, window(m * 3, k * 5; x; o));
            launch!(bench, Sound, halves_without_guard(m, k; ; o));
            launch!(bench, Sound, two_antidiagonals(m, k; ; o));
            launch!(bench, Sound, red_black_of_a_line(m, k; ; o));
        }
        launch!(bench, Accept, diagonal(m; ; o));
        launch!(bench, Accept, antidiagonal(m; ; o));
        launch!(bench, Sound, either_end(m * 10 + 1; ; o));
    }
    launch!(bench, Accept, not_beyond(24; x; o));
    launch!(bench, Collide, not_beyond(9; x; o));
    launch!(bench, Accept, asserted(24; x; o));
    launch!(bench, Accept, either_end(47; ; o));
    launch!(bench, Collide, either_end(48; ; o));
    launch!(bench, Accept, red_black_of_a_line(1, 3; ; o));
    launch!(bench, Collide, red_black_of_a_line(1, 2; ; o));
    launch!(bench, Accept, halves_without_guard(9, 9; ; o));
    launch!(bench, Collide, halves_without_guard(9, 10; ; o));
    launch!(bench, Collide, two_antidiagonals(9, 3; ; o));
    let mut p = bench.tensor(&[3, 7, 1], [48])?;
    for t in 0..4 {
        launch!(bench, Sound, switched(t; ; o, p));
    }
    let x = bench.tensor(&[5, 1, 8, 2, 9, 4, 7], [4, 6])?;
    for (a, b) in [(0, 0), (3, 5), (2, 9), (1, 3)] {
        launch!(bench, Accept, both_variables(a, b; x; o));
    }
    Ok(())
}

#[on_all_backends]
fn sweeps_by_colour_read_only_the_other_colour(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut u = bench.tensor(&[5, 1, 8, 2, 9, 4, 7], [9, 7])?;
    for colour in 0..3 {
        launch!(bench, Accept, red_black(colour, 1; ; u));
        launch!(bench, Sound, red_black(colour, 3; ; u));
    }
    launch!(bench, Collide, red_black(1, 2; ; u));
    let mut u = bench.tensor(&[5, 1, 8, 2, 9, 4, 7], [5, 6, 7])?;
    for colour in 0..3 {
        launch!(bench, Accept, red_black_of_a_box(colour, 2; ; u));
        launch!(bench, Sound, red_black_of_a_box(colour, 4; ; u));
    }
    launch!(bench, Collide, red_black_of_a_box(0, 1; ; u));
    Ok(())
}

#[on_all_backends]
fn triangles_of_a_matrix_are_exchanged_in_place(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut a = bench.tensor(&[5, 1, 8, 2, 9, 4, 7, 3], [9, 9])?;
    for n in [0, 1, 2, 5, 9] {
        launch!(bench, Accept, transposed(n; ; a));
        launch!(bench, Accept, mirrored(n; ; a));
        launch!(bench, Accept, averaged(n; ; a));
        launch!(bench, Accept, upper_rows(n; ; a));
    }
    let mut line = bench.tensor(&[5, 1, 8, 2, 9, 4, 7, 3], [32])?;
    for j in [1, 2, 4, 8, 16] {
        for k in [2, 8, 32] {
            launch!(bench, Sound, bitonic(j, k; ; line));
        }
        launch!(bench, Accept, bitonic(j, 32; ; line));
        launch!(bench, Collide, bitonic_of_all(j, 32; ; line));
    }
    launch!(bench, Accept, bitonic(0, 8; ; line));
    launch!(bench, Sound, bitonic(5, 8; ; line));
    launch!(bench, Accept, bitonic_of_all(8, 8; ; line));
    Ok(())
}
