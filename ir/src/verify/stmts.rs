//! Checks of statements: scopes, definitions, placement of side effects and jumps.

use super::{
    Location, MAX_DEPTH, Rule,
    exprs::{SiteUse, access, expect_type, require, site, supports, temp_type},
};
use crate::{
    Array, Assertion, AtomicOp, BlockId, Collective, CollectiveOp, Element, ExprId, ExprKind,
    LocalId, ReduceOp, ScalarType, SharedExtent, SiteKind, Stmt,
    abi::{ASSERT_VALUES, MAX_SHARED_BYTES, MESSAGE_VALUES},
    collective::WARP,
    visit::Nodes,
};

#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) in_loop: bool,
    pub(super) code_kind: CodeKind,
}

/// The kinds of code, by the threads that execute it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeKind {
    /// Serial code: one thread.
    Serial,
    /// The body of a parallel loop: one iteration.
    Iteration,
    /// Block-level code: all threads of a block, uniformly.
    Block,
    /// A phase: one thread of a block.
    Thread,
}

/// Checks statements, with the locals in scope.
pub(super) struct StmtVerifier<'k> {
    pub(super) nodes: Nodes<'k>,
    /// The types of the temporaries; none before offloading.
    pub(super) temps: Option<&'k [ScalarType]>,
    /// The types of the scalars of the result, for `SetResult`.
    pub(super) results: &'k [ScalarType],
    /// The locals in scope, innermost last.
    visible: Vec<LocalId>,
    in_scope: Vec<bool>,
    /// Whether each local was ever defined.
    defined: Vec<bool>,
    /// The first entry of `visible` that may be assigned. Earlier ones are outside the parallel loop.
    assignable_from: usize,
    block_used: Vec<bool>,
    /// The number of dimensions of each shared or local array; 0 for other locals.
    array_ranks: Vec<usize>,
    is_local_array: Vec<bool>,
    /// Whether each local has a different value per thread of a block.
    is_per_thread: Vec<bool>,
    code_kind: CodeKind,
    collective: Option<Collective>,
    /// The size of the shared arrays of the grid of blocks being checked.
    pub(super) shared_bytes: u64,
    depth: u16,
    /// The last statement that visited each expression.
    visited_by: Vec<u64>,
    visit: u64,
}

/// The locals in scope at a position to return to.
#[derive(Clone, Copy)]
pub(super) struct Checkpoint {
    visible: usize,
    assignable_from: usize,
}

type Violation = (Location, Rule);

impl<'k> StmtVerifier<'k> {
    pub(super) fn new(
        nodes: Nodes<'k>,
        temps: Option<&'k [ScalarType]>,
        results: &'k [ScalarType],
    ) -> Self {
        Self {
            nodes,
            temps,
            results,
            visible: Vec::new(),
            in_scope: vec![false; nodes.locals.len()],
            defined: vec![false; nodes.locals.len()],
            assignable_from: 0,
            block_used: vec![false; nodes.blocks.len()],
            array_ranks: vec![0; nodes.locals.len()],
            is_local_array: vec![false; nodes.locals.len()],
            is_per_thread: vec![false; nodes.locals.len()],
            code_kind: CodeKind::Serial,
            collective: None,
            shared_bytes: 0,
            depth: 0,
            visited_by: vec![0; nodes.exprs.len()],
            visit: 0,
        }
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { visible: self.visible.len(), assignable_from: self.assignable_from }
    }

    pub(super) fn reset(&mut self, checkpoint: Checkpoint) {
        for local in self.visible.drain(checkpoint.visible..) {
            self.in_scope[local.index()] = false;
        }
        self.assignable_from = checkpoint.assignable_from;
    }

    /// Enters a parallel loop: locals in scope may no longer be assigned.
    pub(super) fn enter_parallel(&mut self) {
        self.assignable_from = self.visible.len();
    }

    /// Forgets all definitions. Each task has its own.
    pub(super) fn start_task(&mut self) {
        self.reset(Checkpoint { visible: 0, assignable_from: 0 });
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

    pub(super) fn pure(&mut self, value: ExprId) -> Result<ScalarType, Rule> {
        let expr = self.nodes.exprs.get(value).ok_or(Rule::IdRange)?;
        require(!expr.kind.is_effect(), Rule::NestedEffect)?;
        self.any(value)
    }

    /// Checks that pure values have these types.
    fn pure_values(&mut self, values: &[ExprId], types: &[ScalarType]) -> Result<(), Rule> {
        values.iter().zip(types).try_for_each(|(value, ty)| {
            let found = self.pure(*value)?;
            expect_type(*ty, found)
        })
    }

    /// Checks a value that may have a side effect, and returns its type.
    pub(super) fn any(&mut self, value: ExprId) -> Result<ScalarType, Rule> {
        let ty = self.nodes.exprs.get(value).ok_or(Rule::IdRange)?.ty;
        self.visit += 1;
        self.check_uses(value)?;
        Ok(ty)
    }

    fn check_uses(&mut self, value: ExprId) -> Result<(), Rule> {
        if std::mem::replace(&mut self.visited_by[value.index()], self.visit) == self.visit {
            return Ok(());
        }
        let kind = &self.nodes.exprs[value].kind;
        match *kind {
            ExprKind::Local(local) => self.check_use(local, 0)?,
            ExprKind::Load(ref element) | ExprKind::Atomic { ref element, .. } => {
                self.check_element(element)?;
            }
            _ => {}
        }
        kind.operands().try_for_each(|operand| self.check_uses(operand))
    }

    /// Checks the use of a local: as a value if `rank` is 0, else as an array of that rank.
    fn check_use(&self, local: LocalId, rank: usize) -> Result<(), Rule> {
        if !*self.in_scope.get(local.index()).ok_or(Rule::IdRange)? {
            return Err(Rule::Undefined { name: self.name(local) });
        }
        let expected = self.array_ranks[local.index()];
        let ranks_differ = expected > 0 && rank > 0 && expected != rank;
        require(!ranks_differ, Rule::Rank { expected, found: rank })?;
        if expected != rank {
            return Err(Rule::ArrayUse { name: self.name(local) });
        }
        if self.is_per_thread[local.index()] && self.code_kind != CodeKind::Thread {
            return Err(Rule::PerThread { name: self.name(local) });
        }
        Ok(())
    }

    fn check_element(&self, element: &Element) -> Result<(), Rule> {
        match element.array {
            Array::Tensor(_) => Ok(()),
            Array::Shared(array) | Array::Local(array) => {
                self.check_use(array, element.index.len())?;
                let is_local = matches!(element.array, Array::Local(_));
                let matches = is_local == self.is_local_array[array.index()];
                require(matches, Rule::ArrayUse { name: self.name(array) })
            }
        }
    }

    /// Checks that this kind of code may have the value's side effect.
    fn effect(&self, value: ExprId, code_kind: CodeKind) -> Result<(), Rule> {
        match self.nodes.exprs[value].kind {
            ExprKind::Atomic { element: Element { array: Array::Local(array), .. }, .. } => {
                Err(Rule::ArrayUse { name: self.name(array) })
            }
            ExprKind::Load(Element { array: Array::Shared(_), .. })
            | ExprKind::Atomic { element: Element { array: Array::Shared(_), .. }, .. } => {
                require(code_kind == CodeKind::Thread, Rule::OutsidePhase)
            }
            ExprKind::Atomic { .. } => require(code_kind != CodeKind::Block, Rule::OutsidePhase),
            _ => Ok(()),
        }
    }

    /// Checks the statements of a block. Its definitions stay in scope until the caller resets the scope to a
    /// checkpoint.
    pub(super) fn open_block(&mut self, block: BlockId, context: Context) -> Result<(), Violation> {
        let location = Location::Stmt(block, 0);
        let stmts = &self.nodes.blocks.get(block).ok_or((location, Rule::IdRange))?.stmts;
        if stmts.is_empty() {
            return Ok(());
        }
        if std::mem::replace(&mut self.block_used[block.index()], true) {
            return Err((location, Rule::BlockUsedTwice));
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err((location, Rule::Depth));
        }
        for (at, stmt) in stmts.iter().enumerate() {
            self.stmt(stmt, context, Location::Stmt(block, at))?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Checks a block as a scope of its own.
    pub(super) fn block(&mut self, block: BlockId, context: Context) -> Result<(), Violation> {
        let checkpoint = self.checkpoint();
        self.open_block(block, context)?;
        self.reset(checkpoint);
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt, context: Context, location: Location) -> Result<(), Violation> {
        let at_stmt = |rule| (location, rule);
        self.code_kind = context.code_kind;
        self.stmt_itself(stmt, context).map_err(at_stmt)?;
        match *stmt {
            Stmt::If { then, otherwise, .. } => {
                self.block(then, context)?;
                self.block(otherwise, context)
            }
            Stmt::For { var, body, .. } => {
                let checkpoint = self.checkpoint();
                self.define_loop_var(var).map_err(at_stmt)?;
                self.open_block(body, Context { in_loop: true, ..context })?;
                self.reset(checkpoint);
                Ok(())
            }
            Stmt::Loop { body } => self.block(body, Context { in_loop: true, ..context }),
            Stmt::Phase { var, body, collective } => {
                let checkpoint = self.checkpoint();
                self.check_input(body, collective).map_err(at_stmt)?;
                self.collective = collective;
                self.enter_parallel();
                self.define_loop_var(var).map_err(at_stmt)?;
                expect_type(ScalarType::U64, self.nodes.locals[var].ty).map_err(at_stmt)?;
                self.open_block(body, Context { in_loop: false, code_kind: CodeKind::Thread })?;
                self.reset(checkpoint);
                self.collective = None;
                collective
                    .map_or(Ok(()), |collective| self.define_collective(collective))
                    .map_err(at_stmt)
            }
            _ => Ok(()),
        }
    }

    fn stmt_itself(&mut self, stmt: &Stmt, context: Context) -> Result<(), Rule> {
        match *stmt {
            Stmt::Let { local, value } => {
                let ty = self.any(value)?;
                self.effect(value, context.code_kind)?;
                expect_type(self.nodes.locals.get(local).ok_or(Rule::IdRange)?.ty, ty)?;
                self.define(local)
            }
            Stmt::Assign { local, value } => {
                let ty = self.pure(value)?;
                self.assign(local, ty)
            }
            Stmt::Eval { value } => {
                self.any(value)?;
                self.effect(value, context.code_kind)?;
                require(self.nodes.exprs[value].kind.is_effect(), Rule::NoEffect)
            }
            Stmt::Store { element: Element { array: Array::Local(array), .. }, .. }
                if self.is_outside(array) =>
            {
                Err(Rule::AssignOutside { name: self.name(array) })
            }
            Stmt::Store { element: Element { array: Array::Tensor(_), .. }, .. }
            | Stmt::Assert { .. }
            | Stmt::Print { .. }
                if context.code_kind == CodeKind::Block =>
            {
                Err(Rule::OutsidePhase)
            }
            Stmt::Store { element: Element { array: Array::Shared(_), .. }, .. }
                if context.code_kind != CodeKind::Thread =>
            {
                Err(Rule::OutsidePhase)
            }
            Stmt::Store { ref element, value } => {
                for &index in &element.index {
                    self.pure(index)?;
                }
                let ty = self.pure(value)?;
                expect_type(access(self.nodes, element, true)?, ty)?;
                self.check_element(element)?;
                site(self.nodes, element.site, SiteUse::Index(element.array))
            }
            Stmt::If { cond, .. } => expect_type(ScalarType::Bool, self.pure(cond)?),
            Stmt::For { var, begin, end, .. } => {
                let ty = self.nodes.locals.get(var).ok_or(Rule::IdRange)?.ty;
                expect_type(ty, self.pure(begin)?)?;
                expect_type(ty, self.pure(end)?)
            }
            Stmt::Loop { .. } => Ok(()),
            Stmt::Break if context.in_loop => Ok(()),
            Stmt::Continue if context.in_loop || context.code_kind == CodeKind::Iteration => Ok(()),
            // All threads must reach the end of a phase with a collective.
            Stmt::Continue if context.code_kind == CodeKind::Thread => {
                require(self.collective.is_none(), Rule::OutsideLoop)
            }
            Stmt::Break | Stmt::Continue => Err(Rule::OutsideLoop),
            Stmt::Shared { array, ref dims, scalars } => {
                let block_level = context.code_kind == CodeKind::Block;
                require(block_level && !context.in_loop, Rule::OutsideBlock)?;
                self.define_shared(array, dims, scalars)
            }
            Stmt::Array { array, len } => {
                let local = self.nodes.locals.get(array).ok_or(Rule::IdRange)?;
                require(len > 0 && !local.mutable, Rule::Array { len })?;
                self.define(array)?;
                self.array_ranks[array.index()] = 1;
                self.is_local_array[array.index()] = true;
                Ok(())
            }
            Stmt::Phase { .. } if context.code_kind == CodeKind::Block => Ok(()),
            Stmt::Phase { .. } => Err(Rule::OutsideBlock),
            Stmt::CollectiveInput { value, from } => {
                let ty = self.pure(value)?;
                let from = from.map(|from| self.pure(from)).transpose()?;
                let Some(Collective { op, local }) = self.collective else {
                    return Err(Rule::CollectiveInput);
                };
                let wanted = match op {
                    CollectiveOp::Ballot => ScalarType::Bool,
                    _ => self.nodes.locals.get(local).ok_or(Rule::IdRange)?.ty,
                };
                let location = (op == CollectiveOp::Shuffle).then_some(ScalarType::U64);
                require((ty, from) == (wanted, location), Rule::CollectiveInput)
            }
            Stmt::Assert { cond, site: at, ref values } => {
                expect_type(ScalarType::Bool, self.pure(cond)?)?;
                site(self.nodes, at, SiteUse::Assert(values.len()))?;
                match &self.nodes.sites[at.index()].kind {
                    SiteKind::Assert(Assertion { types, .. }) => {
                        let count = values.is_empty() || values.len() == types.len();
                        require(count && types.len() <= ASSERT_VALUES, Rule::Site)?;
                        self.pure_values(values, types)
                    }
                    _ => self.pure_values(values, &vec![ScalarType::U64; values.len()]),
                }
            }
            Stmt::Print { site: at, ref values } => {
                site(self.nodes, at, SiteUse::Print)?;
                let SiteKind::Print { types, iteration, .. } = &self.nodes.sites[at.index()].kind
                else {
                    return Err(Rule::Site);
                };
                let counts = values.len() == types.len() && *iteration as usize <= types.len();
                require(counts && values.len() <= MESSAGE_VALUES, Rule::Site)?;
                self.pure_values(values, types)
            }
            Stmt::Reduce { local, op, value } => {
                let ty = self.pure(value)?;
                let into = self.nodes.locals.get(local).ok_or(Rule::IdRange)?;
                let outside = &self.visible[..self.assignable_from];
                require(
                    self.temps.is_none()
                        && context.code_kind == CodeKind::Iteration
                        && into.mutable
                        && outside.contains(&local),
                    Rule::Combine { name: into.name.clone() },
                )?;
                expect_type(into.ty, ty)?;
                require_combines(op, ty)
            }
            Stmt::ReduceTemp { temp, op, value } => {
                let ty = self.pure(value)?;
                expect_type(temp_type(self.temps, temp)?, ty)?;
                require(context.code_kind == CodeKind::Iteration, Rule::CombineOutsideLoop)?;
                require_combines(op, ty)
            }
            Stmt::SetTemp { temp, value } => {
                let ty = self.pure(value)?;
                expect_type(temp_type(self.temps, temp)?, ty)?;
                require(context.code_kind == CodeKind::Serial, Rule::SetOutsideSerial)
            }
            Stmt::SetResult { at, value } => {
                let ty = self.pure(value)?;
                require(self.temps.is_some(), Rule::OffloadOnly)?;
                let result = self.results.get(at as usize).copied();
                expect_type(result.ok_or(Rule::Return)?, ty)?;
                require(context.code_kind == CodeKind::Serial, Rule::SetOutsideSerial)
            }
        }
    }

    fn define_shared(
        &mut self,
        array: LocalId,
        dims: &[SharedExtent],
        scalars: Option<u32>,
    ) -> Result<(), Rule> {
        let local = self.nodes.locals.get(array).ok_or(Rule::IdRange)?;
        let ty = local.ty;
        for extent in dims.iter().filter_map(|dim| dim.local()) {
            let of = self.nodes.locals.get(extent).ok_or(Rule::IdRange)?;
            let fits = of.ty == ScalarType::U64 && !of.mutable && self.is_outside(extent);
            require(fits, Rule::SharedExtent { name: of.name.clone() })?;
        }
        let is_dynamic = dims.iter().any(|dim| dim.local().is_some());
        let all = dims.iter().filter_map(|dim| dim.constant()).chain(scalars);
        let len = all.fold(1, |len: u32, dim| len.saturating_mul(dim));
        if len == 0 || !(1..=2).contains(&dims.len()) || local.mutable || ty.is_narrow() {
            return Err(Rule::Shared { len, ty });
        }
        // A launch checks the size of dynamic arrays.
        if !is_dynamic {
            self.add_shared(u64::from(len) * ty.size() as u64)?;
        }
        self.define(array)?;
        let has_choice = scalars.is_some_and(|scalars| scalars > 1);
        self.array_ranks[array.index()] = dims.len() + usize::from(has_choice);
        self.is_local_array[array.index()] = false;
        Ok(())
    }

    /// Checks that a phase has a collective input as its last statement if and only if it has a collective.
    fn check_input(&self, body: BlockId, collective: Option<Collective>) -> Result<(), Rule> {
        fn count(nodes: Nodes<'_>, block: BlockId) -> usize {
            let Some(block) = nodes.blocks.get(block) else { return 0 };
            let of = |stmt: &Stmt| {
                usize::from(matches!(stmt, Stmt::CollectiveInput { .. }))
                    + stmt.blocks().map(|inner| count(nodes, inner)).sum::<usize>()
            };
            block.stmts.iter().map(of).sum()
        }
        let stmts = self.nodes.blocks.get(body).map_or(&[][..], |body| &body.stmts);
        let last = usize::from(matches!(stmts.last(), Some(Stmt::CollectiveInput { .. })));
        let wanted = usize::from(collective.is_some());
        require((last, count(self.nodes, body)) == (wanted, wanted), Rule::CollectiveInput)
    }

    fn define_collective(&mut self, Collective { op, local }: Collective) -> Result<(), Rule> {
        let result = self.nodes.locals.get(local).ok_or(Rule::IdRange)?;
        let ty = result.ty;
        let fits = match op {
            CollectiveOp::Reduce(ReduceOp::And | ReduceOp::Or) => ty == ScalarType::Bool,
            CollectiveOp::Scan { op: ReduceOp::And | ReduceOp::Or, .. } => false,
            CollectiveOp::Reduce(_) | CollectiveOp::Scan { .. } => ty != ScalarType::Bool,
            CollectiveOp::Ballot => ty == ScalarType::U32,
            CollectiveOp::Shuffle => true,
        };
        if !fits || ty.is_narrow() || result.mutable {
            return Err(Rule::Collective { op: op.name(), ty });
        }
        if matches!(op, CollectiveOp::Reduce(_) | CollectiveOp::Scan { .. }) {
            // The generated code uses two shared values per warp.
            self.add_shared((2 * WARP * ty.size().max(4)) as u64)?;
        }
        self.define(local)?;
        self.is_per_thread[local.index()] = !op.is_uniform();
        Ok(())
    }

    fn add_shared(&mut self, bytes: u64) -> Result<(), Rule> {
        self.shared_bytes += bytes;
        let bytes = self.shared_bytes;
        require(bytes <= MAX_SHARED_BYTES, Rule::SharedBytes { bytes })
    }

    fn assign(&mut self, id: LocalId, ty: ScalarType) -> Result<(), Rule> {
        let local = self.nodes.locals.get(id).ok_or(Rule::IdRange)?;
        expect_type(local.ty, ty)?;
        if !self.in_scope[id.index()] {
            return Err(Rule::Undefined { name: local.name.clone() });
        }
        if !local.mutable {
            return Err(Rule::NotMutable { name: local.name.clone() });
        }
        if self.is_outside(id) {
            return Err(Rule::AssignOutside { name: local.name.clone() });
        }
        Ok(())
    }

    /// Whether a local is defined outside the parallel loop or phase.
    fn is_outside(&self, local: LocalId) -> bool {
        self.visible[..self.assignable_from].contains(&local)
    }

    /// Ends a piece of serial code: its arrays are not visible to other code.
    pub(super) fn end_serial(&mut self) {
        for (in_scope, is_array) in self.in_scope.iter_mut().zip(&self.is_local_array) {
            *in_scope &= !is_array;
        }
    }

    fn name(&self, local: LocalId) -> String {
        self.nodes.locals[local].name.clone()
    }
}

/// Requires an operation that combines values of a type in any order.
fn require_combines(op: AtomicOp, ty: ScalarType) -> Result<(), Rule> {
    require(op.combines() && supports(op, ty), Rule::Operation { ty })
}
