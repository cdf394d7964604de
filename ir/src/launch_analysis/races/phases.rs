//! Phases of thread blocks: what they count, what a collective gives, and which elements of shared arrays keep their
//! values.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::{
    builder::{TaskBuilder, assigned, int_type},
    cause::ValueOrigin,
    check::{Conditions, CounterIncrement},
    pairs::{changed_in, uncountable_in},
    part::ArrayPart,
};
use crate::{
    Array, AtomicOp, BinaryOp, BlockCollective, BlockId, CollectiveOp, Element, ExprId, LocalId,
    ReduceOp, ScalarType,
    races::{Counter, Index, IntType, NodeId, Stored, TicketSource, Uniformity, ValueNode},
};

impl TaskBuilder<'_> {
    pub(super) fn phase(
        &mut self,
        var: LocalId,
        body: BlockId,
        collective: Option<BlockCollective>,
    ) {
        let nodes = self.nodes;
        let id = self.builder.push(ValueNode::Var(self.task.dims - 1));
        self.env.insert(var, id);
        self.phase += 1;
        self.uncountable.retain(|part| matches!(part.array, Array::Tensor(_)));
        let mut uncountable = HashSet::new();
        uncountable_in(nodes, body, &mut uncountable);
        self.changed_here.clear();
        changed_in(nodes, body, &mut self.changed_here);
        let mut loads = std::mem::take(&mut self.shared_loads);
        loads.retain(|(array, index), _| {
            !self.part(Array::Shared(*array), index).overlaps_any(&self.changed_here)
        });
        self.shared_loads = loads;
        let shared = uncountable.into_iter().filter(|part| matches!(part.array, Array::Shared(_)));
        self.uncountable.extend(shared);
        (self.in_phase, self.thread, self.has_jumped) = (true, Some(var), false);
        (self.loops_of_block, self.conditions_of_block) = (self.loops.len(), self.conditions.len());
        self.block(body);
        self.keep_broadcasts(body);
        let locals = assigned(nodes, body).0;
        self.forget(&locals, Uniformity::Iteration);
        (self.in_phase, self.thread) = (false, None);
        let input = self.input.take();
        let Some(BlockCollective { op, local }) = collective else { return };
        let ty = nodes.locals[local].ty;
        match (op, input) {
            (CollectiveOp::Scan { op: ReduceOp::Add, exclusive }, Some(amount)) if ty.is_int() => {
                let sum = self.prefix_sum(local, id, amount, exclusive);
                self.env.insert(local, sum);
            }
            (CollectiveOp::Reduce(op), input) => {
                self.forget(&[local], Uniformity::Block);
                let sum = self.env.get(&local).copied().filter(|_| op == ReduceOp::Add);
                let total = input.zip(sum).filter(|_| ty.is_int());
                self.builder.graph.totals.extend(total.map(|(amount, sum)| [amount, sum, id]));
            }
            _ => self.forget(&[local], Uniformity::Iteration),
        }
    }

    /// The sum of the amounts of the threads before the thread, or up to it.
    fn prefix_sum(
        &mut self,
        local: LocalId,
        thread: NodeId,
        amount: NodeId,
        exclusive: bool,
    ) -> NodeId {
        let ty = int_type(self.nodes.locals[local].ty);
        let source = TicketSource::Scan(local.raw());
        let cell = Index::from_slice(&[thread]);
        self.task.increments.push(CounterIncrement {
            source,
            amount,
            ty,
            loops: SmallVec::new(),
            by_one: false,
            conditions: Conditions::new(),
        });
        let before = self.ticket(Counter {
            source,
            ty,
            cell,
            extents: Index::new(),
            amount,
            is_of_one_thread: false,
        });
        if exclusive {
            return before;
        }
        self.builder.push(ValueNode::Binary(BinaryOp::Add, ty, before, amount))
    }

    /// Makes the elements of shared arrays unknown where block-level code has several ways.
    pub(super) fn forget_shared(&mut self) {
        if self.is_block_level() {
            self.shared_loads.clear();
        }
    }

    /// Notes what is stored in a shared array.
    pub(super) fn note_stored(&mut self, element: &Element, value: ExprId) {
        let Array::Shared(_) = element.array else { return };
        let value = self.value(value);
        let part = ArrayPart::of(self.nodes, element);
        self.stores.push((part.clone(), self.phase, self.loops_of_block > 0));
        if let Some(stored) = self.stored.entry(part).or_insert_with(|| Some(Stored::default())) {
            stored.values.push(value);
        }
    }

    /// Notes that an atomic changes a shared array, by [`note_added`](Self::note_added) if that is all that is known.
    pub(super) fn note_changed(&mut self, op: AtomicOp, element: &Element, is_int: bool) {
        let Array::Shared(_) = element.array else { return };
        let is_counted = op == AtomicOp::Add && is_int && self.in_phase && !self.in_prelude;
        // In a loop, an addition is repeated.
        if !is_counted || !self.loops.is_empty() {
            self.stored.insert(ArrayPart::of(self.nodes, element), None);
        }
    }

    /// Notes an addition to a shared array.
    pub(super) fn note_added(&mut self, element: &Element, amount: NodeId, by_one: bool) {
        let Array::Shared(_) = element.array else { return };
        let part = ArrayPart::of(self.nodes, element);
        let threads = match self.task.threads {
            _ if by_one => 1,
            Some(threads) => i128::from(threads),
            None => {
                self.stored.insert(part, None);
                return;
            }
        };
        if let Some(stored) = self.stored.entry(part).or_insert_with(|| Some(Stored::default())) {
            stored.added.push((amount, threads));
        }
    }

    /// At the end of the task: tells which values are loaded from shared arrays, unless what is stored in an array is
    /// computed from its own elements.
    pub(super) fn know_stored(&mut self) {
        let loads = &self.loads_of_shared;
        // The parts whose elements the values that are stored in a part are computed from.
        let mut used: HashMap<&ArrayPart, HashSet<&ArrayPart>> = HashMap::new();
        for (part, stored) in &self.stored {
            let stored: Vec<NodeId> = stored.iter().flat_map(Stored::ids).copied().collect();
            let reached = self.builder.graph.reached(&stored);
            let loads = loads.iter().filter(|(load, _)| reached[*load as usize]);
            let loaded: Vec<&ArrayPart> = loads.map(|(_, part)| part).collect();
            let of = self.stored.keys().filter(|part| part.overlaps_any(loaded.iter().copied()));
            used.insert(part, of.collect());
        }
        let uses_itself = |part: &ArrayPart| {
            let (mut found, mut left) = (HashSet::new(), vec![part]);
            while let Some(next) = left.pop() {
                left.extend(used.get(next).into_iter().flatten().filter(|of| found.insert(**of)));
            }
            found.contains(part)
        };
        let mut known = Vec::new();
        for (load, part) in loads {
            let mut all = Stored::default();
            let mut stored = self.stored.iter().filter(|(of, _)| of.overlaps(part));
            let is_known = stored.all(|(of, stored)| {
                let Some(Stored { values, added }) = stored else { return false };
                all.values.extend(values);
                all.added.extend(added);
                !uses_itself(of)
            });
            all.values.sort_unstable();
            all.added.sort_unstable();
            known.extend(is_known.then_some((*load, all)));
        }
        self.builder.graph.stored = known;
        self.bound_counter_totals();
    }

    /// Tells which loads are made after all additions to a counter that a phase counts with. Between the phase and the
    /// load, the task only adds to the counter. No addition is in a loop, so no loop of the block is around the phase.
    fn bound_counter_totals(&mut self) {
        let mut totals = Vec::new();
        for (at, counter) in self.builder.graph.counters.iter().enumerate() {
            let TicketSource::Shared { array, phase } = counter.source else { continue };
            let (array, phase) = (LocalId::new(array), phase as usize);
            let part = self.part(Array::Shared(array), &counter.cell);
            let mut stored = self.stored.iter().filter(|(of, _)| of.overlaps(&part));
            if !stored.all(|(_, stored)| stored.is_some())
                || !self.is_inside(&counter.cell, &counter.extents)
            {
                continue;
            }
            let is_set = |until: usize| {
                self.stores.iter().any(|(of, stored, in_loop)| {
                    of.overlaps(&part) && *stored >= phase && (*in_loop || *stored <= until)
                })
            };
            let after = self.kept_loads.iter().filter(|(_, of, index, in_phase)| {
                *of == array && *index == counter.cell && *in_phase > phase && !is_set(*in_phase)
            });
            totals.extend(after.map(|(load, ..)| (at, *load)));
        }
        self.builder.graph.totals_of_counters = totals;
    }

    /// Follows a load from a shared array. Until a phase changes the array, its elements keep their values.
    pub(super) fn shared_load(&mut self, element: &Element, array: LocalId, ty: IntType) -> NodeId {
        let id = self.shared_value(element, array, ty);
        let load = (id, ArrayPart::of(self.nodes, element));
        if ty.is_some_and(ScalarType::is_int) && !self.loads_of_shared.contains(&load) {
            let is_unknown = matches!(self.builder.node(id), ValueNode::Unknown { .. });
            self.loads_of_shared.extend(is_unknown.then_some(load));
        }
        id
    }

    fn shared_value(&mut self, element: &Element, array: LocalId, ty: IntType) -> NodeId {
        let origin = ValueOrigin::Read(element.array, element.site);
        if !self.in_phase || ArrayPart::of(self.nodes, element).overlaps_any(&self.changed_here) {
            return self.unknown_from(origin, ty, Uniformity::Iteration);
        }
        let index: Index = element.index.iter().map(|index| self.value(*index)).collect();
        if let Some(id) = self.shared_loads.get(&(array, index.clone())) {
            return *id;
        }
        let uniformity = self.builder.uniformity_of(&index).max(Uniformity::Block);
        let id = self.unknown_from(origin, ty, uniformity);
        self.exact_floats.extend(ty.is_some_and(ScalarType::is_float).then_some(id));
        self.kept_loads.push((id, array, index.clone(), self.phase));
        self.shared_loads.insert((array, index), id);
        id
    }
}
