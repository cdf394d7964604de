//! Elements of tensors in a CPU body, and parts of elements. An access follows the user's fields and indices to a
//! location, and reads or writes the value there.

use proc_macro2::{Span, TokenStream};
use quadrants_frontend::name_number;
use quote::{quote, quote_spanned};
use syn::{Expr, visit_mut::VisitMut};

use super::BodyRewriter;
use crate::{
    ast::{
        atomic_op, borrowed_element, is_assignment, is_one_of, keeps_receiver, member_name,
        unparenthesized,
    },
    marks, spans,
    tokens::{internal, method_number},
};

impl BodyRewriter<'_> {
    /// The replacement of an access to an element of a tensor, or to a part of one.
    pub(super) fn element_access(&mut self, expr: &mut Expr) -> Option<TokenStream> {
        match expr {
            Expr::Index(_) | Expr::Field(_) => {
                let start = spans::first(expr);
                let location = self.location(expr)?;
                Some(quote_spanned!(start=> #location.read()))
            }
            Expr::Assign(assign) if self.is_element(&assign.left) => {
                self.visit_expr_mut(&mut assign.right);
                // Rust evaluates the right side first.
                let (right, value) = (&assign.right, internal("value"));
                let location = self.location(&mut assign.left)?;
                Some(quote!({ let #value = #right; #location.write(#value); }))
            }
            Expr::Binary(binary) if is_assignment(&binary.op) && self.is_element(&binary.left) => {
                self.visit_expr_mut(&mut binary.right);
                let [by, at, value] = ["by", "at", "value"].map(internal);
                let update = self.compound_update(binary, &value, &by);
                let (location, right) = (self.location(&mut binary.left)?, &binary.right);
                Some(quote!({
                    let #by = #right;
                    let #at = #location;
                    let mut #value = #at.read();
                    #update
                    #at.write(#value);
                }))
            }
            Expr::MethodCall(call)
                if self.is_element(&call.receiver) && !keeps_receiver(&call.method.to_string()) =>
            {
                let site = marks::take(&mut call.attrs);
                call.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
                let [at, value, given, result] = ["at", "value", "given", "result"].map(internal);
                let location = self.location(&mut call.receiver)?;
                let number = method_number(&call.method);
                let (support, args) = (self.support, call.args.iter());
                let check = self.typing.value(site);
                let check = check.map(|at| quote!(#support::seen::<_, #at>(&#value);));
                Some(quote!(#support::identity({
                    let #at = #location;
                    let mut #value = #at.read();
                    #check
                    let #given = (#(#args,)*);
                    let #result = #support::call_in_place::<#number, _, _, _>(&mut #value, #given);
                    #support::write_back::<#number, _, _>(#at, #value);
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

    /// Whether an expression is a tensor, a shared array, or a field of a struct of tensors.
    pub(crate) fn is_tensor(&self, expr: &Expr) -> bool {
        match unparenthesized(expr) {
            Expr::Reference(reference) => self.is_tensor(&reference.expr),
            Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => {
                self.is_tensor(expr)
            }
            Expr::Path(_) => is_one_of(expr, &self.tensors),
            Expr::Field(field) => is_one_of(&field.base, &self.tensors),
            _ => false,
        }
    }

    /// The location of an element of a tensor, or of a part of one.
    fn location(&mut self, expr: &mut Expr) -> Option<TokenStream> {
        if !self.is_element(expr) {
            return None;
        }
        let start = spans::first(expr);
        match expr {
            Expr::Paren(paren) => self.location(&mut paren.expr),
            Expr::Group(group) => self.location(&mut group.expr),
            Expr::Index(index) if self.is_tensor(&index.expr) => {
                self.visit_expr_mut(&mut index.index);
                self.visit_expr_mut(&mut index.expr);
                Some(self.element_location(index, start))
            }
            Expr::Index(index) => {
                let location = self.location(&mut index.expr)?;
                self.visit_expr_mut(&mut index.index);
                let at = &index.index;
                Some(quote_spanned!(start=> #location.element(#at)))
            }
            Expr::Field(field) => {
                let location = self.location(&mut field.base)?;
                let number = name_number(&member_name(&field.member));
                Some(quote_spanned!(start=> #location.field::<#number>()))
            }
            _ => None,
        }
    }

    /// The location of an element of a tensor or a shared array, whose index is rewritten.
    fn element_location(&self, index: &syn::ExprIndex, start: Span) -> TokenStream {
        let support = spans::at(self.support, start);
        let (base, index) = (&index.expr, &index.index);
        quote_spanned!(start=> #support::Elements::element_ref(&#base, #index))
    }

    /// The replacement of an atomic; that of a reduction combines into the iteration's lane.
    fn atomic(&mut self, call: &mut syn::ExprCall) -> Option<TokenStream> {
        let start = spans::first(call);
        let Expr::Path(path) = &*call.func else { return None };
        let name = path.path.segments.last()?.ident.clone();
        atomic_op(&name.to_string())?;
        let mut args = call.args.iter_mut();
        let (Some(place), Some(first), second, None) =
            (args.next(), args.next(), args.next(), args.next())
        else {
            return None;
        };
        let (expected, value) = match second {
            Some(value) => (Some(first), value),
            None => (None, first),
        };
        let element = borrowed_element(place)?;
        let support = spans::at(self.support, start);
        if let Expr::Index(syn::ExprIndex { expr: base, index, .. }) = element
            && let Some(reduction) = self.reductions.iter().find(|reduction| {
                matches!(&**base, Expr::Path(path) if path.path.get_ident().is_some_and(|name| reduction.is_of_tensor(name)))
            })
        {
            self.visit_expr_mut(value);
            let (lane, combine) = (&reduction.lane, reduction.combine(&support));
            return Some(quote_spanned!(start=> #combine(&mut *#lane, &#base, #index, #value)));
        }
        let scatter = match element {
            Expr::Index(index) => self.scatters.iter().find(|scatter| scatter.is_of(&index.expr)),
            _ => None,
        };
        let location = match (self.location(element), element) {
            (Some(location), _) => location,
            (None, Expr::Index(index)) => {
                self.visit_expr_mut(&mut index.index);
                self.element_location(index, start)
            }
            _ => return None,
        };
        if let Some(scatter) = scatter {
            self.visit_expr_mut(value);
            let (combine, is_private) = scatter.combine();
            return Some(
                quote_spanned!(start=> #support::#combine(#is_private, #location, #value)),
            );
        }
        let expected = expected.map(|expected| {
            self.visit_expr_mut(expected);
            quote!(#expected,)
        });
        self.visit_expr_mut(value);
        Some(quote_spanned!(start=> #support::#name(#location, #expected #value)))
    }
}
