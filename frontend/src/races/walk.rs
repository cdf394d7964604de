//! Evaluation of a kernel in a sample launch: collects the accesses of its tasks.

use std::collections::HashMap;

use quadrants_ir::races::{AffineForm, Var, VarKind};

use super::{
    access::{Access, AccessKind, Part, Task},
    sample::{SAMPLES, Symbol},
    text,
    value::Value,
};
use crate::{
    names::Names,
    syntax::{
        BinaryOp, Block, BlockFor, Dim, Expr, ExprKind, For, Function, Order, ParamPassing,
        Pattern, Span, Stmt, StmtKind, StreamParallelArgument,
    },
};

pub(super) struct ElementPart<'e> {
    pub(super) base: &'e str,
    pub(super) fields: Vec<String>,
    pub(super) index: Vec<&'e Expr>,
}

pub(super) enum Binding {
    Tensor {
        writable: bool,
    },
    /// The extents of a tensor.
    Shape(String),
    Value(Value),
    /// A block of threads: its number in each dimension of the grid, and how many threads it has.
    Block {
        index: Vec<Value>,
        threads: Value,
    },
    /// A shared array, by a name that no other has, and its length.
    Shared {
        array: String,
        len: Value,
    },
}

pub(super) struct Walk<'a> {
    pub(super) sample: u32,
    /// The ranks of tensors, where known from an index.
    ranks: &'a HashMap<&'a str, usize>,
    names: Names<Binding>,
    /// The texts to print for names that the builder generated.
    display_names: HashMap<String, String>,
    pub(super) task: Task,
    parts: Vec<Part>,
    /// The number of enclosing loops.
    loops: u32,
    unsafe_depth: u32,
    last_id: u32,
    /// The state of the enclosing `block_for`.
    threads: Option<Threads>,
    /// The pins of enclosing conditions.
    pub(super) pins: Vec<(usize, i128)>,
}

/// State of a `block_for`.
struct Threads {
    number: Value,
    /// The number of phases so far.
    phases: u32,
    in_phase: bool,
}

/// The parts of a kernel in a sample launch. All samples have the same tasks and accesses.
pub(super) fn walk(function: &Function, ranks: &HashMap<&str, usize>, sample: u32) -> Vec<Part> {
    debug_assert!(sample < SAMPLES);
    let mut walk = Walk {
        sample,
        ranks,
        names: Names::new(),
        display_names: HashMap::new(),
        task: Task::new(),
        parts: Vec::new(),
        loops: 0,
        unsafe_depth: 0,
        last_id: 0,
        threads: None,
        pins: Vec::new(),
    };
    for param in &function.params {
        let binding = match param.passing {
            ParamPassing::Value if param.mutable => Binding::Value(walk.new_fixed()),
            ParamPassing::Value => {
                Binding::Value(Value::number(Symbol::Scalar(&param.name).value(sample)))
            }
            ParamPassing::Ref => Binding::Tensor { writable: false },
            ParamPassing::RefMut => Binding::Tensor { writable: true },
        };
        walk.bind(&param.name, binding);
    }
    walk.parts.push(Part { tasks: Vec::new(), span: function.span });
    for stmt in &function.body.stmts {
        walk.top_stmt(stmt);
    }
    if let Some(value) = &function.body.value {
        walk.top_expr(value);
    }
    walk.end_serial();
    walk.parts
}

impl Walk<'_> {
    fn top_stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For(each) if !each.options.serial => {
                self.end_serial();
                self.parallel_loop(each);
            }
            StmtKind::Expr(expr) => self.top_expr(expr),
            _ => self.stmt(stmt),
        }
    }

    fn top_expr(&mut self, expr: &Expr) {
        let body = match &expr.kind {
            ExprKind::StreamParallel(StreamParallelArgument::Closure { body, .. }) => body,
            ExprKind::BlockFor(each) => return self.block_for(each),
            _ => {
                self.eval(expr);
                return;
            }
        };
        self.end_serial();
        self.parts.push(Part { tasks: Vec::new(), span: expr.span });
        let scope = self.names.mark();
        for stmt in &body.stmts {
            self.top_stmt(stmt);
        }
        if let Some(value) = &body.value {
            self.eval(value);
        }
        self.end_serial();
        self.names.leave(scope);
    }

    /// Ends the current piece of serial code.
    fn end_serial(&mut self) {
        if self.task.accesses.is_empty() {
            self.task = Task::new();
        } else {
            self.end_task();
        }
    }

    fn end_task(&mut self) {
        let task = std::mem::replace(&mut self.task, Task::new());
        if let Some(part) = self.parts.last_mut() {
            part.tasks.push(task);
        }
    }

    fn parallel_loop(&mut self, each: &For) {
        let bounds: Vec<_> = each.dims.iter().map(|dim| self.bounds(dim)).collect();
        self.end_serial();
        let scope = self.names.mark();
        self.loops += 1;
        for (dim, bounds) in each.dims.iter().zip(bounds) {
            // Unknown bounds get a default length.
            let begin = bounds.0.and_then(|form| form.value()).unwrap_or(0);
            let end = bounds.1.and_then(|form| form.value()).unwrap_or(begin + 40);
            let form = match self.stride(dim) {
                None => self.range(VarKind::Parallel, begin, end - 1).map(AffineForm::var),
                Some(by) => {
                    let steps = (end - begin + by - 1).div_euclid(by);
                    let var = self.range(VarKind::Parallel, 0, steps - 1);
                    let bounds = [AffineForm::constant(begin), AffineForm::constant(end)];
                    var.and_then(|at| strided(dim.order, bounds, AffineForm::var(at), by))
                }
            };
            self.task.names.push(dim.name.clone());
            self.variable(dim, form);
        }
        self.block(&each.body);
        self.loops -= 1;
        self.names.leave(scope);
        self.end_task();
    }

    fn block_for(&mut self, each: &BlockFor) {
        let mut counts = Vec::new();
        for count in &each.blocks {
            let count = self.eval(count);
            counts.push(self.form(&count).and_then(|form| form.value()).unwrap_or(40));
        }
        let threads = self.eval(&each.threads);
        let size = self.form(&threads).and_then(|form| form.value()).unwrap_or(32);
        self.end_serial();
        let scope = self.names.mark();
        self.loops += 1;
        let mut index = Vec::new();
        for count in counts {
            let at = self.range(VarKind::Parallel, 0, count - 1);
            self.task.block_vars.extend(at);
            index.push(at.map(AffineForm::var).into());
        }
        let number = self.range(VarKind::Parallel, 0, size - 1);
        let number = number.map(AffineForm::var).into();
        self.threads = Some(Threads { number, phases: 0, in_phase: false });
        self.task.names.push(each.name.clone());
        self.bind(&each.name, Binding::Block { index, threads });
        self.block(&each.body);
        self.threads = None;
        self.loops -= 1;
        self.names.leave(scope);
        self.end_task();
    }

    pub(super) fn phase(&mut self, thread: &str, body: impl FnOnce(&mut Self)) {
        let Some(threads) = &mut self.threads else { return };
        threads.phases += 1;
        threads.in_phase = true;
        let number = threads.number.clone();
        let scope = self.names.mark();
        if !self.task.names.iter().any(|name| name == thread) {
            self.task.names.push(thread.to_owned());
        }
        self.bind(thread, Binding::Value(number));
        body(self);
        self.names.leave(scope);
        if let Some(threads) = &mut self.threads {
            threads.in_phase = false;
        }
    }

    fn bounds(&mut self, dim: &Dim) -> (Option<AffineForm>, Option<AffineForm>) {
        let begin = match &dim.begin {
            Some(begin) => self.eval(begin),
            None => Value::number(0),
        };
        let begin = self.form(&begin);
        let end = match self.eval(&dim.end) {
            // Every value is below both ends: one at a constant distance from the begin says most.
            Value::Least(ends) => ends
                .into_iter()
                .find(|end| begin.and_then(|begin| end.sub(begin)?.value()).is_some()),
            end => self.form(&end),
        };
        let end =
            if dim.inclusive { end.and_then(|end| end.add(AffineForm::constant(1))) } else { end };
        (begin, end)
    }

    /// Adds a loop variable to the task.
    fn range(&mut self, kind: VarKind, first: i128, last: i128) -> Option<usize> {
        let ranges = match kind {
            VarKind::Parallel => &mut self.task.dims,
            _ => &mut self.task.inner,
        };
        ranges.push((first, last));
        self.task.space.push(Var::new(kind, first, last))
    }

    /// The step of a loop, if it has one that is known.
    fn stride(&mut self, dim: &Dim) -> Option<i128> {
        let step = self.eval(dim.step.as_ref()?);
        self.form(&step)?.value().filter(|by| *by > 0)
    }

    fn variable(&mut self, dim: &Dim, form: Option<AffineForm>) {
        if is_generated(&dim.name) {
            let text = dim.name.trim_start_matches('_').to_owned();
            self.display_names.insert(dim.name.clone(), text);
        }
        self.bind(&dim.name, Binding::Value(form.filter(|_| !dim.mutable).into()));
    }

    pub(super) fn block(&mut self, block: &Block) -> Value {
        let scope = self.names.mark();
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
        let value = match &block.value {
            Some(value) => self.eval(value),
            None => Value::Data,
        };
        self.names.leave(scope);
        value
    }

    pub(super) fn unsafe_block(&mut self, block: &Block) -> Value {
        self.unsafe_depth += 1;
        let value = self.block(block);
        self.unsafe_depth -= 1;
        value
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let { name, mutable, value, .. } => {
                let evaluated = self.eval(value);
                let bound = self.bound_value(evaluated, *mutable);
                self.display_value(name, value);
                self.bind(name, Binding::Value(bound));
            }
            StmtKind::LetPattern { pattern, value } => {
                let evaluated = self.eval(value);
                self.bind_parts(pattern, &evaluated);
            }
            StmtKind::LetShape { name, base } => {
                let base = self.tensor_of(base);
                self.bind(name, Binding::Shape(base));
            }
            StmtKind::LetExtents { names, base } => {
                let base = self.tensor_of(base);
                for (axis, name) in names.iter().enumerate() {
                    if let Some(name) = name {
                        let value = self.extent(&base, axis as i128);
                        self.bind(name, Binding::Value(value));
                    }
                }
            }
            StmtKind::LetShared { name, dims, .. } => {
                self.last_id += 1;
                let array = format!("{name}#{}", self.last_id);
                let len = dims.iter().fold(Value::number(1), |len, dim| {
                    let dim = self.eval(dim);
                    self.binary(BinaryOp::Mul, &len, &dim)
                });
                self.bind(name, Binding::Shared { array, len });
            }
            StmtKind::LetCollective(call) => {
                if let Some((_, by)) = &call.by {
                    self.eval(by);
                }
                self.phase(&call.thread, |this| {
                    this.eval(&call.value);
                });
                self.bind(&call.name, Binding::Value(Value::Data));
            }
            StmtKind::Assign { target, op, value } => {
                self.eval(value);
                let Some(part) = self.element_part(target) else {
                    // The target is a local or a part of one. Its indices may read tensors.
                    if !matches!(target.kind, ExprKind::Name(_)) {
                        self.eval(target);
                    }
                    return;
                };
                let values = self.index_values(&part);
                if op.is_some() {
                    self.record_access(AccessKind::Read, &part, values.clone(), target);
                }
                self.record_access(AccessKind::Write, &part, values, target);
            }
            StmtKind::Expr(value)
            | StmtKind::Assert { cond: value, .. }
            | StmtKind::Break { value: Some(value), .. } => {
                self.eval(value);
            }
            StmtKind::For(each) => self.serial_loop(each),
            StmtKind::While { cond, body, .. } => {
                self.loops += 1;
                self.eval(cond);
                self.block(body);
                self.loops -= 1;
            }
            StmtKind::Loop { body, .. } => self.loop_body(body),
            StmtKind::Return { .. }
            | StmtKind::Break { value: None, .. }
            | StmtKind::Continue { .. }
            | StmtKind::Unsupported(_) => {}
        }
    }

    pub(super) fn loop_body(&mut self, body: &Block) {
        self.loops += 1;
        self.block(body);
        self.loops -= 1;
    }

    /// The value of a binding.
    fn bound_value(&mut self, value: Value, mutable: bool) -> Value {
        match value {
            // It may be assigned, but not by the iterations of later loops.
            _ if mutable && self.loops == 0 => self.new_fixed(),
            _ if mutable => Value::Data,
            Value::Parts(parts) => {
                let bound = |(name, part)| (name, self.bound_value(part, false));
                Value::Parts(parts.into_iter().map(bound).collect())
            }
            Value::AffineForm(form) if self.loops > 0 || form.value().is_some() => value,
            _ if self.loops == 0 => self.new_fixed(),
            other => other,
        }
    }

    fn bind_parts(&mut self, pattern: &Pattern, value: &Value) {
        match pattern {
            Pattern::Wild => {}
            Pattern::Name { name, mutable, .. } => {
                let value = self.bound_value(value.clone(), *mutable);
                self.bind(name, Binding::Value(value));
            }
            Pattern::Parts(parts) => {
                for (at, pattern) in parts.iter().enumerate() {
                    self.bind_parts(pattern, &value.part(&at.to_string()));
                }
            }
            Pattern::Fields(fields) => {
                for (name, pattern) in fields {
                    self.bind_parts(pattern, &value.part(name));
                }
            }
        }
    }

    fn serial_loop(&mut self, each: &For) {
        let bounds: Vec<_> = each.dims.iter().map(|dim| self.bounds(dim)).collect();
        let scope = self.names.mark();
        self.loops += 1;
        for (dim, (begin, end)) in each.dims.iter().zip(bounds) {
            let range =
                |form: Option<AffineForm>| form.and_then(|form| self.task.space.range(&form));
            let first = range(begin).map_or(-(1 << 63), |range| range.0);
            let last = range(end).map_or(1 << 63, |range| range.1 - 1);
            let stride = self.stride(dim);
            // A chunk: its length is constant, and its begin depends on other loop variables.
            let chunk = begin.zip(end).filter(|(begin, _)| begin.value().is_none());
            let chunk = chunk.and_then(|(begin, end)| Some((begin, end.sub(begin)?.value()?)));
            let place = match stride {
                None if chunk.is_some() => {
                    self.range(VarKind::Inner, 0, chunk.map_or(0, |(_, len)| len - 1))
                }
                None => self.range(VarKind::Inner, first, last),
                Some(by) => self.range(VarKind::Inner, 0, (last - first).div_euclid(by)),
            };
            let form = match (stride, begin, end, place) {
                (None, _, _, Some(at)) => match chunk {
                    Some((begin, _)) => begin.add(AffineForm::var(at)),
                    None => Some(AffineForm::var(at)),
                },
                (Some(by), Some(begin), Some(end), Some(at)) => {
                    strided(dim.order, [begin, end], AffineForm::var(at), by)
                }
                _ => None,
            };
            if self.threads.as_ref().is_some_and(|threads| !threads.in_phase) {
                self.task.block_vars.extend(place);
            }
            self.variable(dim, form);
        }
        self.block(&each.body);
        self.loops -= 1;
        self.names.leave(scope);
    }

    /// The element, or part of one, of a tensor or shared array that an expression denotes.
    pub(super) fn element_part<'e>(&self, place: &'e Expr) -> Option<ElementPart<'e>> {
        match &place.kind {
            ExprKind::Index { base, index } => match self.lookup(base) {
                Some(Binding::Value(_) | Binding::Shape(_)) => None,
                _ => Some(ElementPart { base, fields: Vec::new(), index: index.iter().collect() }),
            },
            ExprKind::Field { value, name } => {
                let mut part = self.element_part(value)?;
                part.fields.push(name.clone());
                Some(part)
            }
            ExprKind::Element { value, index } => {
                let mut part = self.element_part(value)?;
                part.index.extend(index);
                Some(part)
            }
            _ => None,
        }
    }

    pub(super) fn index_values(&mut self, part: &ElementPart<'_>) -> Vec<Value> {
        part.index.iter().map(|index| self.eval(index)).collect()
    }

    /// Records an access to the element `part`, whose expression is `place`.
    pub(super) fn record_access(
        &mut self,
        kind: AccessKind,
        part: &ElementPart<'_>,
        values: Vec<Value>,
        place: &Expr,
    ) {
        let text = text::expr(place, &|name: &str| self.display_names.get(name).cloned());
        self.push_access(kind, part.base, part.fields.clone(), values, (place.span, text));
    }

    pub(super) fn push_access(
        &mut self,
        kind: AccessKind,
        base: &str,
        fields: Vec<String>,
        values: Vec<Value>,
        (span, text): (Span, String),
    ) {
        let forms = values.iter().map(|value| self.form(value)).collect();
        let (tensor, phase) = match self.lookup(base) {
            Some(Binding::Shared { array, .. }) => {
                (array.clone(), self.threads.as_ref().map(|threads| threads.phases))
            }
            _ => (base.to_owned(), None),
        };
        self.task.accesses.push(Access {
            forms,
            tensor,
            fields,
            pins: self.pins.clone(),
            phase,
            kind,
            index: values,
            span,
            text,
            asserted: self.unsafe_depth > 0,
        });
    }

    /// The affine form of a value in the current task.
    pub(super) fn form(&mut self, value: &Value) -> Option<AffineForm> {
        match value {
            Value::AffineForm(form) => Some(*form),
            Value::Fixed(number) => self.task.fixed(*number),
            Value::AtLaunch
            | Value::Least(_)
            | Value::Data
            | Value::Ticket(_)
            | Value::Parts(_) => None,
        }
    }

    pub(super) fn extent(&self, base: &str, axis: i128) -> Value {
        Value::number(Symbol::Extent(base, axis).value(self.sample))
    }

    pub(super) fn len(&self, base: &str) -> Value {
        Value::number(match self.ranks.get(base) {
            Some(rank) => (0..*rank as i128)
                .map(|axis| Symbol::Extent(base, axis).value(self.sample))
                .product(),
            None => Symbol::Len(base).value(self.sample),
        })
    }

    pub(super) fn lookup(&self, name: &str) -> Option<&Binding> {
        // A tensor of a struct of tensors, `p.x`, has the binding of the struct.
        let name = name.split_once('.').map_or(name, |(group, _)| group);
        self.names.lookup(name)
    }

    /// The tensor of this name, or of the shape of this name.
    pub(super) fn tensor_of(&self, name: &str) -> String {
        match self.lookup(name) {
            Some(Binding::Shape(tensor)) => tensor.clone(),
            _ => name.to_owned(),
        }
    }

    fn bind(&mut self, name: &str, binding: Binding) {
        self.names.bind(name, binding);
    }

    fn new_fixed(&mut self) -> Value {
        self.last_id += 1;
        Value::Fixed(self.last_id)
    }

    /// If the builder generated the name, messages print the value instead.
    fn display_value(&mut self, name: &str, value: &Expr) {
        if is_generated(name) {
            let display_names = |name: &str| self.display_names.get(name).cloned();
            let text = text::operand(value, &display_names);
            self.display_names.insert(name.to_owned(), text);
        }
    }
}

/// The variable of a loop with a step in iteration `nth`. The direction does not matter.
fn strided(
    order: Order,
    [begin, end]: [AffineForm; 2],
    nth: AffineForm,
    by: i128,
) -> Option<AffineForm> {
    let nth = nth.mul(AffineForm::constant(by))?;
    match order {
        Order::Up | Order::Back => begin.add(nth),
        Order::Down => end.sub(AffineForm::constant(1))?.sub(nth),
    }
}

fn is_generated(name: &str) -> bool {
    name.starts_with('_') && name.ends_with(|c: char| c.is_ascii_digit())
}
