//! Indices that depend on serial statements before the loop, or on inner loops with a condition.

use quadrants::Result;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Bench, launch, patterns};

patterns! {
    kernel parts(parts: usize, m: usize, o: &mut Tensor<u32, 1>)
    [let w = m.div_ceil(parts);] for i in [0..parts] {
        for k in i * w..((i + 1) * w).min(m) {
            o[k] += i as u32 + 1;
        }
    }

    kernel spread(n: usize, m: usize, by: usize, o: &mut Tensor<u32, 1>)
    [let w = m / by;] for i in [0..n] {
        o[i * w] += i as u32 + 1;
    }

    kernel chosen(n: usize, m: usize, o: &mut Tensor<u32, 1>)
    [let w = if n > 3 { m / 3 } else { m / 2 };] for i in [0..n] {
        for k in 0..2 {
            o[i * w + k] += i as u32 + 1;
        }
    }

    kernel strides(n: usize, by: usize, o: &mut Tensor<u32, 1>) [] for i in [0..by] {
        for k in (i..n).step_by(by) {
            o[k] += i as u32 + 1;
        }
    }

    kernel strides_of_another(n: usize, threads: usize, by: usize, o: &mut Tensor<u32, 1>)
    [] for i in [0..threads] {
        let mut at = i;
        while at < n {
            o[at] += i as u32 + 1;
            at += by;
        }
    }

    kernel signed_strides(threads: i32, from: i32, end: i32, o: &mut Tensor<u32, 1>) [] for i in [0..threads] {
        let mut at = from + i;
        while at < end {
            o[(at - from) as usize] += i as u32 + 1;
            at += threads;
        }
    }

    kernel remainders(s: i32, by: i32, o: &mut Tensor<u32, 1>) [] for i in [0..by] {
        o[((i - s) % by + by) as usize] += i as u32 + 1;
    }

    kernel absolute_remainders(s: i32, by: i32, o: &mut Tensor<u32, 1>) [] for i in [0..by] {
        o[((i - s) % by).abs() as usize] += i as u32 + 1;
    }

    kernel joined(bits: u32, n: u32, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        for k in 0..4_u32 {
            o[((i << bits) | k) as usize] += i + 1;
        }
    }

    kernel above_a_remainder(mask: u32, n: u32, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        o[(i - (i & mask)) as usize] += i + 1;
    }

    kernel blocks_of_tickets(n: usize, w: usize, length: usize, count: &mut Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let block = qd::atomic_add(&mut count[0], 1) as usize;
        let mut at = block * w;
        while at < block * w + length {
            o[at] = 1;
            at += 1;
        }
    }
}

#[on_all_backends]
fn values_of_serial_statements_are_known(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut o = bench.tensor(&[5, 1, 8, 2, 9], [64])?;
    for m in [1, 7, 24, 64] {
        for n in [1, 2, 3, 4, 7] {
            launch!(bench, Accept, parts(n, m; ; o));
            for by in [1, 2, 5, 30] {
                launch!(bench, Sound, spread(n, m, by; ; o));
            }
            launch!(bench, Sound, chosen(n, m; ; o));
        }
    }
    launch!(bench, Accept, spread(7, 9, 2; ; o));
    launch!(bench, Collide, spread(7, 9, 30; ; o));
    launch!(bench, Accept, chosen(4, 7; ; o));
    launch!(bench, Collide, chosen(4, 5; ; o));
    Ok(())
}

#[on_all_backends]
fn strides_of_while_loops_are_disjoint(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut o = bench.tensor(&[5, 1, 8, 2, 9], [300])?;
    for n in [0, 1, 9, 60] {
        for by in 1..5 {
            launch!(bench, Accept, strides(n, by; ; o));
            for threads in 0..5 {
                launch!(bench, Sound, strides_of_another(n, threads, by; ; o));
            }
            launch!(bench, Accept, signed_strides(by as i32, -7, n as i32 - 7; ; o));
        }
    }
    launch!(bench, Accept, strides_of_another(60, 4, 4; ; o));
    launch!(bench, Collide, strides_of_another(60, 5, 4; ; o));
    Ok(())
}

#[on_all_backends]
fn remainders_and_joined_bits_may_collide(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut o = bench.tensor(&[5, 1, 8, 2, 9], [300])?;
    for by in [1, 2, 5, 8] {
        for s in [-9, -2, 0, 1, 3, 8, 40] {
            launch!(bench, Sound, remainders(s, by; ; o));
            launch!(bench, Sound, absolute_remainders(s, by; ; o));
        }
    }
    launch!(bench, Accept, remainders(3, 5; ; o));
    launch!(bench, Collide, absolute_remainders(3, 5; ; o));
    for bits in 0..4 {
        launch!(bench, Sound, joined(bits, 9; ; o));
    }
    launch!(bench, Accept, joined(2, 9; ; o));
    launch!(bench, Collide, joined(1, 9; ; o));
    for mask in [0, 1, 2, 3, 5, 7] {
        launch!(bench, Sound, above_a_remainder(mask, 9; ; o));
    }
    launch!(bench, Accept, above_a_remainder(0, 9; ; o));
    launch!(bench, Collide, above_a_remainder(3, 9; ; o));
    bench.sorted = true;
    let mut count = bench.zeros([1])?;
    for (n, w, length) in [(9, 4, 4), (9, 5, 4), (2, 0, 0), (3, 1, 1), (30, 3, 2)] {
        launch!(bench, Accept, blocks_of_tickets(n, w, length; ; count, o));
    }
    launch!(bench, Collide, blocks_of_tickets(9, 3, 4; ; count, o));
    Ok(())
}
