//! The IR as readable text: one statement per line and minimal parentheses. Locals are printed as `%number.name`,
//! because names are not unique.

use std::fmt::{self, Display, Formatter};

use crate::{
    Array, Assertion, BlockCollective, BlockId, DivRemOp, Element, ExprId, ExprKind, Kernel, Local,
    LocalId, LoopDim, Offloaded, Param, ParamAccess, ParamId, ParamKind, ScalarType, SharedExtent,
    SiteId, SiteKind, Stmt, Task, TaskKind, TopStmt, UnaryOp, schedule::TaskSchedule, visit::Nodes,
};

struct Printer<'k> {
    nodes: Nodes<'k>,
    out: String,
    indent: usize,
}

/// The text of a kernel.
#[must_use]
pub fn print(kernel: &Kernel) -> String {
    let mut printer = Printer { nodes: kernel.into(), out: String::new(), indent: 0 };
    printer.head("kernel", &kernel.name, &kernel.params, &kernel.results);
    printer.top(&kernel.body);
    printer.close();
    printer.out
}

impl Display for Offloaded {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut printer = Printer { nodes: self.into(), out: String::new(), indent: 0 };
        printer.head("offloaded", &self.name, &self.params, &self.results);
        for (i, ty) in self.temps.iter().enumerate() {
            printer.line(&format!("temp t{i}: {ty}"));
        }
        for (id, task) in self.tasks() {
            printer.task(id.index(), task);
        }
        printer.close();
        f.write_str(&printer.out)
    }
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn open(&mut self, text: &str) {
        self.line(&format!("{text} {{"));
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    fn head(&mut self, what: &str, name: &str, params: &[Param], results: &[ScalarType]) {
        let params: Vec<String> = params.iter().map(param).collect();
        let types: Vec<String> = results.iter().map(ToString::to_string).collect();
        let result = match &types[..] {
            [] => String::new(),
            [ty] => format!(" -> {ty}"),
            types => format!(" -> ({})", types.join(", ")),
        };
        self.open(&format!("{what} {name}({}){result}", params.join(", ")));
    }

    fn top(&mut self, body: &[TopStmt]) {
        for stmt in body {
            match stmt {
                TopStmt::Serial(block) => self.nested("serial", *block),
                TopStmt::ParallelFor(parallel) => {
                    let size = block_size_of(parallel.block_size);
                    let text = format!("parallel for {}{size}", self.dims(&parallel.dims));
                    self.nested(&text, parallel.body);
                }
                TopStmt::BlockFor(each) => {
                    let text = format!("blocks {} of {}", self.dims(&each.dims), each.threads);
                    self.nested(&text, each.body);
                }
                TopStmt::RegionBlock { region_block, body } => {
                    self.open(&format!("group {}", region_block.raw()));
                    self.top(body);
                    self.close();
                }
                TopStmt::Return(values) => {
                    let values: Vec<String> = values.iter().map(|at| self.expr(*at)).collect();
                    self.line(&format!("return {}", values.join(", ")));
                }
            }
        }
    }

    fn task(&mut self, at: usize, task: &Task) {
        let block = match task.region_block.raw() {
            0 => String::new(),
            number => format!(" group {number}"),
        };
        let accesses: Vec<String> = task.accesses.iter().map(|a| self.access(*a)).collect();
        let accesses = match accesses.join(", ") {
            list if list.is_empty() => list,
            list => format!(" [{list}]"),
        };
        self.open(&format!("task {at}{block}{accesses}"));
        if task.schedule != TaskSchedule::default() {
            for line in task.schedule.lines(self.nodes) {
                self.line(&format!("schedule: {line}"));
            }
        }
        self.block(task.prelude);
        match &task.kind {
            TaskKind::Serial => self.nested("serial", task.body),
            TaskKind::RangeFor { dims, bounds_site, block_size } => {
                let device_bounds =
                    if bounds_site.is_some() { ", bounds on the device" } else { "" };
                let size = block_size_of(*block_size);
                let text = format!("parallel for {}{device_bounds}{size}", self.dims(dims));
                self.nested(&text, task.body);
            }
            TaskKind::BlockFor { dims, bounds_site, threads } => {
                let device_bounds =
                    if bounds_site.is_some() { ", bounds on the device," } else { "" };
                let text = format!("blocks {}{device_bounds} of {threads}", self.dims(dims));
                self.nested(&text, task.body);
            }
        }
        self.close();
    }

    fn access(&self, access: ParamAccess) -> String {
        let mut text = self.param(access.param);
        for (does, word) in
            [(access.read, " read"), (access.write, " write"), (access.atomic, " atomic")]
        {
            text.push_str(if does { word } else { "" });
        }
        text
    }

    fn dims(&self, dims: &[LoopDim]) -> String {
        let text = |dim: &LoopDim| {
            let (begin, end) = (self.operand(dim.begin), self.operand(dim.end));
            format!("{} in {begin}..{end}", self.local(dim.var))
        };
        dims.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    fn nested(&mut self, text: &str, block: BlockId) {
        self.open(text);
        self.block(block);
        self.close();
    }

    fn block(&mut self, block: BlockId) {
        self.nodes.blocks[block].stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { local, value } => {
                let Local { ty, mutable, .. } = self.nodes.locals[*local];
                let word = if mutable { "let mut" } else { "let" };
                let (local, value) = (self.local(*local), self.expr(*value));
                self.line(&format!("{word} {local}: {ty} = {value}"));
            }
            Stmt::Assign { local, value } => {
                self.line(&format!("{} = {}", self.local(*local), self.expr(*value)));
            }
            Stmt::Eval { value } => self.line(&self.expr(*value)),
            Stmt::Store { element, value } => {
                self.line(&format!("{} = {}", self.element(element), self.expr(*value)));
            }
            Stmt::If { cond, then, otherwise } => {
                self.nested(&format!("if {}", self.expr(*cond)), *then);
                if !self.nodes.blocks[*otherwise].stmts.is_empty() {
                    self.nested("else", *otherwise);
                }
            }
            Stmt::For { var, begin, end, body, unroll, down } => {
                let dim = LoopDim { var: *var, begin: *begin, end: *end };
                let unroll = match unroll {
                    Some(0) => " unroll".to_owned(),
                    Some(times) => format!(" unroll {times}"),
                    None => String::new(),
                };
                let down = if *down { " down" } else { "" };
                self.nested(&format!("for{unroll}{down} {}", self.dims(&[dim])), *body);
            }
            Stmt::Loop { body } => self.nested("loop", *body),
            Stmt::Shared { array, dims, scalars } => {
                let ty = self.nodes.locals[*array].ty.to_string();
                let ty = match scalars {
                    Some(scalars) => format!("[{ty}; {scalars}]"),
                    None => ty,
                };
                let extent = |dim: &SharedExtent| match *dim {
                    SharedExtent::Constant(number) => number.to_string(),
                    SharedExtent::Local(local) => self.local(local),
                };
                let dims: Vec<String> = dims.iter().map(extent).collect();
                let dims = dims.join(", ");
                self.line(&format!("shared {}: [{ty}; {dims}]", self.local(*array)));
            }
            Stmt::Phase { var, body, collective } => {
                let result =
                    collective.map_or_else(String::new, |BlockCollective { op, local }| {
                        let ty = self.nodes.locals[local].ty;
                        format!("{}: {ty} = {} of ", self.local(local), op.name())
                    });
                self.nested(&format!("{result}phase {}", self.local(*var)), *body);
            }
            Stmt::CollectiveInput { value, from } => {
                let from = from.map_or_else(String::new, |at| format!(" from {}", self.expr(at)));
                self.line(&format!("input {}{from}", self.expr(*value)));
            }
            Stmt::Break => self.line("break"),
            Stmt::Continue => self.line("continue"),
            Stmt::Array { array, len } => {
                let ty = self.nodes.locals[*array].ty;
                self.line(&format!("array {}: [{ty}; {len}]", self.local(*array)));
            }
            Stmt::Assert { cond, site, values } => {
                let mut values: Vec<String> =
                    values.iter().map(|value| self.expr(*value)).collect();
                values.insert(0, self.expr(*cond));
                self.line(&format!("assert {}{}", values.join(", "), self.message(*site)));
            }
            Stmt::Print { site, values } => {
                let values: Vec<String> = values.iter().map(|value| self.expr(*value)).collect();
                self.line(&format!("print {}{}", values.join(", "), self.message(*site)));
            }
            Stmt::Reduce { local, op, value } => {
                let (name, value) = (self.local(*local), self.expr(*value));
                self.line(&format!("{}({name}, {value})", op.name()));
            }
            Stmt::ReduceTemp { temp, op, value } => {
                self.line(&format!("{}({temp:?}, {})", op.name(), self.expr(*value)));
            }
            Stmt::SetTemp { temp, value } => {
                self.line(&format!("{temp:?} = {}", self.expr(*value)));
            }
            Stmt::SetResult { at: 0, value } => {
                self.line(&format!("result = {}", self.expr(*value)));
            }
            Stmt::SetResult { at, value } => {
                self.line(&format!("result.{at} = {}", self.expr(*value)));
            }
        }
    }

    fn message(&self, site: SiteId) -> String {
        match &self.nodes.sites[site.index()].kind {
            SiteKind::ArrayIndex { name, shape } => format!(", index of {name}: {shape:?}"),
            SiteKind::Assert(Assertion { message, comparison: None, types })
                if types.is_empty() =>
            {
                format!(", {:?}", message.fill(&[]))
            }
            SiteKind::Assert(Assertion { message, comparison, .. }) => {
                let sides = comparison.iter().flat_map(|sides| [&sides.left, &sides.right]);
                let sides = sides.map(|side| format!("{:?}, ", side.to_string()));
                let sides: String = sides.collect();
                format!(" as {sides}{:?}", message.to_string())
            }
            SiteKind::Print { format, .. } => format!(" as {:?}", format.to_string()),
            _ => String::new(),
        }
    }

    fn expr(&self, id: ExprId) -> String {
        let expr = &self.nodes.exprs[id];
        match &expr.kind {
            ExprKind::Const(value) => format!("{value:?}"),
            ExprKind::Local(local) => self.local(*local),
            ExprKind::Param(param) => self.param(*param),
            ExprKind::Dim { tensor, axis } => format!("{}.shape[{axis}]", self.param(*tensor)),
            ExprKind::Temp(temp) => format!("{temp:?}"),
            ExprKind::Unary { op, value } => {
                let sign = match op {
                    UnaryOp::Neg => "-",
                    UnaryOp::Not => "!",
                    UnaryOp::CountOnes => "count_ones ",
                    UnaryOp::LeadingZeros => "leading_zeros ",
                    UnaryOp::TrailingZeros => "trailing_zeros ",
                    UnaryOp::ReverseBits => "reverse_bits ",
                };
                format!("{sign}{}", self.operand(*value))
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let text = format!("{} {} {}", self.operand(*lhs), op.symbol(), self.operand(*rhs));
                if expr.exact { format!("exact({text})") } else { text }
            }
            ExprKind::Math { function, args } => {
                format!("{}({})", function.name(), self.list(args))
            }
            ExprKind::Cast { value } => format!("{} as {}", self.operand(*value), expr.ty),
            ExprKind::Bits { value } => format!("bits {} as {}", self.operand(*value), expr.ty),
            ExprKind::Select { cond, then, otherwise } => {
                format!("select({})", self.list(&[*cond, *then, *otherwise]))
            }
            ExprKind::Load(element) => self.element(element),
            ExprKind::Atomic { op, element, expected, value } => {
                let operands: Vec<_> = expected.iter().copied().chain([*value]).collect();
                format!("{}({}, {})", op.name(), self.element(element), self.list(&operands))
            }
            ExprKind::DivRem { op, lhs, rhs, .. } => {
                let sign = match op {
                    DivRemOp::Div => '/',
                    DivRemOp::Rem => '%',
                };
                format!("{} {sign} {}", self.operand(*lhs), self.operand(*rhs))
            }
        }
    }

    /// The text of an operand, in parentheses if necessary.
    fn operand(&self, id: ExprId) -> String {
        let text = self.expr(id);
        match self.nodes.exprs[id].kind {
            ExprKind::Binary { .. } | ExprKind::DivRem { .. } | ExprKind::Cast { .. } => {
                format!("({text})")
            }
            _ => text,
        }
    }

    fn list(&self, ids: &[ExprId]) -> String {
        let texts: Vec<String> = ids.iter().map(|id| self.expr(*id)).collect();
        texts.join(", ")
    }

    fn element(&self, element: &Element) -> String {
        let array = match element.array {
            Array::Tensor(tensor) => self.param(tensor),
            Array::Shared(array) | Array::Local(array) => self.local(array),
        };
        format!("{array}[{}]", self.list(&element.index))
    }

    fn local(&self, local: LocalId) -> String {
        format!("{local:?}.{}", self.nodes.locals[local].name)
    }

    fn param(&self, param: ParamId) -> String {
        self.nodes.params[param.index()].name.clone()
    }
}

fn param(param: &Param) -> String {
    let sign = match (param.kind.is_writable(), param.strided) {
        (true, false) => "&mut ",
        (false, false) => "&",
        (true, true) => "&mut strided ",
        (false, true) => "&strided ",
    };
    match param.kind {
        ParamKind::Scalar(ty) => format!("{}: {ty}", param.name),
        ParamKind::Tensor { elem, rank, distinct, .. } => {
            let name = if distinct { "Distinct" } else { "Tensor" };
            format!("{}: {sign}{name}<{elem}, {rank}>", param.name)
        }
        ParamKind::Component { elem, rank, scalars, .. } => {
            format!("{}: {sign}Component<{elem}, {rank}, {scalars}>", param.name)
        }
    }
}

fn block_size_of(size: Option<u32>) -> String {
    size.map_or_else(String::new, |size| format!(", blocks of {size}"))
}
