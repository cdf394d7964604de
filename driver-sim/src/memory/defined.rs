//! The initialization state of the bytes of a block.

use std::ops::Range;

/// One bit per byte, and the number of uninitialized bytes.
#[derive(Debug, Default)]
pub(crate) struct InitMask {
    bits: Vec<u64>,
    missing: usize,
}

impl InitMask {
    /// `bytes` uninitialized bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { bits: vec![0; bytes.div_ceil(64)], missing: bytes }
    }

    /// Whether all bytes are initialized.
    #[inline]
    pub(crate) fn complete(&self) -> bool {
        self.missing == 0
    }

    /// Whether all bytes of a range are initialized.
    #[inline]
    pub(crate) fn covers(&self, start: usize, bytes: usize) -> bool {
        if self.missing == 0 || bytes == 0 {
            return true;
        }
        if let Some((word, mask)) = within_word(start, bytes) {
            return self.bits[word] & mask == mask;
        }
        masks(start, bytes).all(|(word, mask)| self.bits[word] & mask == mask)
    }

    /// Marks a range as initialized.
    #[inline]
    pub(crate) fn set(&mut self, start: usize, bytes: usize) {
        if self.missing == 0 || bytes == 0 {
            return;
        }
        let mut set = |(word, mask): (usize, u64)| {
            let new: u64 = mask & !self.bits[word];
            self.bits[word] |= new;
            self.missing -= new.count_ones() as usize;
        };
        match within_word(start, bytes) {
            Some(one) => set(one),
            None => masks(start, bytes).for_each(set),
        }
    }

    /// Marks a range as uninitialized.
    pub(crate) fn unset(&mut self, start: usize, bytes: usize) {
        if bytes == 0 {
            return;
        }
        for (word, mask) in masks(start, bytes) {
            let old = mask & self.bits[word];
            self.bits[word] &= !mask;
            self.missing += old.count_ones() as usize;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Calls a function with the maximal initialized ranges inside a range.
    pub(crate) fn ranges(&self, within: Range<usize>, mut found: impl FnMut(Range<usize>)) {
        let mut from = None;
        let mut at = within.start;
        while at < within.end {
            let (word, bit) =
                (self.bits[at / 64] >> (at % 64), (64 - at % 64).min(within.end - at));
            // The longest run of bytes with the state of the first.
            let same = if word & 1 == 1 { word.trailing_ones() } else { word.trailing_zeros() };
            match (word & 1 == 1, from) {
                (true, None) => from = Some(at),
                (false, Some(start)) => {
                    found(start..at);
                    from = None;
                }
                _ => {}
            }
            at += bit.min(same as usize);
        }
        if let Some(start) = from {
            found(start..within.end);
        }
    }

    pub(crate) fn get(&self, at: usize) -> bool {
        self.missing == 0 || self.bits[at / 64] >> (at % 64) & 1 == 1
    }
}

/// The word and bits of a short range inside one word, which is the common case for kernels.
#[inline]
fn within_word(start: usize, bytes: usize) -> Option<(usize, u64)> {
    let low = start % 64;
    (bytes < 64 && low + bytes <= 64).then(|| (start / 64, ((1 << bytes) - 1) << low))
}

/// The words of a range, each with the bits of the range.
#[inline]
fn masks(start: usize, bytes: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = start + bytes;
    (start / 64..=(end - 1) / 64).map(move |word| {
        let low = start.max(word * 64) - word * 64;
        let high = end.min(word * 64 + 64) - word * 64;
        let mask = if high - low == 64 { u64::MAX } else { ((1 << (high - low)) - 1) << low };
        (word, mask)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_across_words_count_once() {
        let mut defined = InitMask::new(200);
        defined.set(60, 80);
        defined.set(64, 8);
        assert!(defined.covers(60, 80));
        assert!(!defined.covers(59, 2) && !defined.covers(139, 2));
        assert_eq!(defined.missing, 120);
        defined.set(0, 60);
        defined.set(140, 60);
        assert!(defined.complete());
        defined.unset(63, 2);
        assert!(!defined.get(63) && !defined.get(64) && defined.get(65));
        assert_eq!(defined.missing, 2);
    }
}
