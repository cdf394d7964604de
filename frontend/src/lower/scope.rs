//! Names and what they stand for while a function is lowered.

use std::rc::Rc;

use quadrants_ir::{Const, LocalId, ParamId, ScalarType, types::Type};

use super::{Unit, early_return::Exit, jumps::Loop};
use crate::names::Names;

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

/// A scalar that costs nothing to repeat and never changes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar {
    Param(ParamId, ScalarType),
    Const(Const),
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
