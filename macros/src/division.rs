//! Divisions in a CPU body: one by zero is an error of the launch, and a quotient that does not fit wraps, as it
//! does on devices.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{BinOp, Expr, Ident};

use crate::{
    body::{Rewrite, internal, unparenthesized},
    spans, tree,
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
        if matches!(left, Expr::Lit(_)) {
            **right = Expr::Verbatim(quote_spanned!(start=> #support::divisor(#by)));
            return None;
        }
        if compound && is_path(left) {
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
            quote_spanned! {start=> #support::same({
                let #dividend = #left;
                #dividend #op #support::divisor_of(&#dividend, #by)
            })}
        }))
    }

    /// As [`divided`](Self::divided), of a method's receiver by its argument.
    pub(crate) fn divided_by_method(&self, call: &mut syn::ExprMethodCall) -> Option<Expr> {
        let steps = call.method == "step_by";
        let divides = steps || call.method == "rem_euclid" || call.method == "div_ceil";
        let by = call.args.first_mut().filter(|by| divides && !is_number(by))?;
        let start = if steps { spans::first(by) } else { spans::first(&call.receiver) };
        let support = spans::at(self.support, start);
        if steps {
            *by = Expr::Verbatim(quote_spanned!(start=> #support::divisor(#by)));
            return None;
        }
        let dividend = internal("dividend");
        *by = Expr::Verbatim(quote_spanned!(start=> #support::divisor_of(&#dividend, #by)));
        let syn::ExprMethodCall { receiver, method, args, .. } = call;
        Some(Expr::Verbatim(quote_spanned! {start=> #support::same({
            let #dividend = #receiver;
            #dividend.#method(#args)
        })}))
    }

    /// As [`divided_by_method`](Self::divided_by_method), of `u32::div_ceil(a, b)` and its like.
    pub(crate) fn divided_by_path(&self, call: &syn::ExprCall) -> Option<Expr> {
        let (path, name) = of_number(&call.func)?;
        let mut args = call.args.iter();
        let (Some(left), Some(by), None) = (args.next(), args.next(), args.next()) else {
            return None;
        };
        if name != "rem_euclid" && name != "div_ceil" || is_number(by) {
            return None;
        }
        let start = spans::first(path);
        let (support, dividend) = (spans::at(self.support, start), internal("dividend"));
        Some(Expr::Verbatim(quote_spanned! {start=> #support::same({
            let #dividend = #left;
            #path(#dividend, #support::divisor_of(&#dividend, #by))
        })}))
    }

    /// `f32::clamp(x, low, high)`, which panics where the bounds are no range.
    pub(crate) fn clamped(&self, call: &syn::ExprCall) -> Option<Expr> {
        let (_, name) = of_number(&call.func)?;
        let (support, args) = (self.support, &call.args);
        (name == "clamp" && args.len() == 3)
            .then(|| Expr::Verbatim(quote!(#support::clamped(#args))))
    }

    /// Keeps LLVM from computing `f32::powf(x, y)` in another way where an argument is a constant.
    pub(crate) fn hide_powers(&self, call: &mut syn::ExprCall) {
        let is_power = of_number(&call.func).is_some_and(|(_, name)| name == "powf");
        if is_power && call.args.len() == 2 {
            call.args.iter_mut().for_each(|arg| self.opaque(arg));
        }
    }

    /// Makes a value one that LLVM knows nothing of.
    pub(crate) fn opaque(&self, expr: &mut Expr) {
        let (support, inner) = (self.support, unparenthesized(expr));
        *expr = Expr::Verbatim(quote!(#support::opaque(#inner)));
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

/// The path of a number's function, and the function's name.
fn of_number(callee: &Expr) -> Option<(&syn::ExprPath, &Ident)> {
    let Expr::Path(path) = callee else { return None };
    let ours = tree::is_scalar_method(path) || tree::is_of_type(path);
    Some((path, &path.path.segments.last()?.ident)).filter(|_| ours)
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

/// Whether an expression is a number that is not zero, so that nothing need be checked.
fn is_number(expr: &Expr) -> bool {
    match unparenthesized(expr) {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(int), .. }) => {
            int.base10_digits().bytes().any(|digit| digit != b'0')
        }
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Float(_), .. }) => true,
        _ => false,
    }
}
