//! What the host's [`Tensor`] is to kernels: a parameter, and in the copy of a kernel that rustc
//! checks first, something that can be indexed.

use std::ops::{Index, IndexMut};

use quadrants_ir::{abi::MAX_RANK, types::ParamType};

use super::{Args, TensorParam, View};
use crate::{KernelValue, Tensor};

// SAFETY: a view of this element type and rank.
unsafe impl<T: KernelValue, const N: usize> TensorParam for Tensor<T, N> {
    type View<const CHECKED: bool> = View<T, N, CHECKED>;

    const PARAM: ParamType = {
        assert!(N <= MAX_RANK, "a kernel takes tensors of up to six dimensions");
        assert!(
            !T::LAYOUT.is_empty(),
            "the elements of a kernel's tensor have at least one number"
        );
        ParamType::Tensor { elem: T::LAYOUT, rank: N as u8, writable: true }
    };

    #[inline(always)]
    fn take<const CHECKED: bool>(args: &mut Args<'_, CHECKED>) -> View<T, N, CHECKED> {
        args.view()
    }
}

/// Indexing a tensor type-checks, so that rustc's messages about a kernel speak of `Tensor`; but code
/// that would run it on the host does not compile.
macro_rules! refuse_on_the_host {
    ($([$($generic:tt)*] $rank:tt by $index:ty;)*) => {$(
        #[doc(hidden)]
        #[diagnostic::do_not_recommend]
        impl<T: KernelValue, $($generic)*> Index<$index> for Tensor<T, $rank> {
            type Output = T;
            fn index(&self, _: $index) -> &T {
                const { refuse::<T>() };
                unreachable!()
            }
        }

        #[doc(hidden)]
        #[diagnostic::do_not_recommend]
        impl<T: KernelValue, $($generic)*> IndexMut<$index> for Tensor<T, $rank> {
            fn index_mut(&mut self, _: $index) -> &mut T {
                const { refuse::<T>() };
                unreachable!()
            }
        }
    )*};
}

refuse_on_the_host! {
    [] 1 by usize;
    [const N: usize] N by [usize; N];
}

/// Fails for every type, but only where an instance is made.
const fn refuse<T>() {
    assert!(
        size_of::<T>() == usize::MAX,
        "a tensor can be indexed in a kernel only; on the host, use `to_vec` or `copy_from`"
    );
}
