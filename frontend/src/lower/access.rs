//! Loads, stores and atomics of scalars in tensors and shared arrays.

use quadrants_ir::{
    Array, AtomicOp, Element, ExprId, ExprKind as Ir, ScalarType, SiteKind, Stmt, types::Type,
};

use super::{Lowerer, Result, scope::Binding};
use crate::syntax::{Expr, ExprKind, Span};

/// The type of an index.
const INDEX_TYPE: Type = Type::Scalar(ScalarType::U64);

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
            _ => Err(self.inconsistent(span, format!("expected a number, found {elem}"))),
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
        Err(self.inconsistent(span, format!("`{base}` has {dims} dimensions, not {rank}")))
    }

    /// The length of the array, if the indices of an access are one: `c` in `a[c]`.
    fn array_index(&self, index: &[Expr]) -> Option<usize> {
        let [array] = index else { return None };
        match self.infer_type(array)? {
            Type::Array(_, len) => Some(len),
            _ => None,
        }
    }

    /// The number of indices of an access.
    pub(super) fn index_count(&self, index: &[Expr]) -> usize {
        self.array_index(index).unwrap_or(index.len())
    }

    /// The indices of an access.
    pub(super) fn index(&mut self, index: &[Expr]) -> Result<Vec<ExprId>> {
        Ok(self.index_and(index, &[])?.0)
    }

    /// The indices of an access, and then these scalars.
    fn index_and(
        &mut self,
        index: &[Expr],
        rest: &[(&Expr, ScalarType)],
    ) -> Result<(Vec<ExprId>, Vec<ExprId>)> {
        let Some(len) = self.array_index(index) else {
            let list: Vec<_> =
                index.iter().map(|e| (e, ScalarType::U64)).chain(rest.iter().copied()).collect();
            let mut values = self.scalars(&list)?;
            let rest = values.split_off(index.len());
            return Ok((values, rest));
        };
        let array = self.value_as(&index[0], Type::Array(&INDEX_TYPE, len))?;
        let index = array.leaves.into_iter().map(|leaf| self.emit.reuse(leaf)).collect();
        Ok((index, self.scalars(rest)?))
    }

    /// A value that is evaluated before the indices of an access.
    pub(super) fn value_and_index(
        &mut self,
        value: (&Expr, ScalarType),
        index: &[Expr],
    ) -> Result<(ExprId, Vec<ExprId>)> {
        if self.array_index(index).is_some() {
            let value = self.scalar_as(value.0, value.1)?;
            let value = self.emit.reuse(value);
            return Ok((value, self.index(index)?));
        }
        let list: Vec<_> =
            [value].into_iter().chain(index.iter().map(|e| (e, ScalarType::U64))).collect();
        let mut index = self.scalars(&list)?;
        let value = index.remove(0);
        Ok((value, index))
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
            return Err(self.inconsistent(expr.span, "this is not an atomic"));
        };
        let operands = (expected.as_deref(), &**value);
        let ExprKind::Index { base, index } = &place.kind else {
            return self.atomic_element(*op, place, operands, expr.span);
        };
        let (array, elem) = self.array(base, self.index_count(index), expr.span)?;
        let operands: Vec<_> =
            operands.0.into_iter().chain([operands.1]).map(|operand| (operand, elem)).collect();
        let (index, operands) = self.index_and(index, &operands)?;
        let (expected, value) = match operands[..] {
            [expected, value] => (Some(expected), value),
            [value] => (None, value),
            _ => return Err(self.inconsistent(expr.span, "an atomic needs a value")),
        };
        Ok((elem, self.atomic_op(*op, array, index, (expected, value), expr.span)))
    }
}
