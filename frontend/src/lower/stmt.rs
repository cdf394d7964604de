//! Statements.

use quadrants_ir::{BinaryOp, ScalarType, SiteKind, Stmt as Ir, types::Type};

use super::{
    Lowerer, Result,
    aggregate::Place,
    early_return,
    element::Element,
    linalg,
    scope::{Binding, Loop, Value},
};
use crate::{
    Error,
    syntax::{Block, Expr, ExprKind, Span, Stmt, StmtKind, TypeIx},
    visit::{Node, any_in_expr, assigns, root},
};

/// A value that can be assigned, or a part of one.
pub(super) enum Target {
    /// Of a local.
    Local(Place),
    /// Of a tensor.
    Element(Element),
}

impl Target {
    pub(super) fn ty(&self) -> Type {
        match self {
            Self::Local(place) => place.ty,
            Self::Element(element) => element.ty,
        }
    }
}

impl Lowerer {
    pub(super) fn stmt(&mut self, stmt: &Stmt) -> Result<()> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Let { name, mutable, ty, value } => {
                self.bind(name, *mutable, *ty, value, span)?;
            }
            StmtKind::LetPattern { pattern, value } => {
                let value = self.parts(value, None)?;
                self.take_apart(pattern, &value, span)?;
            }
            StmtKind::LetShape { name, base } => {
                let tensor = self.shape(base, span)?;
                self.frame.bind(name, tensor);
            }
            StmtKind::LetExtents { names, base } => {
                let Binding::Shape(tensor) = self.shape(base, span)? else {
                    return Err(self.unknown(format!("tensor `{base}`"), span));
                };
                if names.len() != usize::from(self.rank(tensor)) {
                    let what = format!("`{base}` has {} dimensions", self.rank(tensor));
                    return Err(self.type_error(span, what));
                }
                for (axis, name) in names.iter().enumerate() {
                    if let Some(name) = name {
                        let value = self.dim(tensor, axis as u8);
                        let local = self.emit.define(name, value, false);
                        self.frame.bind(name, Binding::Local(local));
                    }
                }
            }
            StmtKind::LetShared { name, ty, dims, .. } => {
                self.bind_shared(name, *ty, dims, span)?;
            }
            StmtKind::LetExchange(made) => self.exchange(made, span)?,
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value, span)?,
            StmtKind::Expr(expr) => self.discard(expr)?,
            StmtKind::For(each) => self.nest(each, span)?,
            StmtKind::While { cond, body, label } => {
                self.endless(Loop::new(label.as_deref()), Some(cond), body)?;
            }
            StmtKind::Loop { body, label } => {
                self.endless(Loop::new(label.as_deref()), None, body)?;
            }
            StmtKind::Break { label, value } => {
                self.break_loop(label.as_deref(), value.as_ref(), span)?;
            }
            StmtKind::Continue { label } => self.jump(label.as_deref(), Ir::Continue, span)?,
            StmtKind::Assert { cond, message } => {
                let cond = self.want(cond, ScalarType::Bool)?;
                let kind = SiteKind::Assert { message: message.clone() };
                let site = self.site(kind, span);
                self.emit.stmt(Ir::Assert { cond, site });
            }
            StmtKind::Return { value } => self.leave(value.as_ref(), span)?,
            StmtKind::Unsupported(_) => {
                return Err(self.type_error(span, "this statement has no place in a kernel"));
            }
        }
        if let Some(exit) = self.frame.exit.clone()
            && early_return::is_loop(stmt)
            && early_return::returns(stmt)
        {
            self.break_if_returned(&exit);
        }
        Ok(())
    }

    /// A `let`.
    pub(super) fn bind(
        &mut self,
        name: &str,
        mutable: bool,
        ty: TypeIx,
        value: &Expr,
        span: Span,
    ) -> Result<()> {
        let rustc = self.type_at(ty, span)?;
        self.check_size(rustc, span)?;
        let value = self.parts(value, Some(rustc))?;
        self.agree(name, rustc, value.ty, span)?;
        let binding = self.name(name, value, mutable);
        self.frame.bind(name, binding);
        Ok(())
    }

    /// A block for its effects, in the current IR block and a scope of its own.
    pub(super) fn block(&mut self, block: &Block) -> Result<()> {
        let scope = self.frame.enter();
        self.stmts(&block.stmts, &mut |this| match &block.value {
            Some(value) => this.discard(value),
            None => Ok(()),
        })?;
        self.frame.leave(scope);
        Ok(())
    }

    /// An expression for its effects.
    pub(super) fn discard(&mut self, expr: &Expr) -> Result<()> {
        if self.is_tail() && !early_return::keeps_tail(expr) {
            return self.once(|this| this.discard(expr));
        }
        match &expr.kind {
            ExprKind::If { cond, then, otherwise } => {
                let cond = self.want(cond, ScalarType::Bool)?;
                self.emit.open();
                self.block(then)?;
                let then = self.emit.close_block();
                self.emit.open();
                if let Some(block) = otherwise {
                    self.block(block)?;
                }
                let otherwise = self.emit.close_block();
                self.emit.stmt(Ir::If { cond, then, otherwise });
                Ok(())
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Unsafe(block) => self.asserting(|this| this.block(block)),
            ExprKind::Each(each) => self.phase(each),
            ExprKind::Call { func, args, .. } => self.call(*func, args, expr.span).map(drop),
            ExprKind::Atomic { .. } => {
                let (ty, kind) = self.atomic(expr)?;
                let value = self.emit.expr(ty, kind);
                self.emit.stmt(Ir::Eval { value });
                Ok(())
            }
            _ => self.parts(expr, None).map(drop),
        }
    }

    fn assign(
        &mut self,
        target: &Expr,
        op: Option<BinaryOp>,
        value: &Expr,
        span: Span,
    ) -> Result<()> {
        let named = root(target).and_then(|name| self.frame.lookup(name));
        let part = match named {
            Some(Binding::Value(_)) => true,
            // An element of scalars has a shorter way.
            Some(Binding::Tensor { elem, .. }) => elem.scalar().is_none(),
            _ => false,
        };
        if part {
            return self.assign_part(target, op, value, span);
        }
        match &target.kind {
            ExprKind::Name(name) => {
                let Some(Binding::Local(local)) = self.frame.lookup(name) else {
                    return Err(self.unknown(format!("a variable `{name}`"), target.span));
                };
                let ty = self.emit.locals[local].ty;
                if !self.emit.locals[local].mutable {
                    let what = format!("`{name}` is not `mut` and cannot be assigned");
                    return Err(self.type_error(target.span, what));
                }
                let mut value = self.want(value, self.operand(op, value, ty))?;
                if let Some(op) = op {
                    let lhs = self.emit.read(local);
                    value = self.binary(op, lhs, value, span)?;
                }
                self.emit.assign(local, value);
            }
            ExprKind::Index { base, index } => {
                let (array, elem) = self.array(base, index.len(), target.span)?;
                // Rust evaluates the right side first, then the index.
                let mut list = vec![(value, self.operand(op, value, elem))];
                list.extend(index.iter().map(|e| (e, ScalarType::U64)));
                let mut index = self.list(&list)?;
                let mut value = index.remove(0);
                if let Some(op) = op {
                    index.iter_mut().for_each(|at| *at = self.emit.fix(*at));
                    let read = index.iter().map(|at| self.emit.again(*at)).collect();
                    let lhs = self.load(array, elem, read, target.span);
                    value = self.binary(op, lhs, value, span)?;
                }
                self.store(array, index, value, target.span);
            }
            _ => return Err(self.type_error(target.span, "this cannot be assigned")),
        }
        Ok(())
    }

    /// Assigns to a value of several scalars, named or in a tensor, or to a part of it.
    fn assign_part(
        &mut self,
        target: &Expr,
        op: Option<BinaryOp>,
        value: &Expr,
        span: Span,
    ) -> Result<()> {
        let Some(ty) = self.infer_type(target) else {
            return Err(self.type_error(target.span, "this has no type"));
        };
        let Some(op) = op else {
            // Rust evaluates the right side first, then the indices.
            let mut value = self.want_parts(value, ty)?;
            for leaf in &mut value.leaves {
                *leaf = self.emit.fix(*leaf);
            }
            let place = self.target(target)?;
            let place = place.ok_or_else(|| self.type_error(target.span, "this is no place"))?;
            return self.write_target(&place, &value, span);
        };
        if ty.scalar().is_none() && order_matters(target, value) {
            // Rust evaluates the index first here, and of numbers the right side: the CPU body does not know the types.
            let what = "its index and its right side are evaluated in an order that depends on the type; \
                        put one of them into a `let` before";
            return Err(self.type_error(span, what));
        }
        let rhs = match ty {
            Type::Scalar(ty) => {
                let ty = self.operand(Some(op), value, ty);
                let value = self.want(value, ty)?;
                Value::scalar(ty, value)
            }
            _ => {
                let hint = self.infer_type(value).or(linalg::scalar_of(ty).map(Type::Scalar));
                self.parts(value, hint)?
            }
        };
        let rhs = Value {
            ty: rhs.ty,
            leaves: rhs.leaves.into_iter().map(|leaf| self.emit.fix(leaf)).collect(),
        };
        let place = self.target(target)?;
        let place = place.ok_or_else(|| self.type_error(target.span, "this is no place"))?;
        let old = self.read_target(&place)?;
        let new = match ty {
            Type::Scalar(scalar) => {
                let old = self.emit.shallow(old.leaves[0]);
                let new = self.binary(op, old, rhs.leaves[0], span)?;
                Value::scalar(scalar, new)
            }
            _ => self.linear_of(op, old, rhs, span)?,
        };
        self.write_target(&place, &new, span)
    }

    /// What can be read and assigned, where `expr` is that.
    pub(super) fn target(&mut self, expr: &Expr) -> Result<Option<Target>> {
        match self.place(expr)? {
            Some(place) => Ok(Some(Target::Local(place))),
            None => Ok(self.element(expr)?.map(Target::Element)),
        }
    }

    pub(super) fn read_target(&mut self, target: &Target) -> Result<Value> {
        match target {
            Target::Local(place) => Ok(self.read_place(place)),
            Target::Element(element) => self.read_element(element),
        }
    }

    pub(super) fn write_target(
        &mut self,
        target: &Target,
        value: &Value,
        span: Span,
    ) -> Result<()> {
        match target {
            Target::Local(place) => self.write_place(place, value, span),
            Target::Element(element) => self.write_element(element, value),
        }
    }

    /// The type of what is assigned to a place of type `ty`.
    pub(super) fn operand(&self, op: Option<BinaryOp>, value: &Expr, ty: ScalarType) -> ScalarType {
        match op {
            Some(BinaryOp::Shl | BinaryOp::Shr) => self.infer(value).unwrap_or(ScalarType::I32),
            _ => ty,
        }
    }

    pub(super) fn shape(&self, base: &str, span: Span) -> Result<Binding> {
        match self.frame.lookup(base) {
            Some(Binding::Tensor { param, .. } | Binding::Shape(param)) => {
                Ok(Binding::Shape(param))
            }
            _ => Err(self.unknown(format!("tensor `{base}`"), span)),
        }
    }

    pub(super) fn agree(&self, name: &str, rustc: Type, found: Type, span: Span) -> Result<()> {
        if rustc == found {
            return Ok(());
        }
        let function = self.frame.unit.function.name.clone();
        Err(Error::TypeMismatch { function, name: name.to_owned(), rustc, found, span })
    }
}

/// Whether one of the place's indices and the value of a compound assignment change what the other is computed from, or
/// whether it is run.
fn order_matters(target: &Expr, value: &Expr) -> bool {
    let mut indices = Vec::new();
    let mut place = target;
    loop {
        match &place.kind {
            ExprKind::Field { value, .. } => place = value,
            ExprKind::Element { value, index } => {
                indices.extend(index);
                place = value;
            }
            ExprKind::Index { index, .. } => {
                indices.extend(index);
                break;
            }
            _ => break,
        }
    }
    let reads = |expr: &Expr| {
        any_in_expr(expr, &mut |node| match node {
            Node::Expr(expr) => {
                matches!(
                    expr.kind,
                    ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::Call { .. }
                )
            }
            Node::Stmt(_) => false,
        })
    };
    let jumps = |expr: &Expr| {
        any_in_expr(expr, &mut |node| match node {
            Node::Stmt(Stmt { kind, .. }) => {
                use StmtKind::{Break, Continue, Return};
                matches!(kind, Break { .. } | Continue { .. } | Return { .. })
            }
            Node::Expr(_) => false,
        })
    };
    // What is reported or left behind, and jumps.
    let acts = |expr: &Expr| {
        any_in_expr(expr, &mut |node| match node {
            Node::Stmt(_) => true,
            Node::Expr(expr) => matches!(
                expr.kind,
                ExprKind::Index { .. }
                    | ExprKind::Element { .. }
                    | ExprKind::Call { .. }
                    | ExprKind::Atomic { .. }
                    | ExprKind::Binary { op: BinaryOp::Div | BinaryOp::Rem, .. }
            ),
        })
    };
    indices.into_iter().any(|index| {
        assigns(value) && reads(index)
            || assigns(index) && reads(value)
            || jumps(value) && acts(index)
            || jumps(index) && acts(value)
    })
}
