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
    body::{AggregateRef, Dense, HasElement, HasField, Memory, ScalarRef, Strided},
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

    /// Where the components of such values lie, within a tensor of aggregates.
    #[doc(hidden)]
    type Components: Copy;

    /// Where the elements of a tensor of such values lie.
    #[doc(hidden)]
    type Storage: Copy;

    /// A value in a tensor's memory.
    #[doc(hidden)]
    type Location: Copy;

    /// Gives the scalars that a value is made of, in order.
    #[doc(hidden)]
    fn push_scalars(self, scalars: &mut dyn FnMut(Const));

    /// The value made of such scalars' bits.
    #[doc(hidden)]
    fn from_scalars(bits: &mut dyn FnMut() -> u64) -> Self;

    /// Takes the components of `values` values per element.
    #[doc(hidden)]
    fn components(values: usize, memory: &mut Memory<'_>) -> Self::Components;

    /// Takes the components of a tensor.
    #[doc(hidden)]
    fn storage(memory: &mut Memory<'_>) -> Self::Storage;

    /// An element of a tensor.
    #[doc(hidden)]
    fn element_location(storage: Self::Storage, at: Option<usize>) -> Self::Location;

    /// A value within an element.
    #[doc(hidden)]
    fn nested_location(
        components: Self::Components,
        element: Option<usize>,
        offset: usize,
    ) -> Self::Location;

    /// The value that is there.
    #[doc(hidden)]
    fn read(location: Self::Location) -> Self;

    /// Puts the value there.
    #[doc(hidden)]
    fn write(self, location: Self::Location);

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
    value.push_scalars(&mut |scalar| scalars.push(scalar));
    Constant { ty: T::LAYOUT, scalars }
}

macro_rules! scalars {
    ($($ty:ty)*) => {$(
        // SAFETY: a scalar is one component, of its own type.
        unsafe impl KernelValue for $ty {
            const LAYOUT: Type = Type::Scalar(<$ty as Element>::TYPE);
            type Components = Strided<$ty>;
            type Storage = Dense<$ty>;
            type Location = ScalarRef<$ty>;
            #[inline(always)]
            fn push_scalars(self, scalars: &mut dyn FnMut(Const)) {
                scalars(self.into());
            }
            #[inline(always)]
            fn from_scalars(bits: &mut dyn FnMut() -> u64) -> Self {
                <$ty as Element>::from_bits64(bits())
            }
            #[inline(always)]
            fn components(values: usize, memory: &mut Memory<'_>) -> Strided<$ty> {
                Strided::take(values, memory)
            }
            #[inline(always)]
            fn storage(memory: &mut Memory<'_>) -> Dense<$ty> {
                Dense::take(memory)
            }
            #[inline(always)]
            fn element_location(storage: Dense<$ty>, at: Option<usize>) -> ScalarRef<$ty> {
                storage.at(at)
            }
            #[inline(always)]
            fn nested_location(components: Strided<$ty>, element: Option<usize>, offset: usize) -> ScalarRef<$ty> {
                components.at(element, offset)
            }
            #[inline(always)]
            fn read(location: ScalarRef<$ty>) -> Self {
                location.read()
            }
            #[inline(always)]
            fn write(self, location: ScalarRef<$ty>) {
                location.write(self);
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

/// What a type of several values has in common with all such: its tensors' memory is that of its components.
macro_rules! aggregate_items {
    () => {
        type Storage = Self::Components;
        type Location = AggregateRef<Self::Components>;
        #[inline(always)]
        fn storage(memory: &mut Memory<'_>) -> Self::Components {
            Self::components(1, memory)
        }
        #[inline(always)]
        fn element_location(storage: Self::Components, at: Option<usize>) -> Self::Location {
            AggregateRef { components: storage, element: at, offset: 0 }
        }
        #[inline(always)]
        fn nested_location(
            components: Self::Components,
            element: Option<usize>,
            offset: usize,
        ) -> Self::Location {
            AggregateRef { components, element, offset }
        }
    };
}

macro_rules! tuples {
    ($(($($name:ident $at:tt),+);)*) => {$(
        // SAFETY: as derived, of the fields in their order.
        unsafe impl<$($name: KernelValue),+> KernelValue for ($($name,)+) {
            const LAYOUT: Type = Type::Tuple(&[$($name::LAYOUT),+]);
            type Components = ($($name::Components,)+);
            aggregate_items!();
            #[inline(always)]
            fn push_scalars(self, scalars: &mut dyn FnMut(Const)) {
                $(self.$at.push_scalars(scalars);)+
            }
            #[inline(always)]
            fn from_scalars(bits: &mut dyn FnMut() -> u64) -> Self {
                ($($name::from_scalars(bits),)+)
            }
            #[inline(always)]
            fn components(values: usize, memory: &mut Memory<'_>) -> Self::Components {
                ($($name::components(values, memory),)+)
            }
            #[inline(always)]
            fn read(location: Self::Location) -> Self {
                ($($name::read($name::nested_location(location.components.$at, location.element, location.offset)),)+)
            }
            #[inline(always)]
            fn write(self, location: Self::Location) {
                $(self.$at.write($name::nested_location(location.components.$at, location.element, location.offset));)+
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
            fn field(location: Self::Location) -> $name::Location {
                $name::nested_location(location.components.$at, location.element, location.offset)
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
    type Components = T::Components;
    aggregate_items!();
    #[inline(always)]
    fn push_scalars(self, scalars: &mut dyn FnMut(Const)) {
        self.into_iter().for_each(|element| element.push_scalars(scalars));
    }
    #[inline(always)]
    fn from_scalars(bits: &mut dyn FnMut() -> u64) -> Self {
        std::array::from_fn(|_| T::from_scalars(bits))
    }
    #[inline(always)]
    fn components(values: usize, memory: &mut Memory<'_>) -> T::Components {
        T::components(values * N, memory)
    }
    #[inline(always)]
    fn read(location: Self::Location) -> Self {
        let AggregateRef { components, element, offset } = location;
        std::array::from_fn(|at| T::read(T::nested_location(components, element, offset * N + at)))
    }
    #[inline(always)]
    fn write(self, location: Self::Location) {
        let AggregateRef { components, element, offset } = location;
        for (at, value) in self.into_iter().enumerate() {
            value.write(T::nested_location(components, element, offset * N + at));
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
    fn element_of(location: Self::Location, at: usize) -> T::Location {
        T::nested_location(location.components, location.element, location.offset_of(at, N))
    }
}

/// A struct of one array, which is all there is to it.
macro_rules! wrappers {
    ($($name:ident [$($size:ident),+] $array:ty, $layout:expr;)*) => {$(
        // SAFETY: all there is to it is the array, whose memory is its own.
        unsafe impl<T: Element, $(const $size: usize),+> KernelValue for $name<T, $($size),+> {
            const LAYOUT: Type = $layout;
            type Components = <$array as KernelValue>::Components;
            aggregate_items!();
            #[inline(always)]
            fn push_scalars(self, scalars: &mut dyn FnMut(Const)) {
                self.0.push_scalars(scalars);
            }
            #[inline(always)]
            fn from_scalars(bits: &mut dyn FnMut() -> u64) -> Self {
                Self(KernelValue::from_scalars(bits))
            }
            #[inline(always)]
            fn components(values: usize, memory: &mut Memory<'_>) -> Self::Components {
                <$array>::components(values, memory)
            }
            #[inline(always)]
            fn read(location: Self::Location) -> Self {
                Self(<$array>::read(location))
            }
            #[inline(always)]
            fn write(self, location: Self::Location) {
                self.0.write(location);
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
            fn field(location: Self::Location) -> Self::Location {
                location
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
    fn element_of(location: Self::Location, at: usize) -> T::Location {
        <[T; N]>::element_of(location, at)
    }
}

// SAFETY: the row is within the matrix, and an array of columns.
unsafe impl<T: Element, const R: usize, const C: usize> HasElement<[usize; 2]> for Matrix<T, R, C> {
    type Of = T;
    #[inline(always)]
    #[track_caller]
    fn element_of(location: Self::Location, [row, column]: [usize; 2]) -> T::Location {
        let offset = location.offset_of(row, R);
        <[T; C]>::element_of(AggregateRef { offset, ..location }, column)
    }
}
