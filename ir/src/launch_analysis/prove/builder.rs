//! Builds the instructions of a bounds proof in one walk over a task's code. Each local is mapped to the register of
//! its current value.

use std::collections::{HashMap, HashSet};

use super::proof::{IndexLimit, Instruction, IntervalOp, PENDING, Proof, ProofInput, Register};
use crate::{
    Array, BinaryOp, BlockId, Element, ExprId, ExprKind, LocalId, MathFn, Offloaded, ScalarType,
    SharedExtent, Stmt, Task, UnaryOp,
    abi::ArgLayout,
    constant_tables::tables_of,
    launch_analysis::interval::Interval,
    visit::{Nodes, Reach},
};

/// A comparison and its truth value.
pub(super) type Fact = (ExprId, bool);

/// The facts implied by a bool local: if it is false, and if it is true.
pub(super) type Implications = [Vec<Fact>; 2];

pub(super) struct ProofBuilder<'k> {
    pub(super) nodes: Nodes<'k>,
    layout: &'k ArgLayout,
    proof: Proof,
    leaves: HashMap<ProofInput, Register>,
    constants: HashMap<Interval, Register>,
    /// The register of each operation that is computed on every path to the current position. The second map is its
    /// inverse.
    registers: HashMap<IntervalOp, Register>,
    pub(super) op_of_register: HashMap<Register, IntervalOp>,
    /// The registers that may hold any value of an integer type of at least 32 bits.
    unconstrained: HashSet<Register>,
    /// Those, and the registers of such values of which only a lower bound is known. No launch proves that one is a
    /// valid index, unless a tensor has more elements than the type has values.
    unbounded: HashSet<Register>,
    /// The entries of `registers` that the current region added or replaced, with their previous registers.
    replaced: Vec<(IntervalOp, Option<Register>)>,
    /// The register of each expression, so that shared expressions are visited once. Cleared when a local changes.
    values: HashMap<ExprId, Register>,
    required: Vec<(Register, IndexLimit)>,
    /// Whether 64-bit values are examined, and those that were on every path to the current position.
    pub(super) examines: bool,
    fitted: Vec<Register>,
    pub(super) threads: u32,
    extents: HashMap<LocalId, Vec<SharedExtent>>,
    pub(super) locals: Vec<Option<Register>>,
    /// The values of immutable locals that depend on immutable ones only: facts about the former hold for these too.
    pub(super) definitions: HashMap<LocalId, ExprId>,
    /// The facts implied by the bools in scope.
    pub(super) implications: HashMap<LocalId, Implications>,
    /// The locals that indices, bounds and conditions depend on.
    relevant: Vec<bool>,
    /// The values of the tables.
    tables: HashMap<LocalId, Interval>,
}

impl<'k> ProofBuilder<'k> {
    pub(super) fn new(kernel: &'k Offloaded, layout: &'k ArgLayout, relevant: Vec<bool>) -> Self {
        Self {
            nodes: kernel.into(),
            layout,
            proof: Proof {
                start: Vec::new(),
                leaves: Vec::new(),
                instructions: Vec::new(),
                has_requirements: false,
                is_unprovable: false,
                examined: HashMap::new(),
            },
            examines: false,
            fitted: Vec::new(),
            leaves: HashMap::new(),
            constants: HashMap::new(),
            registers: HashMap::new(),
            op_of_register: HashMap::new(),
            unconstrained: HashSet::new(),
            unbounded: HashSet::new(),
            replaced: Vec::new(),
            values: HashMap::new(),
            required: Vec::new(),
            threads: 1,
            extents: HashMap::new(),
            locals: vec![None; kernel.locals.len()],
            definitions: HashMap::new(),
            implications: HashMap::new(),
            relevant,
            tables: HashMap::new(),
        }
    }

    /// Finds the tables of a task.
    pub(super) fn find_tables(&mut self, task: &Task) {
        for (array, values) in tables_of(self.nodes, task) {
            let values = values.iter().map(|value| value.as_int().map(Interval::point));
            // Floats have no interval.
            let joined = values.reduce(|all, value| Some(all?.join(value?))).flatten();
            self.tables.extend(joined.map(|values| (array, values)));
        }
    }

    pub(super) fn finish(self) -> Proof {
        self.proof
    }

    pub(super) fn block(&mut self, block: BlockId) {
        let nodes = self.nodes;
        self.stmts(&nodes.blocks[block].stmts);
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for (at, stmt) in stmts.iter().enumerate() {
            let facts = self.facts_after_exit(stmt);
            self.stmt(stmt);
            if !facts.is_empty() {
                let rest = &stmts[at + 1..];
                self.region(None, &facts, |this| this.stmts(rest));
                // Not known here: the region has forgotten the values.
                self.forget(assigned_in(self.nodes, rest));
                return;
            }
        }
    }

    /// The facts after a branch of which one side ends early: there the condition has the value of the other side.
    /// Called before the statement is processed, because the condition may be a local that the other side assigns.
    fn facts_after_exit(&self, stmt: &Stmt) -> Vec<Fact> {
        let Stmt::If { cond, then, otherwise } = *stmt else { return Vec::new() };
        let (stays, is) = match (self.ends_early(then), self.ends_early(otherwise)) {
            (true, false) => (otherwise, false),
            (false, true) => (then, true),
            _ => return Vec::new(),
        };
        let mut facts = self.facts(cond, is);
        if !self.assigned(&[stays]).is_empty() {
            facts.retain(|(fact, _)| uses_only_immutable(self.nodes, *fact));
        }
        facts
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match *stmt {
            Stmt::Let { local, value } => {
                self.effect(value);
                self.define(local, value);
            }
            Stmt::Assign { local, value } => self.define(local, value),
            Stmt::Eval { value } => self.effect(value),
            Stmt::Store { ref element, .. } => self.require(element),
            Stmt::If { cond, then, otherwise } => self.branch(cond, then, otherwise),
            Stmt::For { var, begin, end, body, .. } => {
                let (begin, end) = (self.value(begin), self.value(end));
                let register = self.new_register();
                self.invalidate(&[body]);
                self.set(var, register);
                let enter = Instruction::EnterLoop { var: register, begin, end, skip_to: PENDING };
                self.region(Some(enter), &[], |this| this.block(body));
                self.invalidate(&[body]);
            }
            Stmt::Shared { .. } => self.extents.extend(stmt.shared_extents()),
            Stmt::Phase { var, body, .. } => {
                let begin = self.constant(Interval::point(0));
                let end = self.constant(Interval::point(i128::from(self.threads)));
                let register = self.new_register();
                self.set(var, register);
                let enter = Instruction::EnterLoop { var: register, begin, end, skip_to: PENDING };
                self.region(Some(enter), &[], |this| this.block(body));
                self.invalidate(&[body]);
            }
            Stmt::Loop { body } => {
                if !self.nodes.runs_once(body) {
                    self.invalidate(&[body]);
                }
                self.region(None, &[], |this| this.block(body));
                self.invalidate(&[body]);
            }
            _ => {}
        }
    }

    fn branch(&mut self, cond: ExprId, then: BlockId, otherwise: BlockId) {
        let value = self.value(cond);
        // `left && right` is lowered to `both = left; if both { both = right }`, and `left || right` to the same with
        // the branches swapped.
        let bool_local = match self.nodes.exprs[cond].kind {
            ExprKind::Local(local) => Some(local),
            _ => None,
        };
        let mut assigned = self.assigned(&[then, otherwise]);
        assigned.retain(|local| self.relevant[local.index()]);
        assigned.sort_unstable();
        assigned.dedup();
        let joined: Vec<_> =
            assigned.into_iter().map(|local| (local, self.cleared(value))).collect();
        let mut truth = None;
        for (is, block, other) in [(true, then, otherwise), (false, otherwise, then)] {
            let facts = self.facts(cond, is);
            let enter = Instruction::EnterBranch { cond: value, is, skip_to: PENDING };
            let mut found = None;
            self.region(Some(enter), &facts, |this| {
                this.block(block);
                this.join(&joined);
                found = bool_local.and_then(|local| this.implications.get(&local)).cloned();
            });
            if let Some(local) = bool_local
                && self.assigned(&[block]).contains(&local)
                && !self.assigned(&[other]).contains(&local)
            {
                let mut both = Implications::default();
                both[usize::from(is)] = facts.clone();
                both[usize::from(is)].retain(|(fact, _)| uses_only_immutable(self.nodes, *fact));
                both[usize::from(is)].extend(found.unwrap_or_default()[usize::from(is)].clone());
                truth = Some((local, both));
            }
        }
        self.invalidate(&[then, otherwise]);
        for (local, register) in joined {
            self.set(local, register);
        }
        self.implications.extend(truth);
    }

    /// A value to which the branches add theirs.
    fn cleared(&mut self, cond: Register) -> Register {
        let register = self.new_register();
        self.push(Instruction::Clear { register, cond });
        register
    }

    /// Adds the locals' values at the end of a branch to those after it.
    fn join(&mut self, joined: &[(LocalId, Register)]) {
        for &(local, register) in joined {
            // Declared in the branch itself, and not used after it.
            if let Some(value) = self.locals[local.index()] {
                self.add_to(register, value);
            }
        }
    }

    fn add_to(&mut self, register: Register, value: Register) {
        self.keep_unbounded(value, register);
        if self.unconstrained.contains(&value) {
            self.unconstrained.insert(register);
        }
        self.push(Instruction::Join { register, value });
    }

    /// One of two values, each with what the condition says about it.
    fn selected(&mut self, cond: ExprId, then: ExprId, otherwise: ExprId) -> Register {
        let of_cond = self.value(cond);
        let facts = [true, false].map(|is| self.facts(cond, is));
        if facts.iter().all(Vec::is_empty) {
            let (then, otherwise) = (self.value(then), self.value(otherwise));
            return self.compute(IntervalOp::Select(of_cond, then, otherwise));
        }
        let register = self.cleared(of_cond);
        for (is, value, facts) in [(true, then, &facts[0]), (false, otherwise, &facts[1])] {
            let enter = Instruction::EnterBranch { cond: of_cond, is, skip_to: PENDING };
            self.region(Some(enter), facts, |this| {
                let value = this.value(value);
                this.add_to(register, value);
            });
        }
        register
    }

    fn define(&mut self, local: LocalId, value: ExprId) {
        if self.relevant[local.index()] {
            let register = self.value(value);
            self.set(local, register);
            self.record_implications(local, value);
            if !self.nodes.locals[local].mutable && uses_only_immutable(self.nodes, value) {
                self.definitions.insert(local, value);
            }
        }
    }

    /// Gives a local a new value.
    pub(super) fn set(&mut self, local: LocalId, register: Register) {
        self.locals[local.index()] = Some(register);
        self.implications.remove(&local);
        self.values.clear();
    }

    /// Sets the locals that these blocks assign to unknown values.
    fn invalidate(&mut self, blocks: &[BlockId]) {
        self.forget(self.assigned(blocks));
    }

    fn forget(&mut self, locals: Vec<LocalId>) {
        for local in locals {
            let register = self.unknown(self.nodes.locals[local].ty);
            self.set(local, register);
        }
    }

    fn assigned(&self, blocks: &[BlockId]) -> Vec<LocalId> {
        let stmts = blocks.iter().map(|block| &self.nodes.blocks[*block].stmts);
        stmts.flat_map(|stmts| assigned_in(self.nodes, stmts)).collect()
    }

    /// Whether control never reaches the end of a block.
    fn ends_early(&self, block: BlockId) -> bool {
        self.nodes.blocks[block].stmts.iter().any(|stmt| match *stmt {
            Stmt::Break | Stmt::Continue => true,
            Stmt::If { then, otherwise, .. } => self.ends_early(then) && self.ends_early(otherwise),
            _ => false,
        })
    }

    /// Builds a region: statements that may be skipped, and in which `facts` hold. Values computed in it are known only
    /// in it. A region that requires nothing and gives no value is dropped.
    fn region(&mut self, enter: Option<Instruction>, facts: &[Fact], body: impl FnOnce(&mut Self)) {
        let (start, replaced) = (self.proof.instructions.len(), self.replaced.len());
        let (required, fitted) = (self.required.len(), self.fitted.len());
        let (locals, implications) = (self.locals.clone(), self.implications.clone());
        self.proof.instructions.extend(enter);
        self.assume(facts);
        body(self);
        let end = self.proof.instructions.len();
        let region_instructions = &mut self.proof.instructions[start..];
        let is_needed = |instruction: &Instruction| {
            matches!(
                instruction,
                Instruction::Require { .. } | Instruction::Fit { .. } | Instruction::Join { .. }
            )
        };
        if region_instructions.iter().any(is_needed) {
            region_instructions.iter_mut().for_each(|instruction| instruction.end_at(end));
        } else {
            self.proof.instructions.truncate(start);
        }
        self.required.truncate(required);
        self.fitted.truncate(fitted);
        for (op, before) in self.replaced.drain(replaced..).rev() {
            match before {
                Some(register) => self.registers.insert(op, register),
                None => self.registers.remove(&op),
            };
        }
        self.locals = locals;
        self.implications = implications;
        self.values.clear();
    }

    fn effect(&mut self, value: ExprId) {
        let nodes = self.nodes;
        if let Some(element) = nodes.exprs[value].kind.element() {
            self.require(element);
        }
    }

    fn require(&mut self, element: &Element) {
        if let Array::Local(_) = element.array {
            return;
        }
        for (axis, &index) in element.index.iter().enumerate() {
            let index = self.value(index);
            let below = match element.array {
                Array::Tensor(tensor) => IndexLimit::Word(self.layout.word(tensor) + 1 + axis),
                Array::Shared(array) => {
                    let extent = self.extents.get(&array).and_then(|dims| dims.get(axis));
                    match extent.copied().unwrap_or(SharedExtent::Constant(0)) {
                        SharedExtent::Constant(number) => IndexLimit::Number(number),
                        SharedExtent::Local(local) => match self.locals[local.index()] {
                            Some(register) => IndexLimit::Register(register),
                            None => IndexLimit::Number(0),
                        },
                    }
                }
                Array::Local(_) => continue,
            };
            if !self.required.contains(&(index, below)) {
                self.required.push((index, below));
                let (site, axis) = (element.site, axis as u8);
                self.proof.instructions.push(Instruction::Require { index, below, site, axis });
                self.proof.has_requirements = true;
                self.proof.is_unprovable |= self.unbounded.contains(&index);
            }
        }
    }

    pub(super) fn push(&mut self, instruction: Instruction) {
        self.proof.instructions.push(instruction);
    }

    pub(super) fn new_register(&mut self) -> Register {
        self.proof.start.push(Interval::WRAPPED);
        (self.proof.start.len() - 1) as Register
    }

    fn constant(&mut self, interval: Interval) -> Register {
        if let Some(register) = self.constants.get(&interval) {
            return *register;
        }
        let register = self.new_register();
        self.constants.insert(interval, register);
        self.proof.start[register as usize] = interval;
        register
    }

    pub(super) fn leaf(&mut self, leaf: ProofInput) -> Register {
        if let Some(register) = self.leaves.get(&leaf) {
            return *register;
        }
        let register = self.new_register();
        self.leaves.insert(leaf, register);
        self.proof.leaves.push((register, leaf));
        register
    }

    /// An unknown value of this type. Each one has its own register, because no two need be equal.
    fn unknown(&mut self, ty: ScalarType) -> Register {
        let register = self.new_register();
        self.proof.start[register as usize] = Interval::of(ty);
        if ty.is_int() && ty.size() >= 4 {
            self.unconstrained.insert(register);
            self.unbounded.insert(register);
        }
        register
    }

    pub(super) fn is_unbounded(&self, register: Register) -> bool {
        self.unbounded.contains(&register)
    }

    /// Records that `to` is `from` with another lower bound, or without one value.
    pub(super) fn keep_unbounded(&mut self, from: Register, to: Register) {
        if self.unbounded.contains(&from) {
            self.unbounded.insert(to);
        }
    }

    pub(super) fn compute(&mut self, op: IntervalOp) -> Register {
        if let Some(register) = self.registers.get(&op) {
            return *register;
        }
        let register = self.new_register();
        // A type of 8 or 16 bits bounds a value.
        if let IntervalOp::Cast(ty, a) = op
            && ty.size() >= 4
        {
            if self.unconstrained.contains(&a) {
                self.unconstrained.insert(register);
            }
            self.keep_unbounded(a, register);
        }
        if let IntervalOp::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, _, a, b) = op
            && (self.unconstrained.contains(&a) || self.unconstrained.contains(&b))
        {
            self.unconstrained.insert(register);
            self.unbounded.insert(register);
        }
        self.enter(op, register);
        self.op_of_register.insert(register, op);
        self.push(Instruction::Compute(register, op));
        register
    }

    /// Makes `register` the value of `op` until the end of the region.
    pub(super) fn replace(&mut self, op: IntervalOp, register: Register) {
        self.enter(op, register);
        self.values.clear();
    }

    fn enter(&mut self, op: IntervalOp, register: Register) {
        let before = self.registers.insert(op, register);
        self.replaced.push((op, before));
    }

    /// The register of a value. The register of a float has no meaning, and no index uses it.
    pub(super) fn value(&mut self, value: ExprId) -> Register {
        if let Some(register) = self.values.get(&value) {
            return *register;
        }
        let register = self.value_of(value);
        self.values.insert(value, register);
        if self.examines {
            self.examine(value, register);
        }
        register
    }

    /// Whether an operation has an operand that cannot fit into 32 bits, and a result that hardly can then: a hash, for
    /// example.
    fn has_wide_operand(&self, value: ExprId) -> bool {
        let is_wide = |operand: ExprId| self.proof.examined.get(&operand) == Some(&false);
        match self.nodes.exprs[value].kind {
            ExprKind::Unary { op: UnaryOp::Not, value } => {
                self.nodes.exprs[value].ty == ScalarType::U64 || is_wide(value)
            }
            ExprKind::Unary { value, .. } => is_wide(value),
            ExprKind::Binary { op, lhs, rhs } => {
                use BinaryOp::{Add, Mul, Or, Shl, Sub, Xor};
                matches!(op, Add | Sub | Mul | Or | Xor | Shl) && (is_wide(lhs) || is_wide(rhs))
            }
            _ => false,
        }
    }

    /// Lets launches find out whether a 64-bit value fits into 32 bits, unless it cannot be known.
    fn examine(&mut self, value: ExprId, register: Register) {
        let ty = self.nodes.exprs[value].ty;
        if !matches!(ty, ScalarType::U64 | ScalarType::I64) {
            return;
        }
        let constant = match self.nodes.exprs[value].kind {
            ExprKind::Const(value) => value.as_int().map(Interval::point),
            _ => None,
        };
        let may_fit = match constant {
            Some(constant) => constant.fits(ty),
            None => !self.unconstrained.contains(&register) && !self.has_wide_operand(value),
        };
        *self.proof.examined.entry(value).or_insert(true) &= may_fit;
        if may_fit && constant.is_none() && !self.fitted.contains(&register) {
            self.fitted.push(register);
            self.push(Instruction::Fit { register, ty });
        }
    }

    fn value_of(&mut self, value: ExprId) -> Register {
        let nodes = self.nodes;
        let expr = &nodes.exprs[value];
        let ty = expr.ty;
        if ty.is_float() {
            return self.unknown(ty);
        }
        match expr.kind {
            ExprKind::Const(value) => match value.as_int() {
                Some(value) => self.constant(Interval::point(value)),
                None => self.unknown(ty),
            },
            ExprKind::Local(local) => match self.locals[local.index()] {
                Some(register) => register,
                None => self.unknown(ty),
            },
            ExprKind::Param(param) => {
                let word = self.layout.word(param);
                self.leaf(ProofInput::Argument { word, ty })
            }
            ExprKind::Dim { tensor, axis } => {
                let word = self.layout.word(tensor) + 1 + usize::from(axis);
                self.leaf(ProofInput::Argument { word, ty })
            }
            ExprKind::Unary { op, value } => match op {
                UnaryOp::Neg | UnaryOp::Not => {
                    let make = if op == UnaryOp::Neg { IntervalOp::Neg } else { IntervalOp::Not };
                    let value = self.value(value);
                    self.compute(make(ty, value))
                }
                UnaryOp::CountOnes | UnaryOp::LeadingZeros | UnaryOp::TrailingZeros => {
                    let most = Interval { lo: 0, hi: 8 * ty.size() as i128 };
                    self.constant(most)
                }
                UnaryOp::ReverseBits => self.unknown(ty),
            },
            ExprKind::Binary { op, lhs, rhs } => {
                let operands = nodes.exprs[lhs].ty;
                if operands.is_float() {
                    return self.unknown(ty);
                }
                let (lhs, rhs) = (self.value(lhs), self.value(rhs));
                self.compute(IntervalOp::Binary(op, operands, lhs, rhs))
            }
            ExprKind::Math { function, ref args } => match (function, &args[..]) {
                (MathFn::Min | MathFn::Max, &[a, b]) => {
                    let (a, b) = (self.value(a), self.value(b));
                    self.compute(IntervalOp::Limit(function, a, b))
                }
                (MathFn::Abs, &[a]) => {
                    let a = self.value(a);
                    self.compute(IntervalOp::Abs(ty, a))
                }
                _ => self.unknown(ty),
            },
            ExprKind::Cast { value } => {
                if nodes.exprs[value].ty.is_float() {
                    return self.unknown(ty);
                }
                let value = self.value(value);
                self.compute(IntervalOp::Cast(ty, value))
            }
            ExprKind::Select { cond, then, otherwise } => self.selected(cond, then, otherwise),
            ExprKind::DivRem { op, lhs, rhs, .. } => {
                let (lhs, rhs) = (self.value(lhs), self.value(rhs));
                self.compute(IntervalOp::DivRem(op, ty, lhs, rhs))
            }
            ExprKind::Load(Element { array: Array::Local(array), .. }) => {
                match self.tables.get(&array) {
                    Some(values) => self.constant(*values),
                    None => self.unknown(ty),
                }
            }
            ExprKind::Bits { .. }
            | ExprKind::Temp(_)
            | ExprKind::Load(_)
            | ExprKind::Atomic { .. } => self.unknown(ty),
        }
    }
}

/// Whether a value uses only immutable locals, so that it is the same wherever they are in scope.
pub(super) fn uses_only_immutable(nodes: Nodes<'_>, value: ExprId) -> bool {
    let mut reach = Reach::new(nodes);
    nodes.reach_expr(value, &mut reach);
    reach.reads_only_immutable(nodes)
}

/// The locals that the proof depends on.
pub(super) fn relevant(nodes: Nodes<'_>, task: &Task) -> Vec<bool> {
    let mut reach = Reach::new(nodes);
    let mut lets = Vec::new();
    seed(nodes, task.prelude, &mut reach, &mut lets);
    seed(nodes, task.body, &mut reach, &mut lets);
    // Definitions precede uses, so one backward pass is enough.
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
                if let Some(element) = nodes.exprs[value].kind.element() {
                    element.index.iter().for_each(|index| nodes.reach_expr(*index, reach));
                }
            }
            Stmt::Assign { local, value } => lets.push((local, value)),
            Stmt::Eval { value } => nodes.reach_expr(value, reach),
            Stmt::Store { ref element, .. } => {
                element.index.iter().for_each(|index| nodes.reach_expr(*index, reach));
            }
            Stmt::If { cond, .. } => nodes.reach_expr(cond, reach),
            Stmt::For { begin, end, .. } => {
                nodes.reach_expr(begin, reach);
                nodes.reach_expr(end, reach);
            }
            Stmt::Shared { .. } => {
                stmt.extent_locals().for_each(|local| reach.locals[local.index()] = true);
            }
            _ => {}
        }
        for block in stmt.blocks() {
            seed(nodes, block, reach, lets);
        }
    }
}

/// The locals that statements assign, with repetitions.
fn assigned_in(nodes: Nodes<'_>, stmts: &[Stmt]) -> Vec<LocalId> {
    let mut assigned = Vec::new();
    for stmt in stmts {
        if let Stmt::Assign { local, .. } = *stmt {
            assigned.push(local);
        }
        for inner in stmt.blocks() {
            assigned.extend(assigned_in(nodes, &nodes.blocks[inner].stmts));
        }
    }
    assigned
}
