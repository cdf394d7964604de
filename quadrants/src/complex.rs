//! Complex numbers, as values on the host and in kernels.

use quadrants_macros::{KernelValue, func};
use quadrants_program::{Float, dsl::Accumulate};

/// A complex number.
///
/// `+`, `-`, `*` and `/` are defined between complex numbers, and `*` and `/` by a real number. In `strict` kernels,
/// all of them are bit-identical on every backend.
///
/// ```
/// use quadrants as qd;
/// use qd::Complex;
///
/// #[qd::kernel]
/// fn rotate(angle: f32, z: &mut qd::Tensor<Complex<f32>, 1>) {
///     for i in 0..z.len() {
///         z[i] *= Complex::<f32>::from_polar(1.0, angle);
///     }
/// }
///
/// let prog = qd::Program::open(qd::Arch::from_env_or_best())?;
/// let mut z = prog.tensor_from(&[Complex { re: 2.0, im: 0.0 }], [1])?;
/// rotate(std::f32::consts::FRAC_PI_2, &mut z).launch()?;
/// assert!((z.to_vec()?[0] - Complex { re: 0.0, im: 2.0 }).abs() < 1e-6);
/// # Ok::<(), qd::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Default, Debug, KernelValue)]
#[device(crate = crate, complex)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

// SAFETY: two numbers that may be zero.
#[cfg(feature = "bytemuck")]
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for Complex<T> {}
// SAFETY: two plain numbers of one type, so that there is no padding.
#[cfg(feature = "bytemuck")]
unsafe impl<T: bytemuck::Pod> bytemuck::Pod for Complex<T> {}

// The arithmetic of components is that of the operators.
impl<T: Accumulate> Accumulate for Complex<T> {
    const NO_SUM: Self = Self { re: T::NO_SUM, im: T::NO_SUM };
    const IS_FLOAT: bool = T::IS_FLOAT;
    #[inline(always)]
    fn accumulated(self, other: Self) -> Self {
        Self { re: self.re.accumulated(other.re), im: self.im.accumulated(other.im) }
    }
    #[inline(always)]
    fn reduced_by(self, other: Self) -> Self {
        Self { re: self.re.reduced_by(other.re), im: self.im.reduced_by(other.im) }
    }
}

#[func(crate = crate)]
impl<T: Float> Complex<T> {
    /// The number with these parts.
    #[must_use]
    pub fn new(re: T, im: T) -> Self {
        Self { re, im }
    }

    /// The number with this absolute value and argument, in radians.
    #[must_use]
    pub fn from_polar(abs: T, arg: T) -> Self {
        Self { re: abs * arg.cos(), im: abs * arg.sin() }
    }

    /// The conjugate.
    #[must_use]
    pub fn conj(self) -> Self {
        Self { re: self.re, im: -self.im }
    }

    /// The square of the absolute value.
    #[must_use]
    pub fn norm_sqr(self) -> T {
        self.re * self.re + self.im * self.im
    }

    /// The absolute value.
    #[must_use]
    pub fn abs(self) -> T {
        self.re.hypot(self.im)
    }

    /// The argument, in radians from -π to π.
    #[must_use]
    pub fn arg(self) -> T {
        self.im.atan2(self.re)
    }

    /// The exponential.
    #[must_use]
    pub fn exp(self) -> Self {
        let abs = self.re.exp();
        Self { re: abs * self.im.cos(), im: abs * self.im.sin() }
    }
}
