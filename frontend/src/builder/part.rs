//! Tensors of aggregates in the builder, and parts of their elements.

use quadrants_ir::{AtomicOp, ScalarType, types::Type};

use super::{
    state::{KernelBuilder, Value, caller},
    tensor::{Indices, TensorParam},
    value::Operand,
};
use crate::misuse::Misuse;
use crate::syntax::{Expr, ExprKind, StmtKind};

/// A tensor parameter whose elements are aggregates.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'b> {
    builder: &'b KernelBuilder,
    tensor: TensorParam<'b>,
    ty: Type,
}

/// An element of such a tensor, or a part of one.
#[derive(Clone, Debug)]
pub struct Part<'b> {
    builder: &'b KernelBuilder,
    place: Expr,
    /// `None` if the part does not exist; the error has been reported.
    ty: Option<Type>,
}

impl<'b> Elements<'b> {
    pub(super) fn new(builder: &'b KernelBuilder, tensor: TensorParam<'b>, ty: Type) -> Self {
        Self { builder, tensor, ty }
    }

    /// The number of elements, of type `u64`.
    #[must_use]
    #[track_caller]
    #[allow(clippy::len_without_is_empty)] // a value of the kernel, not of Rust
    pub fn len(self) -> Value<'b> {
        self.tensor.len()
    }

    /// The extent along an axis, of type `u64`.
    #[must_use]
    #[track_caller]
    pub fn extent(self, axis: u8) -> Value<'b> {
        self.tensor.extent(axis)
    }

    /// The element at an index.
    #[must_use]
    #[track_caller]
    pub fn at(self, index: impl Indices<'b>) -> Part<'b> {
        let place = self.tensor.place(index);
        Part { builder: self.builder, place, ty: Some(self.ty) }
    }
}

impl<'b> Part<'b> {
    /// The field with this name; for a tuple, the part with this number.
    #[must_use]
    #[track_caller]
    pub fn field(self, name: &str) -> Self {
        let part = self.ty.and_then(|ty| ty.field(name)).map(|(ty, _)| ty);
        let ty = self.checked_part(part, name);
        let kind = ExprKind::Field { value: Box::new(self.place), name: name.to_owned() };
        Self { place: Expr { kind, span: caller() }, ty, ..self }
    }

    /// The element of an array or a vector, or of a matrix by row and column.
    #[must_use]
    #[track_caller]
    pub fn item(self, index: impl Indices<'b>) -> Self {
        let values = index.values(self.builder);
        let part = self.ty.and_then(|ty| ty.element(values.len())).map(|(ty, _)| ty);
        let ty = self.checked_part(part, "[…]");
        let mut index = Vec::with_capacity(values.len());
        for value in values {
            index.push(self.builder.operand(value, ScalarType::U64));
        }
        let kind = ExprKind::Element { value: Box::new(self.place), index };
        Self { place: Expr { kind, span: caller() }, ty, ..self }
    }

    /// Reads a part that is a number or a bool.
    #[must_use]
    #[track_caller]
    pub fn load(self) -> Value<'b> {
        let ty = self.scalar();
        self.builder.compute("part", self.place.kind, ty)
    }

    /// Writes a part that is a number or a bool.
    #[track_caller]
    pub fn store(self, value: impl Operand<'b>) {
        let value = self.builder.operand(value, self.scalar());
        self.builder.stmt(StmtKind::Assign { target: self.place, op: None, value });
    }

    /// Adds to a part atomically; returns the old value.
    #[track_caller]
    pub fn atomic_add(self, value: impl Operand<'b>) -> Value<'b> {
        self.atomic(AtomicOp::Add, value)
    }

    /// Stores the minimum of a part and `value` atomically; returns the old value.
    #[track_caller]
    pub fn atomic_min(self, value: impl Operand<'b>) -> Value<'b> {
        self.atomic(AtomicOp::Min, value)
    }

    /// Stores the maximum of a part and `value` atomically; returns the old value.
    #[track_caller]
    pub fn atomic_max(self, value: impl Operand<'b>) -> Value<'b> {
        self.atomic(AtomicOp::Max, value)
    }

    #[track_caller]
    fn atomic(self, op: AtomicOp, value: impl Operand<'b>) -> Value<'b> {
        let ty = self.scalar();
        self.builder.check_atomic(op, ty);
        let value = Box::new(self.builder.operand(value, ty));
        let kind = ExprKind::Atomic { op, place: Box::new(self.place), expected: None, value };
        self.builder.compute("old", kind, ty)
    }

    /// The type of a part; reports an error if there is none.
    #[track_caller]
    fn checked_part(&self, part: Option<Type>, name: &str) -> Option<Type> {
        if let (Some(ty), None) = (self.ty, part) {
            self.builder.misuse(Misuse::Part { ty, part: name.to_owned() });
        }
        part
    }

    #[track_caller]
    fn scalar(&self) -> ScalarType {
        match self.ty {
            Some(Type::Scalar(ty)) => ty,
            Some(ty) => {
                self.builder.misuse(Misuse::Parts { ty });
                ScalarType::I32
            }
            None => ScalarType::I32,
        }
    }
}
