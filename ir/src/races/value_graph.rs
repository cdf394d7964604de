//! The value graph of the race check: the operations that indices and conditions are computed by.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::{AffineForm, Var, VarKind, VarSpace};
use crate::{BinaryOp, Const, DivRemOp, MathFn, ScalarType, UnaryOp};

/// The number of a node in its graph.
pub type NodeId = u32;

/// An integer type or bool. None is an integer of unknown type, which is assumed not to overflow.
pub type IntType = Option<ScalarType>;

/// The affine forms of the nodes, where they have one.
pub type AffineForms = SmallVec<[Option<AffineForm>; 24]>;

/// The operations of a loop that indices and conditions depend on.
#[derive(Clone, Debug, Default)]
pub struct ValueGraph {
    /// Each node computes its value from those of earlier nodes.
    pub nodes: Vec<ValueNode>,
    /// The variables of the space after those of the parallel loop: of inner loops, and unknown values.
    pub vars: Vec<VarKind>,
    /// The atomic additions whose old values are tickets, and prefix sums.
    pub counters: Vec<Counter>,
    /// The sums of an amount over all threads of a block: the nodes of the amount, the sum and the thread's number.
    pub totals: Vec<[NodeId; 3]>,
    /// Loads from counters in shared arrays after all of the additions of a phase, which do not exceed them: the
    /// counters' indices in `counters`, and the loads.
    pub totals_of_counters: Vec<(usize, NodeId)>,
    /// Loads from shared arrays, with what the task stores in the array.
    pub stored: Vec<(NodeId, Stored)>,
    /// The reads of tensors whose elements all differ.
    pub distinct: Vec<TensorRead>,
    /// The unknown values that are elements of tensors which the loop does not change: equal if their indices are.
    pub reads: Vec<(NodeId, TensorRead)>,
    /// The type of indices.
    pub index_type: IntType,
}

/// What a task stores in a shared array, whose elements are zero before.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// The values that are stored.
    pub values: Vec<NodeId>,
    /// The amounts that are added atomically, and how often a block adds each at most.
    pub added: Vec<(NodeId, i128)>,
}

impl Stored {
    /// All values and amounts.
    pub fn ids(&self) -> impl Iterator<Item = &NodeId> {
        self.values.iter().chain(self.added.iter().map(|(amount, _)| amount))
    }

    /// All values and amounts.
    pub fn nodes_mut(&mut self) -> impl Iterator<Item = &mut NodeId> {
        self.values.iter_mut().chain(self.added.iter_mut().map(|(amount, _)| amount))
    }
}

/// An operation, or a value that is not computed from others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueNode {
    /// A number.
    Const(i128),
    /// A word of the argument block.
    Argument {
        /// The index of the word.
        word: usize,
        /// Its type.
        ty: ScalarType,
    },
    /// A variable of the parallel loop, by its index in the space.
    Var(usize),
    /// A variable of an inner loop, which is below `end`, and its index in the space.
    Inner {
        /// The index in the space, if there was room.
        var: Option<usize>,
        /// Which iterations have the same value.
        uniformity: Uniformity,
        /// The variable's type.
        ty: IntType,
        /// The first value.
        begin: NodeId,
        /// One past the last value.
        end: NodeId,
    },
    /// A value that is not known on the host.
    Unknown {
        /// Which iterations have the same value.
        uniformity: Uniformity,
        /// The index in the space, if there was room.
        var: Option<usize>,
        /// The value's type.
        ty: IntType,
    },
    /// The old value of an atomic addition, or a prefix sum, by its counter. No other one of the same source and cell
    /// is between this one and this one plus its amount.
    Ticket {
        /// The index in [`ValueGraph::counters`].
        counter: usize,
        /// Distinguishes the additions.
        addition: u32,
    },
    /// An element of a tensor whose elements all differ, by the index in [`ValueGraph::distinct`].
    Distinct(usize),
    /// An operation on one value of the type.
    Unary(UnaryOp, IntType, NodeId),
    /// The absolute value.
    Abs(IntType, NodeId),
    /// An operation on two values. The type is that of the left operand.
    Binary(BinaryOp, IntType, NodeId, NodeId),
    /// Division or remainder, truncating. A zero divisor gives zero.
    DivRem(DivRemOp, IntType, NodeId, NodeId),
    /// The minimum or maximum.
    Limit(MathFn, IntType, NodeId, NodeId),
    /// The second value if the first is true, else the third.
    Select(NodeId, NodeId, NodeId),
    /// A conversion as by `as`.
    Cast {
        /// The type of the operand.
        from: IntType,
        /// The type of the result.
        to: IntType,
        /// The operand.
        value: NodeId,
    },
}

/// Which iterations have the same unknown value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Uniformity {
    /// All iterations of the loop.
    Loop,
    /// The threads of a block during a phase.
    Block,
    /// Each iteration has its own value.
    Iteration,
}

/// What tickets are drawn from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TicketSource {
    /// The elements of a tensor, by its number.
    Tensor(u32),
    /// The elements of a shared array, in a phase. Each block has its own array, and other phases may set it.
    Shared {
        /// The number of the array.
        array: u32,
        /// The number of the phase.
        phase: u32,
    },
    /// A prefix sum over the threads of a block; the local that has it. The ticket of a thread is the sum of the
    /// amounts of the threads before it. Sums of the same amount are the same. The sum of all amounts fits the type.
    Scan(u32),
}

impl TicketSource {
    /// Whether each block has its own tickets.
    #[must_use]
    pub const fn is_of_block(self) -> bool {
        !matches!(self, Self::Tensor(_))
    }
}

/// An atomic addition to an element that a loop, or a phase, accesses only by atomic additions. The old value is a
/// *ticket*: it reserves the numbers from itself up to, but without, itself plus the amount. So does a prefix sum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counter {
    /// What is counted.
    pub source: TicketSource,
    /// The type of the elements.
    pub ty: IntType,
    /// The index of the element; of a prefix sum, the number of the thread.
    pub cell: SmallVec<[NodeId; 3]>,
    /// The extents of the tensor, outside of which the old value is always zero. Without extents, the element is
    /// assumed to be inside.
    pub extents: SmallVec<[NodeId; 3]>,
    /// The amount, which is not negative.
    pub amount: NodeId,
    /// Whether one thread of each block draws the ticket for all of them.
    pub is_of_one_thread: bool,
}

/// A read of a tensor: two values are equal if the indices are. If all elements differ, also only then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorRead {
    /// The tensor.
    pub tensor: u32,
    /// The type of the elements.
    pub ty: IntType,
    /// The index of the element.
    pub index: SmallVec<[NodeId; 3]>,
    /// The extents of the tensor, outside of which the value is zero. Without extents, the element is assumed to be
    /// inside.
    pub extents: SmallVec<[NodeId; 3]>,
}

impl ValueGraph {
    /// Marks the nodes that these depend on.
    #[must_use]
    pub fn reached(&self, ids: &[NodeId]) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        self.reach(ids, &mut reached);
        reached
    }

    /// Removes the reads of tensors of which one element is read: conditions on it cannot exclude each other.
    pub(crate) fn keep_compared_reads(&mut self) {
        let mut counts = HashMap::new();
        self.reads.iter().for_each(|(_, read)| *counts.entry(read.tensor).or_insert(0) += 1);
        self.reads.retain(|(_, read)| counts[&read.tensor] > 1);
    }

    pub(crate) fn reach(&self, ids: &[NodeId], reached: &mut [bool]) {
        let mut rest: Vec<NodeId> = ids.to_vec();
        while let Some(id) = rest.pop() {
            if std::mem::replace(&mut reached[id as usize], true) {
                continue;
            }
            let node = &self.nodes[id as usize];
            rest.extend(node.operands());
            match node {
                ValueNode::Ticket { counter, .. } => {
                    let Counter { cell, extents, amount, .. } = &self.counters[*counter];
                    rest.extend(cell.iter().chain(extents).chain([amount]));
                }
                ValueNode::Distinct(read) => {
                    let TensorRead { index, extents, .. } = &self.distinct[*read];
                    rest.extend(index.iter().chain(extents));
                }
                ValueNode::Unknown { .. } => {
                    let stored = self.stored.iter().find(|(load, _)| *load == id);
                    rest.extend(stored.iter().flat_map(|(_, stored)| stored.ids()));
                    let read = self.reads.iter().find(|(load, _)| *load == id);
                    rest.extend(read.iter().flat_map(|(_, read)| &read.index));
                }
                _ => {}
            }
        }
    }
}

/// A graph in construction. Equal operations are one node.
#[derive(Debug, Default)]
pub struct ValueGraphBuilder {
    /// The graph so far.
    pub graph: ValueGraph,
    /// The number of parallel variables that are the same for all threads of a block.
    pub block_vars: usize,
    ids: HashMap<ValueNode, NodeId>,
    uniformities: Vec<Uniformity>,
    /// The values of the nodes that are constants.
    constants: AffineForms,
}

impl ValueGraphBuilder {
    /// Adds a node, or finds an equal one.
    pub fn push(&mut self, node: ValueNode) -> NodeId {
        let is_unique = matches!(node, ValueNode::Unknown { .. } | ValueNode::Inner { .. });
        if !is_unique && let Some(id) = self.ids.get(&node) {
            return *id;
        }
        let uniformity = match node {
            ValueNode::Unknown { uniformity, .. } | ValueNode::Inner { uniformity, .. } => {
                uniformity
            }
            ValueNode::Var(at) if at < self.block_vars => Uniformity::Block,
            ValueNode::Var(_) | ValueNode::Ticket { .. } | ValueNode::Distinct(_) => {
                Uniformity::Iteration
            }
            _ => self.uniformity_of(&node.operands()),
        };
        let id = self.graph.nodes.len() as NodeId;
        self.graph.nodes.push(node);
        self.uniformities.push(uniformity);
        let operands = node.operands();
        let is_constant = matches!(node, ValueNode::Const(_))
            || !operands.is_empty()
                && !matches!(node, ValueNode::Inner { .. })
                && operands.iter().all(|id| self.constants[*id as usize].is_some());
        let constant = is_constant
            .then(|| node.evaluate(&[], &mut VarSpace::new(), &self.constants))
            .flatten()
            .filter(|form| form.value().is_some());
        self.constants.push(constant);
        if !is_unique {
            self.ids.insert(node, id);
        }
        id
    }

    /// Adds a number.
    pub fn number(&mut self, value: i128) -> NodeId {
        self.push(ValueNode::Const(value))
    }

    /// The node that reads an element of a tensor whose elements all differ.
    pub fn distinct(&mut self, read: TensorRead) -> ValueNode {
        let reads = &mut self.graph.distinct;
        let at = reads.iter().position(|known| *known == read).unwrap_or_else(|| {
            reads.push(read);
            reads.len() - 1
        });
        ValueNode::Distinct(at)
    }

    /// Adds an unknown value.
    pub fn unknown(&mut self, ty: IntType, uniformity: Uniformity) -> NodeId {
        self.push(ValueNode::Unknown { uniformity, var: None, ty })
    }

    /// Adds the unknown result of an operation, which is the same wherever the operands are.
    pub fn result_of(&mut self, ty: IntType, operands: &[NodeId]) -> NodeId {
        let uniformity = self.uniformity_of(operands);
        self.unknown(ty, uniformity)
    }

    /// Which iterations have the same value.
    #[must_use]
    pub fn uniformity(&self, id: NodeId) -> Uniformity {
        self.uniformities[id as usize]
    }

    /// Which iterations have the same values in all of these nodes.
    #[must_use]
    pub fn uniformity_of(&self, ids: &[NodeId]) -> Uniformity {
        ids.iter().map(|id| self.uniformity(*id)).max().unwrap_or(Uniformity::Loop)
    }

    /// The value of a node of type `ty` that is a constant.
    #[must_use]
    pub fn constant(&self, id: NodeId, ty: IntType) -> Option<i128> {
        // The form is correct modulo the type's size.
        let (first, last) = int_range(ty);
        self.constants[id as usize]?.value().filter(|value| (first..=last).contains(value))
    }

    /// The node with an id.
    #[must_use]
    pub fn node(&self, id: NodeId) -> ValueNode {
        self.graph.nodes[id as usize]
    }
}

impl ValueNode {
    /// The nodes that the operation uses.
    #[must_use]
    pub fn operands(&self) -> SmallVec<[NodeId; 3]> {
        match *self {
            Self::Const(_) | Self::Argument { .. } | Self::Var(_) => SmallVec::new(),
            Self::Unknown { .. } | Self::Ticket { .. } | Self::Distinct(_) => SmallVec::new(),
            Self::Unary(_, _, a) | Self::Abs(_, a) | Self::Cast { value: a, .. } => {
                SmallVec::from_slice(&[a])
            }
            Self::Inner { begin: a, end: b, .. }
            | Self::Binary(_, _, a, b)
            | Self::DivRem(_, _, a, b)
            | Self::Limit(_, _, a, b) => SmallVec::from_slice(&[a, b]),
            Self::Select(a, b, c) => SmallVec::from_slice(&[a, b, c]),
        }
    }

    /// Whether the value differs between iterations, and not because of an operand.
    pub(crate) fn varies(&self) -> bool {
        match self {
            Self::Var(_) | Self::Inner { .. } | Self::Ticket { .. } | Self::Distinct(_) => true,
            Self::Unknown { uniformity, .. } => *uniformity != Uniformity::Loop,
            _ => false,
        }
    }

    /// Replaces the operands.
    pub(crate) fn for_operands(&mut self, mut change: impl FnMut(&mut NodeId)) {
        match self {
            Self::Const(_) | Self::Argument { .. } | Self::Var(_) => {}
            Self::Unknown { .. } | Self::Ticket { .. } | Self::Distinct(_) => {}
            Self::Unary(_, _, a) | Self::Abs(_, a) | Self::Cast { value: a, .. } => change(a),
            Self::Inner { begin: a, end: b, .. }
            | Self::Binary(_, _, a, b)
            | Self::DivRem(_, _, a, b)
            | Self::Limit(_, _, a, b) => [a, b].into_iter().for_each(change),
            Self::Select(a, b, c) => [a, b, c].into_iter().for_each(change),
        }
    }

    /// The affine form of the operation's value, if it has one. It is correct modulo the size of the value's type.
    pub fn evaluate(
        self,
        args: &[u64],
        space: &mut VarSpace,
        values: &AffineForms,
    ) -> Option<AffineForm> {
        let get = |id: NodeId| values[id as usize];
        match self {
            Self::Const(value) => Some(AffineForm::constant(value)),
            Self::Argument { word, ty } => argument(args, word, ty).map(AffineForm::constant),
            Self::Var(at) => Some(AffineForm::var(at)),
            Self::Inner { var, ty, begin, end, .. } => {
                let all = int_range(ty);
                let range = |id| get(id).and_then(|form| exact_range(space, &form, ty));
                let first = range(begin).map_or(all.0, |range| range.0);
                let last = range(end).map_or(all.1, |range| range.1 - 1);
                space.set(var?, Var::new(VarKind::Inner, first, last));
                var.map(AffineForm::var)
            }
            Self::Unknown { uniformity, var, ty } => {
                let (first, last) = int_range(ty);
                let kind = match uniformity {
                    Uniformity::Loop => VarKind::Fixed,
                    Uniformity::Block | Uniformity::Iteration => VarKind::Inner,
                };
                space.set(var?, Var::new(kind, first, last));
                var.map(AffineForm::var)
            }
            Self::Ticket { .. } | Self::Distinct(_) => None,
            Self::Unary(op, ty, a) => match op {
                UnaryOp::Neg => AffineForm::constant(0).sub(get(a)?),
                UnaryOp::Not if ty == Some(ScalarType::Bool) => {
                    AffineForm::constant(1).sub(get(a)?)
                }
                // Also correct modulo the type's size.
                UnaryOp::Not => AffineForm::constant(-1).sub(get(a)?),
                UnaryOp::CountOnes
                | UnaryOp::LeadingZeros
                | UnaryOp::TrailingZeros
                | UnaryOp::ReverseBits => None,
            },
            Self::Abs(ty, a) => {
                let form = get(a)?;
                let (lo, hi) = exact_range(space, &form, ty)?;
                if lo >= 0 {
                    Some(form)
                } else if hi <= 0 {
                    AffineForm::constant(0).sub(form)
                } else {
                    None
                }
            }
            Self::Binary(op, ty, a, b) => binary(op, ty, get(a)?, get(b)?, space),
            Self::DivRem(op, ty, a, b) => {
                let (a, b) = (get(a)?, get(b)?);
                exact_range(space, &a, ty)?;
                exact_range(space, &b, ty)?;
                let (quotient, remainder) = space.div_rem(a, b.value()?)?;
                Some(if op == DivRemOp::Div { quotient } else { remainder })
            }
            Self::Limit(function, ty, a, b) => {
                let (a, b) = (get(a)?, get(b)?);
                exact_range(space, &a, ty)?;
                exact_range(space, &b, ty)?;
                if function == MathFn::Min { space.min(a, b) } else { space.max(a, b) }
            }
            Self::Select(cond, then, otherwise) => match get(cond)?.value()? {
                0 => get(otherwise),
                _ => get(then),
            },
            Self::Cast { from, to, value } => {
                let form = get(value)?;
                if widens(from, to) {
                    exact_range(space, &form, from)?;
                }
                Some(form)
            }
        }
    }
}

/// The value of a word of the argument block, if it is an integer or bool.
pub(super) fn argument(args: &[u64], word: usize, ty: ScalarType) -> Option<i128> {
    Const::from_bits(ty, args[word]).as_int()
}

/// Whether a conversion needs the exact value, not only the value modulo the operand's size.
pub(super) fn widens(from: IntType, to: IntType) -> bool {
    match (from, to) {
        (Some(from), Some(to)) => to.size() > from.size(),
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// The values of the type. Those of unknown types are arbitrarily limited.
pub(crate) fn int_range(ty: IntType) -> (i128, i128) {
    match ty {
        Some(ty) => ty.int_range().unwrap_or((0, 1)),
        None => (-(1 << 66), 1 << 66),
    }
}

/// The range of a form whose value is exact, not only correct modulo the type's size.
pub(crate) fn exact_range(
    space: &VarSpace,
    form: &AffineForm,
    ty: IntType,
) -> Option<(i128, i128)> {
    let range = space.range(form)?;
    let all = int_range(ty);
    (ty.is_none() || range.0 >= all.0 && range.1 <= all.1).then_some(range)
}

/// The number of bits that a shift by `count` moves in type `ty`.
pub(super) fn shift(count: i128, ty: IntType) -> Option<u32> {
    let bits = ty.map_or(64, |ty| 8 * ty.size() as i128);
    u32::try_from(count.rem_euclid(bits)).ok()
}

/// Evaluates a binary operator. `ty` is the type of the left operand.
fn binary(
    op: BinaryOp,
    ty: IntType,
    a: AffineForm,
    b: AffineForm,
    space: &VarSpace,
) -> Option<AffineForm> {
    let truth = |surely: bool, never: bool| {
        if surely || never { Some(AffineForm::constant(i128::from(surely))) } else { None }
    };
    match op {
        // These are correct modulo the type's size, even if they wrap.
        BinaryOp::Add => return a.add(b),
        BinaryOp::Sub => return a.sub(b),
        BinaryOp::Mul => return a.mul(b),
        BinaryOp::Shl => return a.mul(AffineForm::constant(1 << shift(b.value()?, ty)?)),
        _ => {}
    }
    let (x, y) = (exact_range(space, &a, ty)?, exact_range(space, &b, ty).unwrap_or((1, 0)));
    match op {
        BinaryOp::Shr => {
            let count = shift(b.value()?, ty)?;
            a.value().map(|value| AffineForm::constant(value >> count))
        }
        _ if y.0 > y.1 => None,
        BinaryOp::And => Some(AffineForm::constant(a.value()? & b.value()?)),
        BinaryOp::Or => Some(AffineForm::constant(a.value()? | b.value()?)),
        BinaryOp::Xor => Some(AffineForm::constant(a.value()? ^ b.value()?)),
        BinaryOp::Lt => truth(x.1 < y.0, x.0 >= y.1),
        BinaryOp::Le => truth(x.1 <= y.0, x.0 > y.1),
        BinaryOp::Gt => truth(x.0 > y.1, x.1 <= y.0),
        BinaryOp::Ge => truth(x.0 >= y.1, x.1 < y.0),
        BinaryOp::Eq => truth(x == y && x.0 == x.1, x.1 < y.0 || y.1 < x.0),
        BinaryOp::Ne => truth(x.1 < y.0 || y.1 < x.0, x == y && x.0 == x.1),
        _ => None,
    }
}
