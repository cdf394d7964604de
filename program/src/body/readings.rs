//! What emitted code has in scope, so that no method of the author's can take the place of one that kernels
//! have: where both could be meant, rustc says that it does not know which.
//!
//! A type's own methods that take it by value win over those of all traits; nothing is needed for them.

use crate::{Matrix, Vector, f16};

/// The traits, without their names.
pub mod in_scope {
    pub use std::{cmp::Ord as _, convert::From as _, iter::Iterator as _};

    pub use super::{OfArrays as _, OfMatrices as _, OfScalars as _};
    pub use crate::Number as _;
}

/// The methods of arrays, which arrays themselves have by reference.
#[allow(clippy::len_without_is_empty)] // kernels have `len` alone
pub trait OfArrays {
    /// How many elements there are.
    #[must_use]
    fn len(self) -> usize;
}

impl<T, const N: usize> OfArrays for [T; N] {
    #[inline(always)]
    fn len(self) -> usize {
        N
    }
}

/// What has the methods below though it has none of its own: nothing has.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no function of this name in kernels",
    label = "not for these elements"
)]
pub trait Known {}

macro_rules! names {
    ($(#[$doc:meta])* $of:ident: $($name:ident)*) => {
        $(#[$doc])*
        pub trait $of: Sized {
            $(
                #[doc(hidden)]
                fn $name(self)
                where
                    Self: Known,
                {
                }
            )*
        }
    };
}

names! {
    /// The names of the functions of vectors and matrices, which some of them do not have.
    OfMatrices: splat zero identity diagonal
    dot cross norm norm_squared normalized sum component_mul transpose trace determinant inverse
}

names! {
    /// The names of conversions of numbers. The IR converts what is no `Number` too.
    OfScalars: to_f32 to_f64 to_i32 to_i64 to_u32 to_u64 to_usize
}

impl OfScalars for bool {}
impl OfScalars for f16 {}
impl<T, const N: usize> OfMatrices for Vector<T, N> {}
impl<T, const R: usize, const C: usize> OfMatrices for Matrix<T, R, C> {}

/// What has so many elements.
pub trait Counted {
    /// How many.
    fn count(&self) -> usize;
}
