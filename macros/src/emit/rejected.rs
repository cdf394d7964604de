//! What is emitted for a function that is rejected.

use proc_macro2::TokenStream;
use quadrants_frontend::syntax::FunctionKind;
use quote::quote;
use syn::ItemFn;

use super::{Paths, header};
use crate::{generics::Generics, signature::Signature};

/// The errors, and the function without its body, so that its callers have nothing to complain of.
pub(super) fn rejected(
    kind: FunctionKind,
    paths: &Paths,
    signature: Option<&Signature>,
    item: &ItemFn,
    error: syn::Error,
) -> TokenStream {
    let errors = error.into_compile_error();
    let function = match (kind, signature) {
        (FunctionKind::Kernel, Some(signature)) => {
            let header = header(paths, signature, item);
            Some(quote!(#[allow(unused_variables)] #header { ::core::unreachable!() }))
        }
        (FunctionKind::Func, Some(_)) => {
            let ItemFn { vis, sig, .. } = item;
            let syn::Signature { ident: name, inputs, output, .. } = sig;
            let generics = Generics::new(&sig.generics);
            let (declared, bounds) = (generics.declared(), generics.bounds());
            let Paths { body: support, .. } = &paths;
            Some(quote! {
                #[allow(unused)]
                #vis #sig { ::core::unreachable!() }
                #[allow(non_camel_case_types)]
                #[doc(hidden)]
                #vis struct #name {}
                // SAFETY: none of its functions is ever called, since this does not compile.
                unsafe impl #support::Func for #name {}
                impl #name {
                    #[allow(unused)]
                    #[doc(hidden)]
                    pub fn __call<#declared>(#inputs) #output #bounds { ::core::unreachable!() }
                    #[allow(unused)]
                    #[doc(hidden)]
                    pub fn __call_at<
                        #declared
                        __Sites: #support::SiteTable,
                        const __SITE: ::core::primitive::usize,
                        const __CHECKED: ::core::primitive::bool,
                    >(
                        _: #support::CallSite<__Sites, __SITE, __CHECKED>,
                        #inputs
                    ) #output #bounds { ::core::unreachable!() }
                    #[allow(unused)]
                    #[doc(hidden)]
                    pub const fn __callee_of<#declared __F>(
                        _: &#support::Probe<__F>,
                    ) -> (fn() -> #support::Callee, ::core::primitive::u128) #bounds {
                        (|| ::core::unreachable!(), 0)
                    }
                }
            })
        }
        (_, None) => None,
    };
    quote!(#errors #function)
}
