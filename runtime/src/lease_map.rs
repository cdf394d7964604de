//! A map whose entries can be leased: an entry is removed after its leases have ended.

use std::{collections::HashMap, hash::Hash};

use crate::sync::{Condvar, Mutex, MutexGuard};

/// A map between threads. A [`Lease`] of an entry delays its removal.
#[derive(Debug)]
pub struct LeaseMap<K, V> {
    entries: Mutex<HashMap<K, Leasable<V>>>,
    /// Notified when a lease ends.
    ended: Condvar,
}

/// An entry of a [`LeaseMap`].
#[derive(Debug)]
pub struct Leasable<V> {
    /// The value.
    pub value: V,
    leases: usize,
}

/// Keeps an entry in its map until it is dropped.
#[derive(Debug)]
#[must_use = "the lease ends when this is dropped"]
pub struct Lease<'a, K: Copy + Eq + Hash, V> {
    map: &'a LeaseMap<K, V>,
    key: K,
}

impl<K: Copy + Eq + Hash, V> LeaseMap<K, V> {
    /// Locks the entries.
    pub fn lock(&self) -> MutexGuard<'_, HashMap<K, Leasable<V>>> {
        self.entries.lock()
    }

    /// Adds an entry, which replaces one with the same key.
    pub fn insert(&self, key: K, value: V) {
        self.lock().insert(key, Leasable { value, leases: 0 });
    }

    /// Leases an entry of this map; the caller holds the lock.
    pub fn lease(&self, key: K, entry: &mut Leasable<V>) -> Lease<'_, K, V> {
        entry.leases += 1;
        Lease { map: self, key }
    }

    /// Waits until the entry has no leases, and then removes or replaces it.
    pub fn replace(&self, key: K, value: Option<V>) {
        let mut entries = self.lock();
        while entries.get(&key).is_some_and(|entry| entry.leases > 0) {
            self.ended.wait(&mut entries);
        }
        match value {
            Some(value) => entries.insert(key, Leasable { value, leases: 0 }),
            None => entries.remove(&key),
        };
    }

    /// All values, without the lock.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.get_mut().values_mut().map(|entry| &mut entry.value)
    }
}

impl<K, V> Default for LeaseMap<K, V> {
    fn default() -> Self {
        Self { entries: Mutex::new(HashMap::new()), ended: Condvar::new() }
    }
}

impl<K: Copy + Eq + Hash, V> Drop for Lease<'_, K, V> {
    fn drop(&mut self) {
        if let Some(entry) = self.map.lock().get_mut(&self.key) {
            entry.leases -= 1;
        }
        self.map.ended.notify_all();
    }
}
