//! What kernels call for a method of a struct of tensors: a func whose first parameter is the struct. Its type is found
//! by the struct's type and the number of the method's name, so that the IR and the CPU body call the same func.

use proc_macro2::{Ident, TokenStream};
use quadrants_frontend::syntax::FunctionKind;
use quote::{ToTokens, format_ident, quote};
use syn::{
    FnArg, ImplItemFn, ItemFn, ItemImpl, ReceiverKind, Type, parse_quote, visit_mut::VisitMut,
};

use super::{output_type, refuse_generics, this_name, without_self};
use crate::{
    attribute::{Attribute, Paths},
    emit, signature,
    tensor_methods::PREFIX,
    tokens::method_number,
};

/// A type or block of the user's without the names of lifetimes, which free functions do not have.
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

/// What kernels call for one method. The user's method is changed to panic, as a func with tensors does on the host.
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
    let this = this_name(&given);
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
