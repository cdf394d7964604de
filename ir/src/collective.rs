//! What the threads of a block exchange at the end of a phase, in the one order that the interpreter, a body
//! and a GPU keep to. Additions of floats have the same bits everywhere for it.
//!
//! A block's threads are in warps of [`WARP`], the last of which may be shorter, whatever a device's own are.
//! Values are reduced within each warp, then over the warps:
//!
//! * **reduce**: for the distances 16, 8, 4, 2, 1 each value is combined with the one so far behind it, where
//!   there is one; the first is the result. The warps' results are reduced so again.
//! * **scan**: for the distances 1, 2, 4, 8, 16 the value so far before each, where there is one, is combined
//!   with it. The warps' last values are scanned so again, and what the warps before have is combined with
//!   each value of a warp. An exclusive scan takes of its warp what the thread before has.

/// How many threads a warp has.
pub const WARP: usize = 32;

/// The values combined into one; `none` of no values. What is left in `values` has no meaning.
#[inline(always)]
pub fn reduce<T: Copy>(values: &mut [T], none: T, combine: impl Fn(T, T) -> T) -> T {
    let mut warps = 0;
    for start in (0..values.len()).step_by(WARP) {
        let end = values.len().min(start + WARP);
        values[warps] = reduce_warp(&mut values[start..end], &combine);
        warps += 1;
    }
    if warps == 0 { none } else { reduce_warp(&mut values[..warps], &combine) }
}

/// For each of up to 1024 values, those up to it combined; where there is a value of none, those before it.
#[inline(always)]
pub fn scan<T: Copy>(values: &mut [T], none: Option<T>, combine: impl Fn(T, T) -> T) {
    let Some(first) = values.first() else { return };
    let mut totals = [*first; WARP];
    let warps = values.len().div_ceil(WARP).min(WARP);
    for (warp, total) in values.chunks_mut(WARP).zip(&mut totals) {
        scan_warp(warp, &combine);
        *total = warp[warp.len() - 1];
        if let Some(none) = none {
            warp.rotate_right(1);
            warp[0] = none;
        }
    }
    scan_warp(&mut totals[..warps], &combine);
    for (warp, before) in values.chunks_mut(WARP).skip(1).zip(&totals) {
        let (first, others) = warp.split_at_mut(usize::from(none.is_some()));
        first.fill(*before);
        others.iter_mut().for_each(|value| *value = combine(*before, *value));
    }
}

/// For each thread, the value of the thread of its warp with the number in `from`, or its own.
#[inline(always)]
pub fn shuffle<T: Copy>(values: &mut [T], from: &[u64]) {
    for (warp, from) in values.chunks_mut(WARP).zip(from.chunks(WARP)) {
        let (mut given, count) = ([warp[0]; WARP], warp.len());
        given[..count].copy_from_slice(warp);
        for (value, from) in warp.iter_mut().zip(from) {
            if *from < count as u64 {
                *value = given[*from as usize];
            }
        }
    }
}

/// For each warp, the bits of the threads that say yes.
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
        // From the last on, so that what is combined is that of the round before.
        for lane in (distance..values.len()).rev() {
            values[lane] = combine(values[lane - distance], values[lane]);
        }
    }
}
