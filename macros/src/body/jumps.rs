//! Jumps to the label of a parallel loop, whose `for` the CPU body replaces.

use syn::{Block, Expr, Lifetime, visit_mut::VisitMut};

use crate::ast::{Invocation, own_label};

/// Makes each `continue` to one label continue another.
pub(super) fn redirect(body: &mut Block, from: &Lifetime, to: &Lifetime) {
    JumpRedirect { from, to }.visit_block_mut(body);
}

struct JumpRedirect<'a> {
    from: &'a Lifetime,
    to: &'a Lifetime,
}

impl VisitMut for JumpRedirect<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        // In this loop, the label means this loop.
        if own_label(expr).is_some_and(|own| own.ident == self.from.ident) {
            return;
        }
        if let Expr::Continue(syn::ExprContinue { label: Some(label), .. }) = expr
            && label.ident == self.from.ident
        {
            *label = self.to.clone();
        }
        syn::visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }
}
