//! Statements, and the effects that stand at their roots.

use quadrants_ir::{
    AtomicOp, Block, BlockId, DivRemOp, ExprId, ExprKind, LocalId, ParamId, ScalarType, SiteId,
    Stmt, TaskKind,
    abi::{Form, result_word, temp_word},
};

use super::{consts, cse, expr::Level, helpers::Helper, speculate::Walk, task::TaskPrinter, types};

/// An element that a statement accesses.
pub(super) struct Place {
    /// The element as an expression.
    pub(super) element: String,
    /// That all indices are in range; none where nothing is checked.
    pub(super) in_range: Option<String>,
    /// The call that reports otherwise.
    pub(super) report: String,
}

impl TaskPrinter<'_> {
    /// All statements of a block.
    pub(super) fn block(&mut self, id: BlockId) {
        let kernel = self.kernel;
        for stmt in &kernel.blocks[id].stmts {
            if !matches!(stmt, Stmt::Shared { .. }) {
                self.finish_clearing();
            }
            self.stmt(stmt);
        }
        self.finish_clearing();
    }

    /// One statement.
    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        let kernel = self.kernel;
        self.begin_statement();
        match stmt {
            Stmt::Let { local, value } => self.define(*local, *value),
            Stmt::Assign { local, value } => {
                let value = self.expr(*value);
                let name = self.local(*local);
                self.line(&format!("{name} = {value};"));
            }
            Stmt::Eval { value } => self.effect(*value),
            Stmt::Store { tensor, index, value, site } => {
                self.store(*tensor, index, *value, *site);
            }
            Stmt::If { cond, then, otherwise } => {
                let cond = self.expr(*cond);
                self.line(&format!("if ({cond}) {{"));
                self.branches(&kernel.blocks[*otherwise], *then, *otherwise);
            }
            Stmt::For { var, begin, end, body, unroll, down } => {
                self.serial_for(*var, [*begin, *end], *body, (*unroll, *down));
            }
            Stmt::Shared { array, dims } => self.shared_array(*array, dims),
            Stmt::Each { var, body, exchange: None } => self.each(*var, *body),
            Stmt::Each { var, body, exchange: Some(exchange) } => {
                self.exchange(*var, *body, *exchange);
            }
            Stmt::Give { value, from } => self.give(*value, *from),
            Stmt::SharedStore { array, index, value, site } => {
                let place = self.shared_place(*array, index, *site);
                let value = self.expr(*value);
                self.guarded(&place, &format!("{} = {value};", place.element));
            }
            Stmt::Loop { body } => {
                self.line("while (true) {");
                self.loop_body(*body);
            }
            Stmt::Break => self.line("break;"),
            Stmt::Continue if self.loops > 0 => self.line("continue;"),
            Stmt::Continue => self.end_iteration(),
            Stmt::Assert { cond, site } => {
                let failed = self.negation(*cond);
                self.line(&format!("if ({failed}) {{"));
                self.indented(|this| {
                    let report = this.report(*site, &[]);
                    this.line(&report);
                    this.end_iteration();
                });
                self.line("}");
            }
            Stmt::SetTemp { temp, value } => self.set_scratch(temp_word(*temp), *value),
            Stmt::SetResult { value } => self.set_scratch(result_word(kernel), *value),
        }
    }

    /// What follows `if (…) {`. A branch that is nothing but another `if` continues the chain, unless
    /// its condition needs a line of its own.
    fn branches(&mut self, otherwise_block: &Block, then: BlockId, otherwise: BlockId) {
        let kernel = self.kernel;
        self.indented(|this| this.block(then));
        match otherwise_block.stmts.as_slice() {
            [] => self.line("}"),
            [Stmt::If { cond, then, otherwise }] if !cse::within(self.cx.shared, kernel, *cond) => {
                let cond = self.expr(*cond);
                self.line(&format!("}} else if ({cond}) {{"));
                self.branches(&kernel.blocks[*otherwise], *then, *otherwise);
            }
            _ => {
                self.line("} else {");
                self.indented(|this| this.block(otherwise));
                self.line("}");
            }
        }
    }

    fn serial_for(
        &mut self,
        var: LocalId,
        [begin_id, end_id]: [ExprId; 2],
        body: BlockId,
        (unroll, down): (Option<u32>, bool),
    ) {
        let counted = self.is_counted(begin_id, end_id);
        let walk = Walk { var, begin: begin_id, end: end_id, body };
        if unroll.is_none() && !down && !counted && self.reads_ahead(walk) {
            return;
        }
        let ty = types::name(self.kernel.locals[var].ty);
        let name = self.local(var);
        // Printed in the order in which they are evaluated.
        let begin = match down {
            true => self.bound_value(begin_id, &format!("{name}_begin")).text,
            false => self.expr(begin_id),
        };
        let end = match down {
            true => self.expr(end_id),
            false => self.bound_value(end_id, &format!("{name}_end")).text,
        };
        match unroll {
            Some(0) => self.line("#pragma unroll"),
            Some(times) => self.line(&format!("#pragma unroll {times}")),
            None if self.is_short(body) && !counted => {
                self.line("#pragma unroll 8");
            }
            None => {}
        }
        if !down && let Some(bounds) = self.narrow_bounds(var, begin_id, end_id) {
            return self.narrow_for(&name, bounds, body);
        }
        // The variable is off its last value when it is stepped, so that the step cannot overflow.
        if down {
            self.line(&format!("for ({ty} {name} = {end}; {name} > {begin};) {{"));
            self.indented(|this| this.line(&format!("{name}--;")));
        } else {
            self.line(&format!("for ({ty} {name} = {begin}; {name} < {end}; {name}++) {{"));
        }
        self.loop_body(body);
    }

    /// Whether a loop's body is so short that counting is a good part of it: a few statements in a row that are never
    /// left early and that nothing is called from.
    fn is_short(&self, body: BlockId) -> bool {
        const STATEMENTS: usize = 24;
        let stmts = &self.kernel.blocks[body].stmts;
        self.cx.form == Form::Proven
            && stmts.len() <= STATEMENTS
            && stmts.iter().all(|stmt| matches!(stmt, Stmt::Let { .. } | Stmt::Assign { .. }))
    }

    /// The bounds of a loop over 64 bits that 32 are enough for, which is known where they are constants.
    fn narrow_bounds(&self, var: LocalId, begin: ExprId, end: ExprId) -> Option<[u32; 2]> {
        let bound = |at: ExprId| match self.kernel.exprs[at].kind {
            ExprKind::Const(bound) => u32::try_from(bound.bits()).ok(),
            _ => None,
        };
        let wide = self.kernel.locals[var].ty == ScalarType::U64;
        wide.then_some([bound(begin)?, bound(end)?])
    }

    /// A loop that is counted in 32 bits: a device has no registers of 64.
    fn narrow_for(&mut self, name: &str, [begin, end]: [u32; 2], body: BlockId) {
        let counter = self.fresh(&format!("{name}_n"));
        self.line(&format!("for (u32 {counter} = {begin}u; {counter} < {end}u; {counter}++) {{"));
        self.indented(|this| this.line(&format!("const u64 {name} = {counter};")));
        self.loop_body(body);
    }

    /// Whether the compiler knows how many turns a loop takes, and so unrolls it as it sees fit.
    fn is_counted(&self, begin: ExprId, end: ExprId) -> bool {
        [begin, end].iter().all(|at| matches!(self.kernel.exprs[*at].kind, ExprKind::Const(_)))
    }

    fn loop_body(&mut self, body: BlockId) {
        self.loops += 1;
        self.indented(|this| this.block(body));
        self.loops -= 1;
        self.line("}");
    }

    /// Ends the iteration of the parallel loop, or the serial piece, from any depth.
    fn end_iteration(&mut self) {
        let task = &self.kernel.tasks[self.task.index()];
        if matches!(task.kind, TaskKind::Serial) {
            self.line("return;");
        } else if self.loops == 0 && task.kind.threads().is_none() {
            self.line("continue;");
        } else {
            self.jumps_to_next = true;
            let label = self.blocks.label();
            self.line(&format!("goto {label};"));
        }
    }

    fn define(&mut self, local: LocalId, value: ExprId) {
        let kernel = self.kernel;
        let ty = kernel.locals[local].ty;
        let constant = if kernel.locals[local].mutable { "" } else { "const " };
        match &kernel.exprs[value].kind {
            ExprKind::Load { .. } if self.given.contains_key(&value) => {
                let read = self.given[&value].clone();
                let name = self.local(local);
                self.line(&format!("{constant}{ty} {name} = {read};"));
            }
            ExprKind::Load { tensor, index, site } => {
                let place = self.place(*tensor, index, *site);
                let element = match self.is_read_only(*tensor, *site) {
                    true => self.cx.dialect.read_only(&place.element),
                    false => place.element.clone(),
                };
                let read = if ty == ScalarType::Bool { format!("{element} != 0") } else { element };
                self.define_checked(local, &place, &read);
            }
            ExprKind::Atomic { op, tensor, index, value, site } => {
                let (place, update) = self.atomic(*op, *tensor, index, *value, *site);
                self.define_checked(local, &place, &update);
            }
            ExprKind::SharedLoad { array, index, site } => {
                let place = self.shared_place(*array, index, *site);
                let read = place.element.clone();
                self.define_checked(local, &place, &read);
            }
            ExprKind::SharedAtomic { op, array, index, value, site } => {
                let (place, update) = self.shared_atomic(*op, *array, index, *value, *site);
                self.define_checked(local, &place, &update);
            }
            ExprKind::DivRem { op, lhs, rhs, site } => {
                let (value, zero) = self.div_rem(*op, *lhs, *rhs);
                let name = self.local(local);
                self.line(&format!("{constant}{ty} {name} = {value};"));
                self.report_zero(zero, *site);
            }
            _ => {
                let value = self.expr(value);
                let name = self.local(local);
                self.line(&format!("{constant}{ty} {name} = {value};"));
            }
        }
    }

    /// Defines a local as `value`, which may be had only where the place is in range.
    fn define_checked(&mut self, local: LocalId, place: &Place, value: &str) {
        let ty = self.kernel.locals[local].ty;
        let name = self.local(local);
        if place.in_range.is_none() {
            let constant = if self.kernel.locals[local].mutable { "" } else { "const " };
            self.line(&format!("{constant}{ty} {name} = {value};"));
        } else {
            self.line(&format!("{ty} {name} = {};", consts::zero(ty)));
            self.guarded(place, &format!("{name} = {value};"));
        }
    }

    /// An effect whose value nobody wants.
    fn effect(&mut self, id: ExprId) {
        let kernel = self.kernel;
        match &kernel.exprs[id].kind {
            ExprKind::Load { tensor, index, site } => {
                let place = self.place(*tensor, index, *site);
                self.only_checked(&place);
            }
            ExprKind::SharedLoad { array, index, site } => {
                let place = self.shared_place(*array, index, *site);
                self.only_checked(&place);
            }
            ExprKind::SharedAtomic { op, array, index, value, site } => {
                let (place, update) = self.shared_atomic(*op, *array, index, *value, *site);
                self.guarded(&place, &format!("{update};"));
            }
            ExprKind::Atomic { tensor, value, .. } if self.reduce(*tensor, *value) => {}
            ExprKind::Atomic { tensor, index, value, site, .. }
                if self.scatter(*tensor, index, *value, *site) => {}
            ExprKind::Atomic { op, tensor, index, value, site } => {
                let (place, update) = self.atomic(*op, *tensor, index, *value, *site);
                self.guarded(&place, &format!("{update};"));
            }
            ExprKind::DivRem { op, lhs, rhs, site } => {
                let (_, zero) = self.div_rem(*op, *lhs, *rhs);
                self.report_zero(zero, *site);
            }
            _ => {}
        }
    }

    /// The check of an element that nobody wants.
    fn only_checked(&mut self, place: &Place) {
        if let Some(in_range) = &place.in_range {
            self.line(&format!("if (!({in_range})) {}", place.report));
        }
    }

    fn store(&mut self, tensor: ParamId, index: &[ExprId], value: ExprId, site: SiteId) {
        let place = self.place(tensor, index, site);
        let value = match self.kernel.exprs[value].ty {
            ScalarType::Bool => {
                format!("{} ? 1 : 0", self.value(value).at(Level::Comparison))
            }
            _ => self.expr(value),
        };
        self.guarded(&place, &format!("{} = {value};", place.element));
    }

    fn atomic(
        &mut self,
        op: AtomicOp,
        tensor: ParamId,
        index: &[ExprId],
        value: ExprId,
        site: SiteId,
    ) -> (Place, String) {
        let ty = self.kernel.exprs[value].ty;
        let place = self.place(tensor, index, site);
        let value = self.expr(value);
        let update = self.cx.dialect.atomic(op, ty, &format!("&{}", place.element), &value);
        (place, update)
    }

    /// The quotient or remainder, and the condition under which the divisor was zero.
    fn div_rem(&mut self, op: DivRemOp, lhs: ExprId, rhs: ExprId) -> (String, Option<String>) {
        let kernel = self.kernel;
        let ty = kernel.exprs[rhs].ty;
        let constant = match &kernel.exprs[rhs].kind {
            ExprKind::Const(divisor) => divisor.as_int(),
            _ => None,
        };
        if let Some(divisor) = constant.filter(|divisor| !matches!(divisor, 0 | -1)) {
            let sign = if op == DivRemOp::Div { "/" } else { "%" };
            let dividend = self.value(lhs).at(Level::Multiplicative);
            return (format!("{dividend} {sign} {}", consts::int(ty, divisor)), None);
        }
        let dividend = self.expr(lhs);
        let divisor = self.atom(rhs, "divisor");
        let helper = self.helper(match op {
            DivRemOp::Div => Helper::Div(ty),
            DivRemOp::Rem => Helper::Rem(ty),
        });
        let zero = match constant {
            Some(-1) => None,
            _ => Some(format!("{divisor} == {}", consts::zero(ty))),
        };
        (format!("{helper}({dividend}, {divisor})"), zero)
    }

    fn report_zero(&mut self, zero: Option<String>, site: SiteId) {
        if let Some(zero) = zero {
            let report = self.report(site, &[]);
            self.line(&format!("if ({zero}) {report}"));
        }
    }

    /// A statement that runs where the place is in range, and the report where it is not.
    pub(super) fn guarded(&mut self, place: &Place, statement: &str) {
        let Some(in_range) = &place.in_range else {
            self.line(statement);
            return;
        };
        self.line(&format!("if ({in_range}) {{"));
        self.indented(|this| this.line(statement));
        self.line("} else {");
        self.indented(|this| this.line(&place.report));
        self.line("}");
    }

    /// An element that a statement accesses.
    pub(super) fn place(&mut self, tensor: ParamId, index: &[ExprId], site: SiteId) -> Place {
        let checked = self.cx.form == Form::Checked;
        let kind = self.kernel.params[tensor.index()].kind;
        let (index, choice) = index.split_at(usize::from(kind.rank()).min(index.len()));
        let mut conditions = Vec::new();
        let mut values = Vec::new();
        let mut offset = match checked {
            true => self.checked_offset(tensor, index, &mut conditions, &mut values),
            false => self.offset(tensor, index).text,
        };
        let mut extents = Vec::new();
        if let Some(step) = self.step(tensor) {
            offset = if is_simple(&offset) { offset } else { format!("({offset})") };
            offset = format!("{offset} * {step}");
        }
        if let (&[choice], Some(plane)) = (choice, self.plane(tensor)) {
            let factor = if checked {
                let at = self.atom(choice, "at");
                let choices = consts::int(ScalarType::U64, kind.choices().unwrap_or(1).into());
                conditions.push(format!("{at} < {choices}"));
                values.push(at.clone());
                extents.push(choices);
                at
            } else {
                self.value(choice).at(Level::Unary)
            };
            offset = format!("{offset} + {factor} * {plane}");
        }
        let report = if checked {
            for axis in 0..index.len() {
                values.push(self.dim(tensor, axis as u8));
            }
            values.extend(extents);
            self.report(site, &values)
        } else {
            String::new()
        };
        let name = self.param(tensor);
        Place {
            element: format!("{name}[{offset}]"),
            in_range: (!conditions.is_empty()).then(|| conditions.join(" && ")),
            report,
        }
    }

    /// Whether nothing writes what is read there: an author who asserts that there is no race may know better.
    fn is_read_only(&self, tensor: ParamId, site: SiteId) -> bool {
        let asserted = self.kernel.sites[site.index()].asserted;
        !asserted && !self.kernel.params[tensor.index()].kind.is_writable()
    }

    /// The number of an element among all of its tensor, with what has to hold of its indices, and these.
    fn checked_offset(
        &mut self,
        tensor: ParamId,
        index: &[ExprId],
        conditions: &mut Vec<String>,
        values: &mut Vec<String>,
    ) -> String {
        let mut offset = if index.is_empty() { "0".to_owned() } else { String::new() };
        for (axis, &id) in index.iter().enumerate() {
            let at = self.atom(id, "at");
            let dim = self.dim(tensor, axis as u8);
            conditions.push(format!("{at} < {dim}"));
            values.push(at.clone());
            offset = match axis {
                0 => at,
                _ => {
                    let outer = if axis > 1 { format!("({offset})") } else { offset };
                    format!("{outer} * {dim} + {at}")
                }
            };
        }
        offset
    }

    /// The call that records a device error.
    pub(super) fn report(&mut self, site: SiteId, values: &[String]) -> String {
        if let Some(flag) = &self.quiet {
            return format!("{flag} = true;");
        }
        let fail = self.helper(Helper::Fail);
        let mut call = format!(
            "{fail}({}, {}, {}, {}, {}",
            self.argument("qd_error"),
            site.raw(),
            self.argument("qd_launch"),
            self.task.raw(),
            values.len()
        );
        for value in values {
            call.push_str(", ");
            call.push_str(value);
        }
        call + ");"
    }

    fn negation(&mut self, id: ExprId) -> String {
        format!("!{}", self.value(id).at(Level::Primary))
    }

    fn set_scratch(&mut self, word: usize, value: ExprId) {
        let value = self.word_of(value);
        let word = self.scratch(word);
        self.line(&format!("{word} = {value};"));
    }
}

/// Whether a printed index needs no parentheses as a factor.
fn is_simple(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
