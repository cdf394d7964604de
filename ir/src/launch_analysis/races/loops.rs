//! Loops in a task: their variables, trip counts, and the locals that each iteration changes by the same amount.

use smallvec::SmallVec;

use super::{
    builder::{TaskBuilder, assigned, int_type},
    cause::ValueOrigin,
    check::TripCount,
};
use crate::{
    BinaryOp, BlockId, DivRemOp, ExprId, ExprKind, LocalId, LoopDim, MathFn, ScalarType, Stmt,
    UnaryOp,
    races::{Condition, IntType, NodeId, ValueNode},
};

/// The maximum number of iterations of a `loop`. No launch lasts long enough for more.
const ENDLESS: i128 = 1 << 62;

/// The maximum depth of expressions that are checked for a change in a loop.
const STEADY_DEPTH: usize = 6;

impl TaskBuilder<'_> {
    /// Adds the bounds of a loop that only the device computes to the conditions of its iterations. The launch knows
    /// only conservative ones.
    pub(super) fn bounds(&mut self, dims: &[LoopDim]) {
        for (at, dim) in dims.iter().enumerate() {
            let ty = int_type(self.nodes.locals[dim.var].ty);
            let variable = self.builder.push(ValueNode::Var(at));
            let (begin, end) = (self.value(dim.begin), self.value(dim.end));
            let from = self.builder.push(ValueNode::Binary(BinaryOp::Le, ty, begin, variable));
            let below = self.builder.push(ValueNode::Binary(BinaryOp::Lt, ty, variable, end));
            self.conditions.extend([from, below].map(|cond| Condition { node: cond, holds: true }));
        }
    }

    pub(super) fn counted_loop(
        &mut self,
        var: LocalId,
        [begin, end]: [NodeId; 2],
        body: BlockId,
        down: bool,
    ) {
        let ty = int_type(self.nodes.locals[var].ty);
        let uniformity = self.uniformity_here();
        let variable =
            self.builder.push(ValueNode::Inner { var: None, uniformity, ty, begin, end });
        self.loops.push(TripCount::Range { ty, begin, end, length: None });
        let nth = if down {
            let last = self.builder.number(1);
            let last = self.builder.push(ValueNode::Binary(BinaryOp::Sub, ty, end, last));
            self.builder.push(ValueNode::Binary(BinaryOp::Sub, ty, last, variable))
        } else {
            self.builder.push(ValueNode::Binary(BinaryOp::Sub, ty, variable, begin))
        };
        let conditions = self.conditions.len();
        let from = self.builder.push(ValueNode::Binary(BinaryOp::Le, ty, begin, variable));
        let below = self.builder.push(ValueNode::Binary(BinaryOp::Lt, ty, variable, end));
        self.conditions.extend([from, below].map(|cond| Condition { node: cond, holds: true }));
        // The difference of two signed values may exceed their type, but not the unsigned type of the same size.
        let unsigned = ty.map(ScalarType::unsigned);
        let nth = self.builder.push(ValueNode::Cast { from: ty, to: unsigned, value: nth });
        self.repeated(body, nth, unsigned, Some((var, variable)));
        self.conditions.truncate(conditions);
        self.loops.pop();
    }

    pub(super) fn endless_loop(&mut self, body: BlockId) {
        let locals = assigned(self.nodes, body).0;
        if self.nodes.runs_once(body) {
            self.forget_shared();
            self.block(body);
            self.forget_shared();
            self.forget(&locals, self.uniformity_here());
            return;
        }
        let ty = Some(ScalarType::U64);
        let uniformity = self.uniformity_here();
        let begin = self.builder.number(0);
        let bound = self.bound_of(body);
        let end = bound.unwrap_or_else(|| self.builder.number(ENDLESS));
        let nth = self.builder.push(ValueNode::Inner { var: None, uniformity, ty, begin, end });
        self.loops.push(match bound {
            Some(end) => TripCount::Range { ty, begin, end, length: None },
            None => TripCount::Unknown,
        });
        let conditions = self.conditions.len();
        let cond = self.builder.push(ValueNode::Binary(BinaryOp::Lt, ty, nth, end));
        self.conditions.push(Condition { node: cond, holds: true });
        self.repeated(body, nth, ty, None);
        self.conditions.truncate(conditions);
        self.loops.pop();
    }

    /// The loops around an addition, from the loop number `outer` on.
    pub(super) fn loops_with_lengths(&mut self, outer: usize) -> SmallVec<[TripCount; 2]> {
        let loops: SmallVec<[TripCount; 2]> = SmallVec::from_slice(&self.loops[outer..]);
        let with_length = |trip_count| match trip_count {
            TripCount::Range { ty, begin, end, .. } => {
                let value = self.builder.push(ValueNode::Binary(BinaryOp::Sub, ty, end, begin));
                let to = ty.map(ScalarType::unsigned);
                let length = Some(self.builder.push(ValueNode::Cast { from: ty, to, value }));
                TripCount::Range { ty, begin, end, length }
            }
            TripCount::Unknown => trip_count,
        };
        loops.into_iter().map(with_length).collect()
    }

    /// The maximum trip count of `while local < end { …; local += by }`, if `end` and `by` do not change.
    fn bound_of(&mut self, body: BlockId) -> Option<NodeId> {
        let nodes = self.nodes;
        let Stmt::If { cond, then, otherwise } = *nodes.blocks[body].stmts.first()? else {
            return None;
        };
        let (cond, leaves) = match nodes.exprs[cond].kind {
            ExprKind::Unary { op: UnaryOp::Not, value } => (value, then),
            _ => (cond, otherwise),
        };
        let ExprKind::Binary { op: BinaryOp::Lt, lhs, rhs } = nodes.exprs[cond].kind else {
            return None;
        };
        let ExprKind::Local(local) = nodes.exprs[lhs].kind else { return None };
        let locals = assigned(nodes, body).0;
        let (_, _, by) = self
            .progressions(body, &locals)
            .into_iter()
            .find(|(changed, op, _)| *changed == local && *op == BinaryOp::Add)?;
        if !matches!(nodes.blocks[leaves].stmts[..], [Stmt::Break]) || !self.is_steady(rhs, &locals)
        {
            return None;
        }
        let ty = nodes.locals[local].ty;
        let of = int_type(ty);
        let (first, end, by) = (*self.env.get(&local)?, self.value(rhs), self.value(by));
        // The local grows without overflow, so that it stays below `end` until the loop ends: if it is less than `end`,
        // it is at most `end - 1 + by` in the next iteration.
        let [one, most] = [1, ty.int_range()?.1].map(|value| self.builder.number(value));
        let grows = self.builder.push(ValueNode::Binary(BinaryOp::Ge, of, by, one));
        let rest = self.builder.push(ValueNode::Binary(BinaryOp::Sub, of, by, one));
        let room = self.builder.push(ValueNode::Binary(BinaryOp::Sub, of, most, rest));
        let fits = self.builder.push(ValueNode::Binary(BinaryOp::Le, of, end, room));
        let is_bool = int_type(ScalarType::Bool);
        let is_bounded = self.builder.push(ValueNode::Binary(BinaryOp::And, is_bool, grows, fits));
        let last = self.builder.push(ValueNode::Limit(MathFn::Max, of, first, end));
        let distance = self.builder.push(ValueNode::Binary(BinaryOp::Sub, of, last, first));
        let unsigned = int_type(ty.unsigned());
        let distance =
            self.builder.push(ValueNode::Cast { from: of, to: unsigned, value: distance });
        let to = Some(ScalarType::U64);
        let distance = self.builder.push(ValueNode::Cast { from: unsigned, to, value: distance });
        // The quotient, rounded up.
        let by = self.builder.push(ValueNode::Cast { from: of, to, value: by });
        let rest = self.builder.push(ValueNode::Binary(BinaryOp::Sub, to, by, one));
        let sum = self.builder.push(ValueNode::Binary(BinaryOp::Add, to, distance, rest));
        let trip_count = self.builder.push(ValueNode::DivRem(DivRemOp::Div, to, sum, by));
        let endless = self.builder.number(ENDLESS);
        Some(self.builder.push(ValueNode::Select(is_bounded, trip_count, endless)))
    }

    /// Follows the body of a loop, in iteration `nth`. The loop's variable is not known before it.
    fn repeated(
        &mut self,
        body: BlockId,
        nth: NodeId,
        ty: IntType,
        var: Option<(LocalId, NodeId)>,
    ) {
        let nodes = self.nodes;
        let (mut locals, _) = assigned(nodes, body);
        locals.sort_unstable();
        let steady = self.progressions(body, &locals);
        locals.dedup();
        let steady: Vec<_> = steady
            .into_iter()
            .filter_map(|(local, op, by)| {
                let of_local = int_type(nodes.locals[local].ty);
                let by = self.value(by);
                let times = if ty == of_local {
                    nth
                } else {
                    self.builder.push(ValueNode::Cast { from: ty, to: of_local, value: nth })
                };
                let share =
                    self.builder.push(ValueNode::Binary(BinaryOp::Mul, of_local, times, by));
                let before = *self.env.get(&local)?;
                Some((local, self.builder.push(ValueNode::Binary(op, of_local, before, share))))
            })
            .collect();
        let uniformity = self.uniformity_here();
        let is_steady = |local: &LocalId| steady.iter().any(|(of, _)| of == local);
        let others = locals.iter().filter(|local| !is_steady(local));
        let limited: Vec<_> = others
            .filter_map(|local| {
                Some((*local, self.limited(*local, self.pointer_step(body, *local)?, nth, ty)?))
            })
            .collect();
        self.forget(&locals, uniformity);
        self.env.extend(steady);
        self.env.extend(limited);
        self.env.extend(var);
        self.forget_shared();
        self.block(body);
        self.forget_shared();
        self.forget(&locals, uniformity);
    }

    /// The value in iteration `nth` of a local to which each earlier iteration has added a constant at most once: the
    /// number of these additions is unknown, but not above `nth`.
    fn limited(
        &mut self,
        local: LocalId,
        (op, by): (BinaryOp, ExprId),
        nth: NodeId,
        ty: IntType,
    ) -> Option<NodeId> {
        let before = *self.env.get(&local)?;
        let of_local = int_type(self.nodes.locals[local].ty);
        let (by, uniformity) = (self.value(by), self.uniformity_here());
        let times = self.unknown_from(ValueOrigin::Changed(local), ty, uniformity);
        let at_most = self.builder.push(ValueNode::Binary(BinaryOp::Le, ty, times, nth));
        self.conditions.push(Condition { node: at_most, holds: true });
        let times = if ty == of_local {
            times
        } else {
            self.builder.push(ValueNode::Cast { from: ty, to: of_local, value: times })
        };
        let share = self.builder.push(ValueNode::Binary(BinaryOp::Mul, of_local, times, by));
        Some(self.builder.push(ValueNode::Binary(op, of_local, before, share)))
    }

    /// The constant that an iteration of a loop adds to a local, or subtracts from it, at most once, if the local is
    /// changed in no other way.
    fn pointer_step(&self, body: BlockId, local: LocalId) -> Option<(BinaryOp, ExprId)> {
        let mut step = None;
        (self.times_changed(body, local, &mut step)? <= 1).then_some(step)?
    }

    /// How often a block changes a local at most, by `step`, which is set at its first change.
    fn times_changed(
        &self,
        block: BlockId,
        local: LocalId,
        step: &mut Option<(BinaryOp, ExprId)>,
    ) -> Option<u32> {
        let nodes = self.nodes;
        let mut times = 0;
        for stmt in &nodes.blocks[block].stmts {
            times += match *stmt {
                Stmt::Assign { local: changed, value } if changed == local => {
                    let ExprKind::Binary { op, lhs, rhs } = nodes.exprs[value].kind else {
                        return None;
                    };
                    let is_change = matches!(nodes.exprs[lhs].kind, ExprKind::Local(of) if of == local)
                        && matches!(op, BinaryOp::Add | BinaryOp::Sub);
                    let ExprKind::Const(by) = nodes.exprs[rhs].kind else { return None };
                    let is_same = |(first_op, first): (BinaryOp, ExprId)| {
                        first_op == op
                            && matches!(nodes.exprs[first].kind, ExprKind::Const(first) if first == by)
                    };
                    if !is_change || by.as_int().is_none() || !step.is_none_or(is_same) {
                        return None;
                    }
                    *step = Some((op, rhs));
                    1
                }
                Stmt::If { then, otherwise, .. } => self
                    .times_changed(then, local, step)?
                    .max(self.times_changed(otherwise, local, step)?),
                // A loop changes it any number of times.
                _ if stmt.blocks().any(|block| assigned(nodes, block).0.contains(&local)) => {
                    return None;
                }
                _ => 0,
            };
        }
        Some(times)
    }

    /// The locals to which each iteration of a loop adds the same amount, or from which it subtracts the same amount.
    pub(super) fn progressions(
        &self,
        body: BlockId,
        locals: &[LocalId],
    ) -> Vec<(LocalId, BinaryOp, ExprId)> {
        let nodes = self.nodes;
        let mut steady = Vec::new();
        for stmt in &nodes.blocks[body].stmts {
            if let Stmt::Assign { local, value } = *stmt
                && locals.iter().filter(|other| **other == local).count() == 1
                && !nodes.continues(body)
                && let ExprKind::Binary { op: op @ (BinaryOp::Add | BinaryOp::Sub), lhs, rhs } =
                    nodes.exprs[value].kind
                && let ExprKind::Local(changed) = nodes.exprs[lhs].kind
                && changed == local
                && self.is_steady(rhs, locals)
            {
                steady.push((local, op, rhs));
            }
        }
        steady
    }

    /// Whether an expression has the same value in all iterations of a loop that assigns `locals`.
    fn is_steady(&self, value: ExprId, locals: &[LocalId]) -> bool {
        self.is_steady_to(value, locals, STEADY_DEPTH)
    }

    fn is_steady_to(&self, value: ExprId, locals: &[LocalId], depth: usize) -> bool {
        match &self.nodes.exprs[value].kind {
            ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::Dim { .. } => true,
            // A local of the loop itself is not known before it.
            ExprKind::Local(local) => !locals.contains(local) && self.env.contains_key(local),
            kind @ (ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Cast { .. }
            | ExprKind::Math { .. }
            | ExprKind::Select { .. }) => {
                depth > 0
                    && kind.operands().all(|value| self.is_steady_to(value, locals, depth - 1))
            }
            _ => false,
        }
    }
}
