//! Prints one task as one device function: signature, grid-stride loops.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
};

use quadrants_ir::{
    BlockId, Const, ExprId, ExprKind, LocalId, LoopDim, Offloaded, ScalarType, SiteId, TaskId,
    TaskKind,
    abi::{Form, MAX_BOUND, Passing, max_block_size},
    tables,
};

use super::{
    blocks::Blocks,
    consts,
    division::Divisions,
    expr::Precedence,
    helpers::Helper,
    names::{NameAllocator, ParamNames},
    params::ParamPart,
    privatize::Privatized,
    ranges::ValueRange,
    reduce::PrintedReduction,
    speculate::Speculation,
};
use crate::Dialect;

/// The grid axes of a parallel loop's dimensions, outermost first, by number of dimensions.
pub(super) const AXES: [&[char]; 4] = [&[], &['x'], &['y', 'x'], &['z', 'y', 'x']];

/// The kernel, and how a task of it is printed.
#[derive(Clone, Copy)]
pub(super) struct PrintContext<'a> {
    pub(super) kernel: &'a Offloaded,
    pub(super) dialect: &'a dyn Dialect,
    pub(super) form: Form,
    pub(super) passing: Passing,
    pub(super) params: &'a [ParamNames],
    pub(super) shared: &'a [bool],
}

pub(super) struct TaskPrinter<'a> {
    pub(super) kernel: &'a Offloaded,
    pub(super) cx: PrintContext<'a>,
    pub(super) task: TaskId,
    helpers: &'a mut BTreeSet<Helper>,
    names: NameAllocator,
    pub(super) locals: HashMap<LocalId, String>,
    /// Loop variables that equal another local plus a constant.
    pub(super) offset_vars: HashMap<LocalId, (String, i64)>,
    /// The 32-bit variables that hold the values of these locals.
    /// Whether the innermost serial loop has 32-bit indices and only reads. Then read-only loads are printed as plain
    /// ones: NVRTC replaces the addresses of plain loads by increments, but not those of [`Dialect::read_only`] ones,
    /// which are inline assembly there; and nothing is written that loads have to be moved across.
    pub(super) in_reading_loop: bool,
    /// Whether loops are printed without speculation.
    pub(super) as_written: bool,
    /// While [joint loads](TaskSchedule::joint_loads) are printed: the variables that hold their indices.
    pub(super) joint_atoms: Option<HashMap<ExprId, String>>,
    /// The ranges of locals that are known where the text is.
    pub(super) ranges: HashMap<LocalId, ValueRange>,
    /// The ranges of expressions that were found, or not.
    pub(super) known_ranges: HashMap<ExprId, Option<ValueRange>>,
    pub(super) narrow_vars: HashMap<LocalId, String>,
    /// The names of the variables of the parallel loops, which have type `i32`, if all counters have 32 bits.
    pub(super) narrow_counters: HashMap<LocalId, String>,
    pub(super) read_params: BTreeSet<ParamPart>,
    /// The variables that hold common subexpressions of the current statement.
    shared_values: HashMap<ExprId, String>,
    body: String,
    indent: usize,
    /// The number of open serial loops.
    pub(super) loops: u32,
    /// Whether a `goto` to the end of the iteration was printed.
    pub(super) jumps_to_next: bool,
    /// The reductions of the loop into single elements.
    pub(super) reductions: Vec<PrintedReduction>,
    /// The privatized tensors of the loop; at most one.
    pub(super) privatized: Vec<Privatized>,
    /// The state of the speculative run of a loop; none in other code.
    pub(super) speculation: Option<Speculation<'a>>,
    /// The divisions of the current and the enclosing blocks.
    pub(super) divisions: Divisions,
    /// Whether privatized atomics go to the block's private copies or to the tensor, if an enclosing branch has decided
    /// that.
    pub(super) use_copies: Option<bool>,
    /// The constant arrays and their elements.
    pub(super) tables: HashMap<LocalId, Vec<Const>>,
    /// The values of loads that were replaced by a vector load.
    pub(super) preloaded: HashMap<ExprId, String>,
    /// The state for tasks of thread blocks.
    pub(super) blocks: Blocks,
}

impl<'a> TaskPrinter<'a> {
    pub(super) fn new(
        cx: PrintContext<'a>,
        task: TaskId,
        names: NameAllocator,
        helpers: &'a mut BTreeSet<Helper>,
    ) -> Self {
        Self {
            kernel: cx.kernel,
            cx,
            task,
            helpers,
            names,
            locals: HashMap::new(),
            offset_vars: HashMap::new(),
            narrow_vars: HashMap::new(),
            narrow_counters: HashMap::new(),
            in_reading_loop: false,
            ranges: HashMap::new(),
            known_ranges: HashMap::new(),
            read_params: BTreeSet::new(),
            shared_values: HashMap::new(),
            body: String::new(),
            indent: 1,
            loops: 0,
            jumps_to_next: false,
            reductions: Vec::new(),
            privatized: Vec::new(),
            speculation: None,
            divisions: Divisions::default(),
            use_copies: None,
            tables: tables(cx.kernel, &cx.kernel.tasks[task.index()]),
            preloaded: HashMap::new(),
            joint_atoms: None,
            as_written: false,
            blocks: Blocks::default(),
        }
    }

    pub(super) fn print(mut self) -> String {
        let kernel = self.kernel;
        let task = &kernel.tasks[self.task.index()];
        match &task.kind {
            TaskKind::Serial => {
                let first = self.helper(Helper::IsFirst);
                self.line(&format!("if (!{first}()) return;"));
                self.block(task.prelude);
                self.block(task.body);
            }
            TaskKind::RangeFor { dims, bounds_site, .. } => {
                self.block(task.prelude);
                self.begin_reductions(task);
                self.source_line(task.line);
                let loops = self.loops_of(dims, *bounds_site);
                if task.schedule.covered {
                    self.open_covered(dims, &loops, task.body);
                }
                if task.schedule.coarsening > 1 {
                    self.coarsened_loop(dims, &loops, task);
                } else {
                    let inside = self.interior(dims);
                    let threads = [Helper::Thread, Helper::Threads];
                    self.grid_stride_loops(dims, &loops, threads, &mut |this| match &inside {
                        Some(inside) => this.versioned_body(inside, task.body),
                        None if task.schedule.speculative_iterations => {
                            this.speculative_iteration(dims, task.body);
                        }
                        None => this.iteration(task.body),
                    });
                }
                if task.schedule.covered {
                    self.close();
                }
                self.end_reductions();
            }
            TaskKind::BlockFor { dims, bounds_site, .. } => {
                self.block(task.prelude);
                self.dynamic_arrays(task);
                self.source_line(task.line);
                let loops = self.loops_of(dims, *bounds_site);
                self.grid_stride_loops(
                    dims,
                    &loops,
                    [Helper::Block, Helper::Blocks],
                    &mut |this| {
                        this.block(task.body);
                    },
                );
            }
        }
        self.function_text()
    }

    /// The text of the function, with its signature and parameters.
    fn function_text(self) -> String {
        let kernel = self.kernel;
        let threads = max_block_size(&kernel.tasks[self.task.index()]);
        let signature = format!(
            "extern \"C\" __global__ {}void {}({}) {{",
            self.cx.dialect.block_size_attribute(threads),
            kernel.function_name(self.task),
            match self.cx.passing {
                Passing::Value =>
                    format!("const {}qd_args args", self.cx.dialect.argument_qualifier()),
                Passing::Buffer => "const qd_args* args".to_owned(),
            }
        );
        self.with_parameters(signature)
    }

    /// A function with this signature: it reads the parameters that the printed code uses, and runs that code.
    pub(super) fn with_parameters(self, signature: String) -> String {
        let mut text = signature + "\n";
        text.push_str(&self.blocks.declarations);
        for &part in &self.read_params {
            self.read_param(&mut text, part);
        }
        text + &self.body + "}\n"
    }

    fn source_line(&mut self, line: u32) {
        if line > 0 {
            let file = comment(&self.kernel.file);
            self.line(&format!("// {file}:{line}"));
        }
    }

    pub(super) fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.body.push_str("    ");
        }
        self.body.push_str(text);
        self.body.push('\n');
    }

    /// Prints a directive of the preprocessor.
    pub(super) fn directive(&mut self, text: &str) {
        self.body.push_str(text);
        self.body.push('\n');
    }

    /// Prints the head of a block and indents.
    pub(super) fn open(&mut self, head: &str) {
        self.line(head);
        self.indent += 1;
    }

    /// Prints `} else {` for the innermost open block.
    pub(super) fn otherwise(&mut self) {
        self.reopen("} else {");
    }

    /// Closes the innermost open block and opens another on the same line.
    pub(super) fn reopen(&mut self, head: &str) {
        self.indent -= 1;
        self.open(head);
    }

    pub(super) fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    /// The name of a helper, which is added to the text.
    pub(super) fn helper(&mut self, helper: Helper) -> String {
        self.helpers.insert(helper);
        helper.name()
    }

    /// A unique name for a variable that the printer introduces.
    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        self.names.unique(wanted)
    }

    /// The name of a local. It is chosen at the first use, which is the definition.
    pub(super) fn local(&mut self, id: LocalId) -> String {
        if let Some(name) = self.locals.get(&id) {
            return name.clone();
        }
        let name = self.names.unique(&self.kernel.locals[id].name);
        self.locals.insert(id, name.clone());
        name
    }

    /// Forgets the common subexpressions of the previous statement; their locals may have changed.
    pub(super) fn begin_statement(&mut self) {
        self.shared_values.clear();
    }

    /// A common subexpression: a variable that is defined before the first statement that uses it.
    pub(super) fn shared(&mut self, id: ExprId) -> String {
        if let Some(name) = self.shared_values.get(&id) {
            return name.clone();
        }
        let value = self.compute(id).text;
        let name = self.fresh("shared");
        let ty = self.kernel.exprs[id].ty.name();
        self.line(&format!("const {ty} {name} = {value};"));
        self.shared_values.insert(id, name.clone());
        name
    }

    /// Prints grid-stride loops, so that any grid executes all iterations. The counters start at 0 and have 64 bits, so
    /// that no increment overflows, whatever the bounds are, unless the launch has proven that 32 bits are enough.
    fn grid_stride_loops(
        &mut self,
        dims: &[LoopDim],
        loops: &[PrintedDim],
        [thread_index, size]: [fn(char) -> Helper; 2],
        body: &mut dyn FnMut(&mut Self),
    ) {
        let axes = AXES[loops.len().min(3)];
        for ((printed, dim), &axis) in loops.iter().zip(dims).zip(axes) {
            match self.has_narrow_counters() {
                true => self.open_narrow_loop(printed, dim.var, &thread_index(axis)),
                false => self.open_loop(printed, [thread_index(axis), size(axis)]),
            }
        }
        body(self);
        loops.iter().for_each(|_| self.close());
    }

    /// Prints the version of a loop of several dimensions for launches whose grid covers all iterations, in which all
    /// counts fit into 32 bits: without loops. Then opens the branch for all other launches.
    fn open_covered(&mut self, dims: &[LoopDim], loops: &[PrintedDim], body: BlockId) {
        let axes = AXES[dims.len().min(3)];
        let (mut sizes, mut covered) = (Vec::new(), String::new());
        for (printed, &axis) in loops.iter().zip(axes) {
            sizes.push(format!("gridDim.{axis}"));
            let _ = write!(covered, " && {} <= gridDim.{axis} * blockDim.{axis}", printed.count);
        }
        // A block has at most 2^10 threads, so the number of threads fits into 32 bits.
        self.open(&format!("if (({}) >> 20 == 0u{covered}) {{", sizes.join(" | ")));
        let mut inside = Vec::new();
        let mut counters = Vec::new();
        for ((dim, printed), &axis) in dims.iter().zip(loops).zip(axes) {
            let narrow = self.fresh(&format!("{}_narrow", printed.counter));
            let end = self.fresh(&format!("{}_end", printed.counter));
            self.line(&format!(
                "const u32 {narrow} = blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis};"
            ));
            self.line(&format!("const u32 {end} = (u32){};", printed.count));
            inside.push(format!("{narrow} < {end}"));
            if printed.skipped > 0 {
                inside.push(format!("{narrow} >= {}u", printed.skipped));
            }
            if printed.variable.is_none() && !self.has_narrow_counters() {
                self.narrow_vars.insert(dim.var, narrow.clone());
                self.note_covered_counter(dim.var);
            }
            if let ExprKind::Local(local) = self.kernel.exprs[dim.end].kind
                && printed.count == printed.end
                && !self.kernel.locals[local].mutable
            {
                self.narrow_vars.insert(local, end);
            }
            counters.push(narrow);
        }
        // `do`, because an iteration may end early with `continue`.
        self.open(&format!("if ({}) do {{", inside.join(" && ")));
        for ((printed, narrow), dim) in loops.iter().zip(counters).zip(dims) {
            if self.has_narrow_counters() {
                self.narrow_loop_variable(printed, dim.var, &narrow);
            } else {
                self.line(&format!("const u64 {} = {narrow};", printed.counter));
                self.variable(printed);
            }
        }
        self.blocks.narrow = true;
        let (outer, known) = (self.locals.clone(), self.divisions.clone());
        self.iteration(body);
        (self.locals, self.divisions) = (outer, known);
        self.blocks.narrow = false;
        self.jumps_to_next = false;
        self.narrow_vars.clear();
        self.forget_ranges();
        self.indent -= 1;
        self.line("} while (false);");
        self.otherwise();
    }

    fn loops_of(&mut self, dims: &[LoopDim], bounds_site: Option<SiteId>) -> Vec<PrintedDim> {
        let skipped = self.kernel.tasks[self.task.index()].schedule.skipped;
        let print = |(at, dim)| {
            let is_innermost = at + 1 == dims.len();
            self.print_dim(dim, if is_innermost { skipped } else { 0 })
        };
        let loops: Vec<_> = dims.iter().enumerate().map(print).collect();
        if let Some(site) = bounds_site {
            self.check_device_bounds(dims, &loops, site);
        }
        loops
    }

    /// Opens a loop with a 32-bit counter. The counter does not overflow, because it is at most 2^30, and the number of
    /// threads less than a block more.
    pub(super) fn open_narrow_loop(
        &mut self,
        printed: &PrintedDim,
        var: LocalId,
        thread_index: &Helper,
    ) {
        let (first, step) = match thread_index {
            Helper::Block(axis) => (format!("blockIdx.{axis}"), format!("gridDim.{axis}")),
            Helper::Thread(axis) => (
                format!("blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}"),
                format!("gridDim.{axis} * blockDim.{axis}"),
            ),
            _ => return,
        };
        let counter = self.fresh(&format!("{}_narrow", printed.counter));
        let end = self.fresh(&format!("{}_end", printed.counter));
        self.line(&format!("const u32 {end} = (u32){};", printed.count));
        self.open(&format!(
            "for (u32 {counter} = {first}; {counter} < {end}; {counter} += {step}) {{"
        ));
        self.skip(printed, &counter);
        self.narrow_loop_variable(printed, var, &counter);
    }

    /// Defines the variable of a loop, of type `i32`.
    pub(super) fn narrow_loop_variable(
        &mut self,
        printed: &PrintedDim,
        var: LocalId,
        counter: &str,
    ) {
        let name = match &printed.variable {
            Some((_, name)) => name,
            None => &printed.counter,
        };
        self.narrow_variable(printed, var, name, counter);
    }

    /// Defines a variable of type `i32` for the value of a loop variable.
    pub(super) fn narrow_variable(
        &mut self,
        printed: &PrintedDim,
        var: LocalId,
        name: &str,
        counter: &str,
    ) {
        let first = match printed.from_zero {
            true => String::new(),
            false => format!("(i32){} + ", printed.begin),
        };
        let counter = match counter.contains(' ') {
            true => format!("({counter})"),
            false => counter.to_owned(),
        };
        self.line(&format!("const i32 {name} = {first}(i32){counter};"));
        self.narrow_counters.insert(var, name.to_owned());
        self.note_narrow_counter(var);
    }

    /// Skips the iterations before the begin, in the loop with this counter.
    fn skip(&mut self, printed: &PrintedDim, counter: &str) {
        if printed.skipped > 0 {
            self.line(&format!("if ({counter} < {}u) continue;", printed.skipped));
        }
    }

    pub(super) fn open_loop(&mut self, printed: &PrintedDim, [thread_index, size]: [Helper; 2]) {
        let (counter, count) = (&printed.counter, &printed.count);
        let (thread_index, size) = (self.helper(thread_index), self.helper(size));
        self.open(&format!(
            "for (u64 {counter} = {thread_index}(); {counter} < {count}; {counter} += {size}()) {{"
        ));
        self.skip(printed, counter);
        self.variable(printed);
    }

    /// Defines the loop variable, unless it is the counter itself.
    pub(super) fn variable(&mut self, printed: &PrintedDim) {
        if let Some((ty, name)) = &printed.variable {
            let value = printed.value(&printed.counter);
            self.line(&format!("const {ty} {name} = {value};"));
        }
    }

    /// If a bound computed on the device exceeds the maximum, reports it and runs no iteration. 32-bit types have no
    /// such values.
    fn check_device_bounds(&mut self, dims: &[LoopDim], loops: &[PrintedDim], site: SiteId) {
        let mut beyond = Vec::new();
        for (dim, printed) in dims.iter().zip(loops) {
            let ty = self.kernel.locals[dim.var].ty;
            if ty.size() == 8 {
                beyond.push(format!("{} > {}", printed.end, consts::int(ty, MAX_BOUND)));
            }
            if ty == ScalarType::I64 {
                beyond.push(format!("{} < {}", printed.begin, consts::int(ty, -MAX_BOUND)));
            }
        }
        let counts: Vec<String> = loops.iter().map(|printed| printed.count.clone()).collect();
        if counts.len() > 1 {
            // An outer loop may be endless even if this one has no iterations.
            let none: Vec<String> = counts.iter().map(|count| format!("{count} == 0ull")).collect();
            self.line(&format!("if ({}) return;", none.join(" || ")));
        }
        if beyond.is_empty() {
            return;
        }
        let some: String = counts.iter().map(|count| format!("{count} > 0ull && ")).collect();
        self.open(&format!("if ({some}({})) {{", beyond.join(" || ")));
        let report = self.report(site, &counts);
        self.line(&report);
        self.line("return;");
        self.close();
    }

    /// Prints the body of an iteration or of a phase.
    pub(super) fn iteration(&mut self, body: BlockId) {
        self.ending(|this| this.block(body));
    }

    /// Prints a label at the end if `inner` jumps there. `inner` is in braces, because a jump must not skip a
    /// definition in the same scope.
    pub(super) fn ending(&mut self, inner: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.body);
        inner(self);
        let printed = std::mem::replace(&mut self.body, before);
        if !self.jumps_to_next {
            self.body.push_str(&printed);
            return;
        }
        self.line("{");
        for line in printed.lines() {
            self.body.push_str("    ");
            self.body.push_str(line);
            self.body.push('\n');
        }
        self.line("}");
        let label = self.blocks.label();
        self.line(&format!("{label}:;"));
    }

    /// `skipped` iterations before the begin, a constant, belong to the loop.
    fn print_dim(&mut self, dim: &LoopDim, skipped: u32) -> PrintedDim {
        let ty = self.kernel.locals[dim.var].ty;
        let name = self.local(dim.var);
        self.begin_statement();
        let mut begin = self.bound_value(dim.begin, &format!("{name}_begin"));
        if let (Some(first), 1..) = (&mut begin.constant, skipped) {
            *first -= i128::from(skipped);
            begin.text = consts::int(ty, *first);
        }
        let end = self.bound_value(dim.end, &format!("{name}_end"));
        let from_zero = begin.constant == Some(0);
        if from_zero && ty == ScalarType::U64 {
            let (begin, count, end) = (begin.text, end.text.clone(), end.text);
            let counter = name;
            return PrintedDim {
                counter,
                begin,
                end,
                count,
                ty,
                from_zero,
                variable: None,
                skipped,
            };
        }
        let wide = |text: &str| match ty {
            ScalarType::U64 => text.to_owned(),
            _ => format!("(u64){text}"),
        };
        let (low, high) = (&begin.text, &end.text);
        let count = match (begin.constant, end.constant) {
            (Some(low), Some(high)) => consts::int(ScalarType::U64, (high - low).max(0)),
            _ => {
                let difference = match from_zero {
                    true => wide(high),
                    false => format!("{} - {}", wide(high), wide(low)),
                };
                let count = self.fresh(&format!("{name}_count"));
                self.line(&match from_zero && !ty.is_wide_signed_int() {
                    true => format!("const u64 {count} = {difference};"),
                    false => format!("const u64 {count} = {high} > {low} ? {difference} : 0ull;"),
                });
                count
            }
        };
        let counter = self.fresh(&format!("{name}_n"));
        let variable = Some((ty.name(), name));
        let (begin, end) = (begin.text, end.text);
        PrintedDim { counter, begin, end, count, ty, from_zero, variable, skipped }
    }

    /// The value of a loop bound before the loop. If it may change in the loop, it is stored in a variable called
    /// `wanted`.
    pub(super) fn bound_value(&mut self, id: ExprId, wanted: &str) -> BoundValue {
        let kernel = self.kernel;
        match &kernel.exprs[id].kind {
            ExprKind::Const(value) => {
                BoundValue { text: self.value(id).at(Precedence::Unary), constant: value.as_int() }
            }
            ExprKind::Local(local) if kernel.locals[*local].mutable => {
                BoundValue { text: self.store_in_variable(id, wanted), constant: None }
            }
            _ => BoundValue { text: self.atom(id, wanted), constant: None },
        }
    }

    /// A value that is used more than once: stored in a variable unless it is a name or literal.
    pub(super) fn atom(&mut self, id: ExprId, wanted: &str) -> String {
        if let Some(name) = self.joint_atoms.as_ref().and_then(|atoms| atoms.get(&id)) {
            return name.clone();
        }
        let value = self.value(id);
        let constant = matches!(self.kernel.exprs[id].kind, ExprKind::Const(_));
        if constant || value.is_atom() {
            value.at(Precedence::Unary)
        } else {
            let name = self.store_in_variable(id, wanted);
            if let Some(atoms) = &mut self.joint_atoms {
                atoms.insert(id, name.clone());
            }
            name
        }
    }

    fn store_in_variable(&mut self, id: ExprId, wanted: &str) -> String {
        let value = self.expr(id);
        let name = self.fresh(wanted);
        let ty = self.kernel.exprs[id].ty.name();
        self.line(&format!("const {ty} {name} = {value};"));
        name
    }
}

/// A dimension of a parallel loop, with its bounds printed.
pub(super) struct PrintedDim {
    pub(super) counter: String,
    begin: String,
    end: String,
    pub(super) count: String,
    ty: ScalarType,
    from_zero: bool,
    /// The type and name of the loop variable; none if it is the counter itself.
    variable: Option<(&'static str, String)>,
    /// The number of iterations that are [skipped](quadrants_ir::schedule::TaskSchedule::skipped). `begin` and `count`
    /// include them.
    skipped: u32,
}

impl PrintedDim {
    /// The value of the loop variable for this counter.
    pub(super) fn value(&self, counter: &str) -> String {
        let (ty, low) = (self.ty.name(), &self.begin);
        match (self.ty, self.from_zero) {
            (ScalarType::U64, true) => counter.to_owned(),
            (ScalarType::U64, false) => format!("{low} + {counter}"),
            (_, true) if counter.contains(' ') => format!("({ty})({counter})"),
            (_, true) => format!("({ty}){counter}"),
            (_, false) => format!("({ty})((u64){low} + {counter})"),
        }
    }
}

pub(super) struct BoundValue {
    pub(super) text: String,
    pub(super) constant: Option<i128>,
}

/// Makes a text safe for a line comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
