//! Lowering of statements.

use quadrants_ir::{
    Assertion, BinaryOp, BlockId, Comparison, ExprId, ExprKind as IrExpr, LocalId, ScalarType,
    SiteId, SiteKind, Stmt as Ir, UnaryOp,
    abi::{ASSERT_VALUES, MESSAGE_VALUES},
    format::Format,
    types::Type,
};

use super::{
    Lowerer, Result,
    aggregate::Place,
    early_return,
    element::ElementPlace,
    linalg,
    scope::{Binding, Leaf, LoopFrame, Value},
};
use crate::{
    Error,
    syntax::{AssertionReport, Block, Expr, ExprKind, Span, Stmt, StmtKind, TypeIx, extent_axes},
    visit::{Node, any_in_expr, assigns, base_name},
};

/// The arguments of a text.
struct FormatArguments {
    types: Vec<Type>,
    scalars: Vec<ExprId>,
}

pub(super) enum AssignTarget {
    /// A local, or a part of one.
    Local(Place),
    /// An element of a tensor, or a part of one.
    Element(ElementPlace),
}

impl AssignTarget {
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
                let value = self.value(value, None)?;
                self.bind_pattern(pattern, &value, span)?;
            }
            StmtKind::LetShape { name, base } => {
                let tensor = self.shape(base, span)?;
                self.frame.bind(name, tensor);
            }
            StmtKind::LetExtents { names, rest, base } => {
                let Binding::Shape(tensor) = self.shape(base, span)? else {
                    return Err(self.unknown(format!("tensor `{base}`"), span));
                };
                let rank = usize::from(self.rank(tensor));
                let Some(axes) = extent_axes(names.len(), *rest, rank) else {
                    return Err(self.inconsistent(span, format!("`{base}` has {rank} dimensions")));
                };
                for (axis, name) in axes.into_iter().zip(names) {
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
            StmtKind::LetCollective(call) => self.collective(call, span)?,
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value, span)?,
            StmtKind::Reduce { name, op, subtracts, value } => {
                self.combine(name, (*op, *subtracts), value, span)?;
            }
            StmtKind::Expr(expr) => self.discard(expr)?,
            StmtKind::For(each) => self.serial_loop(each, span)?,
            StmtKind::While { cond, body, label } => {
                self.infinite(LoopFrame::new(label.as_deref()), Some(cond), body)?;
            }
            StmtKind::Loop { body, label } => {
                self.infinite(LoopFrame::new(label.as_deref()), None, body)?;
            }
            StmtKind::Break { label, value } => {
                self.break_loop(label.as_deref(), value.as_ref(), span)?;
            }
            StmtKind::Continue { label } => self.jump(label.as_deref(), Ir::Continue, span)?,
            // The assertion before ends the iteration.
            StmtKind::Unreachable => {}
            StmtKind::Assert { cond, report } => {
                self.assertion(cond, report, span)?;
            }
            StmtKind::Print { format, args } => self.print(format, args, span)?,
            StmtKind::Return { value } => self.return_stmt(value.as_ref(), span)?,
            StmtKind::Unsupported(_) => {
                return Err(self.inconsistent(span, "this statement is not supported in kernels"));
            }
        }
        if let Some(early_return) = self.frame.early_return.clone()
            && early_return::is_loop(stmt)
            && early_return::returns(stmt)
        {
            self.break_if_returned(&early_return);
        }
        Ok(())
    }

    fn print(&mut self, format: &Format, args: &[(Expr, TypeIx)], span: Span) -> Result<()> {
        let FormatArguments { types, scalars } = self.arguments(args, span)?;
        let iteration: Vec<_> = self.iteration.iter().map(|var| self.emit.read(*var)).collect();
        let count = iteration.len() as u32;
        let (most, given) = (MESSAGE_VALUES - iteration.len(), scalars.len());
        if given > most {
            let what = format!(
                "a message has at most {most} numbers here, and this one has {given}; help: print the \
                 parts of a large value with several `println!`"
            );
            return Err(self.type_error(span, what));
        }
        let values: Vec<_> = iteration.into_iter().chain(scalars).collect();
        let format = format.of_scalars(&types);
        let types = values.iter().map(|value| self.emit.ty(*value)).collect();
        let kind = SiteKind::Print { format, iteration: count, types };
        let site = self.add_site(kind, span);
        self.emit.stmt(Ir::Print { site, values });
        Ok(())
    }

    /// The arguments of a text are evaluated only if the condition is false, as by std's macros. The operands of a
    /// comparison have names.
    fn assertion(&mut self, cond: &Expr, report: &AssertionReport, span: Span) -> Result<()> {
        let AssertionReport { message, comparison, args } = report;
        let cond = self.scalar_as(cond, ScalarType::Bool)?;
        let operands = if comparison.is_some() { 2 } else { 0 };
        if args.len() == operands {
            let FormatArguments { types, mut scalars } = self.arguments(args, span)?;
            scalars.truncate(ASSERT_VALUES);
            let site = self.assertion_site(message, *comparison, &types, span);
            self.emit.stmt(Ir::Assert { cond, site, values: scalars });
            return Ok(());
        }
        let cond = self.emit.reuse(cond);
        let mut site = None;
        let then = self.nested(|this| {
            let FormatArguments { types, mut scalars } = this.arguments(args, span)?;
            scalars.truncate(ASSERT_VALUES);
            let at = this.assertion_site(message, *comparison, &types, span);
            let never = this.emit.constant(false);
            this.emit.stmt(Ir::Assert { cond: never, site: at, values: scalars });
            site = Some(at);
            Ok(())
        })?;
        let otherwise = self.nested(|_| Ok(()))?;
        let failed = self.emit.unary(UnaryOp::Not, cond);
        self.emit.stmt(Ir::If { cond: failed, then, otherwise });
        // Never fails. By it, the analyses know the condition in the code that follows.
        if let Some(site) = site {
            let cond = self.emit.copy(cond);
            self.emit.stmt(Ir::Assert { cond, site, values: Vec::new() });
        }
        Ok(())
    }

    fn assertion_site(
        &mut self,
        message: &Format,
        comparison: Option<bool>,
        types: &[Type],
        span: Span,
    ) -> SiteId {
        let comparison = comparison.map(|equal| {
            let side = |back: usize| {
                let at = types.len().saturating_sub(back) as u32;
                Format::debug(at).of_scalars(types)
            };
            Comparison { equal, left: side(2), right: side(1) }
        });
        let message = message.of_scalars(types);
        let mut types: Vec<_> = types.iter().flat_map(|ty| ty.leaf_types()).collect();
        types.truncate(ASSERT_VALUES);
        self.add_site(SiteKind::Assert(Assertion { message, comparison, types }), span)
    }

    /// Evaluates the arguments of a text.
    fn arguments(&mut self, args: &[(Expr, TypeIx)], span: Span) -> Result<FormatArguments> {
        let (mut types, mut scalars) = (Vec::with_capacity(args.len()), Vec::new());
        for (at, (arg, ty)) in args.iter().enumerate() {
            let ty = self.type_at(*ty, span)?;
            self.check_size(ty, span)?;
            let Value { leaves, .. } = self.value(arg, Some(ty))?;
            let assigned_later = args[at + 1..].iter().any(|(later, _)| assigns(later));
            for leaf in leaves {
                let leaf = self.emit.limit_depth(leaf);
                scalars.push(if assigned_later { self.emit.snapshot(leaf) } else { leaf });
            }
            types.push(ty);
        }
        Ok(FormatArguments { types, scalars })
    }

    pub(super) fn bind(
        &mut self,
        name: &str,
        mutable: bool,
        ty: TypeIx,
        value: &Expr,
        span: Span,
    ) -> Result<()> {
        let rustc = self.type_at(ty, span)?;
        if let (Type::Array(..), ExprKind::Repeat { ty, .. }) = (rustc, &value.kind) {
            let found = self.type_at(*ty, span)?;
            self.check_type(name, rustc, found, span)?;
            let binding = self.bind_repeated(name, mutable, rustc, value)?;
            self.frame.bind(name, binding);
            return Ok(());
        }
        self.check_size(rustc, span)?;
        let value = self.value(value, Some(rustc))?;
        self.check_type(name, rustc, value.ty, span)?;
        let binding = self.name_value(name, value, mutable);
        self.frame.bind(name, binding);
        Ok(())
    }

    /// Lowers a block for its effects into the current IR block, in a new scope.
    pub(super) fn block(&mut self, block: &Block) -> Result<()> {
        let scope = self.frame.names.mark();
        self.stmts(&block.stmts, &mut |this| match &block.value {
            Some(value) => this.discard(value),
            None => Ok(()),
        })?;
        self.frame.names.leave(scope);
        Ok(())
    }

    /// Lowers code into an IR block of its own.
    pub(super) fn nested(&mut self, code: impl FnOnce(&mut Self) -> Result<()>) -> Result<BlockId> {
        self.emit.open();
        code(self)?;
        Ok(self.emit.close_block())
    }

    pub(super) fn discard(&mut self, expr: &Expr) -> Result<()> {
        if self.is_tail() && !early_return::keeps_tail(expr) {
            return self.one_pass(|this| this.discard(expr));
        }
        match &expr.kind {
            ExprKind::If { cond, then, otherwise } => {
                let is_constant = matches!(cond.kind, ExprKind::Const(_));
                let cond = self.scalar_as(cond, ScalarType::Bool)?;
                // As for `debug_assert!`: what is left out costs nothing.
                if is_constant && let IrExpr::Const(value) = self.emit.kind(cond) {
                    let taken = if value.bits() != 0 { Some(then) } else { otherwise.as_ref() };
                    return taken.map_or(Ok(()), |block| self.block(block));
                }
                let then = self.nested(|this| this.block(then))?;
                let otherwise =
                    self.nested(|this| otherwise.iter().try_for_each(|block| this.block(block)))?;
                self.emit.stmt(Ir::If { cond, then, otherwise });
                Ok(())
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Unsafe(block) => self.in_unsafe(|this| this.block(block)),
            ExprKind::Phase(phase) => self.phase(phase),
            ExprKind::Call { func, args, .. } => self.call(*func, args, expr.span).map(drop),
            ExprKind::Atomic { .. } => {
                let (ty, kind) = self.atomic(expr)?;
                let value = self.emit.expr(ty, kind);
                self.emit.stmt(Ir::Eval { value });
                Ok(())
            }
            _ => self.value(expr, None).map(drop),
        }
    }

    fn assign(
        &mut self,
        target: &Expr,
        op: Option<BinaryOp>,
        value: &Expr,
        span: Span,
    ) -> Result<()> {
        let binding = base_name(target).and_then(|name| self.frame.lookup(name));
        let is_aggregate = match binding {
            Some(Binding::Value(_)) => true,
            // Elements that are scalars are handled below.
            Some(Binding::Tensor { elem, .. } | Binding::Shared { elem, .. }) => {
                elem.scalar().is_none()
            }
            _ => false,
        };
        if is_aggregate {
            return self.assign_part(target, op, value, span);
        }
        match &target.kind {
            ExprKind::Name(name) => {
                let Some(Binding::Local(local)) = self.frame.lookup(name) else {
                    return Err(self.unknown(format!("variable `{name}`"), target.span));
                };
                let ty = self.emit.locals[local].ty;
                if !self.emit.locals[local].mutable {
                    let what = format!("`{name}` is not `mut` and cannot be assigned");
                    return Err(self.inconsistent(target.span, what));
                }
                let mut value = self.scalar_as(value, self.rhs_ty(op, value, ty))?;
                if let Some(op) = op {
                    let lhs = self.emit.read(local);
                    value = self.binary(op, lhs, value, span)?;
                }
                self.emit.assign(local, value);
            }
            ExprKind::Index { base, index } => {
                let (array, elem) = self.array(base, self.index_count(index), target.span)?;
                if op.is_some() {
                    self.check_order(Type::Scalar(elem), target, value, span)?;
                }
                // Rust evaluates the right operand first, then the index.
                let value = (value, self.rhs_ty(op, value, elem));
                let (mut value, mut index) = self.value_and_index(value, index)?;
                if let Some(op) = op {
                    index.iter_mut().for_each(|at| *at = self.emit.reuse(*at));
                    let read = index.iter().map(|at| self.emit.copy(*at)).collect();
                    let lhs = self.load(array, elem, read, target.span);
                    value = self.binary(op, lhs, value, span)?;
                }
                self.store(array, index, value, target.span);
            }
            _ => return Err(self.inconsistent(target.span, "this cannot be assigned")),
        }
        Ok(())
    }

    /// Assigns an aggregate, named or in a tensor, or a part of one.
    fn assign_part(
        &mut self,
        target: &Expr,
        op: Option<BinaryOp>,
        value: &Expr,
        span: Span,
    ) -> Result<()> {
        let Some(ty) = self.infer_type(target) else {
            return Err(self.inconsistent(target.span, "this has no type"));
        };
        let Some(op) = op else {
            // Rust evaluates the right operand first, then the indices.
            let mut value = self.value_as(value, ty)?;
            for leaf in &mut value.leaves {
                *leaf = self.emit.reuse(*leaf);
            }
            let place = self.target(target)?;
            let place =
                place.ok_or_else(|| self.inconsistent(target.span, "this cannot be assigned"))?;
            return self.write_target(&place, &value, span);
        };
        self.check_order(ty, target, value, span)?;
        let rhs = match ty {
            Type::Scalar(ty) => {
                let ty = self.rhs_ty(Some(op), value, ty);
                let value = self.scalar_as(value, ty)?;
                Value::scalar(ty, value)
            }
            _ => {
                let hint = self.infer_type(value).or(linalg::component_type(ty).map(Type::Scalar));
                self.value(value, hint)?
            }
        };
        let rhs = Value {
            ty: rhs.ty,
            leaves: rhs.leaves.into_iter().map(|leaf| self.emit.reuse(leaf)).collect(),
        };
        let place = self.target(target)?;
        let place =
            place.ok_or_else(|| self.inconsistent(target.span, "this cannot be assigned"))?;
        let old = self.read_target(&place)?;
        let new = match ty {
            Type::Scalar(scalar) => {
                let old = self.emit.limit_depth(old.leaves[0]);
                let new = self.binary(op, old, rhs.leaves[0], span)?;
                Value::scalar(scalar, new)
            }
            _ => self.binary_values(op, old, rhs, span)?,
        };
        self.write_target(&place, &new, span)
    }

    /// Rejects a compound assignment to a place of type `ty` whose result depends on the evaluation order of its value
    /// and its indices, unless the order is that of Rust's numbers: the value first. For other types, whose operators
    /// are traits, Rust evaluates the indices first; the CPU body does not know the types.
    fn check_order(&self, ty: Type, target: &Expr, value: &Expr, span: Span) -> Result<()> {
        let native = ty.scalar().is_some_and(|ty| ty != ScalarType::F16);
        if native || !self.order_matters(target, value) {
            return Ok(());
        }
        let what = "the evaluation order of its index and its right operand depends on the type; help: \
                    bind one of them with `let` first";
        Err(self.type_error(span, what))
    }

    /// The assignment target that `expr` denotes, if it is one.
    pub(super) fn target(&mut self, expr: &Expr) -> Result<Option<AssignTarget>> {
        match self.local_place(expr)? {
            Some(place) => Ok(Some(AssignTarget::Local(place))),
            None => Ok(self.tensor_element(expr)?.map(AssignTarget::Element)),
        }
    }

    pub(super) fn read_target(&mut self, target: &AssignTarget) -> Result<Value> {
        match target {
            AssignTarget::Local(place) => Ok(self.read_place(place)),
            AssignTarget::Element(element) => self.read_element(element),
        }
    }

    pub(super) fn write_target(
        &mut self,
        target: &AssignTarget,
        value: &Value,
        span: Span,
    ) -> Result<()> {
        match target {
            AssignTarget::Local(place) => self.write_place(place, value, span),
            AssignTarget::Element(element) => self.write_element(element, value),
        }
    }

    /// The type of the right operand of an assignment to a place of type `ty`.
    pub(super) fn rhs_ty(&self, op: Option<BinaryOp>, value: &Expr, ty: ScalarType) -> ScalarType {
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

    pub(super) fn check_type(&self, name: &str, rustc: Type, ty: Type, span: Span) -> Result<()> {
        if rustc == ty {
            return Ok(());
        }
        let function = self.frame.unit.function.name.clone();
        Err(Error::TypeMismatch { function, name: name.to_owned(), rustc, found: ty, span })
    }

    /// Whether the result of a compound assignment depends on the evaluation order of its value and the indices of its
    /// target.
    fn order_matters(&self, target: &Expr, value: &Expr) -> bool {
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
        let writes_tensor = |expr: &Expr| match &expr.kind {
            ExprKind::Atomic { .. } => true,
            ExprKind::Call { args, read_only_args, .. } => {
                args.iter().enumerate().any(|(at, arg)| {
                    let read_only = at < 64 && read_only_args >> at & 1 != 0;
                    let binding = base_name(arg).and_then(|name| self.frame.lookup(name));
                    let is_writable = matches!(
                        binding,
                        Some(Binding::Tensor { writable: true, .. } | Binding::Shared { .. })
                    );
                    !read_only && is_writable
                })
            }
            _ => false,
        };
        let writes = |expr: &Expr| {
            assigns(expr)
                || any_in_expr(expr, &mut |node| matches!(node, Node::Expr(e) if writes_tensor(e)))
        };
        let reads = |expr: &Expr| {
            use ExprKind::{Atomic, Call, Index, Name};
            any_in_expr(expr, &mut |node| {
                let Node::Expr(Expr { kind, .. }) = node else { return false };
                matches!(kind, Name(_) | Index { .. } | Call { .. } | Atomic { .. })
            })
        };
        let jumps = |expr: &Expr| {
            use StmtKind::{Break, Continue, Return, Unreachable};
            any_in_expr(expr, &mut |node| {
                let Node::Stmt(Stmt { kind, .. }) = node else { return false };
                matches!(kind, Break { .. } | Continue { .. } | Return { .. } | Unreachable)
            })
        };
        // Whether evaluating an expression may have an effect, raise a device error or jump.
        let has_effects = |expr: &Expr| {
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
        // An index of constants and immutable locals, such as a loop variable, is the same before and after the value.
        let reads_what_changes = |expr: &Expr| {
            any_in_expr(expr, &mut |node| {
                let Node::Expr(Expr { kind, .. }) = node else { return true };
                match kind {
                    ExprKind::Name(name) => !self.is_immutable(name),
                    ExprKind::Index { .. } | ExprKind::Call { .. } | ExprKind::Atomic { .. } => {
                        true
                    }
                    _ => false,
                }
            })
        };
        indices.into_iter().any(|index| {
            writes(value) && reads_what_changes(index)
                || writes(index) && reads(value)
                || jumps(value) && has_effects(index)
                || jumps(index) && has_effects(value)
        })
    }

    /// Whether a name outside of the expression means one value as long as it is in scope.
    fn is_immutable(&self, name: &str) -> bool {
        let is_fixed = |local: LocalId| !self.emit.locals[local].mutable;
        match self.frame.lookup(name) {
            Some(Binding::Scalar(_) | Binding::Shape(_)) => true,
            Some(Binding::Local(local)) => is_fixed(local),
            Some(Binding::Value(value)) => {
                self.named_values[value].leaves.iter().all(|leaf| match leaf {
                    Leaf::Scalar(_) => true,
                    Leaf::Local(local) => is_fixed(*local),
                    Leaf::Memory(_) => false,
                })
            }
            _ => false,
        }
    }
}
