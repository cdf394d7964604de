//! Elements of tensors in a CPU body, and parts of elements: what reads or writes one follows the author's
//! fields and indices to a place, and reads or writes that by value.

use proc_macro2::{Span, TokenStream};
use quadrants_frontend::name_number;
use quote::{quote, quote_spanned};
use syn::{Expr, visit_mut::VisitMut};

use crate::{
    body::{Rewrite, internal, unparenthesized},
    calls::is_of_numbers,
    methods, sites, spans, tree,
};

impl Rewrite<'_> {
    /// What touches an element of a tensor, or a part of one: elements are read and written by value.
    pub(crate) fn access(&mut self, expr: &mut Expr) -> Option<TokenStream> {
        match expr {
            Expr::Index(_) | Expr::Field(_) => {
                let start = spans::first(expr);
                let place = self.place(expr)?;
                Some(quote_spanned!(start=> #place.read()))
            }
            Expr::Assign(assign) if self.is_element(&assign.left) => {
                self.visit_expr_mut(&mut assign.right);
                // Rust evaluates the right side first.
                let (right, value) = (&assign.right, internal("value"));
                let place = self.place(&mut assign.left)?;
                Some(quote!({ let #value = #right; #place.write(#value); }))
            }
            Expr::Binary(binary)
                if tree::is_compound(&binary.op) && self.is_element(&binary.left) =>
            {
                self.visit_expr_mut(&mut binary.right);
                let [by, at, value] = ["by", "at", "value"].map(internal);
                let changed = self.changed(binary, &value, &by);
                let (place, right) = (self.place(&mut binary.left)?, &binary.right);
                Some(quote!({
                    let #by = #right;
                    let #at = #place;
                    let mut #value = #at.read();
                    #changed
                    #at.write(#value);
                }))
            }
            Expr::MethodCall(call)
                if self.is_element(&call.receiver) && !is_of_numbers(&call.method.to_string()) =>
            {
                let site = sites::take(&mut call.attrs);
                call.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
                let [at, value, result] = ["at", "value", "result"].map(internal);
                let (place, number) =
                    (self.place(&mut call.receiver)?, methods::number(&call.method));
                let (support, args) = (self.support, call.args.iter());
                let given = internal("given");
                let seen = self.type_at(site);
                let seen = seen.map(|at| quote!(#support::seen::<_, #at>(&#value);));
                Some(quote!(#support::identity({
                    let #at = #place;
                    let mut #value = #at.read();
                    #seen
                    let #given = (#(#args,)*);
                    let #result = #support::call_in_place::<#number, _, _>(&mut #value, #given);
                    #support::write_back::<#number, _>(#at, #value);
                    #result
                })))
            }
            Expr::Call(call) => self.atomic(call),
            _ => None,
        }
    }

    /// Whether an expression is an element of a tensor or a part of one.
    fn is_element(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Index(index) => self.is_tensor(&index.expr) || self.is_element(&index.expr),
            Expr::Field(field) => self.is_element(&field.base),
            _ => false,
        }
    }

    pub(crate) fn is_tensor(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Reference(reference) => self.is_tensor(&reference.expr),
            Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => {
                self.is_tensor(expr)
            }
            Expr::Path(_) => self.is_parameter(expr),
            // Of a struct of tensors.
            Expr::Field(field) => self.is_parameter(&field.base),
            _ => false,
        }
    }

    /// Whether an expression names a parameter that is a tensor or a struct of tensors.
    fn is_parameter(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Path(path) => tree::name_of(path).is_some_and(|name| self.tensors.contains(name)),
            _ => false,
        }
    }

    /// The place that an element of a tensor, or a part of one, is.
    fn place(&mut self, expr: &mut Expr) -> Option<TokenStream> {
        if !self.is_element(expr) {
            return None;
        }
        let start = spans::first(expr);
        match expr {
            Expr::Paren(paren) => self.place(&mut paren.expr),
            Expr::Group(group) => self.place(&mut group.expr),
            Expr::Index(index) if self.is_tensor(&index.expr) => {
                self.visit_expr_mut(&mut index.index);
                self.visit_expr_mut(&mut index.expr);
                Some(self.place_in(index, start))
            }
            Expr::Index(index) => {
                let place = self.place(&mut index.expr)?;
                self.visit_expr_mut(&mut index.index);
                let at = &index.index;
                Some(quote_spanned!(start=> #place.element(#at)))
            }
            Expr::Field(field) => {
                let place = self.place(&mut field.base)?;
                let number = name_number(&match &field.member {
                    syn::Member::Named(name) => name.to_string(),
                    syn::Member::Unnamed(at) => at.index.to_string(),
                });
                Some(quote_spanned!(start=> #place.field::<#number>()))
            }
            _ => None,
        }
    }

    /// The place of an element of a tensor or a shared array.
    fn place_in(&self, index: &syn::ExprIndex, start: Span) -> TokenStream {
        let support = spans::at(self.support, start);
        let (base, index) = (&index.expr, &index.index);
        quote_spanned!(start=> #support::Elements::element_ref(&#base, #index))
    }

    fn atomic(&mut self, call: &mut syn::ExprCall) -> Option<TokenStream> {
        let start = spans::first(call);
        let Expr::Path(path) = &*call.func else { return None };
        let name = path.path.segments.last()?.ident.clone();
        tree::atomic(&name.to_string())?;
        let mut args = call.args.iter_mut();
        let (Some(place), Some(value), None) = (args.next(), args.next(), args.next()) else {
            return None;
        };
        let element = tree::element(place)?;
        let support = spans::at(self.support, start);
        if let Expr::Index(syn::ExprIndex { expr: base, index, .. }) = element
            && let Some(reduction) = self.reductions.iter().find(|reduction| {
                matches!(&**base, Expr::Path(path) if path.path.is_ident(&reduction.tensor))
            })
        {
            self.visit_expr_mut(value);
            let (lane, combine) = (&reduction.lane, reduction.combine(&support));
            return Some(quote_spanned!(start=> #combine(&mut *#lane, &#base, #index, #value)));
        }
        let place = match (self.place(element), element) {
            (Some(place), _) => place,
            (None, Expr::Index(index)) => {
                self.visit_expr_mut(&mut index.index);
                self.place_in(index, start)
            }
            _ => return None,
        };
        self.visit_expr_mut(value);
        Some(quote_spanned!(start=> #support::#name(#place, #value)))
    }
}
