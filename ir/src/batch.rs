//! How a GPU's threads take the iterations of a loop: one at a time, or some at once.
//!
//! A thread that reads for several iterations before it computes any of them waits for memory once instead of several
//! times, and neighbours in the outermost dimension share what they read. Iterations are in no order, so that
//! this changes no result. Printer and launcher both ask here: the one prints the loop, the other chooses the grid.

use crate::{BlockId, ExprId, ExprKind, Offloaded, ScalarType, Stmt, Task, TaskKind, abi::Form};

/// Longer bodies take more registers than waiting for memory costs.
const STATEMENTS_AT_MOST: usize = 24;
/// Of shorter ones a thread takes more at once.
const FEW_STATEMENTS: usize = 10;

/// How threads take a loop's iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batch {
    /// How many a thread takes at once where there are enough: in the outermost dimension neighbours, of a loop of one
    /// dimension those that are as far apart as there are threads.
    pub lanes: u32,
    /// Whether a grid that fills the device once is best, because each block has work of its own at its end.
    pub fills_once: bool,
    /// Whether blocks of threads of two dimensions are best squares: neighbours in both take loops of about as many
    /// turns, so that few wait for one.
    pub square: bool,
}

impl Batch {
    /// Each iteration by itself.
    pub const NONE: Self = Self { lanes: 1, fills_once: false, square: false };

    /// How the threads of a task take its iterations.
    #[must_use]
    pub fn of(kernel: &Offloaded, task: &Task, form: Form) -> Self {
        let TaskKind::RangeFor { dims, .. } = &task.kind else { return Self::NONE };
        let stmts = &kernel.blocks[task.body].stmts;
        let square = stmts.iter().any(|stmt| matches!(stmt, Stmt::Loop { .. }));
        if form != Form::Proven {
            return Self { square, ..Self::NONE };
        }
        let mut loads = 0;
        let fills_once = combines(kernel, task.body);
        let mut straight = stmts.len() <= STATEMENTS_AT_MOST;
        for stmt in stmts {
            straight &= matches!(
                stmt,
                Stmt::Let { .. } | Stmt::Assign { .. } | Stmt::Store { .. } | Stmt::Eval { .. }
            );
            let is_load = |value: &_| matches!(kernel.exprs[*value].kind, ExprKind::Load { .. });
            loads += stmt.exprs().filter(is_load).count();
        }
        let lanes = match loads {
            0 => 1,
            _ if !straight => 1,
            1 if dims.len() == 1 => 8,
            _ if dims.len() > 1 && stmts.len() <= FEW_STATEMENTS => 8,
            _ => 4,
        };
        Self { lanes, fills_once, square }
    }
}

/// Whether iterations combine into one element, or into elements of which a block may have copies: wherever that stands.
fn combines(kernel: &Offloaded, block: BlockId) -> bool {
    let constant = |at: &ExprId| matches!(kernel.exprs[*at].kind, ExprKind::Const(_));
    kernel.blocks[block].stmts.iter().any(|stmt| {
        if let Stmt::Eval { value } = stmt
            && let ExprKind::Atomic { index, .. } = &kernel.exprs[*value].kind
        {
            let narrow = matches!(kernel.exprs[*value].ty, ScalarType::I32 | ScalarType::U32);
            return index.iter().all(constant) || narrow && index.len() == 1;
        }
        stmt.blocks().any(|inner| combines(kernel, inner))
    })
}
