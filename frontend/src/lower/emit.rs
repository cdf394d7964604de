//! `Emitter`: arenas and open blocks of the kernel under construction, and queries of expressions.

use quadrants_ir::{
    Arena, BinaryOp, Block, BlockId, Const, Expr, ExprId, ExprKind, Local, LocalId, MathFn,
    ParamId, ScalarType, Site, SiteId, SiteKind, Stmt, UnaryOp,
};

/// Maximum number of nodes of an `if` arm or logical operand that is evaluated unconditionally, without a branch.
const MAX_SELECT_NODES: usize = 8;

/// Maximum depth of an operand; a deeper one is assigned to a local.
const MAX_EXPR_DEPTH: u16 = 64;

#[derive(Default)]
pub(super) struct Emitter {
    pub(super) locals: Arena<Local>,
    pub(super) exprs: Arena<Expr>,
    depths: Vec<u16>,
    pub(super) blocks: Arena<Block>,
    pub(super) sites: Vec<Site>,
    /// The statements of the innermost open block.
    current: Vec<Stmt>,
    /// The statements of the enclosing blocks.
    outer: Vec<Vec<Stmt>>,
    /// The local of the last effect, while only the current expression uses it.
    last_effect: Option<LocalId>,
}

impl Emitter {
    pub(super) fn open(&mut self) {
        self.outer.push(std::mem::take(&mut self.current));
    }

    /// Ends the innermost block; returns its statements since [`open`](Self::open).
    pub(super) fn close(&mut self) -> Vec<Stmt> {
        let outer = self.outer.pop().unwrap_or_default();
        std::mem::replace(&mut self.current, outer)
    }

    pub(super) fn close_block(&mut self) -> BlockId {
        let stmts = self.close();
        self.block(stmts)
    }

    pub(super) fn block(&mut self, stmts: Vec<Stmt>) -> BlockId {
        self.blocks.push(Block { stmts })
    }

    pub(super) fn take(&mut self) -> Vec<Stmt> {
        std::mem::take(&mut self.current)
    }

    pub(super) fn stmt(&mut self, stmt: Stmt) {
        self.current.push(stmt);
    }

    pub(super) fn expr(&mut self, ty: ScalarType, kind: ExprKind) -> ExprId {
        let mut depth = 1;
        for operand in kind.operands() {
            depth = depth.max(self.depths[operand.index()] + 1);
        }
        self.depths.push(depth);
        self.exprs.push(Expr::new(ty, kind))
    }

    /// The value, assigned to a local if its expression is too deep: the IR bounds the depth.
    pub(super) fn limit_depth(&mut self, value: ExprId) -> ExprId {
        if self.depths[value.index()] < MAX_EXPR_DEPTH { value } else { self.reuse(value) }
    }

    pub(super) fn ty(&self, expr: ExprId) -> ScalarType {
        self.exprs[expr].ty
    }

    pub(super) fn constant(&mut self, value: impl Into<Const>) -> ExprId {
        let value = value.into();
        self.expr(value.ty(), ExprKind::Const(value))
    }

    pub(super) fn kind(&self, expr: ExprId) -> &ExprKind {
        &self.exprs[expr].kind
    }

    pub(super) fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let ty = if op.is_comparison() { ScalarType::Bool } else { self.ty(lhs) };
        self.expr(ty, ExprKind::Binary { op, lhs, rhs })
    }

    pub(super) fn unary(&mut self, op: UnaryOp, value: ExprId) -> ExprId {
        self.expr(self.ty(value), ExprKind::Unary { op, value })
    }

    /// A math function; the result has the type of the first argument.
    pub(super) fn math(&mut self, function: MathFn, args: &[ExprId]) -> ExprId {
        let kind = ExprKind::Math { function, args: args.to_vec() };
        self.expr(self.ty(args[0]), kind)
    }

    pub(super) fn select(&mut self, cond: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        self.expr(self.ty(then), ExprKind::Select { cond, then, otherwise })
    }

    /// The value cast to `ty`, or the value itself if that is its type.
    pub(super) fn as_type(&mut self, value: ExprId, ty: ScalarType) -> ExprId {
        if self.ty(value) == ty { value } else { self.expr(ty, ExprKind::Cast { value }) }
    }

    /// The value cast to the type that its type is computed in.
    pub(super) fn widen(&mut self, value: ExprId) -> ExprId {
        self.as_type(value, self.ty(value).wide())
    }

    pub(super) fn param(&mut self, param: ParamId, ty: ScalarType) -> ExprId {
        self.expr(ty, ExprKind::Param(param))
    }

    pub(super) fn read(&mut self, local: LocalId) -> ExprId {
        self.expr(self.locals[local].ty, ExprKind::Local(local))
    }

    pub(super) fn local(&mut self, name: &str, ty: ScalarType, mutable: bool) -> LocalId {
        self.locals.push(Local { name: identifier(name), ty, mutable })
    }

    /// Defines a local with `value`. Renames the local of the last effect instead if `value` is that local.
    pub(super) fn define(&mut self, name: &str, value: ExprId, mutable: bool) -> LocalId {
        let last_effect = self.last_effect.take();
        if let ExprKind::Local(effect) = self.exprs[value].kind
            && last_effect == Some(effect)
            && matches!(self.current.last(), Some(Stmt::Let { local, .. }) if *local == effect)
        {
            self.locals[effect].name = identifier(name);
            self.locals[effect].mutable = mutable;
            return effect;
        }
        let local = self.local(name, self.ty(value), mutable);
        self.stmt(Stmt::Let { local, value });
        local
    }

    /// Emits an effect; returns its value.
    pub(super) fn effect(&mut self, name: &str, ty: ScalarType, kind: ExprKind) -> ExprId {
        let value = self.expr(ty, kind);
        let local = self.local(name, ty, false);
        self.stmt(Stmt::Let { local, value });
        self.last_effect = Some(local);
        self.read(local)
    }

    pub(super) fn add_site(&mut self, site: Site) -> SiteId {
        let id = SiteId::new(self.sites.len() as u32);
        self.sites.push(site);
        id
    }

    /// The number of `println!`s so far.
    pub(super) fn messages(&self) -> usize {
        self.sites.iter().filter(|site| matches!(site.kind, SiteKind::Print { .. })).count()
    }

    /// The current value, which later assignments do not change.
    pub(super) fn snapshot(&mut self, value: ExprId) -> ExprId {
        if self.any(
            value,
            &mut |kind, this| matches!(kind, ExprKind::Local(local) if this.locals[*local].mutable),
        ) {
            self.reuse(value)
        } else {
            value
        }
    }

    /// The value as an expression that may be [copied](Self::copy): a constant, parameter or immutable local.
    pub(super) fn reuse(&mut self, value: ExprId) -> ExprId {
        self.last_effect = None;
        if self.is_reusable(value) {
            return value;
        }
        let local = self.local("held", self.ty(value), false);
        self.stmt(Stmt::Let { local, value });
        self.read(local)
    }

    /// A copy of a [reusable](Self::reuse) expression. Each expression has only one use.
    pub(super) fn copy(&mut self, value: ExprId) -> ExprId {
        let Expr { ty, kind, .. } = self.exprs[value].clone();
        self.expr(ty, kind)
    }

    /// Expressions of one value, which is computed once.
    pub(super) fn copies<const N: usize>(&mut self, value: ExprId) -> [ExprId; N] {
        let mut copies = [self.reuse(value); N];
        copies.iter_mut().skip(1).for_each(|copy| *copy = self.copy(*copy));
        copies
    }

    pub(super) fn assign(&mut self, local: LocalId, value: ExprId) {
        self.stmt(Stmt::Assign { local, value });
    }

    pub(super) fn stmt_if(&mut self, cond: ExprId, stmt: Stmt) {
        let then = self.block(vec![stmt]);
        let otherwise = self.block(Vec::new());
        self.stmt(Stmt::If { cond, then, otherwise });
    }

    /// Emits statements that run if a local holds. What they define is defined in any case: a pure value is computed,
    /// and the value of an effect is zero unless the local holds.
    pub(super) fn stmts_if(&mut self, guard: LocalId, stmts: Vec<Stmt>) {
        let mut run = Vec::new();
        for stmt in stmts {
            match stmt {
                Stmt::Let { value, .. } if self.is_pure(value) => {
                    self.run_if(guard, &mut run);
                    self.stmt(stmt);
                }
                Stmt::Let { local, value } => self.define_before(local, value, &mut run),
                Stmt::Array { .. } => self.stmt(stmt),
                other => run.push(other),
            }
        }
        self.run_if(guard, &mut run);
        self.last_effect = None;
    }

    fn run_if(&mut self, guard: LocalId, stmts: &mut Vec<Stmt>) {
        if !stmts.is_empty() {
            let cond = self.read(guard);
            let then = self.block(std::mem::take(stmts));
            let otherwise = self.block(Vec::new());
            self.stmt(Stmt::If { cond, then, otherwise });
        }
    }

    /// Emits statements, the last of which is a loop that runs once. What the loop defines is defined before it.
    pub(super) fn defined_outside(&mut self, stmts: Vec<Stmt>) {
        for stmt in stmts {
            if let Stmt::Loop { body } = stmt {
                let mut run = Vec::new();
                for stmt in std::mem::take(&mut self.blocks[body].stmts) {
                    match stmt {
                        Stmt::Let { local, value } => self.define_before(local, value, &mut run),
                        Stmt::Array { .. } => self.stmt(stmt),
                        other => run.push(other),
                    }
                }
                self.blocks[body].stmts = run;
            }
            self.stmt(stmt);
        }
        self.last_effect = None;
    }

    /// Defines a local as zero, and assigns its value at the end of `stmts`.
    fn define_before(&mut self, local: LocalId, value: ExprId, stmts: &mut Vec<Stmt>) {
        let ty = self.locals[local].ty;
        let zero = self.constant(Const::from_bits(ty, 0));
        self.stmt(Stmt::Let { local, value: zero });
        let name = self.locals[local].name.clone();
        let once = self.local(&name, ty, false);
        stmts.push(Stmt::Let { local: once, value });
        let value = self.read(once);
        self.locals[local].mutable = true;
        stmts.push(Stmt::Assign { local, value });
    }

    /// Whether a value can be computed in any case: it has no effect and raises no error.
    fn is_pure(&self, value: ExprId) -> bool {
        match &self.exprs[value].kind {
            ExprKind::Load(_) | ExprKind::Atomic { .. } => false,
            ExprKind::DivRem { rhs, .. } => {
                matches!(self.exprs[*rhs].kind, ExprKind::Const(by) if by.bits() != 0)
            }
            _ => true,
        }
    }

    /// Whether a value is cheap enough to be computed unconditionally.
    pub(super) fn is_cheap(&self, value: ExprId) -> bool {
        let mut nodes = 0;
        !self.any(value, &mut |kind, _| {
            nodes += 1;
            let costly = matches!(kind, ExprKind::Math { function, .. }
                if !matches!(function, MathFn::Abs | MathFn::Min | MathFn::Max));
            costly || nodes > MAX_SELECT_NODES
        })
    }

    fn is_reusable(&self, value: ExprId) -> bool {
        match &self.exprs[value].kind {
            ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::Dim { .. } => true,
            ExprKind::Local(local) => !self.locals[*local].mutable,
            _ => false,
        }
    }

    /// Whether `predicate` holds for a node of a pure expression.
    fn any(&self, expr: ExprId, predicate: &mut dyn FnMut(&ExprKind, &Self) -> bool) -> bool {
        let kind = &self.exprs[expr].kind;
        if predicate(kind, self) {
            return true;
        }
        kind.operands().any(|operand| self.any(operand, predicate))
    }
}

/// Converts a Rust name to an ASCII identifier.
pub(super) fn identifier(name: &str) -> String {
    match name.strip_prefix("r#").unwrap_or(name) {
        "_" => "unused".to_owned(),
        name => name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect(),
    }
}
