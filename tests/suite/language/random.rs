//! Random draws give the same bits on every backend and in plain Rust.

use quadrants_tests::{TestBackend, on_all_backends};

use super::{Array, Same, differential, source};

// Not `strict`: contraction must not change the draws, also where a draw is multiplied and added.
source! { draws;
    fn run(seed: u64, words: &mut Tensor<u32, 2>, uniform: &mut Tensor<f32, 2>, normal: &mut Tensor<f32, 2>) {
        for (i, k) in qd::ndrange(words.shape()) {
            let stream = (i as u64) << 31;
            words[[i, k]] = qd::random_u32(seed, stream, k as u32);
            uniform[[i, k]] = 3.0 + qd::random_uniform(seed, stream, k as u32);
            normal[[i, k]] = 3.0 + qd::random_normal(seed, stream, k as u32);
        }
    }
}

source! { streams;
    fn run(seed: u64, out: &mut Tensor<f32, 2>) {
        for i in 0..out.shape()[0] {
            let mut rng = qd::rng(seed, i as u64);
            for k in 0..4 {
                out[[i, k]] = rng.uniform() + rng.normal();
            }
            out[[i, 4]] = (rng.bits() >> 8) as f32;
        }
    }
}

source! { mean_of_draws;
    fn run(seed: u64, n: u32, out: &mut Tensor<f32, 1>) {
        for i in 0..out.len() {
            let mut sum = 0.0;
            for k in 0..n {
                sum += qd::random_uniform(seed, i as u64, k);
            }
            out[i] = sum / n as f32;
        }
    }
}

#[on_all_backends]
fn random_draws_are_bit_identical_on_every_backend(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let words = Array::<u32, 2>::zeros([40, 25]);
    let (uniform, normal) = (Array::zeros([40, 25]), Array::zeros([40, 25]));
    for seed in [0, 0x0123_4567_89ab_cdef, u64::MAX] {
        differential!(&on.program, draws [seed] [] [words, uniform, normal]);
        let out = Array::zeros([9, 5]);
        differential!(&on.program, streams [11] [] [out]);
    }
    let out = Array::zeros([33]);
    differential!(&on.program, mean_of_draws [5, 100] [] [out]);
    Ok(())
}

#[on_all_backends]
fn random_draws_match_philox(backend: TestBackend) -> quadrants::Result<()> {
    let Some(on) = backend.open() else { return Ok(()) };
    let mut words = on.program.zeros::<u32, 2>([9, 4])?;
    let mut normal = on.program.zeros::<f32, 2>([9, 4])?;
    let mut uniform = on.program.zeros::<f32, 2>([9, 4])?;
    let seed = 0xa409_3822_299f_31d0;
    draws::device::run(seed, &mut words, &mut uniform, &mut normal).launch()?;
    for (i, block) in words.to_vec()?.chunks(4).enumerate() {
        let stream = (i as u64) << 31;
        assert_eq!(block, block_of([0, 0, stream as u32, (stream >> 32) as u32], seed));
    }
    Ok(())
}

/// Philox-4x32-10 as its authors define it: ten rounds of a bijection, a new key for each.
fn block_of(counter: [u32; 4], key: u64) -> [u32; 4] {
    let products = |x: u32, by: u32| (u64::from(x) * u64::from(by)).to_be_bytes();
    let halves = |bytes: [u8; 8]| {
        let [high, low] =
            [0, 4].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()));
        (high, low)
    };
    (0..10u32).fold(counter, |[a, b, c, d], round| {
        let (high0, low0) = halves(products(a, 0xD251_1F53));
        let (high1, low1) = halves(products(c, 0xCD9E_8D57));
        let key0 = (key as u32).wrapping_add(round.wrapping_mul(0x9E37_79B9));
        let key1 = ((key >> 32) as u32).wrapping_add(round.wrapping_mul(0xBB67_AE85));
        [high1 ^ b ^ key0, low1, high0 ^ d ^ key1, low0]
    })
}
