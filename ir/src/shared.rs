//! The shared memory of a task: its constant arrays, which are part of the code, and its dynamic arrays, whose memory
//! is part of a launch.

use crate::{
    BlockId, CollectiveOp, LocalId, Offloaded, SharedExtent, Stmt, Task, collective::WARP,
};

/// The alignment of each shared array in bytes.
pub const SHARED_ALIGNMENT: u64 = 16;

/// A dynamic array of a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DynamicArray {
    /// The array.
    pub array: LocalId,
    /// The extents of all indices of an access.
    pub extents: Vec<SharedExtent>,
    /// The size of a scalar in bytes.
    pub bytes: u64,
}

/// The size of a task's shared arrays in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SharedBytes {
    /// What the code needs for constant arrays and collectives.
    pub fixed: u64,
    /// What a launch needs for dynamic arrays; saturating.
    pub dynamic: u64,
}

impl SharedBytes {
    /// The sum of both.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.fixed.saturating_add(self.dynamic)
    }
}

/// The next multiple of [`SHARED_ALIGNMENT`], saturating.
#[must_use]
pub const fn aligned(bytes: u64) -> u64 {
    match bytes.checked_next_multiple_of(SHARED_ALIGNMENT) {
        Some(aligned) => aligned,
        None => u64::MAX,
    }
}

impl Offloaded {
    /// The dynamic arrays of a task. The first is at the start of the launch's shared memory, each other one at the
    /// next [aligned] offset after the previous one.
    #[must_use]
    pub fn dynamic_arrays(&self, task: &Task) -> Vec<DynamicArray> {
        let mut arrays = Vec::new();
        self.each_shared_stmt(task.body, &mut |stmt| {
            if let Some((array, extents)) = stmt.shared_extents()
                && stmt.extent_locals().next().is_some()
            {
                let bytes = self.locals[array].ty.size() as u64;
                arrays.push(DynamicArray { array, extents, bytes });
            }
        });
        arrays
    }

    /// The maximum size in bytes of what the code of a task needs for constant arrays and collectives.
    #[must_use]
    pub fn fixed_shared_bytes(&self, task: &Task) -> u64 {
        let mut total: u64 = 0;
        self.each_shared_stmt(task.body, &mut |stmt| match stmt {
            Stmt::Shared { array, .. } if stmt.extent_locals().next().is_none() => {
                let (_, extents) = stmt.shared_extents().unwrap_or((*array, Vec::new()));
                let size = self.locals[*array].ty.size() as u64;
                let numbers = extents.iter().filter_map(|dim| dim.constant());
                let bytes = numbers.fold(size, |bytes, dim| bytes.saturating_mul(dim.into()));
                total = total.saturating_add(aligned(bytes));
            }
            Stmt::Phase { collective: Some(collective), .. }
                if matches!(collective.op, CollectiveOp::Reduce(_) | CollectiveOp::Scan { .. }) =>
            {
                let size = self.locals[collective.local].ty.size().max(4);
                total = total.saturating_add(aligned((2 * WARP * size) as u64));
            }
            _ => {}
        });
        total
    }

    /// Calls `visit` for the block-level statements of a block, in order.
    fn each_shared_stmt<'a>(&'a self, block: BlockId, visit: &mut dyn FnMut(&'a Stmt)) {
        for stmt in &self.blocks[block].stmts {
            visit(stmt);
            if !matches!(stmt, Stmt::Phase { .. }) {
                stmt.blocks().for_each(|inner| self.each_shared_stmt(inner, visit));
            }
        }
    }
}
