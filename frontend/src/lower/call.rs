//! Inlining of calls of funcs.

use std::rc::Rc;

use quadrants_ir::{
    ExprId, ExprKind as Ir, LocalId, ScalarType,
    types::{ParamType, Type},
};

use super::{
    Lowerer, Result, early_return,
    scope::{Binding, CallFrame, Leaf, NamedValue, Scalar, Value, ValueId},
    stmt::AssignTarget,
};
use crate::{
    Callee, Error,
    function_unit::FunctionUnit,
    syntax::{Expr, ExprKind, Span, Stmt, StmtKind},
    visit::assigns,
};

/// Maximum depth of inlining. Recursive generic funcs may have a different source at each level, so identity does not
/// detect all recursion.
const MAX_DEPTH: usize = 64;

/// The copy of a receiver, which is written back.
enum ReceiverCopy {
    Value(ValueId),
    Scalar(LocalId),
}

impl Lowerer {
    /// Decodes the callees of the current frame.
    pub(super) fn resolve_callees(&mut self) -> Result<()> {
        let unit = Rc::clone(&self.frame.unit);
        for callee in &unit.funcs {
            let Callee::Func(source) = callee else {
                self.frame.callees.push(None);
                continue;
            };
            let cached = self
                .units
                .iter()
                .find(|(s, _)| std::ptr::eq(*s, *source))
                .map(|(_, u)| Rc::clone(u));
            let callee = match cached {
                Some(callee) => callee,
                None => {
                    let callee = Rc::new(FunctionUnit::from_source(source, self.is_checked)?);
                    self.units.push((source, Rc::clone(&callee)));
                    callee
                }
            };
            self.frame.callees.push(Some(callee));
        }
        Ok(())
    }

    /// Inlines a call: lowers the func's body into the current block; returns its value, if any.
    pub(super) fn call(&mut self, func: u32, args: &[Expr], span: Span) -> Result<Option<Value>> {
        let Some(unit) = self.frame.callees.get(func as usize).cloned().flatten() else {
            return Err(self.unknown("a func", span));
        };
        let inlined = |frame: &CallFrame| Rc::ptr_eq(&frame.unit, &unit);
        let too_deep = self.callers.len() >= MAX_DEPTH;
        if too_deep || inlined(&self.frame) || self.callers.iter().any(inlined) {
            return Err(Error::Recursion {
                function: self.frame.unit.function.name.clone(),
                func: unit.function.name.clone(),
                span,
            });
        }
        if args.len() != unit.params.len() {
            let what = format!("the func takes {} arguments", unit.params.len());
            return Err(self.inconsistent(span, what));
        }
        let mut callee = CallFrame::new(Rc::clone(&unit));
        let mut receiver = None;
        for (at, arg) in args.iter().enumerate() {
            let param = &unit.function.params[at];
            let ty = unit.params[at];
            if let (ParamType::Struct { .. }, ExprKind::Name(arg_name)) = (ty, &arg.kind) {
                let tensors = ty.tensors(arg_name).into_iter();
                for ((tensor_name, tensor), (name, _)) in tensors.zip(ty.tensors(&param.name)) {
                    let tensor_arg = Expr { kind: ExprKind::Name(tensor_name), span: arg.span };
                    let binding = self.tensor_argument(&tensor_arg, tensor)?;
                    callee.bind(&name, binding);
                }
                continue;
            }
            let binding = match ty {
                ParamType::Struct { .. } => {
                    return Err(self.inconsistent(arg.span, "expected a struct of tensors"));
                }
                ParamType::Value(Type::Scalar(ty)) if !param.by_reference => {
                    let mut value = self.scalar_as(arg, ty)?;
                    if args[at + 1..].iter().any(assigns) {
                        value = self.emit.snapshot(value);
                    }
                    let leaf = self.scalar_argument(&param.name, value, ty, param.mutable);
                    let (ty, leaves) = (Type::Scalar(ty), vec![leaf]);
                    self.bind_named(NamedValue { ty, leaves, is_owned: false })
                }
                ParamType::Value(ty) if param.by_reference => {
                    let (binding, back) = self.receiver(arg, ty, &param.name)?;
                    receiver = back;
                    binding
                }
                ParamType::Value(ty) => {
                    let value = self.value_as(arg, ty)?;
                    self.argument(&param.name, value, param.mutable)
                }
                kind @ ParamType::Tensor { .. } => self.tensor_argument(arg, kind)?,
            };
            callee.bind(&param.name, binding);
        }
        self.callers.push(std::mem::replace(&mut self.frame, callee));
        self.resolve_callees()?;
        let value = self.func_body(&unit)?;
        if let Some(caller) = self.callers.pop() {
            self.frame = caller;
        }
        if let Some((place, copy)) = receiver {
            let changed = match copy {
                ReceiverCopy::Value(copy) => {
                    let named = self.named_values[copy].clone();
                    Value { ty: named.ty, leaves: self.read_named(&named) }
                }
                ReceiverCopy::Scalar(local) => {
                    let value = self.emit.read(local);
                    Value::scalar(self.emit.ty(value), value)
                }
            };
            self.write_target(&place, &changed, span)?;
        }
        Ok(value)
    }

    /// The binding of `&mut self`: the receiver itself if it is a local; otherwise a copy, and the target to
    /// write it back to.
    fn receiver(
        &mut self,
        arg: &Expr,
        ty: Type,
        name: &str,
    ) -> Result<(Binding, Option<(AssignTarget, ReceiverCopy)>)> {
        if let ExprKind::Name(local) = &arg.kind
            && let Some(binding @ Binding::Local(local)) = self.frame.lookup(local)
        {
            let local = &self.emit.locals[local];
            if Type::Scalar(local.ty) != ty || !local.mutable {
                return Err(self.inconsistent(arg.span, "expected a `mut` local"));
            }
            return Ok((binding, None));
        }
        let place = self.target(arg)?;
        let value = match &place {
            Some(place) => {
                self.check_same_type(place.ty(), ty, arg.span)?;
                if let AssignTarget::Local(place) = place
                    && let Some(value) = self.whole_value(place)
                {
                    return Ok((Binding::Value(value), None));
                }
                self.read_target(place)?
            }
            None => self.value_as(arg, ty)?,
        };
        let binding = self.name_value(name, value, true);
        match (binding, place) {
            (Binding::Value(copy), Some(place)) => {
                Ok((binding, Some((place, ReceiverCopy::Value(copy)))))
            }
            (Binding::Local(copy), Some(place)) => {
                Ok((binding, Some((place, ReceiverCopy::Scalar(copy)))))
            }
            _ => Ok((binding, None)),
        }
    }

    fn func_body(&mut self, unit: &FunctionUnit) -> Result<Option<Value>> {
        let function = &unit.function;
        let last = function.body.stmts.len().wrapping_sub(1);
        let mut stmts = function.body.stmts.iter().enumerate();
        let is_final_return = |index: usize, stmt: &Stmt| match &stmt.kind {
            StmtKind::Return { value } => {
                index == last && !value.as_ref().is_some_and(early_return::expr_returns)
            }
            _ => false,
        };
        if stmts.any(|(index, stmt)| early_return::returns(stmt) && !is_final_return(index, stmt))
            || function.body.value.as_deref().is_some_and(early_return::expr_returns)
        {
            return self.early_func_body(unit);
        }
        let mut value = function.body.value.as_deref();
        for stmt in &function.body.stmts {
            match &stmt.kind {
                // It is the last statement: other positions are early returns.
                StmtKind::Return { value: returned } => value = returned.as_ref(),
                _ => self.stmt(stmt)?,
            }
        }
        match (function.result, value) {
            (Some(ix), Some(value)) => {
                let ty = self.type_at(ix, value.span)?;
                self.value_as(value, ty).map(Some)
            }
            (Some(_), None) => {
                Err(self.inconsistent(function.span, "the func must return a value"))
            }
            (None, Some(value)) => self.discard(value).map(|()| None),
            (None, None) => Ok(None),
        }
    }

    fn early_func_body(&mut self, unit: &FunctionUnit) -> Result<Option<Value>> {
        let function = &unit.function;
        let result = match function.result {
            Some(ix) => Some(self.type_at(ix, function.span)?),
            None => None,
        };
        self.early_body(&function.body.stmts, function.body.value.as_deref(), result)
    }

    /// Lowers the statements and the value of a function that may return early.
    pub(super) fn early_body(
        &mut self,
        stmts: &[Stmt],
        value: Option<&Expr>,
        result: Option<Type>,
    ) -> Result<Option<Value>> {
        let early_return = self.prepare_early_returns(result);
        self.stmts(stmts, &mut |this| match (value, &early_return.value) {
            (Some(value), Some((ty, locals))) => {
                let finish = |this: &mut Self| {
                    let value = this.value_as(value, *ty)?;
                    this.assign_locals(locals, &value);
                    Ok(())
                };
                let jumps = this.is_tail() && early_return::expr_returns(value);
                if jumps { this.one_pass(finish) } else { finish(this) }
            }
            (Some(value), None) => this.discard(value),
            (None, _) => Ok(()),
        })?;
        Ok(early_return.value.map(|(ty, locals)| self.read_locals(ty, &locals)))
    }

    /// Binds an aggregate argument, each scalar evaluated once.
    fn argument(&mut self, name: &str, value: Value, mutable: bool) -> Binding {
        if mutable || self.next_is_in_memory() {
            let leaves = value.leaves.iter().map(|leaf| self.emit.reuse(*leaf)).collect();
            return self.name_value(name, Value { ty: value.ty, leaves }, mutable);
        }
        let mut names = Vec::with_capacity(value.leaves.len());
        value.ty.each_leaf(name, &mut |name, ty| names.push((name.to_owned(), ty)));
        let mut leaves = Vec::with_capacity(names.len());
        for ((name, ty), value) in names.into_iter().zip(value.leaves) {
            leaves.push(self.scalar_argument(&name, value, ty, false));
        }
        self.bind_named(NamedValue { ty: value.ty, leaves, is_owned: true })
    }

    fn scalar_argument(
        &mut self,
        name: &str,
        value: ExprId,
        ty: ScalarType,
        mutable: bool,
    ) -> Leaf {
        let value = self.emit.reuse(value);
        match self.emit.exprs[value].kind {
            Ir::Const(value) if !mutable => Leaf::Scalar(Scalar::Const(value)),
            Ir::Param(param) if !mutable => Leaf::Scalar(Scalar::Param(param, ty)),
            Ir::Local(local) if !mutable => Leaf::Local(local),
            _ => Leaf::Local(self.emit.define(name, value, mutable)),
        }
    }

    fn tensor_argument(&self, arg: &Expr, wanted: ParamType) -> Result<Binding> {
        let binding = match &arg.kind {
            ExprKind::Name(name) => self.frame.lookup(name),
            _ => None,
        };
        let ParamType::Tensor { elem: want_elem, rank: want_rank, writable: want_write, .. } =
            wanted
        else {
            return Err(self.inconsistent(arg.span, "expected a scalar"));
        };
        match binding {
            Some(Binding::Tensor { param, elem, writable }) => {
                if elem == want_elem && self.rank(param) == want_rank && (writable || !want_write) {
                    Ok(Binding::Tensor { param, elem, writable: want_write })
                } else {
                    let what =
                        format!("expected a tensor of {want_elem} and {want_rank} dimensions");
                    Err(self.inconsistent(arg.span, what))
                }
            }
            _ => Err(self.inconsistent(arg.span, "expected a tensor")),
        }
    }
}
