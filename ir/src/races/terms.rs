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
//! * tickets of the same cell reserve different numbers;
//! * prefix sums over the threads of a block grow from thread to thread by the amounts;
//! * elements of a tensor whose elements all differ: equal if and only if the indices are;
//! * a computation that may overflow: the value minus an unknown multiple of the type's size.

mod relations;
mod sums;

use std::{cell::Cell, collections::HashMap};

use smallvec::SmallVec;

use super::{
    Program, Space, TicketSource, VarKind,
    node::{IntType, Node, Scope, Slot, argument, int_range, shift, widens},
    solve::{Formula, Linear, MAX_VALUE, System, Unknown},
};
use crate::{BinaryOp, DivRemOp, MathFn, ScalarType, UnaryOp};

/// The maximum depth of an operation. Deeper ones are unknown.
const MAX_DEPTH: u32 = 200;

/// A condition that holds, or does not, where an access happens.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// The slot of the condition.
    pub cond: Slot,
    /// Its value.
    pub is: bool,
}

/// An access, as far as the solver needs it.
#[derive(Clone, Copy, Debug)]
pub struct GuardedIndex<'a> {
    /// One slot per dimension.
    pub index: &'a [Slot],
    /// The extents of the accessed object, as far as known. Outside of them nothing is accessed.
    pub extents: &'a [Slot],
    /// The conditions under which the access happens.
    pub guards: &'a [Guard],
}

/// The loop of one of the two accesses.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The operations of the loop.
    pub program: &'a Program,
    /// The argument block.
    pub args: &'a [u64],
    /// The variables of the loop. Only the ranges of the parallel variables and the kinds are used.
    pub space: &'a Space,
    /// Whether the counter with this index is known not to overflow.
    pub is_counter: &'a dyn Fn(usize) -> bool,
    /// The work that the solver may still do, in combinations of two constraints. A refutation takes from it, at most
    /// [`MAX_WORK`], and finds nothing without it.
    pub budget: &'a Cell<usize>,
}

/// Whether two accesses of one loop never touch the same element in different iterations, according to the solver.
#[must_use]
pub fn refuted_in_loop(side: Side<'_>, a: GuardedIndex<'_>, b: GuardedIndex<'_>) -> bool {
    let budget = side.budget;
    let mut terms = Terms::new([side, side], true);
    terms.accesses([a, b]);
    terms.iterations_differ();
    terms.complete();
    terms.system.is_refuted(budget)
}

/// Whether an access of one loop and an access of another never touch the same element, according to the solver.
#[must_use]
pub fn refuted_between(sides: [Side<'_>; 2], a: GuardedIndex<'_>, b: GuardedIndex<'_>) -> bool {
    let budget = sides[0].budget;
    let mut terms = Terms::new(sides, false);
    terms.accesses([a, b]);
    terms.complete();
    terms.system.is_refuted(budget)
}

/// Whether the conditions of an access never hold, according to the solver.
#[must_use]
pub fn never_happens(side: Side<'_>, a: GuardedIndex<'_>) -> bool {
    let budget = side.budget;
    let mut terms = Terms::new([side, side], true);
    terms.happens(0, a);
    terms.complete();
    terms.system.is_refuted(budget)
}

/// The smallest and the largest value of a slot of type `ty`, if they are known.
#[must_use]
pub fn range_of(side: Side<'_>, slot: Slot, ty: IntType) -> Option<(i128, i128)> {
    let mut terms = Terms::new([side, side], true);
    let value = terms.exact(0, slot, ty)?;
    terms.system.range(&value)
}

/// An operation that is its own inverse.
#[derive(Clone, PartialEq, Eq)]
enum Involution {
    /// The exclusive disjunction with a value.
    Xor(Linear),
    /// The reversal of this number of the lowest bits, where all others are zero.
    ReverseBits(u32),
}

struct Terms<'a> {
    sides: [Side<'a>; 2],
    /// Whether both sides are iterations of the same loop.
    is_same_loop: bool,
    system: System,
    modular: HashMap<(usize, Slot), Option<Linear>>,
    exact: HashMap<(usize, Slot), Option<Linear>>,
    shared: HashMap<Slot, bool>,
    /// The variables of the parallel loop.
    dims: HashMap<(usize, usize), Unknown>,
    products: HashMap<(Unknown, Unknown), Unknown>,
    /// Variables that stand for values of several variables, without the constant.
    compounds: HashMap<Linear, Unknown>,
    /// Quotients and remainders that are rounded towards zero.
    quotients: HashMap<(Linear, Linear), (Linear, Linear)>,
    /// Quotients and remainders that are rounded down.
    floors: HashMap<(Linear, i128), (Linear, Linear)>,
    /// Operations that are their own inverse: by side, the operation, the operand and the result.
    involutions: Vec<(usize, Involution, [Linear; 2])>,
    /// Minima and maxima, with their operands.
    limits: Vec<(MathFn, Unknown, [Linear; 2])>,
    /// Tickets by side.
    tickets: Vec<(usize, usize, Linear)>,
    /// Elements of tensors whose elements all differ, by side.
    distinct: Vec<(usize, usize, Linear)>,
    depth: u32,
}

impl<'a> Terms<'a> {
    fn new(sides: [Side<'a>; 2], is_same_loop: bool) -> Self {
        Self {
            sides,
            is_same_loop,
            system: System::default(),
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
            distinct: Vec::new(),
            depth: 0,
        }
    }

    /// States that both accesses happen and that their indices are equal.
    fn accesses(&mut self, accesses: [GuardedIndex<'_>; 2]) {
        let [a, b] = accesses;
        for (x, y) in a.index.iter().zip(b.index) {
            let types = self.sides.map(|side| side.program.index_type);
            let (x, y) = (self.exact(0, *x, types[0]), self.exact(1, *y, types[1]));
            let equal = x.zip(y).and_then(|(x, y)| Formula::equal(&x, &y));
            self.system.add(equal);
        }
        for (side, access) in accesses.into_iter().enumerate() {
            self.happens(side, access);
        }
    }

    /// States that an access happens.
    fn happens(&mut self, side: usize, access: GuardedIndex<'_>) {
        let ty = self.sides[side].program.index_type;
        for (at, extent) in access.index.iter().zip(access.extents) {
            let (at, extent) = (self.exact(side, *at, ty), self.exact(side, *extent, ty));
            if let (Some(at), Some(extent)) = (at, extent) {
                self.system.add(Formula::less(&at, &extent));
                self.system.add(Formula::NonNegative(at));
            }
        }
        for guard in access.guards {
            let truth = self.truth(side, guard.cond, guard.is);
            self.system.add(truth);
        }
    }

    /// States that a variable of the parallel loop differs.
    fn iterations_differ(&mut self) {
        let space = self.sides[0].space;
        let mut cases = Vec::new();
        for at in space.parallel_vars() {
            let [x, y] = [0, 1].map(|side| Linear::var(self.dim(side, at)));
            cases.extend([Formula::less(&x, &y), Formula::less(&y, &x)].into_iter().flatten());
        }
        self.system.add(Formula::Any(cases));
    }

    /// The variable of the parallel loop, or the fixed value, with this index in the space.
    fn dim(&mut self, side: usize, at: usize) -> Unknown {
        let var = self.sides[side].space.var(at);
        let shared = self.is_same_loop && var.kind == VarKind::Fixed;
        let key = (if shared { 0 } else { side }, at);
        let (system, dims) = (&mut self.system, &mut self.dims);
        *dims.entry(key).or_insert_with(|| system.variable(var.first, var.last))
    }

    /// Whether a slot has the same value on both sides.
    fn is_shared(&mut self, slot: Slot) -> bool {
        if !self.is_same_loop {
            return false;
        }
        if let Some(shared) = self.shared.get(&slot) {
            return *shared;
        }
        let side = self.sides[0];
        let is_fixed = |at: usize| side.space.var(at).kind == VarKind::Fixed;
        let in_block = side.space.is_in_block();
        let shared = match side.program.steps[slot as usize] {
            Node::Const(_) | Node::Argument { .. } => true,
            Node::Var(at) => is_fixed(at),
            Node::Inner { scope, .. } | Node::Unknown { scope, .. } => match scope {
                Scope::Loop => true,
                Scope::Block => in_block,
                Scope::Iteration => false,
            },
            Node::Ticket { counter, .. } => {
                in_block && side.program.counters[counter].is_of_one_thread
            }
            node => {
                let operands = match node {
                    Node::Distinct(read) => side.program.distinct[read].index.clone(),
                    _ => node.operands(),
                };
                self.depth += 1;
                let shallow = self.depth < MAX_DEPTH;
                let all = shallow && operands.iter().all(|slot| self.is_shared(*slot));
                self.depth -= 1;
                all
            }
        };
        self.shared.insert(slot, shared);
        shared
    }

    fn fresh(&mut self, lo: i128, hi: i128) -> Linear {
        Linear::var(self.system.variable(lo, hi))
    }

    fn fresh_of(&mut self, ty: IntType) -> Linear {
        let (lo, hi) = int_range(ty);
        self.fresh(lo, hi)
    }

    /// The variable of an inner loop. Nothing uses it if the loop has no iteration.
    fn loop_variable(&mut self, side: usize, ty: IntType, bounds: [Slot; 2]) -> Linear {
        let [begin, end] = bounds.map(|bound| {
            let bound = self.exact(side, bound, ty)?;
            self.system.range(&bound)
        });
        let all = int_range(ty);
        let first = begin.map_or(all.0, |begin| begin.0.max(all.0));
        let last = end.map_or(all.1, |end| all.1.min(end.1 - 1));
        self.fresh(first, last.max(first))
    }

    /// The slot's value, exactly. `ty` is its type.
    fn exact(&mut self, side: usize, slot: Slot, ty: IntType) -> Option<Linear> {
        let side = if self.is_shared(slot) { 0 } else { side };
        if let Some(value) = self.exact.get(&(side, slot)) {
            return value.clone();
        }
        let value = self.modular(side, slot);
        let value = value.and_then(|value| self.wrapped(value, ty));
        self.exact.insert((side, slot), value.clone());
        value
    }

    /// The value in type `ty` that equals `value` modulo the type's size.
    fn wrapped(&mut self, value: Linear, ty: IntType) -> Option<Linear> {
        let (Some(scalar), (lo, hi)) = (ty, int_range(ty)) else { return Some(value) };
        let mut range = self.system.range(&value)?;
        if range.0 >= lo && range.1 <= hi {
            return Some(value);
        }
        if let Some(exact) = self.range_without_limits(&value) {
            range = (range.0.max(exact.0), range.1.min(exact.1));
            if range.0 >= lo && range.1 <= hi {
                let narrow = self.fresh(range.0, range.1);
                self.system.add(Formula::equal(&narrow, &value));
                return Some(narrow);
            }
        }
        let size = if scalar == ScalarType::Bool { 2 } else { 1 << (8 * scalar.size()) };
        let times = ((range.0 - hi).div_euclid(size), (range.1 - lo).div_euclid(size) + 1);
        let times = self.fresh(times.0, times.1);
        let value = value.plus(-size, &times)?;
        self.system.add(Formula::at_most(&Linear::constant(lo), &value));
        self.system.add(Formula::at_most(&value, &Linear::constant(hi)));
        Some(value)
    }

    /// The range of a value with one minimum or maximum, which is that of the operands in its place.
    fn range_without_limits(&self, value: &Linear) -> Option<(i128, i128)> {
        let coefficient = |var: Unknown| value.terms().iter().find(|term| term.0 == var);
        let mut limits = self.limits.iter();
        let (function, limit, operands, coef) =
            limits.find_map(|(function, limit, operands)| {
                Some((*function, *limit, operands, coefficient(*limit)?.1))
            })?;
        let [(a, b), (c, d)] = {
            let range = |by: &Linear| {
                let rest = value.plus(-coef, &Linear::var(limit))?;
                self.system.range(&rest.plus(coef, by)?)
            };
            [range(&operands[0])?, range(&operands[1])?]
        };
        // The value is not below, or not above, that with either operand.
        let is_upper = (function == MathFn::Max) == (coef > 0);
        Some(if is_upper { (a.max(c), b.max(d)) } else { (a.min(c), b.min(d)) })
    }

    /// The slot's value modulo the size of its type.
    fn modular(&mut self, side: usize, slot: Slot) -> Option<Linear> {
        let side = if self.is_shared(slot) { 0 } else { side };
        if let Some(value) = self.modular.get(&(side, slot)) {
            return value.clone();
        }
        self.depth += 1;
        let value = if self.depth < MAX_DEPTH { self.operation(side, slot) } else { None };
        self.depth -= 1;
        self.modular.insert((side, slot), value.clone());
        value
    }

    fn operation(&mut self, side: usize, slot: Slot) -> Option<Linear> {
        let Side { program, args, .. } = self.sides[side];
        match program.steps[slot as usize] {
            Node::Const(value) => Some(Linear::constant(value)),
            Node::Argument { word, ty } => match argument(args, word, ty) {
                Some(value) => Some(Linear::constant(value)),
                None => Some(self.fresh_of(Some(ty))),
            },
            Node::Var(at) => Some(Linear::var(self.dim(side, at))),
            Node::Inner { ty, begin, end, .. } => Some(self.loop_variable(side, ty, [begin, end])),
            Node::Unknown { ty, .. } => {
                let value = self.total(side, slot, ty).or_else(|| self.stored(side, slot, ty));
                Some(value.unwrap_or_else(|| self.fresh_of(ty)))
            }
            Node::Ticket { counter, .. } => {
                let sum = self.prefix_sum(side, counter);
                let ticket = sum.unwrap_or_else(|| match program.counters[counter].ty {
                    // Only the launch knows whether a counter begins below zero.
                    None => self.fresh(0, int_range(None).1),
                    ty => self.fresh_of(ty),
                });
                self.tickets.push((side, counter, ticket.clone()));
                Some(ticket)
            }
            Node::Distinct(read) => {
                let value = self.fresh_of(program.distinct[read].ty);
                self.distinct.push((side, read, value.clone()));
                Some(value)
            }
            Node::Unary(op, ty, a) => match op {
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
            Node::Abs(ty, a) => {
                let a = self.exact(side, a, ty)?;
                let (lo, hi) = self.system.range(&a)?;
                let value = self.fresh(0, hi.max(lo.checked_neg()?));
                let negative = a.scale(-1)?;
                let cases = [&a, &negative].map(|case| {
                    let holds = Formula::NonNegative(case.clone());
                    Some(Formula::All(vec![holds, Formula::equal(&value, case)?]))
                });
                self.any(cases);
                Some(value)
            }
            Node::Binary(op, ty, a, b) => self.binary(side, slot, op, ty, [a, b]),
            Node::DivRem(op, ty, a, b) => {
                let (a, b) = (self.exact(side, a, ty)?, self.exact(side, b, ty)?);
                let (quotient, remainder) = self.truncated(&a, &b)?;
                Some(if op == DivRemOp::Div { quotient } else { remainder })
            }
            Node::Limit(function, ty, a, b) => {
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
                let limit = self.system.variable(lo, hi);
                let value = Linear::var(limit);
                for operand in [&a, &b] {
                    let [less, more] = if is_min { [&value, operand] } else { [operand, &value] };
                    self.system.add(Formula::at_most(less, more));
                }
                self.any([&a, &b].map(|case| Formula::equal(&value, case)));
                self.limits.push((function, limit, [a, b]));
                Some(value)
            }
            Node::Select(cond, then, otherwise) => self.select(side, cond, [otherwise, then]),
            Node::Cast { from, to, value } => {
                if widens(from, to) {
                    self.exact(side, value, from)
                } else {
                    self.modular(side, value)
                }
            }
        }
    }

    /// Adds a disjunction, unless a case could not be stated.
    fn any<const N: usize>(&mut self, cases: [Option<Formula>; N]) {
        let cases: Option<Vec<Formula>> = cases.into_iter().collect();
        self.system.add(cases.map(Formula::Any));
    }

    fn select(&mut self, side: usize, cond: Slot, values: [Slot; 2]) -> Option<Linear> {
        let cases = [false, true].map(|is| self.truth(side, cond, is));
        let values = values.map(|slot| self.modular(side, slot));
        let [Some(otherwise), Some(then)] = &values else { return None };
        let (x, y) = (self.system.range(otherwise)?, self.system.range(then)?);
        let value = self.fresh(x.0.min(y.0), x.1.max(y.1));
        let equal = |by: &Linear| Formula::equal(&value, by);
        let [if_not, if_so] = cases;
        let all = |cond: Option<Formula>, equal: Formula| {
            Formula::All(cond.into_iter().chain([equal]).collect())
        };
        let cases = [all(if_not, equal(otherwise)?), all(if_so, equal(then)?)];
        self.system.add(Formula::Any(cases.into()));
        Some(value)
    }

    fn binary(
        &mut self,
        side: usize,
        slot: Slot,
        op: BinaryOp,
        ty: IntType,
        [a, b]: [Slot; 2],
    ) -> Option<Linear> {
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
                let equal = Formula::equal(&value, &Linear::constant(is));
                Some(Formula::All(truth.into_iter().chain(equal).collect()))
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
                        self.system.add(Formula::at_most(&value, &x));
                        self.system.add(Formula::NonNegative(value.clone()));
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
            _ => {
                let value = self.fresh_of(ty);
                if range_x.0 >= 0 && range_y.0 >= 0 {
                    self.system.add(Formula::NonNegative(value.clone()));
                    for operand in [&x, &y] {
                        match op {
                            BinaryOp::And => self.system.add(Formula::at_most(&value, operand)),
                            BinaryOp::Or => self.system.add(Formula::at_most(operand, &value)),
                            _ => {}
                        }
                    }
                    if op != BinaryOp::And {
                        self.system.add(Formula::at_most(&value, &x.add(&y)?));
                    }
                }
                value
            }
        };
        if op == BinaryOp::Xor && !self.is_shared(slot) {
            let fixed = if self.is_shared(a) { Some([y.clone(), x.clone()]) } else { None };
            let fixed = fixed.or_else(|| self.is_shared(b).then_some([x, y]));
            if let Some([moving, fixed]) = fixed {
                let xor = Involution::Xor(fixed);
                self.involutions.push((side, xor, [moving, value.clone()]));
            }
        }
        Some(value)
    }

    /// A bit operation with a constant, by the runs of ones in the constant.
    fn masked(&mut self, op: BinaryOp, x: &Linear, mask: i128) -> Option<Linear> {
        // The bits of `x` in the runs, and the runs themselves, in their places.
        let (mut kept, mut ones) = (Linear::constant(0), mask);
        let mut first = 0;
        while ones != 0 {
            let zeros = ones.trailing_zeros();
            (ones, first) = (ones >> zeros, first + zeros);
            let high = self.floored(x, 1 << first)?.0;
            let count = ones.trailing_ones();
            // The ones of a negative constant never end.
            let field = if ones == -1 { high } else { self.floored(&high, 1 << count)?.1 };
            kept = kept.plus(1 << first, &field)?;
            if ones == -1 {
                break;
            }
            (ones, first) = (ones >> count, first + count);
        }
        match op {
            BinaryOp::And => Some(kept),
            BinaryOp::Or => x.sub(&kept)?.add_constant(mask),
            BinaryOp::Xor => x.plus(-2, &kept)?.add_constant(mask),
            _ => None,
        }
    }

    /// The difference `x - y`, if `y` is the remainder of a division of `x`.
    fn without_remainder(&self, x: &Linear, y: &Linear) -> Option<Linear> {
        let mut floors = self.floors.iter();
        let ((_, by), (quotient, _)) =
            floors.find(|((dividend, _), (_, remainder))| dividend == x && remainder == y)?;
        quotient.scale(*by)
    }

    /// The quotient, rounded down, and the remainder of a division by a positive constant.
    fn floored(&mut self, a: &Linear, by: i128) -> Option<(Linear, Linear)> {
        if by == 1 {
            return Some((a.clone(), Linear::constant(0)));
        }
        let mut high = Linear::constant(a.constant_term().div_euclid(by));
        for &(var, coef) in a.terms() {
            // The remaining coefficient is the smallest one, so that the bounds of the quotient are tight.
            let up = 2 * coef.rem_euclid(by) > by;
            high = high.plus(coef.div_euclid(by) + i128::from(up), &Linear::var(var))?;
        }
        let low = a.plus(-by, &high)?;
        let (lo, hi) = self.system.range(&low)?;
        if lo >= 0 && hi < by {
            return Some((high, low));
        }
        let key = (low.clone(), by);
        if let Some((quotient, remainder)) = self.floors.get(&key) {
            return Some((high.add(quotient)?, remainder.clone()));
        }
        let quotient = self.fresh(lo.div_euclid(by), hi.div_euclid(by));
        let remainder = self.fresh(0, by - 1);
        let whole = remainder.plus(by, &quotient)?;
        self.system.add(Formula::equal(&low, &whole));
        self.floors.insert(key, (quotient.clone(), remainder.clone()));
        Some((high.add(&quotient)?, remainder))
    }

    /// The quotient, rounded towards zero, and the remainder. A zero divisor gives zeros.
    fn truncated(&mut self, a: &Linear, b: &Linear) -> Option<(Linear, Linear)> {
        let range = self.system.range(a)?;
        if range.0 >= 0
            && let Some(by) = b.value().filter(|by| *by > 0)
        {
            return self.floored(a, by);
        }
        let key = (a.clone(), b.clone());
        if let Some(known) = self.quotients.get(&key) {
            return Some(known.clone());
        }
        let most = range.0.checked_neg()?.max(range.1);
        let by = b.value().filter(|by| *by > 0);
        let most_of = by.map_or([most, most], |by| [most / by, most.min(by - 1)]);
        let [quotient, remainder] = most_of.map(|most| self.fresh(-most, most));
        self.quotients.insert(key, (quotient.clone(), remainder.clone()));
        if let Some(by) = by {
            self.system.add(Formula::equal(a, &remainder.plus(by, &quotient)?)?);
            let has_sign = |sign: i128| {
                let signed =
                    [a, &remainder].map(|value| value.scale(sign).map(Formula::NonNegative));
                Some(Formula::All(signed.into_iter().collect::<Option<_>>()?))
            };
            self.any([has_sign(1), has_sign(-1)]);
        } else if range.0 >= 0 {
            let product = self.product(b, &quotient)?;
            let is_quotient = Formula::All(vec![
                Formula::equal(a, &product.add(&remainder)?)?,
                Formula::NonNegative(quotient.clone()),
                Formula::NonNegative(remainder.clone()),
                Formula::less(&remainder, b)?,
            ]);
            // Nothing is stated about negative divisors.
            let other = Formula::at_most(b, &Linear::constant(0))?;
            self.system.add(Formula::Any(vec![is_quotient, other]));
        }
        Some((quotient, remainder))
    }

    /// The product of two values, as a sum of products of variables.
    fn product(&mut self, a: &Linear, b: &Linear) -> Option<Linear> {
        let [a, b] = self.of_one_variable(a, b)?;
        let (x, y) = (a.constant_term(), b.constant_term());
        let mut product = Linear::constant(x.checked_mul(y)?);
        for &(var, coef) in a.terms() {
            product = product.plus(coef.checked_mul(y)?, &Linear::var(var))?;
        }
        for &(var, coef) in b.terms() {
            product = product.plus(coef.checked_mul(x)?, &Linear::var(var))?;
        }
        for &(v, c) in a.terms() {
            for &(w, d) in b.terms() {
                let of_vars = self.product_of_vars(v.min(w), v.max(w))?;
                product = product.plus(c.checked_mul(d)?, &Linear::var(of_vars))?;
            }
        }
        Some(product)
    }

    /// A product within the range that the ranges of its factors give, which may be smaller than that of its terms.
    fn within_corners(&mut self, product: Linear, factors: [&Linear; 2]) -> Option<Linear> {
        let [x, y] = [self.system.range(factors[0])?, self.system.range(factors[1])?];
        let corners = [(x.0, y.0), (x.0, y.1), (x.1, y.0), (x.1, y.1)];
        let corners = corners.map(|(a, b)| a.checked_mul(b));
        let (Some(lo), Some(hi)) = (corners.into_iter().min()?, corners.into_iter().max()?) else {
            return Some(product);
        };
        let range = self.system.range(&product)?;
        if range.0 >= lo && range.1 <= hi {
            return Some(product);
        }
        let value = self.fresh(lo, hi);
        self.system.add(Formula::equal(&value, &product));
        Some(value)
    }

    /// The factors of a product. If both are multiples of one value of several variables, such as `i` and `i + 1` for
    /// the row `i` of a tile, that value becomes a variable, so that facts about squares apply.
    fn of_one_variable(&mut self, a: &Linear, b: &Linear) -> Option<[Linear; 2]> {
        let whole = a.add_constant(-a.constant_term())?;
        let by = match (a.terms(), b.terms()) {
            ([first, _, ..], [other, ..]) if other.1 % first.1 == 0 => other.1 / first.1,
            _ => return Some([a.clone(), b.clone()]),
        };
        let rest = b.plus(-by, &whole)?;
        if rest.value().is_none() {
            return Some([a.clone(), b.clone()]);
        }
        let var = match self.compounds.get(&whole) {
            Some(var) => *var,
            None => {
                let (lo, hi) = self.system.range(&whole)?;
                let var = self.system.variable(lo, hi);
                self.system.add(Formula::equal(&Linear::var(var), &whole));
                self.compounds.insert(whole, var);
                var
            }
        };
        let var = Linear::var(var);
        Some([var.add_constant(a.constant_term())?, rest.plus(by, &var)?])
    }

    fn product_of_vars(&mut self, v: Unknown, w: Unknown) -> Option<Unknown> {
        if let Some(product) = self.products.get(&(v, w)) {
            return Some(*product);
        }
        let (x, y) = (self.system.bounds(v), self.system.bounds(w));
        let corners = [
            x.0.checked_mul(y.0)?,
            x.0.checked_mul(y.1)?,
            x.1.checked_mul(y.0)?,
            x.1.checked_mul(y.1)?,
        ];
        let lo = corners.iter().copied().min()?;
        let hi = corners.iter().copied().max()?;
        if lo < -MAX_VALUE || hi > MAX_VALUE {
            return None;
        }
        let product = self.system.variable(if v == w { lo.max(0) } else { lo }, hi);
        self.products.insert((v, w), product);
        // A factor of at least one makes no value smaller.
        for (factor, value) in [(v, w), (w, v)] {
            if self.system.bounds(factor).0 >= 1 && self.system.bounds(value).0 >= 0 {
                let (value, product) = (Linear::var(value), Linear::var(product));
                self.system.add(Formula::at_most(&value, &product));
            }
        }
        Some(product)
    }

    /// What holds if the slot, a bool, has the value `is`. None if nothing is known.
    fn truth(&mut self, side: usize, slot: Slot, is: bool) -> Option<Formula> {
        self.depth += 1;
        let truth = if self.depth < MAX_DEPTH { self.truth_of(side, slot, is) } else { None };
        self.depth -= 1;
        truth
    }

    fn truth_of(&mut self, side: usize, slot: Slot, is: bool) -> Option<Formula> {
        match self.sides[side].program.steps[slot as usize] {
            Node::Const(value) if (value != 0) == is => Some(Formula::All(Vec::new())),
            Node::Const(_) => Some(Formula::Any(Vec::new())),
            Node::Unary(UnaryOp::Not, Some(ScalarType::Bool), a) => self.truth(side, a, !is),
            Node::Binary(op, ty, a, b) if op.is_comparison() || ty == Some(ScalarType::Bool) => {
                self.comparison(side, op, ty, [a, b], is)
            }
            Node::Select(cond, then, otherwise) => {
                let case = |this: &mut Self, cond_is: bool, value: Slot| {
                    let (cond, value) =
                        (this.truth(side, cond, cond_is), this.truth(side, value, is));
                    Formula::All(cond.into_iter().chain(value).collect())
                };
                Some(Formula::Any(vec![case(self, true, then), case(self, false, otherwise)]))
            }
            Node::Cast { from: Some(ScalarType::Bool), value, .. } => self.truth(side, value, is),
            _ => {
                let value = self.modular(side, slot)?;
                Formula::equal(&value, &Linear::constant(is.into()))
            }
        }
    }

    /// What holds if a comparison, or an operator on bools, has the value `is`.
    fn comparison(
        &mut self,
        side: usize,
        op: BinaryOp,
        ty: IntType,
        [a, b]: [Slot; 2],
        is: bool,
    ) -> Option<Formula> {
        let is_bool = ty == Some(ScalarType::Bool);
        match op {
            BinaryOp::And | BinaryOp::Or if is_bool => {
                let sides = [a, b].map(|slot| self.truth(side, slot, is));
                if (op == BinaryOp::And) == is {
                    return Some(Formula::All(sides.into_iter().flatten().collect()));
                }
                return sides.into_iter().collect::<Option<_>>().map(Formula::Any);
            }
            _ => {}
        }
        let (x, y) = (self.exact(side, a, ty)?, self.exact(side, b, ty)?);
        let op = if op == BinaryOp::Xor { BinaryOp::Ne } else { op };
        match (op, is) {
            (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => Formula::less(&x, &y),
            (BinaryOp::Le, true) | (BinaryOp::Gt, false) => Formula::at_most(&x, &y),
            (BinaryOp::Gt, true) | (BinaryOp::Le, false) => Formula::less(&y, &x),
            (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => Formula::at_most(&y, &x),
            (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => Formula::equal(&x, &y),
            (BinaryOp::Ne, true) | (BinaryOp::Eq, false) => Formula::differ(&x, &y),
            _ => None,
        }
    }
}

/// The number of bits of an integer type.
fn shift_width(ty: IntType) -> Option<u32> {
    ty.map(|ty| 8 * ty.size() as u32)
}

/// The slots of an access.
pub type Index = SmallVec<[Slot; 3]>;
