//! One task as one device function: its frame, its grid-stride loops, and what its body names.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
};

use quadrants_ir::{
    BlockId, Coarsening, ExprId, ExprKind, LocalId, LoopDim, Offloaded, ParamId, ParamKind,
    ScalarType, SiteId, TaskId, TaskKind,
    abi::{Form, MAX_BOUND, Passing},
};

use super::{
    blocks::Blocks,
    consts,
    expr::Level,
    helpers::Helper,
    names::{Names, ParamNames},
    privatize::Scatter,
    reduce::Reduction,
    types,
};
use crate::Dialect;

/// The grid axis of each dimension of a parallel loop, outermost first.
pub(super) const AXES: [&[char]; 4] = [&[], &['x'], &['y', 'x'], &['z', 'y', 'x']];

/// What printing any task of a kernel needs.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) kernel: &'a Offloaded,
    pub(super) dialect: &'a dyn Dialect,
    pub(super) form: Form,
    pub(super) passing: Passing,
    pub(super) params: &'a [ParamNames],
    pub(super) shared: &'a [bool],
}

/// Prints one task.
pub(super) struct TaskPrinter<'a> {
    pub(super) kernel: &'a Offloaded,
    pub(super) cx: Context<'a>,
    pub(super) task: TaskId,
    helpers: &'a mut BTreeSet<Helper>,
    names: Names,
    pub(super) locals: HashMap<LocalId, String>,
    /// The loop variables that are another local and some more.
    pub(super) neighbours: HashMap<LocalId, (String, i64)>,
    /// What holds an index, or a loop's end, in 32 bits.
    pub(super) narrow: HashMap<LocalId, String>,
    bound: BTreeSet<Binding>,
    /// The locals that hold shared expressions, within the statement that is being printed.
    kept: HashMap<ExprId, String>,
    body: String,
    indent: usize,
    /// How many serial loops are open.
    pub(super) loops: u32,
    /// Whether something jumps to the end of the iteration.
    pub(super) jumps_to_next: bool,
    /// What the loop's iterations combine into one element each.
    pub(super) reductions: Vec<Reduction>,
    /// What they scatter into a tensor: at most one.
    pub(super) scatters: Vec<Scatter>,
    /// What notes an index out of range in place of reports.
    pub(super) quiet: Option<String>,
    /// Whether what is scattered goes to the block's copies or to the tensor, where that was asked before.
    pub(super) near: Option<bool>,
    /// Elements that were read before, by what reads them.
    pub(super) given: HashMap<ExprId, String>,
    /// What belongs to the blocks of threads that the task runs.
    pub(super) blocks: Blocks,
}

/// A part of a parameter that the function reads into a local of its own: it is read once, and its
/// name in the text is the source's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Value(ParamId),
    Dim(ParamId, u8),
    /// The first or second of a component's strides.
    Stride(ParamId, bool),
}

impl<'a> TaskPrinter<'a> {
    pub(super) fn new(
        cx: Context<'a>,
        task: TaskId,
        names: Names,
        helpers: &'a mut BTreeSet<Helper>,
    ) -> Self {
        Self {
            kernel: cx.kernel,
            cx,
            task,
            helpers,
            names,
            locals: HashMap::new(),
            neighbours: HashMap::new(),
            narrow: HashMap::new(),
            bound: BTreeSet::new(),
            kept: HashMap::new(),
            body: String::new(),
            indent: 1,
            loops: 0,
            jumps_to_next: false,
            reductions: Vec::new(),
            scatters: Vec::new(),
            quiet: None,
            near: None,
            given: HashMap::new(),
            blocks: Blocks::default(),
        }
    }

    /// The function's definition.
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
            TaskKind::RangeFor { dims, on_device, .. } => {
                self.block(task.prelude);
                self.begin_reductions(task);
                self.source_line(task.line);
                let batch = Coarsening::of(kernel, task, self.cx.form);
                if batch.lanes > 1 {
                    let loops = self.loops_of(dims, *on_device);
                    self.in_batches(dims, &loops, batch, task.body);
                    self.end_reductions();
                    return self.finished();
                }
                if dims.len() > 1 && self.cx.form == Form::Proven {
                    self.narrowed(dims, *on_device, task.body);
                    self.end_reductions();
                    return self.finished();
                }
                let inside = self.interior(dims);
                self.parallel(dims, *on_device, [Helper::Thread, Helper::Threads], &mut |this| {
                    match &inside {
                        Some(inside) => this.split(inside, task.body),
                        None => this.iteration(task.body),
                    }
                });
                self.end_reductions();
            }
            TaskKind::BlockFor { dims, on_device, .. } => {
                self.block(task.prelude);
                self.source_line(task.line);
                self.parallel(dims, *on_device, [Helper::Block, Helper::Blocks], &mut |this| {
                    this.block(task.body);
                });
            }
        }
        self.finished()
    }

    /// The function with what was printed as its body.
    fn finished(self) -> String {
        let kernel = self.kernel;
        let mut text = format!(
            "extern \"C\" __global__ void {}({}) {{\n",
            kernel.function_name(self.task),
            match self.cx.passing {
                Passing::Value => format!("const {}qd_args args", self.cx.dialect.by_value()),
                Passing::Buffer => "const qd_args* args".to_owned(),
            }
        );
        text.push_str(&self.blocks.declarations);
        for &binding in &self.bound {
            self.bind(&mut text, binding);
        }
        text + &self.body + "}\n"
    }

    fn source_line(&mut self, line: u32) {
        if line > 0 {
            let file = comment(&self.kernel.file);
            self.line(&format!("// {file}:{line}"));
        }
    }

    /// Appends a line at the current depth.
    pub(super) fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.body.push_str("    ");
        }
        self.body.push_str(text);
        self.body.push('\n');
    }

    /// Prints `inner` one level deeper.
    pub(super) fn indented(&mut self, inner: impl FnOnce(&mut Self)) {
        self.indent += 1;
        inner(self);
        self.indent -= 1;
    }

    /// The head of something whose inside is one level deeper.
    pub(super) fn open(&mut self, head: &str) {
        self.line(head);
        self.indent += 1;
    }

    /// The head of what stands beside what was opened last, in whose place it is open now.
    pub(super) fn otherwise(&mut self) {
        self.indent -= 1;
        self.open("} else {");
    }

    /// The end of what was opened last.
    pub(super) fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    /// The name of a helper, which will be printed.
    pub(super) fn helper(&mut self, helper: Helper) -> String {
        self.helpers.insert(helper);
        helper.name()
    }

    /// A name for something that the printer adds.
    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        self.names.unique(wanted)
    }

    /// The name of a local, chosen where it is first met: at its definition.
    pub(super) fn local(&mut self, id: LocalId) -> String {
        if let Some(name) = self.locals.get(&id) {
            return name.clone();
        }
        let name = self.names.unique(&self.kernel.locals[id].name);
        self.locals.insert(id, name.clone());
        name
    }

    /// Forgets the shared expressions of the statement before: a local in them may have changed.
    pub(super) fn begin_statement(&mut self) {
        self.kept.clear();
    }

    /// A shared expression, in a local that the statement's first use of it defines.
    pub(super) fn shared(&mut self, id: ExprId) -> String {
        if let Some(name) = self.kept.get(&id) {
            return name.clone();
        }
        let value = self.compute(id).text;
        let name = self.fresh("shared");
        let ty = types::name(self.kernel.exprs[id].ty);
        self.line(&format!("const {ty} {name} = {value};"));
        self.kept.insert(id, name.clone());
        name
    }

    /// A scalar parameter's value, or a tensor's address.
    pub(super) fn param(&mut self, id: ParamId) -> String {
        self.bound.insert(Binding::Value(id));
        self.cx.params[id.index()].value.clone()
    }

    /// A tensor's extent.
    pub(super) fn dim(&mut self, tensor: ParamId, axis: u8) -> String {
        self.bound.insert(Binding::Dim(tensor, axis));
        self.cx.params[tensor.index()].dims[usize::from(axis)].clone()
    }

    /// The distance from one element to the next of a component; none of a tensor of scalars.
    pub(super) fn step(&mut self, tensor: ParamId) -> Option<String> {
        self.stride(tensor, false)
    }

    /// The distance from one scalar of an element to the next.
    pub(super) fn plane(&mut self, tensor: ParamId) -> Option<String> {
        self.stride(tensor, true)
    }

    fn stride(&mut self, tensor: ParamId, second: bool) -> Option<String> {
        let [step, plane] = self.cx.params[tensor.index()].strides.clone()?;
        self.bound.insert(Binding::Stride(tensor, second));
        Some(if second { plane } else { step })
    }

    /// A word of the launch's scratch memory.
    pub(super) fn scratch(&self, word: usize) -> String {
        self.argument(&format!("qd_scratch[{word}]"))
    }

    /// A field of the argument block.
    pub(super) fn argument(&self, field: &str) -> String {
        match self.cx.passing {
            Passing::Value => format!("args.{field}"),
            Passing::Buffer => format!("args->{field}"),
        }
    }

    fn bind(&self, text: &mut String, binding: Binding) {
        let (ty, name) = match binding {
            Binding::Dim(tensor, axis) => {
                ("const u64".to_owned(), &self.cx.params[tensor.index()].dims[usize::from(axis)])
            }
            Binding::Stride(tensor, second) => {
                let Some([step, plane]) = &self.cx.params[tensor.index()].strides else { return };
                ("const u64".to_owned(), if second { plane } else { step })
            }
            Binding::Value(id) => {
                let ty = match self.kernel.params[id.index()].kind {
                    ParamKind::Scalar(ty) => format!("const {}", types::name(ty)),
                    ParamKind::Tensor { elem, writable, .. }
                    | ParamKind::Component { elem, writable, .. } => {
                        format!("{} const", pointer(elem, writable))
                    }
                };
                (ty, &self.cx.params[id.index()].value)
            }
        };
        let _ = writeln!(text, "    {ty} {name} = {};", self.argument(name));
    }

    /// The loops of a task: each thread starts at its own place in the grid and goes on in steps of
    /// the grid's size, so that any grid runs all iterations. Counting from 0 in 64 bits, no sum
    /// leaves its type before the loop ends, whatever the bounds are.
    fn parallel(
        &mut self,
        dims: &[LoopDim],
        on_device: Option<SiteId>,
        [place, size]: [fn(char) -> Helper; 2],
        body: &mut dyn FnMut(&mut Self),
    ) {
        let axes = AXES[dims.len().min(3)];
        let loops = self.loops_of(dims, on_device);
        for (bounds, &axis) in loops.iter().zip(axes) {
            self.open_loop(bounds, [place(axis), size(axis)]);
        }
        body(self);
        for _ in dims {
            self.close();
        }
    }

    /// The loops of a task of several dimensions, twice: where each thread has one iteration at most and all counts have 32
    /// bits, as of most launches, there are no loops, and what is computed of an index is so of 32 bits.
    fn narrowed(&mut self, dims: &[LoopDim], on_device: Option<SiteId>, body: BlockId) {
        let axes = AXES[dims.len().min(3)];
        let loops = self.loops_of(dims, on_device);
        let (mut sizes, mut covered) = (Vec::new(), String::new());
        for (bounds, &axis) in loops.iter().zip(axes) {
            sizes.push(format!("gridDim.{axis}"));
            let _ = write!(covered, " && {} <= gridDim.{axis} * blockDim.{axis}", bounds.count);
        }
        // A block has 2^10 threads at most, so that 32 bits hold the grid's.
        self.open(&format!("if (({}) >> 20 == 0u{covered}) {{", sizes.join(" | ")));
        let mut inside = Vec::new();
        let mut counters = Vec::new();
        for ((dim, bounds), &axis) in dims.iter().zip(&loops).zip(axes) {
            let narrow = self.fresh(&format!("{}_narrow", bounds.counter));
            let end = self.fresh(&format!("{}_end", bounds.counter));
            self.line(&format!(
                "const u32 {narrow} = blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis};"
            ));
            self.line(&format!("const u32 {end} = (u32){};", bounds.count));
            inside.push(format!("{narrow} < {end}"));
            if bounds.variable.is_none() {
                self.narrow.insert(dim.var, narrow.clone());
            }
            if let ExprKind::Local(local) = self.kernel.exprs[dim.end].kind
                && bounds.count == bounds.end
                && !self.kernel.locals[local].mutable
            {
                self.narrow.insert(local, end);
            }
            counters.push(narrow);
        }
        // An iteration may end early.
        self.open(&format!("if ({}) do {{", inside.join(" && ")));
        for (bounds, narrow) in loops.iter().zip(counters) {
            self.line(&format!("const u64 {} = {narrow};", bounds.counter));
            self.variable(bounds);
        }
        self.blocks.narrow = true;
        self.iteration(body);
        self.blocks.narrow = false;
        self.jumps_to_next = false;
        self.narrow.clear();
        self.indent -= 1;
        self.line("} while (false);");
        self.otherwise();
        for (bounds, &axis) in loops.iter().zip(axes) {
            self.open_loop(bounds, [Helper::Thread(axis), Helper::Threads(axis)]);
        }
        self.iteration(body);
        for _ in dims {
            self.close();
        }
        self.close();
    }

    /// The bounds of all dimensions, ready to print.
    fn loops_of(&mut self, dims: &[LoopDim], on_device: Option<SiteId>) -> Vec<Bounds> {
        let loops: Vec<_> = dims.iter().map(|dim| self.bounds(dim)).collect();
        if let Some(site) = on_device {
            self.refuse_wrapped(dims, &loops, site);
        }
        loops
    }

    /// The head of a dimension's loop; what follows is one level deeper.
    pub(super) fn open_loop(&mut self, bounds: &Bounds, [place, size]: [Helper; 2]) {
        let (counter, count) = (&bounds.counter, &bounds.count);
        let (place, size) = (self.helper(place), self.helper(size));
        self.open(&format!(
            "for (u64 {counter} = {place}(); {counter} < {count}; {counter} += {size}()) {{"
        ));
        self.variable(bounds);
    }

    /// The definition of the loop's variable, where it is not its counter.
    pub(super) fn variable(&mut self, bounds: &Bounds) {
        if let Some((ty, name)) = &bounds.variable {
            let value = bounds.value(&bounds.counter);
            self.line(&format!("const {ty} {name} = {value};"));
        }
    }

    /// Reports bounds that only the device knows and that are beyond what any loop has, and runs
    /// nothing then. Types of 32 bits have no such values.
    fn refuse_wrapped(&mut self, dims: &[LoopDim], loops: &[Bounds], site: SiteId) {
        let mut beyond = Vec::new();
        for (dim, bounds) in dims.iter().zip(loops) {
            let ty = self.kernel.locals[dim.var].ty;
            if ty.size() == 8 {
                beyond.push(format!("{} > {}", bounds.end, consts::int(ty, MAX_BOUND)));
            }
            if ty == ScalarType::I64 {
                beyond.push(format!("{} < {}", bounds.begin, consts::int(ty, -MAX_BOUND)));
            }
        }
        let counts: Vec<String> = loops.iter().map(|bounds| bounds.count.clone()).collect();
        if counts.len() > 1 {
            // A loop without iterations of its own may have another around it that has no end.
            let none: Vec<String> = counts.iter().map(|count| format!("{count} == 0ull")).collect();
            self.line(&format!("if ({}) return;", none.join(" || ")));
        }
        if beyond.is_empty() {
            return;
        }
        let some: String = counts.iter().map(|count| format!("{count} > 0ull && ")).collect();
        self.line(&format!("if ({some}({})) {{", beyond.join(" || ")));
        self.indented(|this| {
            let report = this.report(site, &counts);
            this.line(&report);
            this.line("return;");
        });
        self.line("}");
    }

    /// The body of one iteration, or of a phase.
    pub(super) fn iteration(&mut self, body: BlockId) {
        self.ending(|this| this.block(body));
    }

    /// A jump to the end of what `inner` prints must not pass a definition within its scope.
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

    fn bounds(&mut self, dim: &LoopDim) -> Bounds {
        let ty = self.kernel.locals[dim.var].ty;
        let name = self.local(dim.var);
        self.begin_statement();
        let begin = self.bound_value(dim.begin, &format!("{name}_begin"));
        let end = self.bound_value(dim.end, &format!("{name}_end"));
        let from_zero = begin.constant == Some(0);
        if from_zero && ty == ScalarType::U64 {
            let (begin, count, end) = (begin.text, end.text.clone(), end.text);
            return Bounds { counter: name, begin, end, count, ty, from_zero, variable: None };
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
                self.line(&match from_zero && !ty.is_signed_int() {
                    true => format!("const u64 {count} = {difference};"),
                    false => format!("const u64 {count} = {high} > {low} ? {difference} : 0ull;"),
                });
                count
            }
        };
        let counter = self.fresh(&format!("{name}_n"));
        let variable = Some((types::name(ty), name));
        Bounds { counter, begin: begin.text, end: end.text, count, ty, from_zero, variable }
    }

    /// A loop's bound, as it is before the loop: what may change under way is kept in a local of the
    /// name `wanted`.
    pub(super) fn bound_value(&mut self, id: ExprId, wanted: &str) -> BoundValue {
        let kernel = self.kernel;
        match &kernel.exprs[id].kind {
            ExprKind::Const(value) => {
                BoundValue { text: self.value(id).at(Level::Unary), constant: value.as_int() }
            }
            ExprKind::Local(local) if kernel.locals[*local].mutable => {
                BoundValue { text: self.keep(id, wanted), constant: None }
            }
            _ => BoundValue { text: self.atom(id, wanted), constant: None },
        }
    }

    /// A value that is used more than once, in a local of its own where it is more than a name.
    pub(super) fn atom(&mut self, id: ExprId, wanted: &str) -> String {
        let value = self.value(id);
        let constant = matches!(self.kernel.exprs[id].kind, ExprKind::Const(_));
        if constant || value.is_atom() { value.at(Level::Unary) } else { self.keep(id, wanted) }
    }

    fn keep(&mut self, id: ExprId, wanted: &str) -> String {
        let value = self.expr(id);
        let name = self.fresh(wanted);
        let ty = types::name(self.kernel.exprs[id].ty);
        self.line(&format!("const {ty} {name} = {value};"));
        name
    }
}

/// One dimension of a parallel loop, ready to print.
pub(super) struct Bounds {
    pub(super) counter: String,
    begin: String,
    end: String,
    pub(super) count: String,
    ty: ScalarType,
    from_zero: bool,
    /// Type and name of the loop variable; none where it is the counter itself.
    variable: Option<(&'static str, String)>,
}

impl Bounds {
    /// The loop variable's value in the iteration with that counter.
    pub(super) fn value(&self, counter: &str) -> String {
        let (ty, low) = (types::name(self.ty), &self.begin);
        match (self.ty, self.from_zero) {
            (ScalarType::U64, true) => counter.to_owned(),
            (ScalarType::U64, false) => format!("{low} + {counter}"),
            (_, true) if counter.contains(' ') => format!("({ty})({counter})"),
            (_, true) => format!("({ty}){counter}"),
            (_, false) => format!("({ty})((u64){low} + {counter})"),
        }
    }
}

/// A loop bound.
pub(super) struct BoundValue {
    pub(super) text: String,
    pub(super) constant: Option<i128>,
}

/// The type of a tensor's address.
pub(super) fn pointer(elem: ScalarType, writable: bool) -> String {
    format!("{}{}*", if writable { "" } else { "const " }, types::element(elem))
}

/// Text that can stand in a line comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
