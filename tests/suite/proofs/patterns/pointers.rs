//! Pointers that advance in some iterations of an inner loop, and locals that such a loop computes bit by bit.

use quadrants::Result;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Bench, launch, patterns};

patterns! {
    func reversed(i: u32) -> u32 {
        let mut bits = 0;
        let mut rest = i;
        for _k in 0..5 {
            bits = bits * 2 + rest % 2;
            rest /= 2;
        }
        bits
    }

    func spread(v: u32) -> u32 {
        let mut bits = 0;
        for k in 0..4 {
            bits |= (v >> k & 1) << (2 * k);
        }
        bits
    }

    /// Keeps the even elements of each row.
    kernel compacted(w: usize, m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len() / w] {
        let mut p = i * w;
        for j in 0..m {
            let value = x[(i * w + j) % x.len()];
            if value % 2 == 0 {
                o[p] = value;
                p += 1;
            }
        }
    }

    /// The even elements of a row at its begin, the odd ones at its end.
    kernel divided(w: usize, stride: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len() / w] {
        let mut low = i * stride;
        let mut high = i * stride + w;
        for j in 0..w {
            let value = x[i * w + j];
            if value % 2 == 0 {
                o[low] = value;
                low += 1;
            } else {
                high -= 1;
                o[high] = value;
            }
        }
    }

    kernel in_a_narrow_type(w: u32, stride: u32, n: u32, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let mut p = i * stride;
        let mut j = 0;
        while j < w {
            let value = x[(i * w + j) as usize];
            if value > 3 {
                o[p as usize] = value;
                p += 1;
            }
            j += 1;
        }
    }

    kernel two_at_a_time(w: usize, gap: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len() / w] {
        let mut p = 2 * w * i;
        for j in 0..w {
            if x[i * w + j] > 3 {
                o[p] = 1;
                o[p + gap] = 2;
                p += 2;
            }
        }
    }

    kernel in_reversed_order(n: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        o[reversed(i as u32) as usize] = x[i];
    }

    kernel reversed_in_place(mask: u32, o: &mut Tensor<u32, 1>) [] for i in [0..32usize] {
        let j = (reversed(i as u32) & mask) as usize;
        if i < j {
            let t = o[i];
            o[i] = o[j];
            o[j] = t;
        }
    }

    kernel by_hand(n: u32, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        let mut bits = 0u32;
        for k in 0..5u32 {
            if i & (1 << k) != 0 {
                bits |= 1 << (4 - k);
            }
        }
        o[bits as usize] = i;
    }

    kernel interleaved(h: usize, w: usize, by: u32, o: &mut Tensor<u32, 1>)
    [] for (y, x) in [qd::ndrange([h, w])] {
        o[(spread(y as u32) << by | spread(x as u32)) as usize] = (100 * y + x) as u32;
    }

    kernel chequered(mask: usize, parity: usize, u: &mut Tensor<u32, 2>)
    [let [h, w] = u.shape();] for (i, j) in [qd::ndrange([h, w])] {
        if i > 0 && j > 0 && i + 1 < h && j + 1 < w && (i ^ j) & mask == parity {
            u[[i, j]] = u[[i - 1, j]] + u[[i + 1, j]] + u[[i, j - 1]] + u[[i, j + 1]];
        }
    }

    kernel by_remainders(modulus: usize, parity: usize, u: &mut Tensor<u32, 2>)
    [let [h, w] = u.shape();] for (i, j) in [qd::ndrange([h, w])] {
        if i > 0 && j > 0 && i + 1 < h && j + 1 < w && (i % modulus) ^ (j % 2) == parity {
            u[[i, j]] = u[[i - 1, j]] + u[[i + 1, j]] + u[[i, j - 1]] + u[[i, j + 1]];
        }
    }

    kernel reserved(more: u32, length: &Tensor<u32, 1>, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..length.len()] {
        let n = length[i] % 4;
        let first = qd::atomic_add(&mut count[0], n);
        let mut at = first;
        while at < first + n + more {
            o[at as usize] = i as u32;
            at += 1;
        }
    }
}

#[on_all_backends]
fn pointers_that_advance_in_some_iterations_stay_in_their_part(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let x = bench.tensor(&[5, 2, 8, 2, 9, 4, 7, 3], [24])?;
    let (even, large) = (bench.tensor(&[2, 4], [24])?, bench.tensor(&[5], [24])?);
    let mut o = bench.tensor(&[2, 6], [64])?;
    for w in [1, 2, 3, 6, 8] {
        launch!(bench, Accept, compacted(w, w; x; o));
        launch!(bench, Accept, compacted(w, w; even; o));
        launch!(bench, Collide, compacted(w, w + 1; even; o));
        launch!(bench, Accept, divided(w, w; x; o));
        launch!(bench, Accept, divided(w, w + 1; x; o));
        launch!(bench, Accept, two_at_a_time(w, 1; x; o));
        launch!(bench, Accept, in_a_narrow_type(w as u32, w as u32, 24 / w as u32; x; o));
    }
    launch!(bench, Collide, divided(6, 5; x; o));
    launch!(bench, Collide, two_at_a_time(1, 2; large; o));
    launch!(bench, Sound, two_at_a_time(4, 2; x; o));
    launch!(bench, Collide, in_a_narrow_type(6, 0, 4; x; o));
    Ok(())
}

#[on_all_backends]
fn loops_may_compute_the_bits_of_an_index(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let x = bench.tensor(&[5, 1, 8, 2, 9, 4, 7, 3], [40])?;
    let mut o = bench.tensor(&[2, 6, 1], [256])?;
    for n in [1, 2, 17, 32] {
        launch!(bench, Accept, in_reversed_order(n; x; o));
        launch!(bench, Accept, by_hand(n as u32;; o));
    }
    launch!(bench, Collide, in_reversed_order(33; x; o));
    launch!(bench, Collide, by_hand(33;; o));
    launch!(bench, Accept, reversed_in_place(31;; o));
    launch!(bench, Sound, reversed_in_place(15;; o));
    for (h, w) in [(1, 16), (16, 16), (5, 3)] {
        launch!(bench, Accept, interleaved(h, w, 1;; o));
    }
    launch!(bench, Collide, interleaved(5, 3, 2;; o));
    Ok(())
}

#[on_all_backends]
fn exclusive_or_has_the_parity_of_the_sum(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut u = bench.tensor(&[2, 6, 1], [8, 9])?;
    for parity in 0..3 {
        launch!(bench, Accept, chequered(1, parity;; u));
        launch!(bench, Accept, by_remainders(2, parity;; u));
    }
    launch!(bench, Collide, chequered(2, 0;; u));
    launch!(bench, Sound, chequered(3, 1;; u));
    launch!(bench, Sound, by_remainders(3, 1;; u));
    Ok(())
}

#[on_all_backends]
fn reserved_parts_may_be_filled_by_while(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let length = bench.tensor(&[5, 1, 8, 2, 7, 4], [12])?;
    let (mut count, mut o) = (bench.zeros([1])?, bench.tensor(&[99], [64])?);
    bench.sorted = true;
    launch!(bench, Accept, reserved(0; length; count, o));
    launch!(bench, Collide, reserved(1; length; count, o));
    Ok(())
}
