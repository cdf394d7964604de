//! Examples of races: two iterations that touch the same element, found by trying.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::{
    VarSpace,
    constraints::{ConditionalAccess, LoopContext},
    value_graph::{IntType, NodeId, ValueNode, argument, int_range, shift},
};
use crate::{BinaryOp, DivRemOp, MathFn, ScalarType, UnaryOp};

/// The number of iterations that are tried.
const ITERATIONS: usize = 4096;
/// The number of values of an inner loop's variable that are tried.
const INNER: i128 = 8;
/// The maximum depth of an operation.
const MAX_DEPTH: u32 = 200;

/// The values of the loop's variables, or the indices of an element.
pub type Position = SmallVec<[i128; 3]>;

/// Two iterations that touch the same element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collision {
    /// The values of the parallel loop's variables in both iterations, blocks first.
    pub iterations: [Position; 2],
    /// The indices of the element.
    pub element: Position,
}

/// Looks for two iterations of a loop in which two accesses touch the same element. Conditions that only the device
/// knows are assumed to hold.
#[must_use]
pub fn collision(
    context: LoopContext<'_>,
    a: ConditionalAccess<'_>,
    b: ConditionalAccess<'_>,
) -> Option<Collision> {
    let varying = |dims: &[i128]| {
        let end = context.space.thread_between_blocks().unwrap_or(dims.len());
        Position::from(&dims[..end])
    };
    let mut touched: HashMap<Position, SmallVec<[Position; 2]>> = HashMap::new();
    for_iterations(context.space, |dims| {
        for nth in 0..INNER {
            if let Some(element) = Iteration::new(context, dims, nth).element(a) {
                let by = touched.entry(element).or_default();
                // Two are enough: one of them differs from any other iteration.
                if by.len() < 2 && by.iter().all(|by| varying(by) != varying(dims)) {
                    by.push(dims.into());
                }
            }
        }
        None::<()>
    });
    for_iterations(context.space, |dims| {
        (0..INNER).find_map(|nth| {
            let element = Iteration::new(context, dims, nth).element(b)?;
            let other = touched.get(&element)?.iter().find(|by| varying(by) != varying(dims))?;
            let (other, this) = (other.clone(), Position::from(dims));
            let iterations = if other < this { [other, this] } else { [this, other] };
            Some(Collision { iterations, element })
        })
    })
}

/// Looks for an element that an access of one loop and an access of another touch. Conditions that only the device
/// knows are assumed to hold.
#[must_use]
pub fn common_element(
    [first, second]: [LoopContext<'_>; 2],
    a: ConditionalAccess<'_>,
    b: ConditionalAccess<'_>,
) -> Option<Position> {
    let mut touched = HashSet::new();
    for_iterations(first.space, |dims| {
        touched.extend((0..INNER).filter_map(|nth| Iteration::new(first, dims, nth).element(a)));
        None::<()>
    });
    for_iterations(second.space, |dims| {
        let mut elements =
            (0..INNER).filter_map(|nth| Iteration::new(second, dims, nth).element(b));
        elements.find(|element| touched.contains(element))
    })
}

/// Calls `each` with the variables of the first iterations until it returns a value.
fn for_iterations<T>(space: &VarSpace, mut each: impl FnMut(&[i128]) -> Option<T>) -> Option<T> {
    let mut varying = space.parallel_vars();
    varying.extend(space.thread_between_blocks());
    let count = varying.iter().max().map_or(0, |last| last + 1);
    let per_dim = (ITERATIONS as f64).powf(1.0 / varying.len().max(1) as f64) as i128;
    let mut dims: Position = (0..count).map(|at| space.var(at).first).collect();
    loop {
        if let Some(found) = each(&dims) {
            return Some(found);
        }
        let next = varying.iter().rev().find(|at| {
            let var = space.var(**at);
            let is_last = dims[**at] >= var.last.min(var.first + per_dim - 1);
            dims[**at] = if is_last { var.first } else { dims[**at] + 1 };
            !is_last
        });
        next?;
    }
}

/// One iteration, and the number of the iteration of each inner loop.
struct Iteration<'a> {
    context: LoopContext<'a>,
    dims: &'a [i128],
    nth: i128,
    values: HashMap<NodeId, Option<i128>>,
    depth: u32,
}

impl<'a> Iteration<'a> {
    fn new(context: LoopContext<'a>, dims: &'a [i128], nth: i128) -> Self {
        Self { context, dims, nth, values: HashMap::new(), depth: 0 }
    }

    /// The element that an access touches. None if it does not happen, or only the device knows the element.
    fn element(&mut self, access: ConditionalAccess<'_>) -> Option<Position> {
        let element: Option<Position> = access.index.iter().map(|id| self.value(*id)).collect();
        let element = element?;
        let mut in_range = element
            .iter()
            .zip(access.extents)
            .all(|(at, extent)| self.value(*extent).is_none_or(|extent| (0..extent).contains(at)));
        in_range &= element.iter().all(|at| *at >= 0);
        let holds = in_range
            && access.conditions.iter().all(|condition| {
                self.value(condition.node).is_none_or(|value| (value != 0) == condition.holds)
            });
        holds.then_some(element)
    }

    fn value(&mut self, id: NodeId) -> Option<i128> {
        if let Some(value) = self.values.get(&id) {
            return *value;
        }
        self.depth += 1;
        let value = if self.depth < MAX_DEPTH { self.compute(id) } else { None };
        self.depth -= 1;
        self.values.insert(id, value);
        value
    }

    fn compute(&mut self, id: NodeId) -> Option<i128> {
        let LoopContext { graph, args, .. } = self.context;
        Some(match graph.nodes[id as usize] {
            ValueNode::Const(value) => value,
            ValueNode::Argument { word, ty } => argument(args, word, ty)?,
            ValueNode::Var(at) => *self.dims.get(at)?,
            ValueNode::Inner { begin, end, .. } => {
                let (begin, end) = (self.value(begin)?, self.value(end)?);
                let value = begin + self.nth;
                return (value < end).then_some(value);
            }
            ValueNode::Unknown { .. } | ValueNode::Ticket { .. } | ValueNode::Distinct(_) => {
                return None;
            }
            ValueNode::Unary(op, ty, a) => {
                let a = self.value(a)?;
                match op {
                    UnaryOp::Neg => wrap(-a, ty),
                    UnaryOp::Not => wrap(if ty == Some(ScalarType::Bool) { 1 - a } else { !a }, ty),
                    _ => return None,
                }
            }
            ValueNode::Abs(ty, a) => wrap(self.value(a)?.abs(), ty),
            ValueNode::Binary(op, ty, a, b) => binary(op, ty, self.value(a)?, self.value(b)?)?,
            ValueNode::DivRem(op, ty, a, b) => match (op, self.value(a)?, self.value(b)?) {
                (_, _, 0) => 0,
                (DivRemOp::Div, a, b) => wrap(a / b, ty),
                (DivRemOp::Rem, a, b) => a % b,
            },
            ValueNode::Limit(MathFn::Min, _, a, b) => self.value(a)?.min(self.value(b)?),
            ValueNode::Limit(_, _, a, b) => self.value(a)?.max(self.value(b)?),
            ValueNode::Select(cond, a, b) => {
                let chosen = if self.value(cond)? == 0 { b } else { a };
                self.value(chosen)?
            }
            ValueNode::Cast { to, value, .. } => wrap(self.value(value)?, to),
        })
    }
}

/// The value in type `ty` that equals `value` modulo the type's size.
fn wrap(value: i128, ty: IntType) -> i128 {
    let Some(scalar) = ty else { return value };
    let (lo, _) = int_range(ty);
    let size = if scalar == ScalarType::Bool { 2 } else { 1 << (8 * scalar.size()) };
    (value - lo).rem_euclid(size) + lo
}

fn binary(op: BinaryOp, ty: IntType, a: i128, b: i128) -> Option<i128> {
    Some(match op {
        BinaryOp::Add => wrap(a.checked_add(b)?, ty),
        BinaryOp::Sub => wrap(a.checked_sub(b)?, ty),
        BinaryOp::Mul => wrap(a.checked_mul(b)?, ty),
        BinaryOp::Shl => wrap(a.checked_mul(1 << shift(b, ty)?)?, ty),
        BinaryOp::Shr => a >> shift(b, ty)?,
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Eq => (a == b).into(),
        BinaryOp::Ne => (a != b).into(),
        BinaryOp::Lt => (a < b).into(),
        BinaryOp::Le => (a <= b).into(),
        BinaryOp::Gt => (a > b).into(),
        BinaryOp::Ge => (a >= b).into(),
        // For floats only.
        BinaryOp::Div | BinaryOp::Rem => return None,
    })
}
