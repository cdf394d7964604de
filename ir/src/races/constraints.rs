//! The solver of the race check: whether two accesses can touch the same element, as a system of linear constraints.
//!
//! Each of the two accesses has its own copy of the loop's variables; values that are the same in both are shared. The
//! system states that the indices are equal, that both accesses happen (their conditions hold, and the indices are in
//! range), and that the iterations differ. If it is refuted, the accesses are disjoint.
//!
//! An operation that is not linear gets a variable, and facts about it:
//!
//! * quotient and remainder: `a = q * b + r`, `0 <= r < b`;
//! * bit operations with constants: the bits are quotients and remainders;
//! * minimum, maximum, absolute value, selection: one fact per case;
//! * products: bounds, and `x < y` gives `f * y - f * x >= f` for values that are not negative, and for squares
//!   `x + y <= y * y - x * x <= 2 * h * (y - x) - (2 * h - x - y)`, where no value is above `h`;
//! * `x ^ j` with the same `j` in both, and the reversal of the lowest bits: equal if and only if the `x` are equal,
//!   and one result equals the other `x` if and only if the reverse holds;
//! * if each bit of an index is an exclusive or of bits of loop variables, these bits decide ([`bits`]);
//! * tickets of the same cell reserve different numbers;
//! * prefix sums over the threads of a block grow from thread to thread by the amounts;
//! * elements of a tensor that the loop does not change: equal if the indices are; if all its elements differ, also
//!   only then;
//! * a computation that may overflow: the value minus an unknown multiple of the type's size.

mod arithmetic;
mod bits;
mod relations;
mod sums;

use std::{cell::Cell, collections::HashMap};

use smallvec::SmallVec;

use super::{
    TensorRead, TicketSource, ValueGraph, VarKind, VarSpace,
    solve::{Constraint, LinearExpr, LinearSystem, SystemVar},
    value_graph::{IntType, NodeId, Uniformity, ValueNode, argument, int_range, shift, widens},
};
use crate::{BinaryOp, DivRemOp, MathFn, ScalarType, UnaryOp};

/// The maximum depth of an operation. Deeper ones are unknown.
const MAX_DEPTH: u32 = 200;

/// A condition that holds, or does not, where an access happens.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Condition {
    /// The node of the condition.
    pub node: NodeId,
    /// Its value.
    pub holds: bool,
}

/// An access, as far as the solver needs it.
#[derive(Clone, Copy, Debug)]
pub struct ConditionalAccess<'a> {
    /// One node per dimension.
    pub index: &'a [NodeId],
    /// The extents of the accessed object, as far as known. Outside of them nothing is accessed.
    pub extents: &'a [NodeId],
    /// The conditions under which the access happens.
    pub conditions: &'a [Condition],
}

/// The loop of one of the two accesses.
#[derive(Clone, Copy)]
pub struct LoopContext<'a> {
    /// The operations of the loop.
    pub graph: &'a ValueGraph,
    /// The argument block.
    pub args: &'a [u64],
    /// The variables of the loop. Only the ranges of the parallel variables and the kinds are used.
    pub space: &'a VarSpace,
    /// Whether the counter with this index is known not to overflow.
    pub is_counter: &'a dyn Fn(usize) -> bool,
    /// The work that the solver may still do, in combinations of two constraints. A refutation takes from it, at most
    /// [`MAX_WORK`](super::MAX_WORK), and finds nothing without it.
    pub budget: &'a Cell<usize>,
}

/// Whether two accesses of one loop never touch the same element in different iterations, according to the solver.
#[must_use]
pub fn refuted_in_loop(
    context: LoopContext<'_>,
    a: ConditionalAccess<'_>,
    b: ConditionalAccess<'_>,
) -> bool {
    let budget = context.budget;
    let mut builder = ConstraintBuilder::new([context, context], true);
    if builder.bits_differ([a, b]) {
        return true;
    }
    builder.accesses([a, b]);
    builder.iterations_differ();
    builder.complete();
    builder.system.is_refuted(budget)
}

/// Whether an access of one loop and an access of another never touch the same element, according to the solver.
#[must_use]
pub fn refuted_between(
    contexts: [LoopContext<'_>; 2],
    a: ConditionalAccess<'_>,
    b: ConditionalAccess<'_>,
) -> bool {
    let budget = contexts[0].budget;
    let mut builder = ConstraintBuilder::new(contexts, false);
    builder.accesses([a, b]);
    builder.complete();
    builder.system.is_refuted(budget)
}

/// Whether the conditions of an access never hold, according to the solver.
#[must_use]
pub fn never_happens(context: LoopContext<'_>, a: ConditionalAccess<'_>) -> bool {
    let budget = context.budget;
    let mut builder = ConstraintBuilder::new([context, context], true);
    builder.happens(0, a);
    builder.complete();
    builder.system.is_refuted(budget)
}

/// Whether a node of type `ty` is at least `least`, or at most `most`, wherever the conditions hold, according to the
/// solver.
#[must_use]
pub fn is_bounded(
    context: LoopContext<'_>,
    conditions: &[Condition],
    (id, ty): (NodeId, IntType),
    bound: Bound,
) -> bool {
    let mut builder = ConstraintBuilder::new([context, context], true);
    builder.happens(0, ConditionalAccess { index: &[], extents: &[], conditions });
    let Some(value) = builder.exact(0, id, ty) else { return false };
    let outside = match bound {
        Bound::AtLeast(least) => Constraint::less(&value, &LinearExpr::constant(least)),
        Bound::AtMost(most) => Constraint::less(&LinearExpr::constant(most), &value),
    };
    let Some(outside) = outside else { return false };
    builder.system.add(outside);
    builder.complete();
    builder.system.is_refuted(context.budget)
}

/// The smallest and the largest value of a node of type `ty`, if they are known.
#[must_use]
pub fn range_of(context: LoopContext<'_>, id: NodeId, ty: IntType) -> Option<(i128, i128)> {
    let mut builder = ConstraintBuilder::new([context, context], true);
    let value = builder.exact(0, id, ty)?;
    builder.system.range(&value)
}

/// The smallest and the largest difference of two nodes of type `ty`, the first minus the second, if they are known.
#[must_use]
pub fn difference(
    context: LoopContext<'_>,
    [a, b]: [NodeId; 2],
    ty: IntType,
) -> Option<(i128, i128)> {
    let mut builder = ConstraintBuilder::new([context, context], true);
    let (a, b) = (builder.exact(0, a, ty)?, builder.exact(0, b, ty)?);
    let difference = a.sub(&b)?;
    let (least, most) = builder.system.range(&difference)?;
    let by_operands = builder.range_without_limits(&difference);
    Some(by_operands.map_or((least, most), |(lo, hi)| (least.max(lo), most.min(hi))))
}

/// A limit of a value.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// The value is not smaller.
    AtLeast(i128),
    /// The value is not larger.
    AtMost(i128),
}

/// A read of a tensor.
#[derive(Clone, Copy)]
enum TensorReadIndex {
    /// Of one whose elements all differ, by the index in [`ValueGraph::distinct`].
    Distinct(usize),
    /// Of one that the loop does not change, by the index in [`ValueGraph::reads`].
    Any(usize),
}

/// An operation that is its own inverse.
#[derive(Clone, PartialEq, Eq)]
enum SelfInverseOp {
    /// The exclusive or with a value.
    Xor(LinearExpr),
    /// The reversal of this number of the lowest bits, where all others are zero.
    ReverseBits(u32),
}

struct ConstraintBuilder<'a> {
    sides: [LoopContext<'a>; 2],
    /// Whether both sides are iterations of the same loop.
    is_same_loop: bool,
    system: LinearSystem,
    modular: HashMap<(usize, NodeId), Option<LinearExpr>>,
    exact: HashMap<(usize, NodeId), Option<LinearExpr>>,
    shared: HashMap<NodeId, bool>,
    /// The variables of the parallel loop.
    dims: HashMap<(usize, usize), SystemVar>,
    products: HashMap<(SystemVar, SystemVar), SystemVar>,
    /// Variables that stand for values of several variables, without the constant.
    compounds: HashMap<LinearExpr, SystemVar>,
    /// Quotients and remainders that are rounded towards zero.
    quotients: HashMap<(LinearExpr, LinearExpr), (LinearExpr, LinearExpr)>,
    /// Quotients and remainders that are rounded down.
    floors: HashMap<(LinearExpr, i128), (LinearExpr, LinearExpr)>,
    /// Operations that are their own inverse: by side, the operation, the operand and the result.
    involutions: Vec<(usize, SelfInverseOp, [LinearExpr; 2])>,
    /// Minima and maxima, with their operands.
    limits: Vec<(MathFn, SystemVar, [LinearExpr; 2])>,
    /// Tickets by side.
    tickets: Vec<(usize, usize, LinearExpr)>,
    /// Elements of tensors by side.
    elements: Vec<(usize, TensorReadIndex, LinearExpr)>,
    depth: u32,
}

impl<'a> ConstraintBuilder<'a> {
    fn new(sides: [LoopContext<'a>; 2], is_same_loop: bool) -> Self {
        Self {
            sides,
            is_same_loop,
            system: LinearSystem::default(),
            modular: HashMap::new(),
            exact: HashMap::new(),
            shared: HashMap::new(),
            dims: HashMap::new(),
            products: HashMap::new(),
            compounds: HashMap::new(),
            quotients: HashMap::new(),
            floors: HashMap::new(),
            involutions: Vec::new(),
            limits: Vec::new(),
            tickets: Vec::new(),
            elements: Vec::new(),
            depth: 0,
        }
    }

    /// States that both accesses happen and that their indices are equal.
    fn accesses(&mut self, accesses: [ConditionalAccess<'_>; 2]) {
        let [a, b] = accesses;
        for (x, y) in a.index.iter().zip(b.index) {
            let types = self.sides.map(|side| side.graph.index_type);
            let (x, y) = (self.exact(0, *x, types[0]), self.exact(1, *y, types[1]));
            let equal = x.zip(y).and_then(|(x, y)| Constraint::equal(&x, &y));
            self.system.add(equal);
        }
        for (side, access) in accesses.into_iter().enumerate() {
            self.happens(side, access);
        }
    }

    /// States that an access happens.
    fn happens(&mut self, side: usize, access: ConditionalAccess<'_>) {
        let ty = self.sides[side].graph.index_type;
        for (at, extent) in access.index.iter().zip(access.extents) {
            let (at, extent) = (self.exact(side, *at, ty), self.exact(side, *extent, ty));
            if let (Some(at), Some(extent)) = (at, extent) {
                self.system.add(Constraint::less(&at, &extent));
                self.system.add(Constraint::NonNegative(at));
            }
        }
        for condition in access.conditions {
            let truth = self.truth(side, condition.node, condition.holds);
            self.system.add(truth);
        }
    }

    /// States that a variable of the parallel loop differs.
    fn iterations_differ(&mut self) {
        let space = self.sides[0].space;
        let mut cases = Vec::new();
        for at in space.parallel_vars() {
            let [x, y] = [0, 1].map(|side| LinearExpr::var(self.dim(side, at)));
            cases
                .extend([Constraint::less(&x, &y), Constraint::less(&y, &x)].into_iter().flatten());
        }
        self.system.add(Constraint::Any(cases));
    }

    /// The variable of the parallel loop, or the fixed value, with this index in the space.
    fn dim(&mut self, side: usize, at: usize) -> SystemVar {
        let var = self.sides[side].space.var(at);
        let shared = self.is_same_loop && var.kind == VarKind::Fixed;
        let key = (if shared { 0 } else { side }, at);
        let (system, dims) = (&mut self.system, &mut self.dims);
        *dims.entry(key).or_insert_with(|| system.variable(var.first, var.last))
    }

    /// Whether a node has the same value on both sides.
    fn is_shared(&mut self, id: NodeId) -> bool {
        if !self.is_same_loop {
            return false;
        }
        if let Some(shared) = self.shared.get(&id) {
            return *shared;
        }
        let context = self.sides[0];
        let is_fixed = |at: usize| context.space.var(at).kind == VarKind::Fixed;
        let in_block = context.space.is_in_block();
        let shared = match context.graph.nodes[id as usize] {
            ValueNode::Const(_) | ValueNode::Argument { .. } => true,
            ValueNode::Var(at) => is_fixed(at),
            ValueNode::Inner { uniformity, .. } | ValueNode::Unknown { uniformity, .. } => {
                match uniformity {
                    Uniformity::Loop => true,
                    Uniformity::Block => in_block,
                    Uniformity::Iteration => false,
                }
            }
            ValueNode::Ticket { counter, .. } => {
                in_block && context.graph.counters[counter].is_of_one_thread
            }
            node => {
                let operands = match node {
                    ValueNode::Distinct(read) => context.graph.distinct[read].index.clone(),
                    _ => node.operands(),
                };
                self.depth += 1;
                let shallow = self.depth < MAX_DEPTH;
                let all = shallow && operands.iter().all(|id| self.is_shared(*id));
                self.depth -= 1;
                all
            }
        };
        self.shared.insert(id, shared);
        shared
    }

    fn fresh(&mut self, lo: i128, hi: i128) -> LinearExpr {
        LinearExpr::var(self.system.variable(lo, hi))
    }

    fn fresh_of(&mut self, ty: IntType) -> LinearExpr {
        let (lo, hi) = int_range(ty);
        self.fresh(lo, hi)
    }

    /// The variable of an inner loop. Nothing uses it if the loop has no iteration.
    fn loop_variable(&mut self, side: usize, ty: IntType, bounds: [NodeId; 2]) -> LinearExpr {
        let [begin, end] = bounds.map(|bound| {
            let bound = self.exact(side, bound, ty)?;
            self.system.range(&bound)
        });
        let all = int_range(ty);
        let first = begin.map_or(all.0, |begin| begin.0.max(all.0));
        let last = end.map_or(all.1, |end| all.1.min(end.1 - 1));
        self.fresh(first, last.max(first))
    }

    /// The node's value, exactly. `ty` is its type.
    fn exact(&mut self, side: usize, id: NodeId, ty: IntType) -> Option<LinearExpr> {
        let side = if self.is_shared(id) { 0 } else { side };
        if let Some(value) = self.exact.get(&(side, id)) {
            return value.clone();
        }
        let value = self.modular(side, id);
        let value = value.and_then(|value| self.wrapped(value, ty));
        self.exact.insert((side, id), value.clone());
        value
    }

    /// The value in type `ty` that equals `value` modulo the type's size.
    fn wrapped(&mut self, value: LinearExpr, ty: IntType) -> Option<LinearExpr> {
        let (Some(scalar), (lo, hi)) = (ty, int_range(ty)) else { return Some(value) };
        let mut range = self.system.range(&value)?;
        if range.0 >= lo && range.1 <= hi {
            return Some(value);
        }
        if let Some(exact) = self.range_without_limits(&value) {
            range = (range.0.max(exact.0), range.1.min(exact.1));
            if range.0 >= lo && range.1 <= hi {
                let narrow = self.fresh(range.0, range.1);
                self.system.add(Constraint::equal(&narrow, &value));
                return Some(narrow);
            }
        }
        let size = if scalar == ScalarType::Bool { 2 } else { 1 << (8 * scalar.size()) };
        let times = (-(hi - range.0).div_euclid(size), (range.1 - lo).div_euclid(size));
        let times = self.fresh(times.0, times.1);
        let value = value.plus(-size, &times)?;
        self.system.add(Constraint::at_most(&LinearExpr::constant(lo), &value));
        self.system.add(Constraint::at_most(&value, &LinearExpr::constant(hi)));
        Some(value)
    }

    /// The range of a value with one minimum or maximum, which is that of the operands in its place.
    fn range_without_limits(&self, value: &LinearExpr) -> Option<(i128, i128)> {
        let coefficient = |var: SystemVar| value.terms().iter().find(|term| term.0 == var);
        let mut limits = self.limits.iter();
        let (function, limit, operands, coef) =
            limits.find_map(|(function, limit, operands)| {
                Some((*function, *limit, operands, coefficient(*limit)?.1))
            })?;
        let [(a, b), (c, d)] = {
            let range = |by: &LinearExpr| {
                let rest = value.plus(-coef, &LinearExpr::var(limit))?;
                self.system.range(&rest.plus(coef, by)?)
            };
            [range(&operands[0])?, range(&operands[1])?]
        };
        // The value is not below, or not above, that with either operand.
        let is_upper = (function == MathFn::Max) == (coef > 0);
        Some(if is_upper { (a.max(c), b.max(d)) } else { (a.min(c), b.min(d)) })
    }

    /// The node's value modulo the size of its type.
    fn modular(&mut self, side: usize, id: NodeId) -> Option<LinearExpr> {
        let side = if self.is_shared(id) { 0 } else { side };
        if let Some(value) = self.modular.get(&(side, id)) {
            return value.clone();
        }
        self.depth += 1;
        let value = if self.depth < MAX_DEPTH { self.operation(side, id) } else { None };
        self.depth -= 1;
        self.modular.insert((side, id), value.clone());
        value
    }

    fn operation(&mut self, side: usize, id: NodeId) -> Option<LinearExpr> {
        let LoopContext { graph, args, .. } = self.sides[side];
        match graph.nodes[id as usize] {
            ValueNode::Const(value) => Some(LinearExpr::constant(value)),
            ValueNode::Argument { word, ty } => match argument(args, word, ty) {
                Some(value) => Some(LinearExpr::constant(value)),
                None => Some(self.fresh_of(Some(ty))),
            },
            ValueNode::Var(at) => Some(LinearExpr::var(self.dim(side, at))),
            ValueNode::Inner { ty, begin, end, .. } => {
                Some(self.loop_variable(side, ty, [begin, end]))
            }
            ValueNode::Unknown { ty, .. } => {
                let value = self.total(side, id, ty).or_else(|| self.stored(side, id, ty));
                let value = value.unwrap_or_else(|| self.fresh_of(ty));
                let read = graph.reads.iter().position(|(load, _)| *load == id);
                if let Some(read) = read.filter(|_| self.is_same_loop) {
                    self.elements.push((side, TensorReadIndex::Any(read), value.clone()));
                }
                Some(value)
            }
            ValueNode::Ticket { counter, .. } => {
                let sum = self.prefix_sum(side, counter);
                let ticket = sum.unwrap_or_else(|| match graph.counters[counter].ty {
                    // Only the launch knows whether a counter begins below zero.
                    None => self.fresh(0, int_range(None).1),
                    ty => self.fresh_of(ty),
                });
                self.tickets.push((side, counter, ticket.clone()));
                self.limit_by_total(side, counter, &ticket);
                Some(ticket)
            }
            ValueNode::Distinct(read) => {
                let value = self.fresh_of(graph.distinct[read].ty);
                self.elements.push((side, TensorReadIndex::Distinct(read), value.clone()));
                Some(value)
            }
            ValueNode::Unary(op, ty, a) => match op {
                UnaryOp::Neg => self.modular(side, a)?.scale(-1),
                UnaryOp::Not => {
                    let all = if ty == Some(ScalarType::Bool) { 1 } else { -1 };
                    self.modular(side, a)?.scale(-1)?.add_constant(all)
                }
                UnaryOp::CountOnes | UnaryOp::LeadingZeros | UnaryOp::TrailingZeros => {
                    Some(self.fresh(0, 64))
                }
                UnaryOp::ReverseBits => {
                    let bits = shift_width(ty)?;
                    self.reversed(side, a, ty, bits)
                }
            },
            ValueNode::Abs(ty, a) => {
                let a = self.exact(side, a, ty)?;
                let (lo, hi) = self.system.range(&a)?;
                let value = self.fresh(0, hi.max(lo.checked_neg()?));
                let negative = a.scale(-1)?;
                let cases = [&a, &negative].map(|case| {
                    let holds = Constraint::NonNegative(case.clone());
                    Some(Constraint::All(vec![holds, Constraint::equal(&value, case)?]))
                });
                self.any(cases);
                Some(value)
            }
            ValueNode::Binary(op, ty, a, b) => self.binary(side, id, op, ty, [a, b]),
            ValueNode::DivRem(op, ty, a, b) => {
                let (a, b) = (self.exact(side, a, ty)?, self.exact(side, b, ty)?);
                let (quotient, remainder) = self.truncated(&a, &b)?;
                Some(if op == DivRemOp::Div { quotient } else { remainder })
            }
            ValueNode::Limit(function, ty, a, b) => {
                let (a, b) = (self.exact(side, a, ty)?, self.exact(side, b, ty)?);
                let (least, most) = self.system.range(&a.sub(&b)?)?;
                if least >= 0 || most <= 0 {
                    return Some(if (function == MathFn::Max) == (least >= 0) { a } else { b });
                }
                let (x, y) = (self.system.range(&a)?, self.system.range(&b)?);
                let is_min = function == MathFn::Min;
                let (lo, hi) = if is_min {
                    (x.0.min(y.0), x.1.min(y.1))
                } else {
                    (x.0.max(y.0), x.1.max(y.1))
                };
                // Operands that may wrap have wider ranges than their type.
                let of_type = int_range(ty);
                let (lo, hi) = (lo.max(of_type.0), hi.min(of_type.1));
                let limit = self.system.variable(lo, hi);
                let value = LinearExpr::var(limit);
                for operand in [&a, &b] {
                    let [less, more] = if is_min { [&value, operand] } else { [operand, &value] };
                    self.system.add(Constraint::at_most(less, more));
                }
                self.any([&a, &b].map(|case| Constraint::equal(&value, case)));
                self.limits.push((function, limit, [a, b]));
                Some(value)
            }
            ValueNode::Select(cond, then, otherwise) => self.select(side, cond, [otherwise, then]),
            ValueNode::Cast { from, to, value } => {
                if widens(from, to) {
                    self.exact(side, value, from)
                } else {
                    self.modular(side, value)
                }
            }
        }
    }

    /// Adds a disjunction, unless a case could not be stated.
    fn any<const N: usize>(&mut self, cases: [Option<Constraint>; N]) {
        let cases: Option<Vec<Constraint>> = cases.into_iter().collect();
        self.system.add(cases.map(Constraint::Any));
    }

    fn select(&mut self, side: usize, cond: NodeId, values: [NodeId; 2]) -> Option<LinearExpr> {
        let cases = [false, true].map(|is| self.truth(side, cond, is));
        let values = values.map(|id| self.modular(side, id));
        let [Some(otherwise), Some(then)] = &values else { return None };
        let (x, y) = (self.system.range(otherwise)?, self.system.range(then)?);
        let value = self.fresh(x.0.min(y.0), x.1.max(y.1));
        let equal = |by: &LinearExpr| Constraint::equal(&value, by);
        let [if_not, if_so] = cases;
        let all = |cond: Option<Constraint>, equal: Constraint| {
            Constraint::All(cond.into_iter().chain([equal]).collect())
        };
        let cases = [all(if_not, equal(otherwise)?), all(if_so, equal(then)?)];
        self.system.add(Constraint::Any(cases.into()));
        Some(value)
    }

    fn binary(
        &mut self,
        side: usize,
        id: NodeId,
        op: BinaryOp,
        ty: IntType,
        [a, b]: [NodeId; 2],
    ) -> Option<LinearExpr> {
        match op {
            BinaryOp::Add => return self.modular(side, a)?.add(&self.modular(side, b)?),
            BinaryOp::Sub => {
                let (x, y) = (self.modular(side, a)?, self.modular(side, b)?);
                return self.without_remainder(&x, &y).or_else(|| x.sub(&y));
            }
            BinaryOp::Mul => {
                let (x, y) = (self.modular(side, a)?, self.modular(side, b)?);
                return match (x.value(), y.value()) {
                    (Some(by), _) => y.scale(by),
                    (_, Some(by)) => x.scale(by),
                    _ => {
                        let (x, y) = (self.exact(side, a, ty)?, self.exact(side, b, ty)?);
                        let product = self.product(&x, &y)?;
                        self.within_corners(product, [&x, &y])
                    }
                };
            }
            BinaryOp::Shl => {
                let count = self.modular(side, b)?.value();
                return match count.and_then(|count| shift(count, ty)) {
                    Some(count) => self.modular(side, a)?.scale(1 << count),
                    None => Some(self.fresh_of(ty)),
                };
            }
            _ => {}
        }
        let is_bool = ty == Some(ScalarType::Bool);
        if op.is_comparison() || is_bool {
            let value = self.fresh(0, 1);
            let cases = [0, 1].map(|is| {
                let truth = self.comparison(side, op, ty, [a, b], is == 1);
                let equal = Constraint::equal(&value, &LinearExpr::constant(is));
                Some(Constraint::All(truth.into_iter().chain(equal).collect()))
            });
            self.any(cases);
            return Some(value);
        }
        let (x, y) = (self.exact(side, a, ty)?, self.exact(side, b, ty)?);
        let (range_x, range_y) = (self.system.range(&x)?, self.system.range(&y)?);
        if op == BinaryOp::Shr {
            let count = self.modular(side, b)?.value();
            // The reversal of the lowest bits only.
            if let Some(count) = count.and_then(|count| shift(count, ty))
                && let Some((of, value)) = self.reversal(side, a, ty)
                && let Some(bits) = shift_width(of)?.checked_sub(count)
            {
                return self.reversed(side, value, of, bits);
            }
            return match count.and_then(|count| shift(count, ty)) {
                Some(count) => Some(self.floored(&x, 1 << count)?.0),
                None => {
                    let value = self.fresh_of(ty);
                    if range_x.0 >= 0 {
                        self.system.add(Constraint::at_most(&value, &x));
                        self.system.add(Constraint::NonNegative(value.clone()));
                    }
                    Some(value)
                }
            };
        }
        let value = match (x.value(), y.value()) {
            (Some(mask), _) => self.masked(op, &y, mask)?,
            (_, Some(mask)) => self.masked(op, &x, mask)?,
            _ if op != BinaryOp::And
                && (x.has_bits_above(range_y) || y.has_bits_above(range_x)) =>
            {
                x.add(&y)?
            }
            _ if range_x.0 >= 0 && range_y.0 >= 0 => self.combined_bits(op, ty, [&x, &y])?,
            _ => self.fresh_of(ty),
        };
        if op == BinaryOp::Xor && !self.is_shared(id) {
            let fixed = if self.is_shared(a) { Some([y.clone(), x.clone()]) } else { None };
            let fixed = fixed.or_else(|| self.is_shared(b).then_some([x, y]));
            if let Some([moving, fixed]) = fixed {
                let xor = SelfInverseOp::Xor(fixed);
                self.involutions.push((side, xor, [moving, value.clone()]));
            }
        }
        Some(value)
    }

    /// What holds if the node, a bool, has the value `is`. None if nothing is known.
    fn truth(&mut self, side: usize, id: NodeId, is: bool) -> Option<Constraint> {
        self.depth += 1;
        let truth = if self.depth < MAX_DEPTH { self.truth_of(side, id, is) } else { None };
        self.depth -= 1;
        truth
    }

    fn truth_of(&mut self, side: usize, id: NodeId, is: bool) -> Option<Constraint> {
        match self.sides[side].graph.nodes[id as usize] {
            ValueNode::Const(value) if (value != 0) == is => Some(Constraint::All(Vec::new())),
            ValueNode::Const(_) => Some(Constraint::Any(Vec::new())),
            ValueNode::Unary(UnaryOp::Not, Some(ScalarType::Bool), a) => self.truth(side, a, !is),
            ValueNode::Binary(op, ty, a, b)
                if op.is_comparison() || ty == Some(ScalarType::Bool) =>
            {
                self.comparison(side, op, ty, [a, b], is)
            }
            ValueNode::Select(cond, then, otherwise) => {
                let case = |this: &mut Self, cond_is: bool, value: NodeId| {
                    let (cond, value) =
                        (this.truth(side, cond, cond_is), this.truth(side, value, is));
                    Constraint::All(cond.into_iter().chain(value).collect())
                };
                Some(Constraint::Any(vec![case(self, true, then), case(self, false, otherwise)]))
            }
            ValueNode::Cast { from: Some(ScalarType::Bool), value, .. } => {
                self.truth(side, value, is)
            }
            _ => {
                let value = self.modular(side, id)?;
                Constraint::equal(&value, &LinearExpr::constant(is.into()))
            }
        }
    }

    /// What holds if a comparison, or an operator on bools, has the value `is`.
    fn comparison(
        &mut self,
        side: usize,
        op: BinaryOp,
        ty: IntType,
        [a, b]: [NodeId; 2],
        is: bool,
    ) -> Option<Constraint> {
        let is_bool = ty == Some(ScalarType::Bool);
        match op {
            BinaryOp::And | BinaryOp::Or if is_bool => {
                let sides = [a, b].map(|id| self.truth(side, id, is));
                if (op == BinaryOp::And) == is {
                    return Some(Constraint::All(sides.into_iter().flatten().collect()));
                }
                return sides.into_iter().collect::<Option<_>>().map(Constraint::Any);
            }
            _ => {}
        }
        let (x, y) = (self.exact(side, a, ty)?, self.exact(side, b, ty)?);
        let op = if op == BinaryOp::Xor { BinaryOp::Ne } else { op };
        match (op, is) {
            (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => Constraint::less(&x, &y),
            (BinaryOp::Le, true) | (BinaryOp::Gt, false) => Constraint::at_most(&x, &y),
            (BinaryOp::Gt, true) | (BinaryOp::Le, false) => Constraint::less(&y, &x),
            (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => Constraint::at_most(&y, &x),
            (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => Constraint::equal(&x, &y),
            (BinaryOp::Ne, true) | (BinaryOp::Eq, false) => Constraint::differ(&x, &y),
            _ => None,
        }
    }
}

/// The number of bits of an integer type.
fn shift_width(ty: IntType) -> Option<u32> {
    ty.map(|ty| 8 * ty.size() as u32)
}

/// The nodes of an access.
pub type Index = SmallVec<[NodeId; 3]>;
