//! [`KernelValue`]: the types of values in kernels, and their implementations for scalars, tuples, arrays, vectors and
//! matrices.

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
    body::{
        AggregateRef, Dense, HasElement, HasField, Memory, ScalarRef, Strided, type_identity,
        with_part,
    },
};

/// A type of values in kernels: of locals, of parameters and results of funcs, of kernel parameters by value, and of
/// tensor elements.
///
/// Implemented for numbers and bools, and for tuples, arrays, [`Vector`]s and [`Matrix`]es of such types. Derive it for
/// structs with such fields: `#[derive(Clone, Copy, quadrants::KernelValue)]`. The trait's other items are not part of
/// the stable interface.
///
/// # Safety
/// Do not implement it by hand; derive it. CPU bodies locate a value's scalars in memory by these items, unchecked. An
/// implementation must be equivalent to the derived one for a struct of the same fields in the same order.
///
/// # Examples
/// ```
/// use quadrants_ir::types::Type;
/// use quadrants_program::{KernelValue, Vector};
/// assert_eq!(<(f32, Vector<f32, 3>)>::LAYOUT.leaves(), 4);
/// assert_eq!(<[u32; 2]>::LAYOUT.to_string(), "[u32; 2]");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as a value in kernels",
    label = "not a kernel value",
    note = "kernel values are numbers, bools, tuples, arrays, `Vector`s, `Matrix`es, \
            and structs that derive `KernelValue`"
)]
pub unsafe trait KernelValue: Copy + Send + Sync + 'static {
    /// The type in the IR.
    const LAYOUT: Type;

    /// A number that identifies the type: different types may have equal layouts.
    #[doc(hidden)]
    const TYPE_IDENTITY: u128;

    /// Where the components of such values are, in a tensor of aggregates.
    #[doc(hidden)]
    type Components: Copy;

    /// Where the elements of a tensor of such values are.
    #[doc(hidden)]
    type Storage: Copy;

    /// The location of a value in a tensor's memory.
    #[doc(hidden)]
    type Location: Copy;

    /// Passes the scalars of the value to `scalars`, in order.
    #[doc(hidden)]
    fn push_scalars(self, scalars: &mut dyn FnMut(Const));

    /// Makes a value of scalars, whose bits `bits` returns in order.
    #[doc(hidden)]
    fn from_scalars(bits: &mut dyn FnMut() -> u64) -> Self;

    /// Takes the components of this type from `memory`. Each element has `values` values of this type.
    #[doc(hidden)]
    fn components(values: usize, memory: &mut Memory<'_>) -> Self::Components;

    /// Takes the components of a tensor of such values from `memory`.
    #[doc(hidden)]
    fn storage(memory: &mut Memory<'_>) -> Self::Storage;

    /// The location of element `at` of a tensor.
    #[doc(hidden)]
    fn element_location(storage: Self::Storage, at: Option<usize>) -> Self::Location;

    /// The location of value number `offset` of this type within an element.
    #[doc(hidden)]
    fn nested_location(
        components: Self::Components,
        element: Option<usize>,
        offset: usize,
    ) -> Self::Location;

    /// Reads the value at a location.
    #[doc(hidden)]
    fn read(location: Self::Location) -> Self;

    /// Writes the value to a location.
    #[doc(hidden)]
    fn write(self, location: Self::Location);

    /// `==` in kernels: whether all scalars are equal. It ignores the user's `PartialEq`, because the IR compares
    /// scalars.
    #[doc(hidden)]
    fn kernel_eq(self, other: Self) -> bool;

    /// The bytes of a slice of values, if they have the same layout in a tensor.
    #[doc(hidden)]
    fn bytes(_values: &[Self]) -> Option<&[u8]> {
        None
    }
}

/// A value as a constant of the IR.
#[must_use]
pub fn constant<T: KernelValue>(value: T) -> Constant {
    let mut scalars = Vec::new();
    value.push_scalars(&mut |scalar| scalars.push(scalar));
    Constant { ty: T::LAYOUT, scalars }
}

macro_rules! scalars {
    ($($ty:ty)*) => {$(
        // SAFETY: a scalar is one component of its own type.
        unsafe impl KernelValue for $ty {
            const LAYOUT: Type = Type::Scalar(<$ty as Element>::TYPE);
            const TYPE_IDENTITY: u128 = type_identity(stringify!($ty));
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

/// The items of [`KernelValue`] that are the same for all aggregates: their storage is their components.
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
        // SAFETY: as derived for a struct of these fields, in order.
        unsafe impl<$($name: KernelValue),+> KernelValue for ($($name,)+) {
            const LAYOUT: Type = Type::Tuple(&[$($name::LAYOUT),+]);
            const TYPE_IDENTITY: u128 = {
                let all = type_identity("tuple");
                $(let all = with_part(all, $name::TYPE_IDENTITY);)+
                all
            };
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
        // SAFETY: the location of the field with this number.
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

// SAFETY: the components of the element type, each with `N` times as many scalars.
unsafe impl<T: KernelValue, const N: usize> KernelValue for [T; N] {
    const LAYOUT: Type = Type::Array(&T::LAYOUT, N);
    const TYPE_IDENTITY: u128 =
        with_part(with_part(type_identity("array"), T::TYPE_IDENTITY), N as u128);
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

// SAFETY: the index is checked against the array's length, and counts values of the element type.
unsafe impl<T: KernelValue, const N: usize> HasElement<usize> for [T; N] {
    type Of = T;
    #[inline(always)]
    #[track_caller]
    fn element_of(location: Self::Location, at: usize) -> T::Location {
        T::nested_location(location.components, location.element, location.offset_of(at, N))
    }
}

/// Implements the traits for structs whose only field is an array.
macro_rules! wrappers {
    ($($name:ident [$($size:ident),+] $array:ty, $layout:expr;)*) => {$(
        // SAFETY: the array is the only field, so the memory is the array's.
        unsafe impl<T: Element, $(const $size: usize),+> KernelValue for $name<T, $($size),+> {
            const LAYOUT: Type = $layout;
            const TYPE_IDENTITY: u128 = {
                let all = with_part(type_identity(stringify!($name)), T::TYPE_IDENTITY);
                $(let all = with_part(all, $size as u128);)+
                all
            };
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

// SAFETY: as for its array.
unsafe impl<T: Element, const N: usize> HasElement<usize> for Vector<T, N> {
    type Of = T;
    #[inline(always)]
    #[track_caller]
    fn element_of(location: Self::Location, at: usize) -> T::Location {
        <[T; N]>::element_of(location, at)
    }
}

// SAFETY: `offset_of` checks the row, and the row is an array that checks the column.
unsafe impl<T: Element, const R: usize, const C: usize> HasElement<[usize; 2]> for Matrix<T, R, C> {
    type Of = T;
    #[inline(always)]
    #[track_caller]
    fn element_of(location: Self::Location, [row, column]: [usize; 2]) -> T::Location {
        let offset = location.offset_of(row, R);
        <[T; C]>::element_of(AggregateRef { offset, ..location }, column)
    }
}
