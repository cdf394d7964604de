//! The kernel under construction: arenas, the open blocks, and what is asked of expressions.

use quadrants_ir::{
    Arena, BinaryOp, Block, BlockId, Const, Expr, ExprId, ExprKind, Local, LocalId, MathFn,
    ParamId, ScalarType, Site, SiteId, Stmt, UnaryOp,
};

/// Beyond this many nodes an `if` with a value is a branch rather than a select.
const CHEAP: usize = 8;

/// Beyond this depth an operand gets a local.
const DEEP: u16 = 64;

#[derive(Default)]
pub(super) struct Emitter {
    pub(super) locals: Arena<Local>,
    pub(super) exprs: Arena<Expr>,
    /// How deep each expression nests.
    depths: Vec<u16>,
    pub(super) blocks: Arena<Block>,
    pub(super) sites: Vec<Site>,
    /// The block that statements go to.
    current: Vec<Stmt>,
    /// The blocks around it.
    outer: Vec<Vec<Stmt>>,
    /// The local of an effect that nothing but the expression under way knows.
    fresh: Option<LocalId>,
}

impl Emitter {
    pub(super) fn open(&mut self) {
        self.outer.push(std::mem::take(&mut self.current));
    }

    /// The statements since [`open`](Self::open).
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

    /// Takes what was emitted so far into the outermost block.
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
        self.exprs.push(Expr { ty, kind })
    }

    /// The value, in a local where its expression has grown deep: the IR bounds the depth.
    pub(super) fn shallow(&mut self, value: ExprId) -> ExprId {
        if self.depths[value.index()] < DEEP { value } else { self.fix(value) }
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

    /// An operator on two values of one type.
    pub(super) fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let ty = if op.is_comparison() { ScalarType::Bool } else { self.ty(lhs) };
        self.expr(ty, ExprKind::Binary { op, lhs, rhs })
    }

    pub(super) fn unary(&mut self, op: UnaryOp, value: ExprId) -> ExprId {
        self.expr(self.ty(value), ExprKind::Unary { op, value })
    }

    /// `function` of arguments, of the type of the first one.
    pub(super) fn math(&mut self, function: MathFn, args: &[ExprId]) -> ExprId {
        let kind = ExprKind::Math { function, args: args.to_vec() };
        self.expr(self.ty(args[0]), kind)
    }

    pub(super) fn select(&mut self, cond: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        self.expr(self.ty(then), ExprKind::Select { cond, then, otherwise })
    }

    /// The value converted to `ty`, or itself if that is its type.
    pub(super) fn as_type(&mut self, value: ExprId, ty: ScalarType) -> ExprId {
        if self.ty(value) == ty { value } else { self.expr(ty, ExprKind::Cast { value }) }
    }

    /// The value as the type that narrow types are computed in.
    pub(super) fn widened(&mut self, value: ExprId) -> ExprId {
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

    /// Defines a local of `value`: where that is an effect's value, the effect's own local.
    pub(super) fn define(&mut self, name: &str, value: ExprId, mutable: bool) -> LocalId {
        let fresh = self.fresh.take();
        if let ExprKind::Local(made) = self.exprs[value].kind
            && fresh == Some(made)
            && matches!(self.current.last(), Some(Stmt::Let { local, .. }) if *local == made)
        {
            self.locals[made].name = identifier(name);
            self.locals[made].mutable = mutable;
            return made;
        }
        let local = self.local(name, self.ty(value), mutable);
        self.stmt(Stmt::Let { local, value });
        local
    }

    /// Emits an effect, and gives its value.
    pub(super) fn effect(&mut self, name: &str, ty: ScalarType, kind: ExprKind) -> ExprId {
        let value = self.expr(ty, kind);
        let local = self.local(name, ty, false);
        self.stmt(Stmt::Let { local, value });
        self.fresh = Some(local);
        self.read(local)
    }

    pub(super) fn site(&mut self, site: Site) -> SiteId {
        let id = SiteId::new(self.sites.len() as u32);
        self.sites.push(site);
        id
    }

    /// The value as of now, whatever is assigned later.
    pub(super) fn hold(&mut self, value: ExprId) -> ExprId {
        if self.any(
            value,
            &mut |kind, this| matches!(kind, ExprKind::Local(local) if this.locals[*local].mutable),
        ) {
            self.fix(value)
        } else {
            value
        }
    }

    /// A value that may be used twice: a constant, parameter or immutable local.
    pub(super) fn fix(&mut self, value: ExprId) -> ExprId {
        self.fresh = None;
        if self.is_fixed(value) {
            return value;
        }
        let local = self.local("held", self.ty(value), false);
        self.stmt(Stmt::Let { local, value });
        self.read(local)
    }

    /// Another expression of a [fixed](Self::fix) value: no expression stands in two places.
    pub(super) fn again(&mut self, value: ExprId) -> ExprId {
        let Expr { ty, kind } = self.exprs[value].clone();
        self.expr(ty, kind)
    }

    /// Two expressions of one value, which is computed once.
    pub(super) fn twice(&mut self, value: ExprId) -> [ExprId; 2] {
        let value = self.fix(value);
        [value, self.again(value)]
    }

    /// Assigns `value` to `local`.
    pub(super) fn assign(&mut self, local: LocalId, value: ExprId) {
        self.stmt(Stmt::Assign { local, value });
    }

    /// Runs `stmt` if `cond` holds.
    pub(super) fn stmt_if(&mut self, cond: ExprId, stmt: Stmt) {
        let then = self.block(vec![stmt]);
        let otherwise = self.block(Vec::new());
        self.stmt(Stmt::If { cond, then, otherwise });
    }

    /// Whether a value is cheap enough to compute where it may not be needed.
    pub(super) fn is_cheap(&self, value: ExprId) -> bool {
        let mut nodes = 0;
        !self.any(value, &mut |kind, _| {
            nodes += 1;
            let costly = matches!(kind, ExprKind::Math { function, .. }
                if !matches!(function, MathFn::Abs | MathFn::Min | MathFn::Max));
            costly || nodes > CHEAP
        })
    }

    fn is_fixed(&self, value: ExprId) -> bool {
        match &self.exprs[value].kind {
            ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::Dim { .. } => true,
            ExprKind::Local(local) => !self.locals[*local].mutable,
            _ => false,
        }
    }

    /// Whether `found` holds for any node of a pure expression.
    fn any(&self, expr: ExprId, found: &mut dyn FnMut(&ExprKind, &Self) -> bool) -> bool {
        let kind = &self.exprs[expr].kind;
        if found(kind, self) {
            return true;
        }
        kind.operands().any(|operand| self.any(operand, found))
    }
}

/// A Rust name as an ASCII identifier.
pub(super) fn identifier(name: &str) -> String {
    match name.strip_prefix("r#").unwrap_or(name) {
        "_" => "unused".to_owned(),
        name => name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect(),
    }
}
