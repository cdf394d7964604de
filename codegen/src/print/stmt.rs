//! Prints statements and their root expressions.

use std::collections::HashMap;

use quadrants_ir::{
    Array, BlockId, Element, ExprId, ExprKind, LocalId, ParamId, ScalarType, SiteId, Stmt,
    TaskKind,
    abi::{Form, result_word, temp_word},
};

use super::{
    consts, cse,
    expr::Precedence,
    helpers::Helper,
    speculate::{SerialLoop, Speculation},
    task::TaskPrinter,
};

pub(super) struct ElementAccess {
    /// The element, as an expression.
    pub(super) element: String,
    /// The conditions under which all indices are in range; none if nothing is checked.
    pub(super) conditions: Vec<String>,
    /// The statement that reports an index out of range.
    pub(super) report: String,
}

impl ElementAccess {
    /// An access that is not checked.
    pub(super) fn unchecked(element: String) -> Self {
        Self { element, conditions: Vec::new(), report: String::new() }
    }
}

impl TaskPrinter<'_> {
    pub(super) fn block(&mut self, id: BlockId) {
        let kernel = self.kernel;
        let (known, valid) = (self.divisions.clone(), self.valid_count());
        for stmt in &kernel.blocks[id].stmts {
            if !matches!(stmt, Stmt::Shared { .. }) {
                self.end_zeroing();
            }
            if !self.joint_loads(stmt, &kernel.blocks[id].stmts) {
                self.stmt(stmt);
            }
        }
        self.end_zeroing();
        self.divisions = known;
        self.forget_valid(valid);
    }

    /// Prints the checked loads that share a branch, where `stmt` is the first of them. Returns whether the statement
    /// is one of them, and so is printed.
    fn joint_loads(&mut self, stmt: &Stmt, stmts: &[Stmt]) -> bool {
        let kernel = self.kernel;
        let Stmt::Let { value: first, .. } = *stmt else { return false };
        if self.cx.form == Form::Proven || self.speculation.is_some() {
            return false;
        }
        let groups = &kernel.tasks[self.task.index()].schedule.joint_loads;
        let Some(group) = groups.iter().find(|group| group.contains(&first)) else { return false };
        if group[0] != first {
            return true;
        }
        self.begin_statement();
        self.joint_atoms = Some(HashMap::new());
        let mut loads = Vec::new();
        for stmt in stmts {
            let Stmt::Let { local, value } = *stmt else { continue };
            if group.contains(&value)
                && let Some((access, text)) = self.access(&kernel.exprs[value].kind)
            {
                loads.push((local, access, text));
            }
        }
        self.joint_atoms = None;
        let mut conditions: Vec<&str> = Vec::new();
        for condition in loads.iter().flat_map(|(_, access, _)| &access.conditions) {
            if !conditions.contains(&condition.as_str()) {
                conditions.push(condition);
            }
        }
        if conditions.is_empty() {
            for (local, _, text) in &loads {
                self.define_as(*local, text);
            }
            return true;
        }
        let all = conditions.join(" && ");
        for (local, ..) in &loads {
            let ty = kernel.locals[*local].ty;
            let name = self.local(*local);
            self.line(&format!("{ty} {name} = {};", consts::zero(ty)));
        }
        self.open(&format!("if ({all}) {{"));
        for (local, _, text) in &loads {
            let name = self.local(*local);
            self.line(&format!("{name} = {text};"));
        }
        self.otherwise();
        for (local, access, text) in &loads {
            if access.conditions.len() == conditions.len() {
                // All conditions are its own, so its index is out of range.
                self.line(&access.report);
            } else {
                let name = self.local(*local);
                self.guarded(access, &format!("{name} = {text};"));
            }
        }
        self.close();
        true
    }

    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        let kernel = self.kernel;
        self.begin_statement();
        match stmt {
            Stmt::Let { local, value } => {
                self.define(*local, *value);
                self.note_definition(*local, *value);
            }
            Stmt::Assign { local, value } => {
                let value = self.expr(*value);
                let name = self.local(*local);
                self.line(&format!("{name} = {value};"));
            }
            Stmt::Eval { value } => self.effect(*value),
            Stmt::Store { element: Element { array: Array::Local(array), .. }, .. }
                if self.tables.contains_key(array) => {}
            Stmt::Store { element, value } => self.store(element, *value),
            Stmt::If { cond, then, otherwise } => {
                let cond = self.expr(*cond);
                self.open(&format!("if ({cond}) {{"));
                self.branches(*then, *otherwise);
            }
            Stmt::For { var, begin, end, body, unroll, down } => {
                self.serial_for(*var, [*begin, *end], *body, (*unroll, *down));
            }
            Stmt::Shared { .. } => {
                if let Some((array, extents)) = stmt.shared_extents() {
                    self.shared_array(array, &extents);
                }
            }
            Stmt::Phase { var, body, collective: None } => {
                self.phase(*var, *body);
                self.line("__syncthreads();");
            }
            Stmt::Phase { var, body, collective: Some(collective) } => {
                self.collective_phase(*var, *body, *collective);
            }
            Stmt::CollectiveInput { value, from } => self.collective_input(*value, *from),
            Stmt::Loop { body } => {
                self.open("while (true) {");
                self.loop_body(*body);
            }
            Stmt::Break => self.line("break;"),
            Stmt::Continue if self.loops > 0 => self.line("continue;"),
            Stmt::Continue => self.end_iteration(),
            Stmt::Array { array, len } => {
                let ty = self.kernel.locals[*array].ty.name();
                let name = self.local(*array);
                match self.tables.get(array) {
                    // Compilers keep it in constant memory, or replace elements by their values.
                    Some(values) => {
                        let values: Vec<_> =
                            values.iter().map(|value| consts::constant(*value)).collect();
                        self.line(&format!(
                            "const {ty} {name}[{len}] = {{{}}};",
                            values.join(", ")
                        ));
                    }
                    None => self.line(&format!("{ty} {name}[{len}] = {{}};")),
                }
            }
            Stmt::Assert { cond, site, values } => {
                // A shared subexpression is a variable of the enclosing block.
                let values: Vec<String> = values.iter().map(|value| self.word_of(*value)).collect();
                let failed = format!("!{}", self.value(*cond).at(Precedence::Primary));
                self.open(&format!("if ({failed}) {{"));
                let report = self.report(*site, &values);
                self.line(&report);
                self.end_iteration();
                self.close();
            }
            Stmt::Print { site, values } => self.message(*site, values),
            // Offloading removes it.
            Stmt::Reduce { .. } => {}
            Stmt::ReduceTemp { temp, op, value } => self.combine(*temp, *op, *value),
            Stmt::SetTemp { temp, value } => self.set_temporary(temp_word(*temp), *value),
            Stmt::SetResult { at, value } => {
                self.set_temporary(result_word(kernel) + *at as usize, *value);
            }
        }
    }

    /// Prints the branches after `if (…) {`. An `else` branch that is only another `if` becomes `else if`, unless its
    /// condition needs a statement of its own.
    fn branches(&mut self, then: BlockId, otherwise: BlockId) {
        let kernel = self.kernel;
        self.block(then);
        match kernel.blocks[otherwise].stmts.as_slice() {
            [] => self.close(),
            [Stmt::If { cond, then, otherwise }]
                if !cse::contains_shared(self.cx.shared, kernel, *cond) =>
            {
                let cond = self.expr(*cond);
                self.reopen(&format!("}} else if ({cond}) {{"));
                self.branches(*then, *otherwise);
            }
            _ => {
                self.otherwise();
                self.block(otherwise);
                self.close();
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
        self.note_serial_counter(var, begin_id, end_id);
        let walk = SerialLoop { var, begin: begin_id, end: end_id, body };
        if self.speculate(walk) {
            return;
        }
        match self.speculation_flag() {
            // The bounds may come from another element than they should, and the loop be much longer.
            Some(flag) if !counted => {
                self.open(&format!("if (!{flag}) {{"));
                self.plain_for(walk, (unroll, down));
                self.close();
            }
            _ => self.plain_for(walk, (unroll, down)),
        }
    }

    /// Prints a serial loop as written.
    fn plain_for(
        &mut self,
        SerialLoop { var, begin: begin_id, end: end_id, body }: SerialLoop,
        (unroll, down): (Option<u32>, bool),
    ) {
        let counted = self.is_counted(begin_id, end_id);
        let ty = self.kernel.locals[var].ty.name();
        let name = self.local(var);
        // Printed in evaluation order.
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
            None if self.is_short(body) && !counted => self.line("#pragma unroll 8"),
            None => {}
        }
        if !down && let Some(bounds) = self.narrow_bounds(var, begin_id, end_id) {
            return self.narrow_for(&name, bounds, body);
        }
        // The loop variable is decremented after the comparison with the first value, so that it cannot overflow.
        if down {
            self.open(&format!("for ({ty} {name} = {end}; {name} > {begin};) {{"));
            self.line(&format!("{name}--;"));
        } else {
            self.open(&format!("for ({ty} {name} = {begin}; {name} < {end}; {name}++) {{"));
        }
        self.loop_body(body);
    }

    /// Whether the body of a loop is so short that the loop's overhead matters: only a few definitions and assignments.
    fn is_short(&self, body: BlockId) -> bool {
        const MAX_SHORT_STATEMENTS: usize = 24;
        let stmts = &self.kernel.blocks[body].stmts;
        // Copies of variables cost nothing.
        let computes = |stmt: &&Stmt| match stmt {
            Stmt::Let { value, .. } | Stmt::Assign { value, .. } => {
                !matches!(self.kernel.exprs[*value].kind, ExprKind::Local(_))
            }
            _ => true,
        };
        self.cx.form == Form::Proven
            && stmts.iter().filter(computes).count() <= MAX_SHORT_STATEMENTS
            && stmts.iter().all(|stmt| matches!(stmt, Stmt::Let { .. } | Stmt::Assign { .. }))
    }

    /// The bounds of a 64-bit loop with constant bounds that fit into 32 bits.
    fn narrow_bounds(&self, var: LocalId, begin: ExprId, end: ExprId) -> Option<[u32; 2]> {
        let bound = |at: ExprId| match self.kernel.exprs[at].kind {
            ExprKind::Const(bound) => u32::try_from(bound.bits()).ok(),
            _ => None,
        };
        let wide = self.kernel.locals[var].ty == ScalarType::U64;
        wide.then_some([bound(begin)?, bound(end)?])
    }

    /// Prints a loop with a 32-bit counter. GPUs have 32-bit registers, so it is cheaper.
    fn narrow_for(&mut self, name: &str, [begin, end]: [u32; 2], body: BlockId) {
        let counter = self.fresh(&format!("{name}_n"));
        self.open(&format!("for (u32 {counter} = {begin}u; {counter} < {end}u; {counter}++) {{"));
        self.line(&format!("const u64 {name} = {counter};"));
        self.loop_body(body);
    }

    /// Whether the trip count is constant. Then the C++ compiler decides about unrolling.
    fn is_counted(&self, begin: ExprId, end: ExprId) -> bool {
        [begin, end].iter().all(|at| matches!(self.kernel.exprs[*at].kind, ExprKind::Const(_)))
    }

    /// Prints the body of the loop that was opened.
    fn loop_body(&mut self, body: BlockId) {
        let schedule = &self.kernel.tasks[self.task.index()].schedule;
        let reads = schedule.narrow_indices && self.only_reads(body);
        let outer = std::mem::replace(&mut self.in_reading_loop, reads);
        self.loops += 1;
        self.block(body);
        self.loops -= 1;
        self.in_reading_loop = outer;
        self.close();
    }

    /// Whether a body has no effects besides loads and divisions.
    fn only_reads(&self, body: BlockId) -> bool {
        self.kernel.blocks[body].stmts.iter().all(|stmt| match *stmt {
            Stmt::Let { value, .. } | Stmt::Assign { value, .. } | Stmt::Eval { value } => {
                !matches!(self.kernel.exprs[value].kind, ExprKind::Atomic { .. })
            }
            Stmt::If { .. } | Stmt::For { .. } | Stmt::Loop { .. } => {
                stmt.blocks().all(|inner| self.only_reads(inner))
            }
            Stmt::Break | Stmt::Continue => true,
            _ => false,
        })
    }

    /// Ends the iteration of the parallel loop, or the serial task, at any nesting depth.
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
        match &kernel.exprs[value].kind {
            ExprKind::Load(_) if self.preloaded.contains_key(&value) => {
                let read = self.preloaded[&value].clone();
                self.define_as(local, &read);
            }
            ExprKind::DivRem { op, lhs, rhs, site } => {
                let (value, zero) = self.div_rem(*op, *lhs, *rhs);
                self.define_as(local, &value);
                self.report_zero(*rhs, zero, *site);
                self.record_quotient(local, *op, *lhs, *rhs);
            }
            root => match self.access(root) {
                Some((access, value)) => self.define_checked(local, &access, &value),
                None => {
                    let value = self.expr(value);
                    self.define_as(local, &value);
                }
            },
        }
    }

    /// The access of a root expression, and the expression that reads or updates the element; none for other roots.
    fn access(&mut self, root: &ExprKind) -> Option<(ElementAccess, String)> {
        let element = root.element()?;
        let access = self.element(element);
        let value = match (root, element.array) {
            (ExprKind::Atomic { op, expected, value, .. }, _) => {
                let ty = self.kernel.exprs[*value].ty;
                let expected = expected.map(|expected| self.expr(expected));
                let operands = (expected.as_deref(), &*self.expr(*value));
                self.atomic(*op, ty, &format!("&{}", access.element), operands)
            }
            (_, Array::Tensor(tensor)) => {
                // Device compilers combine plain loads of the scalars of an aligned element, and no others.
                let read_only = self.is_read_only(tensor, element.site)
                    && !self.in_reading_loop
                    && !self.has_aligned_elements(tensor);
                let value = match read_only {
                    true => self.cx.dialect.read_only(&access.element),
                    false => access.element.clone(),
                };
                let elem = self.kernel.params[tensor.index()].kind.elem();
                if elem == Some(ScalarType::Bool) { format!("{value} != 0") } else { value }
            }
            (_, Array::Shared(_) | Array::Local(_)) => access.element.clone(),
        };
        Some((access, value))
    }

    fn define_as(&mut self, local: LocalId, value: &str) {
        let ty = self.kernel.locals[local].ty;
        let constant = if self.kernel.locals[local].mutable { "" } else { "const " };
        let name = self.local(local);
        self.line(&format!("{constant}{ty} {name} = {value};"));
    }

    /// Defines a local as `value`, which is evaluated only if the access is in range.
    fn define_checked(&mut self, local: LocalId, access: &ElementAccess, value: &str) {
        if access.conditions.is_empty() {
            return self.define_as(local, value);
        }
        let ty = self.kernel.locals[local].ty;
        let name = self.local(local);
        self.line(&format!("{ty} {name} = {};", consts::zero(ty)));
        self.guarded(access, &format!("{name} = {value};"));
    }

    /// Prints a side effect whose value is not used.
    fn effect(&mut self, id: ExprId) {
        let kernel = self.kernel;
        match &kernel.exprs[id].kind {
            ExprKind::Atomic { element, value, .. }
                if self.reduce(element, *value) || self.privatized_atomic(element, *value) => {}
            ExprKind::DivRem { op, lhs, rhs, site } => {
                let (_, zero) = self.div_rem(*op, *lhs, *rhs);
                self.report_zero(*rhs, zero, *site);
            }
            root => {
                let Some((access, value)) = self.access(root) else { return };
                match root {
                    ExprKind::Load(_) if access.conditions.is_empty() => {}
                    ExprKind::Load(_) => {
                        let in_range = access.conditions.join(" && ");
                        self.line(&format!("if (!({in_range})) {}", access.report));
                    }
                    _ => self.guarded(&access, &format!("{value};")),
                }
            }
        }
    }

    fn store(&mut self, element: &Element, value: ExprId) {
        let access = self.element(element);
        let value = self.stored_value(element, value);
        self.guarded(&access, &format!("{} = {value};", access.element));
    }

    pub(super) fn stored_value(&mut self, element: &Element, value: ExprId) -> String {
        match self.kernel.exprs[value].ty {
            ScalarType::Bool if element.tensor().is_some() => {
                format!("{} ? 1 : 0", self.value(value).at(Precedence::Comparison))
            }
            _ => self.expr(value),
        }
    }

    /// Prints a statement that runs if the access is in range, and else the report.
    pub(super) fn guarded(&mut self, access: &ElementAccess, statement: &str) {
        if access.conditions.is_empty() {
            return self.line(statement);
        }
        self.open(&format!("if ({}) {{", access.conditions.join(" && ")));
        self.line(statement);
        self.otherwise();
        self.line(&access.report);
        self.close();
    }

    pub(super) fn element(&mut self, element: &Element) -> ElementAccess {
        let Element { array, ref index, site } = *element;
        let tensor = match array {
            Array::Tensor(tensor) => tensor,
            Array::Shared(array) => return self.shared_element(array, index, site),
            Array::Local(array) => {
                let index: Vec<String> = index.iter().map(|at| self.expr(*at)).collect();
                let element = format!("{}[{}]", self.local(array), index.concat());
                return ElementAccess::unchecked(element);
            }
        };
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
                let scalars = kind.component_extent().unwrap_or(1);
                let extent = consts::int(ScalarType::U64, scalars.into());
                let at = match self.is_constant_below(choice, scalars) {
                    true => self.atom(choice, "at"),
                    false => self.checked_index(choice, &extent, &mut conditions),
                };
                values.push(at.clone());
                extents.push(extent);
                at
            } else {
                self.value(choice).at(Precedence::Unary)
            };
            offset = match self.interleaved_step(tensor) {
                Some(_) => {
                    // Without a type, so that the sum keeps that of a 32-bit index.
                    let factor = factor.strip_suffix("ull").unwrap_or(&factor);
                    format!("{offset} + {factor}")
                }
                None => format!("{offset} + {factor} * {plane}"),
            };
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
        ElementAccess { element: format!("{name}[{offset}]"), conditions, report }
    }

    fn is_constant_below(&self, value: ExprId, limit: u32) -> bool {
        match &self.kernel.exprs[value].kind {
            ExprKind::Const(value) => value.bits() < limit.into(),
            _ => false,
        }
    }

    /// An index below `limit`, in speculative runs. Elsewhere, the index, with the condition that it is in range.
    pub(super) fn checked_index(
        &mut self,
        id: ExprId,
        limit: &str,
        conditions: &mut Vec<String>,
    ) -> String {
        if let Some(valid) = self.valid_index(id, limit) {
            return valid;
        }
        let at = self.atom(id, "at");
        conditions.push(format!("{at} < {limit}"));
        at
    }

    /// Whether nothing writes this element during the launch. Asserted sites are excluded, because no proof covers
    /// them.
    fn is_read_only(&self, tensor: ParamId, site: SiteId) -> bool {
        let asserted = self.kernel.sites[site.index()].asserted;
        !asserted && !self.kernel.params[tensor.index()].kind.is_writable()
    }

    /// The linear index of an element. Appends the range checks of its indices to `conditions`, and the indices to
    /// `values`.
    fn checked_offset(
        &mut self,
        tensor: ParamId,
        index: &[ExprId],
        conditions: &mut Vec<String>,
        values: &mut Vec<String>,
    ) -> String {
        let first = values.len();
        let mut offset = if index.is_empty() { "0".to_owned() } else { String::new() };
        for (axis, &id) in index.iter().enumerate() {
            let dim = self.dim(tensor, axis as u8);
            let at = self.checked_index(id, &dim, conditions);
            values.push(at.clone());
            offset = match axis {
                0 => at,
                _ => {
                    let outer = if axis > 1 { format!("({offset})") } else { offset };
                    format!("{outer} * {dim} + {at}")
                }
            };
        }
        self.strided_offset(tensor, &values[first..]).unwrap_or(offset)
    }

    /// The call that records a device error.
    pub(super) fn report(&mut self, site: SiteId, values: &[String]) -> String {
        if let Some(Speculation { flag, .. }) = &self.speculation {
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

    /// Prints a message: takes a slot of the message buffer, and fills it if there is one.
    fn message(&mut self, site: SiteId, values: &[ExprId]) {
        let words: Vec<String> = values.iter().map(|value| self.word_of(*value)).collect();
        let (begin, end) = (self.helper(Helper::BeginMessage), self.helper(Helper::EndMessage));
        let (record, launch) = (self.argument("qd_error"), self.argument("qd_launch"));
        let name = self.fresh("message");
        self.open(&format!(
            "if (qd_message* const {name} = {begin}({record}, {launch}, {})) {{",
            site.raw()
        ));
        for (at, word) in words.into_iter().enumerate() {
            self.line(&format!("{name}->values[{at}] = {word};"));
        }
        self.line(&format!("{end}({name});"));
        self.close();
    }

    fn set_temporary(&mut self, word: usize, value: ExprId) {
        let value = self.word_of(value);
        let word = self.temporary(word);
        self.line(&format!("{word} = {value};"));
    }
}

/// Whether a printed index needs no parentheses as a factor.
fn is_simple(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
