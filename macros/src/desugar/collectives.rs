//! Collectives in expressions: `x = b.reduce_max(|t| …) / n;` becomes `let r = b.reduce_max(|t| …); x = r / n;`.

use proc_macro2::Ident;
use quadrants_frontend::syntax::collective_named;
use syn::{BinOp, Expr, ExprIf, ExprWhile, Stmt};

use super::generated;
use crate::{
    ast::{collective_of, is_assignment, keeps_receiver, pattern_ident, unparenthesized},
    spans,
};

/// Binds the results of the collectives in a list of statements before the statements that use them.
pub(super) fn bind(stmts: &mut Vec<Stmt>) {
    let mut all = Vec::with_capacity(stmts.len());
    for mut stmt in std::mem::take(stmts) {
        let mut hoisted = HoistedCollectives::default();
        match &mut stmt {
            Stmt::Local(local) => {
                let is_plain = pattern_ident(&local.pat).is_some_and(|of| of.mutability.is_none());
                if let Some(init) = &mut local.init
                    && !(is_plain && is_collective(unparenthesized(&init.expr)))
                {
                    hoisted.expr(&mut init.expr);
                }
            }
            Stmt::Expr(Expr::While(each), _) => {
                hoisted.expr(&mut each.cond);
                if !hoisted.lets.is_empty() {
                    let each = as_loop(each, &std::mem::take(&mut hoisted.lets));
                    stmt = Stmt::Expr(each, None);
                }
            }
            Stmt::Expr(value, _) => hoisted.expr(value),
            _ => {}
        }
        all.extend(hoisted.lets);
        all.push(stmt);
    }
    *stmts = all;
}

/// Puts an `else if` whose condition uses results into a block, in which they can be bound.
fn separate(branch: &mut ExprIf) {
    let Some((_, otherwise)) = &mut branch.else_branch else { return };
    let Expr::If(inner) = &mut **otherwise else { return };
    separate(inner);
    let mut hoisted = HoistedCollectives::default();
    hoisted.expr(&mut inner.cond.clone());
    if !hoisted.lets.is_empty() {
        let at = generated(spans::first(&**otherwise));
        **otherwise = syn::parse_quote_spanned!(at=> { #otherwise });
    }
}

/// A `while` whose condition uses results as a `loop`.
fn as_loop(each: &ExprWhile, lets: &[Stmt]) -> Expr {
    let at = generated(spans::first(each));
    let (label, cond, body) = (&each.label, &each.cond, &each.body.stmts);
    syn::parse_quote_spanned! {at=>
        #label loop {
            #(#lets)*
            if !(#cond) { break; }
            #(#body)*
        }
    }
}

/// Whether an expression is a collective with one result for all threads.
fn is_collective(expr: &Expr) -> bool {
    match expr {
        Expr::MethodCall(call) => {
            let of = collective_named(&call.method.to_string());
            collective_of(call).is_some() && of.is_some_and(|(op, _)| op.is_uniform())
        }
        _ => false,
    }
}

/// The results that an expression uses. Only those that are evaluated in any case, and before which nothing is
/// evaluated that a collective could change.
#[derive(Default)]
struct HoistedCollectives {
    lets: Vec<Stmt>,
    is_over: bool,
}

impl HoistedCollectives {
    fn expr(&mut self, expr: &mut Expr) {
        if self.is_over {
            return;
        }
        if is_collective(expr) {
            let start = spans::first(expr);
            let name = Ident::new(&format!("__collective{}", self.lets.len()), generated(start));
            let call = std::mem::replace(expr, syn::parse_quote!(#name));
            let at = generated(start);
            self.lets.push(syn::parse_quote_spanned!(at=> let #name = #call;));
            return;
        }
        match expr {
            Expr::Paren(of) => self.expr(&mut of.expr),
            Expr::Group(of) => self.expr(&mut of.expr),
            Expr::Unary(of) => self.expr(&mut of.expr),
            Expr::Cast(of) => self.expr(&mut of.expr),
            Expr::Field(of) => self.expr(&mut of.base),
            Expr::Binary(of) if matches!(of.op, BinOp::And(_) | BinOp::Or(_)) => {
                self.expr(&mut of.left);
                self.is_over = true;
            }
            // The target is evaluated after the value.
            Expr::Binary(of) if is_assignment(&of.op) => self.expr(&mut of.right),
            Expr::Binary(of) => {
                self.expr(&mut of.left);
                self.expr(&mut of.right);
            }
            Expr::Assign(of) => self.expr(&mut of.right),
            Expr::MethodCall(of) => {
                self.expr(&mut of.receiver);
                of.args.iter_mut().for_each(|arg| self.expr(arg));
                self.is_over |= !keeps_receiver(&of.method.to_string());
            }
            Expr::Tuple(of) => of.elems.iter_mut().for_each(|part| self.expr(part)),
            Expr::Array(of) => of.elems.iter_mut().for_each(|part| self.expr(part)),
            Expr::If(of) => {
                separate(of);
                self.expr(&mut of.cond);
                self.is_over = true;
            }
            Expr::Match(of) => {
                self.expr(&mut of.expr);
                self.is_over = true;
            }
            Expr::Call(of) => {
                of.args.iter_mut().for_each(|arg| self.expr(arg));
                self.is_over = true;
            }
            Expr::Path(_) | Expr::Lit(_) => {}
            _ => self.is_over = true,
        }
    }
}
