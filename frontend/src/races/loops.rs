//! Loops inside a task: the values that their variables and the locals that they change have in an iteration.

use quadrants_ir::races::{NodeId, Uniformity, ValueNode, Var, VarKind};

use super::{
    expr_text,
    value::AbstractValue,
    walk::{Binding, SampleWalk, is_generated},
};
use crate::{
    literal,
    syntax::{BinaryOp, Block, Dim, Expr, ExprKind, For, LiteralKind, Order, Pattern, StmtKind},
    visit::{self, any_in_block, any_in_expr, any_in_stmt, base_name, each_binding},
};

/// The maximum trip count of a loop that is unrolled.
const MAX_TRIP_COUNT: i128 = 16;

/// The maximum trip count of an unrolled loop that only computes locals: the number of bits of an integer.
const MAX_COMPUTING_TRIP_COUNT: i128 = 64;

/// The number of accesses from which on no loop is unrolled.
const UNROLLED_ACCESSES: usize = 200;

impl SampleWalk<'_> {
    /// Binds the names of a pattern to parts of a value.
    pub(super) fn bind_parts(&mut self, pattern: &Pattern, value: &AbstractValue) {
        match pattern {
            Pattern::Wild | Pattern::Rest => {}
            Pattern::Name { name, mutable, .. } => {
                let value = self.bound_value(value.clone(), *mutable);
                self.bind_as(name, Binding::Value(value), *mutable);
            }
            Pattern::Parts(parts) => {
                let rest = parts.iter().position(|part| matches!(part, Pattern::Rest));
                for (at, pattern) in parts.iter().enumerate() {
                    // The number of parts that `..` stands for depends on the type.
                    let part = match rest.is_some_and(|rest| at > rest) {
                        true => format!("-{}", parts.len() - at),
                        false => at.to_string(),
                    };
                    let part = self.part_of(value, &part);
                    self.bind_parts(pattern, &part);
                }
            }
            Pattern::Fields(fields) => {
                for (name, pattern) in fields {
                    let part = self.part_of(value, name);
                    self.bind_parts(pattern, &part);
                }
            }
        }
    }

    pub(super) fn loop_body(&mut self, body: &Block) {
        self.endless_loop(None, body);
    }

    /// A `while` or `loop`.
    pub(super) fn endless_loop(&mut self, cond: Option<&Expr>, body: &Block) {
        self.loops += 1;
        let nth = self.unknown_node(self.uniformity_here());
        let [first, last] = [0, 1 << 62].map(|number| self.task.push(ValueNode::Const(number)));
        let bounds = [(BinaryOp::Le, first, nth), (BinaryOp::Lt, nth, last)];
        self.repeated(nth, &bounds, cond, body);
        self.loops -= 1;
        self.forget(&assigned(&[Some(body)]));
    }

    /// Evaluates the body of a loop in iteration `nth`.
    pub(super) fn repeated(
        &mut self,
        nth: NodeId,
        bounds: &[(BinaryOp, NodeId, NodeId)],
        cond: Option<&Expr>,
        body: &Block,
    ) {
        let conditions = self.conditions.len();
        for &(op, a, b) in bounds {
            let within = self.task.push(ValueNode::Binary(op, None, a, b));
            self.assume(Some(within), true);
        }
        let changed = assigned(&[Some(body)]);
        let steady: Vec<_> = changed
            .iter()
            .filter_map(|name| {
                let (op, by) = steady_step(name, &changed, body)?;
                let by = self.eval(by);
                let share = self.binary(BinaryOp::Mul, &AbstractValue::Node(nth), &by);
                let Some(Binding::Value(before)) = self.lookup(name) else { return None };
                let before = before.clone();
                Some((*name, self.binary(op, &before, &share)))
            })
            .collect();
        let is_steady = |name: &str| steady.iter().any(|(of, _)| *of == name);
        let limited: Vec<_> = changed
            .iter()
            .filter(|name| !is_steady(name) && !binds(body, name))
            .filter_map(|name| Some((*name, self.limited(name, pointer_step(name, body)?, nth)?)))
            .collect();
        self.forget(&changed);
        for (name, value) in steady.into_iter().chain(limited) {
            self.set_locals(&[name], vec![Some(value)]);
        }
        if let Some(cond) = cond {
            let cond = self.eval(cond);
            let cond = self.condition(&cond);
            self.assume(cond, true);
        }
        self.block(body);
        self.conditions.truncate(conditions);
    }

    /// The value in iteration `nth` of a local to which each earlier iteration has added a constant at most once.
    fn limited(
        &mut self,
        name: &str,
        (op, by): (BinaryOp, &Expr),
        nth: NodeId,
    ) -> Option<AbstractValue> {
        let Some(Binding::Value(before)) = self.lookup(name) else { return None };
        let before = before.clone();
        let times = self.unknown_node(self.uniformity_here());
        self.explain(&AbstractValue::Node(times), || {
            format!("an index depends on `{name}`, which a loop changes")
        });
        let zero = self.task.push(ValueNode::Const(0));
        for [a, b] in [[zero, times], [times, nth]] {
            let within = self.task.push(ValueNode::Binary(BinaryOp::Le, None, a, b));
            self.assume(Some(within), true);
        }
        let by = self.eval(by);
        let share = self.binary(BinaryOp::Mul, &AbstractValue::Node(times), &by);
        Some(self.binary(op, &before, &share))
    }

    /// The uniformity of values that the current code computes in a way that is not followed.
    pub(super) fn uniformity_here(&self) -> Uniformity {
        match &self.threads {
            Some(threads) if !threads.in_phase => Uniformity::Block,
            _ => Uniformity::Iteration,
        }
    }

    /// Makes locals unknown.
    pub(super) fn forget(&mut self, names: &[&str]) {
        for name in names {
            let is_data = matches!(
                self.lookup(name),
                Some(Binding::Value(AbstractValue::Data | AbstractValue::Parts(_)))
            );
            let value = match self.loops {
                _ if is_data => AbstractValue::Data,
                0 => self.new_fixed(),
                _ => self.unknown(self.uniformity_here()),
            };
            self.explain(&value, || format!("an index depends on `{name}`, which a loop changes"));
            self.set_locals(&[name], vec![Some(value)]);
        }
    }

    /// Whether one of the conditions that hold here depends on a value.
    fn is_under_condition(&self, id: NodeId) -> bool {
        let graph = &self.task.builder.graph;
        self.conditions.iter().any(|condition| graph.reached(&[condition.node])[id as usize])
    }

    /// Whether loops here are unrolled: outside of phases, where barriers separate the iterations.
    fn unrolls(&self, body: &Block) -> bool {
        let is_block_level = self.threads.as_ref().is_some_and(|threads| !threads.in_phase);
        let is_small = self.task.accesses.len() < UNROLLED_ACCESSES;
        is_block_level && is_small && self.trip_counts.is_some() && !leaves(body)
    }

    /// Unrolls a loop over few constant values. Returns false for other loops.
    fn unrolled_for(&mut self, each: &For) -> bool {
        let [dim] = &each.dims[..] else { return false };
        let computes_only = self.loops > 0 && computes_only(dim, &each.body);
        if !computes_only && !self.unrolls(&each.body) {
            return false;
        }
        let most = if computes_only { MAX_COMPUTING_TRIP_COUNT } else { MAX_TRIP_COUNT };
        let [begin, end] = self.bounds(dim).map(|bound| bound.as_number());
        let (Some(begin), Some(end)) = (begin, end) else { return false };
        let by = match &dim.step {
            Some(_) => self.stride(dim),
            None => Some(1),
        };
        let Some(by) = by.filter(|by| (end - begin).max(0) <= by * most) else {
            return false;
        };
        let mut values: Vec<i128> = Vec::new();
        let mut value = begin;
        while value < end {
            values.push(value);
            value += by;
        }
        match dim.order {
            Order::Up => {}
            // The last value of `step_by().rev()` is that of `step_by()`.
            Order::Down => values.reverse(),
            _ if by == 1 => values.reverse(),
            _ => return false,
        }
        if let Some(trip_counts) = self.trip_counts.as_mut().filter(|_| !computes_only) {
            trip_counts.push(values.len() as u32);
        }
        let mark = self.names.mark();
        self.loops += 1;
        for value in values {
            self.bind(&dim.name, Binding::Value(AbstractValue::Number(value)));
            self.block(&each.body);
        }
        self.loops -= 1;
        self.names.leave(mark);
        true
    }

    /// Unrolls a `while` loop, if its condition is a known number in each of few iterations. Returns false if it is
    /// not.
    pub(super) fn unrolled_while(&mut self, cond: &Expr, body: &Block) -> bool {
        if !self.unrolls(body) {
            return false;
        }
        self.loops += 1;
        let mut trip_count = 0;
        let done = loop {
            match self.eval(cond).as_number() {
                Some(0) => break true,
                Some(_) if trip_count < MAX_TRIP_COUNT as u32 => {
                    self.block(body);
                    trip_count += 1;
                }
                _ => break false,
            }
        };
        self.loops -= 1;
        if let Some(trip_counts) = &mut self.trip_counts {
            trip_counts.push(trip_count);
        }
        // The remaining iterations are evaluated like those of any loop.
        done
    }

    pub(super) fn serial_loop(&mut self, each: &For) {
        if self.unrolled_for(each) {
            return;
        }
        let bounds: Vec<_> = each.dims.iter().map(|dim| self.bounds(dim)).collect();
        let (mark, conditions) = (self.names.mark(), self.conditions.len());
        self.loops += 1;
        let (outer, mut ends) = (self.long_loops.len(), each.dims.iter().zip(&bounds));
        // A condition on the length, which the launch follows, may limit it.
        let is_wide = |end: &AbstractValue| match end {
            AbstractValue::Node(id) => {
                self.task.wide_reads.contains(id) && !self.is_under_condition(*id)
            }
            _ => false,
        };
        let long = ends.find_map(|(dim, [_, end])| is_wide(end).then_some(dim.end.span.line));
        self.long_loops.extend(long);
        let mut counts = Vec::new();
        for (dim, bounds) in each.dims.iter().zip(bounds) {
            let ids = bounds.clone().map(|bound| self.node_id(&bound));
            let range = |id: Option<NodeId>| {
                id.and_then(|id| self.task.form(id)).and_then(|form| self.task.space.range(&form))
            };
            let first = range(ids[0]).map_or(-(1 << 63), |range| range.0);
            let last = range(ids[1]).map_or(1 << 63, |range| range.1 - 1);
            let stride = self.stride(dim);
            let variable = match stride {
                None => self.inner_var(ids, (first, last)),
                Some(by) => {
                    let last = (last - first).div_euclid(by);
                    let ends =
                        [0, last + 1].map(|number| Some(self.task.push(ValueNode::Const(number))));
                    let nth = self.inner_var(ends, (0, last));
                    self.strided(dim.order, &bounds, nth, by).unwrap_or(nth)
                }
            };
            let [begin, end] = ids;
            for (op, [a, b]) in
                [(BinaryOp::Le, [begin, Some(variable)]), (BinaryOp::Lt, [Some(variable), end])]
            {
                if let (Some(a), Some(b)) = (a, b) {
                    let within = self.task.push(ValueNode::Binary(op, None, a, b));
                    self.assume(Some(within), true);
                }
            }
            // Counting up, the values do not depend on the end.
            let needed = if dim.order == Order::Down { &bounds[..] } else { &bounds[..1] };
            let known =
                stride.is_none() || needed.iter().all(|bound| self.node_id(bound).is_some());
            counts.push((variable, begin, dim.order));
            self.variable(dim, known.then_some(variable));
            if bounds.contains(&AbstractValue::AtLaunch) {
                self.bind(&dim.name, Binding::Value(AbstractValue::AtLaunch));
            }
        }
        // The number of the iteration, of a simple loop.
        let nth = match counts[..] {
            [(variable, Some(begin), Order::Up)] if each.dims[0].step.is_none() => {
                Some(self.task.push(ValueNode::Binary(BinaryOp::Sub, None, variable, begin)))
            }
            _ => None,
        };
        let nth = nth.unwrap_or_else(|| self.unknown_node(self.uniformity_here()));
        let zero = self.task.push(ValueNode::Const(0));
        self.repeated(nth, &[(BinaryOp::Le, zero, nth)], None, &each.body);
        self.conditions.truncate(conditions);
        self.long_loops.truncate(outer);
        self.loops -= 1;
        self.names.leave(mark);
        self.forget(&assigned(&[Some(&each.body)]));
    }

    /// Adds a variable of an inner loop with these bounds, whose values are in `range`.
    pub(super) fn inner_var(&mut self, bounds: [Option<NodeId>; 2], range: (i128, i128)) -> NodeId {
        self.task.inner.push(range);
        let ends = [range.0, range.1 + 1];
        let [begin, end] = [0, 1].map(|at: usize| {
            bounds[at].unwrap_or_else(|| self.task.push(ValueNode::Const(ends[at])))
        });
        let var = self.task.space.push(Var::new(VarKind::Inner, range.0, range.1));
        let uniformity = self.uniformity_here();
        if uniformity == Uniformity::Block {
            self.task.block_vars.extend(var);
        }
        let id = self.task.push(ValueNode::Inner { var, uniformity, ty: None, begin, end });
        if let Some(var) = var {
            self.task.space.set(var, Var::new(VarKind::Inner, range.0, range.1));
        }
        id
    }

    pub(super) fn bounds(&mut self, dim: &Dim) -> [AbstractValue; 2] {
        let begin = match &dim.begin {
            Some(begin) => self.eval(begin),
            None => AbstractValue::Number(0),
        };
        let end = self.eval(&dim.end);
        let end = if dim.inclusive {
            self.binary(BinaryOp::Add, &end, &AbstractValue::Number(1))
        } else {
            end
        };
        [begin, end]
    }

    /// The step of a loop, if it has one that is known.
    pub(super) fn stride(&mut self, dim: &Dim) -> Option<i128> {
        self.eval(dim.step.as_ref()?).as_number().filter(|by| *by > 0)
    }

    /// The variable of a loop with a step in iteration `nth`. The direction does not matter.
    pub(super) fn strided(
        &mut self,
        order: Order,
        [begin, end]: &[AbstractValue; 2],
        nth: NodeId,
        by: i128,
    ) -> Option<NodeId> {
        let distance =
            self.binary(BinaryOp::Mul, &AbstractValue::Node(nth), &AbstractValue::Number(by));
        let value = match order {
            Order::Up | Order::Back => self.binary(BinaryOp::Add, begin, &distance),
            Order::Down => {
                let last = self.binary(BinaryOp::Sub, end, &AbstractValue::Number(1));
                self.binary(BinaryOp::Sub, &last, &distance)
            }
        };
        self.node_id(&value)
    }

    pub(super) fn variable(&mut self, dim: &Dim, value: Option<NodeId>) {
        if is_generated(&dim.name) {
            let text = dim.name.trim_start_matches('_').to_owned();
            self.display_names.insert(dim.name.clone(), (text, expr_text::ATOM));
        }
        let value = value.filter(|_| !dim.mutable).map_or(AbstractValue::Data, AbstractValue::Node);
        self.bind(&dim.name, Binding::Value(value));
    }
}

/// The locals that blocks may assign.
pub(super) fn assigned<'a>(blocks: &[Option<&'a Block>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for block in blocks.iter().flatten() {
        any_in_block(block, &mut |node| {
            match node {
                visit::Node::Stmt(stmt) => {
                    if let StmtKind::Assign { target, .. } = &stmt.kind {
                        names.extend(base_name(target));
                    }
                }
                visit::Node::Expr(expr) => {
                    if let ExprKind::Call { args, has_receiver: true, .. } = &expr.kind {
                        names.extend(args.first().and_then(base_name));
                    }
                }
            }
            false
        });
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The amount by which each iteration of a loop changes a local, if the body has one assignment to it, at its end or
/// between its other statements.
fn steady_step<'a>(name: &str, changed: &[&str], body: &'a Block) -> Option<(BinaryOp, &'a Expr)> {
    let mut count = 0;
    let mut continues = false;
    any_in_block(body, &mut |node| {
        if let visit::Node::Stmt(stmt) = node {
            match &stmt.kind {
                StmtKind::Assign { target, .. } => {
                    count += u32::from(base_name(target) == Some(name))
                }
                StmtKind::Continue { .. } => continues = true,
                _ => {}
            }
        }
        false
    });
    let step = body.stmts.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Assign { target, op: Some(op @ (BinaryOp::Add | BinaryOp::Sub)), value } => {
            let is_target = matches!(&target.kind, ExprKind::Name(target) if target == name);
            let is_steady = |name: &str| !changed.contains(&name) && !binds(body, name);
            (is_target && is_computed_from(value, &is_steady)).then_some((*op, value))
        }
        _ => None,
    });
    step.filter(|_| count == 1 && !continues && !binds(body, name))
}

/// The constant that an iteration of a loop adds to a local, or subtracts from it, at most once, if the local is
/// changed in no other way.
fn pointer_step<'a>(name: &str, body: &'a Block) -> Option<(BinaryOp, &'a Expr)> {
    let mut step = None;
    (times_changed(body, name, &mut step)? <= 1).then_some(step)?
}

/// How often a block changes a local at most, by `step`, which is set at its first change.
fn times_changed<'a>(
    block: &'a Block,
    name: &str,
    step: &mut Option<(BinaryOp, &'a Expr)>,
) -> Option<u32> {
    let mut times = 0;
    for stmt in &block.stmts {
        times += match &stmt.kind {
            StmtKind::Assign { target, op, value } if base_name(target) == Some(name) => {
                let op = op.filter(|op| matches!(op, BinaryOp::Add | BinaryOp::Sub))?;
                let constant = |value: &Expr| match &value.kind {
                    ExprKind::Literal { kind: LiteralKind::Int, text, .. } => {
                        literal::integer(text)
                    }
                    _ => None,
                };
                let is_same = |(first_op, first): (BinaryOp, &Expr)| {
                    first_op == op && constant(first) == constant(value)
                };
                constant(value)?;
                if !matches!(target.kind, ExprKind::Name(_)) || !step.is_none_or(is_same) {
                    return None;
                }
                *step = Some((op, value));
                1
            }
            StmtKind::Expr(expr) => times_changed_by(expr, name, step)?,
            _ if any_in_stmt(stmt, &mut |node| changes_local(node, name)) => return None,
            _ => 0,
        };
    }
    match &block.value {
        Some(value) => Some(times + times_changed_by(value, name, step)?),
        None => Some(times),
    }
}

fn times_changed_by<'a>(
    expr: &'a Expr,
    name: &str,
    step: &mut Option<(BinaryOp, &'a Expr)>,
) -> Option<u32> {
    match &expr.kind {
        ExprKind::If { cond, then, otherwise } => {
            let in_cond = times_changed_by(cond, name, step)?;
            let then = times_changed(then, name, step)?;
            let otherwise = match otherwise {
                Some(otherwise) => times_changed(otherwise, name, step)?,
                None => 0,
            };
            Some(in_cond + then.max(otherwise))
        }
        ExprKind::Block(block) | ExprKind::Unsafe(block) => times_changed(block, name, step),
        // A loop changes it any number of times.
        _ => (!any_in_expr(expr, &mut |node| changes_local(node, name))).then_some(0),
    }
}

/// Whether a statement or expression changes a local, apart from what is inside it.
fn changes_local(node: visit::Node<'_>, name: &str) -> bool {
    let is_name = |place: &Expr| base_name(place) == Some(name);
    match node {
        visit::Node::Stmt(stmt) => {
            matches!(&stmt.kind, StmtKind::Assign { target, .. } if is_name(target))
        }
        visit::Node::Expr(expr) => matches!(
            &expr.kind,
            ExprKind::Call { args, has_receiver: true, .. } if args.first().is_some_and(is_name)
        ),
    }
}

/// Whether an expression is computed from such names and from constants, without elements of tensors and effects.
fn is_computed_from(value: &Expr, names: &dyn Fn(&str) -> bool) -> bool {
    match &value.kind {
        ExprKind::Literal { .. } | ExprKind::Const(_) => true,
        ExprKind::Name(name) | ExprKind::Len { base: name } => names(name),
        ExprKind::Extent { base, axis } => names(base) && is_computed_from(axis, names),
        ExprKind::Unary { value, .. }
        | ExprKind::Cast { value, .. }
        | ExprKind::Field { value, .. } => is_computed_from(value, names),
        ExprKind::Binary { lhs, rhs, .. } => {
            is_computed_from(lhs, names) && is_computed_from(rhs, names)
        }
        ExprKind::Method { receiver, args, .. } => {
            [&**receiver].into_iter().chain(args).all(|value| is_computed_from(value, names))
        }
        _ => false,
    }
}

/// Whether a block binds the name itself, so that it denotes another local there.
fn binds(body: &Block, name: &str) -> bool {
    any_in_block(body, &mut |node| match node {
        visit::Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::Let { name: bound, .. } => bound == name,
            StmtKind::LetPattern { pattern, .. } => {
                let mut found = false;
                each_binding(pattern, &mut |bound, _, _| found |= bound == name);
                found
            }
            StmtKind::For(each) => each.dims.iter().any(|dim| dim.name == name),
            _ => false,
        },
        visit::Node::Expr(_) => false,
    })
}

/// Whether a loop between constants only computes locals, in a way that is no formula of its variable, as the
/// reversal of bits `r = r << 1 | v & 1`. The launch unrolls it.
fn computes_only(dim: &Dim, body: &Block) -> bool {
    let is_constant =
        |bound: &Expr| matches!(bound.kind, ExprKind::Literal { .. } | ExprKind::Const(_));
    let changed = assigned(&[Some(body)]);
    let is_steady = |name: &&str| steady_step(name, &changed, body).is_some();
    let has_effects = any_in_block(body, &mut |node| match node {
        visit::Node::Stmt(stmt) => !matches!(
            stmt.kind,
            StmtKind::Let { .. }
                | StmtKind::LetPattern { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Expr(_)
        ),
        visit::Node::Expr(expr) => matches!(
            expr.kind,
            ExprKind::Index { .. }
                | ExprKind::Element { .. }
                | ExprKind::Atomic { .. }
                | ExprKind::Call { .. }
                | ExprKind::Loop { .. }
        ),
    });
    dim.begin.as_ref().is_none_or(is_constant)
        && is_constant(&dim.end)
        && dim.step.is_none()
        && !has_effects
        && !changed.iter().all(is_steady)
}

/// Whether a loop's body leaves the loop or continues with its next iteration.
fn leaves(body: &Block) -> bool {
    let in_expr = |expr: &Expr| {
        let mut found = false;
        visit::walk_expr(expr, &mut |node| found |= leaves_node(&node));
        found
    };
    let value = body.value.as_deref();
    body.stmts.iter().any(|stmt| leaves_node(&visit::Node::Stmt(stmt)))
        || value.is_some_and(in_expr)
}

fn leaves_node(node: &visit::Node<'_>) -> bool {
    let mut found = false;
    match node {
        visit::Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::Break { .. } | StmtKind::Continue { .. } | StmtKind::Return { .. } => {
                found = true;
            }
            _ => visit::walk_stmt(stmt, &mut |node| found |= leaves_node(&node)),
        },
        visit::Node::Expr(expr) => visit::walk_expr(expr, &mut |node| found |= leaves_node(&node)),
    }
    found
}
