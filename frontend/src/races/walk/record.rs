//! Records accesses, and the nodes that compute their indices.

use quadrants_ir::races::{IntType, NodeId, Uniformity, ValueNode};

use super::{Binding, ElementPart, SampleWalk};
use crate::{
    races::{
        access::{SampledAccess, SampledAccessKind},
        value::AbstractValue,
    },
    syntax::{Expr, Span},
};

impl SampleWalk<'_> {
    /// Records an access to the element `part`, whose expression is `place`.
    pub(in crate::races) fn record_access(
        &mut self,
        kind: SampledAccessKind,
        part: &ElementPart<'_>,
        values: Vec<AbstractValue>,
        place: &Expr,
    ) {
        let text = self.text(place);
        self.push_access(kind, part.base, part.fields.clone(), values, (place.span, text));
    }

    pub(in crate::races) fn push_access(
        &mut self,
        kind: SampledAccessKind,
        base: &str,
        fields: Vec<String>,
        values: Vec<AbstractValue>,
        (span, text): (Span, String),
    ) {
        let index: Vec<Option<NodeId>> = values.iter().map(|value| self.node_id(value)).collect();
        let fields_are_none = fields.is_empty();
        let forms = index.iter().map(|id| id.and_then(|id| self.task.form(id))).collect();
        let (tensor, is_shared) = match self.lookup(base) {
            Some(Binding::Shared { array, .. }) => (array.clone(), true),
            _ => (base.to_owned(), false),
        };
        let in_phase = self.threads.as_ref().filter(|threads| threads.in_phase);
        let phase = in_phase.map(|threads| threads.phases);
        self.task.accesses.push(SampledAccess {
            forms,
            tensor,
            fields,
            conditions: self.conditions.clone(),
            is_shared,
            phase,
            kind,
            index,
            depends_on_launch: values.contains(&AbstractValue::AtLaunch)
                || self.conditions.iter().any(|at| self.task.launch_conditions.contains(&at.node)),
            span,
            text,
            stored: None,
            elem: self.elem_of(base).filter(|_| fields_are_none).map(ToOwned::to_owned),
            asserted: self.unsafe_depth > 0,
        });
    }

    /// The type of the elements of a tensor, where messages may name it.
    pub(in crate::races) fn elem_of(&self, tensor: &str) -> Option<&str> {
        self.elems.get(tensor).map(String::as_str).filter(|_| self.source.is_some())
    }

    /// The node that has a value, if the value is an integer or bool.
    pub(in crate::races) fn node_id(&mut self, value: &AbstractValue) -> Option<NodeId> {
        match value {
            AbstractValue::Number(number) | AbstractValue::Argument(_, number) => {
                Some(self.task.push(ValueNode::Const(*number)))
            }
            AbstractValue::Node(id) => Some(*id),
            AbstractValue::Fixed(number) => Some(self.task.fixed(*number)),
            AbstractValue::AtLaunch | AbstractValue::Data | AbstractValue::Parts(_) => None,
        }
    }

    /// The value of an operation.
    pub(in crate::races) fn computed(&mut self, node: ValueNode) -> AbstractValue {
        let id = self.task.push(node);
        match self.task.form(id).and_then(|form| form.value()) {
            Some(number) => AbstractValue::Number(number),
            None => AbstractValue::Node(id),
        }
    }

    /// The unknown result of an operation.
    pub(in crate::races) fn result_of(&mut self, operands: &[NodeId]) -> AbstractValue {
        let uniformity = self.task.builder.uniformity_of(operands);
        let constant = operands
            .iter()
            .all(|id| self.task.form(*id).is_some_and(|form| form.value().is_some()));
        if constant { AbstractValue::AtLaunch } else { self.unknown(uniformity) }
    }

    pub(in crate::races) fn unknown(&mut self, uniformity: Uniformity) -> AbstractValue {
        AbstractValue::Node(self.unknown_node(uniformity))
    }

    pub(in crate::races) fn unknown_node(&mut self, uniformity: Uniformity) -> NodeId {
        let ty: IntType = None;
        self.task.push(ValueNode::Unknown { uniformity, var: None, ty })
    }
}
