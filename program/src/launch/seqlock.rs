//! A few words that are found once and used again by all threads, without a lock: who reads while another thread
//! writes is told nothing, and finds them by itself.
//!
//! A sequence lock: the version is odd while the words are written, and another one afterwards.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sync::{AtomicU64, fence};

/// As many words as were asked for, of which nothing is known yet.
#[derive(Debug)]
pub(crate) struct Seqlock {
    /// 0 before the first write.
    version: AtomicU64,
    words: Box<[AtomicU64]>,
}

impl Seqlock {
    pub(crate) fn new(words: usize) -> Self {
        let words = (0..words).map(|_| AtomicU64::new(0)).collect();
        Self { version: AtomicU64::new(0), words }
    }

    /// The words, and the version that [`validate`](Self::validate) takes behind what was read of them. None where
    /// nothing was written yet, or another thread writes.
    #[inline(always)]
    pub(crate) fn read(&self) -> Option<(u64, &[AtomicU64])> {
        let version = self.version.load(Acquire);
        (version != 0 && version.is_multiple_of(2)).then_some((version, &*self.words))
    }

    /// Whether what was read since `read` gave this version was written together. Else it is of several writes, and
    /// says nothing.
    #[inline(always)]
    pub(crate) fn validate(&self, version: u64) -> bool {
        // Whoever saw a word of a later write sees its version too.
        fence(Acquire);
        self.version.load(Relaxed) == version
    }

    /// Writes the words, unless another thread does.
    pub(crate) fn write(&self, words: impl IntoIterator<Item = u64>) {
        let version = self.version.load(Relaxed);
        if version % 2 == 1
            || self.version.compare_exchange(version, version + 1, Acquire, Relaxed).is_err()
        {
            return;
        }
        // Before the words: whoever sees one of them sees that they are being written.
        fence(Release);
        self.words.iter().zip(words).for_each(|(place, word)| place.store(word, Relaxed));
        self.version.store(version + 2, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(recall: &Seqlock) -> Option<Vec<u64>> {
        let (version, words) = recall.read()?;
        let words = words.iter().map(|word| word.load(Relaxed)).collect();
        recall.validate(version).then_some(words)
    }

    #[test]
    fn what_was_written_last_is_read() {
        let recall = Seqlock::new(3);
        assert_eq!(all(&recall), None);
        recall.write([1, 2, 3]);
        recall.write([4, 5, 6]);
        assert_eq!(all(&recall), Some(vec![4, 5, 6]));
    }

    #[test]
    fn nobody_reads_a_part_of_a_write() {
        let recall = Seqlock::new(4);
        std::thread::scope(|scope| {
            for thread in 0..2u64 {
                let recall = &recall;
                scope.spawn(move || {
                    (0..20_000).for_each(|turn| recall.write([2 * turn + thread; 4]));
                });
            }
            for _ in 0..20_000 {
                if let Some(words) = all(&recall) {
                    assert!(words.iter().all(|word| *word == words[0]), "{words:?}");
                }
            }
        });
    }
}
