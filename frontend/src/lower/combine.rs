//! Lowering of parallel loops that combine values into locals: `sum += x[i];`.

use quadrants_ir::{
    AtomicOp, BinaryOp, Const, ExprId, LocalId, ScalarType, Stmt as Ir, UnaryOp, types::Type,
};

use super::{
    Lowerer, Result,
    scope::{Binding, Leaf},
};
use crate::{
    syntax::{Block, Expr, Span},
    visit::combined_names,
};

impl Lowerer {
    /// Lowers a statement that combines a value into a local, component by component.
    pub(super) fn combine(
        &mut self,
        name: &str,
        (op, subtracts): (AtomicOp, bool),
        value: &Expr,
        span: Span,
    ) -> Result<()> {
        let (ty, locals) = self.combined(name, span)?;
        let is_sum = op == AtomicOp::Add;
        let leaf_types = ty.leaf_types();
        if leaf_types.contains(&ScalarType::F16) {
            let what =
                format!("a loop cannot combine into `{name}`, an f16; help: declare it as f32");
            return Err(self.type_error(span, what));
        }
        let is_float = leaf_types.iter().any(|ty| ty.is_float());
        if is_float && is_sum && self.frame.unit.function.options.strict {
            let what = format!(
                "`{name}` would be a sum of floats in an unspecified order, which a `strict` kernel does not allow; help: \
                 put `#[qd::serial]` on the loop, or use `atomic_add` on an element of a tensor"
            );
            return Err(self.type_error(span, what));
        }
        let value = self.value_as(value, ty)?;
        for (local, leaf) in locals.into_iter().zip(value.leaves) {
            let wide = self.emit.widen(leaf);
            let value = if subtracts { self.negated(wide) } else { wide };
            let value = self.emit.limit_depth(value);
            let local = self.accumulators.get(&local).copied().unwrap_or(local);
            self.emit.stmt(Ir::Reduce { local, op, value });
        }
        Ok(())
    }

    /// The type and the locals of a name that a loop combines into.
    fn combined(&self, name: &str, span: Span) -> Result<(Type, Vec<LocalId>)> {
        match self.frame.lookup(name) {
            Some(Binding::Local(local)) => {
                Ok((Type::Scalar(self.emit.locals[local].ty), vec![local]))
            }
            Some(Binding::Value(value)) => {
                let named = &self.named_values[value];
                let locals = named.leaves.iter().map(|leaf| match leaf {
                    Leaf::Local(local) => Some(*local),
                    Leaf::Scalar(_) | Leaf::Memory(_) => None,
                });
                let adds = matches!(named.ty, Type::Vector(..) | Type::Matrix(..))
                    || named.ty.complex().is_some();
                locals
                    .collect::<Option<_>>()
                    .filter(|_| adds)
                    .map(|locals| (named.ty, locals))
                    .ok_or_else(|| {
                        let what = format!(
                            "a loop cannot combine values of type {} into `{name}`; help: combine its numbers one by one, or put `#[qd::serial]` on the loop",
                            named.ty
                        );
                        self.type_error(span, what)
                    })
            }
            _ => Err(self.unknown(format!("variable `{name}`"), span)),
        }
    }

    /// `0 - value`, which wraps for integers.
    fn negated(&mut self, value: ExprId) -> ExprId {
        let ty = self.emit.ty(value);
        if ty.is_float() {
            return self.emit.unary(UnaryOp::Neg, value);
        }
        let zero = self.emit.constant(Const::from_bits(ty, 0));
        self.emit.binary(BinaryOp::Sub, zero, value)
    }

    /// Defines wide locals for the narrow ones that a loop combines into: no device combines narrow integers.
    pub(super) fn open_accumulators(&mut self, body: &Block) {
        for name in combined_names(body) {
            let locals = match self.frame.lookup(name) {
                Some(Binding::Local(local)) => vec![local],
                Some(Binding::Value(value)) => self.named_values[value]
                    .leaves
                    .iter()
                    .filter_map(|leaf| match leaf {
                        Leaf::Local(local) => Some(*local),
                        Leaf::Scalar(_) | Leaf::Memory(_) => None,
                    })
                    .collect(),
                _ => continue,
            };
            for local in locals {
                if self.emit.locals[local].ty.is_narrow() && !self.accumulators.contains_key(&local)
                {
                    let value = self.emit.read(local);
                    let value = self.emit.widen(value);
                    let wide = self.emit.local(name, self.emit.ty(value), true);
                    self.emit.stmt(Ir::Let { local: wide, value });
                    self.accumulators.insert(local, wide);
                }
            }
        }
    }

    /// Assigns the wide locals to the narrow ones, after the loop.
    pub(super) fn close_accumulators(&mut self) {
        let mut pairs: Vec<_> = self.accumulators.drain().collect();
        pairs.sort_unstable();
        for (local, wide) in pairs {
            let value = self.emit.read(wide);
            let value = self.emit.as_type(value, self.emit.locals[local].ty);
            self.emit.assign(local, value);
        }
    }
}
