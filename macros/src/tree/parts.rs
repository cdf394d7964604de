//! Tuples, arrays and structs: their values, fields and patterns.

use proc_macro2::{Ident, Span};
use quadrants_frontend::{
    is_builtin_function, is_builtin_method,
    syntax::{Construct, Expr, ExprKind, Pattern},
};
use quote::{quote, quote_spanned};
use syn::{Pat, PatIdent};

use super::{
    FuncEntry, Tree, TypeEntry,
    expr::{Conversion, conversion, is_type_name},
};
use crate::{
    body::unparenthesized,
    sites::{self, Site},
    spans,
};

/// A function's type and name, of its path.
fn of_type(path: &syn::Path) -> Option<(syn::Path, Ident)> {
    let mut ty = path.clone();
    let name = ty.segments.pop()?.ident;
    ty.segments.pop_punct();
    Some((ty, name))
}

/// Whether an expression is something that can be changed: looking at it twice does nothing twice.
pub(super) fn is_place(expr: &syn::Expr) -> bool {
    match expr {
        syn::Expr::Path(_) => true,
        syn::Expr::Field(field) => is_place(&field.base),
        syn::Expr::Paren(paren) => is_place(&paren.expr),
        syn::Expr::Index(index) => is_place(&index.expr),
        _ => false,
    }
}

impl Tree {
    /// A tuple, array, struct or field. What makes a value passes a probe, for its type.
    pub(super) fn aggregate(&mut self, expr: &mut syn::Expr) -> ExprKind {
        use syn::Expr as E;
        let site = sites::of(expr);
        match expr {
            E::Field(field) => {
                let value = Box::new(self.expr(&mut field.base));
                let name = match &field.member {
                    syn::Member::Named(name) => name.to_string(),
                    syn::Member::Unnamed(index) => index.index.to_string(),
                };
                ExprKind::Field { value, name }
            }
            E::Array(array) => {
                let parts = self.all(array.elems.iter_mut());
                let ty = self.passed(expr);
                ExprKind::Aggregate { ty: self.typed_at(site, ty), parts }
            }
            E::Tuple(tuple) => {
                let parts = self.all(tuple.elems.iter_mut());
                let ty = self.passed(expr);
                ExprKind::Aggregate { ty: self.typed_at(site, ty), parts }
            }
            E::Repeat(repeat) => {
                let value = Box::new(self.expr(&mut repeat.expr));
                let ty = self.passed(expr);
                ExprKind::Repeat { ty: self.typed_at(site, ty), value }
            }
            E::Struct(value) if value.rest.is_none() && value.dot2_token.is_none() => {
                let mut fields = Vec::with_capacity(value.fields.len());
                for field in &mut value.fields {
                    let name = match &field.member {
                        syn::Member::Named(name) => name.to_string(),
                        syn::Member::Unnamed(index) => index.index.to_string(),
                    };
                    fields.push((name, self.expr(&mut field.expr)));
                }
                let ty = self.passed(expr);
                ExprKind::Struct { ty: self.typed_at(site, ty), fields }
            }
            _ => ExprKind::Unsupported(Construct::StructUpdate),
        }
    }

    /// `Pair(a, b)`, or a function of a type: `Vector::splat(x)`.
    pub(super) fn made(&mut self, expr: &mut syn::Expr) -> ExprKind {
        let syn::Expr::Call(call) = expr else {
            return ExprKind::Unsupported(Construct::StructUpdate);
        };
        let syn::Expr::Path(path) = &*call.func else {
            return ExprKind::Unsupported(Construct::StructUpdate);
        };
        let path = path.clone();
        let name = path.path.segments.last().map(|last| last.ident.to_string());
        let name = name.unwrap_or_default();
        let site = sites::take(&mut call.attrs);
        let parts = self.all(call.args.iter_mut());
        if is_type_name(&name) {
            let ty = self.passed_by_pattern(expr, &quote!(#path(..)), false);
            self.typed_at(site, ty);
            return ExprKind::Aggregate { ty, parts };
        }
        if is_builtin_function(&name)
            && let Some((ty, _)) = of_type(&path.path)
        {
            let pattern = quote_spanned!(spans::first(&ty)=> #ty { .. });
            let ty = self.passed_by_pattern(expr, &pattern, true);
            self.typed_at(site, ty);
            return ExprKind::Associated { ty, name, args: parts };
        }
        let func = self.funcs.len() as u32;
        if let syn::Expr::Call(call) = expr
            && let syn::Expr::Path(path) = &*call.func
            && let Some((ty, name)) = of_type(&path.path)
        {
            let mut parts = parts;
            if let (Some(Conversion::From(from)), 1) = (conversion(&name.to_string()), parts.len())
            {
                let ty = self.add_type(TypeEntry::Number(ty));
                return self.converted(from, parts.remove(0), ty);
            }
            // `T::sqrt(x)` is `x.sqrt()`.
            if is_builtin_method(&name.to_string()) && !parts.is_empty() {
                if name == "from_bits" {
                    // Its argument's type is not the type itself.
                    return ExprKind::Unsupported(Construct::Associated(name.to_string()));
                }
                let of = self.written(&syn::parse_quote!(#ty));
                let receiver = parts.remove(0);
                let receiver = Box::new(self.typed(receiver, of));
                let callee = Some(func);
                self.sites.put(site, Site::Call(self.funcs.len()));
                self.of_type(expr, ty, name.clone());
                return ExprKind::Method { receiver, name: name.to_string(), args: parts, callee };
            }
            self.sites.put(site, Site::Call(self.funcs.len()));
            self.of_type(expr, ty, name);
            return ExprKind::Call { func, args: parts, on_value: false, shared: 0 };
        }
        ExprKind::Unsupported(Construct::Associated(name))
    }

    /// The name of the probe of what the next callee gives.
    fn result(&self) -> Ident {
        Ident::new(&format!("result{}", self.funcs.len()), Span::mixed_site())
    }

    /// Notes a call of a type's function, and lets its value pass through a probe of that type.
    fn of_type(&mut self, call: &mut syn::Expr, ty: syn::Path, name: Ident) {
        let result = self.result();
        let at = spans::first(&ty);
        *call = syn::Expr::Verbatim(quote_spanned!(at=> #result.pass(#call)));
        self.funcs.push(FuncEntry::OfType { result, ty, name });
    }

    /// A method of a value. A probe of the receiver's type says whose it is.
    pub(super) fn method_of_value(
        &mut self,
        expr: &mut syn::Expr,
        receiver: Expr,
        mut args: Vec<Expr>,
    ) -> ExprKind {
        let syn::Expr::MethodCall(call) = expr else {
            return ExprKind::Unsupported(Construct::StructUpdate);
        };
        let name = call.method.clone();
        let site = sites::take(&mut call.attrs);
        let probe = Ident::new(&format!("probe{}", self.types.len()), Span::mixed_site());
        let binding = Ident::new("value", name.span());
        let ty = self.add_type(TypeEntry::Probe { probe: probe.clone(), binding, linear: false });
        self.typed_at(site, ty);
        let result = self.result();
        let syn::Expr::MethodCall(call) = expr else {
            return ExprKind::Unsupported(Construct::StructUpdate);
        };
        let of = &mut call.receiver;
        let (has_place, at) = (is_place(of), name.span());
        if has_place {
            // The method may change it where it is. No block: a statement could not begin with one and go on.
            let of = of.clone();
            *expr = syn::Expr::Verbatim(
                quote_spanned!(at=> #result.pass((#probe.observe(&#of), #call).1)),
            );
        } else {
            // As an argument it needs no parentheses, and rustc would say so.
            let inner = unparenthesized(of);
            **of = syn::Expr::Verbatim(quote!(#probe.pass(#inner)));
            *expr = syn::Expr::Verbatim(quote_spanned!(at=> #result.pass(#call)));
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
        ExprKind::Call { func, args, on_value: true, shared: 0 }
    }

    fn all<'a>(&mut self, exprs: impl Iterator<Item = &'a mut syn::Expr>) -> Vec<Expr> {
        exprs.map(|expr| self.expr(expr)).collect()
    }

    /// A pattern of a `let` that takes a value apart, with the probes of its names; none for one that kernels
    /// do not have.
    pub(super) fn taking_apart(
        &mut self,
        pattern: &Pat,
        probes: &mut Vec<syn::Stmt>,
    ) -> Option<Pattern> {
        match pattern {
            Pat::Wild(_) => Some(Pattern::Wild),
            Pat::Paren(paren) => self.taking_apart(&paren.pat, probes),
            Pat::Ident(PatIdent { by_ref: None, subpat: None, ident, mutability, .. }) => {
                Some(self.bound(ident, mutability.is_some(), probes))
            }
            Pat::Tuple(tuple) => self.patterns(tuple.elems.iter(), probes),
            Pat::Slice(slice) => self.patterns(slice.elems.iter(), probes),
            Pat::TupleStruct(tuple) => self.patterns(tuple.elems.iter(), probes),
            Pat::Struct(of) => {
                let mut fields = Vec::with_capacity(of.fields.len());
                for field in &of.fields {
                    let name = match &field.member {
                        syn::Member::Named(name) => name.to_string(),
                        syn::Member::Unnamed(index) => index.index.to_string(),
                    };
                    fields.push((name, self.taking_apart(&field.pat, probes)?));
                }
                Some(Pattern::Fields(fields))
            }
            _ => None,
        }
    }

    fn patterns<'a>(
        &mut self,
        patterns: impl Iterator<Item = &'a Pat>,
        probes: &mut Vec<syn::Stmt>,
    ) -> Option<Pattern> {
        let parts: Option<Vec<_>> =
            patterns.map(|pattern| self.taking_apart(pattern, probes)).collect();
        Some(Pattern::Parts(parts?))
    }

    fn bound(&mut self, ident: &Ident, mutable: bool, probes: &mut Vec<syn::Stmt>) -> Pattern {
        let (ty, probe) = self.probe(ident, None);
        self.bind(ident);
        probes.push(probe);
        Pattern::Name { name: ident.to_string(), mutable, ty }
    }
}
