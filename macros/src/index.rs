//! Indices of local arrays: out of range they are device errors, where rustc's own check would panic.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{BinOp, Expr, visit_mut::VisitMut};

use crate::{
    body::{Rewrite, internal},
    spans,
};

impl Rewrite<'_> {
    /// The index of a local array or a constant: rustc's own check would panic. None of what is neither's.
    pub(crate) fn bound(&self, index: &syn::ExprIndex) -> Option<TokenStream> {
        let is_local = root(&index.expr)
            .is_some_and(|path| !path.get_ident().is_some_and(|name| self.tensors.contains(name)));
        is_local.then(|| {
            let start = spans::first(&index.expr);
            let support = spans::at(self.support, start);
            let (array, at) = (&index.expr, &index.index);
            quote_spanned!(start=> #support::Bounded::bounded(&#array, #at))
        })
    }

    /// An element of an array that has no name, such as a call's value, or that is itself found by an index, which must
    /// not be evaluated twice; none of what is a name or a field.
    pub(crate) fn bound_of_value(&self, index: &syn::ExprIndex, start: Span) -> Option<Expr> {
        let of_tensor = root(&index.expr)
            .is_some_and(|path| path.get_ident().is_some_and(|name| self.tensors.contains(name)));
        if of_tensor || is_simple_place(&index.expr) {
            return None;
        }
        let support = spans::at(self.support, start);
        let (array, value, at) = (internal("array"), &index.expr, &index.index);
        Some(Expr::Verbatim(quote_spanned! {start=> #support::identity({
            let #array = &#value;
            #array[#support::Bounded::bounded(#array, #at)]
        })}))
    }

    /// The two sides of an assignment; what is to be computed before it, where its place has indices. Rust
    /// evaluates the right side first.
    pub(crate) fn assigned(&mut self, left: &mut Expr, right: &mut Expr) -> TokenStream {
        let indices = self.target(left);
        self.visit_expr_mut(right);
        if indices.is_empty() || matches!(right, Expr::Lit(_)) {
            return indices;
        }
        let value = internal("assigned");
        let before = quote!(let #value = #right; #indices);
        *right = Expr::Verbatim(value.to_token_stream());
        before
    }

    /// What is assigned. Its indices are computed before, as what they index is borrowed then.
    pub(crate) fn target(&mut self, place: &mut Expr) -> TokenStream {
        match place {
            Expr::Index(index) => {
                let mut before = self.target(&mut index.expr);
                self.visit_expr_mut(&mut index.index);
                if let Some(bound) = self.bound(index) {
                    let at = internal(&format!("at{}", depth(&index.expr)));
                    before.extend(quote!(let #at = #bound;));
                    *index.index = Expr::Verbatim(at.to_token_stream());
                }
                before
            }
            Expr::Field(field) => self.target(&mut field.base),
            Expr::Paren(paren) => self.target(&mut paren.expr),
            other => {
                self.visit_expr_mut(other);
                TokenStream::new()
            }
        }
    }
}

/// Whether an operator assigns.
pub(crate) fn is_assignment(op: &BinOp) -> bool {
    use BinOp::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign,
        ShlAssign, ShrAssign, SubAssign,
    };
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | BitXorAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

/// How many places an expression is within.
fn depth(place: &Expr) -> usize {
    match place {
        Expr::Field(syn::ExprField { base: inner, .. })
        | Expr::Index(syn::ExprIndex { expr: inner, .. })
        | Expr::Paren(syn::ExprParen { expr: inner, .. }) => 1 + depth(inner),
        _ => 0,
    }
}

/// The name of the local or constant that a place is in; none of what is no place.
fn root(place: &Expr) -> Option<&syn::Path> {
    match place {
        Expr::Path(path) => Some(&path.path),
        Expr::Field(field) => root(&field.base),
        Expr::Index(index) => root(&index.expr),
        Expr::Paren(paren) => root(&paren.expr),
        _ => None,
    }
}

/// Whether an expression does nothing, so that it may stand twice in emitted code: a name or a field of one.
pub(crate) fn is_simple_place(place: &Expr) -> bool {
    match place {
        Expr::Path(_) => true,
        Expr::Field(field) => is_simple_place(&field.base),
        Expr::Paren(paren) => is_simple_place(&paren.expr),
        _ => false,
    }
}
