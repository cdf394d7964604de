//! A table with stable addresses: any thread can add entries while others read, and references to an entry stay valid
//! until it is removed.

use std::{
    marker::PhantomData,
    ptr, slice,
    sync::{
        OnceLock,
        atomic::{
            AtomicPtr,
            Ordering::{AcqRel, Acquire, Release},
        },
    },
};

use parking_lot::Mutex;

/// Enough buckets for 32-bit indices.
const BUCKETS: usize = 32;
const FIRST_BUCKET_LEN: usize = 16;

/// A sparse table by index. Bucket `k` holds `16 * 2^k` slots, allocated when the first is needed.
pub(crate) struct StableTable<T> {
    /// The first slot of each bucket; null where the bucket is not allocated.
    buckets: [AtomicPtr<Slot<T>>; BUCKETS],
    // The table owns the slots.
    owned: PhantomData<Box<[Slot<T>]>>,
}

struct Slot<T> {
    value: AtomicPtr<T>,
    // Held while the value is inserted or removed, so that it is made once; never by readers.
    making: Mutex<()>,
    // Values are made and dropped through shared references, like in a `OnceLock`.
    owned: PhantomData<OnceLock<T>>,
}

impl<T> Slot<T> {
    fn new() -> Self {
        Self { value: AtomicPtr::new(ptr::null_mut()), making: Mutex::new(()), owned: PhantomData }
    }

    #[inline]
    fn get(&self) -> Option<&T> {
        // SAFETY: null, or from a box that lives until `take`, whose caller promises that nobody uses it.
        unsafe { self.value.load(Acquire).as_ref() }
    }

    /// # Safety
    /// No reference to the value is used any more.
    unsafe fn take(&self) -> Option<Box<T>> {
        let _making = self.making.lock();
        let value = self.value.swap(ptr::null_mut(), Acquire);
        // SAFETY: from `Box::into_raw` in `get_or_try_insert`, and removed from the slot.
        (!value.is_null()).then(|| unsafe { Box::from_raw(value) })
    }
}

impl<T> Drop for Slot<T> {
    fn drop(&mut self) {
        // SAFETY: references to the value borrow the table, which is being dropped.
        drop(unsafe { self.take() });
    }
}

impl<T> StableTable<T> {
    pub(crate) fn new() -> Self {
        let buckets = [const { AtomicPtr::new(ptr::null_mut()) }; BUCKETS];
        Self { buckets, owned: PhantomData }
    }

    #[inline]
    fn position(index: u32) -> (usize, usize) {
        let shifted = u64::from(index) + FIRST_BUCKET_LEN as u64;
        let log = shifted.ilog2();
        // The remainder changes nothing; it lets the compiler drop the bounds check.
        (((log - FIRST_BUCKET_LEN.ilog2()) as usize) % BUCKETS, (shifted ^ 1 << log) as usize)
    }

    #[inline]
    fn bucket(&self, bucket: usize) -> Option<&[Slot<T>]> {
        let first = self.buckets[bucket].load(Acquire);
        // SAFETY: the bucket was allocated with as many slots, which live as long as the table.
        (!first.is_null())
            .then(|| unsafe { slice::from_raw_parts(first, FIRST_BUCKET_LEN << bucket) })
    }

    #[inline]
    fn slot(&self, index: u32) -> Option<&Slot<T>> {
        let (bucket, at) = Self::position(index);
        // SAFETY: a position in a bucket is less than the number of its slots.
        self.bucket(bucket).map(|slots| unsafe { slots.get_unchecked(at) })
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.slot(index)?.get()
    }

    /// The entry at an index, made by `make` where there is none. After an error there is still none.
    #[inline]
    pub(crate) fn get_or_try_insert<E>(
        &self,
        index: u32,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&T, E> {
        match self.get(index) {
            Some(value) => Ok(value),
            None => self.make(index, make),
        }
    }

    #[cold]
    fn make<E>(&self, index: u32, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let (bucket, at) = Self::position(index);
        let slot = &self.bucket(bucket).unwrap_or_else(|| self.make_bucket(bucket))[at];
        let _making = slot.making.lock();
        if let Some(value) = slot.get() {
            return Ok(value);
        }
        let value = Box::into_raw(Box::new(make()?));
        slot.value.store(value, Release);
        // SAFETY: made above; it lives until it is removed.
        Ok(unsafe { &*value })
    }

    #[cold]
    fn make_bucket(&self, bucket: usize) -> &[Slot<T>] {
        let slots: Box<[Slot<T>]> = (0..FIRST_BUCKET_LEN << bucket).map(|_| Slot::new()).collect();
        let slots = Box::into_raw(slots);
        let first = &self.buckets[bucket];
        if first.compare_exchange(ptr::null_mut(), slots.cast(), AcqRel, Acquire).is_err() {
            // SAFETY: made above, and never shared: another thread was faster.
            drop(unsafe { Box::from_raw(slots) });
        }
        self.bucket(bucket).unwrap_or_default()
    }

    /// All entries, by index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let slots = (0..BUCKETS).filter_map(|bucket| self.bucket(bucket)).flatten();
        slots.filter_map(Slot::get)
    }

    /// Removes an entry.
    ///
    /// # Safety
    /// No reference to this entry is used any more, and none is taken meanwhile.
    pub(crate) unsafe fn remove(&self, index: u32) -> Option<Box<T>> {
        // SAFETY: by the caller.
        unsafe { self.slot(index)?.take() }
    }
}

impl<T> Drop for StableTable<T> {
    fn drop(&mut self) {
        for (bucket, first) in self.buckets.iter_mut().enumerate() {
            let first = *first.get_mut();
            if !first.is_null() {
                let slots = ptr::slice_from_raw_parts_mut(first, FIRST_BUCKET_LEN << bucket);
                // SAFETY: from `make_bucket`, with as many slots.
                drop(unsafe { Box::from_raw(slots) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_stay_while_eight_threads_append() {
        let table = StableTable::new();
        let first: *const u32 = table.get_or_try_insert(0, || Ok::<_, ()>(7)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let table = &table;
                scope.spawn(move || {
                    for i in 0..2000 {
                        let value =
                            table.get_or_try_insert(i * (1 + thread % 3), || Ok::<_, ()>(i));
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
        assert_eq!(table.get_or_try_insert(40, || Err::<u32, _>("no")), Err("no"));
        assert_eq!(table.get(40), None);
        assert_eq!(table.get_or_try_insert(40, || Ok::<_, ()>(5)), Ok(&5));
    }

    #[test]
    fn entries_are_dropped_once_removed_or_not() {
        let (removed, kept) = (std::rc::Rc::new(()), std::rc::Rc::new(()));
        let table = StableTable::new();
        for (index, value) in [(3, &removed), (1 << 20, &kept)] {
            table.get_or_try_insert(index, || Ok::<_, ()>(value.clone())).unwrap();
        }
        // SAFETY: no reference is left.
        let taken = unsafe { table.remove(3) };
        assert_eq!(std::rc::Rc::strong_count(&removed), 2);
        drop(taken);
        assert_eq!(std::rc::Rc::strong_count(&removed), 1);
        assert!(table.get(3).is_none());
        // SAFETY: as above.
        assert!(unsafe { table.remove(3) }.is_none());
        drop(table);
        assert_eq!(std::rc::Rc::strong_count(&kept), 1);
    }
}
