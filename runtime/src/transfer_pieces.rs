//! Transfers of several pieces of a buffer with one wait for as many as fit into a staging block.
//!
//! The copies between buffer and staging block do not follow the order of the pieces in host memory: neighbours in the
//! buffer are one range, and ranges with one distance are one 2-D copy. The host puts the bytes into their order.

use std::{borrow::Cow, ops::Range, sync::Arc};

use quadrants_rhi::{Copy2d, CopySides, DevicePtr, StreamHandle};

use crate::{
    Buffer, Completed, Context, CopiedRange, Error, Result,
    rectangles::{Ranged, Rectangle, fewest, follows},
    staging::{Pinned, STAGING_CHUNK},
};

/// A range of bytes of a buffer, and its place in host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransferPiece {
    /// The offset in the buffer.
    pub offset: usize,
    /// The offset in host memory.
    pub host: usize,
    /// The number of bytes.
    pub bytes: usize,
}

impl Buffer {
    /// Copies pieces of the buffer to host memory, as [`read_completing`](Self::read_completing) copies one.
    ///
    /// # Errors
    /// [`Error::OutOfBuffer`] where a piece is not inside the buffer or the host memory, or the failure of earlier
    /// work.
    pub fn read_pieces(&self, pieces: &[TransferPiece], out: &mut [u8]) -> Result<Completed> {
        let (first, bytes) = self.hull(pieces, out.len())?;
        self.transfer(first, bytes, Self::writers, |source, stream| {
            let plan =
                TransferPlan::new(pieces, self.context().device().capabilities().asynchronous);
            // SAFETY: the pieces are inside the buffer, from `source` on, and the stream is leased.
            unsafe { download(self.context(), (source, first), &plan, out, stream) }
        })
    }

    /// Overwrites pieces of the buffer from host memory, as [`write_completing`](Self::write_completing) does one. Of
    /// pieces that overlap, any may be written last.
    ///
    /// # Errors
    /// As for [`read_pieces`](Self::read_pieces).
    pub fn write_pieces(&self, pieces: &[TransferPiece], contents: &[u8]) -> Result<Completed> {
        let (first, bytes) = self.hull(pieces, contents.len())?;
        self.forget_distinct();
        self.transfer(first, bytes, Self::enqueued_users, |destination, stream| {
            let plan =
                TransferPlan::new(pieces, self.context().device().capabilities().asynchronous);
            // SAFETY: as above, and the copies are complete when this returns.
            unsafe { upload(self.context(), (destination, first), &plan, contents, stream) }
        })
    }

    /// The first byte of the pieces, and the number of bytes up to their last.
    fn hull(&self, pieces: &[TransferPiece], host: usize) -> Result<(usize, usize)> {
        let (mut first, mut end) = (usize::MAX, 0);
        for TransferPiece { offset, host: at, bytes: len } in pieces.iter().copied() {
            let out = Error::OutOfBuffer { offset, len, bytes: self.bytes() };
            let Some(last) = offset.checked_add(len) else { return Err(out) };
            if at.checked_add(len).is_none_or(|end| end > host) {
                return Err(out);
            }
            (first, end) = (first.min(offset), end.max(last));
        }
        Ok((first.min(end), end.saturating_sub(first)))
    }
}

/// How pieces are copied.
#[derive(Debug)]
struct TransferPlan<'a> {
    /// In the order of their offsets, unless some overlap.
    pieces: Cow<'a, [TransferPiece]>,
    /// Those that are next to each other in the buffer, if any were joined. Else each piece is a range.
    joined: Option<Joined>,
    rectangles: Vec<Rectangle>,
}

#[derive(Debug)]
struct Joined {
    ranges: Vec<CopiedRange>,
    /// The first piece of each range, and the number of pieces.
    firsts: Vec<usize>,
}

/// Only the places in the buffer count.
impl Ranged for TransferPiece {
    fn range(&self) -> CopiedRange {
        CopiedRange { dst: self.offset, src: self.offset, bytes: self.bytes }
    }
}

/// Ranges of a plan, or the same part of each, which are next to each other from `staged` on in a staging block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rows {
    rectangle: Rectangle,
    /// The bytes of each range.
    part: Range<usize>,
    staged: usize,
}

impl<'a> TransferPlan<'a> {
    /// Pieces that are not in order are sorted if `calls_are_slow`: on the CPU, a copy takes less time than that.
    fn new(pieces: &'a [TransferPiece], calls_are_slow: bool) -> Self {
        let is_sorted = pieces.is_sorted_by_key(|piece| piece.offset);
        let has_all_bytes = pieces.iter().all(|piece| piece.bytes > 0);
        let pieces = if has_all_bytes && (is_sorted || !calls_are_slow) {
            Cow::Borrowed(pieces)
        } else {
            let mut some: Vec<_> = pieces.iter().copied().filter(|piece| piece.bytes > 0).collect();
            if calls_are_slow {
                some.sort_by_key(|piece| piece.offset);
            }
            Cow::Owned(some)
        };
        let overlaps = |pair: &[TransferPiece]| pair[0].offset + pair[0].bytes > pair[1].offset;
        if pieces.windows(2).any(overlaps) {
            // They overlap, or are not sorted: each is copied by itself.
            let alone = |first| Rectangle { first, step: 1, count: 1 };
            let rectangles = (0..pieces.len()).map(alone).collect();
            return Self { pieces, joined: None, rectangles };
        }
        let (joined, rectangles) = fewest(&pieces);
        let joined = joined.map(|ranges| {
            let begins = |at: &usize| *at == 0 || !follows(&pieces[*at - 1], &pieces[*at]);
            let firsts = (0..pieces.len()).filter(begins).chain([pieces.len()]).collect();
            Joined { ranges, firsts }
        });
        Self { pieces, joined, rectangles }
    }

    /// A range of the buffer.
    fn range(&self, at: usize) -> CopiedRange {
        self.joined.as_ref().map_or_else(|| self.pieces[at].range(), |joined| joined.ranges[at])
    }

    /// The pieces in a range.
    fn pieces_in(&self, range: usize) -> &[TransferPiece] {
        match &self.joined {
            None => &self.pieces[range..=range],
            Some(Joined { firsts, .. }) => &self.pieces[firsts[range]..firsts[range + 1]],
        }
    }

    /// The number of bytes of all pieces.
    fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes).sum()
    }

    /// Calls `each` with as many rows as fit into a staging block. Ranges that are larger than that are cut.
    fn try_for_each_batch(&self, mut each: impl FnMut(&[Rows]) -> Result<()>) -> Result<()> {
        let (mut batch, mut filled) = (Vec::new(), 0);
        for rectangle in &self.rectangles {
            let width = self.range(rectangle.first).bytes;
            let (mut row, mut begin) = (0, 0);
            while row < rectangle.count {
                let room = STAGING_CHUNK - filled;
                let rest =
                    Rectangle { first: rectangle.first + row * rectangle.step, ..*rectangle };
                let (count, part) = match room / width {
                    0 if width <= STAGING_CHUNK => (0, 0..0),
                    0 => (1, begin..width.min(begin + room)),
                    fit => (fit.min(rectangle.count - row), 0..width),
                };
                if count > 0 && !part.is_empty() {
                    let bytes = count * part.len();
                    let rows =
                        Rows { rectangle: Rectangle { count, ..rest }, part, staged: filled };
                    begin = if rows.part.end == width { 0 } else { rows.part.end };
                    row += if begin == 0 { count } else { 0 };
                    batch.push(rows);
                    filled += bytes;
                    if filled < STAGING_CHUNK {
                        continue;
                    }
                }
                each(&batch)?;
                batch.clear();
                filled = 0;
            }
        }
        if batch.is_empty() { Ok(()) } else { each(&batch) }
    }

    /// The offset in the buffer, and the shape of the copy from there to the staging block.
    fn copy(&self, rows: &Rows) -> (usize, Copy2d) {
        let shape = match &self.joined {
            None => rows.rectangle.shape(&self.pieces),
            Some(joined) => rows.rectangle.shape(&joined.ranges),
        };
        let width = rows.part.len();
        let first = self.range(rows.rectangle.first).src + rows.part.start;
        (first, Copy2d { width, dst_pitch: width, ..shape })
    }

    /// Calls `each` with the parts of pieces that rows have: the place in host memory, that in the staging block, and
    /// the number of bytes.
    fn for_each_part(&self, rows: &Rows, mut each: impl FnMut(usize, usize, usize)) {
        let Rows { rectangle, part, staged } = rows;
        for row in 0..rectangle.count {
            let range = rectangle.first + row * rectangle.step;
            let begin = self.range(range).src + part.start;
            let (end, staged) = (begin + part.len(), staged + row * part.len());
            let pieces = self.pieces_in(range);
            let before = match part.start {
                0 => 0,
                _ => pieces.partition_point(|piece| piece.offset + piece.bytes <= begin),
            };
            for piece in pieces[before..].iter().take_while(|piece| piece.offset < end) {
                let from = piece.offset.max(begin);
                let to = (piece.offset + piece.bytes).min(end);
                each(piece.host + (from - piece.offset), staged + (from - begin), to - from);
            }
        }
    }
}

/// # Safety
/// The pieces are in device memory, where the address is that of the given offset, and inside `out`; `stream` is live.
unsafe fn download(
    context: &Arc<Context>,
    (address, first): (DevicePtr, usize),
    plan: &TransferPlan<'_>,
    out: &mut [u8],
    stream: StreamHandle,
) -> Result<()> {
    let device = context.device();
    let staging = Pinned::staging(context, plan.bytes())?;
    let copied = plan.try_for_each_batch(|batch| {
        for rows in batch {
            let (offset, shape) = plan.copy(rows);
            let src = address.offset(offset - first);
            // SAFETY: by the caller; a batch fits into the block, which nothing else uses before the wait.
            let copied = unsafe {
                let dst = staging.as_ptr().add(rows.staged);
                match shape.height {
                    1 => device.copy_dtoh_async(dst, src, shape.width, stream),
                    _ => {
                        let sides = CopySides::DeviceToHost { dst, src };
                        device.copy_2d_async(sides, &shape, stream)
                    }
                }
            };
            context.observe(copied)?;
        }
        // SAFETY: the stream is live.
        unsafe { context.wait_for_stream(stream)? };
        for rows in batch {
            plan.for_each_part(rows, |host, staged, bytes| {
                let part = &mut out[host..][..bytes];
                // SAFETY: the copies are complete, and wrote these bytes of the block.
                unsafe {
                    part.as_mut_ptr().copy_from_nonoverlapping(staging.as_ptr().add(staged), bytes);
                }
            });
        }
        Ok(())
    });
    if copied.is_err() {
        staging.wait_or_leak();
    }
    copied
}

/// # Safety
/// As for [`download`], with `contents` for `out`.
unsafe fn upload(
    context: &Arc<Context>,
    (address, first): (DevicePtr, usize),
    plan: &TransferPlan<'_>,
    contents: &[u8],
    stream: StreamHandle,
) -> Result<()> {
    let device = context.device();
    let staging = Pinned::staging(context, plan.bytes())?;
    let copied = plan.try_for_each_batch(|batch| {
        for rows in batch {
            plan.for_each_part(rows, |host, staged, bytes| {
                let part = &contents[host..][..bytes];
                // SAFETY: a batch fits into the block, which no earlier batch uses any more.
                unsafe {
                    staging.as_ptr().add(staged).copy_from_nonoverlapping(part.as_ptr(), bytes);
                }
            });
            let (offset, shape) = plan.copy(rows);
            let dst = address.offset(offset - first);
            // SAFETY: by the caller; all bytes of the rows were written to the block above.
            let copied = unsafe {
                let src = staging.as_ptr().add(rows.staged).cast_const();
                match shape.height {
                    1 => device.copy_htod_async(dst, src, shape.width, stream),
                    _ => {
                        let Copy2d { dst_pitch, src_pitch, .. } = shape;
                        let shape = Copy2d { dst_pitch: src_pitch, src_pitch: dst_pitch, ..shape };
                        let sides = CopySides::HostToDevice { dst, src };
                        device.copy_2d_async(sides, &shape, stream)
                    }
                }
            };
            context.observe(copied)?;
        }
        // SAFETY: the stream is live.
        unsafe { context.wait_for_stream(stream) }
    });
    if copied.is_err() {
        staging.wait_or_leak();
    }
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: usize, host: usize, bytes: usize) -> TransferPiece {
        TransferPiece { offset, host, bytes }
    }

    /// Copies pieces of `buffer` as `download` does. Returns the host memory and the number of copies.
    fn downloaded(plan: &TransferPlan<'_>, buffer: &[u8], host: usize) -> (Vec<u8>, usize) {
        let (mut out, mut copies) = (vec![0; host], 0);
        plan.try_for_each_batch(|batch| {
            let mut block = vec![0xee; STAGING_CHUNK];
            let mut filled = 0;
            for rows in batch {
                assert_eq!(rows.staged, filled, "next to the rows before");
                let (offset, shape) = plan.copy(rows);
                assert!(shape.check().is_ok());
                filled += shape.bytes();
                for row in 0..shape.height {
                    let (to, from) =
                        (rows.staged + row * shape.dst_pitch, offset + row * shape.src_pitch);
                    block[to..to + shape.width].copy_from_slice(&buffer[from..][..shape.width]);
                }
                copies += 1;
            }
            for rows in batch {
                plan.for_each_part(rows, |host, staged, bytes| {
                    out[host..][..bytes].copy_from_slice(&block[staged..][..bytes]);
                });
            }
            Ok(())
        })
        .unwrap();
        (out, copies)
    }

    fn check(pieces: &[TransferPiece], buffer: &[u8], host: usize, copies: usize) {
        let mut expected = vec![0; host];
        for piece in pieces {
            expected[piece.host..][..piece.bytes]
                .copy_from_slice(&buffer[piece.offset..][..piece.bytes]);
        }
        let (out, _) = downloaded(&TransferPlan::new(pieces, false), buffer, host);
        assert!(out == expected, "not sorted: {pieces:?}");
        let (out, made) = downloaded(&TransferPlan::new(pieces, true), buffer, host);
        assert!(out == expected, "{pieces:?}");
        assert_eq!(made, copies, "{pieces:?}");
    }

    fn numbers(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at * 31 + at / 256) as u8).collect()
    }

    #[test]
    fn pieces_are_copied_by_rows_in_any_order() {
        let buffer = numbers(10_000);
        let column: Vec<_> = (0..100).map(|row| piece(8 + 40 * row, 4 * row, 4)).collect();
        check(&column, &buffer, 400, 1);
        let reversed: Vec<_> = (0..100).map(|row| piece(8 + 40 * (99 - row), 4 * row, 4)).collect();
        check(&reversed, &buffer, 400, 1);
        // A transposed matrix of 20 rows has no gaps.
        let transposed: Vec<_> =
            (0..400).map(|at| piece(80 * (at % 20) + 4 * (at / 20), 4 * at, 4)).collect();
        check(&transposed, &buffer, 1600, 1);
        // A transposed part of it is rows.
        let part: Vec<_> =
            (0..100).map(|at| piece(80 * (at % 10) + 4 * (at / 10), 4 * at, 4)).collect();
        check(&part, &buffer, 400, 1);
        // A box of 2 × 50 × 3 places: along its longest axis.
        let places = (0..300).map(|at| 4000 * (at / 150) + 60 * (at / 3 % 50) + 16 * (at % 3));
        let places: Vec<_> =
            places.enumerate().map(|(at, offset)| piece(offset, 4 * at, 4)).collect();
        check(&places, &buffer, 1200, 6);
        check(&[piece(5, 3, 0)], &buffer, 9, 0);
    }

    #[test]
    fn overlapping_pieces_are_copied_one_by_one() {
        let buffer = numbers(100);
        check(&[piece(10, 0, 10), piece(0, 10, 15), piece(19, 25, 4)], &buffer, 29, 3);
        check(&[piece(0, 0, 4), piece(0, 4, 4), piece(4, 8, 4)], &buffer, 12, 3);
    }

    #[test]
    fn batches_fit_into_a_staging_block_and_have_all_bytes() {
        let half = STAGING_CHUNK / 2;
        let buffer = numbers(4 * STAGING_CHUNK);
        let large = [
            piece(7, 0, 3),
            piece(20, 3, 0),
            piece(100, 3, STAGING_CHUNK + half),
            piece(0, STAGING_CHUNK + half + 3, 5),
        ];
        // The large one is cut.
        check(&large, &buffer, STAGING_CHUNK + half + 8, 4);
        // Rows of which 3 fit into a block.
        let width = STAGING_CHUNK / 3 - 5;
        let rows: Vec<_> = (0..8).map(|row| piece(row * (width + 9), row * width, width)).collect();
        check(&rows, &buffer, 8 * width, 3);
        // A run that is cut inside of its pieces, which are in the other order on the host.
        let count = 5;
        let pieces: Vec<_> = (0..count)
            .map(|at| piece(at * half / 2 * 3, (count - 1 - at) * half / 2 * 3, half / 2 * 3))
            .collect();
        check(&pieces, &buffer, count * half / 2 * 3, 4);
    }

    #[test]
    fn random_pieces_are_copied_whatever_their_order_and_size() {
        let mut random = crate::corrupted_files::Random(7);
        let buffer = numbers(2 * STAGING_CHUNK);
        for round in 0..200 {
            // Few of them do not fit into one staging block.
            let unit = if round % 25 == 0 { STAGING_CHUNK / (2 + random.below(3)) } else { 1 };
            let width = unit * (1 + random.below(3)) + random.below(2) * random.below(5);
            let (rows, columns) = (1 + random.below(5), 1 + random.below(4));
            let pitch = [width + random.below(3), columns * width + random.below(9)];
            let first = random.below(5);
            let box_of = |row: usize, column: usize| match round % 3 {
                0 => first + row * pitch[1] + column * pitch[0].min(pitch[1] / columns),
                1 => first + row * pitch[0] + column * rows * pitch[0],
                _ => first + row * pitch[1] + column * width,
            };
            let mut pieces = Vec::new();
            for row in 0..rows {
                for column in 0..columns {
                    let bytes = if random.below(9) == 0 { random.below(width + 1) } else { width };
                    let offset = box_of(row, column);
                    if offset + bytes <= buffer.len() {
                        pieces.push(piece(offset, 0, bytes));
                    }
                }
            }
            if random.below(3) == 0 {
                for at in (1..pieces.len()).rev() {
                    pieces.swap(at, random.below(at + 1));
                }
            }
            if random.below(5) == 0 && !pieces.is_empty() {
                // One of them overlaps others.
                let at = random.below(pieces.len());
                pieces[at].offset = random.below(3);
            }
            let mut host = random.below(3);
            for piece in &mut pieces {
                piece.host = host;
                host += piece.bytes + random.below(2);
            }
            for calls_are_slow in [false, true] {
                let plan = TransferPlan::new(&pieces, calls_are_slow);
                let mut expected = vec![0; host];
                for TransferPiece { offset, host, bytes } in &pieces {
                    expected[*host..][..*bytes].copy_from_slice(&buffer[*offset..][..*bytes]);
                }
                assert!(downloaded(&plan, &buffer, host).0 == expected, "{round}: {pieces:?}");
                // The host fills all bytes that are copied to the buffer, each once.
                plan.try_for_each_batch(|batch| {
                    let mut filled = Vec::new();
                    for rows in batch {
                        plan.for_each_part(rows, |_, staged, bytes| filled.push((staged, bytes)));
                    }
                    filled.sort_unstable();
                    let mut end = 0;
                    for (staged, bytes) in filled {
                        assert_eq!(staged, end, "{round}: {pieces:?}");
                        end += bytes;
                    }
                    let last = batch
                        .last()
                        .map_or(0, |rows| rows.staged + rows.rectangle.count * rows.part.len());
                    assert_eq!(end, last, "{round}: {pieces:?}");
                    assert!(end <= STAGING_CHUNK);
                    Ok(())
                })
                .unwrap();
            }
        }
    }
}
