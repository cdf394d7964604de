//! The shape of a copy: rows of bytes, with distances between them on both sides.

use crate::code::{Code, Result};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CopyShape {
    /// The bytes of a row.
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) dst_pitch: usize,
    pub(crate) src_pitch: usize,
}

impl CopyShape {
    /// A plain copy.
    pub(crate) fn one(bytes: usize) -> Self {
        Self { width: bytes, height: 1, dst_pitch: bytes, src_pitch: bytes }
    }

    /// Checks what drivers check of the pitches of 2-D copies.
    pub(crate) fn check(&self) -> Result<()> {
        let (least, greatest) =
            (self.dst_pitch.min(self.src_pitch), self.dst_pitch.max(self.src_pitch));
        let fits = least >= self.width && i32::try_from(greatest).is_ok();
        if fits || self.bytes() == 0 { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.width * self.height
    }

    /// The distances of each row from the first one, in the target and in the source.
    pub(crate) fn each(self) -> impl DoubleEndedIterator<Item = (usize, usize)> {
        let rows = if self.width == 0 { 0 } else { self.height };
        (0..rows).map(move |row| (row * self.dst_pitch, row * self.src_pitch))
    }

    /// The bytes from the first to the last, in the target and in the source.
    pub(crate) fn reach(self) -> (u64, u64) {
        let last = self.each().next_back();
        last.map_or((0, 0), |(to, from)| ((to + self.width) as u64, (from + self.width) as u64))
    }

    /// The same rows, to memory where they are next to each other; or from such memory.
    pub(crate) fn dense_target(self) -> Self {
        Self { dst_pitch: self.width, ..self }
    }

    pub(crate) fn dense_source(self) -> Self {
        Self { src_pitch: self.width, ..self }
    }

    /// For descriptions.
    pub(crate) fn describe(&self) -> String {
        match (self.width, self.height) {
            (bytes, 1) => format!("copy of {bytes} bytes"),
            (width, height) => format!("copy of {height} rows of {width} bytes"),
        }
    }
}
