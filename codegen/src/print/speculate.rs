//! Speculation: runs checked code without error reports first. A check that may report prevents the device compiler
//! from hoisting later loads above it.
//!
//! Applies to serial loops that only load and compute, and to the [iterations](super::coarsen) of parallel loops that
//! load, compute and then store. The speculative run only records whether an index was out of range. If one was, the
//! code runs again as written, and reports: a loop from the saved initial values, an iteration before it has stored
//! anything.
//!
//! Iterations with loops or conditions run as a whole in this way: where an index of an iteration was out of range, a
//! function of its own executes the iteration as written. So the registers that reports need are not taken from the
//! code that usually runs.
//!
//! Most loads are proven in range for the whole loop by the index in the first and the last iteration. The others are
//! checked in each iteration, without a branch: if the index is out of range, they load another element. So the device
//! compiler can unroll the loop and overlap the loads of several iterations.

use std::collections::HashMap;

use quadrants_ir::{
    Array, BinaryOp, BlockId, Element, ExprId, ExprKind, LocalId, LoopDim, ScalarType, Stmt,
    abi::{Form, Passing},
    schedule::{assigned_outer_locals, split_at_stores},
};

use super::{consts, expr::Precedence, task::TaskPrinter};

/// The iterations whose loads overlap. clang does not unroll a loop with a variable number of iterations by itself.
const UNROLLED: u32 = 4;

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
enum Increment {
    Zero,
    One,
}

/// The state of a speculative run.
pub(super) struct Speculation<'a> {
    /// The variable that records that an index was out of range.
    pub(super) flag: String,
    ranges: Vec<CheckedRange>,
    /// The statements of the loop.
    stmts: &'a [Stmt],
    /// The indices in range, by index and extent, and the variables that hold them.
    valid: Vec<(ExprId, String, String)>,
}

/// The range of an index that was converted from 32 bits or less. Its largest value is compared after the loop.
struct CheckedRange {
    index: LoadIndex,
    limit: String,
    /// The variable with the largest value so far. Negative values are larger than all others.
    max_seen: String,
    /// The variable with the largest value in range.
    max_valid: String,
    /// The variable with the index in range, once it is defined in the iteration.
    clamped: Option<String>,
}

/// An index, which several loads share if it is a local.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LoadIndex {
    Local(LocalId),
    Expr(ExprId),
}

/// The macro that leaves out the bodies of the functions that execute failed iterations as written: a compiler can
/// measure without them how many registers a kernel needs.
pub const WITHOUT_FAILURES: &str = "QD_WITHOUT_FAILURES";

/// The name of the function that executes an iteration as written.
fn checked_iteration_name(task: &str) -> String {
    format!("qd_checked_{task}")
}

impl Speculation<'_> {
    /// One in which each index is checked by itself.
    pub(super) fn new(flag: String) -> Self {
        Self { flag, ranges: Vec::new(), stmts: &[], valid: Vec::new() }
    }
}

impl TaskPrinter<'_> {
    /// The condition, after `&&`, under which iterations with this body can run speculatively: loads that are out of
    /// range are of the first element instead. Empty if nothing is checked.
    pub(super) fn speculation_condition(&mut self, body: BlockId) -> String {
        if self.cx.form == Form::Proven {
            return String::new();
        }
        let mut all = Vec::new();
        self.collect_has_elements(body, &mut all);
        if all.is_empty() {
            return String::new();
        }
        let has = self.fresh("has_elements");
        self.line(&format!("const bool {has} = {};", all.join(" && ")));
        format!(" && {has}")
    }

    fn collect_has_elements(&mut self, block: BlockId, all: &mut Vec<String>) {
        let kernel = self.kernel;
        for stmt in &kernel.blocks[block].stmts {
            for condition in self.has_elements(stmt) {
                if !all.contains(&condition) {
                    all.push(condition);
                }
            }
            for inner in stmt.blocks() {
                self.collect_has_elements(inner, all);
            }
        }
    }

    /// Prints an iteration that runs speculatively, and the call of the [function](Self::checked_iteration) that
    /// executes it as written if an index was out of range.
    pub(super) fn speculative_iteration(&mut self, dims: &[LoopDim], body: BlockId) {
        let kernel = self.kernel;
        let (before, stores) = split_at_stores(&kernel.blocks[body].stmts);
        let mut conditions = Vec::new();
        self.collect_has_elements(body, &mut conditions);
        let flag = self.fresh("failed");
        let first = match conditions.is_empty() {
            true => "false".to_owned(),
            false => format!("!({})", conditions.join(" && ")),
        };
        self.line(&format!("bool {flag} = {first};"));
        self.open(&format!("if (!{flag}) {{"));
        self.speculation = Some(Speculation::new(flag.clone()));
        let known = self.divisions.clone();
        for stmt in before {
            self.stmt(stmt);
        }
        self.speculative_stores(stores, &flag);
        self.divisions = known;
        self.speculation = None;
        self.close();
        let vars = dims.iter().map(|dim| self.local(dim.var)).collect::<Vec<_>>().join(", ");
        let function = checked_iteration_name(&kernel.function_name(self.task));
        self.line(&format!("if ({flag}) {function}(args, {vars});"));
    }

    /// Prints the function that executes an iteration as written, with reports.
    pub(super) fn checked_iteration(mut self, dims: &[LoopDim]) -> String {
        let task = &self.kernel.tasks[self.task.index()];
        self.as_written = true;
        let vars = dims.iter().map(|dim| {
            let ty = self.kernel.locals[dim.var].ty.name();
            format!(", {ty} {}", self.local(dim.var))
        });
        let vars = vars.collect::<String>();
        self.directive(&format!("#ifndef {WITHOUT_FAILURES}"));
        self.block(task.prelude);
        self.block(task.body);
        self.directive("#endif");
        let args = match self.cx.passing {
            // A reference to other memory than constant memory would need a copy in each thread.
            Passing::Value if self.cx.dialect.argument_qualifier().is_empty() => "const qd_args",
            Passing::Value => "const qd_args&",
            Passing::Buffer => "const qd_args*",
        };
        let name = checked_iteration_name(&self.kernel.function_name(self.task));
        let signature = format!("static __device__ __noinline__ void {name}({args} args{vars}) {{");
        self.with_parameters(signature)
    }

    /// Prints the stores of a speculative iteration, which happen unless an index of the iteration was out of range.
    pub(super) fn speculative_stores(&mut self, stores: &[Stmt], flag: &str) {
        let mut lines = Vec::new();
        for stmt in stores {
            let Stmt::Store { element, value } = stmt else { continue };
            self.begin_statement();
            let access = self.element(element);
            lines.push(format!("{} = {};", access.element, self.stored_value(element, *value)));
        }
        self.open(&format!("if (!{flag}) {{"));
        for line in lines {
            self.line(&line);
        }
        self.close();
    }

    /// Prints the loop with speculation. Returns false, and prints nothing, if it does not apply.
    pub(super) fn speculate(&mut self, serial_loop: SerialLoop) -> bool {
        let kernel = self.kernel;
        let schedule = &kernel.tasks[self.task.index()].schedule;
        // In the interior, nothing is checked.
        let is_speculated = schedule.speculated.contains(&serial_loop.body);
        if self.cx.form == Form::Proven || self.as_written || !is_speculated {
            return false;
        }
        // The speculative run of the iteration around the loop.
        let outer = self.speculation.take();
        let SerialLoop { var, begin, end, body } = serial_loop;
        let stmts = &kernel.blocks[body].stmts;
        let name = self.local(var);
        let ty = kernel.locals[var].ty.name();
        let begin = self.bound_value(begin, &format!("{name}_begin")).text;
        let end = self.bound_value(end, &format!("{name}_end")).text;
        let beyond = match &outer {
            Some(iteration) => iteration.flag.clone(),
            None => self.fresh("beyond"),
        };
        let (mut within, mut proven, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        for stmt in stmts {
            let conditions = self.conditions(stmt, serial_loop, [&begin, &end]);
            proven.push(conditions.is_some());
            let conditions = conditions.unwrap_or_else(|| {
                let indices = self.indices(stmt);
                let narrow =
                    indices.into_iter().filter(|(at, _)| self.narrow(*at, stmts).is_some());
                ranges.extend(narrow.map(|(at, limit)| (self.index(at), limit, at)));
                self.has_elements(stmt)
            });
            for condition in conditions {
                if !within.contains(&condition) {
                    within.push(condition);
                }
            }
        }
        // A counter of 32 bits needs fewer registers.
        let is_narrow = kernel.locals[var].ty == ScalarType::U64;
        if is_narrow {
            let most = consts::int(ScalarType::U64, u32::MAX.into());
            let bounds = [(serial_loop.begin, &begin), (serial_loop.end, &end)];
            for (_, bound) in bounds.into_iter().filter(|(id, _)| !self.is_u32_constant(*id)) {
                within.push(format!("{bound} <= {most}"));
            }
        }
        self.begin_statement();
        let first = match within.is_empty() {
            true => "false".to_owned(),
            false => format!("!({})", within.join(" && ")),
        };
        let mut before = Vec::new();
        if outer.is_some() {
            // The conditions are about the first and the last iteration. Without iterations, no index is out of range.
            self.open(&format!("if ({begin} < {end}) {{"));
        }
        match &outer {
            Some(_) if within.is_empty() => {}
            Some(_) => self.line(&format!("if ({first}) {beyond} = true;")),
            None => self.line(&format!("bool {beyond} = {first};")),
        }
        let saved = match &outer {
            Some(_) => Vec::new(),
            None => assigned_outer_locals(&kernel.blocks, body),
        };
        for local in saved {
            let now = self.local(local);
            let saved = self.fresh(&format!("{now}_before"));
            let of = kernel.locals[local].ty.name();
            self.line(&format!("const {of} {saved} = {now};"));
            before.push(format!("{now} = {saved};"));
        }
        self.open(&format!("if (!{beyond}) {{"));
        ranges.sort_unstable();
        ranges.dedup_by(|a, b| (a.0, &a.1) == (b.0, &b.1));
        let ranges = ranges.into_iter();
        let ranges = ranges.map(|(index, limit, at)| self.range(index, limit, at, stmts)).collect();
        let valid = outer.as_ref().map(|outer| outer.valid.clone()).unwrap_or_default();
        self.speculation = Some(Speculation { flag: beyond.clone(), ranges, stmts, valid });
        self.line(&format!("#pragma unroll {UNROLLED}"));
        if is_narrow {
            let counter = self.fresh(&format!("{name}_n"));
            self.open(&format!(
                "for (u32 {counter} = (u32){begin}; {counter} < (u32){end}; {counter}++) {{"
            ));
            self.line(&format!("const {ty} {name} = {counter};"));
        } else {
            self.open(&format!("for ({ty} {name} = {begin}; {name} < {end}; {name}++) {{"));
        }
        for (stmt, proven) in stmts.iter().zip(&proven) {
            self.speculative_stmt(stmt, *proven);
        }
        self.close();
        let ranges = self.speculation.take().map(|speculation| speculation.ranges);
        for CheckedRange { max_seen, max_valid, .. } in ranges.into_iter().flatten() {
            self.line(&format!("if ({max_seen} > {max_valid}) {beyond} = true;"));
        }
        self.close();
        if outer.is_some() {
            self.close();
            self.speculation = outer;
            return true;
        }
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

    /// The indices of a statement's load, each with its exclusive upper bound; none for other statements.
    fn indices(&mut self, stmt: &Stmt) -> Vec<(ExprId, String)> {
        let Stmt::Let { value, .. } = stmt else { return Vec::new() };
        match &self.kernel.exprs[*value].kind {
            ExprKind::Load(element) => self.limits(element),
            _ => Vec::new(),
        }
    }

    /// The indices of an element, each with its exclusive upper bound.
    fn limits(&mut self, element: &Element) -> Vec<(ExprId, String)> {
        let number = |count: u32| consts::int(ScalarType::U64, count.into());
        let limits: Vec<_> = match element.array {
            Array::Tensor(tensor) => {
                let kind = self.kernel.params[tensor.index()].kind;
                let extents = (0..kind.rank()).map(|axis| self.dim(tensor, axis));
                extents.chain(kind.component_extent().map(number)).collect()
            }
            Array::Shared(array) => self.extent_texts(array),
            Array::Local(_) => Vec::new(),
        };
        element.index.iter().copied().zip(limits).collect()
    }

    /// The value of at most 32 bits that an index is converted from, also by a local that one of the statements
    /// defines.
    fn narrow(&self, index: ExprId, stmts: &[Stmt]) -> Option<ExprId> {
        match self.kernel.exprs[index].kind {
            ExprKind::Cast { value } => {
                let ty = self.kernel.exprs[value].ty;
                (ty.is_int() && ty.size() <= 4).then_some(value)
            }
            ExprKind::Local(local) if !self.kernel.locals[local].mutable => {
                stmts.iter().find_map(|stmt| match *stmt {
                    Stmt::Let { local: defined, value } if defined == local => {
                        matches!(self.kernel.exprs[value].kind, ExprKind::Cast { .. })
                            .then(|| self.narrow(value, &[]))?
                    }
                    _ => None,
                })
            }
            _ => None,
        }
    }

    fn index(&self, at: ExprId) -> LoadIndex {
        match self.kernel.exprs[at].kind {
            ExprKind::Local(local) => LoadIndex::Local(local),
            _ => LoadIndex::Expr(at),
        }
    }

    /// Prints the variables of a range.
    fn range(
        &mut self,
        index: LoadIndex,
        limit: String,
        at: ExprId,
        stmts: &[Stmt],
    ) -> CheckedRange {
        let narrow = self.narrow(at, stmts).map(|value| self.kernel.exprs[value].ty);
        let largest = match narrow.is_some_and(ScalarType::is_wide_signed_int) {
            true => i64::from(i32::MAX),
            false => i64::from(u32::MAX),
        };
        let [one, largest] = [1, largest].map(|value| consts::int(ScalarType::U64, value.into()));
        let [max_seen, max_valid] = ["most", "last"].map(|name| self.fresh(name));
        self.line(&format!("u32 {max_seen} = 0u;"));
        self.line(&format!(
            "const u32 {max_valid} = (u32)({limit} - {one} < {largest} ? {limit} - {one} : {largest});"
        ));
        CheckedRange { index, limit, max_seen, max_valid, clamped: None }
    }

    /// In a speculative run, an index that is in range: the index itself, or the last one below `limit`. None in other
    /// code, and for 64-bit indices.
    pub(super) fn limited_index(&mut self, index: ExprId, limit: &str) -> Option<String> {
        let Speculation { ranges, stmts, .. } = self.speculation.as_ref()?;
        let of = self.index(index);
        let found = ranges.iter().position(|range| range.index == of && range.limit == limit)?;
        let CheckedRange { max_seen, max_valid, clamped, .. } = &ranges[found];
        if clamped.is_some() {
            return clamped.clone();
        }
        let (max_seen, max_valid) = (max_seen.clone(), max_valid.clone());
        let value = self.value(self.narrow(index, stmts)?).cast(ScalarType::U32).text;
        let at = self.fresh("at");
        self.line(&format!("const u32 {at} = {value};"));
        self.line(&format!("{max_seen} = {at} > {max_seen} ? {at} : {max_seen};"));
        let clamped = self.fresh("near");
        self.line(&format!("const u64 {clamped} = {at} < {max_valid} ? {at} : {max_valid};"));
        let ranges = self.speculation.as_mut().map(|speculation| &mut speculation.ranges);
        if let Some(range) = ranges.and_then(|ranges| ranges.get_mut(found)) {
            range.clamped = Some(clamped.clone());
        }
        Some(clamped)
    }

    /// The conditions under which a statement's load can be of the first element instead, and under which the constant
    /// indices of its load or store are in range.
    fn has_elements(&mut self, stmt: &Stmt) -> Vec<String> {
        let kernel = self.kernel;
        let zero = consts::int(ScalarType::U64, 0);
        let is_store = matches!(stmt, Stmt::Store { .. });
        let limits = match stmt {
            Stmt::Store { element, .. } => self.limits(element),
            _ => self.indices(stmt),
        };
        let condition = |(at, limit): (ExprId, String)| {
            let most = limit.strip_suffix("ull").and_then(|limit| limit.parse::<u64>().ok());
            match &kernel.exprs[at].kind {
                ExprKind::Const(at) if most > Some(at.bits()) => None,
                // A constant index is not checked again.
                ExprKind::Const(at) => {
                    Some(format!("{} < {limit}", consts::int(ScalarType::U64, at.bits().into())))
                }
                // Where an index is out of range, nothing is stored.
                _ if is_store || most > Some(0) => None,
                _ => Some(format!("{limit} != {zero}")),
            }
        };
        limits.into_iter().filter_map(condition).collect()
    }

    /// In a speculative run, an index that is in range: the index itself, or 0 if it is not below `limit`. None in
    /// other code.
    pub(super) fn valid_index(&mut self, id: ExprId, limit: &str) -> Option<String> {
        self.speculation.as_ref()?;
        if matches!(self.kernel.exprs[id].kind, ExprKind::Const(_)) {
            // Below the limit, as the condition of the run says.
            return Some(self.value(id).at(Precedence::Unary));
        }
        if let Some(near) = self.limited_index(id, limit) {
            return Some(near);
        }
        let speculation = self.speculation.as_ref()?;
        let known = speculation.valid.iter().find(|(of, below, _)| *of == id && below == limit);
        if let Some((_, _, name)) = known {
            return Some(name.clone());
        }
        let flag = speculation.flag.clone();
        let at = self.atom(id, "at");
        let [inside, near] = ["in_range", "near"].map(|name| self.fresh(name));
        self.line(&format!("const bool {inside} = {at} < {limit};"));
        self.line(&format!("if (!{inside}) {flag} = true;"));
        let zero = consts::int(ScalarType::U64, 0);
        self.line(&format!("const u64 {near} = {inside} ? {at} : {zero};"));
        if self.is_immutable(id)
            && let Some(speculation) = &mut self.speculation
        {
            speculation.valid.push((id, limit.to_owned(), near.clone()));
        }
        Some(near)
    }

    /// The variable that records, in a speculative run, that an index was out of range.
    pub(super) fn speculation_flag(&self) -> Option<String> {
        self.speculation.as_ref().map(|speculation| speculation.flag.clone())
    }

    /// The number of indices that are known to be in range, to [forget](Self::forget_valid) later ones.
    pub(super) fn valid_count(&self) -> usize {
        self.speculation.as_ref().map_or(0, |speculation| speculation.valid.len())
    }

    /// Forgets the variables of a block that ends.
    pub(super) fn forget_valid(&mut self, count: usize) {
        if let Some(speculation) = &mut self.speculation {
            speculation.valid.truncate(count);
        }
    }

    /// Whether a value stays the same while its locals are in scope.
    fn is_immutable(&self, id: ExprId) -> bool {
        match &self.kernel.exprs[id].kind {
            ExprKind::Local(local) => !self.kernel.locals[*local].mutable,
            kind => !kind.is_effect() && kind.operands().all(|operand| self.is_immutable(operand)),
        }
    }

    fn is_u32_constant(&self, id: ExprId) -> bool {
        match &self.kernel.exprs[id].kind {
            ExprKind::Const(value) => u32::try_from(value.bits()).is_ok(),
            _ => false,
        }
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
        let increments: Option<Vec<_>> =
            indices.iter().map(|(at, _)| self.change(*at, serial_loop, &mut cache)).collect();
        let ty = kernel.locals[serial_loop.var].ty;
        let is_variable = |at: ExprId| match kernel.exprs[at].kind {
            ExprKind::Local(local) => local == serial_loop.var && !ty.is_wide_signed_int(),
            _ => false,
        };
        let mut conditions = Vec::new();
        for ((at, limit), increment) in indices.into_iter().zip(increments?) {
            self.begin_statement();
            let inner = match kernel.exprs[at].kind {
                ExprKind::Cast { value } => value,
                _ => at,
            };
            if increment == Increment::Zero {
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
        cache: &mut HashMap<ExprId, Option<Increment>>,
    ) -> Option<Increment> {
        if let Some(increment) = cache.get(&id) {
            return *increment;
        }
        let kernel = self.kernel;
        let expr = &kernel.exprs[id];
        let wide = |ty: ScalarType| ty.is_int() && ty.size() >= 4;
        let mut of = |at: ExprId| self.change(at, serial_loop, cache);
        let increment = match &expr.kind {
            ExprKind::Local(local) if *local == serial_loop.var => Some(Increment::One),
            ExprKind::Local(local) => {
                let changes =
                    |stmt: &Stmt| matches!(stmt, Stmt::Let { local: own, .. } if own == local);
                let changes = kernel.blocks[serial_loop.body].stmts.iter().any(changes)
                    || assigned_outer_locals(&kernel.blocks, serial_loop.body).contains(local);
                (!changes).then_some(Increment::Zero)
            }
            ExprKind::Cast { value } => {
                let from = kernel.exprs[*value].ty;
                let grows = wide(from) && wide(expr.ty) && expr.ty.size() >= from.size();
                of(*value).filter(|increment| *increment == Increment::Zero || grows)
            }
            ExprKind::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), lhs, rhs }
                if wide(expr.ty) =>
            {
                match (of(*lhs), of(*rhs)) {
                    (Some(increment), Some(Increment::Zero)) => Some(increment),
                    (Some(Increment::Zero), Some(Increment::One)) if *op == BinaryOp::Add => {
                        Some(Increment::One)
                    }
                    _ => None,
                }
            }
            kind if kind.is_effect() => None,
            kind => {
                let same = kind.operands().all(|at| of(at) == Some(Increment::Zero));
                same.then_some(Increment::Zero)
            }
        };
        cache.insert(id, increment);
        increment
    }
}
