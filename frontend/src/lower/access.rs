//! Loads, stores and atomics of scalars in tensors and shared arrays.

use quadrants_ir::{
    AtomicOp, ExprId, ExprKind as Ir, LocalId, ParamId, ScalarType, SiteId, SiteKind, Stmt,
    types::Type,
};

use super::{Lowerer, Result, scope::Binding};
use crate::syntax::{Expr, ExprKind, Span};

#[derive(Clone, Copy)]
pub(super) enum Array {
    Tensor(ParamId),
    Shared(LocalId),
}

impl Lowerer {
    /// The array of scalars with the name `base`, which is indexed with `rank` indices, and its element type.
    pub(super) fn array(&self, base: &str, rank: usize, span: Span) -> Result<(Array, ScalarType)> {
        let (array, elem, dims) = match self.frame.lookup(base) {
            Some(Binding::Tensor { param, elem, .. }) => {
                (Array::Tensor(param), elem, self.rank(param).into())
            }
            Some(Binding::Shared { array, rank, .. }) => {
                (Array::Shared(array), Type::Scalar(self.emit.locals[array].ty), rank)
            }
            _ => return Err(self.unknown(format!("tensor `{base}`"), span)),
        };
        self.check_rank(base, dims, rank, span)?;
        match elem {
            Type::Scalar(elem) => Ok((array, elem)),
            _ => Err(self.type_error(span, format!("expected a number, found {elem}"))),
        }
    }

    pub(super) fn check_rank(
        &self,
        base: &str,
        dims: usize,
        rank: usize,
        span: Span,
    ) -> Result<()> {
        if dims == rank {
            return Ok(());
        }
        Err(self.type_error(span, format!("`{base}` has {dims} dimensions, not {rank}")))
    }

    pub(super) fn index(&mut self, index: &[Expr]) -> Result<Vec<ExprId>> {
        let list: Vec<_> = index.iter().map(|e| (e, ScalarType::U64)).collect();
        self.scalars(&list)
    }

    fn element_site(&mut self, array: Array, span: Span) -> SiteId {
        let kind = match array {
            Array::Tensor(tensor) => SiteKind::Index(tensor),
            Array::Shared(array) => SiteKind::SharedIndex(array),
        };
        self.add_site(kind, span)
    }

    pub(super) fn load(
        &mut self,
        array: Array,
        elem: ScalarType,
        index: Vec<ExprId>,
        span: Span,
    ) -> ExprId {
        let site = self.element_site(array, span);
        let kind = match array {
            Array::Tensor(tensor) => Ir::Load { tensor, index, site },
            Array::Shared(array) => Ir::SharedLoad { array, index, site },
        };
        self.emit.effect("element", elem, kind)
    }

    pub(super) fn store(&mut self, array: Array, index: Vec<ExprId>, value: ExprId, span: Span) {
        let site = self.element_site(array, span);
        self.emit.stmt(match array {
            Array::Tensor(tensor) => Stmt::Store { tensor, index, value, site },
            Array::Shared(array) => Stmt::SharedStore { array, index, value, site },
        });
    }

    /// An atomic operation that is not yet emitted.
    pub(super) fn atomic_op(
        &mut self,
        op: AtomicOp,
        array: Array,
        index: Vec<ExprId>,
        (expected, value): (Option<ExprId>, ExprId),
        span: Span,
    ) -> Ir {
        let site = self.element_site(array, span);
        match array {
            Array::Tensor(tensor) => Ir::Atomic { op, tensor, index, expected, value, site },
            Array::Shared(array) => Ir::SharedAtomic { op, array, index, expected, value, site },
        }
    }

    /// The type and the operation of an atomic expression that is not yet emitted.
    pub(super) fn atomic(&mut self, expr: &Expr) -> Result<(ScalarType, Ir)> {
        let ExprKind::Atomic { op, place, expected, value } = &expr.kind else {
            return Err(self.type_error(expr.span, "this is not an atomic"));
        };
        let operands = (expected.as_deref(), &**value);
        let ExprKind::Index { base, index } = &place.kind else {
            return self.atomic_element(*op, place, operands, expr.span);
        };
        let (array, elem) = self.array(base, index.len(), expr.span)?;
        let mut list: Vec<_> = index.iter().map(|e| (e, ScalarType::U64)).collect();
        list.extend(expected.iter().map(|expected| (&**expected, elem)));
        list.push((value, elem));
        let mut index = self.scalars(&list)?;
        let Some(value) = index.pop() else {
            return Err(self.type_error(expr.span, "an atomic needs a value"));
        };
        let expected = expected.as_ref().and_then(|_| index.pop());
        Ok((elem, self.atomic_op(*op, array, index, (expected, value), expr.span)))
    }
}
