//! Finds parallel loops whose indices can be checked before the iterations run (inspector and executor): an inspection
//! computes the indices of some iterations and compares them with the extents. If all are in range, the iterations run
//! without checks.

use crate::{
    Array, BinaryOp, BlockId, ExprId, ExprKind, LocalId, MathFn, Offloaded, ParamAccess, Stmt,
    Task, TaskId, TaskKind,
    visit::{Nodes, Reach},
};

/// The estimated number of iterations of a serial loop.
const TRIPS: u64 = 8;
/// Serial loops below this depth count as deep as it.
const MAX_DEPTH: u32 = 6;
/// What a mathematical function costs, compared with an arithmetic operation.
const MATH_COST: u64 = 4;

/// The computation of a task's indices: what they, and the conditions around them, depend on.
struct IndexSlice<'a> {
    nodes: Nodes<'a>,
    reach: Reach,
    /// Whether the task prints.
    prints: bool,
}

/// Whether the iterations of a task can be inspected, and this is cheap compared with running them.
///
/// An inspection performs no side effects. So what the indices depend on must not be written by the loop. This includes
/// the operands of assertions and divisors, which an inspection evaluates as well.
#[must_use]
pub fn can_inspect(kernel: &Offloaded, id: TaskId) -> bool {
    let task = &kernel.tasks[id.index()];
    if !matches!(task.kind, TaskKind::RangeFor { .. }) {
        return false;
    }
    let slice = IndexSlice::of(kernel, task);
    let mut all = Reach::new(slice.nodes);
    for block in [task.prelude, task.body] {
        slice.nodes.reach_block(block, &mut all);
    }
    let changed = all.accesses().into_iter().filter(|access| access.write || access.atomic);
    let changed: Vec<_> = changed.map(|access| access.param).collect();
    let is_constant = |access: ParamAccess| !access.atomic && !changed.contains(&access.param);
    !slice.prints
        && slice.reach.accesses().into_iter().all(is_constant)
        && slice.is_deterministic()
        && slice.is_cheap(task)
}

impl<'a> IndexSlice<'a> {
    fn of(kernel: &'a Offloaded, task: &Task) -> Self {
        let nodes = Nodes::from(kernel);
        let mut slice = Self { nodes, reach: Reach::new(nodes), prints: false };
        loop {
            let before = slice.size();
            slice.block(task.prelude);
            slice.block(task.body);
            if slice.size() == before {
                return slice;
            }
        }
    }

    /// The number of expressions and locals in the slice.
    fn size(&self) -> usize {
        let exprs = self.nodes.exprs.iter().filter(|(id, _)| self.reach.contains(*id)).count();
        exprs + self.reach.locals.iter().filter(|used| **used).count()
    }

    fn needs(&self, local: LocalId) -> bool {
        self.reach.locals[local.index()]
    }

    fn block(&mut self, block: BlockId) {
        for stmt in &self.nodes.blocks[block].stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let is_needed = match *stmt {
            Stmt::Let { local, .. } | Stmt::Assign { local, .. } => self.needs(local),
            Stmt::Store { ref element, .. } => match element.array {
                Array::Local(array) | Array::Shared(array) => self.needs(array),
                Array::Tensor(_) => false,
            },
            Stmt::If { .. } | Stmt::For { .. } | Stmt::Assert { .. } => true,
            _ => false,
        };
        self.prints |= matches!(stmt, Stmt::Print { .. });
        for value in stmt.exprs() {
            match is_needed {
                true => self.nodes.reach_expr(value, &mut self.reach),
                false => self.operands_that_can_fail(value),
            }
        }
        if let Stmt::Store { element, .. } = stmt {
            element.index.iter().for_each(|at| self.nodes.reach_expr(*at, &mut self.reach));
        }
        for inner in stmt.blocks() {
            self.block(inner);
        }
    }

    /// Adds the indices and divisors in an expression that is not part of the slice itself.
    fn operands_that_can_fail(&mut self, value: ExprId) {
        if self.reach.contains(value) {
            return;
        }
        let kind = &self.nodes.exprs[value].kind;
        let indices = kind.element().into_iter().flat_map(|element| &element.index).copied();
        let divisor = match *kind {
            ExprKind::DivRem { rhs, .. } => Some(rhs),
            _ => None,
        };
        for operand in indices.chain(divisor) {
            self.nodes.reach_expr(operand, &mut self.reach);
        }
        for operand in kind.operands() {
            self.operands_that_can_fail(operand);
        }
    }

    /// Whether two compilations of the slice compute the same indices from the same data. Rust leaves open the results
    /// of some functions to the last bits, the signs of NaNs, and the sign of the minimum or maximum of two zeros.
    fn is_deterministic(&self) -> bool {
        use MathFn::{Abs, Ceil, Floor, Max, Min, MulAdd, Round, RoundEven, Sqrt, Trunc};
        let (mut chooses_zero, mut divides) = (false, false);
        for (_, expr) in self.nodes.exprs.iter().filter(|(id, _)| self.reach.contains(*id)) {
            match expr.kind {
                ExprKind::Bits { value } if self.nodes.exprs[value].ty.is_float() => return false,
                ExprKind::Math { function: Min | Max, .. } => chooses_zero |= expr.ty.is_float(),
                ExprKind::Math {
                    function: Abs | Ceil | Floor | MulAdd | Round | RoundEven | Sqrt | Trunc,
                    ..
                } => {}
                ExprKind::Math { .. } => return false,
                ExprKind::Binary { op: BinaryOp::Div, .. } => divides = true,
                _ => {}
            }
        }
        !(chooses_zero && divides)
    }

    /// Whether computing the slice costs less than three quarters of the iteration.
    fn is_cheap(&self, task: &Task) -> bool {
        let (mut seen, mut costs) = (vec![false; self.nodes.exprs.len()], (0, 0));
        for block in [task.prelude, task.body] {
            self.add_costs(block, 0, &mut seen, &mut costs);
        }
        let (slice, all) = costs;
        4 * slice < 3 * all
    }

    /// Adds the costs of the slice and of the whole block.
    fn add_costs(&self, block: BlockId, depth: u32, seen: &mut [bool], costs: &mut (u64, u64)) {
        let weight = TRIPS.pow(depth.min(MAX_DEPTH));
        for stmt in &self.nodes.blocks[block].stmts {
            let mut open: Vec<ExprId> = stmt.exprs().collect();
            while let Some(value) = open.pop() {
                if std::mem::replace(&mut seen[value.index()], true) {
                    continue;
                }
                let kind = &self.nodes.exprs[value].kind;
                let cost = match kind {
                    ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Param(_) => 0,
                    ExprKind::Math { .. } => MATH_COST * weight,
                    _ => weight,
                };
                costs.0 += if self.reach.contains(value) { cost } else { 0 };
                costs.1 += cost;
                open.extend(kind.operands());
            }
            costs.1 += if matches!(stmt, Stmt::Store { .. }) { weight } else { 0 };
            let is_loop = matches!(stmt, Stmt::For { .. } | Stmt::Loop { .. });
            for inner in stmt.blocks() {
                self.add_costs(inner, depth + u32::from(is_loop), seen, costs);
            }
        }
    }
}
