//! Handles: numbers in the place of pointers. A handle encodes its kind, its world, a slot and the slot's generation,
//! so that an invalid, foreign or destroyed handle is recognized and never dereferenced.

use crate::code::{Code, Result};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum HandleKind {
    Context = 1,
    Stream,
    Event,
    Module,
    Function,
    Graph,
    Node,
    Exec,
    Pool,
    Communicator,
}

/// A slot of a [`Slab`] at one generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    index: u32,
    generation: u16,
}

/// Objects that are accessed by [`Key`]s. A key is invalid after its object is removed.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    live: usize,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u16,
    value: Option<T>,
}

const INDEX_BITS: u32 = 24;
const WORLD_SHIFT: u32 = 40;
const KIND_SHIFT: u32 = 56;
/// Makes every handle a non-canonical address, which no processor can dereference.
const MARK: u64 = 5 << 60;

/// The handle of an object.
pub(crate) fn encode(kind: HandleKind, world: u16, key: Key) -> usize {
    let bits = MARK
        | (kind as u64) << KIND_SHIFT
        | u64::from(world) << WORLD_SHIFT
        | u64::from(key.generation) << INDEX_BITS
        | u64::from(key.index);
    bits as usize
}

/// The handle of an object that each world has exactly once.
pub(crate) fn encode_only(kind: HandleKind, world: u16) -> usize {
    encode(kind, world, Key { index: 0, generation: 1 })
}

/// The world and key of a handle of `kind`.
pub(crate) fn decode(kind: HandleKind, handle: usize) -> Result<(u16, Key)> {
    let bits = handle as u64;
    if bits >> 60 != MARK >> 60 || (bits >> KIND_SHIFT) & 0xf != kind as u64 {
        return Err(Code::INVALID_HANDLE);
    }
    let key = Key {
        index: bits as u32 & ((1 << INDEX_BITS) - 1),
        generation: (bits >> INDEX_BITS) as u16,
    };
    Ok(((bits >> WORLD_SHIFT) as u16, key))
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), live: 0 }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, value: T) -> Result<Key> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(self.slots.len()).map_err(|_| Code::OUT_OF_MEMORY)?;
                if index >> INDEX_BITS != 0 {
                    return Err(Code::OUT_OF_MEMORY);
                }
                self.slots.push(Slot { generation: 1, value: None });
                index
            }
        };
        let slot = &mut self.slots[index as usize];
        slot.value = Some(value);
        self.live += 1;
        Ok(Key { index, generation: slot.generation })
    }

    pub(crate) fn get(&self, key: Key) -> Result<&T> {
        let slot = self.slots.get(key.index as usize);
        let slot = slot.filter(|slot| slot.generation == key.generation);
        slot.and_then(|slot| slot.value.as_ref()).ok_or(Code::INVALID_HANDLE)
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Result<&mut T> {
        self.slot_mut(key)?.value.as_mut().ok_or(Code::INVALID_HANDLE)
    }

    fn slot_mut(&mut self, key: Key) -> Result<&mut Slot<T>> {
        let slot = self.slots.get_mut(key.index as usize);
        slot.filter(|slot| slot.generation == key.generation).ok_or(Code::INVALID_HANDLE)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Result<T> {
        let slot = self.slot_mut(key)?;
        let value = slot.value.take().ok_or(Code::INVALID_HANDLE)?;
        // A slot without unused generations is never reused.
        if slot.generation < u16::MAX {
            slot.generation += 1;
            self.free.push(key.index);
        }
        self.live -= 1;
        Ok(value)
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let removed = self.iter_keys().filter(|(_, value)| !keep(value));
        let removed: Vec<Key> = removed.map(|(key, _)| key).collect();
        removed.into_iter().for_each(|key| drop(self.remove(key)));
    }

    pub(crate) fn clear(&mut self) {
        self.retain(|_| false);
    }

    pub(crate) fn live(&self) -> usize {
        self.live
    }

    pub(crate) fn iter_keys(&self) -> impl Iterator<Item = (Key, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let key = Key { index: index as u32, generation: slot.generation };
            Some((key, slot.value.as_ref()?))
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.iter_keys().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_key_stays_invalid_when_its_slot_is_reused() {
        let mut slab = Slab::default();
        let first = slab.insert('a').unwrap();
        slab.remove(first).unwrap();
        let second = slab.insert('b').unwrap();
        assert_eq!(first.index, second.index);
        assert_eq!(slab.get(first), Err(Code::INVALID_HANDLE));
        assert_eq!(slab.get(second), Ok(&'b'));
        assert_eq!(slab.live(), 1);
    }

    #[test]
    fn handles_keep_kind_world_and_generation() {
        let key = Key { index: 0x00ab_cdef, generation: 0xfffe };
        let handle = encode(HandleKind::Event, 4095, key);
        assert_eq!(decode(HandleKind::Event, handle), Ok((4095, key)));
        assert_eq!(decode(HandleKind::Stream, handle), Err(Code::INVALID_HANDLE));
        assert_eq!(decode(HandleKind::Event, 0), Err(Code::INVALID_HANDLE));
        assert_eq!(decode(HandleKind::Event, 0x7fff_1234_5678), Err(Code::INVALID_HANDLE));
    }
}
