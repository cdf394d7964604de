//! Why the race check of a launch cannot separate two accesses, for messages.

use std::collections::HashMap;

use super::{
    builder::TaskBuilder,
    check::{AccessPattern, TaskRaceCheck, array_of},
};
use crate::{
    Array, LocalId, SiteId,
    races::{IntType, NodeId, Obstacle, Uniformity, ValueNode, obstacle},
};

/// What prevents the proof that two accesses do not race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// An index depends on a value that the host does not know.
    Unknown(ValueOrigin),
    /// An index depends on tickets of different counters, which may be equal.
    Counters(Array),
    /// An index depends on tickets of a counter, but not in a way that separates them.
    Ticket(Array),
    /// The list that is written by tickets has more rows than there are counters. Outside of their array, counters
    /// give 0.
    Rows {
        /// The array of the counters.
        counted: Array,
        /// The number of rows of the list.
        rows: u64,
        /// The number of counters.
        counters: u64,
    },
    /// An index, or a condition, has an operation that is not followed in all cases.
    Obstacle {
        /// The operation.
        kind: Obstacle,
        /// Whether it is in a condition.
        in_condition: bool,
    },
    /// Nothing in particular.
    NotProven,
}

/// Where an unknown value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueOrigin {
    /// It is read from an array.
    Read(Array, SiteId),
    /// It is the old value of an atomic, and no ticket.
    OldValue(Array, SiteId),
    /// It is a local that a loop changes, or that each thread of a block has.
    Changed(LocalId),
}

pub(super) type Origins = HashMap<NodeId, ValueOrigin>;

impl TaskBuilder<'_> {
    /// An unknown value whose origin is known.
    pub(super) fn unknown_from(
        &mut self,
        origin: ValueOrigin,
        ty: IntType,
        uniformity: Uniformity,
    ) -> NodeId {
        let id = self.builder.unknown(ty, uniformity);
        self.origins.insert(id, origin);
        id
    }
}

impl TaskRaceCheck {
    /// What prevents the proof that these accesses do not race.
    pub(super) fn cause(&self, accesses: [&AccessPattern; 2], args: &[u64]) -> Cause {
        let unknown = |access: &AccessPattern| {
            let reached = self.graph.reached(&access.index);
            let nodes = self.graph.nodes.iter().zip(0..).zip(reached);
            let mut varying = nodes.filter(|((node, _), reached)| *reached && node.varies());
            varying.find_map(|((_, id), _)| self.origins.get(&id).copied())
        };
        let of_index = |access: &AccessPattern| obstacle(&self.graph, &access.index);
        let of_guards = |access: &AccessPattern| {
            let conditions: Vec<NodeId> =
                access.conditions.iter().map(|condition| condition.node).collect();
            obstacle(&self.graph, &conditions)
        };
        let not_followed = |found: Option<(NodeId, Obstacle)>, in_condition: bool| {
            found.map(|(_, kind)| Cause::Obstacle { kind, in_condition })
        };
        let all = accesses.iter().copied();
        (all.clone().find_map(|access| self.ticket(access, args)))
            .or_else(|| all.clone().find_map(unknown).map(Cause::Unknown))
            .or_else(|| not_followed(all.clone().find_map(of_index), false))
            .or_else(|| not_followed(all.clone().find_map(of_guards), true))
            .unwrap_or(Cause::NotProven)
    }

    /// Why a ticket that an index depends on does not separate the accesses.
    fn ticket(&self, access: &AccessPattern, args: &[u64]) -> Option<Cause> {
        let reached = self.graph.reached(&access.index);
        let mut nodes = self.graph.nodes.iter().zip(&reached).filter(|(_, reached)| **reached);
        let counter = nodes.find_map(|(node, _)| match node {
            ValueNode::Ticket { counter, .. } => Some(&self.graph.counters[*counter]),
            _ => None,
        })?;
        let array = array_of(counter.source);
        let word = |id: NodeId| match self.graph.nodes[id as usize] {
            ValueNode::Argument { word, .. } => args.get(word).copied(),
            _ => None,
        };
        for (cell, extent) in counter.cell.iter().zip(&counter.extents) {
            let reached = self.graph.reached(&[*cell]);
            let mut sources = self.graph.nodes.iter().zip(reached);
            let is_fixed = !sources.any(|(node, reached)| reached && node.varies());
            let Some(at) = access.index.iter().position(|id| id == cell) else {
                if is_fixed {
                    continue;
                }
                return Some(Cause::Counters(array));
            };
            let rows = access.extents.get(at).and_then(|extent| word(*extent));
            if let (Some(rows), Some(counters)) = (rows, word(*extent))
                && rows > counters
            {
                return Some(Cause::Rows { counted: array, rows, counters });
            }
        }
        Some(Cause::Ticket(array))
    }
}
