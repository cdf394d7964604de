//! Prints phases that end in a collective.

use quadrants_ir::{BlockCollective, BlockId, CollectiveOp, ExprId, ExprKind, LocalId, Stmt};

use super::{consts, helpers::Helper, task::TaskPrinter};

impl TaskPrinter<'_> {
    /// Prints a phase that ends in a collective. The variable of a thread's input also receives its result.
    pub(super) fn collective_phase(
        &mut self,
        var: LocalId,
        body: BlockId,
        collective: BlockCollective,
    ) {
        let BlockCollective { op, local } = collective;
        let (ty, name) = (self.kernel.locals[local].ty, self.local(local));
        self.line(&format!("{ty} {name} = {};", consts::zero(ty)));
        let from = (op == CollectiveOp::Shuffle).then(|| self.fresh(&format!("{name}_from")));
        if let Some(from) = &from {
            self.line(&format!("u64 {from} = 0ull;"));
        }
        self.blocks.collective_input = Some((name.clone(), from.clone()));
        self.phase(var, body);
        self.blocks.collective_input = None;
        let threads = self.kernel.tasks[self.task.index()].kind.threads().unwrap_or(1);
        let function = self.helper(Helper::Collective { op, ty });
        let arguments = match (op, from) {
            (CollectiveOp::Ballot, _) => format!("{name} != 0u"),
            (_, Some(from)) => format!("{name}, {from}, {threads}u"),
            (_, None) => format!("{name}, {threads}u"),
        };
        self.line(&format!("{name} = {function}({arguments});"));
        // Reductions and scans contain barriers.
        let waits = !matches!(op, CollectiveOp::Shuffle | CollectiveOp::Ballot);
        if !waits && self.accesses_changing_memory(body) {
            self.line("__syncthreads();");
        }
    }

    /// Whether a phase writes memory, or reads memory that other phases may write.
    fn accesses_changing_memory(&self, body: BlockId) -> bool {
        let kernel = self.kernel;
        let task = &kernel.tasks[self.task.index()];
        let changes =
            |tensor| task.accesses.iter().any(|at| at.param == tensor && (at.write || at.atomic));
        let changing = |value: ExprId| match kernel.exprs[value].kind {
            ExprKind::Load(ref element) => element.tensor().is_none_or(changes),
            ExprKind::Atomic { .. } => true,
            _ => false,
        };
        kernel.blocks[body].stmts.iter().any(|stmt| {
            matches!(stmt, Stmt::Store { .. })
                || stmt.exprs().any(changing)
                || stmt.blocks().any(|inner| self.accesses_changing_memory(inner))
        })
    }

    pub(super) fn collective_input(&mut self, value: ExprId, from: Option<ExprId>) {
        let Some((name, lane)) = self.blocks.collective_input.clone() else { return };
        let value = self.expr(value);
        self.line(&format!("{name} = {value};"));
        if let (Some(lane), Some(from)) = (lane, from) {
            let from = self.expr(from);
            self.line(&format!("{lane} = {from};"));
        }
    }
}
