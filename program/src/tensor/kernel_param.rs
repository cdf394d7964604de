//! [`Tensor`] as a kernel parameter, and its `Index` implementations for type inference.
//!
//! rustc type-checks a type-inference copy of each kernel in which tensors have their host type; there they must be
//! indexable.

use std::ops::{Index, IndexMut};

use quadrants_ir::{abi::MAX_RANK, types::ParamType};

use super::Tensor;
use crate::{
    KernelValue,
    body::{ArgumentReader, TensorParam, View},
    value::identity::{Identity, TypePart},
};

/// Why an enum cannot be an element.
pub(super) const NO_ENUMS: &str = "a tensor cannot have elements with enums, because its memory may hold numbers that are not discriminants; store a number such as `value as u32`";

// SAFETY: `take` returns a view of this element type and rank.
unsafe impl<T: KernelValue, const N: usize> TensorParam for Tensor<T, N> {
    type View = View<T, N>;

    const PARAM: ParamType = {
        // What `REFUSED` says is reported by the code that the macros emit.
        let rank = if N <= MAX_RANK { N as u8 } else { 0 };
        ParamType::Tensor { elem: T::LAYOUT, rank, writable: true, distinct: false }
    };

    const REFUSED: Option<&'static str> = if N > MAX_RANK {
        Some("kernels take tensors of up to six dimensions")
    } else if T::LAYOUT.is_empty() {
        Some("the element type of a kernel's tensor must contain at least one number")
    } else if T::LAYOUT.has_enum() {
        Some(NO_ENUMS)
    } else {
        None
    };

    const TYPE_IDENTITY: &'static Identity = &Identity {
        name: "tensor",
        parts: &[TypePart::Type(T::TYPE_IDENTITY), TypePart::Number(N as u128)],
    };

    #[inline(always)]
    fn take(args: &mut ArgumentReader<'_>) -> View<T, N> {
        args.view()
    }
}

// So that rustc's messages about kernels mention `Tensor`. Host code that would index a tensor does not compile.
#[doc(hidden)]
impl<T, const N: usize, I: TensorIndex<N>> Index<I> for Tensor<T, N> {
    type Output = T;
    fn index(&self, _: I) -> &T {
        const { refuse::<T>() };
        unreachable!()
    }
}

#[doc(hidden)]
impl<T, const N: usize, I: TensorIndex<N>> IndexMut<I> for Tensor<T, N> {
    fn index_mut(&mut self, _: I) -> &mut T {
        const { refuse::<T>() };
        unreachable!()
    }
}

/// An index of tensors with `N` dimensions.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot index a tensor of {N} dimension(s)",
    label = "indices are `usize`, and `[usize; N]` for N dimensions",
    note = "convert an integer by `as usize`, as in `x[i as usize]` and `y[[i as usize, j as usize]]`"
)]
pub trait TensorIndex<const N: usize> {}

impl TensorIndex<1> for usize {}

impl<const N: usize> TensorIndex<N> for [usize; N] {}

/// A compile-time error, raised only when the function is instantiated.
const fn refuse<T>() {
    assert!(
        size_of::<T>() == usize::MAX,
        "a tensor can be indexed only in a kernel; on the host, use `to_vec` or `write`"
    );
}
