//! Divisions in a CPU body: one by zero is an error of the launch, and a quotient that does not fit wraps, as it
//! does on devices.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{BinOp, Expr, Ident};

use crate::{
    body::{Rewrite, internal, unparenthesized},
    spans,
};

impl Rewrite<'_> {
    /// `a / b` and its like, where `b` may be zero, or -1 and the quotient not fit.
    pub(crate) fn divided(&self, binary: &mut syn::ExprBinary) -> Option<Expr> {
        if !is_division(&binary.op) || is_number(&binary.right) {
            return None;
        }
        let start = spans::first(&binary.left);
        let support = spans::at(self.support, start);
        let syn::ExprBinary { left, op, right, .. } = binary;
        // As an argument it needs no parentheses, and rustc would say so.
        let (left, by) = (unparenthesized(left), unparenthesized(right));
        let dividend = internal("dividend");
        let compound = matches!(op, BinOp::DivAssign(_) | BinOp::RemAssign(_));
        if is_small(left) {
            // Not the most negative number of any type, so that every quotient fits.
            **right = Expr::Verbatim(quote_spanned!(start=> #support::divisor(#by)));
            return None;
        }
        if compound && is_path(left) && matches!(by, Expr::Path(_) | Expr::Lit(_)) {
            let divisor = quote_spanned!(start=> #support::divisor_of(&#left, #by));
            **right = Expr::Verbatim(divisor);
            return None;
        }
        Some(Expr::Verbatim(if compound {
            let value = internal("value");
            // Rust evaluates the right side first.
            quote_spanned! {start=> {
                let #value = #by;
                let #dividend = &mut #left;
                *#dividend #op #support::divisor_of(&*#dividend, #value);
            }}
        } else {
            quote_spanned! {start=> #support::identity({
                let #dividend = #left;
                #dividend #op #support::divisor_of(&#dividend, #by)
            })}
        }))
    }

    /// The step of `range.step_by(step)`.
    pub(crate) fn divided_step(&self, call: &mut syn::ExprMethodCall) {
        let is_step = call.method == "step_by";
        if let Some(by) = call.args.first_mut().filter(|by| is_step && !is_number(by)) {
            let start = spans::first(by);
            let support = spans::at(self.support, start);
            *by = Expr::Verbatim(quote_spanned!(start=> #support::divisor(#by)));
        }
    }

    /// What changes `value` as a compound operation does that has its right side in `by`.
    pub(crate) fn changed(
        &self,
        binary: &syn::ExprBinary,
        value: &Ident,
        by: &Ident,
    ) -> TokenStream {
        let (start, op) = (spans::first(&binary.left), &binary.op);
        if is_division(op) && !is_number(&binary.right) {
            let support = spans::at(self.support, start);
            quote_spanned!(start=> #value #op #support::divisor_of(&#value, #by);)
        } else {
            quote!(#value #op #by;)
        }
    }
}

fn is_division(op: &BinOp) -> bool {
    matches!(op, BinOp::Div(_) | BinOp::Rem(_) | BinOp::DivAssign(_) | BinOp::RemAssign(_))
}

/// Whether a place is a name, or fields of one.
fn is_path(place: &Expr) -> bool {
    match place {
        Expr::Path(_) => true,
        Expr::Field(field) => is_path(&field.base),
        _ => false,
    }
}

/// Whether an expression is a divisor that is neither 0 nor -1, so that nothing need be checked.
fn is_number(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(_), .. }) => true,
        expr => literal(expr).is_some_and(|value| value > 0),
    }
}

/// Whether an expression is a literal that every type of integers has as it is written, or a float.
fn is_small(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(_), .. }) => true,
        expr => literal(expr).is_some(),
    }
}

/// The value of an integer literal, where every type has it; rustc wraps what its type has not, where
/// `overflowing_literals` is allowed.
fn literal(expr: &Expr) -> Option<u8> {
    let Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(int), .. }) = unparenthesized(expr) else {
        return None;
    };
    int.base10_parse::<u64>().ok().and_then(|value| u8::try_from(value).ok()).filter(|v| *v < 128)
}
