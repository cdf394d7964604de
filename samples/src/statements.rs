//! Builds statements in place: each function appends to the innermost open block, and closures fill nested blocks.

use quadrants_ir::{
    Array, AtomicOp, BinaryOp, BlockCollective, BlockFor, BlockId, CollectiveOp, DivRemOp, Element,
    ExprId, ExprKind, LocalId, LoopDim, ParallelFor, ParamId, ScalarType, SharedExtent, SiteId,
    SiteKind, Stmt, TopStmt,
};

use crate::Builder;

impl Builder {
    pub fn push(&mut self, stmt: Stmt) {
        self.open.last_mut().expect("a block is open").push(stmt);
    }

    /// Defines a local with this value.
    pub fn define(&mut self, name: &str, value: ExprId, mutable: bool) -> LocalId {
        let ty = self.ty(value);
        let local = if mutable { self.variable(name, ty) } else { self.local(name, ty) };
        self.push(Stmt::Let { local, value });
        local
    }

    /// Defines an immutable local and returns its value.
    pub fn named(&mut self, name: &str, value: ExprId) -> ExprId {
        let local = self.define(name, value, false);
        self.read(local)
    }

    pub fn assign(&mut self, local: LocalId, value: ExprId) {
        self.push(Stmt::Assign { local, value });
    }

    /// Loads an element into a local.
    pub fn let_load(&mut self, name: &str, tensor: ParamId, index: &[ExprId]) -> ExprId {
        let value = self.load(tensor, index);
        self.named(name, value)
    }

    pub fn push_store(&mut self, tensor: ParamId, index: &[ExprId], value: ExprId) {
        let store = self.store(tensor, index, value);
        self.push(store);
    }

    pub fn let_div_rem(&mut self, name: &str, op: DivRemOp, lhs: ExprId, rhs: ExprId) -> ExprId {
        let value = self.div_rem(op, lhs, rhs);
        self.named(name, value)
    }

    pub fn push_assert(&mut self, cond: ExprId, message: &str) {
        let assert = self.assert(cond, message);
        self.push(assert);
    }

    /// A block with the statements that `fill` appends.
    pub fn nested(&mut self, fill: impl FnOnce(&mut Self)) -> BlockId {
        self.open.push(Vec::new());
        fill(self);
        let stmts = self.open.pop().unwrap_or_default();
        self.block(stmts)
    }

    /// Opens a block, which [`close_block`](Self::close_block) ends.
    pub fn open_block(&mut self) {
        self.open.push(Vec::new());
    }

    /// Ends the innermost open block, and returns it.
    pub fn close_block(&mut self) -> BlockId {
        let stmts = self.open.pop().unwrap_or_default();
        self.block(stmts)
    }

    pub fn branch(
        &mut self,
        cond: ExprId,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        let then = self.nested(then);
        let otherwise = self.nested(otherwise);
        self.push(Stmt::If { cond, then, otherwise });
    }

    pub fn repeat(
        &mut self,
        name: &str,
        [begin, end]: [ExprId; 2],
        down: bool,
        body: impl FnOnce(&mut Self, ExprId),
    ) {
        let ty = self.ty(begin);
        let var = self.local(name, ty);
        let value = self.read(var);
        let body = self.nested(|b| body(b, value));
        self.push(Stmt::For { var, begin, end, body, unroll: Some(4), down });
    }

    /// As [`repeat`](Self::repeat), counting up and without an unroll request.
    pub fn walk(
        &mut self,
        name: &str,
        [begin, end]: [ExprId; 2],
        body: impl FnOnce(&mut Self, ExprId),
    ) {
        let var = self.local(name, self.ty(begin));
        let value = self.read(var);
        let body = self.nested(|b| body(b, value));
        self.push(Stmt::For { var, begin, end, body, unroll: None, down: false });
    }

    pub fn forever(&mut self, body: impl FnOnce(&mut Self)) {
        let body = self.nested(body);
        self.push(Stmt::Loop { body });
    }

    /// A top-level parallel loop. Each dimension has a name, begin and end.
    pub fn parallel_loop(
        &mut self,
        dims: &[(&str, ExprId, ExprId)],
        body: impl FnOnce(&mut Self, &[ExprId]),
    ) {
        let mut values = Vec::new();
        let dims = dims
            .iter()
            .map(|&(name, begin, end)| {
                let ty = self.ty(begin);
                let var = self.local(name, ty);
                values.push(self.read(var));
                LoopDim { var, begin, end }
            })
            .collect();
        let body = self.nested(|b| body(b, &values));
        let line = self.kernel.sites.len() as u32 + 1;
        self.kernel.body.push(TopStmt::ParallelFor(ParallelFor {
            dims,
            body,
            line,
            block_size: None,
        }));
    }

    /// A top-level block loop with this number of blocks and block size.
    pub fn blocks(&mut self, count: ExprId, threads: u32, body: impl FnOnce(&mut Self, ExprId)) {
        self.grid(&[count], threads, |b, index| body(b, index[0]));
    }

    /// The same with a grid of several dimensions.
    pub fn grid(
        &mut self,
        counts: &[ExprId],
        threads: u32,
        body: impl FnOnce(&mut Self, &[ExprId]),
    ) {
        let dims: Vec<_> = counts
            .iter()
            .map(|&end| {
                let begin = self.constant(0u64);
                LoopDim { var: self.local("b", ScalarType::U64), begin, end }
            })
            .collect();
        let index: Vec<_> = dims.iter().map(|dim| self.read(dim.var)).collect();
        let body = self.nested(|b| body(b, &index));
        let line = self.kernel.sites.len() as u32 + 1;
        self.kernel.body.push(TopStmt::BlockFor(BlockFor { dims, threads, body, line }));
    }

    /// Defines a shared array.
    pub fn shared(&mut self, name: &str, ty: ScalarType, dims: &[u32]) -> LocalId {
        let array = self.local(name, ty);
        let dims = dims.iter().copied().map(SharedExtent::from).collect();
        self.push(Stmt::Shared { array, dims, scalars: None });
        array
    }

    /// Defines a shared array, or with `scalars` a component of one, whose extents may be locals.
    pub fn dynamic(
        &mut self,
        name: &str,
        ty: ScalarType,
        dims: &[SharedExtent],
        scalars: Option<u32>,
    ) -> LocalId {
        let array = self.local(name, ty);
        self.push(Stmt::Shared { array, dims: dims.to_vec(), scalars });
        array
    }

    /// Defines a component of a shared array, with several scalars per element.
    pub fn shared_component(
        &mut self,
        name: &str,
        ty: ScalarType,
        dims: &[u32],
        scalars: u32,
    ) -> LocalId {
        let array = self.local(name, ty);
        let dims = dims.iter().copied().map(SharedExtent::from).collect();
        self.push(Stmt::Shared { array, dims, scalars: Some(scalars) });
        array
    }

    /// Defines a local array. Also returns its site, for accesses and for the check of an index.
    pub fn array(&mut self, name: &str, ty: ScalarType, len: u32) -> (LocalId, SiteId) {
        let array = self.local(name, ty);
        self.push(Stmt::Array { array, len });
        (array, self.site(SiteKind::ArrayIndex { name: name.to_owned(), shape: vec![len] }))
    }

    /// Ends the iteration if an index is not below the length of a local array.
    pub fn check_index(&mut self, site: SiteId, index: ExprId, len: u64) {
        let len = self.constant(len);
        let cond = self.binary(BinaryOp::Lt, index, len);
        self.push(Stmt::Assert { cond, site, values: vec![index] });
    }

    pub fn array_load(
        &mut self,
        name: &str,
        (array, site): (LocalId, SiteId),
        index: ExprId,
    ) -> ExprId {
        let element = Element { array: Array::Local(array), index: vec![index], site };
        let ty = self.kernel.locals[array].ty;
        let value = self.expr(ty, ExprKind::Load(element));
        self.named(name, value)
    }

    pub fn array_store(&mut self, (array, site): (LocalId, SiteId), index: ExprId, value: ExprId) {
        let element = Element { array: Array::Local(array), index: vec![index], site };
        self.push(Stmt::Store { element, value });
    }

    /// A phase of a block.
    pub fn each(&mut self, body: impl FnOnce(&mut Self, ExprId)) {
        let var = self.local("t", ScalarType::U64);
        let value = self.read(var);
        let body = self.nested(|b| body(b, value));
        self.push(Stmt::Phase { var, body, collective: None });
    }

    /// A phase with a collective. Returns the result.
    pub fn collective(
        &mut self,
        name: &str,
        op: CollectiveOp,
        ty: ScalarType,
        body: impl FnOnce(&mut Self, ExprId) -> (ExprId, Option<ExprId>),
    ) -> LocalId {
        let var = self.local("t", ScalarType::U64);
        let thread = self.read(var);
        let body = self.nested(|b| {
            let (value, from) = body(b, thread);
            b.push(Stmt::CollectiveInput { value, from });
        });
        let local = self.local(name, ty);
        self.push(Stmt::Phase { var, body, collective: Some(BlockCollective { op, local }) });
        local
    }

    pub fn shared_load(&mut self, name: &str, array: LocalId, index: &[ExprId]) -> ExprId {
        let element = self.element(Array::Shared(array), index);
        let ty = self.kernel.locals[array].ty;
        let value = self.expr(ty, ExprKind::Load(element));
        self.named(name, value)
    }

    pub fn shared_store(&mut self, array: LocalId, index: &[ExprId], value: ExprId) {
        let element = self.element(Array::Shared(array), index);
        self.push(Stmt::Store { element, value });
    }

    /// An atomic on a shared array, to be used in a statement.
    pub fn shared_atomic(
        &mut self,
        op: AtomicOp,
        array: LocalId,
        index: ExprId,
        value: ExprId,
    ) -> ExprId {
        let element = self.element(Array::Shared(array), &[index]);
        let ty = self.kernel.locals[array].ty;
        self.expr(ty, ExprKind::Atomic { op, element, expected: None, value })
    }

    /// A top-level serial block.
    pub fn serial_block(&mut self, body: impl FnOnce(&mut Self)) {
        let block = self.nested(body);
        self.kernel.body.push(TopStmt::Serial(block));
    }

    pub fn result(&mut self, values: &[ExprId]) {
        self.kernel.results = values.iter().map(|value| self.ty(*value)).collect();
        self.kernel.body.push(TopStmt::Return(values.to_vec()));
    }
}
