//! Transfers of several pieces of a buffer with one wait for as many as fit into a staging block.

use std::sync::Arc;

use quadrants_rhi::{DevicePtr, StreamHandle};

use crate::{
    Buffer, Completed, Context, Error, Result,
    staging::{Pinned, STAGING_CHUNK},
};

/// A range of bytes of a buffer, and its place in host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
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
    pub fn read_pieces(&self, pieces: &[Piece], out: &mut [u8]) -> Result<Completed> {
        let (first, bytes) = self.hull(pieces, out.len())?;
        self.transfer(first, bytes, Self::writers, |source, stream| {
            // SAFETY: the pieces are inside the buffer, from `source` on, and the stream is leased.
            unsafe { download(self.context(), (source, first), pieces, out, stream) }
        })
    }

    /// Overwrites pieces of the buffer from host memory, as [`write_completing`](Self::write_completing) does one.
    ///
    /// # Errors
    /// As for [`read_pieces`](Self::read_pieces).
    pub fn write_pieces(&self, pieces: &[Piece], contents: &[u8]) -> Result<Completed> {
        let (first, bytes) = self.hull(pieces, contents.len())?;
        self.forget_distinct();
        self.transfer(first, bytes, Self::users, |destination, stream| {
            // SAFETY: as above, and the copies are complete when this returns.
            unsafe { upload(self.context(), (destination, first), pieces, contents, stream) }
        })
    }

    /// The first byte of the pieces, and the number of bytes up to their last.
    fn hull(&self, pieces: &[Piece], host: usize) -> Result<(usize, usize)> {
        let (mut first, mut end) = (usize::MAX, 0);
        for Piece { offset, host: at, bytes: len } in pieces.iter().copied() {
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

/// Calls `each` with as many pieces as fit into a staging block; larger pieces are cut.
fn try_for_each_batch(
    pieces: &[Piece],
    mut each: impl FnMut(&[Piece]) -> Result<()>,
) -> Result<()> {
    let (mut batch, mut filled) = (Vec::new(), 0);
    for piece in pieces {
        let mut rest = *piece;
        while rest.bytes > 0 {
            let bytes = rest.bytes.min(STAGING_CHUNK - filled);
            batch.push(Piece { bytes, ..rest });
            filled += bytes;
            rest = Piece {
                offset: rest.offset + bytes,
                host: rest.host + bytes,
                bytes: rest.bytes - bytes,
            };
            if filled == STAGING_CHUNK {
                each(&batch)?;
                batch.clear();
                filled = 0;
            }
        }
    }
    if batch.is_empty() { Ok(()) } else { each(&batch) }
}

/// The number of bytes of all pieces.
fn total(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| piece.bytes).sum()
}

/// # Safety
/// The pieces are in device memory, where the address is that of the given offset, and inside `out`; `stream` is live.
unsafe fn download(
    context: &Arc<Context>,
    (address, first): (DevicePtr, usize),
    pieces: &[Piece],
    out: &mut [u8],
    stream: StreamHandle,
) -> Result<()> {
    let staging = Pinned::staging(context, total(pieces))?;
    let copied = try_for_each_batch(pieces, |batch| {
        let mut at = 0;
        for piece in batch {
            let source = address.offset(piece.offset - first);
            // SAFETY: by the caller; a batch fits into the block, which nothing else uses before the wait.
            let copied = unsafe {
                let staged = staging.as_ptr().add(at);
                context.device().copy_dtoh_async(staged, source, piece.bytes, stream)
            };
            context.observe(copied)?;
            at += piece.bytes;
        }
        // SAFETY: the stream is live.
        unsafe { context.wait_for_stream(stream)? };
        at = 0;
        for piece in batch {
            let part = &mut out[piece.host..][..piece.bytes];
            // SAFETY: the copies are complete, and wrote these bytes of the block.
            unsafe {
                part.as_mut_ptr().copy_from_nonoverlapping(staging.as_ptr().add(at), part.len());
            }
            at += piece.bytes;
        }
        Ok(())
    });
    if copied.is_err() {
        staging.wait_or_leak();
    }
    copied
}

/// # Safety
/// As for [`download`].
unsafe fn upload(
    context: &Arc<Context>,
    (address, first): (DevicePtr, usize),
    pieces: &[Piece],
    contents: &[u8],
    stream: StreamHandle,
) -> Result<()> {
    let staging = Pinned::staging(context, total(pieces))?;
    let copied = try_for_each_batch(pieces, |batch| {
        let mut at = 0;
        for piece in batch {
            let part = &contents[piece.host..][..piece.bytes];
            let target = address.offset(piece.offset - first);
            // SAFETY: by the caller; a batch fits into the block, which no earlier batch uses any more.
            let copied = unsafe {
                let staged = staging.as_ptr().add(at);
                staged.copy_from_nonoverlapping(part.as_ptr(), part.len());
                context.device().copy_htod_async(target, staged, part.len(), stream)
            };
            context.observe(copied)?;
            at += part.len();
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

    #[test]
    fn batches_fit_into_a_staging_block_and_have_all_bytes() {
        let piece = |offset, host, bytes| Piece { offset, host, bytes };
        let half = STAGING_CHUNK / 2;
        let pieces = [
            piece(7, 0, 3),
            piece(20, 3, 0),
            piece(100, 3, STAGING_CHUNK + half),
            piece(0, STAGING_CHUNK + half + 3, 5),
        ];
        let mut batches = Vec::new();
        try_for_each_batch(&pieces, |batch| {
            batches.push(batch.to_vec());
            Ok(())
        })
        .unwrap();
        let cut = STAGING_CHUNK - 3;
        let rest = piece(100 + cut, STAGING_CHUNK, half + 3);
        assert_eq!(batches, [vec![pieces[0], piece(100, 3, cut)], vec![rest, pieces[3]]]);
        assert_eq!(total(&pieces), STAGING_CHUNK + half + 8);
    }
}
