//! Loads, and the extents of what is accessed.

use super::{
    build::{TaskBuilder, int_type},
    cause::Origin,
    program::AccessKind,
};
use crate::{
    Array, Element, ScalarType, SharedExtent,
    races::{DistinctRead, Index, IntType, Node, Scope, Slot},
};

impl TaskBuilder<'_> {
    /// Follows a load. Returns its value.
    pub(super) fn load(&mut self, element: &Element, ty: IntType) -> Slot {
        self.access(element, AccessKind::Read);
        let origin = Origin::Read(element.array, element.site);
        let Array::Tensor(tensor) = element.array else {
            return self.unknown_from(origin, ty, Scope::Iteration);
        };
        if self.in_prelude {
            return self.steps.unknown(ty, Scope::Loop);
        }
        if self.changed[tensor.index()] {
            return self.unknown_from(origin, ty, Scope::Iteration);
        }
        let index: Index = element.index.iter().map(|index| self.value(*index)).collect();
        if let Some(slot) = self.loads.get(&(tensor, index.clone())) {
            return *slot;
        }
        let is_distinct = self.nodes.params[tensor.index()].kind.is_distinct();
        let slot = if is_distinct && self.steps.scope_of(&index) > Scope::Loop {
            let extents = self.extents(element.array);
            let (tensor, index) = (tensor.raw(), index.clone());
            let read = self.steps.distinct(DistinctRead { tensor, ty, index, extents });
            let slot = self.steps.push(read);
            self.origins.insert(slot, origin);
            slot
        } else {
            self.unknown_from(origin, ty, self.steps.scope_of(&index))
        };
        self.loads.insert((tensor, index), slot);
        slot
    }

    /// The extents of a tensor or shared array.
    pub(super) fn extents(&mut self, object: Array) -> Index {
        match object {
            Array::Tensor(tensor) => {
                let rank = usize::from(self.nodes.params[tensor.index()].kind.rank());
                let first = self.layout.word(tensor) + 1;
                let words = first..first + rank;
                let ty = ScalarType::U64;
                words.map(|word| self.steps.push(Node::Argument { word, ty })).collect()
            }
            Array::Shared(array) => self.shared_dims.get(&array).cloned().unwrap_or_default(),
            Array::Local(_) => Index::new(),
        }
    }

    pub(super) fn shared_extent(&mut self, extent: SharedExtent) -> Slot {
        match extent {
            SharedExtent::Constant(number) => self.steps.number(i128::from(number)),
            SharedExtent::Local(local) => match self.env.get(&local) {
                Some(slot) => *slot,
                None => self.steps.unknown(int_type(ScalarType::U64), Scope::Loop),
            },
        }
    }
}
