//! Jumps to the label of a parallel loop, whose `for` the CPU body replaces.

use syn::{Block, Expr, Lifetime, visit_mut::VisitMut};

/// Makes each `continue` to one label continue another.
pub(super) fn redirect(body: &mut Block, from: &Lifetime, to: &Lifetime) {
    Redirect { from, to }.visit_block_mut(body);
}

struct Redirect<'a> {
    from: &'a Lifetime,
    to: &'a Lifetime,
}

impl VisitMut for Redirect<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let own = match expr {
            Expr::ForLoop(each) => each.label.as_ref(),
            Expr::While(each) => each.label.as_ref(),
            Expr::Loop(each) => each.label.as_ref(),
            _ => None,
        };
        // In this loop, the label means this loop.
        if own.is_some_and(|own| own.name.ident == self.from.ident) {
            return;
        }
        if let Expr::Continue(syn::ExprContinue { label: Some(label), .. }) = expr
            && label.ident == self.from.ident
        {
            *label = self.to.clone();
        }
        syn::visit_mut::visit_expr_mut(self, expr);
    }
}
