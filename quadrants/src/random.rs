//! Counter-based random numbers: each draw is a function of seed, stream and draw number.
//!
//! No state is shared between iterations, so a launch draws the same numbers on every backend and in every order of
//! execution.
//!
//! The generator is Philox-4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
//! 2011). Its key is the seed. Its counter consists of the stream, in the upper 64 bits, and the draw number divided by
//! 4, because each block has four words.
//!
//! Draws must not depend on whether a GPU compiler contracts a multiplication and an addition into one operation.
//! Therefore every product that is added to something is either exact or uses `mul_add`. A normal draw gets its sign as
//! a bit, so that its last product is not contracted with an addition of the caller.

use quadrants_macros::{KernelValue, func};

/// Draw number `draw` of a stream of random numbers: 32 random bits.
///
/// Streams of one seed are independent of each other, and so are streams of different seeds. Use the index of a
/// particle, pixel or path as the stream, and count the draws within it. The functions of this family derive their
/// results from the same bits, so use each draw only once.
///
/// ```
/// use quadrants as qd;
///
/// #[qd::kernel]
/// fn scatter(seed: u64, x: &mut qd::Tensor<f32, 2>) {
///     for i in 0..x.shape()[0] {
///         x[[i, 0]] = qd::random_uniform(seed, i as u64, 0);
///         x[[i, 1]] = qd::random_normal(seed, i as u64, 1);
///     }
/// }
///
/// let prog = qd::Program::open(qd::Arch::from_env_or_best())?;
/// let mut x = prog.zeros::<f32, 2>([100, 2])?;
/// scatter(42, &mut x).launch()?;
/// // They are ordinary functions too.
/// assert_eq!(x.to_vec()?[2 * 7], qd::random_uniform(42, 7, 0));
/// # Ok::<(), qd::Error>(())
/// ```
#[func(crate = crate)]
pub fn random_u32(seed: u64, stream: u64, draw: u32) -> u32 {
    philox(
        draw >> 2,
        0,
        stream as u32,
        (stream >> 32) as u32,
        seed as u32,
        (seed >> 32) as u32,
        draw & 3,
    )
}

/// A uniformly distributed draw from [0, 1), a multiple of 2⁻²⁴.
///
/// [`random_u32`] explains the arguments.
#[func(crate = crate)]
pub fn random_uniform(seed: u64, stream: u64, draw: u32) -> f32 {
    (random_u32(seed, stream, draw) >> 8) as f32 * EXP2_M24
}

/// A draw from the standard normal distribution (mean 0, variance 1).
///
/// All backends return the same bits, even if multiplications and additions are contracted; only `fast_math` may change
/// them. The draw is the distribution's quantile at a multiple of 2⁻³², with a relative error of about 5·10⁻⁷; no draw
/// is beyond ±6.3. [`random_u32`] explains the arguments.
#[func(crate = crate)]
pub fn random_normal(seed: u64, stream: u64, draw: u32) -> f32 {
    normal_of(random_u32(seed, stream, draw))
}

/// A stream of random numbers with a position. Make one with [`rng`].
///
/// In a kernel, each iteration makes its own, for instance from its index.
///
/// ```
/// use quadrants as qd;
///
/// #[qd::kernel]
/// fn walk(seed: u64, steps: usize, x: &mut qd::Tensor<f32, 1>) {
///     for i in 0..x.len() {
///         let mut rng = qd::rng(seed, i as u64);
///         for _ in 0..steps {
///             x[i] += rng.normal();
///         }
///     }
/// }
///
/// let prog = qd::Program::open(qd::Arch::from_env_or_best())?;
/// let mut x = prog.zeros::<f32, 1>([100])?;
/// walk(42, 3, &mut x).launch()?;
/// let mut rng = qd::rng(42, 7);
/// assert_eq!(x.to_vec()?[7], rng.normal() + rng.normal() + rng.normal());
/// # Ok::<(), qd::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, KernelValue)]
#[device(crate = crate)]
pub struct Rng {
    seed: u64,
    stream: u64,
    draw: u32,
}

/// A stream of random numbers, at its first draw. Streams of one seed are independent of each other.
#[func(crate = crate)]
pub fn rng(seed: u64, stream: u64) -> Rng {
    Rng { seed, stream, draw: 0 }
}

#[func(crate = crate)]
impl Rng {
    /// The next draw as 32 random bits, as [`random_u32`] returns them.
    pub fn bits(&mut self) -> u32 {
        let bits = random_u32(self.seed, self.stream, self.draw);
        self.draw = self.draw.wrapping_add(1);
        bits
    }

    /// The next draw, uniformly distributed in [0, 1).
    pub fn uniform(&mut self) -> f32 {
        (self.bits() >> 8) as f32 * EXP2_M24
    }

    /// The next draw from the standard normal distribution (mean 0, variance 1).
    pub fn normal(&mut self) -> f32 {
        normal_of(self.bits())
    }
}

const EXP2_M24: f32 = 1.0 / 16_777_216.0;
const EXP2_M32: f32 = 1.0 / 4_294_967_296.0;

/// The bits of √½ as an `f32`.
const SQRT_HALF: i32 = 0x3f35_04f3;

/// One word of the Philox-4x32-10 block of a counter (`a`, `b`, `c`, `d`) and a key.
#[func(crate = crate)]
fn philox(
    mut a: u32,
    mut b: u32,
    mut c: u32,
    mut d: u32,
    mut key: u32,
    mut other_key: u32,
    word: u32,
) -> u32 {
    for _ in 0..10 {
        let first = a as u64 * 0xD251_1F53;
        let second = c as u64 * 0xCD9E_8D57;
        a = (second >> 32) as u32 ^ b ^ key;
        b = second as u32;
        c = (first >> 32) as u32 ^ d ^ other_key;
        d = first as u32;
        key = key.wrapping_add(0x9E37_79B9);
        other_key = other_key.wrapping_add(0xBB67_AE85);
    }
    match word {
        0 => a,
        1 => b,
        2 => c,
        _ => d,
    }
}

/// The quantile of the standard normal distribution. The highest bit of `word` is the sign, the others the distance
/// from the median.
///
/// With x = 2p - 1 the quantile is √2 erf⁻¹(x) = x g(w), where w = -ln(1 - x²). The function g is smooth in w near the
/// center, and in √w in the tails. The polynomials approximate g with minimal relative error.
#[func(crate = crate)]
fn normal_of(word: u32) -> f32 {
    let magnitude = word & 0x7fff_ffff;
    let rest = 0x7fff_ffff - magnitude;
    // Both are computed from integers, so that neither loses precision where it is small.
    let x = (magnitude + magnitude + 1) as f32 * EXP2_M32;
    let t = (rest + rest + 1) as f32 * EXP2_M32;
    let w = minus_ln(t * (2.0 - t));
    let g = if w < 5.0 {
        let u = w - 2.5;
        4.03609e-8f32
            .mul_add(u, 4.861_018_4e-7)
            .mul_add(u, -4.990_659_4e-6)
            .mul_add(u, -6.217_993e-6)
            .mul_add(u, 0.000_309_150_64)
            .mul_add(u, -0.001_773_01)
            .mul_add(u, -0.005_908_171_6)
            .mul_add(u, 0.348_802_66)
            .mul_add(u, 2.123_313_7)
    } else {
        let u = w.sqrt() - 3.438_034;
        (-2.936_956e-5f32)
            .mul_add(u, -0.000_261_883_34)
            .mul_add(u, 0.000_978_250_6)
            .mul_add(u, -0.001_358_631_8)
            .mul_add(u, 0.001_742_258_7)
            .mul_add(u, -0.003_282_123)
            .mul_add(u, 0.005_246_560_5)
            .mul_add(u, 1.424_019_1)
            .mul_add(u, 4.628_827_6)
    };
    f32::from_bits((x * g).to_bits() | (word & 0x8000_0000))
}

/// -ln(y) of a normal number y ≤ 1.
#[func(crate = crate)]
fn minus_ln(y: f32) -> f32 {
    let bits = y.to_bits() as i32;
    let exponent = (bits - SQRT_HALF) >> 23;
    let f = f32::from_bits((bits - (exponent << 23)) as u32) - 1.0;
    // ln(1 + f) = 2 artanh(s)
    let s = f / (f + 2.0);
    let square = s * s;
    let series =
        0.298_717_38f32.mul_add(square, 0.399_775_42).mul_add(square, 0.666_667_76) * square;
    let ln = series.mul_add(s, s + s);
    (-(exponent as f32)).mul_add(std::f32::consts::LN_2, -ln)
}

#[cfg(test)]
mod tests;
