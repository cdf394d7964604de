//! The launch decisions of a kernel whose inputs change from launch to launch, such as the step of a loop on the host.
//!
//! The [launch cache](super::launch_cache) holds one decision per stream. Where it misses, the decision is looked up
//! here before the analysis runs again.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::launch_cache::CacheableDecision;

/// The most decisions of a kernel. When there are more, all are forgotten.
const MAX_DECISIONS: usize = 4096;

/// The values of all inputs of a decision, and the launch's [`Checks`](super::launch_cache::Checks).
pub(super) type LaunchKey = SmallVec<[u64; 16]>;

#[derive(Default)]
pub(super) struct LaunchHistory(Mutex<Decisions>);

#[derive(Default)]
struct Decisions {
    all: HashMap<LaunchKey, Arc<CacheableDecision>, BuildHasherDefault<KeyHasher>>,
    /// The decision that was found last.
    last: Option<Arc<CacheableDecision>>,
}

impl LaunchHistory {
    /// The decision of an earlier launch, and whether the search before this one found the same.
    pub(crate) fn find(&self, key: &[u64]) -> Option<(Arc<CacheableDecision>, bool)> {
        let mut decisions = self.0.lock();
        let decided = decisions.all.get(key)?.clone();
        let again = decisions.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &decided));
        if !again {
            decisions.last = Some(decided.clone());
        }
        Some((decided, again))
    }

    pub(super) fn insert(
        &self,
        key: LaunchKey,
        decided: CacheableDecision,
    ) -> Arc<CacheableDecision> {
        let decided = Arc::new(decided);
        let all = &mut self.0.lock().all;
        if all.len() >= MAX_DECISIONS {
            all.clear();
        }
        all.insert(key, decided.clone());
        decided
    }
}

/// A hash of 64-bit words: extents and scalars of a user's own launches, for which a hash that withstands chosen keys
/// would take longer than the rest of the search.
#[derive(Default)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_ne_bytes(*word));
        }
        for byte in rest {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        // An odd number without structure, that of the golden ratio.
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        // The table uses the low bits and the highest seven, and a product has its structure in the low ones.
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use std::hash::Hash;

    use super::*;

    #[test]
    fn neighbouring_keys_have_different_hashes() {
        let mut low = std::collections::HashSet::new();
        for (k, n) in (0..64).flat_map(|k| (0..64).map(move |n| (k, n))) {
            let mut hasher = KeyHasher::default();
            [k, 1024, n].as_slice().hash(&mut hasher);
            low.insert(hasher.finish() & 0xffff);
        }
        assert!(low.len() > 3800, "{} of 4096 differ in the low bits", low.len());
    }
}
