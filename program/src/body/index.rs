//! Indices of several axes: whether they are within the extents, and their position in row-major order.

use quadrants_ir::abi::MAX_RANK;

/// A number whose sign bit says whether an index along one axis is out of range.
///
/// Extents are below 2⁶³. So `extent - 1 - index` has the sign bit if `index` is too large, unless `index` is 2⁶³ or
/// more and has it itself. That takes fewer instructions than a comparison: AVX2 compares no unsigned 64-bit numbers.
#[inline(always)]
pub(super) fn outside(index: usize, extent: usize) -> i64 {
    let (index, extent) = (index as i64, extent as i64);
    extent.wrapping_sub(1).wrapping_sub(index) | index
}

/// Whether an index is within the extents.
#[inline(always)]
pub(super) fn is_inside<const N: usize>(index: &[usize; N], shape: &[usize; N]) -> bool {
    let mut inside = true;
    along_axes::<N>(|axis| inside &= index[axis] < shape[axis]);
    inside
}

/// The position of an index in row-major order.
#[inline(always)]
pub(super) fn flat_index<const N: usize>(index: &[usize; N], shape: &[usize; N]) -> usize {
    let mut flat = 0usize;
    along_axes::<N>(|axis| flat = flat.wrapping_mul(shape[axis]).wrapping_add(index[axis]));
    flat
}

/// Calls `f` with each axis below `N`.
///
/// A loop would access the index by a variable position. The index then stays in memory until the loop is unrolled,
/// often after the last pass that would move it to registers, and the kernel's loop is not vectorized.
#[inline(always)]
pub(super) fn along_axes<const N: usize>(mut f: impl FnMut(usize)) {
    let mut call = |axis| {
        if axis < N {
            f(axis);
        }
    };
    call(0);
    call(1);
    call(2);
    call(3);
    call(4);
    call(5);
    (MAX_RANK..N).for_each(f);
}
