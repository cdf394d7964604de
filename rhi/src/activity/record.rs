//! The records that a profiling interface writes into a buffer: where they begin, and the fields of one.

use super::Activity;

/// The bytes from the beginning of a record to the end of its buffer. Fields are read by their offsets, because new
/// versions of an interface add fields at the end of their structs.
#[derive(Clone, Copy, Debug)]
pub struct RecordBytes<'a>(&'a [u8]);

impl<'a> RecordBytes<'a> {
    /// The record at the beginning of these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The number of bytes up to the end of the buffer.
    #[must_use]
    pub fn room(self) -> usize {
        self.0.len()
    }

    /// The first bytes, at most this many.
    #[must_use]
    pub fn first_bytes(self, most: usize) -> &'a [u8] {
        &self.0[..self.0.len().min(most)]
    }

    /// The 32-bit field at this offset. `None` if it is not in the buffer.
    #[must_use]
    pub fn u32_at(self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    /// The 64-bit field at this offset. `None` if it is not in the buffer.
    #[must_use]
    pub fn u64_at(self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(*self.0.get(at..)?.first_chunk()?))
    }

    /// The activity with its start and end at these offsets; the store of records fills its call in. `None` if the
    /// fields are not in the buffer, or if the interface has no times: then it writes 0.
    #[must_use]
    pub fn activity(self, [start, end]: [usize; 2], node: u64) -> Option<Activity> {
        let (start, end) = (self.u64_at(start)?, self.u64_at(end)?);
        (start != 0 && start <= end).then_some(Activity { call: 0, node, start, end })
    }
}

/// Passes each record of a buffer on. `next` returns the address of the record after the given one, or of the first
/// after null; null after the last one.
///
/// Returns whether all addresses were in the buffer and ascending. At one that is not, the rest of the buffer is left
/// out, because nothing says where its records begin.
///
/// # Safety
/// `begin` is valid for reads of `length` bytes, which nobody writes to during the call.
///
/// # Examples
/// ```
/// use std::ptr;
/// use quadrants_rhi::activity::each_record;
///
/// let buffer = [1u8, 0, 2, 0];
/// let begin = buffer.as_ptr();
/// let mut first_bytes = Vec::new();
/// let next = |record: *const u8| match record.addr().checked_sub(begin.addr()) {
///     None => begin,
///     Some(0) => begin.wrapping_add(2),
///     Some(_) => ptr::null(),
/// };
/// // SAFETY: the buffer has the bytes.
/// let all = unsafe { each_record(begin, 4, next, |record| first_bytes.push((record.room(), record.u32_at(0)))) };
/// assert!(all);
/// assert_eq!(first_bytes, [(4, Some(u32::from_ne_bytes(buffer))), (2, None)]);
/// ```
pub unsafe fn each_record(
    begin: *const u8,
    length: usize,
    mut next: impl FnMut(*const u8) -> *const u8,
    mut then: impl FnMut(RecordBytes<'_>),
) -> bool {
    let mut record = std::ptr::null();
    let mut least = 0;
    loop {
        record = next(record);
        if record.is_null() {
            return true;
        }
        let offset = record.addr().wrapping_sub(begin.addr());
        if offset < least || offset >= length {
            return false;
        }
        // SAFETY: the caller guarantees `length` bytes from `begin` on, and the offset is less.
        let bytes = unsafe { std::slice::from_raw_parts(begin.add(offset), length - offset) };
        then(RecordBytes(bytes));
        least = offset + 1;
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    /// The rooms of the records that begin at these offsets of a buffer of 24 bytes, and whether all are valid.
    fn rooms(offsets: &[usize]) -> (Vec<usize>, bool) {
        let buffer = [7u8; 24];
        let mut offsets = offsets.iter();
        let mut rooms = Vec::new();
        let begin = buffer.as_ptr();
        let next = |_| offsets.next().map_or(ptr::null(), |at| begin.wrapping_add(*at));
        // SAFETY: the buffer has 24 bytes.
        let all = unsafe { each_record(begin, 24, next, |record| rooms.push(record.room())) };
        (rooms, all)
    }

    #[test]
    fn records_outside_of_the_buffer_are_left_out() {
        assert_eq!(rooms(&[]), (vec![], true));
        assert_eq!(rooms(&[0, 8, 23]), (vec![24, 16, 1], true));
        assert_eq!(rooms(&[0, 24]), (vec![24], false), "at the end");
        assert_eq!(rooms(&[0, 1 << 20, 8]), (vec![24], false), "behind the end");
        assert_eq!(rooms(&[0, usize::MAX, 8]), (vec![24], false), "before the beginning");
        assert_eq!(rooms(&[0, 8, 8, 16]), (vec![24, 16], false), "the same record again");
        assert_eq!(rooms(&[8, 0]), (vec![16], false), "back");
    }

    #[test]
    fn fields_are_read_within_the_bytes() {
        let bytes: Vec<u8> = (0..16).collect();
        let record = RecordBytes::new(&bytes);
        assert_eq!(record.u32_at(12), Some(u32::from_ne_bytes([12, 13, 14, 15])));
        assert_eq!(record.u64_at(8), Some(u64::from_ne_bytes([8, 9, 10, 11, 12, 13, 14, 15])));
        for at in [13, 16, 17, usize::MAX] {
            assert_eq!((record.u32_at(at), record.u64_at(at)), (None, None), "{at}");
        }
        assert_eq!(record.u64_at(9), None);
    }

    #[test]
    fn an_activity_has_a_start_before_its_end() {
        let activity = |start: u64, end: u64| {
            let bytes = [start.to_ne_bytes(), end.to_ne_bytes()].concat();
            RecordBytes::new(&bytes).activity([0, 8], 3)
        };
        let read = |start, end| Some(Activity { call: 0, node: 3, start, end });
        assert_eq!((activity(5, 9), activity(5, 5)), (read(5, 9), read(5, 5)));
        assert_eq!((activity(0, 9), activity(0, 0), activity(9, 5)), (None, None, None));
        assert_eq!(RecordBytes::new(&[1; 15]).activity([0, 8], 3), None, "a byte is missing");
    }
}
