//! The rules of statements: scope, definitions, places of effects and jumps.

use super::{
    MAX_DEPTH, Place, Rule,
    exprs::{SiteNeed, access, need, shared, site, temp_type},
};
use crate::{
    BlockId, Exchange, ExchangeOp, ExprId, ExprKind, LocalId, ReduceOp, ScalarType, SiteId, Stmt,
    abi::MAX_SHARED_BYTES, collective::WARP, visit::Nodes,
};

/// What stands around a statement.
#[derive(Clone, Copy)]
pub(super) struct Around {
    /// Whether a serial loop does.
    pub(super) in_loop: bool,
    /// Whose code it is in.
    pub(super) by: By,
}

/// Who runs code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// One thread.
    One,
    /// An iteration of a parallel loop.
    Iteration,
    /// A block of threads as a whole.
    Block,
    /// A thread in a phase of its block.
    Thread,
}

/// The scope while blocks are walked in order.
pub(super) struct Scope<'k> {
    pub(super) nodes: Nodes<'k>,
    /// The types of the temporaries; none before offloading.
    pub(super) temps: Option<&'k [ScalarType]>,
    /// The type of the result; what `SetResult` may set.
    pub(super) result: Option<ScalarType>,
    /// The locals in scope, innermost last.
    visible: Vec<LocalId>,
    /// Of each local: whether it is in scope.
    in_scope: Vec<bool>,
    /// Of each local: whether it was ever defined.
    defined: Vec<bool>,
    /// Locals in scope from here on may be assigned: those before are outside the parallel loop.
    assignable_from: usize,
    block_used: Vec<bool>,
    /// Of each local: the dimensions of the shared array that it is, or 0.
    shared_ranks: Vec<usize>,
    /// Of each local: whether each thread of a block has a value of its own.
    is_of_threads: Vec<bool>,
    /// Who runs the statement that is being checked.
    by: By,
    /// The exchange of the phase that is being checked.
    exchange: Option<Exchange>,
    /// The size of the shared arrays of the block that is being checked.
    shared_bytes: u64,
    depth: u16,
    /// Of each expression: the last statement that walked it.
    walked: Vec<u64>,
    walk: u64,
}

/// Where the scope stood, to return to.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    visible: usize,
    assignable_from: usize,
}

type Broken = (Place, Rule);

impl<'k> Scope<'k> {
    pub(super) fn new(
        nodes: Nodes<'k>,
        temps: Option<&'k [ScalarType]>,
        result: Option<ScalarType>,
    ) -> Self {
        Self {
            nodes,
            temps,
            result,
            visible: Vec::new(),
            in_scope: vec![false; nodes.locals.len()],
            defined: vec![false; nodes.locals.len()],
            assignable_from: 0,
            block_used: vec![false; nodes.blocks.len()],
            shared_ranks: vec![0; nodes.locals.len()],
            is_of_threads: vec![false; nodes.locals.len()],
            by: By::One,
            exchange: None,
            shared_bytes: 0,
            depth: 0,
            walked: vec![0; nodes.exprs.len()],
            walk: 0,
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { visible: self.visible.len(), assignable_from: self.assignable_from }
    }

    pub(super) fn reset(&mut self, mark: Mark) {
        for local in self.visible.drain(mark.visible..) {
            self.in_scope[local.index()] = false;
        }
        self.assignable_from = mark.assignable_from;
    }

    /// Enters a parallel loop: what is in scope now may no longer be assigned.
    pub(super) fn enter_parallel(&mut self) {
        self.assignable_from = self.visible.len();
    }

    /// Enters a grid of blocks, or is in none any more.
    pub(super) fn next_block(&mut self) {
        self.shared_bytes = 0;
    }

    /// Forgets which locals are defined: tasks each define their own.
    pub(super) fn next_task(&mut self) {
        self.reset(Mark { visible: 0, assignable_from: 0 });
        self.defined.fill(false);
    }

    pub(super) fn define(&mut self, local: LocalId) -> Result<(), Rule> {
        self.nodes.locals.get(local).ok_or(Rule::IdRange)?;
        if std::mem::replace(&mut self.defined[local.index()], true) {
            return Err(Rule::DefinedTwice { name: self.name(local) });
        }
        self.in_scope[local.index()] = true;
        self.visible.push(local);
        Ok(())
    }

    pub(super) fn define_loop_var(&mut self, var: LocalId) -> Result<(), Rule> {
        let local = self.nodes.locals.get(var).ok_or(Rule::IdRange)?;
        if local.mutable || !local.ty.is_int() {
            return Err(Rule::LoopVariable { name: local.name.clone() });
        }
        self.define(var)
    }

    /// Checks a pure value and gives its type.
    pub(super) fn pure(&mut self, value: ExprId) -> Result<ScalarType, Rule> {
        let expr = self.nodes.exprs.get(value).ok_or(Rule::IdRange)?;
        if expr.kind.is_effect() {
            return Err(Rule::EffectPlace);
        }
        self.any(value)
    }

    /// Checks a value that may be an effect, and gives its type.
    pub(super) fn any(&mut self, value: ExprId) -> Result<ScalarType, Rule> {
        let ty = self.nodes.exprs.get(value).ok_or(Rule::IdRange)?.ty;
        self.walk += 1;
        self.uses(value)?;
        Ok(ty)
    }

    fn uses(&mut self, value: ExprId) -> Result<(), Rule> {
        if std::mem::replace(&mut self.walked[value.index()], self.walk) == self.walk {
            return Ok(());
        }
        let kind = &self.nodes.exprs[value].kind;
        match *kind {
            ExprKind::Local(local) => self.used(local, 0)?,
            ExprKind::SharedLoad { array, ref index, .. }
            | ExprKind::SharedAtomic { array, ref index, .. } => {
                self.used(array, index.len())?;
            }
            _ => {}
        }
        kind.operands().try_for_each(|operand| self.uses(operand))
    }

    /// A use of a local as a value, or as an array of so many dimensions.
    fn used(&self, local: LocalId, rank: usize) -> Result<(), Rule> {
        if !*self.in_scope.get(local.index()).ok_or(Rule::IdRange)? {
            return Err(Rule::Undefined { name: self.name(local) });
        }
        let expected = self.shared_ranks[local.index()];
        if expected > 0 && rank > 0 && expected != rank {
            return Err(Rule::Rank { expected, found: rank });
        }
        if expected != rank {
            return Err(Rule::SharedUse { name: self.name(local) });
        }
        if self.is_of_threads[local.index()] && self.by != By::Thread {
            return Err(Rule::OfThreads { name: self.name(local) });
        }
        Ok(())
    }

    /// Checks that the one who runs the code may have this effect.
    fn effect(&self, value: ExprId, by: By) -> Result<(), Rule> {
        match self.nodes.exprs[value].kind {
            ExprKind::SharedLoad { .. } | ExprKind::SharedAtomic { .. } if by != By::Thread => {
                Err(Rule::OutsidePhase)
            }
            ExprKind::Atomic { .. } if by == By::Block => Err(Rule::OutsidePhase),
            _ => Ok(()),
        }
    }

    /// Checks a block's statements; what it defines stays in scope until the caller resets it.
    pub(super) fn open_block(&mut self, block: BlockId, around: Around) -> Result<(), Broken> {
        let place = Place::Stmt(block, 0);
        let stmts = &self.nodes.blocks.get(block).ok_or((place, Rule::IdRange))?.stmts;
        if stmts.is_empty() {
            return Ok(());
        }
        if std::mem::replace(&mut self.block_used[block.index()], true) {
            return Err((place, Rule::BlockShared));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err((place, Rule::Depth));
        }
        for (at, stmt) in stmts.iter().enumerate() {
            self.stmt(stmt, around, Place::Stmt(block, at))?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Checks a block as a scope of its own.
    pub(super) fn block(&mut self, block: BlockId, around: Around) -> Result<(), Broken> {
        let mark = self.mark();
        self.open_block(block, around)?;
        self.reset(mark);
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt, around: Around, place: Place) -> Result<(), Broken> {
        self.by = around.by;
        self.stmt_itself(stmt, around).map_err(|rule| (place, rule))?;
        match *stmt {
            Stmt::If { then, otherwise, .. } => {
                self.block(then, around)?;
                self.block(otherwise, around)
            }
            Stmt::For { var, body, .. } => {
                let mark = self.mark();
                self.define_loop_var(var).map_err(|rule| (place, rule))?;
                self.open_block(body, Around { in_loop: true, ..around })?;
                self.reset(mark);
                Ok(())
            }
            Stmt::Loop { body } => self.block(body, Around { in_loop: true, ..around }),
            Stmt::Each { var, body, exchange } => {
                let mark = self.mark();
                self.gives(body, exchange).map_err(|rule| (place, rule))?;
                self.exchange = exchange;
                self.enter_parallel();
                self.define_loop_var(var).map_err(|rule| (place, rule))?;
                need(ScalarType::U64, self.nodes.locals[var].ty).map_err(|rule| (place, rule))?;
                self.open_block(body, Around { in_loop: false, by: By::Thread })?;
                self.reset(mark);
                self.exchange = None;
                exchange
                    .map_or(Ok(()), |made| self.define_exchanged(made))
                    .map_err(|rule| (place, rule))
            }
            _ => Ok(()),
        }
    }

    fn stmt_itself(&mut self, stmt: &Stmt, around: Around) -> Result<(), Rule> {
        match *stmt {
            Stmt::Let { local, value } => {
                let ty = self.any(value)?;
                self.effect(value, around.by)?;
                need(self.nodes.locals.get(local).ok_or(Rule::IdRange)?.ty, ty)?;
                self.define(local)
            }
            Stmt::Assign { local, value } => {
                let ty = self.pure(value)?;
                self.assign(local, ty)
            }
            Stmt::Eval { value } => {
                self.any(value)?;
                self.effect(value, around.by)?;
                let effect = self.nodes.exprs[value].kind.is_effect();
                if effect { Ok(()) } else { Err(Rule::NoEffect) }
            }
            Stmt::Store { .. } | Stmt::Assert { .. } if around.by == By::Block => {
                Err(Rule::OutsidePhase)
            }
            Stmt::Store { tensor, ref index, value, site: at } => {
                for &index in index {
                    self.pure(index)?;
                }
                let ty = self.pure(value)?;
                need(access(self.nodes, tensor, index, true)?, ty)?;
                site(self.nodes, at, SiteNeed::Index(tensor))
            }
            Stmt::If { cond, .. } => need(ScalarType::Bool, self.pure(cond)?),
            Stmt::For { var, begin, end, .. } => {
                let ty = self.nodes.locals.get(var).ok_or(Rule::IdRange)?.ty;
                need(ty, self.pure(begin)?)?;
                need(ty, self.pure(end)?)
            }
            Stmt::Loop { .. } => Ok(()),
            Stmt::Break if around.in_loop => Ok(()),
            Stmt::Continue if around.in_loop || around.by == By::Iteration => Ok(()),
            // All threads come to the end of a phase that has an exchange.
            Stmt::Continue if around.by == By::Thread && self.exchange.is_none() => Ok(()),
            Stmt::Break | Stmt::Continue => Err(Rule::OutsideLoop),
            Stmt::Shared { array, ref dims } => {
                if around.in_loop || around.by != By::Block {
                    return Err(Rule::OutsideBlock);
                }
                self.define_shared(array, dims)
            }
            Stmt::Each { .. } if around.by == By::Block => Ok(()),
            Stmt::Each { .. } => Err(Rule::OutsideBlock),
            Stmt::SharedStore { .. } if around.by != By::Thread => Err(Rule::OutsidePhase),
            Stmt::SharedStore { array, ref index, value, site: at } => {
                for &index in index {
                    self.pure(index)?;
                }
                let ty = self.pure(value)?;
                need(shared(self.nodes, array, index)?, ty)?;
                self.used(array, index.len())?;
                site(self.nodes, at, SiteNeed::SharedIndex(array))
            }
            Stmt::Give { value, from } => {
                let ty = self.pure(value)?;
                let from = from.map(|from| self.pure(from)).transpose()?;
                let Some(Exchange { op, local }) = self.exchange else { return Err(Rule::Give) };
                let wanted = match op {
                    ExchangeOp::Ballot => ScalarType::Bool,
                    _ => self.nodes.locals.get(local).ok_or(Rule::IdRange)?.ty,
                };
                let place = (op == ExchangeOp::Shuffle).then_some(ScalarType::U64);
                if (ty, from) == (wanted, place) { Ok(()) } else { Err(Rule::Give) }
            }
            Stmt::Assert { cond, site: at } => self.assert(cond, at),
            Stmt::SetTemp { temp, value } => {
                let ty = self.pure(value)?;
                need(temp_type(self.temps, temp)?, ty)?;
                if around.by == By::One { Ok(()) } else { Err(Rule::SetPlace) }
            }
            Stmt::SetResult { value } => {
                let ty = self.pure(value)?;
                if self.temps.is_none() {
                    return Err(Rule::OffloadOnly);
                }
                need(self.result.ok_or(Rule::Return)?, ty)?;
                if around.by == By::One { Ok(()) } else { Err(Rule::SetPlace) }
            }
        }
    }

    fn define_shared(&mut self, array: LocalId, dims: &[u32]) -> Result<(), Rule> {
        let local = self.nodes.locals.get(array).ok_or(Rule::IdRange)?;
        let ty = local.ty;
        let len = dims.iter().fold(1, |len: u32, dim| len.saturating_mul(*dim));
        if len == 0 || !(1..=2).contains(&dims.len()) || local.mutable || ty.is_narrow() {
            return Err(Rule::Shared { len, ty });
        }
        self.add_shared(u64::from(len) * ty.size() as u64)?;
        self.define(array)?;
        self.shared_ranks[array.index()] = dims.len();
        Ok(())
    }

    /// Checks that the body of a phase gives what its exchange takes, at its end.
    fn gives(&self, body: BlockId, exchange: Option<Exchange>) -> Result<(), Rule> {
        fn count(nodes: Nodes<'_>, block: BlockId) -> usize {
            let Some(block) = nodes.blocks.get(block) else { return 0 };
            let of = |stmt: &Stmt| {
                usize::from(matches!(stmt, Stmt::Give { .. }))
                    + stmt.blocks().map(|inner| count(nodes, inner)).sum::<usize>()
            };
            block.stmts.iter().map(of).sum()
        }
        let stmts = self.nodes.blocks.get(body).map_or(&[][..], |body| &body.stmts);
        let last = usize::from(matches!(stmts.last(), Some(Stmt::Give { .. })));
        let wanted = usize::from(exchange.is_some());
        if (last, count(self.nodes, body)) == (wanted, wanted) { Ok(()) } else { Err(Rule::Give) }
    }

    /// Defines what comes of an exchange.
    fn define_exchanged(&mut self, Exchange { op, local }: Exchange) -> Result<(), Rule> {
        let made = self.nodes.locals.get(local).ok_or(Rule::IdRange)?;
        let ty = made.ty;
        let fits = match op {
            ExchangeOp::Reduce(ReduceOp::And | ReduceOp::Or) => ty == ScalarType::Bool,
            ExchangeOp::Scan { op: ReduceOp::And | ReduceOp::Or, .. } => false,
            ExchangeOp::Reduce(_) | ExchangeOp::Scan { .. } => ty != ScalarType::Bool,
            ExchangeOp::Ballot => ty == ScalarType::U32,
            ExchangeOp::Shuffle => true,
        };
        if !fits || ty.is_narrow() || made.mutable {
            return Err(Rule::Exchange { op: op.name(), ty });
        }
        if matches!(op, ExchangeOp::Reduce(_) | ExchangeOp::Scan { .. }) {
            // Two values per warp, shared by the block.
            self.add_shared((2 * WARP * ty.size().max(4)) as u64)?;
        }
        self.define(local)?;
        self.is_of_threads[local.index()] = !op.is_uniform();
        Ok(())
    }

    fn add_shared(&mut self, bytes: u64) -> Result<(), Rule> {
        self.shared_bytes += bytes;
        if self.shared_bytes > MAX_SHARED_BYTES {
            return Err(Rule::SharedBytes { bytes: self.shared_bytes });
        }
        Ok(())
    }

    fn assert(&mut self, cond: ExprId, at: SiteId) -> Result<(), Rule> {
        need(ScalarType::Bool, self.pure(cond)?)?;
        site(self.nodes, at, SiteNeed::Assert)
    }

    fn assign(&mut self, id: LocalId, ty: ScalarType) -> Result<(), Rule> {
        let local = self.nodes.locals.get(id).ok_or(Rule::IdRange)?;
        need(local.ty, ty)?;
        if !self.in_scope[id.index()] {
            return Err(Rule::Undefined { name: local.name.clone() });
        }
        if !local.mutable {
            return Err(Rule::NotMutable { name: local.name.clone() });
        }
        if self.visible[..self.assignable_from].contains(&id) {
            return Err(Rule::AssignOutside { name: local.name.clone() });
        }
        Ok(())
    }

    fn name(&self, local: LocalId) -> String {
        self.nodes.locals[local].name.clone()
    }
}
