//! Methods of structs of tensors: the types that can have them, the names of their funcs, and calls of them by type.

use proc_macro2::Ident;
use quadrants_frontend::syntax::ParamPassing;
use syn::{
    Expr, ItemImpl, Type, parse_quote,
    visit::{self, Visit},
    visit_mut::{self, VisitMut},
};

use crate::{
    ast::{Invocation, name_of, unparenthesized},
    signature::Param,
};

/// What the name of the func of a method begins with.
pub(crate) const PREFIX: &str = "__of_";

/// The name of a function in messages.
pub(crate) fn shown_name(name: &Ident) -> String {
    let text = name.to_string();
    text.strip_prefix(PREFIX).map_or_else(|| text.clone(), str::to_owned)
}

/// Whether a function is the func of a method of a struct of tensors.
pub(crate) fn is_method(name: &Ident) -> bool {
    name.to_string().starts_with(PREFIX)
}

/// Whether the type of an `impl` block is a struct of tensors: it has a lifetime, as no kernel value has.
pub(crate) fn is_of_tensors(block: &ItemImpl) -> bool {
    has_lifetime(&block.self_ty)
}

pub(crate) fn has_lifetime(ty: &Type) -> bool {
    struct Lifetimes(bool);
    impl Visit<'_> for Lifetimes {
        fn visit_lifetime(&mut self, _: &syn::Lifetime) {
            self.0 = true;
        }
    }
    let mut found = Lifetimes(false);
    found.visit_type(ty);
    found.0
}

/// Whether the name of a type is not that of a tensor.
pub(crate) fn may_be_struct(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident != "Tensor" && last.ident != "Distinct"),
        _ => false,
    }
}

/// Rewrites `tensors.method(x)`, for a parameter, as `<Type>::method(tensors, x)`.
pub(crate) fn name_types(params: &[Param], body: &mut syn::Block) {
    let bound = bound_names(body);
    let params = params.iter().filter(|param| {
        may_be_struct(&param.ty)
            && param.passing != ParamPassing::Value
            && !bound.contains(&param.name)
    });
    let params: Vec<_> = params.collect();
    if !params.is_empty() {
        NameTypes(params).visit_block_mut(body);
    }
}

/// The names that patterns of a body bind.
pub(crate) fn bound_names(body: &syn::Block) -> Vec<Ident> {
    let mut bound = PatternBindings(Vec::new());
    bound.visit_block(body);
    bound.0
}

struct PatternBindings(Vec<Ident>);

impl Visit<'_> for PatternBindings {
    fn visit_pat_ident(&mut self, pattern: &syn::PatIdent) {
        self.0.push(pattern.ident.clone());
        visit::visit_pat_ident(self, pattern);
    }
}

struct NameTypes<'a>(Vec<&'a Param>);

impl VisitMut for NameTypes<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let Expr::MethodCall(call) = expr else { return };
        if call.args.is_empty() && (call.method == "len" || call.method == "shape") {
            return;
        }
        let Expr::Path(path) = unparenthesized(&call.receiver) else { return };
        let Some(param) =
            name_of(path).and_then(|name| self.0.iter().find(|param| param.name == *name))
        else {
            return;
        };
        let (ty, method, generics) = (&param.ty, &call.method, &call.turbofish);
        let args = call.args.iter();
        let at = method.span();
        let func: Expr = syn::parse_quote_spanned!(at=> <#ty>::#method #generics);
        let attrs = std::mem::take(&mut call.attrs);
        let mut named: syn::ExprCall = parse_quote!(#func(#path, #(#args),*));
        named.attrs = attrs;
        *expr = Expr::Call(named);
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
}
