//! Labelled blocks, and closures that `return`: both end a block early.
//!
//! An exit under a condition becomes a branch: `'a: { if c { break 'a x; } y }` is `if c { x } else { y }`, which keeps
//! conditions in a form that proofs can use. Where the exits have another form, the block becomes a `loop` that runs
//! once.

use proc_macro2::Span;
use syn::{
    Expr, ExprBlock, ExprBreak, ExprIf, Lifetime, Stmt, token,
    visit::{self, Visit},
    visit_mut::{self, VisitMut},
};

use super::generated;
use crate::{
    ast::{each_expr, is_loop, own_label, unparenthesized},
    spans,
};

/// A labelled block without its label; `None` if a `break` or `continue` in it has no label, which rustc refuses.
pub(super) fn without_label(block: &ExprBlock) -> Option<Expr> {
    let label = block.label.as_ref()?;
    let stmts = &block.block.stmts;
    if jumps_without_label(stmts) {
        return None;
    }
    let exits = LabelBreaks { label: &label.name, values: count(stmts, &label.name, true) > 0 };
    Some(block_of(spans::first(block), exits.without(stmts.clone())?))
}

/// The body of a closure with the value of each `return` as its value; `None` if the body leaves the closure by a jump.
pub(super) fn without_return(body: &Expr) -> Option<Expr> {
    struct Returns<'a> {
        label: &'a Lifetime,
        found: bool,
    }
    impl VisitMut for Returns<'_> {
        fn visit_expr_mut(&mut self, expr: &mut Expr) {
            visit_mut::visit_expr_mut(self, expr);
            if let Expr::Return(leave) = expr {
                let (label, value) = (self.label, leave.expr.take());
                *expr = syn::parse_quote_spanned!(leave.return_token.span=> break #label #value);
                self.found = true;
            }
        }

        fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}

        fn visit_item_mut(&mut self, _: &mut syn::Item) {}
    }
    let at = generated(spans::first(body));
    let label = Lifetime::new("'__closure", at);
    let (mut returns, mut inner) = (Returns { label: &label, found: false }, body.clone());
    returns.visit_expr_mut(&mut inner);
    if !returns.found {
        return Some(inner);
    }
    let block: ExprBlock = match inner {
        Expr::Block(ExprBlock { label: None, block, .. }) => {
            syn::parse_quote_spanned!(at=> #label: #block)
        }
        other => syn::parse_quote_spanned!(at=> #label: { #other }),
    };
    without_label(&block)
}

/// The exits of a block: each `break` to its label.
struct LabelBreaks<'a> {
    label: &'a Lifetime,
    /// Whether they give values.
    values: bool,
}

impl LabelBreaks<'_> {
    /// Statements after which nothing of the block follows, without exits.
    fn without(&self, stmts: Vec<Stmt>) -> Option<Vec<Stmt>> {
        let Some(at) = stmts.iter().position(|stmt| self.contains(stmt)) else {
            return Some(stmts);
        };
        let mut before = stmts;
        let rest = before.split_off(at + 1);
        let stmt = before.pop()?;
        match self.last(&stmt, &rest)? {
            Some(last) => before.push(last),
            None => before.extend(self.run_once(stmt, rest)?),
        }
        Some(before)
    }

    /// A statement and those after it as one; `Some(None)` if the statement has another form, and `None` if its exits
    /// are not supported.
    fn last(&self, stmt: &Stmt, rest: &[Stmt]) -> Option<Option<Stmt>> {
        let Stmt::Expr(expr, _) = stmt else { return Some(None) };
        let at = spans::first(expr);
        let end = |value: Expr| Some(Some(Stmt::Expr(value, None)));
        match unparenthesized(expr) {
            Expr::Break(leave) if !self.contains_expr(leave.expr.as_deref()) => {
                let value = leave.expr.as_deref().cloned();
                // Code after it is never reached.
                end(value.unwrap_or_else(|| block_of(at, Vec::new())))
            }
            Expr::Block(block) if block.label.is_none() && rest.is_empty() => {
                end(block_of(at, self.without(block.block.stmts.clone())?))
            }
            Expr::If(branch) if !self.contains_expr(Some(&branch.cond)) => {
                let (then, otherwise) = (&branch.then_branch.stmts, otherwise(branch));
                let always = (self.always(then), self.always(&otherwise));
                if !rest.is_empty() && always == (false, false) {
                    return Some(None);
                }
                // The names of a branch must not hide those of the code after it.
                let with_rest = |branch: &[Stmt], is_empty: bool| match (rest.is_empty(), is_empty)
                {
                    (true, _) => branch.to_vec(),
                    (_, true) => rest.to_vec(),
                    _ => {
                        let block =
                            Stmt::Expr(block_of(at, branch.to_vec()), Some(token::Semi(at)));
                        [block].into_iter().chain(rest.iter().cloned()).collect()
                    }
                };
                let (then, otherwise) = match always {
                    (true, true) => (then.clone(), otherwise),
                    (true, false) => (then.clone(), with_rest(&otherwise, otherwise.is_empty())),
                    _ => (with_rest(then, then.is_empty()), otherwise),
                };
                let cond = &branch.cond;
                let (then, otherwise) = (self.without(then)?, self.without(otherwise)?);
                let at = generated(at);
                end(syn::parse_quote_spanned! {at=>
                    if #cond { #(#then)* } else { #(#otherwise)* }
                })
            }
            Expr::Match(each) if rest.is_empty() && !self.contains_expr(Some(&each.expr)) => {
                let mut each = each.clone();
                for arm in &mut each.arms {
                    let body =
                        std::mem::replace(&mut *arm.body, Expr::Verbatim(Default::default()));
                    let body = self.without(vec![Stmt::Expr(body, None)])?;
                    *arm.body = block_of(at, body);
                    arm.comma = Some(Default::default());
                }
                end(Expr::Match(each))
            }
            _ => Some(None),
        }
    }

    /// A loop that an exit leaves.
    fn run_once(&self, first: Stmt, rest: Vec<Stmt>) -> Option<Vec<Stmt>> {
        let at = generated(spans::first(&first));
        let label = self.label;
        let mut stmts: Vec<Stmt> = [first].into_iter().chain(rest).collect();
        let end: Stmt = match stmts.pop()? {
            Stmt::Expr(value, None) if self.values => {
                syn::parse_quote_spanned!(at=> break #label #value;)
            }
            // All ways through the block give a value before its end.
            _ if self.values => return None,
            last => {
                stmts.push(terminated(last));
                syn::parse_quote_spanned!(at=> break #label;)
            }
        };
        stmts.push(end);
        let value: Expr = syn::parse_quote_spanned!(at=> #label: loop { #(#stmts)* });
        let semi = (!self.values).then(Default::default);
        Some(vec![Stmt::Expr(value, semi)])
    }

    fn contains(&self, stmt: &Stmt) -> bool {
        count(std::slice::from_ref(stmt), self.label, false) > 0
    }

    fn contains_expr(&self, expr: Option<&Expr>) -> bool {
        expr.is_some_and(|expr| self.contains(&Stmt::Expr(expr.clone(), None)))
    }

    /// Whether statements always end the block.
    fn always(&self, stmts: &[Stmt]) -> bool {
        let Some(Stmt::Expr(last, _)) = stmts.last() else { return false };
        match unparenthesized(last) {
            Expr::Break(ExprBreak { label: Some(label), .. }) => label.ident == self.label.ident,
            Expr::Return(_) | Expr::Continue(_) | Expr::Break(_) => true,
            Expr::Block(block) if block.label.is_none() => self.always(&block.block.stmts),
            Expr::If(branch) => {
                self.always(&branch.then_branch.stmts) && self.always(&otherwise(branch))
            }
            _ => false,
        }
    }
}

/// Whether a `break` or `continue` outside of inner loops has no label.
fn jumps_without_label(stmts: &[Stmt]) -> bool {
    let mut found = false;
    each_expr(stmts, |expr| {
        found |= matches!(
            expr,
            Expr::Break(ExprBreak { label: None, .. })
                | Expr::Continue(syn::ExprContinue { label: None, .. })
        );
        !found && !is_loop(expr) && !matches!(expr, Expr::Closure(_))
    });
    found
}

/// A statement that gives no value.
fn terminated(stmt: Stmt) -> Stmt {
    match stmt {
        Stmt::Expr(value, None) => Stmt::Expr(value, Some(Default::default())),
        other => other,
    }
}

/// The statements of the `else` of a branch.
fn otherwise(branch: &ExprIf) -> Vec<Stmt> {
    match &branch.else_branch {
        None => Vec::new(),
        Some((_, otherwise)) => match &**otherwise {
            Expr::Block(ExprBlock { label: None, block, .. }) => block.stmts.clone(),
            other => vec![Stmt::Expr(other.clone(), None)],
        },
    }
}

fn block_of(at: Span, stmts: Vec<Stmt>) -> Expr {
    let block = syn::Block { brace_token: token::Brace(generated(at)), stmts };
    Expr::Block(ExprBlock { attrs: Vec::new(), label: None, block })
}

/// The number of jumps to a label, or of those with a value.
fn count(stmts: &[Stmt], label: &Lifetime, with_value: bool) -> usize {
    struct Breaks<'a> {
        label: &'a Lifetime,
        with_value: bool,
        count: usize,
    }
    impl Visit<'_> for Breaks<'_> {
        fn visit_expr(&mut self, expr: &Expr) {
            if let Expr::Break(ExprBreak { label: Some(to), expr: value, .. }) = expr
                && to.ident == self.label.ident
            {
                self.count += usize::from(value.is_some() || !self.with_value);
            }
            // A label of the same name in the block hides its label.
            if own_label(expr).is_none_or(|own| own.ident != self.label.ident) {
                visit::visit_expr(self, expr);
            }
        }

        fn visit_item(&mut self, _: &syn::Item) {}
    }
    let mut breaks = Breaks { label, with_value, count: 0 };
    stmts.iter().for_each(|stmt| breaks.visit_stmt(stmt));
    breaks.count
}
