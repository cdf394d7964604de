//! What is emitted for a function that is rejected.

use proc_macro2::TokenStream;
use quadrants_frontend::syntax::FunctionKind;
use quote::quote;
use syn::ItemFn;

use super::{
    fragments::{call_at, func_type, header},
    func::input_types,
};
use crate::{
    attribute::Paths, generics::Generics, signature::Signature, tensor_methods::is_method,
};

/// The errors, and the function without its body, so that rustc reports none in its callers.
pub(super) fn rejected(
    kind: FunctionKind,
    paths: &Paths,
    signature: Option<&Signature>,
    item: &ItemFn,
    error: syn::Error,
) -> TokenStream {
    let errors = error.into_compile_error();
    let function = signature.map(|signature| match kind {
        FunctionKind::Kernel => {
            let header = header(paths, signature, item);
            quote!(#[allow(unused_variables)] #header { ::core::unreachable!() })
        }
        FunctionKind::Func => func(paths, item),
    });
    quote!(#errors #function)
}

fn func(Paths { body: support, .. }: &Paths, item: &ItemFn) -> TokenStream {
    let ItemFn { vis, sig, .. } = item;
    let syn::Signature { ident: name, inputs, output, .. } = sig;
    let generics = Generics::new(&sig.generics);
    let (declared, bounds) = (generics.declared(), generics.bounds());
    let unreachable = quote!(::core::unreachable!());
    let (params, types) = (quote!(#inputs), input_types(sig));
    let inputs_of = (!is_method(name)).then_some(&*types);
    let call_at = call_at(support, &declared, &params, inputs_of, output, bounds, &unreachable);
    let func_type = func_type(vis, name);
    quote! {
        #[allow(unused)]
        #vis #sig { #unreachable }
        #func_type
        // SAFETY: none of its functions is ever called, because this does not compile.
        unsafe impl #support::Func for #name {}
        impl #name {
            #[allow(unused)]
            #[doc(hidden)]
            pub fn __call<#declared>(#inputs) #output #bounds { #unreachable }
            #call_at
            #[allow(unused)]
            #[doc(hidden)]
            pub fn __callee<#declared>() -> #support::Callee #bounds { #unreachable }
            #[allow(unused)]
            #[doc(hidden)]
            pub const fn __types<#declared>() -> &'static #support::Identity #bounds {
                #support::Identity::STATED
            }
            #[allow(unused)]
            #[doc(hidden)]
            pub const fn __callee_of<#declared __F>(
                _: &#support::Probe<__F>,
            ) -> (fn() -> #support::Callee, &'static #support::Identity) #bounds {
                (|| #unreachable, #support::Identity::STATED)
            }
        }
    }
}
