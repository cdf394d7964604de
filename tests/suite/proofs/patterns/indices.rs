//! Indices that are different in all iterations, though not affine.

use quadrants::Result;
use quadrants_tests::{TestBackend, on_all_backends};

use super::{Bench, launch, patterns};

patterns! {
    func place(row: usize, column: usize, width: usize) -> usize {
        if row == 0 {
            return column;
        }
        row * width + column
    }

    func put(o: &mut Tensor<u32, 1>, at: usize, value: u32) {
        o[at] += value;
    }

    func put_two(o: &mut Tensor<u32, 1>, at: usize, gap: usize, value: u32) {
        put(o, at * 2, value);
        put(o, at * 2 + gap, value + 1);
    }

    func put_four(o: &mut Tensor<u32, 1>, at: usize, gap: usize) {
        put_two(o, at * 2, 1, 5);
        put_two(o, at * 2 + 1, gap, 7);
    }

    kernel packed_lower(n: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        for j in 0..=i {
            o[i * (i + 1) / 2 + j] += (10 * i + j) as u32;
        }
    }

    kernel butterfly(half: usize, n: usize, a: &mut Tensor<u32, 1>) [] for t in [0..n] {
        let i = t / half * half * 2 + t % half;
        let j = i + half;
        let (x, y) = (a[i], a[j]);
        a[i] = x + y;
        a[j] = y;
    }

    kernel butterfly_by_bits(half: usize, n: usize, a: &mut Tensor<u32, 1>) [] for t in [0..n] {
        let low = t & (half - 1);
        let i = ((t - low) << 1) | low;
        let j = i + half;
        let (x, y) = (a[i], a[j]);
        a[i] = x + y;
        a[j] = y;
    }

    kernel butterfly_of_8(n: usize, a: &mut Tensor<u32, 1>) [] for t in [0..n] {
        let i = ((t >> 3) << 4) + (t & 7);
        let j = i + 8;
        let (x, y) = (a[i], a[j]);
        a[i] = x + y;
        a[j] = y;
    }

    kernel butterfly_with_another_half(half: usize, other: usize, n: usize, a: &mut Tensor<u32, 1>)
    [] for t in [0..n] {
        let i = t / half * half * 2 + t % half;
        let j = i + other;
        let (x, y) = (a[i], a[j]);
        a[i] = x + y;
        a[j] = y;
    }

    kernel rotated(s: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [let n = x.len();] for i in [0..n] {
        o[(i + s) % n] = x[i];
    }

    kernel multiplied(s: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [let n = x.len();] for i in [0..n] {
        o[(i * s) % n] = x[i];
    }

    kernel reversed(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) [let n = x.len();] for i in [0..n] {
        o[n - 1 - i] = x[i];
    }

    kernel reversed_in_place(n: usize, m: usize, o: &mut Tensor<u32, 1>) [] for i in [0..m] {
        let t = o[i];
        o[i] = o[n - 1 - i];
        o[n - 1 - i] = t;
    }

    kernel interleaved(n: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        let at = if i < n / 2 { 2 * i } else { 2 * (i - n / 2) + 1 };
        o[at] = x[i];
    }

    kernel interleaved_without_offset(n: usize, m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..n] {
        let at = if i < m { 2 * i } else { 2 * (i - m) };
        o[at] = x[i];
    }

    kernel by_an_assigned_local(m: usize, gap: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        let mut at = i;
        if i >= m {
            at += gap;
        }
        o[at] = x[i];
    }

    kernel by_a_shift_down(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        let mut at = i;
        if i >= m {
            at = i - m;
        }
        o[at] = x[i];
    }

    kernel by_match(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) [let n = x.len();] for i in [0..n] {
        let at = match i {
            0 => 1,
            1 => 0,
            _ => i,
        };
        o[at] = x[i];
    }

    kernel by_match_to(zero: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [let n = x.len();] for i in [0..n] {
        let at = match i {
            0 => zero,
            1 => 0,
            _ => i,
        };
        o[at] = x[i];
    }

    kernel from_a_base(base: &Tensor<u32, 1>, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        o[base[0] as usize + i] = x[i];
    }

    kernel double_buffer(t: usize, n: usize, a: &mut Tensor<u32, 2>) [] for i in [1..n] {
        a[[(t + 1) % 2, i]] = a[[t % 2, i - 1]] + 1;
    }

    kernel two_buffers(t: usize, s: usize, n: usize, a: &mut Tensor<u32, 2>) [] for i in [1..n] {
        a[[t % 2, i]] = a[[s % 2, i - 1]] + 1;
    }

    kernel strided(n: usize, k: usize, o: &mut Tensor<u32, 1>) [] for i in [(0..n).step_by(k)] {
        o[i] += 1;
        o[i + 1] += 2;
    }

    kernel by_wrapping_operations(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        o[i.wrapping_sub(m).wrapping_add(m)] = x[i];
    }

    kernel by_a_wrapping_product(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        o[i.wrapping_mul(m).wrapping_mul(3)] = x[i];
    }

    kernel by_euclid(s: i32, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [let n = x.len() as i32;] for i in [0..n] {
        o[(i - s).rem_euclid(n) as usize] = x[i as usize];
    }

    kernel by_quotient_and_remainder(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 2>)
    [] for i in [0..x.len()] {
        o[[i / m, i % m]] = x[i];
    }

    kernel by_two_moduli(m: usize, k: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 2>)
    [] for i in [0..x.len()] {
        o[[i / m, i % k]] = x[i];
    }

    kernel by_shift_and_mask(x: &Tensor<u32, 1>, o: &mut Tensor<u32, 2>) [] for i in [0..x.len()] {
        o[[i >> 2, i & 3]] = x[i];
    }

    kernel with_bits_flipped(m: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [0..x.len()] {
        o[i ^ m] = x[i];
    }

    kernel swapped_pairs(o: &mut Tensor<u32, 1>) [let n = o.len();] for i in [0..n / 2] {
        let t = o[2 * i];
        o[2 * i] = o[(2 * i) ^ 1];
        o[(2 * i) ^ 1] = t;
    }

    kernel in_a_byte(n: usize, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        o[i as u8 as usize] = x[0];
    }

    kernel in_a_signed_byte(n: i32, x: &Tensor<u32, 1>, o: &mut Tensor<u32, 1>)
    [] for i in [-n..n] {
        o[(i as i8 as i32 + 128) as usize] = x[0];
    }

    kernel by_an_early_return(h: usize, w: usize, width: usize, o: &mut Tensor<u32, 1>)
    [] for (i, j) in [qd::ndrange([h, w])] {
        o[place(i, j, width)] += (i * 10 + j) as u32;
    }

    kernel by_funcs(n: usize, gap: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        put(o, i, 1);
        if gap == 77 {
            put_two(o, i, gap, 2);
        }
    }

    kernel by_funcs_of_funcs(n: usize, gap: usize, o: &mut Tensor<u32, 1>) [] for i in [0..n] {
        put_four(o, i, gap);
    }
}

#[on_all_backends]
fn packed_triangles_and_butterflies_are_injective(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let mut o = bench.tensor(&[5, 1, 8, 2, 9, 4, 7, 3], [128])?;
    for n in [0, 1, 2, 7, 12] {
        launch!(bench, Accept, packed_lower(n; ; o));
        for half in [1, 2, 3, 4, 5, 8] {
            launch!(bench, Accept, butterfly(half, n; ; o));
            launch!(bench, Sound, butterfly_by_bits(half, n; ; o));
            for other in [1, 2, 3, 4] {
                launch!(bench, Sound, butterfly_with_another_half(half, other, n; ; o));
            }
        }
        launch!(bench, Accept, butterfly_of_8(n; ; o));
    }
    launch!(bench, Collide, butterfly_with_another_half(4, 2, 12; ; o));
    launch!(bench, Accept, butterfly_of_8(56; ; o));
    Ok(())
}

#[on_all_backends]
fn permutations_are_injective(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let x = bench.tensor(&[5, 1, 8, 2, 9, 4, 7, 3], [24])?;
    let mut o = bench.tensor(&[2, 6], [64])?;
    launch!(bench, Accept, reversed(; x; o));
    launch!(bench, Accept, by_match(; x; o));
    launch!(bench, Accept, swapped_pairs(; ; o));
    for s in [0, 1, 5, 23, 24, 30] {
        launch!(bench, Accept, rotated(s; x; o));
        launch!(bench, Sound, multiplied(s; x; o));
        launch!(bench, Sound, by_euclid(s as i32; x; o));
        launch!(bench, Accept, by_euclid(-(s as i32); x; o));
        launch!(bench, Accept, interleaved(s.min(24); x; o));
        launch!(bench, Sound, by_match_to(s; x; o));
        launch!(bench, Accept, with_bits_flipped(s; x; o));
        launch!(bench, Accept, by_wrapping_operations(s; x; o));
        launch!(bench, Sound, interleaved_without_offset(24, s; x; o));
        launch!(bench, Accept, by_an_assigned_local(s, 3; x; o));
        launch!(bench, Sound, by_a_shift_down(s; x; o));
        for m in [0, 1, 12, 13] {
            if m <= s {
                launch!(bench, Sound, reversed_in_place(s, m; ; o));
            }
        }
        if s > 0 {
            launch!(bench, Sound, strided(20, s; ; o));
        }
    }
    launch!(bench, Accept, reversed_in_place(24, 12; ; o));
    launch!(bench, Accept, reversed_in_place(25, 13; ; o));
    launch!(bench, Collide, reversed_in_place(24, 13; ; o));
    launch!(bench, Collide, multiplied(6; x; o));
    launch!(bench, Collide, by_match_to(7; x; o));
    launch!(bench, Accept, strided(20, 2; ; o));
    launch!(bench, Collide, strided(20, 1; ; o));
    launch!(bench, Collide, by_a_shift_down(5; x; o));
    launch!(bench, Accept, by_a_shift_down(0; x; o));
    launch!(bench, Collide, interleaved_without_offset(24, 12; x; o));
    launch!(bench, Sound, by_a_wrapping_product(0x5555_5555_5555_5556_usize; x; o));
    let mut o = bench.tensor(&[2, 6], [300])?;
    launch!(bench, Accept, in_a_byte(256; x; o));
    launch!(bench, Collide, in_a_byte(257; x; o));
    launch!(bench, Accept, in_a_signed_byte(128; x; o));
    launch!(bench, Collide, in_a_signed_byte(129; x; o));
    Ok(())
}

#[on_all_backends]
fn indices_of_two_dimensions_and_of_funcs_are_injective(on: TestBackend) -> Result<()> {
    let Some(on) = on.open() else { return Ok(()) };
    let mut bench = Bench::new(on);
    let x = bench.tensor(&[5, 1, 8, 2, 9, 4, 7, 3], [24])?;
    let base = bench.tensor(&[3, 1, 4, 1], [4])?;
    let mut o = bench.tensor(&[2, 6], [100])?;
    launch!(bench, Accept, from_a_base(; base, x; o));
    for gap in 0..5 {
        launch!(bench, Sound, by_funcs(9, gap; ; o));
        launch!(bench, Sound, by_funcs_of_funcs(9, gap; ; o));
        launch!(bench, Sound, by_an_early_return(4, 5, gap + 2; ; o));
    }
    launch!(bench, Collide, by_funcs(9, 77; ; o));
    launch!(bench, Accept, by_funcs_of_funcs(9, 1; ; o));
    launch!(bench, Collide, by_funcs_of_funcs(9, 2; ; o));
    launch!(bench, Sound, by_an_early_return(4, 5, 5; ; o));
    launch!(bench, Collide, by_an_early_return(4, 5, 4; ; o));

    let mut o = bench.tensor(&[2, 6, 1], [30, 30])?;
    launch!(bench, Accept, by_shift_and_mask(; x; o));
    for m in 1..8 {
        launch!(bench, Accept, by_quotient_and_remainder(m; x; o));
        for k in 1..8 {
            launch!(bench, Sound, by_two_moduli(m, k; x; o));
        }
    }
    launch!(bench, Accept, by_two_moduli(4, 6; x; o));
    launch!(bench, Collide, by_two_moduli(6, 4; x; o));
    let mut a = bench.tensor(&[2, 6, 1], [2, 20])?;
    for t in 0..4 {
        launch!(bench, Accept, double_buffer(t, 20; ; a));
        launch!(bench, Accept, two_buffers(t, t + 1, 20; ; a));
        launch!(bench, Collide, two_buffers(t, t + 2, 20; ; a));
    }
    Ok(())
}
