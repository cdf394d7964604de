//! The proof that a task's accesses stay inside their tensors: a small program over intervals, made
//! once per task, evaluated per launch.
//!
//! Only what indices, the bounds of inner loops and the conditions of branches depend on is
//! computed. Immutable locals stand for their values; mutable ones and elements for anything of
//! their type. A branch whose condition the launch decides, and a loop that it makes empty, are
//! skipped: what does not run needs no proof.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::{Extents, interval::Interval};
use crate::{
    BinaryOp, BlockId, Const, DivRemOp, ExprId, ExprKind, LocalId, MathFn, Offloaded, ParamId,
    ScalarType, Stmt, Task, TaskKind, UnaryOp,
    abi::{ArgLayout, MAX_BOUND},
    visit::{Nodes, Reach},
};

type Slot = u32;

/// The program.
#[derive(Debug)]
pub(super) struct Proof {
    /// What the slots hold at the start: the constants.
    start: Vec<Interval>,
    /// What is known at the start of a launch.
    leaves: Vec<(Slot, Leaf)>,
    steps: Vec<Step>,
    requires: bool,
}

/// What is known of bounds that the device computes.
#[derive(Debug)]
pub(super) struct Hull {
    values: Proof,
    /// Begin and end of each dimension.
    dims: Vec<(Slot, Slot, ScalarType)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Leaf {
    Argument { word: usize, ty: ScalarType },
    Dimension(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Node {
    Neg(ScalarType, Slot),
    Not(ScalarType, Slot),
    Abs(ScalarType, Slot),
    Cast(ScalarType, Slot),
    Binary(BinaryOp, ScalarType, Slot, Slot),
    Limit(MathFn, Slot, Slot),
    DivRem(DivRemOp, ScalarType, Slot, Slot),
    Select(Slot, Slot, Slot),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Compute(Slot, Node),
    /// A loop's variable, and where the loop ends.
    Enter {
        var: Slot,
        begin: Slot,
        end: Slot,
        over: usize,
    },
    /// Skips a branch that is not taken.
    When {
        cond: Slot,
        is: bool,
        over: usize,
    },
    /// An index, and the word of the extent it must be below.
    Require {
        index: Slot,
        extent: usize,
    },
}

struct Builder<'k> {
    nodes: Nodes<'k>,
    layout: &'k ArgLayout,
    proof: Proof,
    leaves: HashMap<Leaf, Slot>,
    known: HashMap<Interval, Slot>,
    /// What is computed on every way to here, newest last; and the same by node.
    computed: Vec<Node>,
    slots: HashMap<Node, Slot>,
    /// The same by expression, so that one that is shared many times is looked at once.
    valued: Vec<ExprId>,
    values: HashMap<ExprId, Slot>,
    required: Vec<(Slot, usize)>,
    locals: Vec<Option<Slot>>,
    /// The locals that indices, bounds and conditions depend on.
    relevant: Vec<bool>,
}

impl Proof {
    pub(super) fn new(kernel: &Offloaded, layout: &ArgLayout, task: &Task) -> Self {
        let mut builder = Builder::new(kernel, layout, relevant(kernel.into(), task));
        builder.block(task.prelude);
        if let TaskKind::RangeFor { dims, .. } = &task.kind {
            for (at, dim) in dims.iter().enumerate() {
                builder.locals[dim.var.index()] = Some(builder.leaf(Leaf::Dimension(at)));
            }
        }
        builder.block(task.body);
        builder.proof
    }

    /// Whether there is nothing to prove.
    pub(super) fn is_trivial(&self) -> bool {
        !self.requires
    }

    /// Whether the proof holds for a launch; the loop is not empty and the block has all arguments.
    pub(super) fn holds(&self, args: &[u64], extents: &Extents) -> bool {
        self.run(args, extents).is_some()
    }

    /// What the slots hold at the end; none where an index may be out of range.
    fn run(&self, args: &[u64], extents: &Extents) -> Option<SmallVec<[Interval; 24]>> {
        let mut slots: SmallVec<[Interval; 24]> = SmallVec::from_slice(&self.start);
        for &(slot, leaf) in &self.leaves {
            slots[slot as usize] = match leaf {
                Leaf::Argument { word, ty } => argument(args[word], ty),
                Leaf::Dimension(at) => match extents.dims().get(at) {
                    Some(&(begin, end)) => Interval { lo: begin, hi: end - 1 },
                    None => Interval::WRAPPED,
                },
            };
        }
        let mut at = 0;
        while let Some(&step) = self.steps.get(at) {
            at += 1;
            match step {
                Step::Compute(slot, node) => slots[slot as usize] = node.evaluate(&slots),
                Step::Enter { var, begin, end, over } => {
                    let (begin, end) = (slots[begin as usize], slots[end as usize]);
                    let known = !begin.is_wrapped() && !end.is_wrapped();
                    if known && begin.lo >= end.hi {
                        at = over;
                    }
                    let inside = Interval { lo: begin.lo, hi: end.hi - 1 };
                    slots[var as usize] = if known { inside } else { Interval::WRAPPED };
                }
                Step::When { cond, is, over } => {
                    let cond = slots[cond as usize];
                    if cond.value() == Some(i128::from(!is)) {
                        at = over;
                    }
                }
                Step::Require { index, extent } => {
                    let index = slots[index as usize];
                    let inside = index.lo >= 0 && index.hi < i128::from(args[extent]);
                    if index.is_wrapped() || !inside {
                        return None;
                    }
                }
            }
        }
        Some(slots)
    }
}

impl Hull {
    /// `needed` says which prelude locals the bounds depend on.
    pub(super) fn new(
        kernel: &Offloaded,
        layout: &ArgLayout,
        task: &Task,
        needed: Vec<bool>,
    ) -> Self {
        let mut builder = Builder::new(kernel, layout, needed);
        builder.block(task.prelude);
        let mut dims = Vec::new();
        if let TaskKind::RangeFor { dims: of_task, .. } = &task.kind {
            for dim in of_task {
                let ty = kernel.locals[dim.var].ty;
                dims.push((builder.value(dim.begin), builder.value(dim.end), ty));
            }
        }
        Self { values: builder.proof, dims }
    }

    /// Bounds around those of all iterations that run. An end that may have wrapped is still a value of
    /// its type, and beyond [`MAX_BOUND`] nothing runs.
    pub(super) fn extents(&self, args: &[u64]) -> Extents {
        let mut extents = Extents::default();
        let Some(slots) = self.values.run(args, &extents) else { return extents };
        for &(begin, end, ty) in &self.dims {
            let of = |slot: Slot| match slots[slot as usize] {
                value if value.is_wrapped() => Interval::of(ty),
                value => value,
            };
            extents.push(of(begin).lo.max(-MAX_BOUND), of(end).hi.min(MAX_BOUND));
        }
        extents
    }
}

impl Node {
    fn evaluate(self, slots: &[Interval]) -> Interval {
        let get = |slot: Slot| slots[slot as usize];
        let (a, b, c) = match self {
            Self::Neg(_, a) | Self::Not(_, a) | Self::Abs(_, a) | Self::Cast(_, a) => (a, a, a),
            Self::Binary(_, _, a, b) | Self::Limit(_, a, b) | Self::DivRem(_, _, a, b) => (a, b, b),
            Self::Select(a, b, c) => (a, b, c),
        };
        let (a, b, c) = (get(a), get(b), get(c));
        if a.is_wrapped() || b.is_wrapped() || c.is_wrapped() {
            return Interval::WRAPPED;
        }
        match self {
            Self::Neg(ty, _) => a.neg(ty),
            Self::Not(ty, _) => a.not(ty),
            Self::Abs(ty, _) => a.abs(ty),
            Self::Cast(ty, _) => a.cast(ty),
            Self::Binary(op, ty, ..) => Interval::binary(op, ty, a, b),
            Self::Limit(function, ..) => Interval::limit(function, a, b),
            Self::DivRem(DivRemOp::Div, ty, ..) => Interval::div(ty, a, b),
            Self::DivRem(DivRemOp::Rem, ty, ..) => Interval::rem(ty, a, b),
            Self::Select(..) => a.select(b, c),
        }
    }
}

impl<'k> Builder<'k> {
    fn new(kernel: &'k Offloaded, layout: &'k ArgLayout, relevant: Vec<bool>) -> Self {
        Self {
            nodes: kernel.into(),
            layout,
            proof: Proof {
                start: Vec::new(),
                leaves: Vec::new(),
                steps: Vec::new(),
                requires: false,
            },
            leaves: HashMap::new(),
            known: HashMap::new(),
            computed: Vec::new(),
            slots: HashMap::new(),
            valued: Vec::new(),
            values: HashMap::new(),
            required: Vec::new(),
            locals: vec![None; kernel.locals.len()],
            relevant,
        }
    }

    fn block(&mut self, block: BlockId) {
        let nodes = self.nodes;
        for stmt in &nodes.blocks[block].stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match *stmt {
            Stmt::Let { local, value } => {
                self.effect(value);
                if self.relevant[local.index()] {
                    let known = &self.nodes.locals[local];
                    let slot = if known.mutable { self.any(known.ty) } else { self.value(value) };
                    self.locals[local.index()] = Some(slot);
                }
            }
            Stmt::Eval { value } => self.effect(value),
            Stmt::Store { tensor, ref index, .. } => self.require(tensor, index),
            Stmt::If { cond, then, otherwise } => {
                let cond = self.value(cond);
                self.region(then, |over| Step::When { cond, is: true, over });
                self.region(otherwise, |over| Step::When { cond, is: false, over });
            }
            Stmt::For { var, begin, end, body } => {
                let (begin, end) = (self.value(begin), self.value(end));
                let slot = self.slot();
                self.locals[var.index()] = Some(slot);
                self.region(body, |over| Step::Enter { var: slot, begin, end, over });
            }
            Stmt::Loop { body } => self.block(body),
            _ => {}
        }
    }

    /// A block that may be skipped. What it computes is known in it only, and where it requires
    /// nothing it is left out.
    fn region(&mut self, block: BlockId, enter: impl Fn(usize) -> Step) {
        let (start, computed) = (self.proof.steps.len(), self.computed.len());
        let valued = self.valued.len();
        let required = self.required.len();
        self.proof.steps.push(enter(0));
        self.block(block);
        let over = self.proof.steps.len();
        self.proof.steps[start] = enter(over);
        let requires = |step: &Step| matches!(step, Step::Require { .. });
        if !self.proof.steps[start..].iter().any(requires) {
            self.proof.steps.truncate(start);
        }
        self.required.truncate(required);
        for node in self.computed.drain(computed..) {
            self.slots.remove(&node);
        }
        for value in self.valued.drain(valued..) {
            self.values.remove(&value);
        }
    }

    fn effect(&mut self, value: ExprId) {
        let nodes = self.nodes;
        if let ExprKind::Load { tensor, ref index, .. }
        | ExprKind::Atomic { tensor, ref index, .. } = nodes.exprs[value].kind
        {
            self.require(tensor, index);
        }
    }

    fn require(&mut self, tensor: ParamId, index: &[ExprId]) {
        for (axis, &index) in index.iter().enumerate() {
            let index = self.value(index);
            let extent = self.layout.word(tensor) + 1 + axis;
            if !self.required.contains(&(index, extent)) {
                self.required.push((index, extent));
                self.proof.steps.push(Step::Require { index, extent });
                self.proof.requires = true;
            }
        }
    }

    fn slot(&mut self) -> Slot {
        self.proof.start.push(Interval::WRAPPED);
        (self.proof.start.len() - 1) as Slot
    }

    fn known(&mut self, interval: Interval) -> Slot {
        if let Some(slot) = self.known.get(&interval) {
            return *slot;
        }
        let slot = self.slot();
        self.known.insert(interval, slot);
        self.proof.start[slot as usize] = interval;
        slot
    }

    fn leaf(&mut self, leaf: Leaf) -> Slot {
        if let Some(slot) = self.leaves.get(&leaf) {
            return *slot;
        }
        let slot = self.slot();
        self.leaves.insert(leaf, slot);
        self.proof.leaves.push((slot, leaf));
        slot
    }

    fn any(&mut self, ty: ScalarType) -> Slot {
        self.known(Interval::of(ty))
    }

    fn compute(&mut self, node: Node) -> Slot {
        if let Some(slot) = self.slots.get(&node) {
            return *slot;
        }
        let slot = self.slot();
        self.slots.insert(node, slot);
        self.computed.push(node);
        self.proof.steps.push(Step::Compute(slot, node));
        slot
    }

    /// The slot of a value; of a float's, which no index needs, the slot says nothing.
    fn value(&mut self, value: ExprId) -> Slot {
        if let Some(slot) = self.values.get(&value) {
            return *slot;
        }
        let slot = self.value_of(value);
        self.values.insert(value, slot);
        self.valued.push(value);
        slot
    }

    fn value_of(&mut self, value: ExprId) -> Slot {
        let nodes = self.nodes;
        let expr = &nodes.exprs[value];
        let ty = expr.ty;
        if ty.is_float() {
            return self.any(ty);
        }
        match expr.kind {
            ExprKind::Const(value) => match value.as_int() {
                Some(value) => self.known(Interval::point(value)),
                None => self.any(ty),
            },
            ExprKind::Local(local) => match self.locals[local.index()] {
                Some(slot) => slot,
                None => self.any(ty),
            },
            ExprKind::Param(param) => {
                let word = self.layout.word(param);
                self.leaf(Leaf::Argument { word, ty })
            }
            ExprKind::Dim { tensor, axis } => {
                let word = self.layout.word(tensor) + 1 + usize::from(axis);
                self.leaf(Leaf::Argument { word, ty })
            }
            ExprKind::Unary { op, value } => {
                let value = self.value(value);
                self.compute(match op {
                    UnaryOp::Neg => Node::Neg(ty, value),
                    UnaryOp::Not => Node::Not(ty, value),
                })
            }
            ExprKind::Binary { op, lhs, rhs } => {
                let operands = nodes.exprs[lhs].ty;
                if operands.is_float() {
                    return self.any(ty);
                }
                let (lhs, rhs) = (self.value(lhs), self.value(rhs));
                self.compute(Node::Binary(op, operands, lhs, rhs))
            }
            ExprKind::Math { function, ref args } => match (function, &args[..]) {
                (MathFn::Min | MathFn::Max, &[a, b]) => {
                    let (a, b) = (self.value(a), self.value(b));
                    self.compute(Node::Limit(function, a, b))
                }
                (MathFn::Abs, &[a]) => {
                    let a = self.value(a);
                    self.compute(Node::Abs(ty, a))
                }
                _ => self.any(ty),
            },
            ExprKind::Cast { value } => {
                if nodes.exprs[value].ty.is_float() {
                    return self.any(ty);
                }
                let value = self.value(value);
                self.compute(Node::Cast(ty, value))
            }
            ExprKind::Select { cond, then, otherwise } => {
                let cond = self.value(cond);
                let (then, otherwise) = (self.value(then), self.value(otherwise));
                self.compute(Node::Select(cond, then, otherwise))
            }
            ExprKind::DivRem { op, lhs, rhs, .. } => {
                let (lhs, rhs) = (self.value(lhs), self.value(rhs));
                self.compute(Node::DivRem(op, ty, lhs, rhs))
            }
            ExprKind::Temp(_) | ExprKind::Load { .. } | ExprKind::Atomic { .. } => self.any(ty),
        }
    }
}

pub(super) fn argument(word: u64, ty: ScalarType) -> Interval {
    match Const::from_bits(ty, word).as_int() {
        Some(value) => Interval::point(value),
        None => Interval::of(ty),
    }
}

/// The locals on which the proof depends.
fn relevant(nodes: Nodes<'_>, task: &Task) -> Vec<bool> {
    let mut reach = Reach::new(nodes);
    let mut lets = Vec::new();
    seed(nodes, task.prelude, &mut reach, &mut lets);
    seed(nodes, task.body, &mut reach, &mut lets);
    // Definitions come before uses, so one pass backwards finds all.
    for &(local, value) in lets.iter().rev() {
        if reach.locals[local.index()] {
            nodes.reach_expr(value, &mut reach);
        }
    }
    reach.locals
}

fn seed(nodes: Nodes<'_>, block: BlockId, reach: &mut Reach, lets: &mut Vec<(LocalId, ExprId)>) {
    for stmt in &nodes.blocks[block].stmts {
        match *stmt {
            Stmt::Let { local, value } => {
                lets.push((local, value));
                if let ExprKind::Load { ref index, .. } | ExprKind::Atomic { ref index, .. } =
                    nodes.exprs[value].kind
                {
                    index.iter().for_each(|index| nodes.reach_expr(*index, reach));
                }
            }
            Stmt::Eval { value } => nodes.reach_expr(value, reach),
            Stmt::Store { ref index, .. } => {
                index.iter().for_each(|index| nodes.reach_expr(*index, reach));
            }
            Stmt::If { cond, .. } => nodes.reach_expr(cond, reach),
            Stmt::For { begin, end, .. } => {
                nodes.reach_expr(begin, reach);
                nodes.reach_expr(end, reach);
            }
            _ => {}
        }
        for block in stmt.blocks() {
            seed(nodes, block, reach, lets);
        }
    }
}
