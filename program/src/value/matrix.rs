//! [`Matrix`]: small matrices, as values on the host and in kernels.
//!
//! Each operation is defined by scalar operations in a fixed order, as for vectors.

use std::ops::{
    Add, AddAssign, Div, DivAssign, Index, IndexMut, Mul, MulAssign, Neg, Sub, SubAssign,
};

use super::{accumulate::Accumulate, assign_operators};
use crate::{
    Signed, Vector,
    device_error::{Bounded, check_indices, divisor, divisor_of},
};

/// A matrix of `R` rows and `C` columns, indexed by `[row, column]`.
///
/// `*` multiplies by a matrix, vector or scalar on the right, or by a scalar on the left. `+`, `-`, unary `-` and `/`
/// by a scalar are componentwise.
///
/// # Examples
/// ```
/// use quadrants_program::{Matrix, Vector};
/// let m = Matrix([[2.0_f32, 1.0], [0.0, 4.0]]);
/// assert_eq!(m * Vector([1.0, 1.0]), Vector([3.0, 4.0]));
/// assert_eq!(m.determinant(), 8.0);
/// assert_eq!(m * m.inverse(), Matrix::identity());
/// assert_eq!(m.transpose()[[1, 0]], 1.0);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(transparent)]
pub struct Matrix<T, const R: usize, const C: usize>(pub [[T; C]; R]);

impl<T: Signed, const R: usize, const C: usize> Matrix<T, R, C> {
    /// The zero matrix.
    #[inline(always)]
    #[must_use]
    pub fn zero() -> Self {
        Self([[T::default(); C]; R])
    }

    /// The transpose.
    #[inline(always)]
    #[must_use]
    pub fn transpose(self) -> Matrix<T, C, R> {
        Matrix(std::array::from_fn(|r| std::array::from_fn(|c| self.0[c][r])))
    }
}

impl<T: Signed, const N: usize> Matrix<T, N, N> {
    /// The identity matrix.
    #[inline(always)]
    #[must_use]
    pub fn identity() -> Self {
        Self::diagonal(T::ONE)
    }

    /// A diagonal matrix with `value` in each diagonal component.
    #[inline(always)]
    #[must_use]
    pub fn diagonal(value: T) -> Self {
        let mut matrix = Self::zero();
        for at in 0..N {
            matrix.0[at][at] = value;
        }
        matrix
    }

    /// The sum of the diagonal, added from the first component on.
    #[inline(always)]
    #[must_use]
    pub fn trace(self) -> T {
        let mut sum = self.0[0][0];
        for at in 1..N {
            sum += self.0[at][at];
        }
        sum
    }
}

/// The matrix without one row and one column.
#[inline(always)]
fn minor<T: Signed, const N: usize, const M: usize>(
    of: &[[T; N]; N],
    row: usize,
    column: usize,
) -> [[T; M]; M] {
    std::array::from_fn(|r| {
        std::array::from_fn(|c| of[r + usize::from(r >= row)][c + usize::from(c >= column)])
    })
}

#[inline(always)]
fn determinant1<T: Signed>(m: &[[T; 1]; 1]) -> T {
    m[0][0]
}

#[inline(always)]
fn determinant2<T: Signed>(m: &[[T; 2]; 2]) -> T {
    m[0][0] * m[1][1] - m[0][1] * m[1][0]
}

#[inline(always)]
fn determinant3<T: Signed>(m: &[[T; 3]; 3]) -> T {
    m[0][0] * determinant2(&minor(m, 0, 0)) - m[0][1] * determinant2(&minor(m, 0, 1))
        + m[0][2] * determinant2(&minor(m, 0, 2))
}

#[inline(always)]
fn determinant4<T: Signed>(m: &[[T; 4]; 4]) -> T {
    m[0][0] * determinant3(&minor(m, 0, 0)) - m[0][1] * determinant3(&minor(m, 0, 1))
        + m[0][2] * determinant3(&minor(m, 0, 2))
        - m[0][3] * determinant3(&minor(m, 0, 3))
}

macro_rules! square {
    ($($size:literal $determinant:ident $of_minor:ident;)*) => {$(
        impl<T: Signed> Matrix<T, $size, $size> {
            /// The determinant, by expansion along the first row.
            #[inline(always)]
            #[must_use]
            pub fn determinant(self) -> T {
                $determinant(&self.0)
            }

            /// The inverse: the adjugate divided by the determinant. For a singular matrix of floats, the components
            /// are not finite; for integers, a zero determinant is a device error in a kernel and a panic on the host.
            #[inline(always)]
            #[must_use]
            #[track_caller]
            pub fn inverse(self) -> Self {
                let by = divisor(self.determinant());
                Self(std::array::from_fn(|r| {
                    std::array::from_fn(|c| {
                        let minor = $of_minor(&minor(&self.0, c, r));
                        let minor = if (r + c) % 2 == 1 { -minor } else { minor };
                        minor / divisor_of(&minor, by)
                    })
                }))
            }
        }
    )*};
}

square! {
    2 determinant2 determinant1;
    3 determinant3 determinant2;
    4 determinant4 determinant3;
}

impl<I, T, const R: usize, const C: usize> Bounded<I> for Matrix<T, R, C> {
    #[inline(always)]
    fn bounded(&self, index: I) -> I {
        index
    }
}

impl<T, const R: usize, const C: usize> Index<[usize; 2]> for Matrix<T, R, C> {
    type Output = T;
    #[inline(always)]
    #[track_caller]
    fn index(&self, index: [usize; 2]) -> &T {
        let [row, column] = check_indices(index, [R, C]);
        &self.0[row][column]
    }
}

impl<T, const R: usize, const C: usize> IndexMut<[usize; 2]> for Matrix<T, R, C> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: [usize; 2]) -> &mut T {
        let [row, column] = check_indices(index, [R, C]);
        &mut self.0[row][column]
    }
}

impl<T: Signed, const R: usize, const C: usize> Add for Matrix<T, R, C> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|r| std::array::from_fn(|c| self.0[r][c] + other.0[r][c])))
    }
}

impl<T: Signed, const R: usize, const C: usize> Sub for Matrix<T, R, C> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(std::array::from_fn(|r| std::array::from_fn(|c| self.0[r][c] - other.0[r][c])))
    }
}

impl<T: Signed, const R: usize, const C: usize> Neg for Matrix<T, R, C> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.map(|row| row.map(|value| -value)))
    }
}

impl<T: Signed, const R: usize, const C: usize> Mul<T> for Matrix<T, R, C> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, by: T) -> Self {
        Self(self.0.map(|row| row.map(|value| value * by)))
    }
}

impl<T: Signed, const R: usize, const C: usize> Div<T> for Matrix<T, R, C> {
    type Output = Self;
    #[inline(always)]
    #[track_caller]
    fn div(self, by: T) -> Self {
        Self(self.0.map(|row| row.map(|value| value / divisor_of(&value, by))))
    }
}

/// Each component is the dot product of a row with the vector.
impl<T: Signed, const R: usize, const C: usize> Mul<Vector<T, C>> for Matrix<T, R, C> {
    type Output = Vector<T, R>;
    #[inline(always)]
    fn mul(self, vector: Vector<T, C>) -> Vector<T, R> {
        Vector(self.0.map(|row| Vector(row).dot(vector)))
    }
}

/// Each component is the dot product of a row with a column.
impl<T: Signed, const R: usize, const C: usize, const K: usize> Mul<Matrix<T, C, K>>
    for Matrix<T, R, C>
{
    type Output = Matrix<T, R, K>;
    #[inline(always)]
    fn mul(self, other: Matrix<T, C, K>) -> Matrix<T, R, K> {
        let columns = other.transpose().0;
        Matrix(self.0.map(|row| columns.map(|column| Vector(row).dot(Vector(column)))))
    }
}

assign_operators! {
    [T: Signed, const R: usize, const C: usize] AddAssign<Self> for Matrix<T, R, C>: add_assign, +;
    [T: Signed, const R: usize, const C: usize] SubAssign<Self> for Matrix<T, R, C>: sub_assign, -;
    [T: Signed, const R: usize, const C: usize] MulAssign<T> for Matrix<T, R, C>: mul_assign, *;
    [T: Signed, const R: usize, const C: usize] DivAssign<T> for Matrix<T, R, C>: div_assign, /;
}

macro_rules! scalar_on_the_left {
    ($($ty:ty)*) => {$(
        impl<const R: usize, const C: usize> Mul<Matrix<Self, R, C>> for $ty {
            type Output = Matrix<Self, R, C>;
            #[inline(always)]
            fn mul(self, matrix: Matrix<Self, R, C>) -> Matrix<Self, R, C> {
                Matrix(matrix.0.map(|row| row.map(|value| self * value)))
            }
        }
    )*};
}

scalar_on_the_left!(f32 f64 i32 i64 isize);

impl<T: Accumulate, const R: usize, const C: usize> Accumulate for Matrix<T, R, C> {
    const NO_SUM: Self = Self([[T::NO_SUM; C]; R]);
    const IS_FLOAT: bool = T::IS_FLOAT;
    #[inline(always)]
    fn accumulated(self, other: Self) -> Self {
        Self(std::array::from_fn(|r| {
            std::array::from_fn(|c| self.0[r][c].accumulated(other.0[r][c]))
        }))
    }
    #[inline(always)]
    fn reduced_by(self, other: Self) -> Self {
        Self(std::array::from_fn(|r| {
            std::array::from_fn(|c| self.0[r][c].reduced_by(other.0[r][c]))
        }))
    }
}
