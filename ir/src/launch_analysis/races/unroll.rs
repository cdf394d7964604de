//! Loops that the race check unrolls. In block-level code, barriers separate their iterations, and what a thread
//! accesses in an iteration often depends on it in a way that is no formula of its number, as in `d = 1 << k`.
//! Elsewhere, a loop that only computes locals, as one that reverses bits.

use std::collections::HashSet;

use super::builder::{TaskBuilder, assigned, int_type};
use crate::{
    BlockId, ExprId, ExprKind, LocalId, ScalarType, Stmt, UnaryOp,
    races::{NodeId, ValueNode},
    visit::Nodes,
};

/// The maximum trip count of a loop that is unrolled.
const MAX_TRIP_COUNT: i128 = 16;

/// The maximum trip count of an unrolled loop that only computes locals: the number of bits of an integer.
const MAX_COMPUTING_TRIP_COUNT: i128 = 64;

/// The maximum number of assignments in such a loop.
const COMPUTED_LOCALS: usize = 8;

/// The number of accesses from which on no loop is unrolled.
const UNROLLED_ACCESSES: usize = 400;

impl TaskBuilder<'_> {
    fn unrolls(&self) -> bool {
        self.unrolled.is_some() && self.is_block_level() && self.access_count() < UNROLLED_ACCESSES
    }

    /// Follows a loop.
    pub(super) fn any_loop(&mut self, stmt: &Stmt) {
        let has_jumped = self.has_jumped;
        match *stmt {
            Stmt::For { var, begin, end, body, down, .. } => {
                let bounds = [begin, end].map(|bound| self.value(bound));
                if !self.unrolled_for(var, bounds, body, down) {
                    self.counted_loop(var, bounds, body, down);
                }
            }
            Stmt::Loop { body } if !self.unrolled_while(body) => self.endless_loop(body),
            _ => {}
        }
        // Jumps in the loop lead to its next iteration or to its end.
        self.has_jumped = has_jumped;
    }

    /// The locals that are declared outside of a loop. Those of an iteration are not known in the next one.
    fn known(&self) -> HashSet<LocalId> {
        self.env.keys().copied().collect()
    }

    /// Whether a loop's body only computes locals, in a way that is no formula of the loop's variable, as the
    /// reversal of bits `r = r << 1 | v & 1`.
    fn computes_only(&self, body: BlockId) -> bool {
        let nodes = self.nodes;
        let mut locals = assigned(nodes, body).0;
        let is_short = locals.len() <= COMPUTED_LOCALS;
        locals.sort_unstable();
        let steady = self.progressions(body, &locals).len();
        is_short && is_computation(nodes, body) && steady < locals.len()
    }

    /// Unrolls a loop over few constant values. Returns false for other loops.
    fn unrolled_for(
        &mut self,
        var: LocalId,
        bounds: [NodeId; 2],
        body: BlockId,
        down: bool,
    ) -> bool {
        let ty = int_type(self.nodes.locals[var].ty);
        let [Some(begin), Some(end)] = bounds.map(|id| self.builder.constant(id, ty)) else {
            return false;
        };
        if self.computes_only(body) && end - begin <= MAX_COMPUTING_TRIP_COUNT {
            // It has no accesses, so that no unrolled ones are counted.
        } else if self.unrolls() && end - begin <= MAX_TRIP_COUNT && !leaves(self.nodes, body) {
            self.unrolled = self.unrolled.map(|count| count + 1);
        } else {
            return false;
        }
        let range = begin..end;
        let values: Vec<i128> = if down { range.rev().collect() } else { range.collect() };
        let known = self.known();
        for value in values {
            let id = self.builder.push(ValueNode::Const(value));
            self.env.insert(var, id);
            self.block(body);
            self.env.retain(|local, _| known.contains(local));
        }
        true
    }

    /// Unrolls `while condition { … }`, if the condition is known in each of few iterations. Returns false if it is
    /// not.
    fn unrolled_while(&mut self, body: BlockId) -> bool {
        let nodes = self.nodes;
        let Some((Stmt::If { cond, then, otherwise }, rest)) =
            nodes.blocks[body].stmts.split_first()
        else {
            return false;
        };
        let is_break = |block: &BlockId| matches!(nodes.blocks[*block].stmts[..], [Stmt::Break]);
        let is_empty = |block: &BlockId| nodes.blocks[*block].stmts.is_empty();
        // The condition's value with which the loop ends.
        let end =
            match (is_break(then) && is_empty(otherwise), is_empty(then) && is_break(otherwise)) {
                (true, _) => 1,
                (_, true) => 0,
                _ => return false,
            };
        if rest.iter().any(|stmt| leaves_by(nodes, stmt)) {
            return false;
        }
        let (cond, end) = match nodes.exprs[*cond].kind {
            ExprKind::Unary { op: UnaryOp::Not, value } => (value, 1 - end),
            _ => (*cond, end),
        };
        let known = self.known();
        for _ in 0..=MAX_TRIP_COUNT {
            if !self.unrolls() {
                return false;
            }
            self.values.clear();
            let id = self.value(cond);
            match self.builder.constant(id, int_type(ScalarType::Bool)) {
                Some(value) if value == end => return true,
                Some(_) => {
                    self.unrolled = self.unrolled.map(|count| count + 1);
                    for stmt in rest {
                        self.stmt(stmt);
                    }
                    self.env.retain(|local, _| known.contains(local));
                }
                None => return false,
            }
        }
        false
    }
}

/// Whether a block only defines and assigns locals, without access to tensors and shared arrays.
fn is_computation(nodes: Nodes<'_>, block: BlockId) -> bool {
    nodes.blocks[block].stmts.iter().all(|stmt| match *stmt {
        Stmt::Let { value, .. } | Stmt::Assign { value, .. } => has_no_access(nodes, value),
        Stmt::If { cond, then, otherwise } => {
            has_no_access(nodes, cond)
                && is_computation(nodes, then)
                && is_computation(nodes, otherwise)
        }
        _ => false,
    })
}

fn has_no_access(nodes: Nodes<'_>, value: ExprId) -> bool {
    let kind = &nodes.exprs[value].kind;
    !matches!(kind, ExprKind::Load(_) | ExprKind::Atomic { .. })
        && kind.operands().all(|operand| has_no_access(nodes, operand))
}

/// Whether a loop's body leaves the loop or continues with its next iteration.
fn leaves(nodes: Nodes<'_>, body: BlockId) -> bool {
    nodes.blocks[body].stmts.iter().any(|stmt| leaves_by(nodes, stmt))
}

fn leaves_by(nodes: Nodes<'_>, stmt: &Stmt) -> bool {
    match *stmt {
        Stmt::Break | Stmt::Continue => true,
        // Their jumps are their own; in a phase, a jump ends the phase of the thread.
        Stmt::For { .. } | Stmt::Loop { .. } | Stmt::Phase { .. } => false,
        _ => stmt.blocks().any(|block| leaves(nodes, block)),
    }
}
