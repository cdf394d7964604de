//! Methods of structs of tensors. Each is a func whose first parameter is the struct; its type is found by the struct's
//! type and the number of the method's name, so that the IR and the CPU body call the same func.

use proc_macro2::{Ident, TokenStream};
use quadrants_frontend::syntax::{FunctionKind, ParamPassing};
use quote::{ToTokens, format_ident, quote};
use syn::{
    Expr, FnArg, ImplItemFn, ItemFn, ItemImpl, ReceiverKind, Type, parse_quote,
    visit::{self, Visit},
    visit_mut::{self, VisitMut},
};

use crate::{
    ast::{Invocation, name_of, unparenthesized},
    attribute::{Attribute, Paths},
    emit,
    methods::{output_type, refuse_generics, unused, without_self},
    signature::{self, Param},
    tokens::method_number,
};

/// What the name of the func of a method begins with.
const PREFIX: &str = "__of_";

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

/// A type or block of the author's without the names of lifetimes, which free functions do not have.
struct Elided;

impl VisitMut for Elided {
    fn visit_lifetime_mut(&mut self, lifetime: &mut syn::Lifetime) {
        lifetime.ident = Ident::new("_", lifetime.ident.span());
    }

    fn visit_label_mut(&mut self, _: &mut syn::Label) {}

    fn visit_expr_break_mut(&mut self, each: &mut syn::ExprBreak) {
        if let Some(value) = &mut each.expr {
            self.visit_expr_mut(value);
        }
    }

    fn visit_expr_continue_mut(&mut self, _: &mut syn::ExprContinue) {}
}

/// The errors of an `impl` block for a struct of tensors as a whole.
pub(crate) fn refused(block: &ItemImpl) -> Option<syn::Error> {
    if let Some((of_trait, _)) = &block.trait_ {
        let message =
            "a struct of tensors has no funcs of traits; write an `impl` block without a trait";
        return Some(syn::Error::new_spanned(of_trait, message));
    }
    let message = "a struct of tensors has only lifetime parameters";
    let params = block.generics.params.iter();
    let mut others = params.filter(|param| !matches!(param, syn::GenericParam::Lifetime(_)));
    others.next().map(|param| syn::Error::new_spanned(param, message))
}

/// What kernels call for one method. The author's method is changed to panic, as a func with tensors does on the host.
pub(crate) fn expand(
    attribute: &Attribute,
    of: &Type,
    method: &mut ImplItemFn,
) -> syn::Result<TokenStream> {
    let given = method.clone();
    let name = &given.sig.ident;
    let text = format!("`{name}` takes tensors: it can be called in kernels only");
    method.block = parse_quote!({ ::core::panic!(#text) });
    method.sig = signature::immutable(&method.sig);
    method.attrs.push(parse_quote!(#[allow(unused_variables)]));
    refuse_generics(&given.sig)?;
    let receiver = given.sig.receiver().expect("the caller checks it");
    if (name == "len" || name == "shape") && given.sig.inputs.len() == 1 {
        let message = format!("kernels have a built-in `{name}`; give this function another name");
        return Err(syn::Error::new_spanned(name, message));
    }
    let reference = match &receiver.kind {
        ReceiverKind::Reference(_, None, mutability) => quote!(&#mutability),
        _ => {
            let message = "a method of a struct of tensors takes `&self` or `&mut self`";
            return Err(syn::Error::new_spanned(receiver, message));
        }
    };
    let mut of = of.clone();
    Elided.visit_type_mut(&mut of);
    let this = unused("this_value", &given);
    let mut sig = given.sig.clone();
    sig.inputs = sig.inputs.into_iter().skip(1).collect();
    let mut sig: syn::Signature = syn::parse2(without_self(sig.to_token_stream(), &this, &of))?;
    sig.ident = format_ident!("{PREFIX}{}", name);
    sig.inputs.insert(0, FnArg::Typed(parse_quote!(#this: #reference #of)));
    Elided.visit_signature_mut(&mut sig);
    let mut block: syn::Block =
        syn::parse2(without_self(given.block.to_token_stream(), &this, &of))?;
    Elided.visit_block_mut(&mut block);
    signature::parse(FunctionKind::Func, &sig)?;
    let output = output_type(&sig.output);
    let (func, number) = (sig.ident.clone(), method_number(name));
    let mut item: ItemFn = parse_quote!(
        pub fn of_tensors() {}
    );
    item.sig = sig;
    *item.block = block;
    let emitted = emit::function(FunctionKind::Func, attribute, item);
    let Paths { body: support, .. } = &attribute.paths;
    Ok(quote! {
        #[allow(unreachable_pub)]
        const _: () = {
            #emitted
            // SAFETY: the func is made of the tokens of the method.
            unsafe impl #support::HasTensorMethod<#number> for #of {
                type Func = #func;
                type Output = #output;
                const CALLEE: fn() -> #support::Callee = <#func>::__callee;
                const TYPES: &'static #support::Identity = <#func>::__types();
            }
        };
    })
}

/// Whether a path is that of a method of a struct of tensors: `<Type>::name`.
pub(crate) fn is_tensor_method(path: &syn::ExprPath) -> bool {
    path.path.segments.len() == 1 && path.qself.as_ref().is_some_and(|of| of.as_token.is_none())
}

/// The type with the func of a method, if a path is that of one: `<Type>::name`.
pub(crate) fn func_of(support: &TokenStream, path: &syn::ExprPath) -> Option<TokenStream> {
    let of = path.qself.as_ref().filter(|_| is_tensor_method(path))?;
    let (of, number) = (&of.ty, method_number(&path.path.segments.first()?.ident));
    Some(quote!(<#support::Gated<__OK, #of> as #support::HasTensorMethod<#number>>::Func))
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
    let mut bound = Bound(Vec::new());
    bound.visit_block(body);
    bound.0
}

struct Bound(Vec<Ident>);

impl Visit<'_> for Bound {
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
