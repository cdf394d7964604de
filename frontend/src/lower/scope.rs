//! What lowering keeps of values, names, loops and the functions being lowered.

use std::rc::Rc;

use quadrants_ir::{Const, ExprId, LocalId, ParamId, ScalarType, Stmt, types::Type};

use crate::{names::Names, unit::Unit};

/// A value: an expression for each of its scalars.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) ty: Type,
    pub(super) leaves: Vec<ExprId>,
}

impl Value {
    pub(super) fn scalar(ty: ScalarType, value: ExprId) -> Self {
        Self { ty: Type::Scalar(ty), leaves: vec![value] }
    }

    pub(super) fn part(&self, ty: Type, first: usize) -> Self {
        Self { ty, leaves: self.leaves[first..first + ty.leaves()].to_vec() }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Binding {
    /// A scalar that no statement defines.
    Scalar(Scalar),
    Local(LocalId),
    /// A tuple, array or struct.
    Value(ValueId),
    Tensor {
        /// The first of its components.
        param: ParamId,
        elem: Type,
        writable: bool,
    },
    /// The extents of a tensor.
    Shape(ParamId),
    /// A block of threads.
    Block {
        /// Its number in each dimension of the grid.
        index: [Option<LocalId>; 3],
        threads: u32,
    },
    /// An array that a block's threads share.
    Shared {
        array: LocalId,
        len: u32,
        rank: usize,
    },
    /// What each thread of a block has a value of.
    OfThreads(LocalId),
}

/// The number of a [`Held`] value.
pub(super) type ValueId = usize;

/// A value of several scalars that has a name.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) ty: Type,
    pub(super) leaves: Vec<Leaf>,
}

/// Where a scalar of such a value is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaf {
    Scalar(Scalar),
    Local(LocalId),
}

impl From<Leaf> for Binding {
    fn from(leaf: Leaf) -> Self {
        match leaf {
            Leaf::Scalar(scalar) => Self::Scalar(scalar),
            Leaf::Local(local) => Self::Local(local),
        }
    }
}

/// A scalar that costs nothing to repeat and never changes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar {
    Param(ParamId, ScalarType),
    Const(Const),
}

/// A loop around what is being lowered.
pub(super) struct Loop {
    pub(super) label: Option<String>,
    /// Where the values of its `break`s go.
    pub(super) value: Option<(Type, Rc<[LocalId]>)>,
    /// Whether a loop within leaves this one.
    pub(super) left: Option<LocalId>,
    /// Whether a loop within goes on with the next round of this one.
    pub(super) next: Option<LocalId>,
    /// The jumps that leave this loop for one further out.
    pub(super) crossing: Vec<Crossing>,
}

/// A jump from within a loop to one further out.
#[derive(Clone, PartialEq)]
pub(super) struct Crossing {
    /// The place of the other loop among those of the func.
    pub(super) target: usize,
    pub(super) flag: LocalId,
    /// What is done there.
    pub(super) jump: Stmt,
}

impl Loop {
    pub(super) fn new(label: Option<&str>) -> Self {
        Self {
            label: label.map(str::to_owned),
            value: None,
            left: None,
            next: None,
            crossing: Vec::new(),
        }
    }
}

/// How a func with early returns is left.
#[derive(Clone)]
pub(super) struct Exit {
    pub(super) returned: LocalId,
    /// The type of its value, and the locals that hold it.
    pub(super) value: Option<(Type, Rc<[LocalId]>)>,
}

/// A function being lowered.
pub(super) struct Frame {
    pub(super) unit: Rc<Unit>,
    /// The callees of its table: a func, or none for a built-in.
    pub(super) callees: Vec<Option<Rc<Unit>>>,
    names: Names<Binding>,
    /// How it is left before its end, where it ever is.
    pub(super) exit: Option<Exit>,
    /// Its loops around what is being lowered, innermost last.
    pub(super) loops: Vec<Loop>,
}

impl Frame {
    pub(super) fn new(unit: Rc<Unit>) -> Self {
        Self { unit, callees: Vec::new(), names: Names::new(), exit: None, loops: Vec::new() }
    }

    pub(super) fn bind(&mut self, name: &str, binding: Binding) {
        if name != "_" {
            self.names.bind(name, binding);
        }
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Binding> {
        self.names.lookup(name).copied()
    }

    /// The mark to [leave](Self::leave) a scope entered here.
    pub(super) fn enter(&self) -> usize {
        self.names.mark()
    }

    pub(super) fn leave(&mut self, mark: usize) {
        self.names.leave(mark);
    }
}
