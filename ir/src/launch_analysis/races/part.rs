//! Parts of arrays that the race check distinguishes: elements with constant indices, as of two counters in one array.

use smallvec::SmallVec;

use crate::{Array, Element, ExprKind, races::NodeId, visit::Nodes};

use super::builder::TaskBuilder;

/// An array, or the element of it with these constant indices.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ArrayPart {
    pub(super) array: Array,
    at: Option<SmallVec<[i128; 3]>>,
}

impl ArrayPart {
    /// What an access touches, without the values of locals.
    pub(super) fn of(nodes: Nodes<'_>, element: &Element) -> Self {
        let constant = |index: &crate::ExprId| match nodes.exprs[*index].kind {
            ExprKind::Const(constant) => constant.as_int(),
            _ => None,
        };
        Self { array: element.array, at: element.index.iter().map(constant).collect() }
    }

    /// Whether two parts have a common element.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.array == other.array
            && (self.at.is_none() || other.at.is_none() || self.at == other.at)
    }

    /// Whether one of these parts has a common element with this one.
    pub(super) fn overlaps_any<'p>(&self, others: impl IntoIterator<Item = &'p Self>) -> bool {
        others.into_iter().any(|other| self.overlaps(other))
    }
}

impl TaskBuilder<'_> {
    /// The part of an array with these indices.
    pub(super) fn part(&self, array: Array, index: &[NodeId]) -> ArrayPart {
        let ty = self.builder.graph.index_type;
        ArrayPart { array, at: index.iter().map(|id| self.builder.constant(*id, ty)).collect() }
    }
}
