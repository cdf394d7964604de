//! Operations that the race check does not follow in all cases, for messages.

use std::fmt;

use super::value_graph::{NodeId, ValueGraph, ValueNode};
use crate::{BinaryOp, DivRemOp, ScalarType};

/// A kind of operation that the race check does not follow in all cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// A product of two values that differ between iterations.
    Product,
    /// A quotient by a value that differs between iterations.
    Quotient,
    /// A remainder by a value that differs between iterations.
    Remainder,
    /// A bit operation.
    Bits,
    /// A value that depends on a condition.
    Choice,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Product => "a product of two values that differ between iterations",
            Self::Quotient => "a quotient by a value that differs between iterations",
            Self::Remainder => "a remainder by a value that differs between iterations",
            Self::Bits => "a bit operation",
            Self::Choice => "a value that depends on a condition",
        })
    }
}

/// The first such operation that nodes depend on. Those of two values that differ between iterations come first.
#[must_use]
pub fn obstacle(graph: &ValueGraph, ids: &[NodeId]) -> Option<(NodeId, Obstacle)> {
    let reached = graph.reached(ids);
    let mut varies = vec![false; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        let by_operand = || node.operands().iter().any(|id| varies[*id as usize]);
        varies[at] = node.varies() || by_operand();
    }
    let of = |node: &ValueNode, both: bool| {
        let (kind, operands) = match *node {
            ValueNode::Binary(BinaryOp::Mul, _, a, b) => (Obstacle::Product, [a, b]),
            ValueNode::DivRem(DivRemOp::Div, _, a, b) => (Obstacle::Quotient, [a, b]),
            ValueNode::DivRem(DivRemOp::Rem, _, a, b) => (Obstacle::Remainder, [a, b]),
            ValueNode::Binary(
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr,
                ty,
                a,
                b,
            ) if ty != Some(ScalarType::Bool) => (Obstacle::Bits, [a, b]),
            ValueNode::Select(_, a, b) if !both => (Obstacle::Choice, [a, b]),
            _ => return None,
        };
        let all = operands.iter().all(|id| varies[*id as usize]);
        let is_simple =
            matches!(kind, Obstacle::Product | Obstacle::Quotient | Obstacle::Remainder);
        (all || !both && !is_simple).then_some(kind)
    };
    let find = |both: bool| {
        let mut nodes = graph.nodes.iter().zip(&reached).enumerate();
        nodes.find_map(
            |(at, (node, reached))| {
                if *reached { Some((at as NodeId, of(node, both)?)) } else { None }
            },
        )
    };
    find(true).or_else(|| find(false))
}
