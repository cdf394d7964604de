//! Stamps: which streams used a buffer, and up to which point, without events and without locks.
//!
//! A stamp is one 64-bit word: the stream's id in the upper 24 bits, the position in the stream in
//! the lower 40. A buffer keeps the newest stamp of every stream that used it, because many
//! streams may read it at once and a free must wait for all of them.

use std::sync::atomic::Ordering::Relaxed;

use smallvec::SmallVec;

use crate::sync::{AtomicU64, Mutex};

const SEQUENCE_BITS: u32 = 40;
/// Stream numbers are below this.
pub(crate) const STREAMS: u32 = 1 << (64 - SEQUENCE_BITS);
/// The last position that a stamp can hold; it stands for all later ones too.
pub(crate) const LAST_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;
const INLINE: usize = 4;

/// A point in a stream: everything enqueued up to it. Made by
/// [`Stream::next_stamp`](crate::Stream::next_stamp).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stamp {
    /// The stream's number. One that is gone gives it to a later stream.
    pub stream: u32,
    /// The position. Those of one number only grow.
    pub sequence: u64,
}

impl Stamp {
    #[inline]
    pub(crate) fn pack(self) -> u64 {
        (u64::from(self.stream) << SEQUENCE_BITS) | self.sequence
    }

    fn unpack(word: u64) -> Option<Self> {
        (word != 0).then_some(Self {
            stream: (word >> SEQUENCE_BITS) as u32,
            sequence: word & LAST_SEQUENCE,
        })
    }
}

/// Which of the slots a stream tries first.
#[inline(always)]
fn home(word: u64) -> usize {
    (word >> SEQUENCE_BITS) as usize % INLINE
}

/// The newest stamp of each stream that used something.
///
/// Relaxed is enough: a word says by itself all there is to say, and whoever frees or reads the memory is
/// ordered behind those who stamped it, by the borrows or by what threads share it through.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    inline: [AtomicU64; INLINE],
    // Streams beyond the inline ones; rare, and then a short list under a lock.
    more: Mutex<SmallVec<[u64; 0]>>,
}

impl Stamps {
    /// Puts a stamp, unless a newer one of its stream is there.
    #[inline(always)]
    pub(crate) fn put(&self, stamp: Stamp) {
        let word = stamp.pack();
        // Most buffers are used again and again on a few streams, by one thread at a time.
        let slot = &self.inline[home(word)];
        let seen = slot.load(Relaxed);
        let is_ours = (seen ^ word) >> SEQUENCE_BITS == 0;
        if is_ours && (seen >= word || slot.compare_exchange(seen, word, Relaxed, Relaxed).is_ok())
        {
            return;
        }
        self.put_anywhere(word);
    }

    #[inline(never)]
    fn put_anywhere(&self, word: u64) {
        let stream = word >> SEQUENCE_BITS;
        // Each stream begins at its own slot, and always goes on in the same order, so that it has one.
        let (before, from) = self.inline.split_at(home(word));
        for slot in from.iter().chain(before) {
            let mut seen = slot.load(Relaxed);
            if seen == 0 {
                match slot.compare_exchange(0, word, Relaxed, Relaxed) {
                    Ok(_) => return,
                    Err(other) => seen = other,
                }
            }
            if seen >> SEQUENCE_BITS == stream {
                // Within one stream id the larger word is the later position.
                slot.fetch_max(word, Relaxed);
                return;
            }
        }
        let mut more = self.more.lock();
        match more.iter_mut().find(|w| **w >> SEQUENCE_BITS == stream) {
            Some(w) => *w = (*w).max(word),
            None => more.push(word),
        }
    }

    /// All stamps, one per stream, in the order of the streams.
    pub(crate) fn all(&self) -> SmallVec<[Stamp; INLINE]> {
        let mut all: SmallVec<[Stamp; INLINE]> =
            self.inline.iter().filter_map(|slot| Stamp::unpack(slot.load(Relaxed))).collect();
        all.extend(self.more.lock().iter().filter_map(|w| Stamp::unpack(*w)));
        all.sort_unstable_by_key(|stamp| stamp.stream);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_streams_than_inline_slots_are_all_kept() {
        let stamps = Stamps::default();
        for stream in 1..=20 {
            stamps.put(Stamp { stream, sequence: u64::from(stream) });
            stamps.put(Stamp { stream, sequence: 1 });
        }
        let all = stamps.all();
        assert!(all.is_sorted_by_key(|s| s.stream));
        assert_eq!(all.len(), 20);
        assert!(all.iter().all(|s| s.sequence == u64::from(s.stream)));
    }
}
