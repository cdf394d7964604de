//! Chunks of elements per iteration, by the bounds of inner loops and by running pointers.

use quadrants::Result;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Bench, launch, patterns};

patterns! {
    func fill(begin: usize, end: usize, value: u32, o: &mut Tensor<u32, 1>) {
        for k in begin..end {
            o[k] += value;
        }
    }

    kernel limited(n: usize, w: usize, stride: usize, o: &mut Tensor<u32, 1>)
    [let all = o.len();] for i in [0..n] {
        let begin = i * stride;
        let end = (begin + w).min(all);
        for k in begin..end {
            o[k] += i as u32 + 1;
        }
    }

    kernel inclusive(n: usize, last: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        for k in i * 4..=i * 4 + last {
            o[k] += i as u32 + 1;
        }
    }

    kernel reversed(n: usize, w: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        for k in (i * 4..i * 4 + w).rev() {
            o[k] += i as u32 + 1;
        }
    }

    kernel stepped(n: usize, w: usize, step: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        for k in (i * 4..i * 4 + w).step_by(step) {
            o[k] += i as u32 + 1;
        }
    }

    kernel neighbour(n: usize, reach: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        for k in i * 4..i * 4 + 3 {
            o[k] = o[k + reach] + 1;
        }
    }

    /// Rows with gaps between them.
    kernel gaps(n: usize, m: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        for j in 0..m {
            o[i * 8 + j] += i as u32 + 1;
        }
    }

    kernel masked(n: usize, m: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        o[i & m] += i as u32 + 1;
    }

    kernel without_low_bits(n: usize, m: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        o[i >> m] += i as u32 + 1;
    }

    kernel blocks(n: usize, w: usize, m: usize, o: &mut Tensor<u32, 1>)
    [] for i in [(0..n).step_by(w)] {
        for j in 0..m {
            o[i + j] += i as u32 + 1;
        }
    }

    kernel pointer(n: usize, w: usize, m: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        let mut p = i * w;
        for _k in 0..m {
            o[p] += i as u32 + 1;
            p += 1;
        }
    }

    /// A column of a matrix.
    kernel long_steps(n: usize, w: usize, m: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        let mut p = i;
        for _k in 0..m {
            o[p] += i as u32 + 1;
            p += w;
        }
    }

    kernel backwards(n: usize, w: usize, m: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        let mut p = (i + 1) * w;
        for _k in 0..m {
            p -= 1;
            o[p] += i as u32 + 1;
        }
    }

    kernel two_at_a_time(n: usize, step: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        let mut p = i * 4;
        for _k in 0..2 {
            o[p] += i as u32 + 1;
            o[p + 1] += i as u32 + 2;
            p += step;
        }
    }

    kernel rows_of_pointers(n: usize, h: usize, w: usize, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let mut row = i * h * w;
        for _y in 0..h {
            let mut p = row;
            for _x in 0..w {
                o[p] += i as u32 + 1;
                p += 1;
            }
            row += w;
        }
    }

    kernel pointer_in_a_while(n: usize, w: usize, m: usize, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let mut p = i * w;
        let end = p + m;
        while p < end {
            o[p] += i as u32 + 1;
            p += 1;
        }
    }

    kernel counted_while(n: usize, w: usize, m: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        let mut k = 0;
        while k < m {
            o[i * w + k] += i as u32 + 1;
            k += 1;
        }
    }

    kernel grid_stride(n: usize, threads: usize, o: &mut Tensor<u32, 1>) [] for i in [0..threads] {
        let mut at = i;
        while at < n {
            o[at] += i as u32 + 1;
            at += threads;
        }
    }

    kernel rest_to_the_last(parts: usize, w: usize, o: &mut Tensor<u32, 1>)
    [let n = o.len();] for i in [0..parts] {
        let begin = i * w;
        let end = if i + 1 == parts { n } else { begin + w };
        for k in begin..end {
            o[k] += i as u32 + 1;
        }
    }

    kernel rest_to_the_first(parts: usize, w: usize, o: &mut Tensor<u32, 1>)
    [let n = o.len();] for i in [0..parts] {
        let begin = i * w;
        let end = if i == 0 { n } else { begin + w };
        for k in begin..end {
            o[k] += i as u32 + 1;
        }
    }

    kernel parts_of_equal_length(parts: usize, o: &mut Tensor<u32, 1>)
    [let n = o.len(); let w = n.div_ceil(parts);] for i in [0..parts] {
        for k in i * w..((i + 1) * w).min(n) {
            o[k] += i as u32 + 1;
        }
    }

    kernel a_chunk_and_its_sum(n: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        let mut sum = 0;
        for k in i * 4..i * 4 + 4 {
            sum += o[k];
        }
        o[i * 4] = sum;
    }

    kernel tiles(n: usize, m: usize, w: usize, o: &mut Tensor<u32, 2>)
    [] for (a, b) in [qd::ndrange([n, m])] {
        for y in a * 2..a * 2 + w {
            for x in b * 3..b * 3 + 3 {
                o[[y, x]] += (a * m + b) as u32 + 1;
            }
        }
    }

    kernel until_a_break(n: usize, w: usize, stop: usize, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let mut p = i * w;
        for k in 0..w {
            if k == stop {
                break;
            }
            o[p] += i as u32 + 1;
            p += 1;
        }
    }

    kernel filled(n: usize, w: usize, stride: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        fill(i * stride, i * stride + w, i as u32 + 1, o);
    }
}

#[on_all_backends]
fn inner_loops_may_write_disjoint_chunks(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut o = bench.tensor(&[5, 1, 8, 2, 9], [64])?;
    for n in [0, 1, 2, 7] {
        for w in 0..7 {
            for stride in 0..7 {
                launch!(bench, Sound, limited(n, w, stride; ; o));
                launch!(bench, Sound, filled(n, w, stride; ; o));
                if stride > 0 {
                    launch!(bench, Sound, stepped(n, w, stride; ; o));
                }
            }
            launch!(bench, Sound, inclusive(n, w; ; o));
            launch!(bench, Sound, reversed(n, w; ; o));
            launch!(bench, Sound, neighbour(n, w; ; o));
        }
    }
    for parts in 1..9 {
        launch!(bench, Sound, parts_of_equal_length(parts; ; o));
        for w in 0..8 {
            launch!(bench, Sound, rest_to_the_last(parts, w; ; o));
            launch!(bench, Sound, rest_to_the_first(parts, w; ; o));
        }
    }
    launch!(bench, Accept, limited(7, 5, 5; ; o));
    launch!(bench, Collide, limited(7, 6, 5; ; o));
    launch!(bench, Accept, filled(7, 5, 5; ; o));
    launch!(bench, Collide, filled(7, 6, 5; ; o));
    launch!(bench, Accept, inclusive(9, 3; ; o));
    launch!(bench, Collide, inclusive(9, 4; ; o));
    launch!(bench, Accept, reversed(9, 4; ; o));
    launch!(bench, Collide, reversed(9, 5; ; o));
    launch!(bench, Sound, stepped(9, 4, 3; ; o));
    launch!(bench, Collide, stepped(9, 5, 2; ; o));
    launch!(bench, Accept, neighbour(9, 1; ; o));
    launch!(bench, Collide, neighbour(9, 2; ; o));
    launch!(bench, Accept, rest_to_the_last(8, 8; ; o));
    launch!(bench, Accept, rest_to_the_last(5, 8; ; o));
    launch!(bench, Collide, rest_to_the_first(8, 8; ; o));
    launch!(bench, Accept, a_chunk_and_its_sum(16; ; o));
    let mut o = bench.zeros([12, 12])?;
    launch!(bench, Accept, tiles(5, 4, 2; ; o));
    launch!(bench, Collide, tiles(5, 4, 3; ; o));
    Ok(())
}

#[on_all_backends]
fn running_pointers_stay_in_the_chunk_of_their_iteration(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut o = bench.tensor(&[5, 1, 8, 2, 9], [64])?;
    for n in [0, 1, 2, 6] {
        for w in 0..6 {
            for m in 0..6 {
                launch!(bench, Sound, pointer(n, w, m; ; o));
                launch!(bench, Sound, long_steps(n, w, m; ; o));
                launch!(bench, Sound, pointer_in_a_while(n, w, m; ; o));
                launch!(bench, Sound, counted_while(n, w, m; ; o));
                launch!(bench, Sound, rows_of_pointers(n, w, m; ; o));
                launch!(bench, Sound, until_a_break(n, w, m; ; o));
                if m <= w && w > 0 {
                    launch!(bench, Accept, backwards(n, w, m; ; o));
                }
            }
            launch!(bench, Sound, two_at_a_time(n, w; ; o));
            if w > 0 {
                launch!(bench, Sound, grid_stride(n * 10, w; ; o));
            }
        }
    }
    launch!(bench, Accept, pointer(6, 5, 5; ; o));
    launch!(bench, Collide, pointer(6, 5, 6; ; o));
    launch!(bench, Accept, long_steps(6, 6, 5; ; o));
    launch!(bench, Collide, long_steps(6, 5, 2; ; o));
    launch!(bench, Accept, two_at_a_time(9, 2; ; o));
    launch!(bench, Collide, two_at_a_time(9, 3; ; o));
    launch!(bench, Accept, pointer_in_a_while(6, 5, 5; ; o));
    launch!(bench, Collide, pointer_in_a_while(6, 5, 6; ; o));
    launch!(bench, Accept, counted_while(6, 5, 5; ; o));
    launch!(bench, Collide, counted_while(6, 5, 6; ; o));
    launch!(bench, Accept, rows_of_pointers(4, 3, 5; ; o));
    launch!(bench, Accept, grid_stride(60, 4; ; o));
    launch!(bench, Accept, until_a_break(9, 4, 9; ; o));
    launch!(bench, Accept, until_a_break(6, 9, 4; ; o));
    Ok(())
}

#[on_all_backends]
fn arguments_decide_whether_short_rows_and_masks_keep_elements_apart(
    on: TestBackend,
) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut o = bench.tensor(&[5, 1, 8, 2, 9], [64])?;
    for n in [0, 1, 2, 7] {
        for m in 0..12 {
            launch!(bench, Sound, gaps(n, m; ; o));
            launch!(bench, Sound, masked(n, m; ; o));
            launch!(bench, Sound, without_low_bits(n, m; ; o));
        }
    }
    for w in 1..6 {
        for m in 0..6 {
            launch!(bench, Sound, blocks(20, w, m; ; o));
        }
    }
    launch!(bench, Accept, blocks(40, 6, 6; ; o));
    launch!(bench, Collide, blocks(40, 6, 7; ; o));
    launch!(bench, Accept, gaps(7, 8; ; o));
    launch!(bench, Accept, gaps(7, 3; ; o));
    launch!(bench, Collide, gaps(7, 9; ; o));
    launch!(bench, Accept, masked(16, 15; ; o));
    launch!(bench, Accept, masked(60, 63; ; o));
    launch!(bench, Collide, masked(16, 7; ; o));
    launch!(bench, Accept, without_low_bits(60, 0; ; o));
    launch!(bench, Collide, without_low_bits(60, 1; ; o));
    Ok(())
}
