//! Builds the programs of the race check: collects the accesses, the operations that their indices depend on, and the
//! pairs that only a launch can decide.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::program::{
    Access, AccessKind, Counter, CounterIncrement, Index, Node, Pair, Pin, Pins, Races, Slot,
    TaskPair, TaskRaces, TripCount,
};
use crate::{
    Array, AtomicOp, BinaryOp, BlockId, Element, ExprId, ExprKind, GroupId, LocalId, MathFn,
    Offloaded, ParamId, Stmt, Task, TaskId,
    abi::ArgLayout,
    races::{MAX_VARS, VarKind},
    visit::{Nodes, Reach},
};

/// The definition of a local.
#[derive(Clone, Copy)]
enum Definition {
    Value(ExprId),
    /// A variable of the parallel loop.
    Dimension(usize),
    /// A variable of an inner loop with these bounds.
    Inner(ExprId, ExprId),
    /// The old value of a counter.
    Ticket(usize),
    /// An unknown value.
    Opaque,
}

struct Builder<'k, 'c> {
    nodes: Nodes<'k>,
    layout: &'k ArgLayout,
    counters: &'c mut Vec<Counter>,
    /// The tensors that are only incremented by one.
    countable: &'c [bool],
    definitions: HashMap<LocalId, Definition>,
    /// The locals defined in the prelude. They are equal in all iterations.
    prelude_locals: Vec<LocalId>,
    local_slots: HashMap<LocalId, Slot>,
    slots: HashMap<Node, Slot>,
    /// The number of the current phase, from 1; between phases, that of the previous phase.
    phase: usize,
    in_phase: bool,
    /// The loop variables that enclosing conditions compare for equality with a uniform value.
    pins: Pins,
    /// The tensors whose increments are recorded, and the enclosing inner loops.
    counted: &'c [bool],
    loops: SmallVec<[TripCount; 2]>,
    task: TaskRaces,
}

pub(crate) fn races(kernel: &Offloaded, layout: &ArgLayout) -> Races {
    let races = races_with(kernel, layout, &vec![false; kernel.params.len()]);
    // The second build records increments. It is made only if needed, because the results then also depend on the
    // bounds of inner loops.
    let pairs = races.tasks.iter().flat_map(|task| &task.pairs);
    let pairs = pairs.chain(races.task_pairs.iter().flat_map(|task_pair| &task_pair.pairs));
    let mut counted = vec![false; kernel.params.len()];
    for counter in pairs.filter_map(|pair| pair.counter).map(|at| &races.counters[at]) {
        counted[counter.tensor.index()] |= counter.overflow_bits.is_some();
    }
    if counted.contains(&true) { races_with(kernel, layout, &counted) } else { races }
}

fn races_with(kernel: &Offloaded, layout: &ArgLayout, counted: &[bool]) -> Races {
    let mut counters = Vec::new();
    let mut tasks: Vec<TaskRaces> = kernel
        .tasks
        .iter()
        .map(|task| {
            let countable = countable(kernel, task);
            Builder::task(kernel, layout, task, &countable, counted, &mut counters)
        })
        .collect();
    let mut task_pairs = Vec::new();
    for (at, first) in kernel.tasks.iter().enumerate() {
        for (after, second) in kernel.tasks.iter().enumerate().skip(at + 1) {
            if first.group == second.group || first.group == GroupId::NONE {
                continue;
            }
            let pairs = conflicting_pairs(&tasks[at], &tasks[after]);
            if !pairs.is_empty() {
                let tasks = [at, after].map(|task| TaskId::new(task as u32));
                task_pairs.push(TaskPair { tasks, pairs });
            }
        }
    }
    for (at, task) in tasks.iter_mut().enumerate() {
        let used = task_pairs.iter().any(|a| a.tasks.iter().any(|task| task.index() == at));
        if task.pairs.is_empty() && task.increments.is_empty() && !used {
            *task = TaskRaces::default();
        }
    }
    Races { tasks, task_pairs, counters }
}

/// The tensors that a task, and all tasks concurrent with it, access only by atomic additions of one.
fn countable(kernel: &Offloaded, task: &Task) -> Vec<bool> {
    let mut countable = vec![true; kernel.params.len()];
    for other in &kernel.tasks {
        if std::ptr::eq(task, other) || task.group != other.group {
            count(kernel.into(), other.body, &mut countable);
        }
    }
    countable
}

fn count(nodes: Nodes<'_>, block: BlockId, countable: &mut [bool]) {
    for stmt in &nodes.blocks[block].stmts {
        if let Stmt::Store { element, .. } = stmt
            && let Some(tensor) = element.tensor()
        {
            countable[tensor.index()] = false;
        }
        for value in stmt.exprs() {
            let kind = &nodes.exprs[value].kind;
            let Some(tensor) = kind.element().and_then(Element::tensor) else { continue };
            match *kind {
                ExprKind::Load(_) => countable[tensor.index()] = false,
                ExprKind::Atomic { op, value, .. } => {
                    let by = &nodes.exprs[value].kind;
                    let one = matches!(by, ExprKind::Const(c) if c.as_int() == Some(1));
                    countable[tensor.index()] &= one && op == AtomicOp::Add;
                }
                _ => {}
            }
        }
        for inner in stmt.blocks() {
            count(nodes, inner, countable);
        }
    }
}

/// Whether the element's array may change: a tensor of `changed`, or any shared array.
fn is_changed(element: &Element, changed: &[bool]) -> bool {
    element.tensor().is_none_or(|tensor| changed[tensor.index()])
}

impl<'k, 'c> Builder<'k, 'c> {
    fn task(
        kernel: &'k Offloaded,
        layout: &'k ArgLayout,
        task: &Task,
        countable: &'c [bool],
        counted: &'c [bool],
        counters: &'c mut Vec<Counter>,
    ) -> TaskRaces {
        let mut builder = Builder {
            nodes: kernel.into(),
            layout,
            counters,
            countable,
            definitions: HashMap::new(),
            prelude_locals: Vec::new(),
            local_slots: HashMap::new(),
            slots: HashMap::new(),
            phase: 0,
            in_phase: false,
            pins: SmallVec::new(),
            counted,
            loops: SmallVec::new(),
            task: TaskRaces { group: Some(task.group), ..TaskRaces::default() },
        };
        let mut reach = Reach::new(builder.nodes);
        builder.nodes.reach_block(task.body, &mut reach);
        for stmt in &builder.nodes.blocks[task.prelude].stmts {
            if let Stmt::Let { local, value } = *stmt {
                builder.prelude_locals.push(local);
                let assigned = reach.assigned[local.index()];
                let definition =
                    if assigned { Definition::Opaque } else { Definition::Value(value) };
                builder.definitions.insert(local, definition);
            }
        }
        if let Some(dims) = task.kind.dims() {
            builder.task.dims = dims.len();
            for (at, dim) in dims.iter().enumerate() {
                builder.definitions.insert(dim.var, Definition::Dimension(at));
            }
        }
        if let Some(threads) = task.kind.threads() {
            builder.task.block_uniform.extend(0..builder.task.dims);
            builder.task.dims += 1;
            builder.task.threads = Some(threads);
        }
        // A tensor that no concurrent access changes cannot have a race.
        let concurrent = |other: &&Task| std::ptr::eq(*other, task) || other.group != task.group;
        let accesses = kernel.tasks.iter().filter(concurrent).flat_map(|task| &task.accesses);
        let mut changed = vec![false; kernel.params.len()];
        for access in accesses.filter(|a| a.write || a.atomic) {
            changed[access.param.index()] = true;
        }
        builder.block(task.body, &changed);
        builder.pairs();
        builder.task
    }

    /// Records the accesses of a block to tensors that are changed.
    fn block(&mut self, block: BlockId, changed: &[bool]) {
        let nodes = self.nodes;
        for stmt in &nodes.blocks[block].stmts {
            match *stmt {
                Stmt::Let { local, value } => {
                    let mutable = nodes.locals[local].mutable;
                    let definition =
                        if mutable { Definition::Opaque } else { Definition::Value(value) };
                    self.definitions.insert(local, definition);
                    self.effect(value, Some(local), changed);
                }
                Stmt::Eval { value } => self.effect(value, None, changed),
                Stmt::Store { ref element, .. } if is_changed(element, changed) => {
                    self.access(element, AccessKind::Write);
                }
                Stmt::For { var, begin, end, .. } => {
                    self.definitions.insert(var, Definition::Inner(begin, end));
                    let block_level = self.task.threads.is_some() && !self.in_phase;
                    if block_level && let Node::Inner { var, .. } = self.inner_variable(var) {
                        self.task.block_uniform.push(var);
                    }
                }
                Stmt::Phase { var, .. } => {
                    self.definitions.insert(var, Definition::Dimension(self.task.dims - 1));
                    self.phase += 1;
                }
                _ => {}
            }
            self.in_phase |= matches!(stmt, Stmt::Phase { .. });
            let outer = self.loops.len();
            let trip_count = self.trip_count(stmt);
            self.loops.extend(trip_count);
            if let Stmt::If { cond, then, otherwise } = *stmt {
                let pins = self.pins.len();
                self.pin(cond);
                self.block(then, changed);
                self.pins.truncate(pins);
                self.block(otherwise, changed);
                continue;
            }
            for inner in stmt.blocks() {
                self.block(inner, changed);
            }
            self.loops.truncate(outer);
            self.in_phase &= !matches!(stmt, Stmt::Phase { .. });
        }
    }

    /// The trip count if the statement is an inner loop. None if no increments are recorded.
    fn trip_count(&mut self, stmt: &Stmt) -> Option<TripCount> {
        match *stmt {
            _ if !self.counted.contains(&true) => None,
            Stmt::For { var, begin, end, .. } => {
                let ty = self.nodes.locals[var].ty;
                // Defines the variable before the bounds of loops inside use its range.
                self.local(var);
                Some(TripCount::Range { ty, begin: self.value(begin), end: self.value(end) })
            }
            Stmt::Loop { body } if self.nodes.runs_once(body) => None,
            Stmt::Loop { .. } => Some(TripCount::Unknown),
            _ => None,
        }
    }

    /// Adds the loop variables that a condition compares for equality with a uniform value.
    fn pin(&mut self, cond: ExprId) {
        match self.nodes.exprs[cond].kind {
            ExprKind::Binary { op: BinaryOp::And, lhs, rhs } => {
                self.pin(lhs);
                self.pin(rhs);
            }
            ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs } => {
                let (lhs, rhs) = (self.value(lhs), self.value(rhs));
                let pin = [(lhs, rhs), (rhs, lhs)].into_iter().find_map(|(value, with)| {
                    let dim = self.task.tracked_dimension(value)?;
                    self.task.is_uniform(with).then_some(Pin { dim, value, with })
                });
                self.pins.extend(pin);
            }
            _ => {}
        }
    }

    fn effect(&mut self, value: ExprId, local: Option<LocalId>, changed: &[bool]) {
        let nodes = self.nodes;
        match nodes.exprs[value].kind {
            ExprKind::Load(ref element) if is_changed(element, changed) => {
                self.access(element, AccessKind::Read);
            }
            ExprKind::Atomic { ref element, .. } if is_changed(element, changed) => {
                self.access(element, AccessKind::Atomic);
                let Some(tensor) = element.tensor() else { return };
                if self.counted[tensor.index()] {
                    self.task
                        .increments
                        .push(CounterIncrement { tensor, loops: self.loops.clone() });
                }
                if let Some(local) = local {
                    self.ticket(local, tensor, &element.index);
                }
            }
            _ => {}
        }
    }

    /// A variable of an inner loop, which gets an index in the space.
    fn inner_variable(&mut self, var: LocalId) -> Node {
        let slot = self.local(var);
        self.node(slot)
    }

    fn access(&mut self, &Element { array: object, ref index, site }: &Element, kind: AccessKind) {
        if self.nodes.sites[site.index()].asserted {
            return;
        }
        let index: Index = index.iter().map(|index| self.value(*index)).collect();
        let phase = match object {
            Array::Tensor(_) => 0,
            Array::Shared(_) => self.phase,
        };
        let is_same = |a: &Access| {
            a.object == object
                && a.phase == phase
                && a.kind == kind
                && a.index == index
                && a.pins == self.pins
        };
        if !self.task.accesses.iter().any(is_same) {
            let pins = self.pins.clone();
            self.task.accesses.push(Access { object, kind, index, site, pins, phase });
        }
    }

    /// Records the old value of an atomic increment as a ticket.
    fn ticket(&mut self, local: LocalId, tensor: ParamId, index: &[ExprId]) {
        let index: Vec<Slot> = index.iter().map(|index| self.value(*index)).collect();
        let index: Vec<Node> = index.iter().map(|slot| self.node(*slot)).collect();
        let fixed = |node: &Node| matches!(node, Node::Const(_) | Node::Argument { .. });
        // A mutable local may hold any value later.
        let changes = self.nodes.locals[local].mutable;
        if changes || !self.countable[tensor.index()] || !index.iter().all(fixed) {
            return;
        }
        let extents = self.layout.word(tensor) + 1;
        let bits = 8 * self.nodes.locals[local].ty.size() as u32;
        // A 64-bit counter cannot overflow in a launch.
        let overflow_bits = (bits < 64).then_some(bits);
        let counter = Counter { tensor, extents, index, overflow_bits };
        let at = self.counters.iter().position(|other| *other == counter).unwrap_or_else(|| {
            self.counters.push(counter);
            self.counters.len() - 1
        });
        self.definitions.insert(local, Definition::Ticket(at));
    }

    /// Collects the pairs of accesses to compare, without those that are disjoint for all arguments.
    fn pairs(&mut self) {
        let accesses = &self.task.accesses;
        let mut pairs = Vec::new();
        for (at, a) in accesses.iter().enumerate() {
            for (after, b) in accesses.iter().enumerate().skip(at) {
                let conflict = a.object == b.object
                    && a.phase == b.phase
                    && !a.kind.is_compatible_with(b.kind);
                if conflict && !self.always_disjoint(a, b) {
                    let counter = same_counter(&self.task, a, &self.task, b);
                    pairs.push(Pair { accesses: [at, after], counter });
                }
            }
        }
        self.task.pairs = if self.task.dims == 0 { Vec::new() } else { pairs };
    }

    /// Whether the accesses touch the same element only in the same iteration.
    fn always_disjoint(&self, a: &Access, b: &Access) -> bool {
        let pinned = |dim| {
            let mut both = a.index.iter().zip(&b.index);
            both.any(|(a, b)| a == b && self.task.tracked_dimension(*a) == Some(dim))
                || a.common_pins(b).any(|pinned| pinned == dim)
        };
        // For shared arrays only threads of one block matter. They differ only in the thread index.
        let first = match a.object {
            Array::Tensor(_) => 0,
            Array::Shared(_) => self.task.dims - 1,
        };
        (first..self.task.dims).all(pinned)
    }

    fn node(&self, slot: Slot) -> Node {
        self.task.steps[slot as usize]
    }

    fn step(&mut self, node: Node) -> Slot {
        if node != Node::Opaque
            && let Some(slot) = self.slots.get(&node)
        {
            return *slot;
        }
        self.task.steps.push(node);
        let slot = (self.task.steps.len() - 1) as Slot;
        self.slots.insert(node, slot);
        slot
    }

    /// The index of a new variable in the space, if there is room.
    fn variable(&mut self, kind: VarKind) -> Option<usize> {
        let at = self.task.dims + self.task.vars.len();
        (at < MAX_VARS).then(|| {
            self.task.vars.push(kind);
            at
        })
    }

    fn local(&mut self, local: LocalId) -> Slot {
        if let Some(slot) = self.local_slots.get(&local) {
            return *slot;
        }
        let node = match self.definitions.get(&local) {
            Some(Definition::Dimension(at)) => Node::Var(*at),
            Some(Definition::Ticket(counter)) => {
                Node::Ticket { counter: *counter, local: local.raw() }
            }
            Some(&Definition::Inner(begin, end)) => {
                let (begin, ends) = (self.value(begin), self.ends(end));
                let ty = self.nodes.locals[local].ty;
                match self.variable(VarKind::Inner) {
                    Some(var) => Node::Inner { var, ty, begin, ends },
                    None => Node::Opaque,
                }
            }
            Some(&Definition::Value(value)) => {
                let slot = self.value(value);
                // A value computed in the prelude may be unknown, but it is equal in all iterations.
                let fixed = self.node(slot) == Node::Opaque && self.prelude_locals.contains(&local);
                match fixed.then(|| self.variable(VarKind::Fixed)).flatten() {
                    Some(var) => Node::Var(var),
                    None => {
                        self.local_slots.insert(local, slot);
                        return slot;
                    }
                }
            }
            Some(Definition::Opaque) | None => Node::Opaque,
        };
        let slot = self.step(node);
        self.local_slots.insert(local, slot);
        slot
    }

    /// Two values that the end of an inner loop does not exceed: the operands of a minimum, or the end itself.
    fn ends(&mut self, end: ExprId) -> [Slot; 2] {
        let nodes = self.nodes;
        match nodes.exprs[end].kind {
            ExprKind::Local(local) => match self.definitions.get(&local) {
                Some(&Definition::Value(value)) => self.ends(value),
                _ => [self.local(local); 2],
            },
            ExprKind::Math { function: MathFn::Min, ref args } if nodes.exprs[end].ty.is_int() => {
                match args[..] {
                    [a, b] => [self.value(a), self.value(b)],
                    _ => [self.value(end); 2],
                }
            }
            _ => [self.value(end); 2],
        }
    }

    fn value(&mut self, value: ExprId) -> Slot {
        let nodes = self.nodes;
        let expr = &nodes.exprs[value];
        let ty = expr.ty;
        let node = match expr.kind {
            _ if ty.is_float() => Node::Opaque,
            ExprKind::Const(value) => value.as_int().map_or(Node::Opaque, Node::Const),
            ExprKind::Local(local) => return self.local(local),
            ExprKind::Param(param) => Node::Argument { word: self.layout.word(param), ty },
            ExprKind::Dim { tensor, axis } => {
                Node::Argument { word: self.layout.word(tensor) + 1 + usize::from(axis), ty }
            }
            ExprKind::Unary { op, value } => Node::Unary(op, ty, self.value(value)),
            ExprKind::Binary { op, lhs, rhs } => {
                let operands = nodes.exprs[lhs].ty;
                if operands.is_float() {
                    Node::Opaque
                } else {
                    Node::Binary(op, operands, self.value(lhs), self.value(rhs))
                }
            }
            ExprKind::DivRem { op, lhs, rhs, .. } => {
                Node::DivRem(op, ty, self.value(lhs), self.value(rhs))
            }
            ExprKind::Math { function, ref args } => match (function, &args[..]) {
                (MathFn::Min | MathFn::Max, &[a, b]) => {
                    Node::Limit(function, ty, self.value(a), self.value(b))
                }
                (MathFn::Abs, &[a]) => Node::Abs(ty, self.value(a)),
                _ => Node::Opaque,
            },
            ExprKind::Select { cond, then, otherwise } => {
                Node::Select(self.value(cond), self.value(then), self.value(otherwise))
            }
            ExprKind::Cast { value } => {
                let from = nodes.exprs[value].ty;
                if from.is_float() {
                    Node::Opaque
                } else {
                    let value = self.value(value);
                    match self.node(value) {
                        // A conversion to a wider type keeps tickets distinct.
                        ticket @ Node::Ticket { .. } if ty.size() >= from.size() => ticket,
                        _ => Node::Cast { from, to: ty, value },
                    }
                }
            }
            ExprKind::Bits { .. }
            | ExprKind::Temp(_)
            | ExprKind::Load(_)
            | ExprKind::Atomic { .. } => Node::Opaque,
        };
        self.step(node)
    }
}

impl TaskRaces {
    /// The loop variable that the slot's value equals, up to a uniform offset.
    fn tracked_dimension(&self, slot: Slot) -> Option<usize> {
        match self.steps[slot as usize] {
            // Different numbers stay different, also if the sum wraps.
            Node::Binary(BinaryOp::Add | BinaryOp::Sub, _, a, b) => {
                if self.is_uniform(b) {
                    self.tracked_dimension(a)
                } else if self.is_uniform(a) {
                    self.tracked_dimension(b)
                } else {
                    None
                }
            }
            Node::Cast { from, to, value } if to.size() >= from.size() => {
                match self.steps[value as usize] {
                    Node::Var(at) if self.is_dimension(at) => Some(at),
                    Node::Cast { .. } => self.tracked_dimension(value),
                    _ => None,
                }
            }
            Node::Var(at) if self.is_dimension(at) => Some(at),
            _ => None,
        }
    }

    /// Whether the slot's value is the same in all iterations.
    fn is_uniform(&self, slot: Slot) -> bool {
        match self.steps[slot as usize] {
            Node::Const(_) | Node::Argument { .. } => true,
            Node::Var(at) => !self.is_dimension(at),
            Node::Binary(_, _, a, b) => self.is_uniform(a) && self.is_uniform(b),
            Node::Cast { value, .. } => self.is_uniform(value),
            _ => false,
        }
    }

    /// Whether it is a variable of the parallel loop.
    fn is_dimension(&self, at: usize) -> bool {
        at < self.dims
    }
}

/// The conflicting pairs of accesses of two concurrent tasks.
fn conflicting_pairs(first: &TaskRaces, second: &TaskRaces) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (i, a) in first.accesses.iter().enumerate() {
        for (j, b) in second.accesses.iter().enumerate() {
            let tensors = matches!(a.object, Array::Tensor(_));
            let conflict = tensors && a.object == b.object && !a.kind.is_compatible_with(b.kind);
            if conflict {
                let counter = same_counter(first, a, second, b);
                pairs.push(Pair { accesses: [i, j], counter });
            }
        }
    }
    pairs
}

/// The counter whose tickets index both accesses in the same dimension.
fn same_counter(first: &TaskRaces, a: &Access, second: &TaskRaces, b: &Access) -> Option<usize> {
    let counter = |task: &TaskRaces, slot: Slot| match task.steps[slot as usize] {
        Node::Ticket { counter, .. } => Some(counter),
        _ => None,
    };
    let mut both = a.index.iter().zip(&b.index);
    both.find_map(|(a, b)| counter(first, *a).filter(|of_a| counter(second, *b) == Some(*of_a)))
}
