//! [`Vector`]: small vectors, as values on the host and in kernels.
//!
//! Each operation is defined by scalar operations in a fixed order. A kernel's IR has the same operations in the same
//! order, so every backend returns the same bits, as far as scalar operations do.

use std::ops::{
    Add, AddAssign, Div, DivAssign, Index, IndexMut, Mul, MulAssign, Neg, Sub, SubAssign,
};

use super::{
    accumulate::{Accumulate, AccumulateMinMax},
    assign_operators,
    atomic::Combine,
};
use crate::{
    Element, Float,
    device_error::{Bounded, check_index, divisor_of},
};

/// A vector of `N` numbers, indexed by component.
///
/// `+`, `-`, unary `-`, and `/` by a scalar are componentwise; `*` multiplies by a scalar on either side.
///
/// # Examples
/// ```
/// use quadrants_program::Vector;
/// let v = Vector([3.0_f32, 4.0]);
/// assert_eq!(v.norm(), 5.0);
/// assert_eq!((v * 2.0 + Vector([1.0, 0.0]))[0], 7.0);
/// assert_eq!(Vector([1, 0, 0]).cross(Vector([0, 1, 0])), Vector([0, 0, 1]));
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(transparent)]
pub struct Vector<T, const N: usize>(pub [T; N]);

impl<T: Element, const N: usize> Vector<T, N> {
    /// A vector whose components all are `value`.
    #[inline(always)]
    #[must_use]
    pub fn splat(value: T) -> Self {
        Self([value; N])
    }

    /// The zero vector.
    #[inline(always)]
    #[must_use]
    pub fn zero() -> Self {
        Self([T::default(); N])
    }
}

impl<T, const N: usize> Vector<T, N> {
    /// The number of components.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // The length is a constant of the type.
    pub const fn len(&self) -> usize {
        N
    }

    /// The vector of the function's results, from the first component on.
    #[inline(always)]
    #[must_use]
    pub fn map<U>(self, function: impl FnMut(T) -> U) -> Vector<U, N> {
        Vector(self.0.map(function))
    }
}

impl<T, const N: usize> IntoIterator for Vector<T, N> {
    type Item = T;
    type IntoIter = std::array::IntoIter<T, N>;
    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T: Element + Mul<Output = T> + Add<Output = T>, const N: usize> Vector<T, N> {
    /// The dot product, added from the first component on.
    #[inline(always)]
    #[must_use]
    pub fn dot(self, other: Self) -> T {
        let mut sum = self.0[0] * other.0[0];
        for at in 1..N {
            sum = sum + self.0[at] * other.0[at];
        }
        sum
    }

    /// The square of the Euclidean norm.
    #[inline(always)]
    #[must_use]
    pub fn norm_squared(self) -> T {
        self.dot(self)
    }

    /// The sum of the components, added from the first on.
    #[inline(always)]
    #[must_use]
    pub fn sum(self) -> T {
        let mut sum = self.0[0];
        for at in 1..N {
            sum = sum + self.0[at];
        }
        sum
    }

    /// The componentwise product.
    #[inline(always)]
    #[must_use]
    pub fn component_mul(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] * other.0[at]))
    }
}

impl<T: Combine, const N: usize> Vector<T, N> {
    /// The componentwise minimum. Of floats as `min` of numbers in kernels: of a number and a NaN the number, and −0 is
    /// less than +0.
    #[inline(always)]
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].least_of(other.0[at])))
    }

    /// The componentwise maximum, likewise.
    #[inline(always)]
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].greatest_of(other.0[at])))
    }
}

impl<T: Float, const N: usize> Vector<T, N> {
    /// The Euclidean norm.
    #[inline(always)]
    #[must_use]
    pub fn norm(self) -> T {
        self.norm_squared().sqrt()
    }

    /// The vector divided by its norm. For the zero vector, the components are not numbers (NaN).
    #[inline(always)]
    #[must_use]
    pub fn normalized(self) -> Self {
        self / self.norm()
    }
}

impl<T: Element + Mul<Output = T> + Sub<Output = T>> Vector<T, 3> {
    /// The cross product.
    #[inline(always)]
    #[must_use]
    pub fn cross(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([b * z - c * y, c * x - a * z, a * y - b * x])
    }
}

impl<I, T, const N: usize> Bounded<I> for Vector<T, N> {
    #[inline(always)]
    fn bounded(&self, index: I) -> I {
        // `Index` checks it.
        index
    }
}

impl<T, const N: usize> Index<usize> for Vector<T, N> {
    type Output = T;
    #[inline(always)]
    #[track_caller]
    fn index(&self, at: usize) -> &T {
        &self.0[check_index(at, N)]
    }
}

impl<T, const N: usize> IndexMut<usize> for Vector<T, N> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.0[check_index(at, N)]
    }
}

impl<T: Element + Add<Output = T>, const N: usize> Add for Vector<T, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] + other.0[at]))
    }
}

impl<T: Element + Sub<Output = T>, const N: usize> Sub for Vector<T, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] - other.0[at]))
    }
}

impl<T: Element + Neg<Output = T>, const N: usize> Neg for Vector<T, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.map(|value| -value))
    }
}

impl<T: Element + Mul<Output = T>, const N: usize> Mul<T> for Vector<T, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, by: T) -> Self {
        Self(self.0.map(|value| value * by))
    }
}

impl<T: Element + Div<Output = T>, const N: usize> Div<T> for Vector<T, N> {
    type Output = Self;
    #[inline(always)]
    #[track_caller]
    fn div(self, by: T) -> Self {
        Self(self.0.map(|value| value / divisor_of(&value, by)))
    }
}

assign_operators! {
    [T: Element + Add<Output = T>, const N: usize] AddAssign<Self> for Vector<T, N>: add_assign, +;
    [T: Element + Sub<Output = T>, const N: usize] SubAssign<Self> for Vector<T, N>: sub_assign, -;
    [T: Element + Mul<Output = T>, const N: usize] MulAssign<T> for Vector<T, N>: mul_assign, *;
    [T: Element + Div<Output = T>, const N: usize] DivAssign<T> for Vector<T, N>: div_assign, /;
}

macro_rules! scalar_on_the_left {
    ($($ty:ty)*) => {$(
        impl<const N: usize> Mul<Vector<Self, N>> for $ty {
            type Output = Vector<Self, N>;
            #[inline(always)]
            fn mul(self, vector: Vector<Self, N>) -> Vector<Self, N> {
                Vector(vector.0.map(|value| self * value))
            }
        }
    )*};
}

scalar_on_the_left!(f32 f64 i32 i64 isize u32 u64 usize);

impl<T: Accumulate + Element, const N: usize> Accumulate for Vector<T, N> {
    const NO_SUM: Self = Self([T::NO_SUM; N]);
    const IS_FLOAT: bool = T::IS_FLOAT;
    #[inline(always)]
    fn accumulated(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].accumulated(other.0[at])))
    }
    #[inline(always)]
    fn reduced_by(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].reduced_by(other.0[at])))
    }
}

impl<T: AccumulateMinMax + Element, const N: usize> AccumulateMinMax for Vector<T, N> {
    const NO_MINIMUM: Self = Self([T::NO_MINIMUM; N]);
    const NO_MAXIMUM: Self = Self([T::NO_MAXIMUM; N]);
    #[inline(always)]
    fn least_of(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].least_of(other.0[at])))
    }
    #[inline(always)]
    fn greatest_of(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at].greatest_of(other.0[at])))
    }
}
