//! Thread coarsening: how many iterations of a loop a GPU thread executes together.
//!
//! A thread that issues the loads of several iterations first waits for memory once instead of several times, and
//! iterations that are adjacent in the outermost dimension share loads. Iterations are unordered, so that results do
//! not change.
//!
//! [`Coarsening::of`] is the only place that decides this. Code generation uses it for the loop, the launcher for the
//! grid.

use crate::{
    Array, BlockId, Element, ExprId, ExprKind, Offloaded, ParamKind, ScalarType, Stmt, Task,
    TaskKind,
    abi::Form,
    visit::{Nodes, Reach},
};

/// The maximum number of statements of a coarsened body. For longer bodies, register pressure costs more than waiting
/// for memory.
const STATEMENTS_AT_MOST: usize = 24;
/// Bodies up to this length get a larger factor.
const FEW_STATEMENTS: usize = 10;
/// The maximum number of bytes of one vector load.
const WORD: u32 = 16;

/// How the threads of a range loop execute its iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coarsening {
    /// The number of iterations per thread, if there are enough. In a loop of one dimension they are strided by the
    /// number of threads. In other loops they are adjacent in the outermost dimension.
    pub factor: u32,
    /// Whether a grid that fills the device once is best, because each block has extra work at its end: it combines
    /// private results.
    pub single_wave: bool,
    /// Whether square two-dimensional blocks are best. Adjacent iterations of serial loops without a fixed trip count
    /// run about equally long in both dimensions, so that few threads wait for one.
    pub square_blocks: bool,
    /// A load of narrow elements, one per iteration, that a thread replaces by a vector load. The iterations of a
    /// thread are adjacent in this case.
    pub vector_load: Option<ExprId>,
}

impl Coarsening {
    /// No coarsening: one iteration at a time.
    pub const NONE: Self =
        Self { factor: 1, single_wave: false, square_blocks: false, vector_load: None };

    /// Chooses the coarsening of a task.
    #[must_use]
    pub fn of(kernel: &Offloaded, task: &Task, form: Form) -> Self {
        let TaskKind::RangeFor { dims, .. } = &task.kind else { return Self::NONE };
        let stmts = &kernel.blocks[task.body].stmts;
        let nodes = Nodes::from(kernel);
        let square_blocks =
            stmts.iter().any(|stmt| matches!(*stmt, Stmt::Loop { body } if !nodes.runs_once(body)));
        if form != Form::Proven {
            return Self { square_blocks, ..Self::NONE };
        }
        let mut loads = 0;
        let single_wave = combines(kernel, task.body);
        let mut straight = stmts.len() <= STATEMENTS_AT_MOST;
        for stmt in stmts {
            straight &= matches!(
                stmt,
                Stmt::Let { .. }
                    | Stmt::Assign { .. }
                    | Stmt::Store { .. }
                    | Stmt::Eval { .. }
                    | Stmt::ReduceTemp { .. }
            );
            let is_load = |value: &_| matches!(kernel.exprs[*value].kind, ExprKind::Load(_));
            loads += stmt.exprs().filter(is_load).count();
        }
        let load = vector_load(kernel, task).filter(|_| straight && stmts.len() <= FEW_STATEMENTS);
        if let Some((load, factor)) = load {
            return Self { factor, single_wave, square_blocks, vector_load: Some(load) };
        }
        let factor = match loads {
            0 => 1,
            _ if !straight => 1,
            1 if dims.len() == 1 => 8,
            _ if dims.len() > 1 && stmts.len() <= FEW_STATEMENTS => 8,
            _ => 4,
        };
        Self { factor, single_wave, square_blocks, vector_load: None }
    }
}

/// Finds a load that can be vectorized: of narrow elements, indexed by the loop variable alone, which has no other use.
/// Also returns the number of elements in [`WORD`] bytes.
fn vector_load(kernel: &Offloaded, task: &Task) -> Option<(ExprId, u32)> {
    let [dim] = task.kind.dims()? else { return None };
    let wide = kernel.locals[dim.var].ty == ScalarType::U64;
    let is_var = |at: ExprId| matches!(kernel.exprs[at].kind, ExprKind::Local(local) if wide && local == dim.var);
    let mut found = None;
    for stmt in &kernel.blocks[task.body].stmts {
        if let Stmt::Let { value, .. } = stmt
            && let ExprKind::Load(element) = &kernel.exprs[*value].kind
            && let Some(tensor) = element.tensor()
            && let ParamKind::Tensor { elem, writable: false, .. } =
                kernel.params[tensor.index()].kind
            && elem.size() <= 2
            && matches!(element.index[..], [at] if is_var(at))
            && !kernel.sites[element.site.index()].asserted
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

/// Whether the block, or a nested one, combines into a temporary, or has an atomic that privatization may replace: into
/// one element, or into a small one-dimensional tensor.
fn combines(kernel: &Offloaded, block: BlockId) -> bool {
    let constant = |at: &ExprId| matches!(kernel.exprs[*at].kind, ExprKind::Const(_));
    kernel.blocks[block].stmts.iter().any(|stmt| {
        if let Stmt::Eval { value } = stmt
            && let ExprKind::Atomic {
                op,
                element: Element { array: Array::Tensor(_), index, .. },
                ..
            } = &kernel.exprs[*value].kind
            && op.combines()
        {
            let narrow = matches!(kernel.exprs[*value].ty, ScalarType::I32 | ScalarType::U32);
            return index.iter().all(constant) || narrow && index.len() == 1;
        }
        matches!(stmt, Stmt::ReduceTemp { .. })
            || stmt.blocks().any(|inner| combines(kernel, inner))
    })
}
