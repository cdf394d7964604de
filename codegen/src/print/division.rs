//! Integer divisions. A remainder whose quotient is known becomes `a - (a / n) * n`, and a divisor that is the same in
//! all iterations is compared with zero once.

use std::collections::{HashMap, HashSet};

use quadrants_ir::{DivRemOp, ExprId, ExprKind, LocalId, ScalarType, SiteId, Stmt};

use super::{consts, expr::Precedence, helpers::Helper, task::TaskPrinter};

/// What the statements before the current one, in this and the enclosing blocks, have divided.
#[derive(Clone, Default)]
pub(super) struct Divisions {
    /// The divisors that were compared with zero.
    checked: HashSet<ExprId>,
    /// The locals with the quotients of these operands.
    quotients: HashMap<(ExprId, ExprId), LocalId>,
}

impl TaskPrinter<'_> {
    /// The quotient or remainder, and the condition that the divisor is zero.
    pub(super) fn div_rem(
        &mut self,
        op: DivRemOp,
        lhs: ExprId,
        rhs: ExprId,
    ) -> (String, Option<String>) {
        let kernel = self.kernel;
        let ty = kernel.exprs[rhs].ty;
        let constant = match &kernel.exprs[rhs].kind {
            ExprKind::Const(divisor) => divisor.as_int(),
            _ => None,
        };
        if let Some(divisor) = constant.filter(|divisor| !matches!(divisor, 0 | -1)) {
            let sign = if op == DivRemOp::Div { "/" } else { "%" };
            let dividend = self.value(lhs).at(Precedence::Multiplicative);
            return (format!("{dividend} {sign} {}", consts::int(ty, divisor)), None);
        }
        let is_zero = |divisor: &str| format!("{divisor} == {}", consts::zero(ty));
        if op == DivRemOp::Rem
            && let Some(quotient) = self.divisions.quotients.get(&(lhs, rhs)).copied()
        {
            let [dividend, divisor] =
                [(lhs, "dividend"), (rhs, "divisor")].map(|(value, name)| self.atom(value, name));
            let (quotient, zero) = (self.local(quotient), is_zero(&divisor));
            let none = consts::zero(ty);
            let value = format!("{zero} ? {none} : {dividend} - {quotient} * {divisor}");
            return (value, Some(zero));
        }
        let dividend = self.expr(lhs);
        let divisor = self.atom(rhs, "divisor");
        let helper = self.helper(match op {
            DivRemOp::Div => Helper::Div(ty),
            DivRemOp::Rem => Helper::Rem(ty),
        });
        let zero = (constant != Some(-1)).then(|| is_zero(&divisor));
        (format!("{helper}({dividend}, {divisor})"), zero)
    }

    /// Reports a divisor that is zero, unless an earlier statement has.
    pub(super) fn report_zero(&mut self, divisor: ExprId, zero: Option<String>, site: SiteId) {
        let Some(zero) = zero else { return };
        if self.is_uniform(divisor) && !self.divisions.checked.insert(divisor) {
            return;
        }
        let report = self.report(site, &[]);
        self.line(&format!("if ({zero}) {report}"));
    }

    /// Records what the local of a division's statement is.
    pub(super) fn record_quotient(
        &mut self,
        local: LocalId,
        op: DivRemOp,
        lhs: ExprId,
        rhs: ExprId,
    ) {
        let kernel = self.kernel;
        let ty = kernel.exprs[rhs].ty;
        if op == DivRemOp::Div
            && matches!(ty, ScalarType::U32 | ScalarType::U64)
            && !kernel.locals[local].mutable
            && !matches!(kernel.exprs[rhs].kind, ExprKind::Const(_))
            && [lhs, rhs].into_iter().all(|value| kernel.is_invariant(value))
        {
            self.divisions.quotients.insert((lhs, rhs), local);
        }
    }

    /// Whether a value is the same in all iterations of the task: arguments, and what the prelude computes of them.
    fn is_uniform(&self, value: ExprId) -> bool {
        let kernel = self.kernel;
        match &kernel.exprs[value].kind {
            ExprKind::Local(local) => {
                let prelude = &kernel.blocks[kernel.tasks[self.task.index()].prelude].stmts;
                let defines =
                    |stmt: &Stmt| matches!(stmt, Stmt::Let { local: own, .. } if own == local);
                !kernel.locals[*local].mutable && prelude.iter().any(defines)
            }
            kind => !kind.is_effect() && kind.operands().all(|value| self.is_uniform(value)),
        }
    }
}
