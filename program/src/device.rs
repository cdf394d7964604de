//! The types of values in kernels: numbers, and what is made of them.

use quadrants_ir::{
    Const,
    types::{Constant, Type},
};

use crate::{Element, Matrix, Vector};

/// A type whose values live in kernels: as locals, as parameters by value and results of funcs, as
/// parameters of kernels.
///
/// Numbers and bools have it, and tuples, arrays, [`Vector`]s and [`Matrix`]es of such. A struct of such
/// fields derives it: `#[derive(Clone, Copy, quadrants::Device)]`.
///
/// # Examples
/// ```
/// use quadrants_ir::types::Type;
/// use quadrants_program::{Device, Vector};
/// assert_eq!(<(f32, Vector<f32, 3>)>::LAYOUT.leaves(), 4);
/// assert_eq!(<[u32; 2]>::LAYOUT.to_string(), "[u32; 2]");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of values in kernels",
    label = "not a value of kernels",
    note = "they are numbers, bools, tuples, arrays, `Vector`s, `Matrix`es, and structs that derive `Device`"
)]
pub trait Device: Copy + Send + Sync + 'static {
    /// What it is to a kernel.
    const LAYOUT: Type;

    /// Gives the scalars that a value is made of, in order.
    #[doc(hidden)]
    fn give(self, scalars: &mut dyn FnMut(Const));

    /// The value made of such scalars' bits.
    #[doc(hidden)]
    fn take(bits: &mut dyn FnMut() -> u64) -> Self;
}

/// A constant as the IR has it.
#[must_use]
pub fn constant<T: Device>(value: T) -> Constant {
    let mut scalars = Vec::new();
    value.give(&mut |scalar| scalars.push(scalar));
    Constant { ty: T::LAYOUT, scalars }
}

macro_rules! scalars {
    ($($ty:ty)*) => {$(
        impl Device for $ty {
            const LAYOUT: Type = Type::Scalar(<$ty as Element>::TYPE);
            #[inline(always)]
            fn give(self, scalars: &mut dyn FnMut(Const)) {
                scalars(self.into());
            }
            #[inline(always)]
            fn take(bits: &mut dyn FnMut() -> u64) -> Self {
                <$ty as Element>::from_bits64(bits())
            }
        }
    )*};
}

scalars!(f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize bool);

macro_rules! tuples {
    ($(($($name:ident $at:tt),+);)*) => {$(
        impl<$($name: Device),+> Device for ($($name,)+) {
            const LAYOUT: Type = Type::Tuple(&[$($name::LAYOUT),+]);
            #[inline(always)]
            fn give(self, scalars: &mut dyn FnMut(Const)) {
                $(self.$at.give(scalars);)+
            }
            #[inline(always)]
            fn take(bits: &mut dyn FnMut() -> u64) -> Self {
                ($($name::take(bits),)+)
            }
        }
    )*};
}

tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}

impl<T: Device, const N: usize> Device for [T; N] {
    const LAYOUT: Type = Type::Array(&T::LAYOUT, N);
    #[inline(always)]
    fn give(self, scalars: &mut dyn FnMut(Const)) {
        self.into_iter().for_each(|element| element.give(scalars));
    }
    #[inline(always)]
    fn take(bits: &mut dyn FnMut() -> u64) -> Self {
        std::array::from_fn(|_| T::take(bits))
    }
}

impl<T: Element + Device, const N: usize> Device for Vector<T, N> {
    const LAYOUT: Type = Type::Vector(T::TYPE, N);
    #[inline(always)]
    fn give(self, scalars: &mut dyn FnMut(Const)) {
        self.0.give(scalars);
    }
    #[inline(always)]
    fn take(bits: &mut dyn FnMut() -> u64) -> Self {
        Self(Device::take(bits))
    }
}

impl<T: Element + Device, const R: usize, const C: usize> Device for Matrix<T, R, C> {
    const LAYOUT: Type = Type::Matrix(T::TYPE, R, C);
    #[inline(always)]
    fn give(self, scalars: &mut dyn FnMut(Const)) {
        self.0.give(scalars);
    }
    #[inline(always)]
    fn take(bits: &mut dyn FnMut() -> u64) -> Self {
        Self(Device::take(bits))
    }
}
