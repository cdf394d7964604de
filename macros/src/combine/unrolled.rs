//! Loops over the parts of a local that a parallel loop combines into: `for d in 0..3 { sums[d] += x[[i, d]]; }` is
//! written out, so that each part has a constant index.

use proc_macro2::{Ident, Span};
use quote::quote_spanned;
use syn::{
    Expr, ExprForLoop, Lit, Pat, PatIdent, RangeLimits, Stmt,
    visit::{self, Visit},
    visit_mut::{self, VisitMut},
};

use super::name;
use crate::{
    ast::{Invocation, jumps, place_root, unparenthesized},
    spans,
    tokens::possible_locals,
};

/// The most iterations that are written out, of all loops together.
const MAX_UNROLLED_ITERATIONS: u64 = 64;

/// The body of a parallel loop with its serial loops of constant length written out, where these choose parts of
/// `local`. `None` if there are none, or too many iterations.
pub(super) fn unrolled(body: &syn::Block, local: &Ident) -> Option<syn::Block> {
    let mut body = body.clone();
    let mut unroll = Unroll { local, written: 0 };
    unroll.visit_block_mut(&mut body);
    (1..=MAX_UNROLLED_ITERATIONS).contains(&unroll.written).then_some(body)
}

struct Unroll<'a> {
    local: &'a Ident,
    /// The iterations that are written out so far; of loops in loops, the innermost ones.
    written: u64,
}

impl VisitMut for Unroll<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let before = self.written;
        visit_mut::visit_expr_mut(self, expr);
        let Expr::ForLoop(each) = expr else { return };
        let Some((variable, first, last)) = constant_loop(each) else { return };
        if !chooses_part(&each.body, self.local, variable) {
            return;
        }
        let inner = (self.written - before).max(1);
        self.written = before.saturating_add(inner.saturating_mul(last - first));
        if self.written > MAX_UNROLLED_ITERATIONS {
            return;
        }
        let at = Span::mixed_site().located_at(spans::first(each));
        let pattern = &each.pat;
        // Parts have constant indices if the variable alone is an index, so it is a `usize`.
        let typed = |number: u64| syn::LitInt::new(&format!("{number}usize"), at);
        let iterations = (first..last).map(|number| {
            let (number, typed) = (syn::LitInt::new(&number.to_string(), at), typed(number));
            let mut body = each.body.clone();
            IndexSubstitution { local: self.local, variable, number: &number }
                .visit_block_mut(&mut body);
            let stmts = &body.stmts;
            quote_spanned!(at=> { #[allow(unused_variables)] let #pattern = #typed; #(#stmts)* })
        });
        let iterations: Vec<_> = iterations.collect();
        if let Ok(block) = syn::parse2(quote_spanned!(at=> { #(#iterations)* })) {
            *expr = Expr::Block(block);
        }
    }

    fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}

/// The variable and the bounds of a loop over literals that has no jumps.
fn constant_loop(each: &ExprForLoop) -> Option<(&Ident, u64, u64)> {
    let number = |expr: &Expr| match unparenthesized(expr) {
        Expr::Lit(syn::ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse::<u64>().ok(),
        _ => None,
    };
    let Pat::Ident(PatIdent { by_ref: None, mutability: None, subpat: None, ident, .. }) =
        &*each.pat
    else {
        return None;
    };
    let Expr::Range(range) = unparenthesized(&each.expr) else { return None };
    let (first, end) = (number(range.start.as_deref()?)?, number(range.end.as_deref()?)?);
    let last = match range.limits {
        RangeLimits::HalfOpen(_) => end,
        RangeLimits::Closed(_) => end.checked_add(1)?,
    };
    let is_plain = each.label.is_none() && each.attrs.is_empty() && first < last;
    (is_plain && !each.body.stmts.iter().any(jumps) && !binds(&each.body, ident))
        .then_some((ident, first, last))
}

fn binds(body: &syn::Block, name: &Ident) -> bool {
    struct BindingSearch<'a>(&'a Ident, bool);
    impl Visit<'_> for BindingSearch<'_> {
        fn visit_pat_ident(&mut self, pattern: &PatIdent) {
            self.1 |= pattern.ident == *self.0;
            visit::visit_pat_ident(self, pattern);
        }
        fn visit_stmt(&mut self, stmt: &Stmt) {
            self.1 |= matches!(stmt, Stmt::Item(_));
            visit::visit_stmt(self, stmt);
        }
    }
    let mut search = BindingSearch(name, false);
    search.visit_block(body);
    search.1
}

/// Whether an index into `local` uses a variable.
fn chooses_part(body: &syn::Block, local: &Ident, variable: &Ident) -> bool {
    struct UnrolledCollector<'a> {
        local: &'a Ident,
        variable: &'a Ident,
        found: bool,
    }
    impl VisitMut for UnrolledCollector<'_> {
        fn visit_expr_index_mut(&mut self, index: &mut syn::ExprIndex) {
            self.found |= is_part(&index.expr, self.local)
                && possible_locals(&index.index).contains(self.variable);
            visit_mut::visit_expr_index_mut(self, index);
        }

        fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
            Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
        }
    }
    let mut found = UnrolledCollector { local, variable, found: false };
    found.visit_block_mut(&mut body.clone());
    found.found
}

fn is_part(place: &Expr, local: &Ident) -> bool {
    place_root(place).is_some_and(|root| root.path.is_ident(local))
}

/// Replaces a variable by a number in the indices of a local.
struct IndexSubstitution<'a> {
    local: &'a Ident,
    variable: &'a Ident,
    number: &'a syn::LitInt,
}

impl VisitMut for IndexSubstitution<'_> {
    fn visit_expr_index_mut(&mut self, index: &mut syn::ExprIndex) {
        visit_mut::visit_expr_index_mut(self, index);
        if is_part(&index.expr, self.local) {
            VariableSubstitution(self).visit_expr_mut(&mut index.index);
        }
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }
}

struct VariableSubstitution<'a>(&'a IndexSubstitution<'a>);

impl VisitMut for VariableSubstitution<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if name(expr) == Some(self.0.variable) {
            let number = self.0.number;
            *expr = syn::parse_quote!(#number);
        }
        visit_mut::visit_expr_mut(self, expr);
    }
}
