//! Tuples, arrays and structs: their values, fields and patterns, and the functions and methods of types.

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::{
    is_builtin_function, is_builtin_method,
    syntax::{Construct, Expr, ExprKind, Pattern},
};
use quote::{quote, quote_spanned};
use syn::{Pat, PatIdent};

use super::{FuncEntry, TreeBuilder, TypeEntry, expr::read_only_args};
use crate::{
    ast::{
        Conversion, ExpectedType, conversion, is_inferred, is_type_name, member_name, place_root,
        split_function, unparenthesized,
    },
    marks,
    sites::{self, TypeSite},
    spans::{self, located},
    tokens::internal,
};

impl TreeBuilder {
    /// A tuple, array, struct or field. Constructed values pass a probe of their type.
    pub(super) fn aggregate(&mut self, expr: &mut syn::Expr) -> ExprKind {
        use syn::Expr as E;
        let site = sites::attributes(expr).and_then(|attributes| marks::number_of(attributes));
        match expr {
            E::Field(field) => {
                let value = Box::new(self.expr(&mut field.base));
                ExprKind::Field { value, name: member_name(&field.member) }
            }
            E::Array(syn::ExprArray { elems, .. }) | E::Tuple(syn::ExprTuple { elems, .. }) => {
                let parts = self.exprs(elems);
                let ty = self.pass_aggregate(expr);
                ExprKind::Aggregate { ty: self.put_site(site, ty), parts }
            }
            E::Repeat(repeat) => {
                let value = Box::new(self.expr(&mut repeat.expr));
                let ty = self.pass_aggregate(expr);
                ExprKind::Repeat { ty: self.put_site(site, ty), value }
            }
            E::Struct(value) if value.rest.is_some() || value.dot2_token.is_none() => {
                let fields = value.fields.iter_mut();
                let fields =
                    fields.map(|field| (member_name(&field.member), self.expr(&mut field.expr)));
                let fields = fields.collect();
                let base = value.rest.as_mut().map(|base| Box::new(self.expr(base)));
                let ty = self.pass_aggregate(expr);
                ExprKind::Struct { ty: self.put_site(site, ty), fields, base }
            }
            _ => ExprKind::Unsupported(Construct::StructUpdate),
        }
    }

    /// A call by a type's path: a tuple struct, `Pair(a, b)`, or an associated function, `Vector::splat(x)`.
    pub(super) fn associated_call(&mut self, expr: &mut syn::Expr) -> ExprKind {
        let syn::Expr::Call(call) = expr else {
            return ExprKind::Unsupported(Construct::StructUpdate);
        };
        let syn::Expr::Path(path) = &*call.func else {
            return ExprKind::Unsupported(Construct::StructUpdate);
        };
        let path = path.clone();
        let name = path.path.segments.last().map(|last| last.ident.to_string());
        let name = name.unwrap_or_default();
        let site = marks::take(&mut call.attrs);
        let mut parts = self.exprs(&mut call.args);
        if is_type_name(&name) {
            let ty = self.pass_by_pattern(expr, &quote!(#path(..)), ExpectedType::Any);
            return ExprKind::Aggregate { ty: self.put_site(site, ty), parts };
        }
        let Some((ty, ident)) = split_function(&path.path) else {
            return ExprKind::Unsupported(Construct::Associated(name));
        };
        if let (Some(Conversion::From(from)), 1) = (conversion(&name), parts.len()) {
            let ty = self.add_type(TypeEntry::Number(ty));
            return self.converted(from, parts.remove(0), ty);
        }
        let is_method = is_builtin_method(&name) && !parts.is_empty();
        if is_method && name == "from_bits" {
            // The type of its argument is another one.
            return ExprKind::Unsupported(Construct::Associated(name));
        }
        // `T::sqrt(x)` is `x.sqrt()`.
        let receiver = is_method.then(|| {
            let of = match call.args.first_mut().filter(|_| is_inferred(&ty)) {
                Some(receiver) => self.pass(receiver),
                None => self.written_type(&syn::parse_quote!(#ty)),
            };
            Box::new(self.typed(parts.remove(0), of))
        });
        let func = self.funcs.len();
        self.sites.put(site, TypeSite::Call(func));
        let result = self.next_result();
        let at = spans::first(&ty);
        // The type of the value is that of the function, if it is built in.
        let of = is_builtin_function(&name).then(|| self.pass(expr));
        let value = match self.is_generic {
            // Of a type parameter, rustc does not know that the type stays the same.
            true => quote!(#expr),
            false => quote_spanned!(at=> #result.returned(#expr)),
        };
        *expr = syn::Expr::Verbatim(observed(&result, &value, at));
        self.funcs.push(FuncEntry::Associated { result, ty, name: ident });
        let (func, args) = (func as u32, parts);
        match receiver {
            Some(receiver) => ExprKind::Method { receiver, name, args, callee: Some(func) },
            None if let Some(ty) = of => {
                ExprKind::Associated { ty, name, args, callee: Some(func) }
            }
            None => ExprKind::Call { func, args, has_receiver: false, read_only_args: 0 },
        }
    }

    /// The name of the probe for the value of the next func.
    fn next_result(&self) -> Ident {
        internal(&format!("result{}", self.funcs.len()))
    }

    /// A method of a value. A probe of the receiver gives the type that has the method.
    pub(super) fn method_of_value(
        &mut self,
        expr: &mut syn::Expr,
        receiver: Expr,
        mut args: Vec<Expr>,
    ) -> ExprKind {
        let (probe, result) = (self.next_probe(), self.next_result());
        let syn::Expr::MethodCall(call) = expr else {
            return ExprKind::Unsupported(Construct::StructUpdate);
        };
        let name = call.method.clone();
        let site = marks::take(&mut call.attrs);
        let binding = Ident::new("value", name.span());
        let ty = self.add_type(TypeEntry::Probe {
            probe: probe.clone(),
            binding,
            expected: ExpectedType::Any,
        });
        self.put_site(site, ty);
        let of = &mut call.receiver;
        let (has_place, at) = (place_root(of).is_some(), name.span());
        // The result of a method that does not exist on the host either is of an error type, so that rustc reports
        // only that.
        let passed = |call: TokenStream| observed(&result, &call, at);
        if has_place {
            // The method may change the place. A tuple, because a statement that begins with a block ends after it.
            let of = of.clone();
            *expr =
                syn::Expr::Verbatim(passed(quote_spanned!(at=> (#probe.observe(&#of), #call).1)));
        } else {
            // Arguments need no parentheses; rustc would report them.
            let inner = unparenthesized(of);
            **of = syn::Expr::Verbatim(quote!(#probe.pass(#inner)));
            *expr = syn::Expr::Verbatim(passed(quote!(#call)));
        }
        let func = self.funcs.len() as u32;
        let text = name.to_string();
        self.funcs.push(FuncEntry::Method { probe, result, name });
        if is_builtin_method(&text) {
            let receiver = if has_place { receiver } else { self.typed(receiver, ty) };
            let receiver = Box::new(receiver);
            return ExprKind::Method { receiver, name: text, args, callee: Some(func) };
        }
        args.insert(0, receiver);
        ExprKind::Call { func, args, has_receiver: true, read_only_args: 0 }
    }

    /// A call `<Type>::method(tensors, x)`, as [`tensor_methods`](crate::tensor_methods) writes it.
    pub(super) fn tensor_method(&mut self, expr: &mut syn::Expr) -> ExprKind {
        let syn::Expr::Call(call) = expr else {
            return ExprKind::Unsupported(Construct::StructUpdate);
        };
        let (func, result) = (self.funcs.len(), self.next_result());
        self.sites.put(marks::take(&mut call.attrs), TypeSite::Call(func));
        let entry = match &*call.func {
            syn::Expr::Path(syn::ExprPath { qself: Some(of), path, .. }) => {
                let name = path.segments.first().map(|first| first.ident.clone());
                name.map(|name| FuncEntry::OfTensors {
                    result: result.clone(),
                    ty: of.ty.clone(),
                    name,
                })
            }
            _ => None,
        };
        let Some(entry) = entry else { return ExprKind::Unsupported(Construct::StructUpdate) };
        self.funcs.push(entry);
        let read_only_args = read_only_args(call);
        let args = call.args.iter_mut().map(|arg| self.argument(arg)).collect();
        let at = spans::first(&call.func);
        *expr = syn::Expr::Verbatim(observed(&result, &quote!(#expr), at));
        ExprKind::Call { func: func as u32, args, has_receiver: false, read_only_args }
    }

    fn exprs<'a>(&mut self, exprs: impl IntoIterator<Item = &'a mut syn::Expr>) -> Vec<Expr> {
        exprs.into_iter().map(|expr| self.expr(expr)).collect()
    }

    /// A pattern of a `let` that destructures a value, with the probes of its names; `None` for patterns that kernels
    /// do not have.
    pub(super) fn pattern_parts(
        &mut self,
        pattern: &Pat,
        probes: &mut Vec<syn::Stmt>,
    ) -> Option<Pattern> {
        let elems = match pattern {
            Pat::Wild(_) => return Some(Pattern::Wild),
            Pat::Rest(_) => return Some(Pattern::Rest),
            Pat::Paren(paren) => return self.pattern_parts(&paren.pat, probes),
            Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, mutability, .. }) => {
                let ty = self.bind_probed(ident, probes);
                let (name, mutable) = (ident.to_string(), mutability.is_some());
                return Some(Pattern::Name { name, mutable, ty });
            }
            Pat::Struct(of) => {
                let fields = of.fields.iter().map(|field| {
                    Some((member_name(&field.member), self.pattern_parts(&field.pat, probes)?))
                });
                return Some(Pattern::Fields(fields.collect::<Option<_>>()?));
            }
            Pat::Tuple(tuple) => &tuple.elems,
            Pat::Slice(slice) => &slice.elems,
            Pat::TupleStruct(tuple) => &tuple.elems,
            _ => return None,
        };
        let parts = elems.iter().map(|pattern| self.pattern_parts(pattern, probes));
        Some(Pattern::Parts(parts.collect::<Option<_>>()?))
    }
}

/// A call whose result a probe receives. It is no argument of the probe, which would have the type that is expected of
/// the result: rustc reports a wrong one at `at`, once.
fn observed(result: &Ident, call: &TokenStream, at: Span) -> TokenStream {
    let value = located(&internal("given"), at);
    quote_spanned! {at=>
        ::core::convert::identity(match #call { #value => { #result.observe(&#value); #value } })
    }
}
