//! The builder of test kernels: one call per node. Statements are returned; `statements` has the functions that append
//! them to the innermost open block.

use quadrants_ir::{
    Arena, Array, AtomicOp, BinaryOp, Block, BlockId, Const, DivRemOp, Element, Expr, ExprId,
    ExprKind, Kernel, Local, LocalId, LoopDim, MathFn, Offloaded, Options, ParallelFor, Param,
    ParamId, ParamKind,
    ScalarType::{self, Bool, U64},
    Site, SiteId, SiteKind, Stmt, TopStmt, UnaryOp,
    format::{Format, FormatArgument},
    offload,
};

/// A kernel under construction.
pub struct Builder {
    pub kernel: Kernel,
    /// The statements of the open blocks, the innermost last.
    pub(crate) open: Vec<Vec<Stmt>>,
}

impl Builder {
    pub fn new(name: &str) -> Self {
        Self::with_options(name, Options::default())
    }

    pub fn with_options(name: &str, options: Options) -> Self {
        let kernel = Kernel {
            name: name.into(),
            file: "samples.rs".into(),
            params: Vec::new(),
            locals: Arena::new(),
            exprs: Arena::new(),
            blocks: Arena::new(),
            sites: Vec::new(),
            body: Vec::new(),
            results: Vec::new(),
            options,
        };
        Self { kernel, open: Vec::new() }
    }

    /// Splits the kernel into tasks.
    pub fn finish(self) -> Offloaded {
        offload(&self.kernel).expect("the kernel is well formed")
    }

    pub fn tensor(&mut self, name: &str, elem: ScalarType, rank: u8) -> ParamId {
        self.param(name, ParamKind::Tensor { elem, rank, writable: true, distinct: false })
    }

    /// A tensor that the kernel only reads.
    pub fn read_only(&mut self, name: &str, elem: ScalarType, rank: u8) -> ParamId {
        self.param(name, ParamKind::Tensor { elem, rank, writable: false, distinct: false })
    }

    /// A component of a tensor with this number of scalars per element.
    pub fn component(&mut self, name: &str, elem: ScalarType, rank: u8, scalars: u32) -> ParamId {
        self.param(name, ParamKind::Component { elem, rank, writable: true, scalars })
    }

    /// Adds a scalar parameter and returns its value.
    pub fn scalar(&mut self, name: &str, ty: ScalarType) -> ExprId {
        let param = self.param(name, ParamKind::Scalar(ty));
        self.expr(ty, ExprKind::Param(param))
    }

    pub fn param(&mut self, name: &str, kind: ParamKind) -> ParamId {
        let interleaved_step = match kind {
            ParamKind::Component { scalars, .. } => scalars,
            _ => 0,
        };
        self.kernel.params.push(Param { interleaved_step, ..Param::new(name, kind) });
        ParamId::new(self.kernel.params.len() as u32 - 1)
    }

    pub fn local(&mut self, name: &str, ty: ScalarType) -> LocalId {
        self.kernel.locals.push(Local { name: name.into(), ty, mutable: false })
    }

    pub fn variable(&mut self, name: &str, ty: ScalarType) -> LocalId {
        self.kernel.locals.push(Local { name: name.into(), ty, mutable: true })
    }

    pub fn expr(&mut self, ty: ScalarType, kind: ExprKind) -> ExprId {
        self.kernel.exprs.push(Expr::new(ty, kind))
    }

    pub fn ty(&self, expr: ExprId) -> ScalarType {
        self.kernel.exprs[expr].ty
    }

    pub fn constant(&mut self, value: impl Into<Const>) -> ExprId {
        let value = value.into();
        self.expr(value.ty(), ExprKind::Const(value))
    }

    pub fn read(&mut self, local: LocalId) -> ExprId {
        let ty = self.kernel.locals[local].ty;
        self.expr(ty, ExprKind::Local(local))
    }

    pub fn dim(&mut self, tensor: ParamId, axis: u8) -> ExprId {
        self.expr(U64, ExprKind::Dim { tensor, axis })
    }

    pub fn unary(&mut self, op: UnaryOp, value: ExprId) -> ExprId {
        self.expr(self.ty(value), ExprKind::Unary { op, value })
    }

    pub fn select(&mut self, cond: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        self.expr(self.ty(then), ExprKind::Select { cond, then, otherwise })
    }

    pub fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let ty = if op.is_comparison() { Bool } else { self.ty(lhs) };
        self.expr(ty, ExprKind::Binary { op, lhs, rhs })
    }

    pub fn math(&mut self, function: MathFn, args: &[ExprId]) -> ExprId {
        let ty = self.ty(args[0]);
        self.expr(ty, ExprKind::Math { function, args: args.to_vec() })
    }

    pub fn cast(&mut self, ty: ScalarType, value: ExprId) -> ExprId {
        self.expr(ty, ExprKind::Cast { value })
    }

    pub fn element(&mut self, array: Array, index: &[ExprId]) -> Element {
        Element { array, index: index.to_vec(), site: self.site(SiteKind::Index(array)) }
    }

    pub fn load(&mut self, tensor: ParamId, index: &[ExprId]) -> ExprId {
        let element = self.element(Array::Tensor(tensor), index);
        let ty = self.elem(tensor);
        self.expr(ty, ExprKind::Load(element))
    }

    pub fn atomic(
        &mut self,
        op: AtomicOp,
        tensor: ParamId,
        index: &[ExprId],
        value: ExprId,
    ) -> ExprId {
        let element = self.element(Array::Tensor(tensor), index);
        let ty = self.elem(tensor);
        self.expr(ty, ExprKind::Atomic { op, element, expected: None, value })
    }

    /// An atomic that stores a value if the element has the expected one.
    pub fn compare_exchange(
        &mut self,
        tensor: ParamId,
        index: &[ExprId],
        [expected, value]: [ExprId; 2],
    ) -> ExprId {
        let element = self.element(Array::Tensor(tensor), index);
        let ty = self.elem(tensor);
        let op = AtomicOp::CompareExchange;
        self.expr(ty, ExprKind::Atomic { op, element, expected: Some(expected), value })
    }

    pub fn div_rem(&mut self, op: DivRemOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let site = self.site(SiteKind::DivideByZero);
        let ty = self.ty(lhs);
        self.expr(ty, ExprKind::DivRem { op, lhs, rhs, site })
    }

    pub fn store(&mut self, tensor: ParamId, index: &[ExprId], value: ExprId) -> Stmt {
        Stmt::Store { element: self.element(Array::Tensor(tensor), index), value }
    }

    pub fn assert(&mut self, cond: ExprId, message: &str) -> Stmt {
        let site = self.site(SiteKind::Assert(message.into()));
        Stmt::Assert { cond, site, values: Vec::new() }
    }

    /// A message with these arguments, after those of the iteration.
    pub fn print(&mut self, text: &str, iteration: &[ExprId], args: &[ExprId]) -> Stmt {
        let position = |argument| match argument {
            FormatArgument::Position(at) => Ok(at),
            FormatArgument::Name(name) => Err(name),
        };
        let format = Format::parse(text, position).expect("a text with positions");
        let values = [iteration, args].concat();
        let types = values.iter().map(|value| self.ty(*value)).collect();
        let iteration = iteration.len() as u32;
        let site = self.site(SiteKind::Print { format, iteration, types });
        Stmt::Print { site, values }
    }

    pub fn site(&mut self, kind: SiteKind) -> SiteId {
        let line = self.kernel.sites.len() as u32 + 1;
        self.kernel.sites.push(Site { kind, file: None, line, column: 1, asserted: false });
        SiteId::new(line - 1)
    }

    pub fn elem(&self, tensor: ParamId) -> ScalarType {
        match self.kernel.params[tensor.index()].kind {
            ParamKind::Tensor { elem, .. }
            | ParamKind::Component { elem, .. }
            | ParamKind::Scalar(elem) => elem,
        }
    }

    pub fn block(&mut self, stmts: Vec<Stmt>) -> BlockId {
        self.kernel.blocks.push(Block { stmts })
    }

    pub fn serial(&mut self, stmts: Vec<Stmt>) -> TopStmt {
        TopStmt::Serial(self.block(stmts))
    }

    /// A parallel loop. Each dimension is a variable and its bounds.
    pub fn parallel(&mut self, dims: &[(LocalId, ExprId, ExprId)], stmts: Vec<Stmt>) -> TopStmt {
        let body = self.block(stmts);
        let dims = dims.iter().map(|&(var, begin, end)| LoopDim { var, begin, end }).collect();
        TopStmt::ParallelFor(ParallelFor { dims, body, line: 7, block_size: None })
    }
}
