//! The order of elements in memory: strides, and the runs of elements that are next to each other.

use std::ops::Range;

use smallvec::SmallVec;

/// Extents or strides.
pub(crate) type Axes = SmallVec<[usize; 4]>;

/// Ranges of elements that are next to each other in memory, in row-major order of their indices.
pub(crate) type Runs = SmallVec<[Range<usize>; 1]>;

/// The extents and strides of a tensor that is not contiguous: its elements are not in row-major order, or have gaps
/// between them. No two indices have the same element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Strided {
    pub(crate) extents: Axes,
    /// The distance between neighbours along each axis, in elements; 1 for an axis with one element.
    pub(crate) strides: Axes,
}

impl Strided {
    /// None where the elements are in row-major order without gaps. The stride of an axis with one element has no
    /// meaning.
    pub(crate) fn new(extents: &[usize], strides: &[usize]) -> Option<Self> {
        let mut expected = 1;
        let contiguous = extents.contains(&0)
            || extents.iter().zip(strides).rev().all(|(extent, stride)| {
                let fits = *extent == 1 || *stride == expected;
                expected *= extent;
                fits
            });
        if contiguous {
            return None;
        }
        let axes = extents.iter().zip(strides);
        let strides = axes.map(|(extent, stride)| if *extent == 1 { 1 } else { *stride }).collect();
        Some(Self { extents: Axes::from_slice(extents), strides })
    }

    /// The number of elements of the memory from the first element to the last.
    pub(crate) fn reach(&self) -> usize {
        let axes = self.extents.iter().zip(&self.strides);
        1 + axes.map(|(extent, stride)| (extent - 1) * stride).sum::<usize>()
    }

    /// The runs, relative to the first element.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        // The last axes that are next to each other make one run.
        let (mut len, mut outer) = (1, self.extents.len());
        while outer > 0 && (self.extents[outer - 1] == 1 || self.strides[outer - 1] == len) {
            outer -= 1;
            len *= self.extents[outer];
        }
        let (extents, strides) = (&self.extents[..outer], &self.strides[..outer]);
        let mut index = Axes::from_elem(0, outer);
        let mut next = Some(0);
        std::iter::from_fn(move || {
            let first = next?;
            let mut at = first;
            next = None;
            for axis in (0..outer).rev() {
                index[axis] += 1;
                at += strides[axis];
                if index[axis] < extents[axis] {
                    next = Some(at);
                    break;
                }
                at -= index[axis] * strides[axis];
                index[axis] = 0;
            }
            Some(first..first + len)
        })
    }
}

/// The run of `count` elements from element `first` on.
pub(crate) fn one_run(first: usize, count: usize) -> Runs {
    std::iter::once(first..first + count).collect()
}

/// The strides of a shape whose elements are in row-major order without gaps. Where the shape has an extent of 0, they
/// may have wrapped.
pub(crate) fn row_major<const N: usize>(shape: &[usize; N]) -> [usize; N] {
    let strides = row_major_axes(shape);
    std::array::from_fn(|axis| strides[axis])
}

/// As [`row_major`], for a shape of any rank.
pub(crate) fn row_major_axes(shape: &[usize]) -> Axes {
    let mut strides = Axes::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].wrapping_mul(shape[axis]);
    }
    strides
}

/// The number of elements of the memory from the first element to the last; none where two indices may have one
/// element.
pub(crate) fn reach_of(extents: &[usize], strides: &[usize]) -> Option<usize> {
    if extents.contains(&0) {
        return Some(0);
    }
    let axes = strides.iter().zip(extents).filter(|(_, extent)| **extent > 1);
    let mut axes: SmallVec<[(usize, usize); 6]> = axes.map(|(of, count)| (*of, *count)).collect();
    // Each step of an axis must go beyond all elements of the axes with smaller steps.
    axes.sort_unstable();
    let mut reach = 1_usize;
    for (stride, extent) in axes {
        if stride < reach {
            return None;
        }
        reach = stride.checked_mul(extent - 1)?.checked_add(reach)?;
    }
    Some(reach)
}

/// Cuts the runs of two tensors with the same number of elements into pairs of runs of the same length.
pub(crate) fn pairs(a: &[Range<usize>], b: &[Range<usize>]) -> Vec<(usize, usize, usize)> {
    let (mut pairs, mut a, mut b) = (Vec::new(), a.iter().cloned(), b.iter().cloned());
    let (mut of_a, mut of_b) = (0..0, 0..0);
    loop {
        if of_a.is_empty() {
            let Some(next) = a.next() else { return pairs };
            of_a = next;
        } else if of_b.is_empty() {
            let Some(next) = b.next() else { return pairs };
            of_b = next;
        } else {
            let len = of_a.len().min(of_b.len());
            pairs.push((of_a.start, of_b.start, len));
            of_a.start += len;
            of_b.start += len;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance of each element from the first, in row-major order.
    fn elements(extents: &[usize], strides: &[usize]) -> Vec<usize> {
        let mut all = vec![0];
        for (extent, stride) in extents.iter().zip(strides) {
            all = all.iter().flat_map(|at| (0..*extent).map(move |i| at + i * stride)).collect();
        }
        all
    }

    #[test]
    fn the_runs_of_a_view_are_its_elements_in_order() {
        let cases: [(&[usize], &[usize], usize); 7] = [
            (&[3], &[2], 3),
            (&[3, 2], &[4, 1], 3),
            (&[3, 2], &[1, 3], 6),
            (&[2, 3, 4], &[24, 8, 2], 24),
            (&[2, 3, 4], &[24, 4, 1], 2),
            (&[2, 1, 4], &[8, 99, 1], 2),
            (&[2, 2, 2, 2], &[1, 16, 4, 8], 16),
        ];
        for (extents, strides, count) in cases {
            let of = Strided::new(extents, strides).expect("not contiguous");
            let runs: Vec<_> = of.runs().collect();
            assert_eq!(runs.len(), count, "{extents:?} {strides:?}");
            let found: Vec<_> = runs.into_iter().flatten().collect();
            assert_eq!(found, elements(extents, strides), "{extents:?} {strides:?}");
            assert_eq!(of.reach(), found.iter().max().unwrap() + 1);
        }
    }

    #[test]
    fn row_major_order_without_gaps_is_contiguous() {
        for (extents, strides) in [
            (&[][..], &[][..]),
            (&[2, 3, 4], &[12, 4, 1]),
            (&[1, 3, 1], &[99, 1, 5]),
            (&[2, 0], &[7, 7]),
            (&[1], &[2]),
        ] {
            assert_eq!(Strided::new(extents, strides), None);
        }
        assert!(Strided::new(&[2, 2], &[1, 2]).is_some(), "columns");
        assert!(Strided::new(&[2, 2], &[3, 1]).is_some(), "gaps");
        assert_eq!(row_major(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(row_major(&[]), []);
    }

    #[test]
    fn no_two_indices_have_one_element() {
        for (extents, strides, reach) in [
            (&[2, 3][..], &[1, 2][..], 6),
            (&[2, 3], &[4, 1], 7),
            (&[2, 1, 3], &[6, 0, 2], 11),
            (&[2, 0], &[0, 0], 0),
            (&[], &[], 1),
        ] {
            assert_eq!(reach_of(extents, strides), Some(reach));
        }
        for (strides, what) in [
            ([0, 1], "broadcast"),
            ([2, 1], "overlapping rows"),
            ([usize::MAX, 1], "beyond all memory"),
        ] {
            assert_eq!(reach_of(&[4, 3], &strides), None, "{what}");
        }
    }

    #[test]
    fn runs_are_cut_where_those_of_the_other_tensor_end() {
        assert_eq!(pairs(&one_run(0, 4), &[10..11, 20..23]), [(0, 10, 1), (1, 20, 3)]);
        assert_eq!(pairs(&[0..2, 5..7], &[3..6, 9..10]), [(0, 3, 2), (5, 5, 1), (6, 9, 1)]);
        assert_eq!(pairs(&one_run(0, 0), &one_run(4, 0)), []);
    }
}
