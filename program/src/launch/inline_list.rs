//! Short lists of plain values in place, long ones on the heap. Where a list is filled in one function whose compiler sees
//! how long it is, a push is a store and nothing else: that is what the arguments of launches are kept in.

use std::{
    fmt,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
    slice,
};

/// A list of which `N` items need no allocation.
pub(crate) struct InlineList<T, const N: usize> {
    items: [MaybeUninit<T>; N],
    /// How many of `items` are set; `N + 1` where all are in `more` instead.
    len: usize,
    /// All items, where they are more than have place. Its memory stays when the list is cleared.
    more: Vec<T>,
}

impl<T: Copy, const N: usize> InlineList<T, N> {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { items: [const { MaybeUninit::uninit() }; N], len: 0, more: Vec::new() }
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
            self.more.clear();
            // SAFETY: so many items are set.
            let items = unsafe { slice::from_raw_parts(self.items.as_ptr().cast::<T>(), N) };
            self.more.extend_from_slice(items);
            self.len = N + 1;
        }
        self.more.push(item);
    }

    /// Takes all items off.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Takes items off the end, so that no more than `len` are left.
    pub(crate) fn truncate(&mut self, len: usize) {
        if self.len > N {
            self.more.truncate(len);
        } else {
            self.len = self.len.min(len);
        }
    }
}

impl<T, const N: usize> InlineList<T, N> {
    /// The items, where they are so few that they have place.
    #[inline(always)]
    pub(crate) fn in_place(&self) -> Option<&[T]> {
        // SAFETY: so many items are set.
        (self.len <= N)
            .then(|| unsafe { slice::from_raw_parts(self.items.as_ptr().cast(), self.len) })
    }
}

impl<T, const N: usize> InlineList<T, N> {
    /// As [`in_place`](Self::in_place), to be changed.
    #[inline(always)]
    pub(crate) fn in_place_mut(&mut self) -> Option<&mut [T]> {
        // SAFETY: so many items are set.
        (self.len <= N)
            .then(|| unsafe { slice::from_raw_parts_mut(self.items.as_mut_ptr().cast(), self.len) })
    }
}

impl<T, const N: usize> Deref for InlineList<T, N> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.in_place().unwrap_or(&self.more)
    }
}

impl<T, const N: usize> DerefMut for InlineList<T, N> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.len > N {
            return &mut self.more;
        }
        // SAFETY: so many items are set.
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
    fn a_list_is_the_same_in_place_and_beyond() {
        for count in 0..10 {
            let mut list = InlineList::<usize, 4>::new();
            list.extend(0..count);
            assert_eq!(list[..], Vec::from_iter(0..count));
            list.iter_mut().for_each(|item| *item += 1);
            assert_eq!(list.in_place().is_some(), count <= 4);
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
