//! Loads, floats, and the extents of what is accessed.

use super::{
    builder::{TaskBuilder, int_type},
    cause::ValueOrigin,
    check::AccessKind,
};
use crate::{
    Array, BinaryOp, Element, ParamId, ScalarType, SharedExtent,
    races::{Index, IntType, NodeId, TensorRead, Uniformity, ValueNode},
};

/// A float, or a comparison of two, which has the same value wherever it is computed. Arithmetic does not: a compiler
/// may contract it in one place and not in another.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum FloatValue {
    Constant(ScalarType, u64),
    Argument(ParamId),
    Comparison(BinaryOp, [NodeId; 2]),
}

impl TaskBuilder<'_> {
    /// Follows a load. Returns its value.
    pub(super) fn load(&mut self, element: &Element, ty: IntType) -> NodeId {
        self.access(element, AccessKind::Read);
        let origin = ValueOrigin::Read(element.array, element.site);
        let tensor = match element.array {
            Array::Tensor(tensor) => tensor,
            Array::Shared(array) => return self.shared_load(element, array, ty),
            Array::Local(_) => return self.unknown_from(origin, ty, Uniformity::Iteration),
        };
        if self.in_prelude {
            return self.builder.unknown(ty, Uniformity::Loop);
        }
        if self.changed[tensor.index()] {
            return self.unknown_from(origin, ty, Uniformity::Iteration);
        }
        let index: Index = element.index.iter().map(|index| self.value(*index)).collect();
        if let Some(id) = self.loads.get(&(tensor, index.clone())) {
            return *id;
        }
        let is_distinct = self.nodes.params[tensor.index()].kind.is_distinct();
        let id = if is_distinct && self.builder.uniformity_of(&index) > Uniformity::Loop {
            let extents = self.extents(element.array);
            let (tensor, index) = (tensor.raw(), index.clone());
            let read = self.builder.distinct(TensorRead { tensor, ty, index, extents });
            let id = self.builder.push(read);
            self.origins.insert(id, origin);
            id
        } else {
            let uniformity = self.builder.uniformity_of(&index);
            let id = self.unknown_from(origin, ty, uniformity);
            if uniformity > Uniformity::Loop && ty.is_some_and(|ty| !ty.is_float()) {
                let (tensor, index, extents) = (tensor.raw(), index.clone(), Index::new());
                let read = TensorRead { tensor, ty, index, extents };
                self.builder.graph.reads.push((id, read));
            }
            id
        };
        self.exact_floats.extend(ty.is_some_and(ScalarType::is_float).then_some(id));
        self.loads.insert((tensor, index), id);
        id
    }

    /// The extents of a tensor or shared array.
    pub(super) fn extents(&mut self, object: Array) -> Index {
        match object {
            Array::Tensor(tensor) => {
                let rank = usize::from(self.nodes.params[tensor.index()].kind.rank());
                let first = self.layout.word(tensor) + 1;
                let words = first..first + rank;
                let ty = ScalarType::U64;
                words.map(|word| self.builder.push(ValueNode::Argument { word, ty })).collect()
            }
            Array::Shared(array) => self.shared_dims.get(&array).cloned().unwrap_or_default(),
            Array::Local(_) => Index::new(),
        }
    }

    pub(super) fn shared_extent(&mut self, extent: SharedExtent) -> NodeId {
        match extent {
            SharedExtent::Constant(number) => self.builder.number(i128::from(number)),
            SharedExtent::Local(local) => match self.env.get(&local) {
                Some(id) => *id,
                None => self.builder.unknown(int_type(ScalarType::U64), Uniformity::Loop),
            },
        }
    }

    /// The unknown value of a float that is exact, or of a comparison.
    pub(super) fn float(
        &mut self,
        float: FloatValue,
        ty: IntType,
        uniformity: Uniformity,
    ) -> NodeId {
        let is_number = !matches!(float, FloatValue::Comparison(..));
        let id = *self.floats.entry(float).or_insert_with(|| self.builder.unknown(ty, uniformity));
        self.exact_floats.extend(is_number.then_some(id));
        id
    }
}
