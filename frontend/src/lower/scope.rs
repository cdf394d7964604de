//! Data structures of lowering: values, bindings of names, loops, and frames of inlined functions.

use std::rc::Rc;

use quadrants_ir::{Const, ExprId, LocalId, ParamId, ScalarType, SharedExtent, Stmt, types::Type};

use super::local_array::LocalMemoryScalar;
use crate::{function_unit::FunctionUnit, symbol_table::SymbolTable};

/// A value: one expression per scalar.
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

#[derive(Clone, Copy, Debug)]
pub(super) enum Binding {
    Scalar(Scalar),
    Local(LocalId),
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
        /// Its index in each dimension of the grid.
        index: [Option<LocalId>; 3],
        threads: u32,
    },
    Shared {
        /// The first of its components.
        array: LocalId,
        elem: Type,
        /// Its extents; the second is 1 for an array of one dimension.
        dims: [SharedExtent; 2],
        rank: usize,
    },
    /// A value per thread of a block.
    PerThread(LocalId),
}

/// The index of a [`NamedValue`] in `Lowerer::named_values`.
pub(super) type ValueId = usize;

/// An aggregate that a name refers to.
#[derive(Clone, Debug)]
pub(super) struct NamedValue {
    pub(super) ty: Type,
    pub(super) leaves: Vec<Leaf>,
    /// Whether its scalars are its own, so that they may be in local memory.
    pub(super) is_owned: bool,
}

/// A scalar of a [`NamedValue`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaf {
    Scalar(Scalar),
    Local(LocalId),
    /// An element of a local array.
    Memory(LocalMemoryScalar),
}

/// An immutable scalar that is free to read again.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar {
    Param(ParamId, ScalarType),
    Const(Const),
}

pub(super) struct LoopFrame {
    pub(super) label: Option<String>,
    /// The locals that a `break` with a value assigns.
    pub(super) value: Option<(Type, Rc<[LocalId]>)>,
    pub(super) break_flag: Option<LocalId>,
    /// The flag that a nested loop sets to continue this loop.
    pub(super) continue_flag: Option<LocalId>,
    /// The jumps that leave this loop for an outer one.
    pub(super) outer_jumps: Vec<OuterJump>,
}

/// A jump from a nested loop to an outer one.
#[derive(Clone, PartialEq)]
pub(super) struct OuterJump {
    /// The index of the outer loop in `CallFrame::loops`.
    pub(super) target: usize,
    pub(super) flag: LocalId,
    /// `Break` or `Continue` of that loop.
    pub(super) jump: Stmt,
}

impl LoopFrame {
    pub(super) fn new(label: Option<&str>) -> Self {
        Self {
            label: label.map(str::to_owned),
            value: None,
            break_flag: None,
            continue_flag: None,
            outer_jumps: Vec::new(),
        }
    }
}

/// The locals of a func with early returns.
#[derive(Clone)]
pub(super) struct EarlyReturn {
    pub(super) returned: LocalId,
    /// The type of the result, and its locals.
    pub(super) value: Option<(Type, Rc<[LocalId]>)>,
}

/// The frame of a function that is being lowered.
pub(super) struct CallFrame {
    pub(super) unit: Rc<FunctionUnit>,
    /// The callees of its table: a func, or `None` for a built-in.
    pub(super) callees: Vec<Option<Rc<FunctionUnit>>>,
    pub(super) names: SymbolTable<Binding>,
    /// Set if it has early returns.
    pub(super) early_return: Option<EarlyReturn>,
    /// The enclosing loops of the function, innermost last.
    pub(super) loops: Vec<LoopFrame>,
}

impl CallFrame {
    pub(super) fn new(unit: Rc<FunctionUnit>) -> Self {
        Self {
            unit,
            callees: Vec::new(),
            names: SymbolTable::new(),
            early_return: None,
            loops: Vec::new(),
        }
    }

    pub(super) fn bind(&mut self, name: &str, binding: Binding) {
        if name != "_" {
            self.names.bind(name, binding);
        }
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Binding> {
        self.names.lookup(name).copied()
    }
}
