//! Whether evaluating code again, or in more iterations, has an observable effect.

use proc_macro2::Ident;
use syn::{
    Expr,
    visit::{self, Visit},
};

use crate::ast::{is_assignment, keeps_receiver, place_root, unparenthesized};

/// Finds out whether code can have an effect other than assignments to `locals`: it assigns to something else, borrows
/// mutably, calls a macro, loops, jumps, or passes on one of the `writable` parameters.
pub(super) struct EffectFinder<'a> {
    locals: &'a [&'a Ident],
    writable: &'a [Ident],
    found: bool,
}

impl<'a> EffectFinder<'a> {
    pub(super) fn of(
        locals: &'a [&'a Ident],
        writable: &'a [Ident],
        visit: impl FnOnce(&mut Self),
    ) -> bool {
        let mut effects = Self { locals, writable, found: false };
        visit(&mut effects);
        effects.found
    }

    fn assign(&mut self, to: &Expr) {
        let root = place_root(to).and_then(|root| root.path.get_ident());
        self.found |= root.is_none_or(|root| !self.locals.contains(&root));
    }

    fn pass(&mut self, value: &Expr) {
        let root = place_root(value).and_then(|root| root.path.get_ident());
        self.found |= root.is_some_and(|root| self.writable.contains(root));
    }
}

impl Visit<'_> for EffectFinder<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Break(_)
            | Expr::Continue(_)
            | Expr::Return(_)
            | Expr::Unsafe(_)
            | Expr::ForLoop(_)
            | Expr::While(_)
            | Expr::Loop(_)
            | Expr::Closure(_)
            | Expr::Reference(syn::ExprReference { mutability: Some(_), .. }) => self.found = true,
            Expr::Assign(assign) => self.assign(&assign.left),
            Expr::Binary(binary) if is_assignment(&binary.op) => self.assign(&binary.left),
            // An index is a value, but a whole tensor may be written.
            Expr::Call(call) => {
                let whole = |arg: &&Expr| !matches!(unparenthesized(arg), Expr::Index(_));
                call.args.iter().filter(whole).for_each(|arg| self.pass(arg));
            }
            // A method may change its receiver in place, unless it has the name of a built-in one.
            Expr::MethodCall(call) => {
                call.args.iter().for_each(|arg| self.pass(arg));
                if !keeps_receiver(&call.method.to_string()) {
                    self.pass(&call.receiver);
                }
            }
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_macro(&mut self, _: &syn::Macro) {
        self.found = true;
    }
}
