//! Evaluation of a kernel in a sample launch: collects the accesses of its tasks.

mod record;
mod top;

use std::collections::HashMap;

use quadrants_ir::{
    CollectiveOp, ReduceOp,
    races::{Condition, NodeId, Uniformity, ValueNode, Var, VarKind},
};

use super::{
    access::{SampledAccessKind, SampledRegionBlock, SampledTask, StoredValue},
    eval::changed_arrays,
    expr_text,
    sample::{SAMPLES, SampleSymbol},
    value::AbstractValue,
};
use crate::{
    symbol_table::SymbolTable,
    syntax::{
        BinaryOp, Block, BlockFor, Expr, ExprKind, For, Function, LiteralKind, ParamPassing, Span,
        Stmt, StmtKind, extent_axes,
    },
    visit::{self, any_in_expr, base_name, combined_names},
};

pub(super) struct ElementPart<'e> {
    pub(super) base: &'e str,
    pub(super) fields: Vec<String>,
    pub(super) index: Vec<&'e Expr>,
}

pub(super) enum Binding {
    Tensor {
        writable: bool,
        /// A number that no other tensor has, if all its elements differ.
        distinct: Option<u32>,
    },
    /// The extents of a tensor.
    Shape(String),
    Value(AbstractValue),
    /// A block of threads: its number in each dimension of the grid, and how many threads it has.
    Block {
        index: Vec<AbstractValue>,
        threads: AbstractValue,
    },
    /// A shared array, by a name that no other has, and its length.
    Shared {
        array: String,
        len: AbstractValue,
    },
}

/// What a name stands for.
pub(super) struct NamedBinding {
    binding: Binding,
    /// Whether it can be assigned, or changed by a method.
    mutable: bool,
}

/// The author's text of an expression, where it is known.
pub(super) type ExprText<'a> = &'a dyn Fn(Span) -> Option<String>;

pub(super) struct SampleWalk<'a> {
    pub(super) sample: u32,
    /// The ranks of tensors, where known from an index.
    ranks: &'a HashMap<&'a str, usize>,
    /// The types of the elements of tensors, where their types say it.
    pub(super) elems: HashMap<String, String>,
    pub(super) names: SymbolTable<NamedBinding>,
    /// The author's text, if messages are wanted: only of races that were found.
    source: Option<ExprText<'a>>,
    /// What to print for names that the builder generated.
    pub(super) display_names: HashMap<String, expr_text::Printed>,
    /// The text of the last value that only the device knows.
    pub(super) device_value: String,
    pub(super) task: SampledTask,
    region_blocks: Vec<SampledRegionBlock>,
    /// The number of enclosing loops.
    pub(super) loops: u32,
    /// The names of what the parallel loop may change; none if concurrent blocks may change more.
    changed: Option<Vec<String>>,
    in_region: bool,
    unsafe_depth: u32,
    /// The lines of the serial loops around the code whose length is an element of a tensor.
    pub(super) long_loops: Vec<u32>,
    last_id: u32,
    /// The state of the enclosing `block_for`.
    pub(super) threads: Option<BlockForState>,
    /// The conditions that hold here.
    pub(super) conditions: Vec<Condition>,
    /// The trip count of each unrolled loop; none if no loop is unrolled.
    pub(super) trip_counts: Option<Vec<u32>>,
}

/// State of a `block_for`.
pub(super) struct BlockForState {
    number: AbstractValue,
    /// The number of phases so far.
    pub(super) phases: u32,
    pub(super) in_phase: bool,
    /// The names of what the current phase may change.
    changed: Vec<String>,
}

impl BlockForState {
    /// Whether the current phase may change an array.
    pub(super) fn changes(&self, array: &str) -> bool {
        !self.in_phase || self.changed.iter().any(|changed| changed == array)
    }
}

/// The region blocks of a kernel in a sample launch. All samples have the same tasks and accesses.
///
/// With `unroll`, loops of block-level code that have few iterations are unrolled. The second result has their trip
/// counts, which must be the same in all samples.
pub(super) fn walk(
    function: &Function,
    ranks: &HashMap<&str, usize>,
    sample: u32,
    unroll: bool,
    source: Option<ExprText<'_>>,
) -> (Vec<SampledRegionBlock>, Vec<u32>) {
    debug_assert!(sample < SAMPLES);
    let mut walk = SampleWalk {
        sample,
        ranks,
        elems: HashMap::new(),
        names: SymbolTable::new(),
        // Messages are about the first sample.
        source: source.filter(|_| sample == 0),
        display_names: HashMap::new(),
        device_value: String::new(),
        task: SampledTask::new(),
        region_blocks: Vec::new(),
        loops: 0,
        changed: None,
        in_region: false,
        unsafe_depth: 0,
        long_loops: Vec::new(),
        last_id: 0,
        threads: None,
        conditions: Vec::new(),
        trip_counts: unroll.then(Vec::new),
    };
    for (at, param) in function.params.iter().enumerate() {
        let binding = match param.passing {
            ParamPassing::Value if param.mutable => Binding::Value(walk.new_fixed()),
            ParamPassing::Value => Binding::Value(walk.argument(param.name.clone())),
            ParamPassing::Ref => Binding::Tensor { writable: false, distinct: None },
            ParamPassing::RefDistinct => {
                Binding::Tensor { writable: false, distinct: Some(at as u32) }
            }
            ParamPassing::RefMut => Binding::Tensor { writable: true, distinct: None },
        };
        walk.bind_as(&param.name, binding, param.mutable);
        if let Some(elem) = &param.elem {
            walk.elems.insert(param.name.clone(), elem.clone());
        }
    }
    walk.region_blocks.push(SampledRegionBlock { tasks: Vec::new(), span: function.span });
    for stmt in &function.body.stmts {
        walk.top_stmt(stmt);
    }
    if let Some(value) = &function.body.value {
        walk.top_expr(value);
    }
    walk.end_serial();
    (walk.region_blocks, walk.trip_counts.unwrap_or_default())
}

impl SampleWalk<'_> {
    fn parallel_loop(&mut self, each: &For) {
        let bounds: Vec<_> = each.dims.iter().map(|dim| self.bounds(dim)).collect();
        let bounds: Vec<_> =
            bounds.iter().map(|bounds| bounds.clone().map(|b| b.as_number())).collect();
        self.end_serial();
        let mark = self.names.mark();
        self.loops += 1;
        self.changed = (!self.in_region).then(|| changed_arrays(&each.body));
        for (dim, [begin, end]) in each.dims.iter().zip(bounds) {
            // Unknown bounds get a default length.
            let begin = begin.unwrap_or(0);
            let end = end.unwrap_or(begin + 40);
            let value = match self.stride(dim) {
                None => self.parallel_var(begin, end - 1),
                Some(by) => {
                    let steps = (end - begin + by - 1).div_euclid(by);
                    let nth = self.parallel_var(0, steps - 1);
                    if let Some(stride) = self.task.strides.last_mut() {
                        *stride = by;
                    }
                    let bounds = [begin, end].map(AbstractValue::Number);
                    nth.and_then(|nth| self.strided(dim.order, &bounds, nth, by))
                }
            };
            self.task.names.push(dim.name.clone());
            self.variable(dim, value);
        }
        self.block(&each.body);
        self.changed = None;
        self.loops -= 1;
        self.names.leave(mark);
        self.end_task();
    }

    /// Whether nothing changes a tensor while the current loop runs.
    pub(super) fn is_unchanged(&self, tensor: &str) -> bool {
        let root = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        let is_changed = |changed: &Vec<String>| changed.iter().any(|of| root(of) == root(tensor));
        self.changed.as_ref().is_some_and(|changed| !is_changed(changed))
    }

    /// Makes the locals unknown that a loop combined into.
    fn forget_combined(&mut self, body: &Block) {
        for name in combined_names(body) {
            let value = self.new_fixed();
            self.set_locals(&[name], vec![Some(value)]);
        }
    }

    /// Adds a variable of the parallel loop.
    fn parallel_var(&mut self, first: i128, last: i128) -> Option<NodeId> {
        self.task.dims.push((first, last));
        self.task.strides.push(1);
        let at = self.task.space.push(Var::new(VarKind::Parallel, first, last))?;
        Some(self.task.push(ValueNode::Var(at)))
    }

    fn block_for(&mut self, each: &BlockFor) {
        let mut counts = Vec::new();
        for count in &each.blocks {
            counts.push(self.eval(count).as_number().unwrap_or(40));
        }
        let threads = self.eval(&each.threads);
        let size = threads.as_number().unwrap_or(32);
        let threads = self.bound_value(threads, false);
        self.end_serial();
        let mark = self.names.mark();
        self.loops += 1;
        self.task.builder.block_vars = counts.len();
        let mut index = Vec::new();
        for (at, count) in counts.into_iter().enumerate() {
            let id = self.parallel_var(0, count - 1);
            self.task.block_vars.push(at);
            index.push(id.map_or(AbstractValue::Data, AbstractValue::Node));
        }
        let number =
            self.parallel_var(0, size - 1).map_or(AbstractValue::Data, AbstractValue::Node);
        self.threads =
            Some(BlockForState { number, phases: 0, in_phase: false, changed: Vec::new() });
        self.task.names.push(each.name.clone());
        self.bind(&each.name, Binding::Block { index, threads });
        self.block(&each.body);
        self.threads = None;
        self.loops -= 1;
        self.names.leave(mark);
        self.end_task();
    }

    /// Evaluates a phase, which may change the arrays with these names.
    pub(super) fn phase(
        &mut self,
        thread: &str,
        changed: Vec<String>,
        body: impl FnOnce(&mut Self),
    ) {
        let Some(threads) = &mut self.threads else { return };
        threads.changed = changed;
        threads.phases += 1;
        threads.in_phase = true;
        let number = threads.number.clone();
        let mark = self.names.mark();
        if !self.task.names.iter().any(|name| name == thread) {
            self.task.names.push(thread.to_owned());
        }
        self.bind(thread, Binding::Value(number));
        body(self);
        self.names.leave(mark);
        if let Some(threads) = &mut self.threads {
            threads.in_phase = false;
        }
    }

    pub(super) fn block(&mut self, block: &Block) -> AbstractValue {
        let (mark, conditions) = (self.names.mark(), self.conditions.len());
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
        let value = match &block.value {
            Some(value) => self.eval(value),
            None => AbstractValue::Data,
        };
        self.conditions.truncate(conditions);
        self.names.leave(mark);
        value
    }

    pub(super) fn unsafe_block(&mut self, block: &Block) -> AbstractValue {
        self.unsafe_depth += 1;
        let value = self.block(block);
        self.unsafe_depth -= 1;
        value
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.device_value.clear();
        match &stmt.kind {
            StmtKind::Let { name, mutable, value, .. } => {
                let evaluated = self.eval(value);
                let bound = self.bound_value(evaluated, *mutable);
                self.display_value(name, value);
                self.bind_as(name, Binding::Value(bound), *mutable);
            }
            StmtKind::LetPattern { pattern, value } => {
                let evaluated = self.eval(value);
                self.bind_parts(pattern, &evaluated);
            }
            StmtKind::LetShape { name, base } => {
                let base = self.tensor_of(base);
                self.bind(name, Binding::Shape(base));
            }
            StmtKind::LetExtents { names, rest, base } => {
                let base = self.tensor_of(base);
                let rank = match rest {
                    Some(_) => self.ranks.get(base.as_str()).copied().unwrap_or_default(),
                    None => names.len(),
                };
                let axes = extent_axes(names.len(), *rest, rank);
                for (at, name) in names.iter().enumerate() {
                    if let Some(name) = name {
                        // Of a tensor with an unknown number of axes, nothing is known.
                        let value = match &axes {
                            Some(axes) => self.extent(&base, axes[at] as i128),
                            None => AbstractValue::AtLaunch,
                        };
                        self.bind(name, Binding::Value(value));
                    }
                }
            }
            StmtKind::LetShared { name, dims, .. } => {
                self.last_id += 1;
                let array = format!("{name}#{}", self.last_id);
                let len = dims.iter().fold(AbstractValue::Number(1), |len, dim| {
                    let dim = self.eval(dim);
                    self.binary(BinaryOp::Mul, &len, &dim)
                });
                self.bind(name, Binding::Shared { array, len });
            }
            StmtKind::LetCollective(call) => {
                if let Some((_, by)) = &call.by {
                    self.eval(by);
                }
                let changed = match &call.value.kind {
                    ExprKind::Block(body) => changed_arrays(body),
                    _ => Vec::new(),
                };
                self.phase(&call.thread, changed, |this| {
                    this.eval(&call.value);
                });
                let value = match call.op {
                    // The launch knows what is added.
                    CollectiveOp::Scan { op: ReduceOp::Add, .. }
                    | CollectiveOp::Reduce(ReduceOp::Add) => AbstractValue::AtLaunch,
                    CollectiveOp::Reduce(_) => self.unknown(Uniformity::Block),
                    _ => AbstractValue::Data,
                };
                self.bind(&call.name, Binding::Value(value));
            }
            StmtKind::Assign { target, op, value } => {
                let evaluated = self.eval(value);
                let Some(part) = self.element_part(target) else {
                    self.assign_local(target, *op, evaluated);
                    return;
                };
                let values = self.index_values(&part);
                if op.is_some() {
                    self.record_access(SampledAccessKind::Read, &part, values.clone(), target);
                }
                self.record_access(SampledAccessKind::Write, &part, values, target);
                let stored = self.stored(target, *op, value);
                if let Some(access) = self.task.accesses.last_mut() {
                    access.stored = stored;
                }
            }
            StmtKind::Reduce { value, .. } => {
                self.eval(value);
            }
            StmtKind::Assert { cond, report } => {
                let cond = self.eval(cond);
                let cond = self.condition(&cond);
                report.args.iter().for_each(|(arg, _)| drop(self.eval(arg)));
                self.assume(cond, true);
            }
            StmtKind::Print { args, .. } => {
                for (arg, _) in args {
                    self.eval(arg);
                }
            }
            StmtKind::Expr(value) | StmtKind::Break { value: Some(value), .. } => {
                self.eval(value);
            }
            StmtKind::For(each) => self.serial_loop(each),
            StmtKind::While { cond, body, .. } => {
                if !self.unrolled_while(cond, body) {
                    self.endless_loop(Some(cond), body);
                }
            }
            StmtKind::Loop { body, .. } => self.loop_body(body),
            StmtKind::Return { .. }
            | StmtKind::Break { value: None, .. }
            | StmtKind::Continue { .. }
            | StmtKind::Unreachable
            | StmtKind::Unsupported(_) => {}
        }
    }

    /// What an assignment to an element stores, if messages are wanted.
    fn stored(&self, target: &Expr, op: Option<BinaryOp>, value: &Expr) -> Option<StoredValue> {
        self.source?;
        let is_target = |other: &Expr| self.text(other) == self.text(target);
        Some(match (op, &value.kind) {
            (Some(BinaryOp::Add | BinaryOp::Sub), _) => StoredValue::Combined("atomic_add"),
            (Some(BinaryOp::And), _) => StoredValue::Combined("atomic_and"),
            (Some(BinaryOp::Or), _) => StoredValue::Combined("atomic_or"),
            (Some(BinaryOp::Xor), _) => StoredValue::Combined("atomic_xor"),
            (None, ExprKind::Literal { .. }) => StoredValue::Literal(self.text(value)),
            (None, ExprKind::Method { receiver, name, args, .. })
                if is_target(receiver) || args.iter().any(is_target) =>
            {
                match name.as_str() {
                    "min" => StoredValue::Combined("atomic_min"),
                    "max" => StoredValue::Combined("atomic_max"),
                    _ => StoredValue::Next,
                }
            }
            (Some(_), _) => StoredValue::Next,
            _ if any_in_expr(
                value,
                &mut |node| matches!(node, visit::Node::Expr(of) if is_target(of)),
            ) =>
            {
                StoredValue::Next
            }
            _ => return None,
        })
    }

    /// The values of locals.
    pub(super) fn locals(&self, names: &[&str]) -> Vec<Option<AbstractValue>> {
        let value = |name: &&str| match self.names.lookup(name) {
            Some(NamedBinding { binding: Binding::Value(value), .. }) => Some(value.clone()),
            _ => None,
        };
        names.iter().map(value).collect()
    }

    /// Sets the locals that can change.
    pub(super) fn set_locals(&mut self, names: &[&str], values: Vec<Option<AbstractValue>>) {
        for (name, value) in names.iter().zip(values) {
            if let Some(NamedBinding { binding: Binding::Value(local), mutable: true }) =
                self.names.lookup_mut(name)
                && let Some(value) = value
            {
                *local = value;
            }
        }
    }

    fn assign_local(&mut self, target: &Expr, op: Option<BinaryOp>, value: AbstractValue) {
        let ExprKind::Name(name) = &target.kind else {
            // A part of a local. Its indices may read tensors.
            self.eval(target);
            if let Some(name) = base_name(target) {
                self.set_locals(&[name], vec![Some(AbstractValue::Data)]);
            }
            return;
        };
        let value = match op {
            Some(op) => {
                let before = self.eval(target);
                self.binary(op, &before, &value)
            }
            None => value,
        };
        let value = self.bound_value(value, self.loops == 0);
        self.set_locals(&[name], vec![Some(value)]);
    }

    /// The value of a binding.
    pub(super) fn bound_value(&mut self, value: AbstractValue, mutable: bool) -> AbstractValue {
        match value {
            // It may be assigned, but not by the iterations of later loops.
            _ if mutable && self.loops == 0 => self.new_fixed(),
            AbstractValue::Parts(parts) => {
                let bound = |(name, part)| (name, self.bound_value(part, mutable));
                AbstractValue::Parts(parts.into_iter().map(bound).collect())
            }
            AbstractValue::Number(_) | AbstractValue::Argument(..) => value,
            // The launch follows what serial statements compute.
            AbstractValue::Node(id)
                if self.loops == 0
                    && !matches!(self.task.builder.node(id), ValueNode::Unknown { .. }) =>
            {
                AbstractValue::AtLaunch
            }
            _ if self.loops == 0 => self.new_fixed(),
            // All uses of the name have the same value.
            AbstractValue::Data => {
                let uniformity = self.uniformity_here();
                self.device_value_of(uniformity)
            }
            other => other,
        }
    }

    /// A part of a value. A part of an unknown value is unknown too, and the same wherever it is used.
    pub(super) fn part_of(&mut self, value: &AbstractValue, name: &str) -> AbstractValue {
        let id = match value {
            AbstractValue::Node(id) => *id,
            AbstractValue::Argument(path, _) => return self.argument(format!("{path}.{name}")),
            _ => return value.part(name),
        };
        let key = (id, name.to_owned());
        if let Some(part) = self.task.parts.get(&key) {
            return AbstractValue::Node(*part);
        }
        let uniformity = self.task.builder.uniformity(id);
        let part = self.unknown_node(uniformity);
        if let Some(origin) = self.task.origins.get(&id).cloned() {
            self.task.origins.insert(part, origin);
        }
        self.task.parts.insert(key, part);
        AbstractValue::Node(part)
    }

    /// An element of a local array, vector or matrix.
    pub(super) fn element_of(
        &mut self,
        value: &AbstractValue,
        index: &[AbstractValue],
    ) -> AbstractValue {
        let numbers: Option<Vec<i128>> = index.iter().map(AbstractValue::as_number).collect();
        match numbers
            .filter(|_| matches!(value, AbstractValue::Node(_) | AbstractValue::Argument(..)))
        {
            Some(at) => {
                at.iter().fold(value.clone(), |value, at| self.part_of(&value, &at.to_string()))
            }
            None => value.element(index),
        }
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

    pub(super) fn index_values(&mut self, part: &ElementPart<'_>) -> Vec<AbstractValue> {
        let mut values = Vec::new();
        for index in &part.index {
            let value = match &index.kind {
                // rustc reports the type.
                ExprKind::Literal { kind: LiteralKind::Float | LiteralKind::Bool, .. } => {
                    AbstractValue::AtLaunch
                }
                _ => self.eval(index),
            };
            match value {
                // An array of all indices.
                AbstractValue::Parts(parts) => {
                    values.extend(parts.into_iter().map(|(_, part)| part))
                }
                AbstractValue::Node(_) | AbstractValue::Argument(..)
                    if let [_] = part.index[..]
                        && let Some(rank @ 2..) = self.ranks.get(part.base).copied() =>
                {
                    values.extend((0..rank).map(|axis| self.part_of(&value, &axis.to_string())));
                }
                AbstractValue::Data if self.loops > 0 => {
                    values.push(self.device_value_of(Uniformity::Iteration));
                }
                value => values.push(value),
            }
        }
        values
    }

    /// The text of an expression. Empty if no messages are wanted.
    pub(super) fn text(&self, expr: &Expr) -> String {
        let names = |name: &str| self.display_names.get(name).cloned();
        let text = |source| expr_text::expr(expr, expr_text::ExprTexts { source, names: &names });
        self.source.map(text).unwrap_or_default()
    }

    /// Records why a value is unknown, for messages.
    pub(super) fn explain(&mut self, value: &AbstractValue, origin: impl FnOnce() -> String) {
        if let AbstractValue::Node(id) = value
            && self.source.is_some()
        {
            self.task.origins.entry(*id).or_insert_with(origin);
        }
    }

    /// Whether messages are wanted.
    pub(super) const fn wants_texts(&self) -> bool {
        self.source.is_some()
    }

    /// Records the text of an operation, for messages.
    pub(super) fn note_text(&mut self, value: &AbstractValue, text: &str) {
        if let AbstractValue::Node(id) = value
            && self.wants_texts()
        {
            self.task.texts.entry(*id).or_insert_with(|| text.to_owned());
        }
    }

    /// Records the text of an expression's value, for messages, and why it is unknown.
    pub(super) fn describe(&mut self, value: &AbstractValue, expr: &Expr) {
        let AbstractValue::Node(id) = *value else { return };
        if self.task.texts.contains_key(&id) {
            return;
        }
        let text = self.text(expr);
        if let ValueNode::Unknown { .. } = self.task.builder.node(id) {
            let of = if self.device_value.is_empty() { &text } else { &self.device_value };
            let origin = format!("an index depends on `{of}`, which only the device knows");
            self.task.origins.entry(id).or_insert(origin);
        }
        self.task.texts.insert(id, text);
    }

    /// An unknown value, which messages call by the text of the last value that only the device knows.
    pub(super) fn device_value_of(&mut self, uniformity: Uniformity) -> AbstractValue {
        let value = self.unknown(uniformity);
        if !self.device_value.is_empty() {
            let text = self.device_value.clone();
            self.explain(&value, || {
                format!("an index depends on `{text}`, which only the device knows")
            });
        }
        value
    }

    /// Adds a condition.
    pub(super) fn assume(&mut self, cond: Option<NodeId>, is: bool) {
        self.conditions.extend(
            cond.filter(|_| self.loops > 0).map(|cond| Condition { node: cond, holds: is }),
        );
    }

    /// The node of a condition. One that only the launch knows is an unknown node: the launch decides about the
    /// accesses under it.
    pub(super) fn condition(&mut self, value: &AbstractValue) -> Option<NodeId> {
        if *value != AbstractValue::AtLaunch || self.loops == 0 {
            return self.node_id(value);
        }
        let id = self.unknown_node(Uniformity::Iteration);
        self.task.launch_conditions.insert(id);
        Some(id)
    }

    /// Whether a value may be known at launch.
    pub(super) fn known_at_launch(&self, value: &AbstractValue) -> bool {
        match value {
            AbstractValue::Data => false,
            AbstractValue::Node(id) => self.task.is_followed(*id),
            AbstractValue::Parts(parts) => parts.iter().all(|(_, part)| self.known_at_launch(part)),
            AbstractValue::Number(_)
            | AbstractValue::Argument(..)
            | AbstractValue::Fixed(_)
            | AbstractValue::AtLaunch => true,
        }
    }

    pub(super) fn extent(&self, base: &str, axis: i128) -> AbstractValue {
        AbstractValue::Number(SampleSymbol::Extent(base, axis).value(self.sample))
    }

    pub(super) fn len(&self, base: &str) -> AbstractValue {
        AbstractValue::Number(match self.ranks.get(base) {
            Some(rank) => (0..*rank as i128)
                .map(|axis| SampleSymbol::Extent(base, axis).value(self.sample))
                .product(),
            None => SampleSymbol::Len(base).value(self.sample),
        })
    }

    pub(super) fn lookup(&self, name: &str) -> Option<&Binding> {
        // A tensor of a struct of tensors, `p.x`, has the binding of the struct.
        let name = name.split_once('.').map_or(name, |(outer, _)| outer);
        self.names.lookup(name).map(|named| &named.binding)
    }

    /// The tensor of this name, or of the shape of this name.
    pub(super) fn tensor_of(&self, name: &str) -> String {
        match self.lookup(name) {
            Some(Binding::Shape(tensor)) => tensor.clone(),
            _ => name.to_owned(),
        }
    }

    pub(super) fn bind(&mut self, name: &str, binding: Binding) {
        self.bind_as(name, binding, false);
    }

    pub(super) fn bind_as(&mut self, name: &str, binding: Binding, mutable: bool) {
        self.names.bind(name, NamedBinding { binding, mutable });
    }

    /// The value of an argument, or of a part of one by its path.
    pub(super) fn argument(&self, path: String) -> AbstractValue {
        let number = SampleSymbol::Scalar(&path).value(self.sample);
        AbstractValue::Argument(path.into(), number)
    }

    pub(super) fn new_fixed(&mut self) -> AbstractValue {
        self.last_id += 1;
        AbstractValue::Fixed(self.last_id)
    }

    /// If the builder generated the name, messages print the value instead.
    fn display_value(&mut self, name: &str, value: &Expr) {
        if is_generated(name) {
            let names = |name: &str| self.display_names.get(name).cloned();
            let text = expr_text::printed(
                value,
                expr_text::ExprTexts { source: &|_| None, names: &names },
            );
            self.display_names.insert(name.to_owned(), text);
        }
    }
}

pub(super) fn is_generated(name: &str) -> bool {
    name.starts_with('_') && name.ends_with(|c: char| c.is_ascii_digit())
}
