//! Speculation: runs checked serial loops without error reports first. A check that may report prevents the device
//! compiler from hoisting later loads above it.
//!
//! Applies to loops that only load and compute. The speculative run only records whether an index was out of range. If
//! one was, the loop runs again as written, from the saved initial values, and reports.
//!
//! Most loads are proven in range for the whole loop by the index in the first and the last iteration. The others are
//! checked in each iteration. Several iterations are interleaved statement by statement, so that their loads overlap.

use std::collections::{HashMap, HashSet};

use quadrants_ir::{
    Array, BinaryOp, BlockId, ExprId, ExprKind, LocalId, ScalarType, Stmt, abi::Form,
};

use super::{consts, task::TaskPrinter};

/// The maximum number of statements of a speculated body, which is printed three times.
const MAX_STATEMENTS: usize = 16;
const INTERLEAVED: u32 = 4;

/// A serial loop that counts up.
#[derive(Clone, Copy)]
pub(super) struct SerialLoop {
    pub(super) var: LocalId,
    pub(super) begin: ExprId,
    pub(super) end: ExprId,
    pub(super) body: BlockId,
}

/// How an index changes between iterations: not at all, or by one, wrapping in its type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    None,
    One,
}

impl TaskPrinter<'_> {
    /// Prints the loop with speculation. Returns false, and prints nothing, if it does not apply.
    pub(super) fn speculate(&mut self, serial_loop: SerialLoop) -> bool {
        if !self.can_speculate(serial_loop) {
            return false;
        }
        let kernel = self.kernel;
        let SerialLoop { var, begin, end, body } = serial_loop;
        let stmts = &kernel.blocks[body].stmts;
        let name = self.local(var);
        let ty = kernel.locals[var].ty.name();
        let begin = self.bound_value(begin, &format!("{name}_begin")).text;
        let end = self.bound_value(end, &format!("{name}_end")).text;
        let beyond = self.fresh("beyond");
        let mut within = Vec::new();
        let mut proven = Vec::new();
        for stmt in stmts {
            let conditions = self.conditions(stmt, serial_loop, [&begin, &end]);
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
        for local in loop_carried(stmts) {
            let now = self.local(local);
            let saved = self.fresh(&format!("{now}_before"));
            let of = kernel.locals[local].ty.name();
            self.line(&format!("const {of} {saved} = {now};"));
            before.push(format!("{now} = {saved};"));
        }
        self.open(&format!("if (!{beyond}) {{"));
        self.out_of_range_flag = Some(beyond.clone());
        let counter = self.fresh(&format!("{name}_n"));
        self.line(&format!("{ty} {counter} = {begin};"));
        if self.may_interleave(stmts) {
            self.interleaved_iterations(serial_loop, &counter, &end, &proven);
        }
        self.line("#pragma unroll 1");
        self.open(&format!("for (; {counter} < {end}; {counter}++) {{"));
        self.line(&format!("const {ty} {name} = {counter};"));
        for (stmt, proven) in stmts.iter().zip(&proven) {
            self.speculative_stmt(stmt, *proven);
        }
        self.close();
        self.out_of_range_flag = None;
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

    fn speculative_stmt(&mut self, stmt: &Stmt, proven: bool) {
        if proven {
            self.cx.form = Form::Proven;
        }
        self.stmt(stmt);
        self.cx.form = Form::Checked;
    }

    /// Prints interleaved iterations, for as long as there are enough.
    fn interleaved_iterations(
        &mut self,
        serial_loop: SerialLoop,
        counter: &str,
        end: &str,
        proven: &[bool],
    ) {
        let kernel = self.kernel;
        let SerialLoop { var, body, .. } = serial_loop;
        let ty = kernel.locals[var].ty;
        let unsigned = ty.unsigned();
        let number = |value: u32| consts::int(unsigned, value.into());
        let some = number(INTERLEAVED);
        let left = match unsigned == ty {
            true => format!("{end} - {counter}"),
            false => format!("({unsigned}){end} - ({unsigned}){counter}"),
        };
        self.line("#pragma unroll 1");
        self.open(&format!(
            "for (; {counter} < {end} && {left} >= {some}; {counter} += {}) {{",
            consts::int(ty, INTERLEAVED.into())
        ));
        let outer = self.locals.clone();
        // Each copy defines its own locals, even if the loop was printed before.
        let mut bare = outer.clone();
        for stmt in &kernel.blocks[body].stmts {
            if let Stmt::Let { local, .. } = stmt {
                bare.remove(local);
            }
        }
        let mut each = Vec::new();
        for copy in 0..INTERLEAVED {
            self.locals = bare.clone();
            let name = match copy {
                0 => counter.to_owned(),
                _ => self.fresh(&kernel.locals[var].name),
            };
            if copy > 0 {
                let distance = consts::int(ty, copy.into());
                self.line(&format!("const {ty} {name} = {counter} + {distance};"));
            }
            self.locals.insert(var, name);
            each.push(std::mem::take(&mut self.locals));
        }
        for (stmt, proven) in kernel.blocks[body].stmts.iter().zip(proven) {
            for (copy, locals) in each.iter_mut().enumerate() {
                std::mem::swap(&mut self.locals, locals);
                self.offset_vars.insert(var, (counter.to_owned(), copy as i64));
                self.speculative_stmt(stmt, *proven);
                std::mem::swap(&mut self.locals, locals);
            }
        }
        self.offset_vars.remove(&var);
        self.locals = outer;
        self.close();
    }

    fn can_speculate(&self, serial_loop: SerialLoop) -> bool {
        let kernel = self.kernel;
        let stmts = &kernel.blocks[serial_loop.body].stmts;
        let pure = |stmt: &Stmt| match stmt {
            Stmt::Assign { .. } => true,
            Stmt::Let { value, .. } => match &kernel.exprs[*value].kind {
                ExprKind::Load(element) => !kernel.sites[element.site.index()].asserted,
                ExprKind::DivRem { rhs, .. } => {
                    matches!(kernel.exprs[*rhs].kind, ExprKind::Const(by) if by.bits() != 0)
                }
                kind => !kind.is_effect(),
            },
            _ => false,
        };
        let reads = |stmt: &Stmt| match stmt {
            Stmt::Let { value, .. } => match &kernel.exprs[*value].kind {
                ExprKind::Load(element) => {
                    !element.index.is_empty() && !matches!(element.array, Array::Local(_))
                }
                _ => false,
            },
            _ => false,
        };
        self.cx.form == Form::Checked
            && self.out_of_range_flag.is_none()
            && matches!(kernel.locals[serial_loop.var].ty.size(), 4 | 8)
            && stmts.len() <= MAX_STATEMENTS
            && stmts.iter().all(pure)
            && stmts.iter().any(reads)
    }

    /// The indices of a statement's load, each with its exclusive upper bound; none for other statements.
    fn indices(&mut self, stmt: &Stmt) -> Vec<(ExprId, String)> {
        let kernel = self.kernel;
        let Stmt::Let { value, .. } = stmt else { return Vec::new() };
        let number = |count: u32| consts::int(ScalarType::U64, count.into());
        let ExprKind::Load(element) = &kernel.exprs[*value].kind else { return Vec::new() };
        let limits: Vec<_> = match element.array {
            Array::Tensor(tensor) => {
                let kind = kernel.params[tensor.index()].kind;
                let extents = (0..kind.rank()).map(|axis| self.dim(tensor, axis));
                extents.chain(kind.component_extent().map(number)).collect()
            }
            Array::Shared(array) => self.extent_texts(array),
            Array::Local(_) => Vec::new(),
        };
        element.index.iter().copied().zip(limits).collect()
    }

    /// The conditions under which a statement's load is in range in all iterations; none if they cannot be evaluated
    /// before the loop.
    fn conditions(
        &mut self,
        stmt: &Stmt,
        serial_loop: SerialLoop,
        [begin, end]: [&str; 2],
    ) -> Option<Vec<String>> {
        let kernel = self.kernel;
        let indices = self.indices(stmt);
        let mut cache = HashMap::new();
        let steps: Option<Vec<_>> =
            indices.iter().map(|(at, _)| self.change(*at, serial_loop, &mut cache)).collect();
        let ty = kernel.locals[serial_loop.var].ty;
        let is_variable = |at: ExprId| match kernel.exprs[at].kind {
            ExprKind::Local(local) => local == serial_loop.var && !ty.is_signed_int(),
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
                let unsigned = ty.unsigned();
                let one = consts::int(unsigned, 1);
                let first = self.with_variable(serial_loop.var, begin.to_owned(), at);
                let last = format!("({ty})(({unsigned}){end} - {one})");
                let last = self.with_variable(serial_loop.var, last, at);
                conditions.push(format!("{first} <= {last} && {last} < {limit}"));
            }
        }
        Some(conditions)
    }

    /// The value of an index for this value of the loop variable.
    fn with_variable(&mut self, var: LocalId, value: String, at: ExprId) -> String {
        self.begin_statement();
        let own = self.locals.insert(var, value);
        let text = self.expr(at);
        self.locals.extend(own.map(|own| (var, own)));
        let name = self.fresh("at");
        self.line(&format!("const u64 {name} = {text};"));
        name
    }

    /// How a value changes between iterations; none if unknown. If a narrower type wraps, the last value is smaller
    /// than the first, so that the condition on the index fails: either its last value is below its first, or it
    /// exceeds every tensor.
    fn change(
        &self,
        id: ExprId,
        serial_loop: SerialLoop,
        cache: &mut HashMap<ExprId, Option<Step>>,
    ) -> Option<Step> {
        if let Some(step) = cache.get(&id) {
            return *step;
        }
        let kernel = self.kernel;
        let expr = &kernel.exprs[id];
        let wide = |ty: ScalarType| ty.is_int() && ty.size() >= 4;
        let mut of = |at: ExprId| self.change(at, serial_loop, cache);
        let step = match &expr.kind {
            ExprKind::Local(local) if *local == serial_loop.var => Some(Step::One),
            ExprKind::Local(local) => {
                let changes = |stmt: &Stmt| matches!(stmt, Stmt::Let { local: own, .. } | Stmt::Assign { local: own, .. } if own == local);
                let changes = kernel.blocks[serial_loop.body].stmts.iter().any(changes);
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
        cache.insert(id, step);
        step
    }

    /// Whether iterations may be interleaved: a loop-carried local is only used by the statement that assigns it.
    fn may_interleave(&self, stmts: &[Stmt]) -> bool {
        loop_carried(stmts).into_iter().all(|local| {
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

    /// Whether a value depends on a local.
    fn reads(&self, id: ExprId, local: LocalId, seen: &mut HashSet<ExprId>) -> bool {
        let kind = &self.kernel.exprs[id].kind;
        seen.insert(id)
            && (matches!(kind, ExprKind::Local(read) if *read == local)
                || kind.operands().any(|at| self.reads(at, local, seen)))
    }
}

fn loop_carried(stmts: &[Stmt]) -> Vec<LocalId> {
    let mut loop_carried = Vec::new();
    for stmt in stmts {
        let Stmt::Assign { local, .. } = stmt else { continue };
        let own =
            stmts.iter().any(|other| matches!(other, Stmt::Let { local: own, .. } if own == local));
        if !own && !loop_carried.contains(local) {
            loop_carried.push(*local);
        }
    }
    loop_carried
}
