//! Tensor parameters of the builder: extents, elements, atomics.

use quadrants_ir::{AtomicOp, ScalarType};

use super::{
    state::{KernelBuilder, Value, caller, literal},
    value::Operand,
};
use crate::misuse::Misuse;
use crate::syntax::{Expr, ExprKind, StmtKind};

/// A tensor parameter of a kernel being built.
#[derive(Clone, Copy, Debug)]
pub struct TensorParam<'b> {
    builder: &'b KernelBuilder,
    number: u32,
    elem: ScalarType,
    rank: u8,
}

/// One [`Operand`] of type `u64`, or one per dimension: the indices of an element, or the extents of a grid.
pub trait Indices<'b> {
    /// The values in `builder`.
    fn values(self, builder: &'b KernelBuilder) -> Vec<Value<'b>>;
}

impl<'b, T: Operand<'b>> Indices<'b> for T {
    fn values(self, builder: &'b KernelBuilder) -> Vec<Value<'b>> {
        vec![self.into_value(builder)]
    }
}

impl<'b, T: Operand<'b>, const N: usize> Indices<'b> for [T; N] {
    fn values(self, builder: &'b KernelBuilder) -> Vec<Value<'b>> {
        self.into_iter().map(|value| value.into_value(builder)).collect()
    }
}

impl<'b> TensorParam<'b> {
    pub(super) fn new(builder: &'b KernelBuilder, number: u32, elem: ScalarType, rank: u8) -> Self {
        Self { builder, number, elem, rank }
    }

    /// The type of an element.
    #[must_use]
    pub fn elem(self) -> ScalarType {
        self.elem
    }

    /// The number of elements, of type `u64`.
    #[must_use]
    #[track_caller]
    #[allow(clippy::len_without_is_empty)] // a value of the kernel, not of Rust
    pub fn len(self) -> Value<'b> {
        let kind = ExprKind::Len { base: self.name() };
        self.builder.compute("len", kind, ScalarType::U64)
    }

    /// The extent along an axis, of type `u64`.
    #[must_use]
    #[track_caller]
    pub fn extent(self, axis: u8) -> Value<'b> {
        if axis >= self.rank {
            self.builder.misuse(Misuse::Axis { axis, rank: self.rank });
        }
        let axis = Box::new(literal(axis.into()));
        let kind = ExprKind::Extent { base: self.name(), axis };
        self.builder.compute("extent", kind, ScalarType::U64)
    }

    /// Reads an element.
    #[must_use]
    #[track_caller]
    pub fn load(self, index: impl Indices<'b>) -> Value<'b> {
        let place = self.place(index);
        self.builder.compute("element", place.kind, self.elem)
    }

    /// Writes an element.
    #[track_caller]
    pub fn store(self, index: impl Indices<'b>, value: impl Operand<'b>) {
        let value = self.builder.operand(value, self.elem);
        let target = self.place(index);
        self.builder.stmt(StmtKind::Assign { target, op: None, value });
    }

    /// Adds to an element atomically; returns the old value.
    #[track_caller]
    pub fn atomic_add(self, index: impl Indices<'b>, value: impl Operand<'b>) -> Value<'b> {
        self.atomic(AtomicOp::Add, index, value)
    }

    /// Stores the minimum of an element and `value` atomically; returns the old value.
    #[track_caller]
    pub fn atomic_min(self, index: impl Indices<'b>, value: impl Operand<'b>) -> Value<'b> {
        self.atomic(AtomicOp::Min, index, value)
    }

    /// Stores the maximum of an element and `value` atomically; returns the old value.
    #[track_caller]
    pub fn atomic_max(self, index: impl Indices<'b>, value: impl Operand<'b>) -> Value<'b> {
        self.atomic(AtomicOp::Max, index, value)
    }

    #[track_caller]
    fn atomic(self, op: AtomicOp, index: impl Indices<'b>, value: impl Operand<'b>) -> Value<'b> {
        self.builder.check_atomic(op, self.elem);
        let place = Box::new(self.place(index));
        let value = Box::new(self.builder.operand(value, self.elem));
        let kind = ExprKind::Atomic { op, place, expected: None, value };
        self.builder.compute("old", kind, self.elem)
    }

    #[track_caller]
    pub(super) fn place(self, index: impl Indices<'b>) -> Expr {
        let index = self.index(index);
        Expr { kind: ExprKind::Index { base: self.name(), index }, span: caller() }
    }

    #[track_caller]
    fn index(self, index: impl Indices<'b>) -> Vec<Expr> {
        let values = index.values(self.builder);
        if values.len() != usize::from(self.rank) {
            let found = values.len();
            self.builder.misuse(Misuse::Rank { expected: self.rank, found });
        }
        let mut exprs = Vec::with_capacity(values.len());
        for value in values {
            exprs.push(self.builder.operand(value, ScalarType::U64));
        }
        exprs
    }

    fn name(self) -> String {
        self.builder.name_of(self.number)
    }
}

impl KernelBuilder {
    #[track_caller]
    pub(super) fn check_atomic(&self, op: AtomicOp, ty: ScalarType) {
        let defined = match op {
            AtomicOp::Add => !matches!(ty, ScalarType::Bool | ScalarType::I64 | ScalarType::F64),
            AtomicOp::Min | AtomicOp::Max => ty.is_int() || ty.is_float(),
            AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => ty.is_int() || ty == ScalarType::Bool,
            AtomicOp::Exchange | AtomicOp::CompareExchange => ty.is_int() || ty.is_float(),
        };
        if !defined {
            self.misuse(Misuse::Undefined { operation: op.name(), ty });
        }
    }
}
