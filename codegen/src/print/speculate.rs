//! Loops that read and compute and do nothing else, where indices are checked: a check that may report ends what a
//! device's compiler reads ahead. So such a loop runs without reports first, and only notes whether an index was out of
//! range; where one was, it runs again as it is written, from the values that it began with, and reports.
//!
//! What an index is in the first and the last turn says of most reads that all turns are in range. Of the others each turn
//! asks. Some turns go statement by statement together, so that what they read is under way at the same time.

use std::collections::{HashMap, HashSet};

use quadrants_ir::{BinaryOp, BlockId, ExprId, ExprKind, LocalId, ScalarType, Stmt, abi::Form};

use super::{consts, task::TaskPrinter, types};

/// Longer bodies are not printed three times.
const STATEMENTS_AT_MOST: usize = 16;
/// The turns that go together.
const LANES: u32 = 4;

/// A serial loop from the first value up.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    pub(super) var: LocalId,
    pub(super) begin: ExprId,
    pub(super) end: ExprId,
    pub(super) body: BlockId,
}

/// How an index changes from turn to turn: not at all, or by one, wrapping in its type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    None,
    One,
}

impl TaskPrinter<'_> {
    /// Prints the loop so that it reads ahead; false, and nothing, where it is not such a loop.
    pub(super) fn reads_ahead(&mut self, walk: Walk) -> bool {
        if !self.can_read_ahead(walk) {
            return false;
        }
        let kernel = self.kernel;
        let Walk { var, begin, end, body } = walk;
        let stmts = &kernel.blocks[body].stmts;
        let name = self.local(var);
        let ty = types::name(kernel.locals[var].ty);
        let begin = self.bound_value(begin, &format!("{name}_begin")).text;
        let end = self.bound_value(end, &format!("{name}_end")).text;
        let beyond = self.fresh("beyond");
        let mut within = Vec::new();
        let mut proven = Vec::new();
        for stmt in stmts {
            let conditions = self.conditions(stmt, walk, [&begin, &end]);
            proven.push(conditions.is_some());
            for condition in conditions.into_iter().flatten() {
                if !within.contains(&condition) {
                    within.push(condition);
                }
            }
        }
        self.begin_statement();
        let first = match within.is_empty() {
            true => "false".to_owned(),
            false => format!("!({})", within.join(" && ")),
        };
        self.line(&format!("bool {beyond} = {first};"));
        let mut before = Vec::new();
        for local in carried(stmts) {
            let now = self.local(local);
            let kept = self.fresh(&format!("{now}_before"));
            let of = types::name(kernel.locals[local].ty);
            self.line(&format!("const {of} {kept} = {now};"));
            before.push(format!("{now} = {kept};"));
        }
        self.open(&format!("if (!{beyond}) {{"));
        self.quiet = Some(beyond.clone());
        let counter = self.fresh(&format!("{name}_n"));
        self.line(&format!("{ty} {counter} = {begin};"));
        if self.may_interleave(stmts) {
            self.turns_together(walk, &counter, &end, &proven);
        }
        self.line("#pragma unroll 1");
        self.open(&format!("for (; {counter} < {end}; {counter}++) {{"));
        self.line(&format!("const {ty} {name} = {counter};"));
        for (stmt, proven) in stmts.iter().zip(&proven) {
            self.quietly(stmt, *proven);
        }
        self.close();
        self.quiet = None;
        self.close();
        self.open(&format!("if ({beyond}) {{"));
        for reset in before {
            self.line(&reset);
        }
        self.line("#pragma unroll 1");
        self.open(&format!("for ({ty} {name} = {begin}; {name} < {end}; {name}++) {{"));
        self.block(body);
        self.close();
        self.close();
        true
    }

    /// A statement of the first run.
    fn quietly(&mut self, stmt: &Stmt, proven: bool) {
        if proven {
            self.cx.form = Form::Proven;
        }
        self.stmt(stmt);
        self.cx.form = Form::Checked;
    }

    /// Some turns at once, statement by statement, as long as there are so many.
    fn turns_together(&mut self, walk: Walk, counter: &str, end: &str, proven: &[bool]) {
        let kernel = self.kernel;
        let Walk { var, body, .. } = walk;
        let ty = kernel.locals[var].ty;
        let unsigned = types::unsigned(ty);
        let number = |value: u32| consts::int(unsigned, value.into());
        let some = number(LANES);
        let left = match unsigned == ty {
            true => format!("{end} - {counter}"),
            false => format!("({unsigned}){end} - ({unsigned}){counter}"),
        };
        self.line("#pragma unroll 1");
        self.open(&format!(
            "for (; {counter} < {end} && {left} >= {some}; {counter} += {}) {{",
            consts::int(ty, LANES.into())
        ));
        let outer = self.locals.clone();
        // Each turn has its own, also where the loop was printed before.
        let mut bare = outer.clone();
        for stmt in &kernel.blocks[body].stmts {
            if let Stmt::Let { local, .. } = stmt {
                bare.remove(local);
            }
        }
        let mut each = Vec::new();
        for lane in 0..LANES {
            self.locals = bare.clone();
            let name = match lane {
                0 => counter.to_owned(),
                _ => self.fresh(&kernel.locals[var].name),
            };
            if lane > 0 {
                let distance = consts::int(ty, lane.into());
                self.line(&format!("const {ty} {name} = {counter} + {distance};"));
            }
            self.locals.insert(var, name);
            each.push(std::mem::take(&mut self.locals));
        }
        for (stmt, proven) in kernel.blocks[body].stmts.iter().zip(proven) {
            for (lane, locals) in each.iter_mut().enumerate() {
                std::mem::swap(&mut self.locals, locals);
                self.neighbours.insert(var, (counter.to_owned(), lane as i64));
                self.quietly(stmt, *proven);
                std::mem::swap(&mut self.locals, locals);
            }
        }
        self.neighbours.remove(&var);
        self.locals = outer;
        self.close();
    }

    fn can_read_ahead(&self, walk: Walk) -> bool {
        let kernel = self.kernel;
        let stmts = &kernel.blocks[walk.body].stmts;
        let pure = |stmt: &Stmt| match stmt {
            Stmt::Assign { .. } => true,
            Stmt::Let { value, .. } => match &kernel.exprs[*value].kind {
                ExprKind::Load { site, .. } | ExprKind::SharedLoad { site, .. } => {
                    !kernel.sites[site.index()].asserted
                }
                ExprKind::DivRem { rhs, .. } => {
                    matches!(kernel.exprs[*rhs].kind, ExprKind::Const(by) if by.bits() != 0)
                }
                kind => !kind.is_effect(),
            },
            _ => false,
        };
        let reads = |stmt: &Stmt| match stmt {
            Stmt::Let { value, .. } => match &kernel.exprs[*value].kind {
                ExprKind::Load { index, .. } => !index.is_empty(),
                ExprKind::SharedLoad { .. } => true,
                _ => false,
            },
            _ => false,
        };
        self.cx.form == Form::Checked
            && self.quiet.is_none()
            && matches!(kernel.locals[walk.var].ty.size(), 4 | 8)
            && stmts.len() <= STATEMENTS_AT_MOST
            && stmts.iter().all(pure)
            && stmts.iter().any(reads)
    }

    /// The indices of what a statement reads, each with what it must be below; none where it reads nothing.
    fn indices(&mut self, stmt: &Stmt) -> Vec<(ExprId, String)> {
        let kernel = self.kernel;
        let Stmt::Let { value, .. } = stmt else { return Vec::new() };
        let number = |count: u32| consts::int(ScalarType::U64, count.into());
        let (index, limits) = match &kernel.exprs[*value].kind {
            ExprKind::Load { tensor, index, .. } => {
                let kind = kernel.params[tensor.index()].kind;
                let mut limits: Vec<_> =
                    (0..kind.rank()).map(|axis| self.dim(*tensor, axis)).collect();
                limits.extend(kind.choices().map(number));
                (index, limits)
            }
            ExprKind::SharedLoad { array, index, .. } => {
                (index, self.extents(*array).into_iter().map(number).collect())
            }
            _ => return Vec::new(),
        };
        index.iter().copied().zip(limits).collect()
    }

    /// What has to hold so that a statement reads within its tensor in all turns; none where nobody knows before them.
    fn conditions(
        &mut self,
        stmt: &Stmt,
        walk: Walk,
        [begin, end]: [&str; 2],
    ) -> Option<Vec<String>> {
        let kernel = self.kernel;
        let indices = self.indices(stmt);
        let mut known = HashMap::new();
        let steps: Option<Vec<_>> =
            indices.iter().map(|(at, _)| self.change(*at, walk, &mut known)).collect();
        let ty = kernel.locals[walk.var].ty;
        let is_variable = |at: ExprId| match kernel.exprs[at].kind {
            ExprKind::Local(local) => local == walk.var && !ty.is_signed_int(),
            _ => false,
        };
        let mut conditions = Vec::new();
        for ((at, limit), step) in indices.into_iter().zip(steps?) {
            self.begin_statement();
            let inner = match kernel.exprs[at].kind {
                ExprKind::Cast { value } => value,
                _ => at,
            };
            if step == Step::None {
                let at = self.atom(at, "at");
                conditions.push(format!("{at} < {limit}"));
            } else if is_variable(inner) {
                conditions.push(match ty {
                    ScalarType::U64 => format!("{end} <= {limit}"),
                    _ => format!("(u64){end} <= {limit}"),
                });
            } else {
                let unsigned = types::unsigned(ty);
                let one = consts::int(unsigned, 1);
                let first = self.with_variable(walk.var, begin.to_owned(), at);
                let last = format!("({ty})(({unsigned}){end} - {one})");
                let last = self.with_variable(walk.var, last, at);
                conditions.push(format!("{first} <= {last} && {last} < {limit}"));
            }
        }
        Some(conditions)
    }

    /// An index as it is where the loop's variable has that value.
    fn with_variable(&mut self, var: LocalId, value: String, at: ExprId) -> String {
        self.begin_statement();
        let own = self.locals.insert(var, value);
        let text = self.expr(at);
        self.locals.extend(own.map(|own| (var, own)));
        let name = self.fresh("at");
        self.line(&format!("const u64 {name} = {text};"));
        name
    }

    /// How a value changes from turn to turn; none where that is not known. What wraps in a narrower type than the
    /// index's is smaller behind than in front, and so are the index's first and last values, or the last is beyond all tensors.
    fn change(
        &self,
        id: ExprId,
        walk: Walk,
        known: &mut HashMap<ExprId, Option<Step>>,
    ) -> Option<Step> {
        if let Some(step) = known.get(&id) {
            return *step;
        }
        let kernel = self.kernel;
        let expr = &kernel.exprs[id];
        let wide = |ty: ScalarType| ty.is_int() && ty.size() >= 4;
        let mut of = |at: ExprId| self.change(at, walk, known);
        let step = match &expr.kind {
            ExprKind::Local(local) if *local == walk.var => Some(Step::One),
            ExprKind::Local(local) => {
                let changes = |stmt: &Stmt| matches!(stmt, Stmt::Let { local: own, .. } | Stmt::Assign { local: own, .. } if own == local);
                let changes = kernel.blocks[walk.body].stmts.iter().any(changes);
                (!changes).then_some(Step::None)
            }
            ExprKind::Cast { value } => {
                let from = kernel.exprs[*value].ty;
                let grows = wide(from) && wide(expr.ty) && expr.ty.size() >= from.size();
                of(*value).filter(|step| *step == Step::None || grows)
            }
            ExprKind::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), lhs, rhs }
                if wide(expr.ty) =>
            {
                match (of(*lhs), of(*rhs)) {
                    (Some(step), Some(Step::None)) => Some(step),
                    (Some(Step::None), Some(Step::One)) if *op == BinaryOp::Add => Some(Step::One),
                    _ => None,
                }
            }
            kind if kind.is_effect() => None,
            kind => {
                let same = kind.operands().all(|at| of(at) == Some(Step::None));
                same.then_some(Step::None)
            }
        };
        known.insert(id, step);
        step
    }

    /// Whether turns may go statement by statement: what one leaves for the next is used by the statement alone that
    /// leaves it.
    fn may_interleave(&self, stmts: &[Stmt]) -> bool {
        carried(stmts).into_iter().all(|local| {
            let assigns =
                |stmt: &&Stmt| matches!(stmt, Stmt::Assign { local: own, .. } if *own == local);
            let mut seen = HashSet::new();
            stmts.iter().filter(assigns).count() == 1
                && !stmts
                    .iter()
                    .filter(|stmt| !assigns(stmt))
                    .flat_map(Stmt::exprs)
                    .any(|value| self.reads(value, local, &mut seen))
        })
    }

    /// Whether a value is computed of a local.
    fn reads(&self, id: ExprId, local: LocalId, seen: &mut HashSet<ExprId>) -> bool {
        let kind = &self.kernel.exprs[id].kind;
        seen.insert(id)
            && (matches!(kind, ExprKind::Local(read) if *read == local)
                || kind.operands().any(|at| self.reads(at, local, seen)))
    }
}

/// The locals that a turn leaves for the next.
fn carried(stmts: &[Stmt]) -> Vec<LocalId> {
    let mut carried = Vec::new();
    for stmt in stmts {
        let Stmt::Assign { local, .. } = stmt else { continue };
        let own =
            stmts.iter().any(|other| matches!(other, Stmt::Let { local: own, .. } if own == local));
        if !own && !carried.contains(local) {
            carried.push(*local);
        }
    }
    carried
}
