//! Feature `bytemuck`: vectors and matrices as plain bytes.

use bytemuck::{Pod, Zeroable};

use super::{matrix::Matrix, vector::Vector};

// SAFETY: a transparent wrapper of an array, whose elements may be zero.
unsafe impl<T: Zeroable, const N: usize> Zeroable for Vector<T, N> {}
// SAFETY: a transparent wrapper of an array, whose elements are plain bytes. Arrays have no padding.
unsafe impl<T: Pod, const N: usize> Pod for Vector<T, N> {}
// SAFETY: as for vectors.
unsafe impl<T: Zeroable, const R: usize, const C: usize> Zeroable for Matrix<T, R, C> {}
// SAFETY: as for vectors.
unsafe impl<T: Pod, const R: usize, const C: usize> Pod for Matrix<T, R, C> {}
