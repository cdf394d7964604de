//! Reference implementation of collectives: reductions, scans, shuffles and votes of a thread block.
//!
//! It defines one order of evaluation, which interpreter, CPU bodies and GPUs follow. So float sums are bit-identical
//! on every device.
//!
//! Warps have [`WARP`] threads on every device; the last warp of a block may be shorter. Values are combined within
//! each warp, then across warps:
//!
//! * **reduce**: for each distance 16, 8, 4, 2, 1, every lane combines its value with that of the lane at `lane +
//!   distance`, if it exists. Lane 0 has the result. The results of the warps are reduced in the same way.
//! * **scan**: for each distance 1, 2, 4, 8, 16, every lane combines the value of `lane - distance`, if it exists, with
//!   its own. The last values of the warps are scanned in the same way, and the total of all preceding warps is
//!   combined with each value of a warp. An exclusive scan uses the value of the preceding lane within the warp.

/// The number of threads per warp.
pub const WARP: usize = 32;

/// Reduces `values` to one value; returns `identity` if there are none. The contents of `values` are unspecified
/// afterwards.
#[inline(always)]
pub fn reduce<T: Copy>(values: &mut [T], identity: T, combine: impl Fn(T, T) -> T) -> T {
    let mut warps = 0;
    for start in (0..values.len()).step_by(WARP) {
        let end = values.len().min(start + WARP);
        values[warps] = reduce_warp(&mut values[start..end], &combine);
        warps += 1;
    }
    if warps == 0 { identity } else { reduce_warp(&mut values[..warps], &combine) }
}

/// Scans up to 1024 values in place. With an `identity` the scan is exclusive, else inclusive.
#[inline(always)]
pub fn scan<T: Copy>(values: &mut [T], identity: Option<T>, combine: impl Fn(T, T) -> T) {
    let Some(first) = values.first() else { return };
    let mut totals = [*first; WARP];
    let warps = values.len().div_ceil(WARP).min(WARP);
    for (warp, total) in values.chunks_mut(WARP).zip(&mut totals) {
        scan_warp(warp, &combine);
        *total = warp[warp.len() - 1];
        if let Some(identity) = identity {
            warp.rotate_right(1);
            warp[0] = identity;
        }
    }
    scan_warp(&mut totals[..warps], &combine);
    for (warp, before) in values.chunks_mut(WARP).skip(1).zip(&totals) {
        let (first, others) = warp.split_at_mut(usize::from(identity.is_some()));
        first.fill(*before);
        others.iter_mut().for_each(|value| *value = combine(*before, *value));
    }
}

/// Replaces each thread's value by that of the lane of its warp in `from`. An invalid lane leaves the thread's own
/// value.
#[inline(always)]
pub fn shuffle<T: Copy>(values: &mut [T], from: &[u64]) {
    for (warp, from) in values.chunks_mut(WARP).zip(from.chunks(WARP)) {
        let (mut old, count) = ([warp[0]; WARP], warp.len());
        old[..count].copy_from_slice(warp);
        for (value, from) in warp.iter_mut().zip(from) {
            if *from < count as u64 {
                *value = old[*from as usize];
            }
        }
    }
}

/// The votes of each warp as the bits of a `u32`.
#[inline(always)]
pub fn ballots(votes: &[bool]) -> impl Iterator<Item = u32> + '_ {
    votes.chunks(WARP).map(|warp| {
        warp.iter().enumerate().fold(0, |bits, (lane, vote)| bits | u32::from(*vote) << lane)
    })
}

#[inline(always)]
fn reduce_warp<T: Copy>(values: &mut [T], combine: impl Fn(T, T) -> T) -> T {
    for distance in [16, 8, 4, 2, 1] {
        for lane in 0..distance.min(values.len().saturating_sub(distance)) {
            values[lane] = combine(values[lane], values[lane + distance]);
        }
    }
    values[0]
}

#[inline(always)]
fn scan_warp<T: Copy>(values: &mut [T], combine: impl Fn(T, T) -> T) {
    for distance in [1, 2, 4, 8, 16] {
        // From the last lane down, so that the operands are values of the previous round.
        for lane in (distance..values.len()).rev() {
            values[lane] = combine(values[lane - distance], values[lane]);
        }
    }
}
