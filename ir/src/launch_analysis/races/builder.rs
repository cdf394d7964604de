//! Builds the race check of a launch: collects the accesses, the value graph of the indices and conditions that they
//! depend on, and the pairs that only a launch can decide.
//!
//! The builder follows the code in order and knows the current node of each local. Where two paths meet, a local is a
//! selection of both values; a local that a loop assigns is unknown in it, unless the loop adds the same amount in each
//! iteration.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::{
    broadcast::Broadcast,
    cause::{Origins, ValueOrigin},
    check::{
        AccessKind, AccessPattern, Conditions, CounterIncrement, RaceCheck, TaskPair,
        TaskRaceCheck, TripCount,
    },
    load::FloatValue,
    pairs::{classes, conflicting_pairs, uncountable, without_repetition},
    part::ArrayPart,
};
use crate::{
    Array, BinaryOp, BlockId, Element, ExprId, ExprKind, LocalId, MathFn, Offloaded, ParamId,
    RegionBlockId, ScalarType, Stmt, Task, TaskId, TaskKind, TempId, UnaryOp,
    abi::ArgLayout,
    races::{
        Condition, Counter, Index, IntType, NodeId, Stored, TicketSource, Uniformity,
        ValueGraphBuilder, ValueNode,
    },
    visit::{Nodes, Reach},
};

type Env = HashMap<LocalId, NodeId>;

pub(super) struct TaskBuilder<'k> {
    pub(super) nodes: Nodes<'k>,
    pub(super) layout: &'k ArgLayout,
    /// The tensors that are changed by accesses that may be concurrent.
    pub(super) changed: Vec<bool>,
    /// What is not only added to; of shared arrays, in the current phase.
    pub(super) uncountable: HashSet<ArrayPart>,
    /// The temporaries that the task sets.
    temps: Vec<TempId>,
    /// The values of temporaries that an earlier serial task sets.
    temp_values: HashMap<TempId, NodeId>,
    pub(super) builder: ValueGraphBuilder,
    pub(super) origins: Origins,
    pub(super) env: Env,
    /// The values of the current statement's expressions, which share operands.
    pub(super) values: HashMap<ExprId, NodeId>,
    /// Reads of unchanged tensors.
    pub(super) loads: HashMap<(ParamId, Index), NodeId>,
    /// Reads of shared arrays that no phase has changed since.
    pub(super) shared_loads: HashMap<(LocalId, Index), NodeId>,
    /// Loads from shared arrays that the phase does not change: the array, the index and the number of the phase.
    pub(super) kept_loads: Vec<(NodeId, LocalId, Index, usize)>,
    /// What is stored in each part of a shared array of integers; none if that is not known.
    pub(super) stored: HashMap<ArrayPart, Option<Stored>>,
    /// The stores to shared arrays: the part, the phase, and whether a loop of the block is around it.
    pub(super) stores: Vec<(ArrayPart, usize, bool)>,
    /// The nodes of loads from shared arrays.
    pub(super) loads_of_shared: Vec<(NodeId, ArrayPart)>,
    /// What the current phase changes.
    pub(super) changed_here: HashSet<ArrayPart>,
    /// The nodes of floats that have the same value wherever they are used: what is read from memory, arguments,
    /// constants, locals, and what exact operations make of these.
    pub(super) exact_floats: HashSet<NodeId>,
    /// The nodes of constants, arguments and comparisons of floats.
    pub(super) floats: HashMap<FloatValue, NodeId>,
    /// The results of operations that the race check does not follow, by their operands.
    results: HashMap<OpaqueOperation, NodeId>,
    pub(super) shared_dims: HashMap<LocalId, Index>,
    pub(super) in_prelude: bool,
    /// The number of the current phase, from 1; between phases, that of the previous phase.
    pub(super) phase: usize,
    pub(super) in_phase: bool,
    /// The thread number of the current phase.
    pub(super) thread: Option<LocalId>,
    /// The conditions that hold here.
    pub(super) conditions: Conditions,
    pub(super) loops: SmallVec<[TripCount; 2]>,
    /// How many of the loops are around the current phase.
    pub(super) loops_of_block: usize,
    /// How many of the conditions are around the current phase.
    pub(super) conditions_of_block: usize,
    /// Whether a thread may have left a block around the current code of a phase before.
    pub(super) has_jumped: bool,
    /// What single threads store in the current phase.
    pub(super) broadcasts: Vec<Broadcast>,
    /// What a thread gives to the collective of the current phase.
    pub(super) input: Option<NodeId>,
    /// The number of loops that were unrolled; none if loops are not to be unrolled.
    pub(super) unrolled: Option<usize>,
    pub(super) task: TaskRaceCheck,
}

pub(crate) fn races(kernel: &Offloaded, layout: &ArgLayout) -> RaceCheck {
    let (mut races, _) = build(kernel, layout, false);
    if kernel.tasks.iter().any(|task| matches!(task.kind, TaskKind::BlockFor { .. })) {
        let (unrolled, count) = build(kernel, layout, true);
        races.unrolled = (count > 0).then(|| Box::new(unrolled));
    }
    races
}

/// The race check of a kernel, and how many loops were unrolled.
fn build(kernel: &Offloaded, layout: &ArgLayout, unroll: bool) -> (RaceCheck, usize) {
    let tasks = kernel.tasks.iter().map(|task| TaskBuilder::task(kernel, layout, task, unroll));
    let (mut tasks, unrolled): (Vec<TaskRaceCheck>, Vec<usize>) = tasks.unzip();
    let mut task_pairs = Vec::new();
    for (at, first) in kernel.tasks.iter().enumerate() {
        for (after, second) in kernel.tasks.iter().enumerate().skip(at + 1) {
            if first.region_block == second.region_block
                || first.region_block == RegionBlockId::NONE
            {
                continue;
            }
            let pairs = conflicting_pairs(&tasks[at], &tasks[after]);
            if !pairs.is_empty() {
                let tasks = [at, after].map(|task| TaskId::new(task as u32));
                task_pairs.push(TaskPair { tasks, pairs });
            }
        }
    }
    // The accesses of each task that are compared, and the counters that they depend on.
    let mut compared: Vec<Vec<bool>> =
        tasks.iter().map(|task| vec![false; task.accesses.len()]).collect();
    for (compared, task) in compared.iter_mut().zip(&tasks) {
        task.pairs.iter().flatten().for_each(|at| compared[*at] = true);
    }
    for TaskPair { tasks, pairs } in &task_pairs {
        for pair in pairs {
            tasks.iter().zip(pair).for_each(|(task, at)| compared[task.index()][*at] = true);
        }
    }
    let counted: Vec<TicketSource> =
        tasks.iter().zip(&compared).flat_map(|(task, compared)| task.counted(compared)).collect();
    let is_counted = |source: TicketSource| counted.contains(&source);
    for (task, compared) in tasks.iter_mut().zip(&compared) {
        task.prune(compared, &is_counted);
    }
    for task in &mut tasks {
        let classes = classes(&task.accesses);
        without_repetition(&mut task.pairs, [&classes, &classes]);
    }
    for TaskPair { tasks: of, pairs } in &mut task_pairs {
        let [a, b] = of.map(|task| classes(&tasks[task.index()].accesses));
        without_repetition(pairs, [&a, &b]);
    }
    (RaceCheck { tasks, task_pairs, unrolled: None }, unrolled.into_iter().sum())
}

/// The locals that a block assigns, and the temporaries that it sets.
pub(super) fn assigned(nodes: Nodes<'_>, block: BlockId) -> (Vec<LocalId>, Vec<TempId>) {
    let mut all = (Vec::new(), Vec::new());
    for stmt in &nodes.blocks[block].stmts {
        match stmt {
            Stmt::Assign { local, .. } => all.0.push(*local),
            Stmt::SetTemp { temp, .. } | Stmt::ReduceTemp { temp, .. } => all.1.push(*temp),
            _ => {}
        }
        for inner in stmt.blocks() {
            let inner = assigned(nodes, inner);
            all.0.extend(inner.0);
            all.1.extend(inner.1);
        }
    }
    all
}

/// An operation whose result the race check does not follow.
#[derive(PartialEq, Eq, Hash)]
struct OpaqueOperation {
    operator: OpaqueOperator,
    ty: ScalarType,
    operands: Index,
}

#[derive(PartialEq, Eq, Hash)]
enum OpaqueOperator {
    Unary(UnaryOp),
    Cast,
    Math(MathFn),
}

/// Whether all compilers compute the same result of a function of floats, up to the sign of zero.
const fn is_exact(function: MathFn) -> bool {
    use MathFn::{Abs, Ceil, Floor, Max, Min, Round, RoundEven, Trunc};
    matches!(function, Abs | Ceil | Floor | Max | Min | Round | RoundEven | Trunc)
}

pub(super) const fn int_type(ty: ScalarType) -> IntType {
    Some(ty)
}

impl<'k> TaskBuilder<'k> {
    fn task(
        kernel: &'k Offloaded,
        layout: &'k ArgLayout,
        task: &Task,
        unroll: bool,
    ) -> (TaskRaceCheck, usize) {
        let nodes: Nodes<'k> = kernel.into();
        // A tensor that no concurrent access changes cannot have a race.
        let concurrent =
            |other: &&Task| std::ptr::eq(*other, task) || other.region_block != task.region_block;
        let accesses = kernel.tasks.iter().filter(concurrent).flat_map(|task| &task.accesses);
        let mut changed = vec![false; kernel.params.len()];
        for access in accesses.filter(|a| a.write || a.atomic) {
            changed[access.param.index()] = true;
        }
        let mut builder = TaskBuilder {
            nodes,
            layout,
            changed,
            uncountable: uncountable(kernel, task),
            temps: assigned(nodes, task.body).1,
            temp_values: HashMap::new(),
            builder: ValueGraphBuilder::default(),
            origins: Origins::new(),
            env: Env::new(),
            values: HashMap::new(),
            loads: HashMap::new(),
            shared_loads: HashMap::new(),
            kept_loads: Vec::new(),
            stored: HashMap::new(),
            stores: Vec::new(),
            loads_of_shared: Vec::new(),
            changed_here: HashSet::new(),
            exact_floats: HashSet::new(),
            floats: HashMap::new(),
            results: HashMap::new(),
            shared_dims: HashMap::new(),
            in_prelude: true,
            phase: 0,
            in_phase: false,
            thread: None,
            conditions: Conditions::new(),
            loops: SmallVec::new(),
            loops_of_block: 0,
            conditions_of_block: 0,
            has_jumped: false,
            broadcasts: Vec::new(),
            input: None,
            unrolled: unroll.then_some(0),
            task: TaskRaceCheck {
                region_block: Some(task.region_block),
                ..TaskRaceCheck::default()
            },
        };
        builder.builder.graph.index_type = Some(ScalarType::U64);
        builder.serial_tasks(kernel, task);
        builder.block(task.prelude);
        builder.conditions.clear();
        builder.in_prelude = false;
        let mut reach = Reach::new(nodes);
        nodes.reach_block(task.body, &mut reach);
        let mut locals: Vec<LocalId> = builder.env.keys().copied().collect();
        locals.retain(|local| reach.assigned[local.index()]);
        locals.sort_unstable();
        builder.forget(&locals, Uniformity::Iteration);
        builder.task.dims = task.kind.dims().map_or(0, <[_]>::len);
        if let Some(threads) = task.kind.threads() {
            builder.task.block_uniform.extend(0..builder.task.dims);
            builder.builder.block_vars = builder.task.dims;
            builder.task.dims += 1;
            builder.task.threads = Some(threads);
        }
        for (at, dim) in task.kind.dims().into_iter().flatten().enumerate() {
            let id = builder.builder.push(ValueNode::Var(at));
            builder.env.insert(dim.var, id);
        }
        if task.kind.has_device_bounds() {
            builder.bounds(task.kind.dims().unwrap_or_default());
        }
        builder.block(task.body);
        builder.know_stored();
        builder.pairs();
        builder.task.graph = std::mem::take(&mut builder.builder.graph);
        builder.task.origins = std::mem::take(&mut builder.origins);
        (builder.task, builder.unrolled.unwrap_or_default())
    }

    /// Follows the serial tasks before a task, for the values of the temporaries that they set.
    fn serial_tasks(&mut self, kernel: &Offloaded, task: &Task) {
        if kernel.temps.is_empty() {
            return;
        }
        let before = kernel.tasks.iter().take_while(|other| !std::ptr::eq(*other, task));
        for serial in before.filter(|other| other.kind.dims().is_none()) {
            self.block(serial.prelude);
            self.block(serial.body);
        }
        // A temporary that is set several times may have any of the values.
        let nodes = self.nodes;
        let mut set: Vec<TempId> =
            kernel.tasks.iter().flat_map(|task| assigned(nodes, task.body).1).collect();
        set.sort_unstable();
        let times = |temp: &TempId| set.iter().filter(|other| *other == temp).count();
        self.temp_values.retain(|temp, _| times(temp) == 1);
    }

    /// Makes locals unknown.
    pub(super) fn forget(&mut self, locals: &[LocalId], uniformity: Uniformity) {
        for local in locals {
            let ty = int_type(self.nodes.locals[*local].ty);
            let id = self.unknown_from(ValueOrigin::Changed(*local), ty, uniformity);
            self.env.insert(*local, id);
            self.define(*local, id);
        }
    }

    /// Whether all threads of a block do what the current code does.
    pub(super) fn is_block_level(&self) -> bool {
        self.task.threads.is_some() && !self.in_phase && !self.in_prelude
    }

    pub(super) fn access_count(&self) -> usize {
        self.task.accesses.len()
    }

    /// The uniformity of values that the current code computes in a way that is not followed.
    pub(super) fn uniformity_here(&self) -> Uniformity {
        match self.task.threads {
            _ if self.in_prelude => Uniformity::Loop,
            Some(_) if !self.in_phase => Uniformity::Block,
            _ => Uniformity::Iteration,
        }
    }

    /// Follows a block. Returns whether its end cannot be reached.
    pub(super) fn block(&mut self, block: BlockId) -> bool {
        let conditions = self.conditions.len();
        let nodes = self.nodes;
        let mut ends = false;
        for stmt in &nodes.blocks[block].stmts {
            ends |= self.stmt(stmt);
        }
        self.conditions.truncate(conditions);
        ends
    }

    /// Follows a statement. Returns whether the code after it cannot be reached.
    pub(super) fn stmt(&mut self, stmt: &Stmt) -> bool {
        self.values.clear();
        match *stmt {
            Stmt::Let { local, value } => {
                let id = self.effect(value);
                self.env.insert(local, id);
                self.define(local, id);
            }
            Stmt::Eval { value } => {
                self.effect(value);
            }
            Stmt::Assign { local, value } => {
                let id = self.value(value);
                self.env.insert(local, id);
                self.define(local, id);
            }
            Stmt::Store { ref element, value } => {
                self.access(element, AccessKind::Write);
                self.note_broadcast(element, value);
                self.note_stored(element, value);
            }
            Stmt::Shared { .. } => {
                if let Some((array, dims)) = stmt.shared_extents() {
                    let dims = dims.into_iter().map(|dim| self.shared_extent(dim)).collect();
                    self.shared_dims.insert(array, dims);
                }
            }
            Stmt::Assert { cond, .. } => {
                let cond = self.value(cond);
                self.conditions.push(Condition { node: cond, holds: true });
            }
            Stmt::If { cond, then, otherwise } => return self.branch(cond, then, otherwise),
            Stmt::For { .. } | Stmt::Loop { .. } => self.any_loop(stmt),
            Stmt::Phase { var, body, collective } => self.phase(var, body, collective),
            Stmt::Break | Stmt::Continue => {
                self.has_jumped = true;
                return true;
            }
            Stmt::SetTemp { temp, value } => {
                if self.in_prelude && self.conditions.is_empty() && self.loops.is_empty() {
                    let id = self.value(value);
                    self.temp_values.insert(temp, id);
                }
            }
            Stmt::CollectiveInput { value, .. } => self.input = Some(self.value(value)),
            Stmt::Array { .. }
            | Stmt::Print { .. }
            | Stmt::Reduce { .. }
            | Stmt::ReduceTemp { .. }
            | Stmt::SetResult { .. } => {}
        }
        false
    }

    pub(super) fn ticket(&mut self, counter: Counter) -> NodeId {
        let number = self.builder.graph.counters.len();
        self.builder.graph.counters.push(counter);
        self.builder.push(ValueNode::Ticket { counter: number, addition: number as u32 })
    }

    fn branch(&mut self, cond: ExprId, then: BlockId, otherwise: BlockId) -> bool {
        let cond = self.value(cond);
        let before = self.env.clone();
        let mut sides = [(then, true), (otherwise, false)].map(|(block, is)| {
            self.forget_shared();
            self.env.clone_from(&before);
            self.conditions.push(Condition { node: cond, holds: is });
            let ends = self.block(block);
            self.conditions.pop();
            (std::mem::take(&mut self.env), ends)
        });
        self.forget_shared();
        match [sides[0].1, sides[1].1] {
            [true, true] => {
                self.env = before;
                return true;
            }
            [true, false] => {
                self.env = std::mem::take(&mut sides[1].0);
                self.conditions.push(Condition { node: cond, holds: false });
            }
            [false, true] => {
                self.env = std::mem::take(&mut sides[0].0);
                self.conditions.push(Condition { node: cond, holds: true });
            }
            [false, false] => {
                let [(mut env, _), (other, _)] = sides;
                let differs = |local: &LocalId| env.get(local) != other.get(local);
                let mut locals: Vec<LocalId> = before.keys().copied().filter(differs).collect();
                locals.sort_unstable();
                for local in locals {
                    if let (Some(then), Some(otherwise)) = (env.get(&local), other.get(&local)) {
                        let id = self.builder.push(ValueNode::Select(cond, *then, *otherwise));
                        env.insert(local, id);
                        self.define(local, id);
                    }
                }
                self.env = env;
            }
        }
        false
    }

    /// Follows an expression at the root of a statement, which may access a tensor. Returns its value.
    fn effect(&mut self, value: ExprId) -> NodeId {
        let nodes = self.nodes;
        let ty = int_type(nodes.exprs[value].ty);
        match nodes.exprs[value].kind {
            ExprKind::Load(ref element) => self.load(element, ty),
            ExprKind::Atomic { op, ref element, value, .. } => {
                self.access(element, AccessKind::Atomic);
                let is_int = nodes.exprs[value].ty.is_int();
                self.note_changed(op, element, is_int);
                let origin = ValueOrigin::OldValue(element.array, element.site);
                let (source, outer) = match element.array {
                    Array::Tensor(tensor) => (TicketSource::Tensor(tensor.raw()), 0),
                    Array::Shared(array) if self.in_phase => {
                        let (array, phase) = (array.raw(), self.phase as u32);
                        (TicketSource::Shared { array, phase }, self.loops_of_block)
                    }
                    _ => return self.unknown_from(origin, ty, Uniformity::Iteration),
                };
                if !is_int || self.in_prelude {
                    return self.unknown_from(origin, ty, Uniformity::Iteration);
                }
                // A concurrent task may draw tickets, even if this one cannot.
                let amount = self.value(value);
                let loops = self.loops_with_lengths(outer);
                let by_one = self.only_thread().is_some();
                let conditions = self.conditions.clone();
                let increment = CounterIncrement { source, amount, ty, loops, by_one, conditions };
                self.task.increments.push(increment);
                self.note_added(element, amount, by_one);
                if ArrayPart::of(nodes, element).overlaps_any(&self.uncountable) {
                    return self.unknown_from(origin, ty, Uniformity::Iteration);
                }
                let cell = element.index.iter().map(|index| self.value(*index)).collect();
                let extents = self.extents(element.array);
                let is_of_one_thread = false;
                self.ticket(Counter { source, ty, cell, extents, amount, is_of_one_thread })
            }
            _ => self.value(value),
        }
    }

    pub(super) fn access(
        &mut self,
        &Element { array: object, ref index, site }: &Element,
        kind: AccessKind,
    ) {
        let is_changed = match object {
            Array::Tensor(tensor) => self.changed[tensor.index()],
            Array::Shared(_) => true,
            Array::Local(_) => false, // each thread has its own
        };
        if !is_changed || self.in_prelude || self.nodes.sites[site.index()].asserted {
            return;
        }
        let index: Index = index.iter().map(|index| self.value(*index)).collect();
        let extents = self.extents(object);
        let phase = if self.in_phase { self.phase } else { 0 };
        let is_same = |a: &AccessPattern| {
            a.object == object
                && a.phase == phase
                && a.kind == kind
                && a.index == index
                && a.conditions == self.conditions
        };
        if !self.task.accesses.iter().any(is_same) {
            let (conditions, thread) = (self.conditions.clone(), self.thread);
            let access =
                AccessPattern { object, kind, index, extents, site, conditions, phase, thread };
            self.task.accesses.push(access);
        }
    }

    /// Collects the pairs of accesses to compare, without those that are disjoint for all arguments.
    fn pairs(&mut self) {
        let accesses = &self.task.accesses;
        let mut pairs = Vec::new();
        for (at, a) in accesses.iter().enumerate() {
            for (after, b) in accesses.iter().enumerate().skip(at) {
                let may_meet = matches!(a.object, Array::Tensor(_)) || a.phase == b.phase;
                let conflict =
                    a.object == b.object && may_meet && !a.kind.is_compatible_with(b.kind);
                if conflict && !self.always_disjoint(a, b) {
                    pairs.push([at, after]);
                }
            }
        }
        self.task.pairs = if self.task.dims == 0 { Vec::new() } else { pairs };
    }

    /// Whether the accesses touch the same element only in the same iteration.
    fn always_disjoint(&self, a: &AccessPattern, b: &AccessPattern) -> bool {
        let pinned = |dim| {
            let mut both = a.index.iter().zip(&b.index);
            both.any(|(a, b)| a == b && self.tracked_dimension(*a) == Some(dim))
        };
        let dims = match a.object {
            // Only threads of one block matter. They differ only in the thread index.
            Array::Shared(_) => self.task.dims - 1..self.task.dims,
            // Only threads of different blocks matter.
            _ if a.phase.min(b.phase) > 0 && a.phase != b.phase => 0..self.task.dims - 1,
            _ => 0..self.task.dims,
        };
        dims.into_iter().all(pinned)
    }

    /// The loop variable that the node's value equals, up to a uniform offset.
    fn tracked_dimension(&self, id: NodeId) -> Option<usize> {
        match self.builder.node(id) {
            // Different numbers stay different, also if the sum wraps.
            ValueNode::Binary(BinaryOp::Add | BinaryOp::Sub, _, a, b) => {
                if self.builder.uniformity(b) == Uniformity::Loop {
                    self.tracked_dimension(a)
                } else if self.builder.uniformity(a) == Uniformity::Loop {
                    self.tracked_dimension(b)
                } else {
                    None
                }
            }
            ValueNode::Cast { from: Some(from), to: Some(to), value }
                if to.size() >= from.size() =>
            {
                self.tracked_dimension(value)
            }
            ValueNode::Var(at) if at < self.task.dims => Some(at),
            _ => None,
        }
    }

    /// The value of an expression without side effects, and of a division.
    pub(super) fn value(&mut self, value: ExprId) -> NodeId {
        if let Some(id) = self.values.get(&value) {
            return *id;
        }
        let id = self.new_value(value);
        self.values.insert(value, id);
        id
    }

    fn new_value(&mut self, value: ExprId) -> NodeId {
        let nodes = self.nodes;
        let expr = &nodes.exprs[value];
        let ty = int_type(expr.ty);
        let of_float = |value: ExprId| nodes.exprs[value].ty.is_float();
        let node = match expr.kind {
            ExprKind::Local(local) => {
                return match self.env.get(&local) {
                    Some(id) => *id,
                    None => self.builder.unknown(ty, Uniformity::Iteration),
                };
            }
            ExprKind::Const(constant) => match constant.as_int() {
                Some(value) => ValueNode::Const(value),
                None => {
                    return self.float(
                        FloatValue::Constant(expr.ty, constant.bits()),
                        ty,
                        Uniformity::Loop,
                    );
                }
            },
            ExprKind::Param(param) if expr.ty.is_float() => {
                return self.float(FloatValue::Argument(param), ty, Uniformity::Loop);
            }
            ExprKind::Binary { op, lhs, rhs } if op.is_comparison() && of_float(lhs) => {
                let operands = [lhs, rhs].map(|value| self.value(value));
                if !operands.iter().all(|id| self.exact_floats.contains(id)) {
                    return self.builder.result_of(ty, &operands);
                }
                let uniformity = self.builder.uniformity_of(&operands);
                return self.float(FloatValue::Comparison(op, operands), ty, uniformity);
            }
            ExprKind::Param(param) => {
                ValueNode::Argument { word: self.layout.word(param), ty: expr.ty }
            }
            ExprKind::Dim { tensor, axis } => {
                let word = self.layout.word(tensor) + 1 + usize::from(axis);
                ValueNode::Argument { word, ty: expr.ty }
            }
            ExprKind::Temp(temp) => {
                if let Some(id) = self.temp_values.get(&temp) {
                    return *id;
                }
                let is_set = self.temps.contains(&temp);
                let uniformity = if is_set { Uniformity::Iteration } else { Uniformity::Loop };
                return self.builder.unknown(ty, uniformity);
            }
            ExprKind::Unary { op, value } if !of_float(value) => {
                let of = int_type(nodes.exprs[value].ty);
                ValueNode::Unary(op, of, self.value(value))
            }
            ExprKind::Binary { op, lhs, rhs } if !of_float(lhs) => {
                let of = int_type(nodes.exprs[lhs].ty);
                ValueNode::Binary(op, of, self.value(lhs), self.value(rhs))
            }
            ExprKind::DivRem { op, lhs, rhs, .. } => {
                ValueNode::DivRem(op, ty, self.value(lhs), self.value(rhs))
            }
            ExprKind::Math { function, ref args } if expr.ty.is_int() => {
                match (function, &args[..]) {
                    (MathFn::Min | MathFn::Max, &[a, b]) => {
                        ValueNode::Limit(function, ty, self.value(a), self.value(b))
                    }
                    (MathFn::Abs, &[a]) => ValueNode::Abs(ty, self.value(a)),
                    _ => return self.opaque(expr.ty, &expr.kind),
                }
            }
            ExprKind::Select { cond, then, otherwise } => {
                ValueNode::Select(self.value(cond), self.value(then), self.value(otherwise))
            }
            ExprKind::Cast { value } if !of_float(value) && !expr.ty.is_float() => {
                let from = int_type(nodes.exprs[value].ty);
                ValueNode::Cast { from, to: ty, value: self.value(value) }
            }
            ExprKind::Load(_) | ExprKind::Atomic { .. } => {
                return self.builder.unknown(ty, Uniformity::Iteration);
            }
            ref other => return self.opaque(expr.ty, other),
        };
        self.builder.push(node)
    }

    /// Makes a local's value exact: a float is computed once, where the local is defined.
    fn define(&mut self, local: LocalId, id: NodeId) {
        self.exact_floats.extend(self.nodes.locals[local].ty.is_float().then_some(id));
    }

    /// The result of an operation that is not followed. The same operation on the same operands has the same result,
    /// except where compilers may contract float arithmetic.
    fn opaque(&mut self, ty: ScalarType, kind: &ExprKind) -> NodeId {
        let operands: SmallVec<[ExprId; 4]> = kind.operands().collect();
        let operator = match *kind {
            ExprKind::Unary { op, .. } => Some(OpaqueOperator::Unary(op)),
            ExprKind::Cast { .. } => Some(OpaqueOperator::Cast),
            ExprKind::Math { function, .. } if ty.is_int() || is_exact(function) => {
                Some(OpaqueOperator::Math(function))
            }
            _ => None,
        };
        let ids: Index = operands.iter().map(|operand| self.value(*operand)).collect();
        let is_exact = operands.iter().zip(&ids).all(|(operand, id)| {
            !self.nodes.exprs[*operand].ty.is_float() || self.exact_floats.contains(id)
        });
        let Some(operator) = operator.filter(|_| is_exact) else {
            return self.builder.result_of(int_type(ty), &ids);
        };
        let opaque = OpaqueOperation { operator, ty, operands: ids };
        if let Some(id) = self.results.get(&opaque) {
            return *id;
        }
        let id = self.builder.result_of(int_type(ty), &opaque.operands);
        self.exact_floats.extend(ty.is_float().then_some(id));
        self.results.insert(opaque, id);
        id
    }
}
