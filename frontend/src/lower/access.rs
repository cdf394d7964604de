//! Loads, stores and atomics of scalars in tensors and shared arrays.

use quadrants_ir::{
    Array, AtomicOp, Element, ExprId, ExprKind as Ir, ScalarType, SiteKind, Stmt, types::Type,
};

use super::{Lowerer, Result, scope::Binding};
use crate::syntax::{Expr, ExprKind, Span};

impl Lowerer {
    /// The array of scalars with the name `base`, which is indexed with `rank` indices, and its element type.
    pub(super) fn array(&self, base: &str, rank: usize, span: Span) -> Result<(Array, ScalarType)> {
        let (array, elem, dims) = match self.frame.lookup(base) {
            Some(Binding::Tensor { param, elem, .. }) => {
                (Array::Tensor(param), elem, self.rank(param).into())
            }
            Some(Binding::Shared { array, elem, rank, .. }) => (Array::Shared(array), elem, rank),
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

    fn element(&mut self, array: Array, index: Vec<ExprId>, span: Span) -> Element {
        Element { array, index, site: self.add_site(SiteKind::Index(array), span) }
    }

    pub(super) fn load(
        &mut self,
        array: Array,
        elem: ScalarType,
        index: Vec<ExprId>,
        span: Span,
    ) -> ExprId {
        let element = self.element(array, index, span);
        self.emit.effect("element", elem, Ir::Load(element))
    }

    pub(super) fn store(&mut self, array: Array, index: Vec<ExprId>, value: ExprId, span: Span) {
        let element = self.element(array, index, span);
        self.emit.stmt(Stmt::Store { element, value });
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
        Ir::Atomic { op, element: self.element(array, index, span), expected, value }
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
