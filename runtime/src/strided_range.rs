//! [`StridedRange`]: bytes of a buffer in pieces at equal distances, such as one field of an array of structs.

use std::ops::Range;

/// `count` pieces of `width` bytes; the starts of neighbours are `step` bytes apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StridedRange {
    first: usize,
    width: usize,
    step: usize,
    count: usize,
}

impl StridedRange {
    /// Pieces from byte `first` on. Adjacent or overlapping pieces become one piece.
    #[must_use]
    pub fn new(first: usize, width: usize, step: usize, count: usize) -> Self {
        if count <= 1 || step <= width {
            let bytes = (width + step * count.saturating_sub(1)) * usize::from(count > 0);
            return Self { first, width: bytes, step: 0, count: 1 };
        }
        Self { first, width, step, count }
    }

    /// The range from the first byte to the last.
    #[must_use]
    pub fn hull(&self) -> Range<usize> {
        self.first..self.first + self.step * (self.count - 1) + self.width
    }

    /// Whether the two share a byte. If the distances differ, the result may be true without a shared byte.
    #[must_use]
    pub fn overlap(&self, other: &Self) -> bool {
        let (own, others) = (self.hull(), other.hull());
        if own.start >= others.end || others.start >= own.end || self.width.min(other.width) == 0 {
            return false;
        }
        let Some(step) = self.common_step(other) else { return true };
        if step == 0 {
            return true;
        }
        // Pieces i of self and j of other share a byte if apart - width < (i - j) * step < apart + other.width.
        let [step, width, others] = [step, self.width, other.width].map(|bytes| bytes as i128);
        let apart = other.first as i128 - self.first as i128;
        let smallest = (apart - width).div_euclid(step) + 1;
        let k = smallest.max(1 - other.count as i128);
        k < self.count as i128 && k * step < apart + others
    }

    /// Whether self contains all bytes of `other`. If the distances differ, the result may be false although it does.
    #[must_use]
    pub fn cover(&self, other: &Self) -> bool {
        let (own, others) = (self.hull(), other.hull());
        if own.start > others.start || others.end > own.end {
            return false;
        }
        if self.count == 1 {
            return true;
        }
        // `other` is inside the hull, so it is enough that each of its pieces is inside a piece of self.
        let into = (other.first - self.first) % self.step;
        (other.count == 1 || other.step == self.step) && into + other.width <= self.width
    }

    /// The common distance; 0 if both have one piece. `None` if the distances differ.
    fn common_step(&self, other: &Self) -> Option<usize> {
        match (self.count, other.count) {
            (_, 1) => Some(self.step),
            (1, _) => Some(other.step),
            _ => (self.step == other.step).then_some(self.step),
        }
    }
}

impl From<Range<usize>> for StridedRange {
    fn from(bytes: Range<usize>) -> Self {
        Self::new(bytes.start, bytes.len(), 0, 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn bytes(of: &StridedRange) -> BTreeSet<usize> {
        (0..of.count)
            .flat_map(|at| (0..of.width).map(move |byte| of.first + at * of.step + byte))
            .collect()
    }

    #[test]
    fn overlap_and_cover_agree_with_a_comparison_of_all_bytes() {
        let all = |steps: &'static [usize]| {
            (0..9).flat_map(move |first| {
                (0..4).flat_map(move |width| {
                    steps.iter().flat_map(move |step| {
                        (0..4).map(move |count| StridedRange::new(first, width, *step, count))
                    })
                })
            })
        };
        let mut exact = 0;
        for one in all(&[5]) {
            let own = bytes(&one);
            for other in all(&[0, 1, 3, 5]) {
                let others = bytes(&other);
                let shared = !own.is_disjoint(&others);
                let reported = one.overlap(&other);
                assert!(reported || !shared, "{one:?} {other:?}");
                assert_eq!(reported, other.overlap(&one), "{one:?} {other:?}");
                if one.count == 1 || other.count == 1 || one.step == other.step {
                    exact += 1;
                    assert_eq!(reported, shared, "{one:?} {other:?}");
                }
                assert!(!one.cover(&other) || others.is_subset(&own), "{one:?} {other:?}");
                if one.step == other.step
                    && one.count > 1
                    && other.count > 1
                    && one.width * other.width > 0
                {
                    assert_eq!(one.cover(&other), others.is_subset(&own), "{one:?} {other:?}");
                }
            }
        }
        assert!(exact > 10_000, "{exact}");
    }

    #[test]
    fn adjacent_pieces_become_one() {
        assert_eq!(StridedRange::new(4, 8, 8, 3), StridedRange::from(4..28));
        assert_eq!(StridedRange::new(4, 8, 12, 0).hull(), 4..4);
        assert_eq!(StridedRange::new(4, 8, 12, 3).hull(), 4..36);
    }
}
