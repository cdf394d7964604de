//! Stamps: the streams that used a buffer, each with the position of its last use. Lock-free, and without driver
//! events.
//!
//! A stamp is one 64-bit word: the stream's id in the upper 24 bits, the position in the stream in the lower 40. A
//! buffer keeps the newest stamp of each stream that used it: many streams may read it at once, and a free must wait
//! for all.

use std::sync::atomic::Ordering::Relaxed;

use smallvec::SmallVec;

use crate::sync::{AtomicU64, Mutex};

const SEQUENCE_BITS: u32 = 40;
/// Stream ids are less than this.
pub(crate) const MAX_STREAMS: u32 = 1 << (64 - SEQUENCE_BITS);
/// The largest position that a stamp can hold. It represents all later positions too.
pub(crate) const MAX_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;
const INLINE: usize = 4;

/// A position in a stream: all work that was enqueued up to it. Made by
/// [`Stream::next_stamp`](crate::Stream::next_stamp).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stamp {
    /// The stream's id. The id of a destroyed stream is reused.
    pub stream: u32,
    /// The position. The positions of an id only increase, also when the id is reused.
    pub sequence: u64,
}

impl Stamp {
    #[inline]
    pub(crate) fn pack(self) -> u64 {
        (u64::from(self.stream) << SEQUENCE_BITS) | self.sequence
    }

    pub(crate) fn unpack(word: u64) -> Option<Self> {
        (word != 0).then_some(Self {
            stream: (word >> SEQUENCE_BITS) as u32,
            sequence: word & MAX_SEQUENCE,
        })
    }
}

/// The slot that a stream tries first.
#[inline(always)]
fn first_slot(word: u64) -> usize {
    (word >> SEQUENCE_BITS) as usize % INLINE
}

/// The newest stamp of each stream that used a buffer.
///
/// Relaxed ordering suffices: each word is complete information by itself, and a thread that frees or reads the memory
/// is synchronized with the threads that stamped it, by borrows or by the means through which they share the buffer.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    inline: [AtomicU64; INLINE],
    /// The stamps of further streams. Rare, so a short list under a lock.
    overflow: Mutex<SmallVec<[u64; 0]>>,
}

impl Stamps {
    /// Stores a stamp, unless there is a newer one of the same stream.
    #[inline(always)]
    pub(crate) fn put(&self, stamp: Stamp) {
        let word = stamp.pack();
        // The common case: a few streams use the buffer repeatedly, one thread at a time.
        let slot = &self.inline[first_slot(word)];
        let seen = slot.load(Relaxed);
        let same_stream = (seen ^ word) >> SEQUENCE_BITS == 0;
        if same_stream
            && (seen >= word || slot.compare_exchange(seen, word, Relaxed, Relaxed).is_ok())
        {
            return;
        }
        self.put_slow(word);
    }

    #[inline(never)]
    fn put_slow(&self, word: u64) {
        let stream = word >> SEQUENCE_BITS;
        // A stream always probes the slots in the same order, so it has at most one slot.
        let (before, from) = self.inline.split_at(first_slot(word));
        for slot in from.iter().chain(before) {
            let mut seen = slot.load(Relaxed);
            if seen == 0 {
                match slot.compare_exchange(0, word, Relaxed, Relaxed) {
                    Ok(_) => return,
                    Err(other) => seen = other,
                }
            }
            if seen >> SEQUENCE_BITS == stream {
                // For one stream, the larger word is the later position.
                slot.fetch_max(word, Relaxed);
                return;
            }
        }
        let mut overflow = self.overflow.lock();
        match overflow.iter_mut().find(|w| **w >> SEQUENCE_BITS == stream) {
            Some(w) => *w = (*w).max(word),
            None => overflow.push(word),
        }
    }

    /// Removes all stamps.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// All stamps, one per stream, sorted by stream.
    pub(crate) fn all(&self) -> SmallVec<[Stamp; INLINE]> {
        let mut all: SmallVec<[Stamp; INLINE]> =
            self.inline.iter().filter_map(|slot| Stamp::unpack(slot.load(Relaxed))).collect();
        all.extend(self.overflow.lock().iter().filter_map(|w| Stamp::unpack(*w)));
        all.sort_unstable_by_key(|stamp| stamp.stream);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_more_streams_than_inline_slots_are_kept() {
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
