//! A list of plain values whose first items are stored inline and longer lists on the heap. Where a list is filled in
//! one function and the compiler knows its length, a push is a single store. The arguments of launches are kept in such
//! lists.

use std::{
    fmt,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
    slice,
};

/// The words of an argument block. Short ones need no allocation.
pub(crate) type Words = InlineList<u64, 32>;

/// A list that needs no allocation for up to `N` items.
pub(crate) struct InlineList<T, const N: usize> {
    items: [MaybeUninit<T>; N],
    /// The number of items that are set; `N + 1` where all items are in `spilled` instead.
    len: usize,
    /// All items of a list that is longer than `N`. Its memory stays when the list is cleared.
    spilled: Vec<T>,
}

impl<T: Copy, const N: usize> InlineList<T, N> {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { items: [const { MaybeUninit::uninit() }; N], len: 0, spilled: Vec::new() }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        if self.len < N {
            self.items[self.len].write(item);
            self.len += 1;
        } else {
            self.push_spilled(item);
        }
    }

    #[cold]
    fn push_spilled(&mut self, item: T) {
        if self.len == N {
            self.spilled.clear();
            // SAFETY: the list has `N` items inline, all set.
            let items = unsafe { slice::from_raw_parts(self.items.as_ptr().cast::<T>(), N) };
            self.spilled.extend_from_slice(items);
            self.len = N + 1;
        }
        self.spilled.push(item);
    }

    /// Removes all items.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Removes items from the end, so that at most `len` are left.
    pub(crate) fn truncate(&mut self, len: usize) {
        if self.len > N {
            self.spilled.truncate(len);
        } else {
            self.len = self.len.min(len);
        }
    }
}

impl<T, const N: usize> InlineList<T, N> {
    #[inline(always)]
    pub(crate) fn inline_items(&self) -> Option<&[T]> {
        // SAFETY: `len` inline items are set.
        (self.len <= N)
            .then(|| unsafe { slice::from_raw_parts(self.items.as_ptr().cast(), self.len) })
    }
}

impl<T, const N: usize> InlineList<T, N> {
    /// The items, mutable, where all are inline.
    #[inline(always)]
    pub(crate) fn inline_mut(&mut self) -> Option<&mut [T]> {
        // SAFETY: `len` inline items are set.
        (self.len <= N)
            .then(|| unsafe { slice::from_raw_parts_mut(self.items.as_mut_ptr().cast(), self.len) })
    }
}

impl<T, const N: usize> Deref for InlineList<T, N> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.inline_items().unwrap_or(&self.spilled)
    }
}

impl<T, const N: usize> DerefMut for InlineList<T, N> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.len > N {
            return &mut self.spilled;
        }
        // SAFETY: `len` inline items are set.
        unsafe { slice::from_raw_parts_mut(self.items.as_mut_ptr().cast(), self.len) }
    }
}

impl<T: Copy, const N: usize> Extend<T> for InlineList<T, N> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for InlineList<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_behaves_the_same_inline_and_spilled() {
        for count in 0..10 {
            let mut list = InlineList::<usize, 4>::new();
            list.extend(0..count);
            assert_eq!(list[..], Vec::from_iter(0..count));
            list.iter_mut().for_each(|item| *item += 1);
            assert_eq!(list.inline_items().is_some(), count <= 4);
            list.truncate(3);
            list.push(9);
            let expected: Vec<_> = (1..=count.min(3)).chain([9]).collect();
            assert_eq!(list[..], expected);
            list.clear();
            list.extend(20..26);
            assert_eq!(list[..], Vec::from_iter(20..26));
        }
    }
}
