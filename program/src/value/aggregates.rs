//! [`KernelValue`] of aggregates: tuples, arrays, vectors and matrices, and of `Ordering`.

use std::cmp::Ordering;

use quadrants_ir::{
    Const,
    types::{ORDERING, Type, name_number},
};

use super::{
    HasElement, HasField, KernelValue,
    element::Element,
    identity::{Identity, TypePart},
    matrix::Matrix,
    memory::{AggregateRef, Memory},
    vector::Vector,
};
use crate::device_error::check_indices;

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
        #[diagnostic::do_not_recommend]
        unsafe impl<$($name: KernelValue),+> KernelValue for ($($name,)+) {
            const LAYOUT: Type = Type::Tuple(&[$($name::LAYOUT),+]);
            const TYPE_IDENTITY: &'static Identity =
                &Identity { name: "tuple", parts: &[$(TypePart::Type($name::TYPE_IDENTITY)),+] };
            type Same = Self;
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
            type Whole = <Self as KernelValue>::Location;
            #[inline(always)]
            fn field(location: Self::Whole) -> $name::Location {
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
    const TYPE_IDENTITY: &'static Identity = &Identity {
        name: "array",
        parts: &[TypePart::Type(T::TYPE_IDENTITY), TypePart::Number(N as u128)],
    };
    type Same = Self;
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
            const TYPE_IDENTITY: &'static Identity = &Identity {
                name: stringify!($name),
                parts: &[TypePart::Type(T::TYPE_IDENTITY), $(TypePart::Number($size as u128)),+],
            };
            type Same = Self;
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
            type Whole = <Self as KernelValue>::Location;
            #[inline(always)]
            fn field(location: Self::Whole) -> Self::Whole {
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
        let [row, column] = check_indices([row, column], [R, C]);
        let offset = location.offset_of(row, R);
        <[T; C]>::element_of(AggregateRef { offset, ..location }, column)
    }
}

// SAFETY: as derived for an enum without fields. A number that is no discriminant is read as a variant.
#[diagnostic::do_not_recommend]
unsafe impl KernelValue for Ordering {
    const LAYOUT: Type = ORDERING;
    const TYPE_IDENTITY: &'static Identity = &Identity { name: "Ordering", parts: &[] };
    type Same = Self;
    type Components = (<i32 as KernelValue>::Components,);
    aggregate_items!();
    #[inline(always)]
    fn push_scalars(self, scalars: &mut dyn FnMut(Const)) {
        (self as i32).push_scalars(scalars);
    }
    #[inline(always)]
    fn from_scalars(bits: &mut dyn FnMut() -> u64) -> Self {
        i32::from_scalars(bits).cmp(&0)
    }
    #[inline(always)]
    fn components(values: usize, memory: &mut Memory<'_>) -> Self::Components {
        (i32::components(values, memory),)
    }
    #[inline(always)]
    fn read(location: Self::Location) -> Self {
        let AggregateRef { components, element, offset } = location;
        i32::read(i32::nested_location(components.0, element, offset)).cmp(&0)
    }
    #[inline(always)]
    fn write(self, location: Self::Location) {
        let AggregateRef { components, element, offset } = location;
        (self as i32).write(i32::nested_location(components.0, element, offset));
    }
    #[inline(always)]
    fn kernel_eq(self, other: Self) -> bool {
        self == other
    }
}
