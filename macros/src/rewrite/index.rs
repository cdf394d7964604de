//! Indices of local arrays in a CPU body: out of range they are device errors, whereas rustc's own check would panic.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, visit_mut::VisitMut};

use super::BodyRewriter;
use crate::{
    ast::{is_simple_place, place_root},
    spans,
    tokens::internal,
};

impl BodyRewriter<'_> {
    /// The checked index of a local array or a constant; `None` for other arrays.
    pub(super) fn bounded_index(&self, index: &syn::ExprIndex) -> Option<TokenStream> {
        if place_root(&index.expr).is_none_or(|root| self.is_tensor_path(root)) {
            return None;
        }
        let start = spans::first(&index.expr);
        let support = spans::at(self.support, start);
        let (array, at) = (&index.expr, &index.index);
        Some(quote_spanned!(start=> #support::Bounded::bounded(&#array, #at)))
    }

    /// The checked element of an array that is a call's value or itself an element, and must not be evaluated twice;
    /// `None` for names and fields.
    pub(super) fn bounded_element(&self, index: &syn::ExprIndex, start: Span) -> Option<Expr> {
        let of_tensor = place_root(&index.expr).is_some_and(|root| self.is_tensor_path(root));
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

    fn is_tensor_path(&self, path: &syn::ExprPath) -> bool {
        path.path.get_ident().is_some_and(|name| self.tensors.contains(name))
    }

    /// Rewrites the two sides of an assignment. Returns the statements before it if its target has indices: Rust
    /// evaluates the right side first.
    pub(super) fn assignment(&mut self, left: &mut Expr, right: &mut Expr) -> TokenStream {
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

    /// Rewrites the target of an assignment. Returns the statements that compute its indices before it, since it is
    /// borrowed during the assignment.
    pub(super) fn target(&mut self, place: &mut Expr) -> TokenStream {
        match place {
            Expr::Index(index) => {
                let mut before = self.target(&mut index.expr);
                self.visit_expr_mut(&mut index.index);
                if let Some(bounded) = self.bounded_index(index) {
                    let at = internal(&format!("at{}", depth(&index.expr)));
                    before.extend(quote!(let #at = #bounded;));
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

/// How many fields, indices and parentheses a place has.
fn depth(place: &Expr) -> usize {
    match place {
        Expr::Field(syn::ExprField { base: inner, .. })
        | Expr::Index(syn::ExprIndex { expr: inner, .. })
        | Expr::Paren(syn::ExprParen { expr: inner, .. }) => 1 + depth(inner),
        _ => 0,
    }
}
