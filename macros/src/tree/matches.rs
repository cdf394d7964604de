//! `match` on a number or a bool, as branches: one per arm, in their order.

use proc_macro2::Ident;
use quadrants_frontend::syntax::{
    BinaryOp, Block, Construct, Expr, ExprKind, LogicOp, Span as TreeSpan, Stmt, StmtKind, TypeIx,
    UnaryOp,
};
use syn::{Pat, PatIdent, RangeLimits};

use super::{Tree, value_block};
use crate::{ast::is_constant, sites};

/// The matched value: its name and type in the tree.
struct Matched {
    name: String,
    ty: TypeIx,
    span: TreeSpan,
}

/// The condition of a pattern, and the name that it binds to the matched value.
struct Test {
    /// `None` if every value matches.
    cond: Option<Expr>,
    binding: Option<Ident>,
}

impl Tree {
    pub(super) fn match_expr(&mut self, each: &mut syn::ExprMatch) -> ExprKind {
        let span = self.spans.of(&*each.expr);
        let value = self.expr(&mut each.expr);
        // Messages show names of this form as the value that they are bound to.
        let name = format!("__match{}", self.types.len());
        let site = sites::take(&mut each.attrs);
        let ty = self.pass(&mut each.expr);
        let matched = Matched { name: name.clone(), ty: self.put_site(site, ty), span };
        let mut arms = Vec::with_capacity(each.arms.len());
        for arm in &mut each.arms {
            match self.arm(arm, &matched) {
                Some(arm) => arms.push(arm),
                None => return ExprKind::Unsupported(Construct::MatchPattern),
            }
        }
        // rustc checks that the arms are exhaustive: the last one needs no condition.
        let mut rest: Option<Block> = None;
        for (cond, body, span) in arms.into_iter().rev() {
            rest = Some(match (cond, rest) {
                (Some(cond), Some(otherwise)) => {
                    let (cond, otherwise) = (Box::new(cond), Some(otherwise));
                    value_block(Expr { kind: ExprKind::If { cond, then: body, otherwise }, span })
                }
                _ => body,
            });
        }
        let kind = StmtKind::Let { name, mutable: false, ty: matched.ty, value };
        let value = rest.map(|rest| Box::new(Expr { kind: ExprKind::Block(rest), span }));
        ExprKind::Block(Block { stmts: vec![Stmt { kind, span }], value })
    }

    /// An arm's condition and body; `None` if kernels do not have its pattern.
    fn arm(
        &mut self,
        arm: &mut syn::Arm,
        matched: &Matched,
    ) -> Option<(Option<Expr>, Block, TreeSpan)> {
        let span = self.spans.of(&arm.pat);
        let (pattern, guard) = match &mut arm.pat {
            Pat::Guard(guarded) => (&*guarded.pat, Some(&mut *guarded.guard)),
            pattern => (&*pattern, None),
        };
        // rustc evaluates the guard for each alternative of an or-pattern, in their order.
        let patterns = if guard.is_some() { alternatives(pattern) } else { vec![pattern.clone()] };
        let tests = patterns.iter().map(|pattern| self.pattern(pattern, matched));
        let tests = tests.collect::<Option<Vec<_>>>()?;
        let binding = tests.first().and_then(|test| test.binding.clone());
        if tests.iter().any(|test| test.binding != binding) {
            return None;
        }
        let (guard, tree) = self.scoped(binding.as_ref(), |this| {
            (guard.map(|guard| this.expr(guard)), this.expr_as_block(&mut arm.body))
        });

        let bound = |value: Block| match &binding {
            Some(binding) => {
                let mut stmts = vec![Stmt { kind: matched.bound_to(binding), span }];
                stmts.extend(value.stmts);
                Block { stmts, value: value.value }
            }
            None => value,
        };
        let guard = guard.map(|guard| {
            let span = guard.span;
            Expr { kind: ExprKind::Block(bound(value_block(guard))), span }
        });
        let conditions = tests.into_iter().map(|test| match (test.cond, guard.clone()) {
            (Some(cond), Some(guard)) => Some(logic(LogicOp::And, cond, guard)),
            (cond, guard) => cond.or(guard),
        });
        // Without a guard there is only one.
        let cond = conditions.reduce(|any, cond| Some(logic(LogicOp::Or, any?, cond?))).flatten();
        Some((cond, bound(tree), span))
    }

    fn equal(&mut self, mut value: syn::Expr, matched: &Matched) -> Option<Test> {
        let cond = matched.compared(BinaryOp::Eq, self.expr(&mut value));
        Some(Test { cond: Some(cond), binding: None })
    }

    fn pattern(&mut self, pattern: &Pat, matched: &Matched) -> Option<Test> {
        let plain = |cond| Some(Test { cond, binding: None });
        match pattern {
            Pat::Wild(_) => plain(None),
            Pat::Paren(paren) => self.pattern(&paren.pat, matched),
            Pat::Lit(lit) => self.equal(syn::Expr::Lit(lit.clone()), matched),
            Pat::Path(path) => self.equal(syn::Expr::Path(path.clone()), matched),
            // rustc reads the name of a local as a new binding.
            Pat::Ident(PatIdent { ident, .. }) if is_constant(ident) && self.is_local(ident) => {
                None
            }
            // A constant. If none has the name, rustc reports it in the probed copy.
            Pat::Ident(PatIdent {
                by_ref: None, mutability: None, subpat: None, ident, ..
            }) if is_constant(ident) => self.equal(syn::parse_quote!(#ident), matched),
            Pat::Ident(PatIdent { by_ref: None, mutability: None, subpat, ident, .. }) => {
                let inner = match subpat {
                    Some((_, inner)) => self.pattern(inner, matched)?,
                    None => Test { cond: None, binding: None },
                };
                // An arm has one name: a second one would be a binding, or a constant, of which the IR knows nothing.
                let is_only = inner.binding.is_none();
                is_only.then(|| Test { cond: inner.cond, binding: Some(ident.clone()) })
            }
            Pat::Range(range) => {
                let from = range.start.as_ref().map(|at| self.expr(&mut at.clone()));
                let to = range.end.as_ref().map(|at| self.expr(&mut at.clone()));
                let below = match range.limits {
                    RangeLimits::HalfOpen(_) => BinaryOp::Lt,
                    RangeLimits::Closed(_) => BinaryOp::Le,
                };
                let from = from.map(|from| matched.compared(BinaryOp::Ge, from));
                let to = to.map(|to| matched.compared(below, to));
                plain(match (from, to) {
                    (Some(from), Some(to)) => Some(logic(LogicOp::And, from, to)),
                    (from, to) => from.or(to),
                })
            }
            Pat::Or(or) => {
                let mut any: Option<Expr> = None;
                for case in &or.cases {
                    let test = self.pattern(case, matched)?;
                    if test.binding.is_some() {
                        return None;
                    }
                    let Some(cond) = test.cond else { return plain(None) };
                    any = Some(match any {
                        Some(any) => logic(LogicOp::Or, any, cond),
                        None => cond,
                    });
                }
                plain(any)
            }
            _ => None,
        }
    }
}

impl Matched {
    fn value(&self) -> Expr {
        Expr { kind: ExprKind::Name(self.name.clone()), span: self.span }
    }

    fn compared(&self, op: BinaryOp, with: Expr) -> Expr {
        let span = with.span;
        let is_true = matches!(&with.kind, ExprKind::Literal { text, .. } if text == "true");
        let is_false = matches!(&with.kind, ExprKind::Literal { text, .. } if text == "false");
        let kind = if is_true {
            return self.value();
        } else if is_false {
            ExprKind::Unary { op: UnaryOp::Not, value: Box::new(self.value()) }
        } else {
            ExprKind::Binary { op, lhs: Box::new(self.value()), rhs: Box::new(with) }
        };
        Expr { kind, span }
    }

    fn bound_to(&self, name: &Ident) -> StmtKind {
        StmtKind::Let { name: name.to_string(), mutable: false, ty: self.ty, value: self.value() }
    }
}

fn logic(op: LogicOp, lhs: Expr, rhs: Expr) -> Expr {
    let span = lhs.span;
    Expr { kind: ExprKind::Logic { op, lhs: Box::new(lhs), rhs: Box::new(rhs) }, span }
}

fn alternatives(pattern: &Pat) -> Vec<Pat> {
    match pattern {
        Pat::Or(or) => or.cases.iter().flat_map(alternatives).collect(),
        Pat::Paren(paren) => alternatives(&paren.pat),
        Pat::Ident(named @ PatIdent { subpat: Some((at, inner)), .. }) => {
            let all = alternatives(inner).into_iter().map(|inner| {
                Pat::Ident(PatIdent { subpat: Some((*at, Box::new(inner))), ..named.clone() })
            });
            all.collect()
        }
        other => vec![other.clone()],
    }
}
