//! The accesses of a sample launch, by task and `stream_parallel` block.

use std::collections::{HashMap, HashSet};

use quadrants_ir::races::{
    AffineForm, AffineForms, Condition, ConditionalAccess, Index, NodeId, TensorRead, Uniformity,
    ValueGraphBuilder, ValueNode, Var, VarKind, VarSpace,
};

use crate::syntax::Span;

/// A `stream_parallel` block, or the whole kernel if it has none.
pub(super) struct SampledRegionBlock {
    pub(super) tasks: Vec<SampledTask>,
    pub(super) span: Span,
}

/// A parallel loop, or serial code.
pub(super) struct SampledTask {
    pub(super) space: VarSpace,
    pub(super) builder: ValueGraphBuilder,
    /// The affine forms of the nodes, where they have one.
    pub(super) forms: AffineForms,
    /// The first and last value of each parallel loop variable; empty for serial code.
    pub(super) dims: Vec<(i128, i128)>,
    /// The step of each parallel loop variable.
    pub(super) strides: Vec<i128>,
    /// The first and last value of each inner loop variable.
    pub(super) inner: Vec<(i128, i128)>,
    /// The names of the loop variables.
    pub(super) names: Vec<String>,
    pub(super) accesses: Vec<SampledAccess>,
    /// The nodes of unknown values that are the same in all iterations.
    fixed: HashMap<u32, NodeId>,
    /// The variables of `space` that have the same value in all threads of a block.
    pub(super) block_vars: Vec<usize>,
    /// The elements that counters count in, by tensor and fields.
    pub(super) counted: Vec<(String, Vec<String>)>,
    /// Why nodes are unknown, as the end of a sentence about an index.
    pub(super) origins: HashMap<NodeId, String>,
    /// The texts of operations, and of locals that a branch assigns.
    pub(super) texts: HashMap<NodeId, String>,
    /// The texts of the elements that counters count in.
    pub(super) cells: Vec<String>,
    /// For each counter of 32 bits: the line of a loop around the addition whose length only the device knows.
    pub(super) long_loops: Vec<Option<u32>>,
    /// Elements of tensors of integers of at least 32 bits.
    pub(super) wide_reads: HashSet<NodeId>,
    /// Conditions that only the launch knows.
    pub(super) launch_conditions: HashSet<NodeId>,
    /// Reads of tensors that are not `&mut`.
    pub(super) reads: HashMap<(String, Vec<String>, Index), NodeId>,
    /// The tensors, and the fields of their elements, of which several elements are read and compared.
    compared: Vec<(String, Vec<String>)>,
    /// The parts of unknown values, by name.
    pub(super) parts: HashMap<(NodeId, String), NodeId>,
    /// The results of methods that are not followed, by name and operands.
    pub(super) results: HashMap<(String, Index), NodeId>,
}

/// An access to a tensor or a shared array.
pub(super) struct SampledAccess {
    pub(super) tensor: String,
    /// The path of fields from the element to the accessed part.
    pub(super) fields: Vec<String>,
    pub(super) kind: SampledAccessKind,
    /// The element's indices, then those inside the element, where they are integers.
    pub(super) index: Vec<Option<NodeId>>,
    /// Whether an index or a condition is known only at launch.
    pub(super) depends_on_launch: bool,
    /// The affine forms of the indices, where they have one.
    pub(super) forms: Vec<Option<AffineForm>>,
    pub(super) span: Span,
    pub(super) text: String,
    /// What it stores, for messages.
    pub(super) stored: Option<StoredValue>,
    /// The type of the whole element, for messages; none if it is not known or the access is to a field.
    pub(super) elem: Option<String>,
    /// Whether it is inside `unsafe`, which asserts that it does not race.
    pub(super) asserted: bool,
    /// The conditions under which the access happens.
    pub(super) conditions: Vec<Condition>,
    /// Whether it is an access to a shared array, which other blocks do not see.
    pub(super) is_shared: bool,
    /// The phase, if it is an access by the threads of a block. Barriers separate the phases of a block.
    pub(super) phase: Option<u32>,
}

/// What a write stores.
pub(super) enum StoredValue {
    /// The same value in all iterations; its text.
    Literal(String),
    /// The old value and another one combined, as this atomic function does.
    Combined(&'static str),
    /// A value that is computed from the old one.
    Next,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SampledAccessKind {
    Read,
    Write,
    Atomic,
    /// An atomic addition.
    Count,
}

impl SampledAccessKind {
    pub(super) const fn is_write(self) -> bool {
        !matches!(self, Self::Read)
    }

    pub(super) const fn is_atomic(self) -> bool {
        matches!(self, Self::Atomic | Self::Count)
    }

    /// Whether two accesses of these kinds to the same element do not conflict.
    pub(super) const fn may_overlap(self, other: Self) -> bool {
        !self.is_write() && !other.is_write() || self.is_atomic() && other.is_atomic()
    }

    pub(super) const fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic | Self::Count => "atomically combine into",
        }
    }

    pub(super) const fn verb_of_one(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Atomic | Self::Count => "atomically combines into",
        }
    }
}

impl SampledAccess {
    /// The access for the solver. `list` has the indices that are integers. The extents of a sample launch would
    /// exclude too much.
    pub(super) fn conditional_access<'a>(&'a self, list: &'a [NodeId]) -> ConditionalAccess<'a> {
        ConditionalAccess { index: list, extents: &[], conditions: &self.conditions }
    }

    pub(super) fn conflicts(&self, other: &Self) -> bool {
        let same = same_tensor(&self.tensor, &other.tensor)
            && overlap(&self.fields, &other.fields)
            && (!self.is_shared || self.phase == other.phase)
            && !self.asserted
            && !other.asserted;
        same && !self.kind.may_overlap(other.kind)
    }
}

impl SampledTask {
    /// Notes a read of a tensor that the loop does not change, if it reads other elements of it too: conditions on them
    /// may exclude each other.
    pub(super) fn compared_read(&mut self, key: &(String, Vec<String>, Index), id: NodeId) {
        let (tensor, fields, _) = key;
        let others = self.reads.iter().filter(|((of, part, _), _)| of == tensor && part == fields);
        let mut others = others.map(|((.., index), id)| (index.clone(), *id)).peekable();
        if others.peek().is_none() {
            return;
        }
        let name = (tensor.clone(), fields.clone());
        let known = self.compared.iter().position(|of| *of == name);
        let number = known.unwrap_or_else(|| {
            self.compared.push(name);
            self.compared.len() - 1
        });
        let mut added: Vec<_> = others.chain([(key.2.clone(), id)]).collect();
        added.sort_by_key(|(_, id)| *id);
        let reads = &mut self.builder.graph.reads;
        for (index, id) in added {
            if reads.iter().all(|(known, _)| *known != id) {
                let tensor = number as u32;
                reads.push((id, TensorRead { tensor, ty: None, index, extents: Index::new() }));
            }
        }
    }

    pub(super) fn new() -> Self {
        Self {
            space: VarSpace::new(),
            builder: ValueGraphBuilder::default(),
            forms: AffineForms::new(),
            dims: Vec::new(),
            strides: Vec::new(),
            inner: Vec::new(),
            names: Vec::new(),
            accesses: Vec::new(),
            fixed: HashMap::new(),
            block_vars: Vec::new(),
            counted: Vec::new(),
            origins: HashMap::new(),
            texts: HashMap::new(),
            cells: Vec::new(),
            long_loops: Vec::new(),
            wide_reads: HashSet::new(),
            launch_conditions: HashSet::new(),
            reads: HashMap::new(),
            compared: Vec::new(),
            parts: HashMap::new(),
            results: HashMap::new(),
        }
    }

    pub(super) fn loops(&self) -> impl Iterator<Item = &(i128, i128)> {
        self.dims.iter().chain(&self.inner)
    }

    /// Adds a node, or finds an equal one.
    pub(super) fn push(&mut self, node: ValueNode) -> NodeId {
        let id = self.builder.push(node);
        if id as usize == self.forms.len() {
            let form = node.evaluate(&[], &mut self.space, &self.forms);
            self.forms.push(form);
        }
        id
    }

    /// The affine form of a node, if it has one.
    pub(super) fn form(&self, id: NodeId) -> Option<AffineForm> {
        self.forms[id as usize]
    }

    /// Whether the launch follows what a node is computed from: no value that only the device knows is among it, but
    /// those that are the same in all iterations.
    pub(super) fn is_followed(&self, id: NodeId) -> bool {
        let mut seen = HashSet::new();
        let mut rest = vec![id];
        while let Some(id) = rest.pop() {
            if self.form(id).is_some() || !seen.insert(id) {
                continue;
            }
            let node = self.builder.node(id);
            if let ValueNode::Unknown { uniformity, .. } = node
                && uniformity > Uniformity::Loop
            {
                return false;
            }
            rest.extend(node.operands());
        }
        true
    }

    /// An unknown value that is the same in all iterations.
    pub(super) fn fixed(&mut self, number: u32) -> NodeId {
        if let Some(id) = self.fixed.get(&number) {
            return *id;
        }
        let var = self.space.push(Var::new(VarKind::Fixed, 0, 0));
        let id = self.push(ValueNode::Unknown { uniformity: Uniformity::Loop, var, ty: None });
        self.fixed.insert(number, id);
        id
    }
}

/// Whether two tensors are the same, or one is a struct of tensors that contains the other.
pub(super) fn same_tensor(a: &str, b: &str) -> bool {
    let contains = |outer: &str, tensor: &str| {
        tensor.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    contains(a, b) || contains(b, a)
}

/// Whether one of two parts of an element, given by their field paths, contains the other.
pub(super) fn overlap(a: &[String], b: &[String]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
}
