//! Random numbers that a kernel computes from where it is, not from what was drawn before: so the iterations of
//! a loop need share nothing, and a launch draws the same on every backend and in every order.
//!
//! The generator is Philox-4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
//! 2011). Its key is the seed; its counter is the stream in the upper 64 bits and a quarter of the draw's
//! number below, as each block has four words.
//!
//! What is drawn must not depend on whether a GPU's compiler contracts a multiplication and an addition into
//! one operation. So no product here is added to anything but by `mul_add`, unless it is exact, and a
//! normal draw takes its sign as a bit, lest its last product meet an addition of the caller.

use quadrants_macros::{KernelValue, func};

/// The draw numbered `draw` of a stream of random numbers: 32 random bits.
///
/// Streams of one seed are independent of each other, as are the streams of different seeds: take the index
/// of a particle, pixel or path for the stream, and count the draws within it. Each draw of a stream is used for
/// one thing: the functions of this family draw from the same bits.
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

/// A draw, evenly distributed from 0 up to, but without, 1: a multiple of 2⁻²⁴.
///
/// What the arguments mean, [`random_u32`] says.
#[func(crate = crate)]
pub fn random_uniform(seed: u64, stream: u64, draw: u32) -> f32 {
    (random_u32(seed, stream, draw) >> 8) as f32 * EXP2_M24
}

/// A draw from the normal distribution of mean 0 and variance 1.
///
/// All backends give the same bits, also where multiplications and additions are contracted; only `fast_math`
/// may change them. The draw is the distribution's quantile at a multiple of 2⁻³² to about 5 parts in 10⁷, so none is
/// beyond ±6.3. What the arguments mean, [`random_u32`] says.
#[func(crate = crate)]
pub fn random_normal(seed: u64, stream: u64, draw: u32) -> f32 {
    normal_of(random_u32(seed, stream, draw))
}

/// A stream of random numbers that are drawn one after the other: [`rng`] makes one.
///
/// In a kernel each iteration makes its own, for instance by its index.
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

/// A stream of random numbers at its first draw. Streams of one seed are independent of each other.
#[func(crate = crate)]
pub fn rng(seed: u64, stream: u64) -> Rng {
    Rng { seed, stream, draw: 0 }
}

#[func(crate = crate)]
impl Rng {
    /// 32 random bits: the draw that [`random_u32`] gives.
    pub fn bits(&mut self) -> u32 {
        let bits = random_u32(self.seed, self.stream, self.draw);
        self.draw = self.draw.wrapping_add(1);
        bits
    }

    /// A draw, evenly distributed from 0 up to, but without, 1.
    pub fn uniform(&mut self) -> f32 {
        (self.bits() >> 8) as f32 * EXP2_M24
    }

    /// A draw from the normal distribution of mean 0 and variance 1.
    pub fn normal(&mut self) -> f32 {
        normal_of(self.bits())
    }
}

const EXP2_M24: f32 = 1.0 / 16_777_216.0;
const EXP2_M32: f32 = 1.0 / 4_294_967_296.0;

/// The bits of √½.
const SQRT_HALF: i32 = 0x3f35_04f3;

/// A word of the block that Philox-4x32-10 makes of a counter and a key.
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

/// The normal distribution's quantile: the highest bit is the sign, the others say how far out.
///
/// With x = 2p - 1 the quantile is √2 erf⁻¹(x) = x g(w) where w = -ln(1 - x²), and g is smooth in w near the
/// middle, in √w far out. The polynomials are fitted to g with least relative error.
#[func(crate = crate)]
fn normal_of(word: u32) -> f32 {
    let size = word & 0x7fff_ffff;
    let rest = 0x7fff_ffff - size;
    // Both from the integer: neither loses digits where it is small.
    let x = (size + size + 1) as f32 * EXP2_M32;
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

/// Minus the natural logarithm of a normal number that is not above 1.
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
