//! The size of dynamic arrays in a launch.

use crate::{
    ExprKind, Offloaded, SharedExtent, Stmt, Task,
    abi::ArgLayout,
    interp::{Code, compile_locals},
    shared::{SharedBytes, aligned},
    visit::{Nodes, Reach},
};

/// How the size of a task's dynamic arrays depends on the arguments.
#[derive(Debug)]
pub(super) struct DynamicMemory {
    /// Computes the extents.
    code: Code,
    inputs: Vec<usize>,
    /// Of each array: the size of a scalar, and the extents.
    arrays: Vec<(u64, Vec<Extent>)>,
    fixed: u64,
}

#[derive(Debug)]
enum Extent {
    Number(u64),
    Register(usize),
}

impl DynamicMemory {
    /// None for a task without dynamic arrays.
    pub(super) fn new(kernel: &Offloaded, layout: &ArgLayout, task: &Task) -> Option<Self> {
        let arrays = kernel.dynamic_arrays(task);
        if arrays.is_empty() {
            return None;
        }
        let nodes = Nodes::from(kernel);
        let mut reach = Reach::new(nodes);
        for extent in arrays.iter().flat_map(|array| &array.extents) {
            extent.local().into_iter().for_each(|local| reach.locals[local.index()] = true);
        }
        for stmt in kernel.blocks[task.prelude].stmts.iter().rev() {
            if let Stmt::Let { local, value } = *stmt
                && reach.locals[local.index()]
            {
                nodes.reach_expr(value, &mut reach);
            }
        }
        let (code, registers) = compile_locals(kernel, layout, task, &reach.locals);
        let extent = |extent: &SharedExtent| match *extent {
            SharedExtent::Constant(number) => Extent::Number(number.into()),
            // Offloading has checked that the prelude defines it.
            SharedExtent::Local(local) => match registers[local.index()] {
                Some(register) => Extent::Register(register as usize),
                None => Extent::Number(u64::MAX),
            },
        };
        let arrays = arrays
            .iter()
            .map(|array| (array.bytes, array.extents.iter().map(extent).collect()))
            .collect();
        let used = kernel.exprs.iter().filter(|(expr, _)| reach.contains(*expr));
        let inputs = used.filter_map(|(_, expr)| match expr.kind {
            ExprKind::Param(param) => Some(layout.word(param)),
            _ => None,
        });
        Some(Self {
            code,
            inputs: inputs.collect(),
            arrays,
            fixed: kernel.fixed_shared_bytes(task),
        })
    }

    /// The words of the argument block that the size depends on, except extents of tensors.
    pub(super) fn inputs(&self) -> impl Iterator<Item = usize> {
        self.inputs.iter().copied()
    }

    pub(super) fn bytes(&self, args: &[u64]) -> SharedBytes {
        let registers = self.code.prelude_registers(args);
        let mut dynamic = 0;
        for (size, extents) in &self.arrays {
            let value = |extent: &Extent| match *extent {
                Extent::Number(number) => number,
                Extent::Register(register) => registers[register],
            };
            // An array without elements has no bytes, however large its other extent is.
            let extents = extents.iter().map(value);
            let bytes = match extents.clone().any(|extent| extent == 0) {
                true => 0,
                false => extents.fold(*size, u64::saturating_mul),
            };
            dynamic = aligned(dynamic).saturating_add(bytes);
        }
        // Whole vectors, because compilers read an array's last element together with what is after it.
        SharedBytes { fixed: self.fixed, dynamic: aligned(dynamic) }
    }
}
