//! Several indices in one, as in arrays of one dimension that hold more: rows and columns, tiles, periodic neighbours,
//! packed triangles.

use quadrants::Result;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Bench, launch, patterns};

patterns! {
    /// A periodic shift in both dimensions, in rows of `width` elements.
    kernel shifted(h: usize, w: usize, width: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..h * w] {
        let (row, column) = (i / w, i % w);
        o[(row + 1) % h * width + (column + w - 1) % w] = x[i];
    }

    /// As above, with signed offsets.
    kernel streamed(h: usize, w: usize, k: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..h * w] {
        const ROWS: [i32; 3] = [0, 1, -1];
        const COLUMNS: [i32; 3] = [1, -1, 0];
        let row = ((i / w) as i32 + ROWS[k]).rem_euclid(h as i32) as usize;
        let column = ((i % w) as i32 + COLUMNS[k]).rem_euclid(w as i32) as usize;
        o[row * w + column] = x[i];
    }

    kernel transposed_in_place(n: usize, width: usize, a: &mut Tensor<u32, 1>) [] for i in [0..n] {
        for j in i + 1..n {
            let before = a[i * width + j];
            a[i * width + j] = a[j * width + i];
            a[j * width + i] = before;
        }
    }

    /// Each iteration has a tile.
    kernel tiles(rows: usize, columns: usize, width: usize, o: &mut Tensor<u32, 1>)
    [] for tile in [0..rows * columns] {
        let (a, b) = (tile / columns, tile % columns);
        for i in a * 3..a * 3 + 3 {
            for j in b * 4..b * 4 + 4 {
                o[i * width + j] += tile as u32 + 1;
            }
        }
    }

    kernel upsampled(w: usize, width: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        let (row, column) = (i / w, i % w);
        for dy in 0..2 {
            for dx in 0..2 {
                o[(2 * row + dy) * width + 2 * column + dx] = x[i];
            }
        }
    }

    /// An exchange of two inner dimensions of four.
    kernel permuted(heads: usize, steps: usize, by: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..2 * steps] {
        let (batch, step) = (i / steps, i % steps);
        for head in 0..heads {
            for d in 0..4 {
                o[((batch * heads + head) * steps + step) * by + d] = x[(i * heads + head) * 4 + d];
            }
        }
    }

    /// The upper triangle of a matrix by rows; `gap` is 1 for a dense one.
    kernel packed_upper(n: usize, gap: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        for j in i..n {
            o[i * (2 * n - i + gap) / 2 + j - i] += (10 * i + j) as u32;
        }
    }
}

#[on_all_backends]
fn digits_of_an_index_tell_iterations_apart(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let x = bench.tensor(&[5, 1, 8, 2, 9], [60])?;
    let mut o = bench.tensor(&[2, 6], [400])?;
    for (h, w) in [(5, 7), (1, 6), (6, 1), (4, 4), (0, 3)] {
        launch!(bench, Accept, shifted(h, w, w; x; o));
        launch!(bench, Sound, shifted(h, w, w + 1; x; o));
        for k in 0..3 {
            launch!(bench, Accept, streamed(h, w, k; x; o));
        }
    }
    launch!(bench, Collide, shifted(5, 7, 6; x; o));
    for n in [0, 1, 5, 8] {
        launch!(bench, Accept, transposed_in_place(n, n; ; o));
    }
    launch!(bench, Collide, transposed_in_place(6, 4; ; o));
    launch!(bench, Accept, tiles(3, 4, 16; ; o));
    launch!(bench, Accept, tiles(3, 4, 20; ; o));
    launch!(bench, Collide, tiles(3, 4, 15; ; o));
    let small = bench.tensor(&[5, 1, 8, 2, 9], [30])?;
    launch!(bench, Accept, upsampled(6, 12; small; o));
    launch!(bench, Collide, upsampled(6, 11; small; o));
    launch!(bench, Accept, permuted(3, 2, 4; x; o));
    launch!(bench, Collide, permuted(3, 2, 3; x; o));
    for n in 0..9 {
        launch!(bench, Accept, packed_upper(n, 1; ; o));
        launch!(bench, Sound, packed_upper(n, 0; ; o));
        launch!(bench, Sound, packed_upper(n, 3; ; o));
    }
    assert!(bench.accepted >= 30, "{} accepted", bench.accepted);
    Ok(())
}
