//! Conditions on what tensors contain, tiles and rows of triangles.

use quadrants::{self as qd, Error, Result, Tensor};
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Bench, launch, patterns};

patterns! {
    /// Populations move to the neighbour. A wall reflects them: then they go to the opposite one of their own cell. Two
    /// cells never give to one population, because the one is a wall for the other or it is not.
    kernel streamed(walls: u32, solid: &Tensor<u32, 2>, f: &Tensor<u32, 3>, g: &mut Tensor<u32, 3>)
    [let [h, w] = solid.shape();] for (y, x) in [qd::ndrange([h, w])] {
        let (down, right) = ([0, 0, 0, 1, -1_i32], [0, 1, -1_i32, 0, 0]);
        let opposite = [0, 2, 1, 4, 3];
        if solid[[y, x]] <= walls {
            for q in 0..5 {
                let v = ((y as i32 + down[q] + h as i32) % h as i32) as usize;
                let u = ((x as i32 + right[q] + w as i32) % w as i32) as usize;
                if solid[[v, u]] > 0 {
                    g[[y, x, opposite[q]]] = f[[y, x, q]];
                } else {
                    g[[v, u, q]] = f[[y, x, q]];
                }
            }
        }
    }

    /// Here, the wall does not reflect: a population stays where the cell behind puts its own one.
    kernel stopped(solid: &Tensor<u32, 2>, f: &Tensor<u32, 3>, g: &mut Tensor<u32, 3>)
    [let [h, w] = solid.shape();] for (y, x) in [qd::ndrange([h, w])] {
        let (down, right) = ([0, 0, 0, 1, -1_i32], [0, 1, -1_i32, 0, 0]);
        if solid[[y, x]] == 0 {
            for q in 0..5 {
                let v = ((y as i32 + down[q] + h as i32) % h as i32) as usize;
                let u = ((x as i32 + right[q] + w as i32) % w as i32) as usize;
                if solid[[v, u]] > 0 {
                    g[[y, x, q]] = f[[y, x, q]];
                } else {
                    g[[v, u, q]] = f[[y, x, q]];
                }
            }
        }
    }

    /// The borders of the box are walls.
    kernel reflected(f: &Tensor<u32, 3>, g: &mut Tensor<u32, 3>)
    [let [h, w, _] = f.shape();] for (y, x) in [qd::ndrange([h, w])] {
        let (down, right) = ([0, 0, 0, 1, -1_i32], [0, 1, -1_i32, 0, 0]);
        let opposite = [0, 2, 1, 4, 3];
        for q in 0..5 {
            let (v, u) = (y as i32 + down[q], x as i32 + right[q]);
            if v < 0 || u < 0 || v >= h as i32 || u >= w as i32 {
                g[[y, x, opposite[q]]] = f[[y, x, q]];
            } else {
                g[[v as usize, u as usize, q]] = f[[y, x, q]];
            }
        }
    }

    /// A marked element goes to its left neighbour if that is not marked, and stays otherwise.
    kernel shifted(least: u32, marks: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [let n = marks.len();] for i in [1..n] {
        if marks[i] >= least {
            if marks[i - 1] > 0 {
                o[i] = i as u32;
            } else {
                o[i - 1] = i as u32;
            }
        }
    }

    /// Elements of a colour are computed from neighbours of other colours. With `all`, from all of them.
    kernel coloured(c: u32, all: u32, colour: &Tensor<u32, 1>, near: &Tensor<u32, 2>, o: &mut Tensor<u32, 1>)
    [] for i in [0..colour.len()] {
        if colour[i] != c {
            continue;
        }
        let mut sum = 1;
        for k in 0..3 {
            let j = near[[i, k]] as usize;
            if colour[j] != c || all == 1 && j != i {
                sum += o[j] % 16;
            }
        }
        o[i] = sum;
    }

    /// A column step of a Cholesky decomposition in a packed triangle. With `more`, it writes the column, too.
    kernel column_step(k: usize, more: usize, n: usize, a: &mut Tensor<u32, 1>) [] for i in [k + 1..n] {
        let factor = a[i * (i + 1) / 2 + k];
        for j in k + 1 - more..=i {
            a[i * (i + 1) / 2 + j] ^= factor & a[j * (j + 1) / 2 + k];
        }
    }

    /// As above, with a thread per element.
    kernel element_step(k: usize, more: usize, n: usize, a: &mut Tensor<u32, 1>)
    [] for (i, j) in [qd::ndrange([n, n])] {
        if i > k && j + more > k && j <= i {
            a[i * (i + 1) / 2 + j] ^= a[i * (i + 1) / 2 + k] & a[j * (j + 1) / 2 + k];
        }
    }
}

#[on_all_backends]
fn equal_elements_make_conditions_exclude_each_other(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let solid = bench.tensor(&[0, 0, 1, 0, 2, 0, 0, 0, 1, 1, 0], [5, 6])?;
    let values: Vec<u32> = (1..151).collect();
    let (f, mut g) = (bench.tensor(&values, [5, 6, 5])?, bench.zeros([5, 6, 5])?);
    launch!(bench, Accept, streamed(0; solid, f; g));
    launch!(bench, Collide, streamed(1; solid, f; g));
    launch!(bench, Collide, stopped(; solid, f; g));
    launch!(bench, Accept, reflected(; f; g));
    let colour = bench.tensor(&[0, 1, 2, 1], [32])?;
    let (near, mut o) = (bench.tensor(&[4, 1, 2, 3, 5, 0, 7, 6, 9], [32, 3])?, bench.zeros([32])?);
    for c in 0..3 {
        launch!(bench, Accept, coloured(c, 0; colour, near; o));
    }
    launch!(bench, Collide, coloured(1, 1; colour, near; o));
    let marks = bench.tensor(&[1, 0, 2, 2, 0, 0, 1, 2], [40])?;
    let mut o = bench.zeros([40])?;
    launch!(bench, Accept, shifted(1; marks; o));
    launch!(bench, Collide, shifted(0; marks; o));
    Ok(())
}

#[on_all_backends]
fn steps_of_packed_triangles_write_other_columns(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut a = bench.tensor(&[5, 1, 8, 2, 9, 4, 7, 3], [78])?;
    for k in [0, 1, 3, 9, 10] {
        launch!(bench, Accept, column_step(k, 0, 12; ; a));
        launch!(bench, Accept, element_step(k, 0, 12; ; a));
    }
    for k in [1, 3, 8] {
        launch!(bench, Collide, column_step(k, 1, 12; ; a));
        launch!(bench, Collide, element_step(k, 1, 12; ; a));
    }
    Ok(())
}

/// Tiles on and below the diagonal, each with its mirror image. With `above`, also tiles above it.
#[qd::kernel]
fn mirrored_tiles(above: usize, o: &mut Tensor<u32, 2>) {
    let n = o.shape()[0];
    qd::block_for([n / 8, n / 8], 64, |b| {
        let [p, q] = b.index();
        if q <= p + above {
            b.each(|t| {
                let (i, j) = (p * 8 + t / 8, q * 8 + t % 8);
                if q < p || j <= i {
                    o[[i, j]] = (i * n + j) as u32;
                    o[[j, i]] = (i * n + j) as u32;
                }
            });
        }
    });
}

/// Transposes a matrix in place, a pair of tiles per block.
#[qd::kernel]
fn transposed_tiles(above: usize, a: &mut Tensor<u32, 2>) {
    let n = a.shape()[0];
    qd::block_for([n / 8, n / 8], 64, |b| {
        let [p, q] = b.index();
        if q > p + above {
            return;
        }
        let mut low = b.shared_2d::<u32>([8, 9]);
        let mut high = b.shared_2d::<u32>([8, 9]);
        b.each(|t| {
            low[[t / 8, t % 8]] = a[[p * 8 + t / 8, q * 8 + t % 8]];
            high[[t / 8, t % 8]] = a[[q * 8 + t / 8, p * 8 + t % 8]];
        });
        b.each(|t| {
            a[[p * 8 + t / 8, q * 8 + t % 8]] = high[[t % 8, t / 8]];
            a[[q * 8 + t / 8, p * 8 + t % 8]] = low[[t % 8, t / 8]];
        });
    });
}

#[on_all_backends]
fn blocks_write_tiles_of_a_triangle(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut o = on.program.zeros([32, 32])?;
    mirrored_tiles(0, &mut o).launch()?;
    let expected = |at: usize| (at / 32).max(at % 32) * 32 + (at / 32).min(at % 32);
    let expected: Vec<u32> = (0..1024).map(|at| expected(at) as u32).collect();
    assert_eq!(o.to_vec()?, expected);
    let values: Vec<u32> = (0..1024).collect();
    o.write(&values)?;
    transposed_tiles(0, &mut o).launch()?;
    assert_eq!(o.to_vec()?, (0..1024).map(|at| at % 32 * 32 + at / 32).collect::<Vec<u32>>());
    let launched = transposed_tiles(1, &mut o).launch();
    assert!(matches!(launched, Err(Error::Race { .. })), "{launched:?}");
    Ok(())
}

/// Conditions on different parts of elements do not exclude each other.
#[qd::kernel]
fn by_parts(part: usize, x: &Tensor<[u32; 2], 1>, o: &mut Tensor<u32, 1>) {
    for i in 1..x.len() {
        if x[i][0] == 0 {
            o[i] = 1;
        }
        if x[i - 1][part] != 0 {
            o[i - 1] = 2;
        }
    }
}

#[qd::kernel]
fn by_first_parts(x: &Tensor<[u32; 2], 1>, o: &mut Tensor<u32, 1>) {
    for i in 1..x.len() {
        if x[i][0] == 0 {
            o[i] = 1;
        }
        if x[i - 1][0] != 0 {
            o[i - 1] = 2;
        }
    }
}

/// Iterations change what the conditions read, which the author asserts to be no race.
#[qd::kernel]
fn by_changed_marks(by: usize, x: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 1..x.len() {
        // SAFETY: iterations race here. The launch is refused for `o`, so that nothing runs.
        let (mark, before) = unsafe {
            x[i] ^= 1;
            (x[i], x[i - by])
        };
        if mark == 0 {
            o[i] = 1;
        }
        if before != 0 {
            o[i - by] = 2;
        }
    }
}

/// A NaN is neither below a number nor above.
#[allow(clippy::neg_cmp_op_on_partial_ord)]
#[qd::kernel]
fn by_floats(limit: f32, x: &Tensor<f32, 1>, o: &mut Tensor<u32, 1>) {
    for i in 1..x.len() {
        if !(x[i] >= limit) {
            o[i] = 1;
        }
        if !(x[i - 1] < limit) {
            o[i - 1] = 2;
        }
    }
}

#[on_all_backends]
fn other_elements_and_floats_exclude_nothing(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let prog = &on.program;
    let (x, mut o) = (prog.tensor_from(&[[0, 1], [1, 0], [0, 1]], [3])?, prog.zeros([3])?);
    by_first_parts(&x, &mut o).launch()?;
    let is_race = |launched: Result<()>| matches!(launched, Err(Error::Race { .. }));
    assert!(is_race(by_parts(1, &x, &mut o).launch()));
    let mut marks = prog.tensor_from(&[1, 0, 1], [3])?;
    assert!(is_race(by_changed_marks(1, &mut marks, &mut o).launch()));
    let x = prog.tensor_from(&[1.0, f32::NAN, 3.0], [3])?;
    assert!(is_race(by_floats(2.0, &x, &mut o).launch()));
    Ok(())
}
