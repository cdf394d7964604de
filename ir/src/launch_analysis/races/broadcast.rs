//! Values in shared arrays that later phases load: stored by one thread for all, `if t == 0 { base[0] = …; }`, or by
//! each thread in its own element, `place[t] = …`.

use std::collections::HashMap;

use super::{
    builder::{TaskBuilder, int_type},
    check::Conditions,
    part::ArrayPart,
};
use crate::{
    Array, BinaryOp, BlockId, Element, ExprId, ExprKind, LocalId, Stmt,
    races::{Condition, Index, NodeId, Uniformity, ValueNode},
    visit::Nodes,
};

/// A store to a shared array in the current phase.
pub(super) struct Broadcast {
    array: LocalId,
    part: ArrayPart,
    index: Index,
    value: NodeId,
    by: StoringThreads,
}

/// Which threads store.
enum StoringThreads {
    /// The one with this number.
    One(i128),
    /// Each stores in the element of its own number, under conditions.
    Each(Conditions),
}

impl TaskBuilder<'_> {
    /// The one thread of the block that executes the current code of a phase, to which no other condition applies.
    /// Loops have conditions, too, so the code is in no loop of the phase.
    pub(super) fn only_thread(&self) -> Option<i128> {
        let threads = self.task.threads.filter(|_| self.in_phase)?;
        let [Condition { node: cond, holds: true }] = self.conditions[self.conditions_of_block..]
        else {
            return None;
        };
        let ValueNode::Binary(BinaryOp::Eq, ty, a, b) = self.builder.node(cond) else {
            return None;
        };
        let thread = |id: NodeId| self.builder.node(id) == ValueNode::Var(self.task.dims - 1);
        let number = match (thread(a), thread(b)) {
            (true, false) => self.builder.constant(b, ty)?,
            (false, true) => self.builder.constant(a, ty)?,
            _ => return None,
        };
        (0..i128::from(threads)).contains(&number).then_some(number)
    }

    /// Notes a store that only one thread executes.
    pub(super) fn note_broadcast(&mut self, element: &Element, value: ExprId) {
        let Array::Shared(array) = element.array else { return };
        if self.has_jumped || !self.in_phase {
            return;
        }
        let index: Index = element.index.iter().map(|index| self.value(*index)).collect();
        let extents = self.extents(element.array);
        let by = match self.only_thread() {
            Some(thread) if self.is_inside(&index, &extents) => StoringThreads::One(thread),
            None if self.is_own(&index, &extents) && self.nodes.exprs[value].ty.is_int() => {
                StoringThreads::Each(self.conditions[self.conditions_of_block..].into())
            }
            _ => return,
        };
        let value = self.value(value);
        let part = ArrayPart::of(self.nodes, element);
        self.broadcasts.push(Broadcast { array, part, index, value, by });
    }

    /// Whether an element with a constant index is inside its array: outside nothing is stored.
    pub(super) fn is_inside(&self, index: &[NodeId], extents: &[NodeId]) -> bool {
        let ty = self.builder.graph.index_type;
        index.len() == extents.len()
            && index.iter().zip(extents).all(|(at, extent)| {
                let [at, extent] = [at, extent].map(|id| self.builder.constant(*id, ty));
                at.zip(extent).is_some_and(|(at, extent)| at < extent)
            })
    }

    /// Whether each thread has an element of its own number, and stores it once in the phase.
    fn is_own(&self, index: &[NodeId], extents: &[NodeId]) -> bool {
        let ([at], [extent], Some(threads)) = (index, extents, self.task.threads) else {
            return false;
        };
        let length = self.builder.constant(*extent, self.builder.graph.index_type);
        self.builder.node(*at) == ValueNode::Var(self.task.dims - 1)
            && self.loops.len() == self.loops_of_block
            && length.is_some_and(|length| length >= i128::from(threads))
    }

    /// At the end of a phase: later phases read what was stored, if the phase has no other store there.
    pub(super) fn keep_broadcasts(&mut self, body: BlockId) {
        for Broadcast { array, part, index, value, by } in std::mem::take(&mut self.broadcasts) {
            if changes(self.nodes, body, &part) != 1 {
                continue;
            }
            let kept = match by {
                StoringThreads::One(thread) => self.of_thread(value, thread, &mut HashMap::new()),
                StoringThreads::Each(conditions) => Some(self.under(&conditions, value, array)),
            };
            if let Some(value) = kept {
                self.shared_loads.insert((array, index), value);
            }
        }
    }

    /// The value where the conditions hold, an unknown one elsewhere.
    fn under(&mut self, conditions: &[Condition], value: NodeId, array: LocalId) -> NodeId {
        let ty = int_type(self.nodes.locals[array].ty);
        conditions.iter().rev().fold(value, |value, condition| {
            let other = self.builder.unknown(ty, Uniformity::Iteration);
            let (then, otherwise) = if condition.holds { (value, other) } else { (other, value) };
            self.builder.push(ValueNode::Select(condition.node, then, otherwise))
        })
    }

    /// The value that a node has for one thread. Its unknown parts are those of the block.
    fn of_thread(
        &mut self,
        id: NodeId,
        thread: i128,
        known: &mut HashMap<NodeId, NodeId>,
    ) -> Option<NodeId> {
        if let Some(id) = known.get(&id) {
            return Some(*id);
        }
        let of_block = match self.builder.node(id) {
            _ if self.builder.uniformity(id) < Uniformity::Iteration => id,
            ValueNode::Var(_) => self.builder.number(thread),
            ValueNode::Unknown { ty, .. } => self.builder.unknown(ty, Uniformity::Block),
            ValueNode::Inner { .. } | ValueNode::Distinct(_) => return None,
            ValueNode::Ticket { counter, .. } => {
                let mut counter = self.builder.graph.counters[counter].clone();
                if counter.source.is_of_block() {
                    return None;
                }
                for id in counter.cell.iter_mut().chain([&mut counter.amount]) {
                    *id = self.of_thread(*id, thread, known)?;
                }
                counter.is_of_one_thread = true;
                self.ticket(counter)
            }
            mut node => {
                let mut operands = node.operands();
                for operand in &mut operands {
                    *operand = self.of_thread(*operand, thread, known)?;
                }
                let mut operands = operands.into_iter();
                node.for_operands(|id| *id = operands.next().unwrap_or(*id));
                self.builder.push(node)
            }
        };
        known.insert(id, of_block);
        Some(of_block)
    }
}

/// How many statements and atomics of a block change a part of an array.
fn changes(nodes: Nodes<'_>, block: BlockId, part: &ArrayPart) -> usize {
    let is_changed = |element: &Element| ArrayPart::of(nodes, element).overlaps(part);
    let of = |stmt: &Stmt| {
        let stores = matches!(stmt, Stmt::Store { element, .. } if is_changed(element));
        let is_atomic = |value: &ExprId| {
            let kind = &nodes.exprs[*value].kind;
            matches!(kind, ExprKind::Atomic { element, .. } if is_changed(element))
        };
        let inner: usize = stmt.blocks().map(|inner| changes(nodes, inner, part)).sum();
        usize::from(stores) + stmt.exprs().filter(is_atomic).count() + inner
    };
    nodes.blocks[block].stmts.iter().map(of).sum()
}
