//! How a GPU's threads take the iterations of a loop: one at a time, or some at once.
//!
//! A thread that reads for several iterations before it computes any of them waits for memory once instead of several
//! times, and neighbours in the outermost dimension share what they read. Iterations are in no order, so that
//! this changes no result. Printer and launcher both ask here: the one prints the loop, the other chooses the grid.

use crate::{
    BlockId, ExprId, ExprKind, Offloaded, ParamKind, ScalarType, Stmt, Task, TaskKind,
    abi::Form,
    visit::{Nodes, Reach},
};

/// Longer bodies take more registers than waiting for memory costs.
const STATEMENTS_AT_MOST: usize = 24;
/// Of shorter ones a thread takes more at once.
const FEW_STATEMENTS: usize = 10;
/// The bytes that a thread reads at once at most.
const WORD: u32 = 16;

/// How threads take a loop's iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coarsening {
    /// How many a thread takes at once where there are enough: in the outermost dimension neighbours, of a loop of one
    /// dimension those that are as far apart as there are threads.
    pub lanes: u32,
    /// Whether a grid that fills the device once is best, because each block has work of its own at its end.
    pub fills_once: bool,
    /// Whether blocks of threads of two dimensions are best squares: neighbours in both take loops of about as many
    /// turns, so that few wait for one.
    pub square: bool,
    /// The read of narrow elements, one for each iteration, that the thread does by words: its iterations are neighbours then.
    pub words: Option<ExprId>,
}

impl Coarsening {
    /// Each iteration by itself.
    pub const NONE: Self = Self { lanes: 1, fills_once: false, square: false, words: None };

    /// How the threads of a task take its iterations.
    #[must_use]
    pub fn of(kernel: &Offloaded, task: &Task, form: Form) -> Self {
        let TaskKind::RangeFor { dims, .. } = &task.kind else { return Self::NONE };
        let stmts = &kernel.blocks[task.body].stmts;
        let nodes = Nodes::from(kernel);
        let square =
            stmts.iter().any(|stmt| matches!(*stmt, Stmt::Loop { body } if !nodes.runs_once(body)));
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
        let words = words(kernel, task).filter(|_| straight && stmts.len() <= FEW_STATEMENTS);
        if let Some((words, lanes)) = words {
            return Self { lanes, fills_once, square, words: Some(words) };
        }
        let lanes = match loads {
            0 => 1,
            _ if !straight => 1,
            1 if dims.len() == 1 => 8,
            _ if dims.len() > 1 && stmts.len() <= FEW_STATEMENTS => 8,
            _ => 4,
        };
        Self { lanes, fills_once, square, words: None }
    }
}

/// The read whose elements lie beside each other in memory, several to a word, and how many there are in [`WORD`] bytes: where
/// the loop's variable is good for nothing else.
fn words(kernel: &Offloaded, task: &Task) -> Option<(ExprId, u32)> {
    let [dim] = task.kind.dims()? else { return None };
    let wide = kernel.locals[dim.var].ty == ScalarType::U64;
    let is_var = |at: ExprId| matches!(kernel.exprs[at].kind, ExprKind::Local(local) if wide && local == dim.var);
    let mut found = None;
    for stmt in &kernel.blocks[task.body].stmts {
        if let Stmt::Let { value, .. } = stmt
            && let ExprKind::Load { tensor, index, site } = &kernel.exprs[*value].kind
            && let ParamKind::Tensor { elem, writable: false, .. } =
                kernel.params[tensor.index()].kind
            && elem.size() <= 2
            && matches!(index[..], [at] if is_var(at))
            && !kernel.sites[site.index()].asserted
            && found.is_none()
        {
            found = Some((*value, WORD / elem.size() as u32));
            continue;
        }
        let nodes = Nodes::from(kernel);
        let mut reach = Reach::new(nodes);
        nodes.reach_stmt(stmt, &mut reach);
        if reach.locals[dim.var.index()] {
            return None;
        }
    }
    found
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
