//! Divisions in a CPU body: a division by zero is a device error, and a quotient that does not fit wraps, as on GPUs.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{BinOp, Expr, Ident};

use super::BodyRewriter;
use crate::{ast::unparenthesized, spans, tokens::internal};

impl BodyRewriter<'_> {
    /// Makes a division safe whose divisor may be zero, or -1 with a quotient that does not fit. Returns its
    /// replacement, or `None` if it is safe already or only its divisor had to be wrapped in place.
    ///
    /// `start` is the location of the user's first token, which identifies the division in error reports.
    pub(super) fn division(&self, binary: &mut syn::ExprBinary, start: Span) -> Option<Expr> {
        if !is_division(&binary.op) || is_safe_divisor(&binary.right) {
            return None;
        }
        let support = spans::at(self.support, start);
        let syn::ExprBinary { left, op, right, .. } = binary;
        // Arguments need no parentheses; rustc would report them.
        let (left, by) = (unparenthesized(left), unparenthesized(right));
        let dividend = internal("dividend");
        let compound = matches!(op, BinOp::DivAssign(_) | BinOp::RemAssign(_));
        if is_small_literal(left) {
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

    /// Checks the step of `range.step_by(step)`, which the user wrote at `start`.
    pub(super) fn check_step(&self, call: &mut syn::ExprMethodCall, start: Option<Span>) {
        let is_step = call.method == "step_by";
        let by = call.args.first_mut().filter(|by| is_step && !is_safe_divisor(by));
        if let (Some(by), Some(start)) = (by, start) {
            let support = spans::at(self.support, start);
            *by = Expr::Verbatim(quote_spanned!(start=> #support::divisor(#by)));
        }
    }

    /// The statement that changes `value` like a compound assignment whose right side is in `by`.
    pub(super) fn compound_update(
        &self,
        binary: &syn::ExprBinary,
        value: &Ident,
        by: &Ident,
    ) -> TokenStream {
        let (start, op) = (spans::first(&binary.left), &binary.op);
        if is_division(op) && !is_safe_divisor(&binary.right) {
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

/// Whether a place is a name or a field of one, without parentheses.
fn is_path(place: &Expr) -> bool {
    match place {
        Expr::Path(_) => true,
        Expr::Field(field) => is_path(&field.base),
        _ => false,
    }
}

/// Whether an expression is a divisor that is known to be neither 0 nor -1.
fn is_safe_divisor(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(_), .. }) => true,
        expr => small_literal(expr).is_some_and(|value| value > 0),
    }
}

/// Whether an expression is a float literal, or an integer literal in range of every integer type.
fn is_small_literal(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(_), .. }) => true,
        expr => small_literal(expr).is_some(),
    }
}

/// The value of an integer literal in range of every integer type. rustc wraps others if the lint
/// `overflowing_literals` is allowed.
fn small_literal(expr: &Expr) -> Option<u8> {
    let Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(int), .. }) = unparenthesized(expr) else {
        return None;
    };
    int.base10_parse::<u64>().ok().and_then(|value| u8::try_from(value).ok()).filter(|v| *v < 128)
}
