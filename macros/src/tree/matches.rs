//! `match`, as the branches that it is: on a number or a bool that is evaluated once, arm after arm.

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::syntax::{
    BinaryOp, Block, Construct, Expr, ExprKind, LogicOp, Span as TreeSpan, Stmt, StmtKind, TypeIx,
    UnaryOp,
};
use quote::{ToTokens, quote};
use syn::{Pat, PatIdent, RangeLimits};

use super::{Tree, TypeEntry};
use crate::sites;

/// What is matched: its name and type in the tree.
struct Matched {
    name: String,
    ty: TypeIx,
    span: TreeSpan,
}

/// What an arm's pattern asks, and the name that it gives to what is matched.
struct Test {
    /// None where everything fits.
    cond: Option<Expr>,
    binding: Option<Ident>,
}

impl Tree {
    pub(super) fn match_expr(&mut self, each: &mut syn::ExprMatch) -> ExprKind {
        let span = self.spans.of(&*each.expr);
        let value = self.expr(&mut each.expr);
        // Shown in messages as what it stands for, as every name of this form is.
        let name = format!("__match{}", self.types.len());
        let site = sites::take(&mut each.attrs);
        let ty = self.passed(&mut each.expr);
        let matched = Matched { name: name.clone(), ty: self.typed_at(site, ty), span };
        let mut arms = Vec::with_capacity(each.arms.len());
        for arm in &mut each.arms {
            match self.arm(arm, &matched) {
                Some(arm) => arms.push(arm),
                None => return ExprKind::Unsupported(Construct::MatchPattern),
            }
        }
        // rustc has seen to it that the last arm takes what is left.
        let mut rest: Option<Block> = None;
        for (cond, body, span) in arms.into_iter().rev() {
            rest = Some(match (cond, rest) {
                (Some(cond), Some(otherwise)) => {
                    let kind = ExprKind::If {
                        cond: Box::new(cond),
                        then: body,
                        otherwise: Some(otherwise),
                    };
                    Block { stmts: Vec::new(), value: Some(Box::new(Expr { kind, span })) }
                }
                _ => body,
            });
        }
        let kind = StmtKind::Let { name, mutable: false, ty: matched.ty, value };
        let mut block = Block { stmts: vec![Stmt { kind, span }], value: None };
        if let Some(rest) = rest {
            block.value = Some(Box::new(Expr { kind: ExprKind::Block(rest), span }));
        }
        ExprKind::Block(block)
    }

    /// Lets a value pass through a probe of its type.
    pub(super) fn passed(&mut self, value: &mut syn::Expr) -> TypeIx {
        self.passed_as(value, false)
    }

    /// Lets a value pass through a probe of its type, whose pattern is given.
    pub(super) fn passed_by_pattern(
        &mut self,
        value: &mut syn::Expr,
        pattern: &TokenStream,
        linear: bool,
    ) -> TypeIx {
        let made = value.clone();
        let ty = self.passed_as(value, linear);
        let probe = Ident::new(&format!("probe{ty}"), Span::mixed_site());
        *value = syn::Expr::Verbatim(quote!(#probe.pass_constructed(#made, |#pattern| ())));
        ty
    }

    fn passed_as(&mut self, value: &mut syn::Expr, linear: bool) -> TypeIx {
        let probe = Ident::new(&format!("probe{}", self.types.len()), Span::mixed_site());
        let binding = Ident::new("value", crate::spans::first(value));
        *value = syn::Expr::Verbatim(quote!(#probe.pass(#value)));
        self.add_type(TypeEntry::Probe { probe, binding, linear })
    }

    /// An arm's condition and body; nothing where its pattern is not one of kernels.
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
        // With a guard, rustc tries the alternatives of an or-pattern one after the other, each with the guard.
        let patterns = if guard.is_some() { alternatives(pattern) } else { vec![pattern.clone()] };
        let tests = patterns.iter().map(|pattern| self.pattern(pattern, matched));
        let tests = tests.collect::<Option<Vec<_>>>()?;
        let binding = tests.first().and_then(|test| test.binding.clone());
        self.scopes.push(Vec::new());
        if let Some(binding) = &binding {
            self.bind(binding);
        }
        let guard = guard.map(|guard| self.expr(guard));
        let mut body = syn::Block {
            brace_token: syn::token::Brace::default(),
            stmts: vec![syn::Stmt::Expr((*arm.body).clone(), None)],
        };
        let tree = self.block(&mut body);
        *arm.body = syn::parse_quote!(#body);
        self.scopes.pop();

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
            let block = Block { stmts: Vec::new(), value: Some(Box::new(guard)) };
            Expr { kind: ExprKind::Block(bound(block)), span }
        });
        let fits = tests.into_iter().map(|test| match (test.cond, guard.clone()) {
            (Some(cond), Some(guard)) => Some(logic(LogicOp::And, cond, guard)),
            (cond, guard) => cond.or(guard),
        });
        // Without a guard there is one.
        let cond = fits.reduce(|any, fits| Some(logic(LogicOp::Or, any?, fits?))).flatten();
        Some((cond, bound(tree), span))
    }

    fn pattern(&mut self, pattern: &Pat, matched: &Matched) -> Option<Test> {
        let plain = |cond| Some(Test { cond, binding: None });
        match pattern {
            Pat::Wild(_) => plain(None),
            Pat::Paren(paren) => self.pattern(&paren.pat, matched),
            Pat::Lit(lit) => {
                let value = self.expr(&mut syn::Expr::Lit(lit.clone()));
                plain(Some(matched.compared(BinaryOp::Eq, value)))
            }
            Pat::Path(path) => {
                let value = self.expr(&mut syn::Expr::Path(path.clone()));
                plain(Some(matched.compared(BinaryOp::Eq, value)))
            }
            // Where a local has the name, rustc reads a new one.
            Pat::Ident(PatIdent { ident, .. }) if is_constant(ident) && self.is_local(ident) => {
                None
            }
            // A constant, by its name; rustc sees the pattern as it stands, and would say so if not.
            Pat::Ident(PatIdent {
                by_ref: None, mutability: None, subpat: None, ident, ..
            }) if is_constant(ident) => {
                let mut path = syn::parse_quote!(#ident);
                let value = self.expr(&mut path);
                plain(Some(matched.compared(BinaryOp::Eq, value)))
            }
            Pat::Ident(PatIdent { by_ref: None, mutability: None, subpat, ident, .. }) => {
                let cond = match subpat {
                    Some((_, inner)) => self.pattern(inner, matched)?.cond,
                    None => None,
                };
                Some(Test { cond, binding: Some(ident.clone()) })
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

/// Whether a name is written as constants are.
pub(crate) fn is_constant(name: &Ident) -> bool {
    let text = name.to_token_stream().to_string();
    text.chars().any(char::is_alphabetic) && !text.chars().any(char::is_lowercase)
}

/// The patterns that a pattern with alternatives stands for, in their order.
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
