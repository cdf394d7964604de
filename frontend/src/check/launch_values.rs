//! Which integers the host can evaluate before a launch: the extents of shared arrays must be such.

use super::{Binding, Checker, ScopeKind};
use crate::{
    language_rule::LanguageRule,
    syntax::{BinaryOp, Block, Expr, ExprKind, LiteralKind, Stmt, StmtKind},
    visit::{Node, any_in_expr},
};

impl<'a> Checker<'a> {
    /// Whether the statement only binds scalars without effects, so that each block can evaluate it again.
    pub(super) fn is_pure_let(&self, stmt: &'a Stmt) -> bool {
        match &stmt.kind {
            StmtKind::LetShape { .. } | StmtKind::LetExtents { .. } => true,
            StmtKind::Let { value, .. } | StmtKind::LetPattern { value, .. } => self.is_pure(value),
            _ => false,
        }
    }

    /// Whether a statement does nothing but return from the kernel, under conditions.
    pub(super) fn is_pure_return(&self, stmt: &'a Stmt) -> bool {
        let StmtKind::Expr(expr) = &stmt.kind else { return false };
        let is_other = |node: Node<'_>| {
            matches!(node, Node::Stmt(stmt) if !matches!(
                stmt.kind,
                StmtKind::Return { .. } | StmtKind::Expr(_) | StmtKind::Let { .. }
            ))
        };
        let returns =
            |node: Node<'_>| matches!(node, Node::Stmt(Stmt { kind: StmtKind::Return { .. }, .. }));
        matches!(expr.kind, ExprKind::If { .. })
            && self.is_pure(expr)
            && !any_in_expr(expr, &mut |node| is_other(node))
            && any_in_expr(expr, &mut |node| returns(node))
    }

    /// Whether evaluating an expression reads no element and has no effect.
    fn is_pure(&self, value: &'a Expr) -> bool {
        !any_in_expr(value, &mut |node| match node {
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Index { base, .. } => {
                    matches!(self.lookup(base), Some(Binding::Tensor { .. }))
                }
                ExprKind::Call { args, .. } => {
                    args.iter().any(|arg| self.tensor_name(arg).is_some())
                }
                ExprKind::Atomic { .. } => true,
                _ => false,
            },
            Node::Stmt(stmt) => {
                matches!(stmt.kind, StmtKind::Assert { .. } | StmtKind::Print { .. })
            }
        })
    }

    /// Marks the newest binding of a name as known before a launch, or as not known.
    pub(super) fn set_known(&mut self, name: &str, known: bool) {
        let Some(at) = self.position(name) else { return };
        self.known.resize(self.known.len().max(at + 1), false);
        self.known[at] = known && self.is_top_level();
    }

    /// Whether the code is outside loops and branches.
    fn is_top_level(&self) -> bool {
        self.scopes.iter().all(|scope| *scope == ScopeKind::StreamParallel)
    }

    fn is_known(&self, name: &str) -> bool {
        self.position(name).is_some_and(|at| self.known.get(at) == Some(&true))
    }

    pub(super) fn constant(&mut self, expr: &'a Expr, what: &'static str) {
        if !is_number(expr) {
            self.reject(expr.span, LanguageRule::NotConstant(what));
        }
    }

    /// Checks the extent of a shared array.
    pub(super) fn shared_extent(&mut self, extent: &'a Expr) {
        let before = self.violations.len();
        self.expr(extent);
        if self.violations.len() == before && !self.is_launch_value(extent) {
            self.reject(extent.span, LanguageRule::SharedExtent);
        }
    }

    /// Whether the host can evaluate an integer before a launch.
    pub(super) fn is_launch_value(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Literal { kind, .. } => *kind == LiteralKind::Int,
            ExprKind::Const(_) => true,
            ExprKind::Name(name) => self.is_known(name),
            ExprKind::Len { base } | ExprKind::Extent { base, .. } => match self.lookup(base) {
                Some(Binding::Tensor { .. }) => true,
                Some(Binding::Shape) => self.is_known(base),
                _ => false,
            },
            ExprKind::Index { base, .. } => {
                matches!(self.lookup(base), Some(Binding::Shape)) && self.is_known(base)
            }
            ExprKind::Field { value, .. } | ExprKind::Cast { value, .. } => {
                self.is_launch_value(value)
            }
            ExprKind::Binary { op, lhs, rhs } => {
                // A division by a number that may be zero is an error that only the device reports.
                let is_division = matches!(op, BinaryOp::Div | BinaryOp::Rem);
                !op.is_comparison()
                    && self.is_launch_value(lhs)
                    && if is_division { is_number(rhs) } else { self.is_launch_value(rhs) }
            }
            ExprKind::Method { receiver, name, args, .. } => {
                let args = match (name.as_str(), &args[..]) {
                    ("min" | "max" | "saturating_sub", [arg]) => self.is_launch_value(arg),
                    ("div_ceil" | "next_multiple_of", [arg]) => is_number(arg),
                    _ => false,
                };
                args && self.is_launch_value(receiver)
            }
            // The macro gives a receiver its type by a name: `{ let typed = value; typed }`.
            ExprKind::Block(Block { stmts, value: Some(result), .. }) => {
                match (&stmts[..], &result.kind) {
                    (
                        [
                            Stmt {
                                kind: StmtKind::Let { name, mutable: false, value, .. }, ..
                            },
                        ],
                        ExprKind::Name(read),
                    ) => read == name && self.is_launch_value(value),
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

/// Whether an expression is a compile-time constant.
fn is_number(expr: &Expr) -> bool {
    let other = |node: Node<'_>| match node {
        Node::Expr(expr) => match expr.kind {
            ExprKind::Literal { .. } | ExprKind::Const(_) => false,
            ExprKind::Binary { op, .. } => {
                !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div)
            }
            _ => true,
        },
        Node::Stmt(_) => true,
    };
    !any_in_expr(expr, &mut { other })
}
