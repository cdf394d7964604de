//! Groups ranges of bytes that one 2-D copy copies.
//!
//! The ranges of a view with `n` axes that are not next to each other are those of a box of `n` axes. One 2-D copy
//! takes the ranges along one of them; the longest one makes the fewest copies.

use quadrants_rhi::{Copy2d, CopySides, DevicePtr, StreamHandle};
use smallvec::SmallVec;

use crate::{Context, Result};

/// A range of bytes and its place on the other side of a copy, both from the first byte of their side on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopiedRange {
    /// Where it goes.
    pub dst: usize,
    /// Where it is.
    pub src: usize,
    /// The number of bytes.
    pub bytes: usize,
}

/// Ranges of one length and with one distance: every `step`-th one from `first` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rectangle {
    pub(crate) first: usize,
    pub(crate) step: usize,
    pub(crate) count: usize,
}

/// The indices of a list that are the places of a box along one axis: how many there are, and how far one is from the
/// next in the list.
#[derive(Clone, Copy, Debug)]
struct Axis {
    count: usize,
    step: usize,
    distance: [usize; 2],
}

/// What is copied as a range.
pub(crate) trait Ranged: Copy {
    fn range(&self) -> CopiedRange;
}

impl Ranged for CopiedRange {
    fn range(&self) -> CopiedRange {
        *self
    }
}

/// Groups ranges. Each is in one group; the groups have no order.
pub(crate) fn rectangles<T: Ranged>(ranges: &[T]) -> Vec<Rectangle> {
    let (mut all, mut at) = (Vec::new(), 0);
    for same in ranges.chunk_by(|a, b| a.range().bytes == b.range().bytes) {
        match box_of(same) {
            Some(axes) => along_the_longest(same, &axes, at, &mut all),
            None => in_order(same, at, &mut all),
        }
        at += same.len();
    }
    all
}

/// Whether the ranges of a group may have this distance in a 2-D copy.
fn fits([dst, src]: [usize; 2], bytes: usize) -> bool {
    // The distance of ranges in descending order wraps, and is greater than any address.
    let is_pitch = |distance| distance >= bytes && isize::try_from(distance).is_ok();
    is_pitch(dst) && is_pitch(src)
}

fn distance<T: Ranged>(from: &T, to: &T) -> [usize; 2] {
    let (from, to) = (from.range(), to.range());
    [to.dst.wrapping_sub(from.dst), to.src.wrapping_sub(from.src)]
}

/// The number of ranges from the first on, each the `step`-th after the one before, with the distance of the first two.
fn count_even<T: Ranged>(ranges: &[T], step: usize) -> usize {
    let Some(second) = ranges.get(step) else { return 1 };
    let expected = distance(&ranges[0], second);
    let (mut count, mut last) = (2, step);
    while let Some(next) = ranges.get(last + step)
        && distance(&ranges[last], next) == expected
    {
        (count, last) = (count + 1, last + step);
    }
    count
}

/// The axes of the box whose places the ranges are, in order, the innermost first. None if they are not those of a box.
fn box_of<T: Ranged>(ranges: &[T]) -> Option<SmallVec<[Axis; 6]>> {
    let (mut axes, mut step) = (SmallVec::<[Axis; 6]>::new(), 1);
    while step < ranges.len() {
        let count = count_even(ranges, step);
        axes.push(Axis { count, step, distance: distance(&ranges[0], &ranges[step]) });
        step *= count;
    }
    if step != ranges.len() {
        return None;
    }
    // So far, only the first ranges of each axis were compared; of a single axis, that is all.
    let is_even = |Axis { count, step, distance: expected }: &Axis| {
        ranges.chunks_exact(count * step).all(|part| {
            let pairs = part.iter().zip(&part[*step..]);
            pairs.into_iter().all(|(from, to)| distance(from, to) == *expected)
        })
    };
    (axes.len() <= 1 || axes.iter().all(is_even)).then_some(axes)
}

fn along_the_longest<T: Ranged>(ranges: &[T], axes: &[Axis], at: usize, all: &mut Vec<Rectangle>) {
    let bytes = ranges[0].range().bytes;
    let usable = axes.iter().filter(|axis| fits(axis.distance, bytes));
    let Axis { count, step, .. } = match usable.max_by_key(|axis| axis.count) {
        Some(axis) => *axis,
        None => Axis { count: 1, step: 1, distance: [0; 2] },
    };
    let firsts = (0..ranges.len()).step_by(count * step).flat_map(|first| first..first + step);
    all.extend(firsts.map(|first| Rectangle { first: at + first, step, count }));
}

/// Groups those that follow each other with one distance.
fn in_order<T: Ranged>(ranges: &[T], at: usize, all: &mut Vec<Rectangle>) {
    let mut first = 0;
    while let Some(left) = ranges.get(first..).filter(|left| !left.is_empty()) {
        let is_rows = left.len() > 1 && fits(distance(&left[0], &left[1]), left[0].range().bytes);
        let count = if is_rows { count_even(left, 1) } else { 1 };
        all.push(Rectangle { first: at + first, step: 1, count });
        first += count;
    }
}

impl Rectangle {
    /// The shape of its copy.
    pub(crate) fn shape<T: Ranged>(&self, ranges: &[T]) -> Copy2d {
        let first = &ranges[self.first];
        let width = first.range().bytes;
        let [dst_pitch, src_pitch] = match self.count {
            0 | 1 => [width; 2],
            _ => distance(first, &ranges[self.first + self.step]),
        };
        Copy2d { width, height: self.count, dst_pitch, src_pitch }
    }
}

/// Whether a range continues another one on both sides.
pub(crate) fn follows<T: Ranged>(range: &T, next: &T) -> bool {
    distance(range, next) == [range.range().bytes; 2]
}

/// Joins ranges that follow each other.
fn joined<T: Ranged>(ranges: &[T]) -> Vec<CopiedRange> {
    let parts = ranges.chunk_by(follows);
    let join = |part: &[T]| CopiedRange {
        bytes: part.iter().map(|range| range.range().bytes).sum(),
        ..part[0].range()
    };
    parts.map(join).collect()
}

/// Groups ranges that are in the order of their targets, after joining those that follow each other if that makes
/// fewer groups: every other column of a matrix with an odd number of columns is rows only where the last element of a
/// row is not joined with the first of the next one.
///
/// Returns the joined ranges, or none, and the groups.
pub(crate) fn fewest<T: Ranged>(ranges: &[T]) -> (Option<Vec<CopiedRange>>, Vec<Rectangle>) {
    if !ranges.windows(2).any(|pair| follows(&pair[0], &pair[1])) {
        return (None, rectangles(ranges));
    }
    let joined = joined(ranges);
    let of_joined = rectangles(&joined);
    let is_even = joined.windows(2).all(|pair| pair[0].bytes == pair[1].bytes);
    let apart = (!is_even).then(|| rectangles(ranges));
    match apart.filter(|apart| apart.len() < of_joined.len()) {
        Some(apart) => (None, apart),
        None => (Some(joined), of_joined),
    }
}

impl Context {
    /// Enqueues copies of ranges within the device: as few as possible, which are 2-D copies where the ranges are rows.
    /// On the CPU, where a copy takes less time than finding rows, one for each range.
    ///
    /// # Errors
    /// The device's. Some ranges may be enqueued then.
    ///
    /// # Safety
    /// Both sides have the ranges from their address on, each side in one allocation. No target range overlaps another
    /// one, or a source range. `stream` is a live stream of this context.
    pub unsafe fn copy_ranges(
        &self,
        dst: DevicePtr,
        src: DevicePtr,
        mut ranges: impl ExactSizeIterator<Item = CopiedRange>,
        stream: StreamHandle,
    ) -> Result<()> {
        let device = self.device();
        let plain = |CopiedRange { dst: to, src: from, bytes }| {
            let (dst, src) = (dst.offset(to), src.offset(from));
            // SAFETY: by the caller.
            self.observe(unsafe { device.copy_dtod_async(dst, src, bytes, stream) })
        };
        if ranges.len() <= 1 || !device.capabilities().asynchronous {
            return ranges.try_for_each(plain);
        }
        // They do not overlap in the target, so their order has no meaning.
        let mut ranges: Vec<_> = ranges.filter(|range| range.bytes > 0).collect();
        ranges.sort_unstable_by_key(|range| range.dst);
        let (joined, rectangles) = fewest(&ranges);
        let ranges = joined.as_deref().unwrap_or(&ranges);
        rectangles.into_iter().try_for_each(|rectangle| {
            let (first, shape) = (ranges[rectangle.first], rectangle.shape(ranges));
            if shape.height == 1 {
                return plain(first);
            }
            let sides =
                CopySides::WithinDevice { dst: dst.offset(first.dst), src: src.offset(first.src) };
            // SAFETY: by the caller; the rows of the shape are ranges.
            self.observe(unsafe { device.copy_2d_async(sides, &shape, stream) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An extent, and the distances in the target and in the source.
    type Extent = (usize, usize, usize);

    /// The ranges of a box with these axes, the innermost last.
    fn ranges(bytes: usize, axes: &[Extent]) -> Vec<CopiedRange> {
        let mut all = vec![CopiedRange { dst: 1000, src: 2000, bytes }];
        for (count, dst, src) in axes {
            let places = |range: CopiedRange| {
                (0..*count).map(move |i| CopiedRange {
                    dst: range.dst + i * dst,
                    src: range.src.wrapping_add(i.wrapping_mul(*src)),
                    bytes,
                })
            };
            all = all.into_iter().flat_map(places).collect();
        }
        all
    }

    /// The number of groups, after checking that each range is a row of one of them.
    fn groups(ranges: &[CopiedRange]) -> usize {
        let all = rectangles(ranges);
        let mut rows = Vec::new();
        for rectangle in &all {
            let (first, shape) = (ranges[rectangle.first], rectangle.shape(ranges));
            assert!(shape.check().is_ok(), "{shape:?}");
            rows.extend((0..shape.height).map(|row| CopiedRange {
                dst: first.dst + row * shape.dst_pitch,
                src: first.src + row * shape.src_pitch,
                bytes: shape.width,
            }));
        }
        let mut expected = ranges.to_vec();
        for list in [&mut rows, &mut expected] {
            list.sort_unstable_by_key(|range| (range.dst, range.src));
        }
        assert_eq!(rows, expected);
        all.len()
    }

    #[test]
    fn a_box_is_copied_along_its_longest_axis() {
        const BACK: usize = (-100_isize).cast_unsigned();
        let cases: [(&[Extent], usize); 9] = [
            (&[], 1),
            (&[(100, 8, 40)], 1),
            // Two axes that are one.
            (&[(10, 80, 400), (10, 8, 40)], 1),
            (&[(3, 1000, 4000), (100, 8, 40)], 3),
            (&[(100, 1000, 4000), (3, 8, 40)], 3),
            (&[(2, 90_000, 80_000), (50, 1000, 4000), (3, 8, 40)], 6),
            // Overlapping rows, or rows in the other direction, are no rows of a copy.
            (&[(10, 8, 2)], 10),
            (&[(10, 8, BACK)], 10),
            (&[(4, 1000, 4000), (10, 8, BACK)], 10),
        ];
        for (axes, count) in cases {
            assert_eq!(groups(&ranges(4, axes)), count, "{axes:?}");
        }
        assert_eq!(groups(&[]), 0);
    }

    #[test]
    fn what_is_no_box_is_grouped_in_order() {
        let mut some = ranges(4, &[(3, 1000, 4000), (10, 8, 40)]);
        some.pop();
        assert_eq!(groups(&some), 3, "the last group is shorter");
        some.extend(ranges(8, &[(5, 16, 16)]));
        assert_eq!(groups(&some), 4, "other lengths");
        some[3].src += 1;
        assert_eq!(groups(&some), 6, "one is elsewhere: 3, it, 6");
        let mut random = crate::corrupted_files::Random(1);
        for _ in 0..500 {
            let mut next = |bound| random.below(bound);
            let axes: Vec<_> = (0..next(4)).map(|_| (1 + next(4), next(40), next(40))).collect();
            let mut some = ranges(1 + next(6), &axes);
            if next(2) == 0 {
                let at = next(some.len());
                some[at].src += next(3);
            }
            groups(&some);
        }
    }

    #[test]
    fn neighbours_on_both_sides_are_joined_if_that_makes_fewer_groups() {
        let groups = |ranges: &[CopiedRange]| {
            let (joined, rectangles) = fewest(ranges);
            (joined.map(|joined| joined.len()), rectangles.len())
        };
        assert_eq!(groups(&ranges(4, &[(3, 100, 200), (2, 4, 4)])), (Some(3), 1));
        assert_eq!(groups(&ranges(4, &[(3, 4, 4)])), (Some(1), 1));
        assert_eq!(groups(&ranges(4, &[(3, 4, 8)])), (None, 1), "only on one side");
        // Every other column of 7.
        assert_eq!(groups(&ranges(4, &[(100, 28, 28), (4, 8, 8)])), (None, 4));
        assert_eq!(groups(&ranges(4, &[(2, 28, 28), (4, 8, 8)])), (None, 2));
    }
}
