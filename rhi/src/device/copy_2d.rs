//! Copies of rows with gaps between them: [`Device::copy_2d_async`].

use crate::{Device, DevicePtr, Error, Result, StreamHandle};

/// The shape of a 2-D copy: `height` rows of `width` bytes.
///
/// A pitch is the distance in bytes from one row to the next on one side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Copy2d {
    /// The bytes of a row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The distance between the rows that are written.
    pub dst_pitch: usize,
    /// The distance between the rows that are read.
    pub src_pitch: usize,
}

/// The addresses of the first rows of a 2-D copy, and which of them is host memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopySides {
    /// From host memory to device memory.
    HostToDevice {
        /// The first row that is written.
        dst: DevicePtr,
        /// The first row that is read.
        src: *const u8,
    },
    /// From device memory to host memory.
    DeviceToHost {
        /// The first row that is written.
        dst: *mut u8,
        /// The first row that is read.
        src: DevicePtr,
    },
    /// Within the device.
    WithinDevice {
        /// The first row that is written.
        dst: DevicePtr,
        /// The first row that is read.
        src: DevicePtr,
    },
}

impl Copy2d {
    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// The number of bytes that are copied.
    ///
    /// # Examples
    /// ```
    /// # use quadrants_rhi::Copy2d;
    /// let column = Copy2d { width: 4, height: 100, dst_pitch: 4, src_pitch: 400 };
    /// assert_eq!(column.bytes(), 400);
    /// ```
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.width.saturating_mul(self.height)
    }

    /// Whether its bytes have no gaps between them on either side, so that one plain copy copies them.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.height <= 1 || (self.dst_pitch == self.width && self.src_pitch == self.width)
    }

    /// Checks that the rows of a side do not overlap. A copy without bytes has none.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub fn check(&self) -> Result<()> {
        let Self { width, dst_pitch, src_pitch, .. } = *self;
        if self.is_empty() || dst_pitch.min(src_pitch) >= width {
            return Ok(());
        }
        let what = format!(
            "a 2-D copy of rows of {width} bytes, which are {src_pitch} bytes apart at the source and {dst_pitch} at \
             the target; help: make a pitch at least the width"
        );
        Err(Error::InvalidArgument { what })
    }
}

impl CopySides {
    /// Copies row by row, by plain copies; by a single one where there are no gaps. This is what
    /// [`Device::copy_2d_async`] does by default.
    ///
    /// # Errors
    /// As for `copy_2d_async`.
    ///
    /// # Safety
    /// As for `copy_2d_async`.
    pub unsafe fn copy_by_rows<D: Device + ?Sized>(
        self,
        device: &D,
        shape: &Copy2d,
        stream: StreamHandle,
    ) -> Result<()> {
        shape.check()?;
        let (rows, bytes) = match shape {
            _ if shape.is_empty() => return Ok(()),
            _ if shape.is_plain() => (1, shape.bytes()),
            _ => (shape.height, shape.width),
        };
        (0..rows).try_for_each(|row| {
            let (to, from) = (row * shape.dst_pitch, row * shape.src_pitch);
            // SAFETY: the caller guarantees that each row is valid on both sides, and rows without gaps are one range.
            unsafe {
                match self {
                    Self::HostToDevice { dst, src } => {
                        device.copy_htod_async(dst.offset(to), src.add(from), bytes, stream)
                    }
                    Self::DeviceToHost { dst, src } => {
                        device.copy_dtoh_async(dst.add(to), src.offset(from), bytes, stream)
                    }
                    Self::WithinDevice { dst, src } => {
                        device.copy_dtod_async(dst.offset(to), src.offset(from), bytes, stream)
                    }
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pitch_below_the_width_is_refused_unless_nothing_is_copied() {
        let shape = Copy2d { width: 8, height: 2, dst_pitch: 8, src_pitch: 8 };
        assert!(shape.check().is_ok() && shape.is_plain());
        for wrong in [Copy2d { dst_pitch: 7, ..shape }, Copy2d { src_pitch: 7, ..shape }] {
            assert!(matches!(wrong.check(), Err(Error::InvalidArgument { .. })), "{wrong:?}");
            // One row has no next one; the drivers check its pitches all the same.
            assert!(Copy2d { height: 1, ..wrong }.check().is_err());
            for empty in [Copy2d { width: 0, ..wrong }, Copy2d { height: 0, ..wrong }] {
                assert!(empty.check().is_ok() && empty.is_empty());
            }
        }
        assert!(!Copy2d { src_pitch: 9, ..shape }.is_plain());
        assert!(Copy2d { src_pitch: 9, height: 1, ..shape }.is_plain());
    }
}
