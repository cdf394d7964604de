//! Short lists of plain values in place, long ones on the heap. Where a list is filled in one function whose compiler sees
//! how long it is, a push is a store and nothing else: that is what the arguments of launches are kept in.

use std::{
    fmt,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
    slice,
};

/// A list of which `N` items need no allocation.
pub(crate) struct Short<T, const N: usize> {
    items: [MaybeUninit<T>; N],
    /// How many of `items` are set.
    len: usize,
    /// All items, where there were ever more than have place.
    all: Option<Vec<T>>,
}

impl<T: Copy, const N: usize> Short<T, N> {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { items: [const { MaybeUninit::uninit() }; N], len: 0, all: None }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        if self.len < N {
            self.items[self.len].write(item);
            self.len += 1;
        } else {
            self.push_further(item);
        }
    }

    #[cold]
    fn push_further(&mut self, item: T) {
        let mut all = self.all.take().unwrap_or_else(|| self.to_vec());
        all.push(item);
        self.all = Some(all);
    }

    /// Takes items off the end, so that no more than `len` are left.
    pub(crate) fn truncate(&mut self, len: usize) {
        match &mut self.all {
            Some(all) => all.truncate(len),
            None => self.len = self.len.min(len),
        }
    }
}

impl<T, const N: usize> Deref for Short<T, N> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.all {
            Some(all) => all,
            // SAFETY: so many items are set.
            None => unsafe { slice::from_raw_parts(self.items.as_ptr().cast(), self.len) },
        }
    }
}

impl<T, const N: usize> DerefMut for Short<T, N> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.all {
            Some(all) => all,
            // SAFETY: as above.
            None => unsafe { slice::from_raw_parts_mut(self.items.as_mut_ptr().cast(), self.len) },
        }
    }
}

impl<T: Copy, const N: usize> Extend<T> for Short<T, N> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for Short<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_the_same_in_place_and_beyond() {
        for count in 0..10 {
            let mut list = Short::<usize, 4>::new();
            list.extend(0..count);
            assert_eq!(list[..], Vec::from_iter(0..count));
            list.iter_mut().for_each(|item| *item += 1);
            list.truncate(3);
            list.push(9);
            let expected: Vec<_> = (1..=count.min(3)).chain([9]).collect();
            assert_eq!(list[..], expected);
        }
    }
}
