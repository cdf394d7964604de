//! The builder of the sample kernels: one call per node.

use quadrants_ir::{
    AtomicOp, BinaryOp, Block, BlockFor, BlockId, Collective, CollectiveOp, Const, DivRemOp, Expr,
    ExprId, ExprKind, Kernel, Local, LocalId, LoopDim, MathFn, Offloaded, Options, ParallelFor,
    Param, ParamId, ParamKind, ScalarType, Site, SiteId, SiteKind, Stmt, TopStmt, UnaryOp, offload,
};

/// A kernel under construction.
pub(super) struct SampleBuilder {
    pub(super) kernel: Kernel,
    open: Vec<Vec<Stmt>>,
}

impl SampleBuilder {
    pub(super) fn new(name: &str, options: Options) -> Self {
        let kernel = Kernel {
            name: name.to_owned(),
            file: "samples.rs".to_owned(),
            params: Vec::new(),
            locals: Default::default(),
            exprs: Default::default(),
            blocks: Default::default(),
            sites: Vec::new(),
            body: Vec::new(),
            result: None,
            options,
        };
        Self { kernel, open: Vec::new() }
    }

    pub(super) fn finish(self) -> Offloaded {
        offload(&self.kernel).expect("the samples are well formed")
    }

    fn param(&mut self, name: &str, kind: ParamKind) -> ParamId {
        self.kernel.params.push(Param { name: name.to_owned(), kind });
        ParamId::new(self.kernel.params.len() as u32 - 1)
    }

    /// Adds a scalar parameter and returns its value.
    pub(super) fn scalar(&mut self, name: &str, ty: ScalarType) -> ExprId {
        let param = self.param(name, ParamKind::Scalar(ty));
        self.expr(ty, ExprKind::Param(param))
    }

    pub(super) fn tensor(
        &mut self,
        name: &str,
        elem: ScalarType,
        rank: u8,
        writable: bool,
    ) -> ParamId {
        self.param(name, ParamKind::Tensor { elem, rank, writable })
    }

    /// Adds a component of a tensor with this number of scalars per element.
    pub(super) fn component(
        &mut self,
        name: &str,
        elem: ScalarType,
        rank: u8,
        scalars: u32,
    ) -> ParamId {
        self.param(name, ParamKind::Component { elem, rank, writable: true, scalars })
    }

    pub(super) fn expr(&mut self, ty: ScalarType, kind: ExprKind) -> ExprId {
        self.kernel.exprs.push(Expr { ty, kind })
    }

    pub(super) fn ty(&self, expr: ExprId) -> ScalarType {
        self.kernel.exprs[expr].ty
    }

    pub(super) fn constant(&mut self, value: impl Into<Const>) -> ExprId {
        let value = value.into();
        self.expr(value.ty(), ExprKind::Const(value))
    }

    pub(super) fn dim(&mut self, tensor: ParamId, axis: u8) -> ExprId {
        self.expr(ScalarType::U64, ExprKind::Dim { tensor, axis })
    }

    pub(super) fn unary(&mut self, op: UnaryOp, value: ExprId) -> ExprId {
        self.expr(self.ty(value), ExprKind::Unary { op, value })
    }

    pub(super) fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let ty = if op.is_comparison() { ScalarType::Bool } else { self.ty(lhs) };
        self.expr(ty, ExprKind::Binary { op, lhs, rhs })
    }

    pub(super) fn math(&mut self, function: MathFn, args: &[ExprId]) -> ExprId {
        self.expr(self.ty(args[0]), ExprKind::Math { function, args: args.to_vec() })
    }

    pub(super) fn cast(&mut self, value: ExprId, to: ScalarType) -> ExprId {
        self.expr(to, ExprKind::Cast { value })
    }

    pub(super) fn select(&mut self, cond: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        self.expr(self.ty(then), ExprKind::Select { cond, then, otherwise })
    }

    pub(super) fn site(&mut self, kind: SiteKind) -> SiteId {
        let line = self.kernel.sites.len() as u32 + 1;
        self.kernel.sites.push(Site { kind, file: None, line, column: 9, asserted: false });
        SiteId::new(line - 1)
    }

    pub(super) fn push(&mut self, stmt: Stmt) {
        self.open.last_mut().expect("a block is open").push(stmt);
    }

    /// Defines a local with this value.
    pub(super) fn define(&mut self, name: &str, value: ExprId, mutable: bool) -> LocalId {
        let ty = self.ty(value);
        let local = self.local(name, ty, mutable);
        self.push(Stmt::Let { local, value });
        local
    }

    fn local(&mut self, name: &str, ty: ScalarType, mutable: bool) -> LocalId {
        self.kernel.locals.push(Local { name: name.to_owned(), ty, mutable })
    }

    pub(super) fn get(&mut self, local: LocalId) -> ExprId {
        self.expr(self.kernel.locals[local].ty, ExprKind::Local(local))
    }

    /// Defines an immutable local and returns its value.
    pub(super) fn named(&mut self, name: &str, value: ExprId) -> ExprId {
        let local = self.define(name, value, false);
        self.get(local)
    }

    pub(super) fn assign(&mut self, local: LocalId, value: ExprId) {
        self.push(Stmt::Assign { local, value });
    }

    fn elem(&self, tensor: ParamId) -> ScalarType {
        match self.kernel.params[tensor.index()].kind {
            ParamKind::Scalar(ty)
            | ParamKind::Tensor { elem: ty, .. }
            | ParamKind::Component { elem: ty, .. } => ty,
        }
    }

    /// Loads an element into a local.
    pub(super) fn load(&mut self, name: &str, tensor: ParamId, index: &[ExprId]) -> ExprId {
        let site = self.site(SiteKind::Index(tensor));
        let kind = ExprKind::Load { tensor, index: index.to_vec(), site };
        let value = self.expr(self.elem(tensor), kind);
        self.named(name, value)
    }

    pub(super) fn store(&mut self, tensor: ParamId, index: &[ExprId], value: ExprId) {
        let site = self.site(SiteKind::Index(tensor));
        self.push(Stmt::Store { tensor, index: index.to_vec(), value, site });
    }

    /// An atomic, to be used in a statement.
    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        tensor: ParamId,
        index: &[ExprId],
        value: ExprId,
    ) -> ExprId {
        let site = self.site(SiteKind::Index(tensor));
        let kind = ExprKind::Atomic { op, tensor, index: index.to_vec(), value, site };
        self.expr(self.elem(tensor), kind)
    }

    pub(super) fn div_rem(&mut self, name: &str, op: DivRemOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let site = self.site(SiteKind::DivideByZero);
        let value = self.expr(self.ty(lhs), ExprKind::DivRem { op, lhs, rhs, site });
        self.named(name, value)
    }

    pub(super) fn assert(&mut self, cond: ExprId, message: &str) {
        let site = self.site(SiteKind::Assert { message: message.to_owned() });
        self.push(Stmt::Assert { cond, site });
    }

    pub(super) fn block(&mut self, fill: impl FnOnce(&mut Self)) -> BlockId {
        self.open.push(Vec::new());
        fill(self);
        let stmts = self.open.pop().unwrap_or_default();
        self.kernel.blocks.push(Block { stmts })
    }

    pub(super) fn branch(
        &mut self,
        cond: ExprId,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        let then = self.block(then);
        let otherwise = self.block(otherwise);
        self.push(Stmt::If { cond, then, otherwise });
    }

    pub(super) fn repeat(
        &mut self,
        name: &str,
        [begin, end]: [ExprId; 2],
        down: bool,
        body: impl FnOnce(&mut Self, ExprId),
    ) {
        let ty = self.ty(begin);
        let var = self.local(name, ty, false);
        let value = self.get(var);
        let body = self.block(|b| body(b, value));
        self.push(Stmt::For { var, begin, end, body, unroll: Some(4), down });
    }

    /// As [`repeat`](Self::repeat), counting up and without an unroll request.
    pub(super) fn walk(
        &mut self,
        name: &str,
        [begin, end]: [ExprId; 2],
        body: impl FnOnce(&mut Self, ExprId),
    ) {
        let var = self.local(name, self.ty(begin), false);
        let value = self.get(var);
        let body = self.block(|b| body(b, value));
        self.push(Stmt::For { var, begin, end, body, unroll: None, down: false });
    }

    pub(super) fn forever(&mut self, body: impl FnOnce(&mut Self)) {
        let body = self.block(body);
        self.push(Stmt::Loop { body });
    }

    /// A top-level parallel loop. Each dimension has a name, begin and end.
    pub(super) fn parallel(
        &mut self,
        dims: &[(&str, ExprId, ExprId)],
        body: impl FnOnce(&mut Self, &[ExprId]),
    ) {
        let mut values = Vec::new();
        let dims = dims
            .iter()
            .map(|&(name, begin, end)| {
                let ty = self.ty(begin);
                let var = self.local(name, ty, false);
                values.push(self.get(var));
                LoopDim { var, begin, end }
            })
            .collect();
        let body = self.block(|b| body(b, &values));
        let line = self.kernel.sites.len() as u32 + 1;
        self.kernel.body.push(TopStmt::ParallelFor(ParallelFor {
            dims,
            body,
            line,
            block_size: None,
        }));
    }

    /// A top-level block loop with this number of blocks and block size.
    pub(super) fn blocks(
        &mut self,
        count: ExprId,
        threads: u32,
        body: impl FnOnce(&mut Self, ExprId),
    ) {
        self.grid(&[count], threads, |b, index| body(b, index[0]));
    }

    /// The same with a grid of several dimensions.
    pub(super) fn grid(
        &mut self,
        counts: &[ExprId],
        threads: u32,
        body: impl FnOnce(&mut Self, &[ExprId]),
    ) {
        let dims: Vec<_> = counts
            .iter()
            .map(|&end| {
                let begin = self.constant(0u64);
                LoopDim { var: self.local("b", ScalarType::U64, false), begin, end }
            })
            .collect();
        let index: Vec<_> = dims.iter().map(|dim| self.get(dim.var)).collect();
        let body = self.block(|b| body(b, &index));
        let line = self.kernel.sites.len() as u32 + 1;
        self.kernel.body.push(TopStmt::BlockFor(BlockFor { dims, threads, body, line }));
    }

    /// Defines a shared array.
    pub(super) fn shared(&mut self, name: &str, ty: ScalarType, dims: &[u32]) -> LocalId {
        let array = self.local(name, ty, false);
        self.push(Stmt::Shared { array, dims: dims.to_vec() });
        array
    }

    /// A phase of a block.
    pub(super) fn each(&mut self, body: impl FnOnce(&mut Self, ExprId)) {
        let var = self.local("t", ScalarType::U64, false);
        let value = self.get(var);
        let body = self.block(|b| body(b, value));
        self.push(Stmt::Phase { var, body, collective: None });
    }

    /// A phase with a collective. Returns the result.
    pub(super) fn collective(
        &mut self,
        name: &str,
        op: CollectiveOp,
        ty: ScalarType,
        body: impl FnOnce(&mut Self, ExprId) -> (ExprId, Option<ExprId>),
    ) -> LocalId {
        let var = self.local("t", ScalarType::U64, false);
        let thread = self.get(var);
        let body = self.block(|b| {
            let (value, from) = body(b, thread);
            b.push(Stmt::CollectiveInput { value, from });
        });
        let local = self.local(name, ty, false);
        self.push(Stmt::Phase { var, body, collective: Some(Collective { op, local }) });
        local
    }

    pub(super) fn shared_load(&mut self, name: &str, array: LocalId, index: &[ExprId]) -> ExprId {
        let index = index.to_vec();
        let site = self.site(SiteKind::SharedIndex(array));
        let ty = self.kernel.locals[array].ty;
        let value = self.expr(ty, ExprKind::SharedLoad { array, index, site });
        self.named(name, value)
    }

    pub(super) fn shared_store(&mut self, array: LocalId, index: &[ExprId], value: ExprId) {
        let index = index.to_vec();
        let site = self.site(SiteKind::SharedIndex(array));
        self.push(Stmt::SharedStore { array, index, value, site });
    }

    /// An atomic on a shared array, to be used in a statement.
    pub(super) fn shared_atomic(
        &mut self,
        op: AtomicOp,
        array: LocalId,
        index: ExprId,
        value: ExprId,
    ) -> ExprId {
        let index = vec![index];
        let site = self.site(SiteKind::SharedIndex(array));
        let ty = self.kernel.locals[array].ty;
        self.expr(ty, ExprKind::SharedAtomic { op, array, index, value, site })
    }

    /// A top-level serial block.
    pub(super) fn serial(&mut self, body: impl FnOnce(&mut Self)) {
        let block = self.block(body);
        self.kernel.body.push(TopStmt::Serial(block));
    }

    pub(super) fn result(&mut self, value: ExprId) {
        self.kernel.result = Some(self.ty(value));
        self.kernel.body.push(TopStmt::Return(value));
    }
}
