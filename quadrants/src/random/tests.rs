//! Tests of the generator against its published vectors, and of the draws against their distributions.

use super::*;

#[test]
fn philox_returns_its_published_vectors() {
    const ALL_ONES: u32 = u32::MAX;
    for (counter, [key, other_key], expected) in [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([ALL_ONES; 4], [ALL_ONES; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ] {
        let [a, b, c, d] = counter;
        assert_eq!([0, 1, 2, 3].map(|word| philox(a, b, c, d, key, other_key, word)), expected);
    }
}

#[test]
fn draws_use_consecutive_counters() {
    let (seed, stream) = (0x1111_2222_3333_4444, 0x5555_6666_7777_8888);
    let word = |draw| random_u32(seed, stream, draw);
    let block =
        |counter, at| philox(counter, 0, 0x7777_8888, 0x5555_6666, 0x3333_4444, 0x1111_2222, at);
    assert_eq!([0, 1, 2, 3].map(word), [0, 1, 2, 3].map(|at| block(0, at)));
    assert_eq!(word(u32::MAX), block(u32::MAX / 4, 3));
}

#[test]
fn uniform_draws_are_uniform() {
    let draws: Vec<f64> =
        (0..200_000).map(|k| f64::from(random_uniform(1, k / 8, k as u32 % 8))).collect();
    assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
    let mut bins = [0.0f64; 64];
    for u in &draws {
        bins[(u * 64.0) as usize] += 1.0;
    }
    let expected = draws.len() as f64 / 64.0;
    let chi: f64 = bins.iter().map(|count| (count - expected).powi(2) / expected).sum();
    // 63 degrees of freedom: the statistic is outside of 24 to 123 with a probability of 1 in 10 000.
    assert!((24.0..123.0).contains(&chi), "{chi}");
    let step = 0.5f64.powi(24);
    assert!(draws.iter().all(|u| u / step == (u / step).round()));
}

#[test]
fn normal_draws_have_the_moments_of_the_normal_distribution() {
    let n = 400_000;
    let draws = (0..n).map(|k| f64::from(random_normal(7, k as u64 / 16, k % 16)));
    let draws: Vec<f64> = draws.collect();
    let moment = |power| draws.iter().map(|z| z.powi(power)).sum::<f64>() / f64::from(n);
    // Within five standard deviations of the estimate.
    for (power, expected, variance) in
        [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0), (6, 15.0, 10_170.0)]
    {
        let allowed = 5.0 * f64::sqrt(variance / f64::from(n));
        let actual = moment(power);
        assert!((actual - expected).abs() < allowed, "moment {power}: {actual}");
    }
    // Consecutive draws of a stream, and draws of neighbouring streams, are uncorrelated.
    for distance in [1, 16] {
        let pairs = draws.iter().zip(&draws[distance..]);
        let product = pairs.map(|(a, b)| a * b).sum::<f64>() / f64::from(n);
        assert!(product.abs() < 5.0 / f64::from(n).sqrt(), "{product}");
    }
}

#[test]
fn normal_draws_are_the_quantiles_of_their_words() {
    let middle = (0..2000).map(|k| k * 1_073_741);
    let outer = (0..31).flat_map(|bit| [0, 1, 2, 3].map(|less| (1u32 << bit).saturating_sub(less)));
    let sizes = middle.chain(outer.clone()).chain(outer.map(|rest| 0x7fff_ffff - rest));
    for size in sizes {
        let z = f64::from(normal_of(size));
        assert_eq!(normal_of(size | 1 << 31).to_bits(), normal_of(size).to_bits() | 1 << 31);
        // The probability beyond the draw, and from it the error of the draw.
        let beyond = (f64::from(0x7fff_ffff - size) + 0.5) / 4_294_967_296.0;
        let error = (tail_probability(z) - beyond) / density(z);
        assert!(error.abs() < 6e-7 * z.max(1e-9), "{size:#x}: {z}, {}", error / z);
    }
}

#[test]
fn the_logarithm_is_close_and_exact_at_one() {
    assert_eq!(minus_ln(1.0), 0.0);
    for k in 1..4000u32 {
        let y = f32::from_bits(0x3080_0000 + k * 62_000);
        let expected = -f64::from(y).ln();
        let actual = f64::from(minus_ln(y));
        assert!(
            (actual - expected).abs() <= 2e-7 * expected.abs(),
            "{y}: {actual}, not {expected}"
        );
    }
}

/// The density of the standard normal distribution.
fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// The probability that a standard normal variable exceeds `z` ≥ 0.
fn tail_probability(z: f64) -> f64 {
    if z < 2.0 {
        // The power series of the probability between 0 and z.
        let (mut term, mut sum, mut k) = (z, 0.0, 1.0);
        while term > 1e-18 {
            sum += term;
            k += 2.0;
            term *= z * z / k;
        }
        0.5 - sum * density(z)
    } else {
        // The continued fraction of the tail probability.
        density(z) / (z + (1..400).rev().fold(0.0, |rest, k| f64::from(k) / (z + rest)))
    }
}
