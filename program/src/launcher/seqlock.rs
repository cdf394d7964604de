//! A sequence lock: a few words that all threads read without a lock. A reader during a write gets nothing, and must do
//! without the words.
//!
//! The version is odd while the words are written, and different afterwards.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::sync::{AtomicU64, fence};

/// A fixed number of words under a sequence lock.
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

    /// The words, and the version to [`validate`](Self::validate) after reading them. None before the first write, and
    /// while another thread writes.
    #[inline(always)]
    pub(crate) fn read(&self) -> Option<(u64, &[AtomicU64])> {
        let version = self.version.load(Acquire);
        (version != 0 && version.is_multiple_of(2)).then_some((version, &*self.words))
    }

    /// Whether all that was read since `read` returned `version` is of one write. If not, it must not be used.
    #[inline(always)]
    pub(crate) fn validate(&self, version: u64) -> bool {
        // A reader that saw a word of a later write sees that write's version too.
        fence(Acquire);
        self.version.load(Relaxed) == version
    }

    /// Writes the words. Does nothing while another thread writes.
    pub(crate) fn write(&self, words: impl IntoIterator<Item = u64>) {
        let version = self.version.load(Relaxed);
        if version % 2 == 1
            || self.version.compare_exchange(version, version + 1, Acquire, Relaxed).is_err()
        {
            return;
        }
        // Before the words: a reader that sees one of them also sees the odd version.
        fence(Release);
        self.words.iter().zip(words).for_each(|(slot, word)| slot.store(word, Relaxed));
        self.version.store(version + 2, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(lock: &Seqlock) -> Option<Vec<u64>> {
        let (version, words) = lock.read()?;
        let words = words.iter().map(|word| word.load(Relaxed)).collect();
        lock.validate(version).then_some(words)
    }

    #[test]
    fn the_last_write_is_read() {
        let lock = Seqlock::new(3);
        assert_eq!(read_all(&lock), None);
        lock.write([1, 2, 3]);
        lock.write([4, 5, 6]);
        assert_eq!(read_all(&lock), Some(vec![4, 5, 6]));
    }

    #[test]
    fn no_reader_sees_words_of_two_writes() {
        let lock = Seqlock::new(4);
        std::thread::scope(|scope| {
            for thread in 0..2u64 {
                let lock = &lock;
                scope.spawn(move || {
                    (0..20_000).for_each(|turn| lock.write([2 * turn + thread; 4]));
                });
            }
            for _ in 0..20_000 {
                if let Some(words) = read_all(&lock) {
                    assert!(words.iter().all(|word| *word == words[0]), "{words:?}");
                }
            }
        });
    }
}
