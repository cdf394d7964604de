//! Copies of expressions with other values for locals, for rewrites that repeat the body of a loop.

use std::collections::HashMap;

use crate::{Array, Const, Expr, ExprId, ExprKind, LocalId, Offloaded, ScalarType, interp::fold};

/// A kernel to which copies are added.
pub(super) struct Substitution<'k> {
    pub(super) kernel: &'k mut Offloaded,
    /// The values of locals in the current copy. The value of a local that was copied is a read of the new one.
    pub(super) values: HashMap<LocalId, ExprId>,
    /// The new pure expressions; each exists once.
    pure: HashMap<Expr, ExprId>,
}

impl<'k> Substitution<'k> {
    pub(super) fn new(kernel: &'k mut Offloaded) -> Self {
        Self { kernel, values: HashMap::new(), pure: HashMap::new() }
    }

    /// An expression with the values put in and constants folded. An expression without a change keeps its id, except
    /// that each copy has effects of its own.
    pub(super) fn value(&mut self, id: ExprId) -> ExprId {
        self.value_with(id, &mut HashMap::new())
    }

    fn value_with(&mut self, id: ExprId, known: &mut HashMap<ExprId, ExprId>) -> ExprId {
        if let Some(new) = known.get(&id) {
            return *new;
        }
        let Expr { ty, mut kind, exact } = self.kernel.exprs[id].clone();
        let new = match kind {
            ExprKind::Local(local) => self.values.get(&local).copied().unwrap_or(id),
            ExprKind::Select { cond, then, otherwise } => {
                let cond = self.value_with(cond, known);
                match self.constant(cond) {
                    Some(cond) if cond.bits() != 0 => self.value_with(then, known),
                    Some(_) => self.value_with(otherwise, known),
                    None => {
                        let [then, otherwise] =
                            [then, otherwise].map(|value| self.value_with(value, known));
                        self.push(ty, ExprKind::Select { cond, then, otherwise })
                    }
                }
            }
            _ => {
                kind.operands_mut(|operand| *operand = self.value_with(*operand, known));
                if let ExprKind::Load(element) | ExprKind::Atomic { element, .. } = &mut kind {
                    element.array = self.array(element.array);
                }
                let is_copy = !self.values.is_empty() && kind.is_effect();
                if !is_copy && kind == self.kernel.exprs[id].kind {
                    id
                } else {
                    match fold(ty, &kind, |operand| self.constant(operand)) {
                        Some(constant) => self.push(ty, ExprKind::Const(constant)),
                        None => self.push_expr(Expr { ty, kind, exact }),
                    }
                }
            }
        };
        known.insert(id, new);
        new
    }

    pub(super) fn constant(&self, value: ExprId) -> Option<Const> {
        match self.kernel.exprs[value].kind {
            ExprKind::Const(value) => Some(value),
            _ => None,
        }
    }

    /// A new local for the current copy.
    pub(super) fn copied(&mut self, local: LocalId) -> LocalId {
        let copy = self.kernel.locals.push(self.kernel.locals[local].clone());
        let read = self.push(self.kernel.locals[copy].ty, ExprKind::Local(copy));
        self.values.insert(local, read);
        copy
    }

    /// The local that stands for `local` in the current copy.
    pub(super) fn local(&self, local: LocalId) -> LocalId {
        match self.values.get(&local).map(|read| &self.kernel.exprs[*read].kind) {
            Some(ExprKind::Local(copy)) => *copy,
            _ => local,
        }
    }

    /// The array that stands for `array` in the current copy.
    pub(super) fn array(&self, array: Array) -> Array {
        match array {
            Array::Local(array) => Array::Local(self.local(array)),
            other => other,
        }
    }

    pub(super) fn push(&mut self, ty: ScalarType, kind: ExprKind) -> ExprId {
        self.push_expr(Expr::new(ty, kind))
    }

    pub(super) fn push_expr(&mut self, expr: Expr) -> ExprId {
        if expr.kind.is_effect() {
            return self.kernel.exprs.push(expr);
        }
        *self.pure.entry(expr).or_insert_with_key(|expr| self.kernel.exprs.push(expr.clone()))
    }
}
