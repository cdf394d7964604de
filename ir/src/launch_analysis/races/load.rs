//! Loads, floats, and the extents of what is accessed.

use super::{
    build::{TaskBuilder, int_type},
    cause::ValueOrigin,
    program::AccessKind,
};
use crate::{
    Array, BinaryOp, Element, ParamId, ScalarType, SharedExtent,
    races::{Index, IntType, Node, Scope, Slot, TensorRead},
};

/// A float, or a comparison of two, which has the same value wherever it is computed. Arithmetic has not: a compiler
/// may contract it in one place and not in another.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Float {
    Constant(ScalarType, u64),
    Argument(ParamId),
    Comparison(BinaryOp, [Slot; 2]),
}

impl TaskBuilder<'_> {
    /// Follows a load. Returns its value.
    pub(super) fn load(&mut self, element: &Element, ty: IntType) -> Slot {
        self.access(element, AccessKind::Read);
        let origin = ValueOrigin::Read(element.array, element.site);
        let tensor = match element.array {
            Array::Tensor(tensor) => tensor,
            Array::Shared(array) => return self.shared_load(element, array, ty),
            Array::Local(_) => return self.unknown_from(origin, ty, Scope::Iteration),
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
            let read = self.steps.distinct(TensorRead { tensor, ty, index, extents });
            let slot = self.steps.push(read);
            self.origins.insert(slot, origin);
            slot
        } else {
            let scope = self.steps.scope_of(&index);
            let slot = self.unknown_from(origin, ty, scope);
            if scope > Scope::Loop && ty.is_some_and(|ty| !ty.is_float()) {
                let (tensor, index, extents) = (tensor.raw(), index.clone(), Index::new());
                let read = TensorRead { tensor, ty, index, extents };
                self.steps.program.reads.push((slot, read));
            }
            slot
        };
        self.exact_floats.extend(ty.is_some_and(ScalarType::is_float).then_some(slot));
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

    /// The unknown value of a float that is exact, or of a comparison.
    pub(super) fn float(&mut self, float: Float, ty: IntType, scope: Scope) -> Slot {
        let is_number = !matches!(float, Float::Comparison(..));
        let slot = *self.floats.entry(float).or_insert_with(|| self.steps.unknown(ty, scope));
        self.exact_floats.extend(is_number.then_some(slot));
        slot
    }
}
