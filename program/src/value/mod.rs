//! [`KernelValue`]: the types of values in kernels. Scalars implement it in `element.rs`, and tuples, arrays,
//! vectors and matrices in `aggregates.rs`.

pub(crate) mod accumulate;
mod aggregates;
pub(crate) mod atomic;
pub(crate) mod callable;
pub(crate) mod element;
pub(crate) mod identity;
pub(crate) mod layout;
pub(crate) mod matrix;
pub(crate) mod memory;
pub(crate) mod numeric;
#[cfg(feature = "bytemuck")]
mod pod;
pub(crate) mod strided;
pub(crate) mod vector;

use quadrants_ir::{
    Const,
    types::{Constant, Type},
};

use identity::Identity;
use memory::Memory;

/// Implements `+=`, `-=`, `*=` and `/=` by the binary operators.
macro_rules! assign_operators {
    ($([$($generic:tt)*] $trait:ident<$other:ty> for $of:ty: $method:ident, $operator:tt;)*) => {$(
        impl<$($generic)*> $trait<$other> for $of {
            #[inline(always)]
            #[track_caller]
            fn $method(&mut self, other: $other) {
                *self = *self $operator other;
            }
        }
    )*};
}
use assign_operators;

/// A type of values in kernels: of locals, of parameters and results of funcs, of kernel parameters by value, and of
/// tensor elements.
///
/// Implemented for numbers and bools, and for tuples, arrays, [`Vector`](crate::Vector)s and
/// [`Matrix`](crate::Matrix)es of such types. Derive it for structs with such fields, and for enums without fields:
/// `#[derive(Clone, Copy, quadrants::KernelValue)]`. The trait's other items are not part of the stable interface.
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
            and structs and enums that derive `KernelValue`"
)]
pub unsafe trait KernelValue: Copy + Send + Sync + 'static {
    /// The type in the IR.
    const LAYOUT: Type;

    /// A number that identifies the type: different types may have equal layouts.
    #[doc(hidden)]
    const TYPE_IDENTITY: &'static Identity;

    /// The type itself. Of a type that is not a kernel value, this is an error type, about which rustc reports nothing
    /// else.
    #[doc(hidden)]
    type Same;

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

    /// The bytes of a slice of values, if they have the same layout in a tensor and any bytes are a value.
    #[doc(hidden)]
    fn bytes_mut(_values: &mut [Self]) -> Option<&mut [u8]> {
        None
    }
}

/// A type with a field or tuple member whose name has the number `NAME`.
///
/// # Safety
/// `field` must return the location of that field of the value at `location`.
pub unsafe trait HasField<const NAME: u64> {
    /// The field's type.
    type Of: KernelValue;
    /// The type of the value's location.
    type Whole;

    /// The location of the field.
    fn field(location: Self::Whole) -> <Self::Of as KernelValue>::Location;
}

/// A type with elements that are indexed by `I`: an array, vector or matrix.
///
/// # Safety
/// `element_of` must return the location of that element of the value at `location`, and panic if there is none.
pub unsafe trait HasElement<I>: KernelValue {
    /// The type of the elements.
    type Of: KernelValue;

    /// The location of the element.
    ///
    /// # Panics
    /// If the index is out of range.
    #[track_caller]
    fn element_of(location: Self::Location, at: I) -> <Self::Of as KernelValue>::Location;
}

/// A value that is a constant of the IR.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as a value in kernels",
    label = "not a kernel value",
    note = "kernel values are numbers, bools, tuples, arrays, `Vector`s, `Matrix`es, \
            and structs and enums that derive `KernelValue`"
)]
pub trait ConstantValue {
    /// The constant.
    fn constant(self) -> Constant;
}

#[diagnostic::do_not_recommend]
impl<T: KernelValue> ConstantValue for T {
    fn constant(self) -> Constant {
        let mut scalars = Vec::new();
        self.push_scalars(&mut |scalar| scalars.push(scalar));
        Constant { ty: T::LAYOUT, scalars }
    }
}

/// What emitted code has in place of the constant of an unknown name. The code does not compile, because rustc reports
/// the name elsewhere.
#[derive(Debug)]
pub struct UnknownConstant;

impl ConstantValue for UnknownConstant {
    fn constant(self) -> Constant {
        Constant { ty: Type::Tuple(&[]), scalars: Vec::new() }
    }
}

/// A value as a constant of the IR.
#[must_use]
pub fn constant<T: ConstantValue>(value: T) -> Constant {
    value.constant()
}
