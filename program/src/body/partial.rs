//! [`Partial`]: the partial results of a chunk of a loop.

use std::hint::black_box;

/// The partial results of a chunk of a loop, one per lane of a strip. One result would force a sequential order on sums
/// of floats, which prevents SIMD. All start with the operation's identity.
pub struct Partial<T, const W: usize>(pub(super) [T; W]);

impl<T: Copy, const W: usize> Partial<T, W> {
    /// The partial results of the lanes.
    #[inline(always)]
    pub fn lanes(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    /// The partial result of one lane.
    #[inline(always)]
    pub fn lane(&mut self, at: usize) -> &mut T {
        &mut self.0[at]
    }

    #[inline(always)]
    pub(super) fn total(self, other: Self, combine: impl Fn(T, T) -> T) -> T {
        // A copy in other memory: LLVM does not keep an array in registers that is also accessed element by element.
        let parts = [self.0, other.0];
        let [part, rest] = black_box(&parts);
        let mut values: [T; W] = super::lanes(
            #[inline(always)]
            |at| combine(part[at], rest[at]),
        );
        let mut count = W;
        while count > 1 {
            count /= 2;
            for at in 0..count {
                values[at] = combine(values[at], values[at + count]);
            }
        }
        values[0]
    }
}
