//! The types of values in kernels: numbers, and what is made of them.

pub(crate) mod matrix;
pub(crate) mod numeric;
pub(crate) mod vector;

use half::f16;
use quadrants_ir::{
    Const,
    types::{Constant, Type, name_number},
};

use crate::{
    Element, Matrix, Vector,
    body::{At, Dense, HasElement, HasField, Memory, Strided, Within, type_identity, with_part},
};

/// A type whose values live in kernels: as locals, as parameters by value and results of funcs, as
/// parameters of kernels, as elements of tensors.
///
/// Numbers and bools have it, and tuples, arrays, [`Vector`]s and [`Matrix`]es of such. A struct of such
/// fields derives it, `#[derive(Clone, Copy, quadrants::KernelValue)]`; what else it takes is no part of the
/// stable interface.
///
/// # Safety
/// Derive it. Bodies of kernels find a value's scalars in memory by what stands here, unchecked: an implementation
/// is as the derived one is for a struct of these fields, in this order.
///
/// # Examples
/// ```
/// use quadrants_ir::types::Type;
/// use quadrants_program::{KernelValue, Vector};
/// assert_eq!(<(f32, Vector<f32, 3>)>::LAYOUT.leaves(), 4);
/// assert_eq!(<[u32; 2]>::LAYOUT.to_string(), "[u32; 2]");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of values in kernels",
    label = "not a value of kernels",
    note = "they are numbers, bools, tuples, arrays, `Vector`s, `Matrix`es, and structs that derive `KernelValue`"
)]
pub unsafe trait KernelValue: Copy + Send + Sync + 'static {
    /// What it is to a kernel.
    const LAYOUT: Type;

    /// A number that no other type has: two types may have one layout.
    #[doc(hidden)]
    const IDENTITY: u128;

    /// Where the components of such values lie, within a tensor of aggregates.
    #[doc(hidden)]
    type Parts: Copy;

    /// Where the elements of a tensor of such values lie.
    #[doc(hidden)]
    type Root: Copy;

    /// A value in a tensor's memory.
    #[doc(hidden)]
    type Spot: Copy;

    /// Gives the scalars that a value is made of, in order.
    #[doc(hidden)]
    fn give(self, scalars: &mut dyn FnMut(Const));

    /// The value made of such scalars' bits.
    #[doc(hidden)]
    fn take(bits: &mut dyn FnMut() -> u64) -> Self;

    /// Takes the components of `values` values per element.
    #[doc(hidden)]
    fn parts(values: usize, memory: &mut Memory<'_>) -> Self::Parts;

    /// Takes the components of a tensor.
    #[doc(hidden)]
    fn root(memory: &mut Memory<'_>) -> Self::Root;

    /// An element of a tensor.
    #[doc(hidden)]
    fn element(root: Self::Root, at: Option<usize>) -> Self::Spot;

    /// A value within an element.
    #[doc(hidden)]
    fn within(parts: Self::Parts, element: Option<usize>, choice: usize) -> Self::Spot;

    /// The value that is there.
    #[doc(hidden)]
    fn read(spot: Self::Spot) -> Self;

    /// Puts the value there.
    #[doc(hidden)]
    fn write(self, spot: Self::Spot);

    /// `==` in kernels: whether all numbers of the two are equal. `PartialEq` is not asked, since the IR compares
    /// the numbers.
    #[doc(hidden)]
    fn kernel_eq(self, other: Self) -> bool;

    /// The bytes of values that lie in tensors as they lie here.
    #[doc(hidden)]
    fn bytes(_values: &[Self]) -> Option<&[u8]> {
        None
    }
}

/// A constant as the IR has it.
#[must_use]
pub fn constant<T: KernelValue>(value: T) -> Constant {
    let mut scalars = Vec::new();
    value.give(&mut |scalar| scalars.push(scalar));
    Constant { ty: T::LAYOUT, scalars }
}

macro_rules! scalars {
    ($($ty:ty)*) => {$(
        // SAFETY: a scalar is one component, of its own type.
        unsafe impl KernelValue for $ty {
            const LAYOUT: Type = Type::Scalar(<$ty as Element>::TYPE);
            const IDENTITY: u128 = type_identity(stringify!($ty));
            type Parts = Strided<$ty>;
            type Root = Dense<$ty>;
            type Spot = At<$ty>;
            #[inline(always)]
            fn give(self, scalars: &mut dyn FnMut(Const)) {
                scalars(self.into());
            }
            #[inline(always)]
            fn take(bits: &mut dyn FnMut() -> u64) -> Self {
                <$ty as Element>::from_bits64(bits())
            }
            #[inline(always)]
            fn parts(values: usize, memory: &mut Memory<'_>) -> Strided<$ty> {
                Strided::take(values, memory)
            }
            #[inline(always)]
            fn root(memory: &mut Memory<'_>) -> Dense<$ty> {
                Dense::take(memory)
            }
            #[inline(always)]
            fn element(root: Dense<$ty>, at: Option<usize>) -> At<$ty> {
                root.at(at)
            }
            #[inline(always)]
            fn within(parts: Strided<$ty>, element: Option<usize>, choice: usize) -> At<$ty> {
                parts.at(element, choice)
            }
            #[inline(always)]
            fn read(spot: At<$ty>) -> Self {
                spot.read()
            }
            #[inline(always)]
            fn write(self, spot: At<$ty>) {
                spot.write(self);
            }
            #[inline(always)]
            fn kernel_eq(self, other: Self) -> bool {
                self == other
            }
            fn bytes(values: &[Self]) -> Option<&[u8]> {
                // SAFETY: scalars have no padding.
                Some(unsafe {
                    std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values))
                })
            }
        }
    )*};
}

scalars!(f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 usize bool);

/// What a type of several values has in common with all such: its tensors' memory is that of its parts.
macro_rules! of_parts {
    () => {
        type Root = Self::Parts;
        type Spot = Within<Self::Parts>;
        #[inline(always)]
        fn root(memory: &mut Memory<'_>) -> Self::Parts {
            Self::parts(1, memory)
        }
        #[inline(always)]
        fn element(root: Self::Parts, at: Option<usize>) -> Self::Spot {
            Within { parts: root, element: at, choice: 0 }
        }
        #[inline(always)]
        fn within(parts: Self::Parts, element: Option<usize>, choice: usize) -> Self::Spot {
            Within { parts, element, choice }
        }
    };
}

macro_rules! tuples {
    ($(($($name:ident $at:tt),+);)*) => {$(
        // SAFETY: as derived, of the fields in their order.
        unsafe impl<$($name: KernelValue),+> KernelValue for ($($name,)+) {
            const LAYOUT: Type = Type::Tuple(&[$($name::LAYOUT),+]);
            const IDENTITY: u128 = {
                let all = type_identity("tuple");
                $(let all = with_part(all, $name::IDENTITY);)+
                all
            };
            type Parts = ($($name::Parts,)+);
            of_parts!();
            #[inline(always)]
            fn give(self, scalars: &mut dyn FnMut(Const)) {
                $(self.$at.give(scalars);)+
            }
            #[inline(always)]
            fn take(bits: &mut dyn FnMut() -> u64) -> Self {
                ($($name::take(bits),)+)
            }
            #[inline(always)]
            fn parts(values: usize, memory: &mut Memory<'_>) -> Self::Parts {
                ($($name::parts(values, memory),)+)
            }
            #[inline(always)]
            fn read(spot: Self::Spot) -> Self {
                ($($name::read($name::within(spot.parts.$at, spot.element, spot.choice)),)+)
            }
            #[inline(always)]
            fn write(self, spot: Self::Spot) {
                $(self.$at.write($name::within(spot.parts.$at, spot.element, spot.choice));)+
            }
            #[inline(always)]
            fn kernel_eq(self, other: Self) -> bool {
                true $(& self.$at.kernel_eq(other.$at))+
            }
        }
        tuples!(fields ($($name),+) $($name $at),+);
    )*};
    (fields $all:tt $($name:ident $at:tt),+) => {
        $(tuples!(field $all $name $at);)+
    };
    (field ($($all:ident),+) $name:ident $at:tt) => {
        // SAFETY: the field of this number, where it lies.
        unsafe impl<$($all: KernelValue),+> HasField<{ name_number(stringify!($at)) }> for ($($all,)+) {
            type Of = $name;
            #[inline(always)]
            fn field(spot: Self::Spot) -> $name::Spot {
                $name::within(spot.parts.$at, spot.element, spot.choice)
            }
        }
    };
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

// SAFETY: the components of an element, each `N` times as often.
unsafe impl<T: KernelValue, const N: usize> KernelValue for [T; N] {
    const LAYOUT: Type = Type::Array(&T::LAYOUT, N);
    const IDENTITY: u128 = with_part(with_part(type_identity("array"), T::IDENTITY), N as u128);
    type Parts = T::Parts;
    of_parts!();
    #[inline(always)]
    fn give(self, scalars: &mut dyn FnMut(Const)) {
        self.into_iter().for_each(|element| element.give(scalars));
    }
    #[inline(always)]
    fn take(bits: &mut dyn FnMut() -> u64) -> Self {
        std::array::from_fn(|_| T::take(bits))
    }
    #[inline(always)]
    fn parts(values: usize, memory: &mut Memory<'_>) -> T::Parts {
        T::parts(values * N, memory)
    }
    #[inline(always)]
    fn read(spot: Self::Spot) -> Self {
        let Within { parts, element, choice } = spot;
        std::array::from_fn(|at| T::read(T::within(parts, element, choice * N + at)))
    }
    #[inline(always)]
    fn write(self, spot: Self::Spot) {
        let Within { parts, element, choice } = spot;
        for (at, value) in self.into_iter().enumerate() {
            value.write(T::within(parts, element, choice * N + at));
        }
    }
    #[inline(always)]
    fn kernel_eq(self, other: Self) -> bool {
        self.into_iter().zip(other).fold(true, |all, (a, b)| all & a.kernel_eq(b))
    }
}

// SAFETY: the index is within the array, and counts values of its element's type.
unsafe impl<T: KernelValue, const N: usize> HasElement<usize> for [T; N] {
    type Of = T;
    #[inline(always)]
    #[track_caller]
    fn element_of(spot: Self::Spot, at: usize) -> T::Spot {
        T::within(spot.parts, spot.element, spot.choose(at, N))
    }
}

/// A struct of one array, which is all there is to it.
macro_rules! wrappers {
    ($($name:ident [$($size:ident),+] $array:ty, $layout:expr;)*) => {$(
        // SAFETY: all there is to it is the array, whose memory is its own.
        unsafe impl<T: Element, $(const $size: usize),+> KernelValue for $name<T, $($size),+> {
            const LAYOUT: Type = $layout;
            const IDENTITY: u128 = {
                let all = with_part(type_identity(stringify!($name)), T::IDENTITY);
                $(let all = with_part(all, $size as u128);)+
                all
            };
            type Parts = <$array as KernelValue>::Parts;
            of_parts!();
            #[inline(always)]
            fn give(self, scalars: &mut dyn FnMut(Const)) {
                self.0.give(scalars);
            }
            #[inline(always)]
            fn take(bits: &mut dyn FnMut() -> u64) -> Self {
                Self(KernelValue::take(bits))
            }
            #[inline(always)]
            fn parts(values: usize, memory: &mut Memory<'_>) -> Self::Parts {
                <$array>::parts(values, memory)
            }
            #[inline(always)]
            fn read(spot: Self::Spot) -> Self {
                Self(<$array>::read(spot))
            }
            #[inline(always)]
            fn write(self, spot: Self::Spot) {
                self.0.write(spot);
            }
            #[inline(always)]
            fn kernel_eq(self, other: Self) -> bool {
                self.0.kernel_eq(other.0)
            }
        }

        // SAFETY: as above.
        unsafe impl<T: Element, $(const $size: usize),+> HasField<{ name_number("0") }>
            for $name<T, $($size),+>
        {
            type Of = $array;
            #[inline(always)]
            fn field(spot: Self::Spot) -> Self::Spot {
                spot
            }
        }
    )*};
}

wrappers! {
    Vector [N] [T; N], Type::Vector(T::TYPE, N);
    Matrix [R, C] [[T; C]; R], Type::Matrix(T::TYPE, R, C);
}

// SAFETY: as its array.
unsafe impl<T: Element, const N: usize> HasElement<usize> for Vector<T, N> {
    type Of = T;
    #[inline(always)]
    #[track_caller]
    fn element_of(spot: Self::Spot, at: usize) -> T::Spot {
        <[T; N]>::element_of(spot, at)
    }
}

// SAFETY: the row is within the matrix, and an array of columns.
unsafe impl<T: Element, const R: usize, const C: usize> HasElement<[usize; 2]> for Matrix<T, R, C> {
    type Of = T;
    #[inline(always)]
    #[track_caller]
    fn element_of(spot: Self::Spot, [row, column]: [usize; 2]) -> T::Spot {
        let choice = spot.choose(row, R);
        <[T; C]>::element_of(Within { choice, ..spot }, column)
    }
}
