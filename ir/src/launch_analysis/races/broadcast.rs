//! Values that one thread of a block gives to all by a shared array: `if t == 0 { base[0] = …; }`.

use std::collections::HashMap;

use super::build::TaskBuilder;
use crate::{
    Array, BinaryOp, BlockId, Element, ExprId, ExprKind, LocalId, Stmt,
    races::{Guard, Index, Node, Scope, Slot},
    visit::Nodes,
};

/// A store to a shared array in the current phase, by one thread.
pub(super) struct Broadcast {
    array: LocalId,
    index: Index,
    value: Slot,
    /// The number of the thread.
    thread: i128,
}

impl TaskBuilder<'_> {
    /// The one thread of the block that executes the current code of a phase, which no other condition guards. Loops
    /// have conditions, too, so the code is in no loop of the phase.
    pub(super) fn only_thread(&self) -> Option<i128> {
        let threads = self.task.threads.filter(|_| self.in_phase)?;
        let [Guard { cond, is: true }] = self.guards[self.guards_of_block..] else { return None };
        let Node::Binary(BinaryOp::Eq, ty, a, b) = self.steps.node(cond) else { return None };
        let thread = |slot: Slot| self.steps.node(slot) == Node::Var(self.task.dims - 1);
        let number = match (thread(a), thread(b)) {
            (true, false) => self.steps.constant(b, ty)?,
            (false, true) => self.steps.constant(a, ty)?,
            _ => return None,
        };
        (0..i128::from(threads)).contains(&number).then_some(number)
    }

    /// Notes a store that only one thread executes.
    pub(super) fn note_broadcast(&mut self, element: &Element, value: ExprId) {
        let Array::Shared(array) = element.array else { return };
        let Some(thread) = self.only_thread().filter(|_| !self.has_jumped) else { return };
        let index: Index = element.index.iter().map(|index| self.value(*index)).collect();
        let extents = self.extents(element.array);
        // Outside of the array nothing is stored.
        let is_inside = index.len() == extents.len()
            && index.iter().zip(&extents).all(|(at, extent)| {
                let ty = self.steps.program.index_type;
                let [at, extent] = [at, extent].map(|slot| self.steps.constant(*slot, ty));
                at.zip(extent).is_some_and(|(at, extent)| at < extent)
            });
        if is_inside {
            let value = self.value(value);
            self.broadcasts.push(Broadcast { array, index, value, thread });
        }
    }

    /// At the end of a phase: later phases read what one thread stored, if the phase stores nothing else there.
    pub(super) fn keep_broadcasts(&mut self, body: BlockId) {
        for Broadcast { array, index, value, thread } in std::mem::take(&mut self.broadcasts) {
            if changes(self.nodes, body, Array::Shared(array)) != 1 {
                continue;
            }
            let mut known = HashMap::new();
            if let Some(value) = self.of_thread(value, thread, &mut known) {
                self.shared_loads.insert((array, index), value);
            }
        }
    }

    /// The value that a slot has for one thread. Its unknown parts are those of the block.
    fn of_thread(
        &mut self,
        slot: Slot,
        thread: i128,
        known: &mut HashMap<Slot, Slot>,
    ) -> Option<Slot> {
        if let Some(slot) = known.get(&slot) {
            return Some(*slot);
        }
        let of_block = match self.steps.node(slot) {
            _ if self.steps.scope(slot) < Scope::Iteration => slot,
            Node::Var(_) => self.steps.number(thread),
            Node::Unknown { ty, .. } => self.steps.unknown(ty, Scope::Block),
            Node::Inner { .. } | Node::Distinct(_) => return None,
            Node::Ticket { counter, .. } => {
                let mut counter = self.steps.program.counters[counter].clone();
                if counter.source.is_of_block() {
                    return None;
                }
                for slot in counter.cell.iter_mut().chain([&mut counter.amount]) {
                    *slot = self.of_thread(*slot, thread, known)?;
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
                node.for_operands(|slot| *slot = operands.next().unwrap_or(*slot));
                self.steps.push(node)
            }
        };
        known.insert(slot, of_block);
        Some(of_block)
    }
}

/// How many statements and atomics of a block change an array.
fn changes(nodes: Nodes<'_>, block: BlockId, array: Array) -> usize {
    let of = |stmt: &Stmt| {
        let stores = matches!(stmt, Stmt::Store { element, .. } if element.array == array);
        let is_atomic = |value: &ExprId| {
            let kind = &nodes.exprs[*value].kind;
            matches!(kind, ExprKind::Atomic { element, .. } if element.array == array)
        };
        let inner: usize = stmt.blocks().map(|inner| changes(nodes, inner, array)).sum();
        usize::from(stores) + stmt.exprs().filter(is_atomic).count() + inner
    };
    nodes.blocks[block].stmts.iter().map(of).sum()
}
