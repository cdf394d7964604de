//! An append-only table with stable addresses: entries are made once, from any thread, while others
//! are read, and a reference to one holds as long as the table.

use std::sync::OnceLock;

use parking_lot::Mutex;

const BUCKETS: usize = 28;
const FIRST: usize = 16;

/// A sparse table by number. Bucket `k` holds `16 * 2^k` slots, made when the first is needed.
pub(crate) struct StableTable<T> {
    buckets: [OnceLock<Box<[Slot<T>]>>; BUCKETS],
}

struct Slot<T> {
    value: OnceLock<T>,
    // Held by whoever makes the value, so that it is made once; never by readers.
    making: Mutex<()>,
}

impl<T> StableTable<T> {
    pub(crate) fn new() -> Self {
        Self { buckets: [const { OnceLock::new() }; BUCKETS] }
    }

    fn place(index: u32) -> (usize, usize) {
        let shifted = index as usize + FIRST;
        let bucket = (shifted.ilog2() - FIRST.ilog2()) as usize;
        (bucket, shifted - (FIRST << bucket))
    }

    /// The entry of a number, if it was made.
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let (bucket, at) = Self::place(index);
        self.buckets[bucket].get()?[at].value.get()
    }

    /// The entry of a number, made by `make` where there is none. A failure leaves it unmade.
    pub(crate) fn get_or_try_make<E>(
        &self,
        index: u32,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&T, E> {
        if let Some(value) = self.get(index) {
            return Ok(value);
        }
        let (bucket, at) = Self::place(index);
        let slots = self.buckets[bucket].get_or_init(|| {
            (0..FIRST << bucket)
                .map(|_| Slot { value: OnceLock::new(), making: Mutex::new(()) })
                .collect()
        });
        let slot = &slots[at];
        let _making = slot.making.lock();
        if let Some(value) = slot.value.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(slot.value.get_or_init(|| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_stay_while_eight_threads_append() {
        let table = StableTable::new();
        let first: *const u32 = table.get_or_try_make(0, || Ok::<_, ()>(7)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let table = &table;
                scope.spawn(move || {
                    for i in 0..2000 {
                        let value = table.get_or_try_make(i * (1 + thread % 3), || Ok::<_, ()>(i));
                        assert!(value.is_ok());
                    }
                });
            }
        });
        assert!(std::ptr::eq(first, table.get(0).unwrap()));
        assert_eq!(table.get(0), Some(&7));
    }

    #[test]
    fn a_failed_entry_can_be_made_later() {
        let table = StableTable::new();
        assert_eq!(table.get_or_try_make(40, || Err::<u32, _>("no")), Err("no"));
        assert_eq!(table.get(40), None);
        assert_eq!(table.get_or_try_make(40, || Ok::<_, ()>(5)), Ok(&5));
    }
}
