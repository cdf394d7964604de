//! What is emitted for a func: the user's function, and a type under its name with what kernels call.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{FnArg, ItemFn, ext::IdentExt, spanned::Spanned as _};

use super::{
    Emission,
    fragments::{call_at, func_type, quiet, ungated},
};
use crate::{
    ast::SCALARS,
    attribute::Paths,
    signature::{Param, immutable},
    tensor_methods::is_method,
};

impl Emission<'_> {
    pub(super) fn func(&self) -> TokenStream {
        let ItemFn { attrs, vis, sig, .. } = self.item;
        let (name, output) = (&sig.ident, &sig.output);
        let support = &self.paths.body;
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let arguments = self.generics.arguments();
        let calls = self.call_functions();
        let (source, found) = self.source_item();
        let table = self.site_table();
        let inputs = input_types(sig);
        // By this bound, rustc infers the generic arguments from a function's type. An item that hides the function by
        // its name has the same type at least.
        let of = match is_method(name) {
            true => quote!(#declared __F),
            false => quote!(#declared __F: ::core::ops::Fn(#(#inputs),*) #output),
        };
        let body = if self.signature.takes_tensors() {
            let text = format!("`{name}` takes tensors: it can be called in kernels only");
            let sig = immutable(sig);
            quote!(#[allow(unused_variables)] #vis #sig { ::core::panic!(#text) })
        } else {
            let sig = immutable(sig);
            let names = self.signature.params.iter().map(|param| &param.name);
            quote! {
                #[allow(clippy::used_underscore_binding)]
                #[inline(always)]
                #vis #sig { <#name>::__call::<#arguments>(#(#names),*) }
            }
        };
        let func_type = func_type(vis, name);
        quote! {
            #(#attrs)*
            #body

            #func_type
            // SAFETY: its functions are the func's source and body, made of the same tokens. They have all names that
            // kernels use, so that no other `impl` of the type can have them.
            unsafe impl #support::Func for #name {}
            #table
            impl #name {
                #calls
                #source

                #[allow(unused)]
                #[doc(hidden)]
                pub fn __callee<#declared>() -> #support::Callee #bounds {
                    #support::Callee::Func(#found.0)
                }

                #[allow(unused)]
                #[doc(hidden)]
                pub const fn __callee_of<#of>(
                    _: &#support::Probe<__F>,
                ) -> (fn() -> #support::Callee, &'static #support::Identity) #bounds {
                    (Self::__callee::<#arguments>, Self::__types::<#arguments>())
                }
            }
        }
    }

    /// The name of the type with the sites of a generic func.
    fn sites_name(&self) -> Ident {
        format_ident!("__sites_of_{}", self.item.sig.ident.unraw())
    }

    fn sites_type(&self) -> TokenStream {
        let name = &self.item.sig.ident;
        if self.generics.is_empty() {
            return quote!(#name);
        }
        let (name, arguments) = (self.sites_name(), self.generics.arguments());
        quote!(#name::<#arguments>)
    }

    fn site_table(&self) -> TokenStream {
        let (name, vis, support) = (&self.item.sig.ident, &self.item.vis, &self.paths.body);
        if self.generics.is_empty() {
            return quote! {
                impl #support::SiteTable for #name {
                    const IDENTITIES: &'static [&'static #support::Identity] = <#name>::__FOUND.1;
                }
            };
        }
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let (of, arguments) = (self.sites_name(), self.generics.arguments());
        let item = self.generics.item(&of);
        quote! {
            #[allow(non_camel_case_types)]
            #[doc(hidden)]
            #vis #item
            impl<#declared> #support::SiteTable for #of<#arguments> #bounds {
                const IDENTITIES: &'static [&'static #support::Identity] =
                    <#name>::__found::<#arguments>().1;
            }
        }
    }

    /// The constant with a func's source and identities, and its path. For a generic func it is a function, which each
    /// instantiation evaluates.
    fn source_item(&self) -> (TokenStream, TokenStream) {
        let (source, frontend) = (self.source(), &self.paths.frontend);
        let (path, identities) = self.source_paths();
        let support = &self.paths.body;
        let ty =
            quote!((&'static #frontend::EmittedSource, &'static [&'static #support::Identity]));
        if !self.generics.is_empty() {
            let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
            let arguments = self.generics.arguments();
            let item = quote! {
                #[allow(unused)]
                #[doc(hidden)]
                pub const fn __found<#declared>() -> #ty #bounds {
                    #source
                    (#path, #identities)
                }
            };
            return (item, quote!(Self::__found::<#arguments>()));
        }
        let item = quote! {
            #[allow(unused)]
            #[doc(hidden)]
            const __FOUND: #ty = { #source (#path, #identities) };
        };
        (item, quote!(Self::__FOUND))
    }

    fn call_functions(&self) -> TokenStream {
        let syn::Signature { ident: name, output, .. } = &self.item.sig;
        let Paths { private, body: support, .. } = self.paths;
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let arguments = self.generics.arguments();
        let all = &self.signature.params;
        // Of an error type if a type of the signature is an error, which rustc then reports once.
        let gated = |ty: &syn::Type| match self.generics.is_empty() && !is_primitive(ty) {
            true => quote_spanned!(ty.span()=> #support::Gated<{ <#name>::__SIGNATURE }, #ty>),
            false => ty.to_token_stream(),
        };
        let names: Vec<_> = all.iter().map(|param| &param.name).collect();
        // In CPU bodies, views represent tensors.
        let types = all.iter().map(|param| match (&param.ty, param.is_tensor()) {
            (ty, true) => {
                let ty = gated(ty);
                quote_spanned!(ty.span()=> <#ty as #support::TensorParam>::View)
            }
            (ty, false) => quote!(#ty),
        });
        let types: Vec<_> = types.collect();
        let call_at = call_at(
            support,
            &declared,
            &quote!(#(#names: #types),*),
            (!is_method(name)).then_some(&*input_types(&self.item.sig)),
            output,
            bounds,
            &quote! {
                const {
                    #support::check_site::<__Sites, __SITE>(Self::__types::<#arguments>())
                }
                Self::__call::<#arguments>(#(#names),*)
            },
        );
        let types_of = all.iter().map(|param| match (&param.ty, param.is_tensor()) {
            (ty, true) => {
                let of = quote_spanned!(ty.span()=> <#ty as #support::TensorParam>);
                quote!(#support::TypePart::Type(#of::TYPE_IDENTITY))
            }
            (ty, false) => {
                quote!(#support::TypePart::Type(<#ty as #private::KernelValue>::TYPE_IDENTITY))
            }
        });
        let result = match (output, &self.signature.result) {
            (syn::ReturnType::Default, _) => None,
            (_, Some(ty)) => {
                let of = quote_spanned!(ty.span()=> <#ty as #private::KernelValue>);
                Some(quote!(#support::TypePart::Type(#of::TYPE_IDENTITY)))
            }
            (_, None) => Some(
                quote!(#support::TypePart::Type(<() as #support::FuncResult>::RESULT_IDENTITY)),
            ),
        };
        let gated_output = self.signature.result.as_ref().map(|ty| {
            let ty = gated(ty);
            quote!(-> #ty)
        });
        let tensors = all.iter().filter(|param| param.is_tensor()).map(|Param { ty, .. }| {
            let of = quote_spanned!(ty.span()=> <#ty as #support::TensorParam>);
            quote!(let _ = #of::PARAM;)
        });
        let result_layout = self.signature.result.as_ref().map(|ty| {
            let of = quote_spanned!(ty.span()=> <#ty as #private::KernelValue>);
            quote!(let _ = #of::LAYOUT;)
        });
        let signature_check = self.generics.is_empty().then(|| {
            quote! {
                #[allow(unused)]
                #[doc(hidden)]
                const __SIGNATURE: ::core::primitive::bool = { #(#tensors)* #result_layout true };
            }
        });
        let constants = self.generics.constants();
        let constants = constants
            .map(|name| quote!(#support::TypePart::Number(#name as ::core::primitive::u128)));
        let types_of = types_of.chain(result).chain(constants);
        let params = all.iter().zip(&types).map(|(param, ty)| {
            let name = &param.name;
            let mutable =
                if param.is_tensor() { quote!(mut) } else { quote_spanned!(name.span()=> mut) };
            quote!(#mutable #name: #ty)
        });
        let body = self.rewritten_block(self.sites_type());
        let quiet = quiet();
        let gate = if self.generics.is_empty() {
            quote!(const __OK: ::core::primitive::bool = { let _ = <#name>::__FOUND; true };)
        } else {
            ungated()
        };
        quote! {
            #signature_check
            #call_at

            // The types of a call, as far as they depend on the generic arguments.
            #[allow(unused)]
            #[doc(hidden)]
            pub const fn __types<#declared>() -> &'static #support::Identity #bounds {
                const { &#support::Identity { name: "func", parts: &[#(#types_of),*] } }
            }

            #quiet
            #[allow(dead_code, private_interfaces)]
            #[doc(hidden)]
            #[inline(always)]
            pub fn __call<#declared>(#(#params),*) #gated_output #bounds {
                #gate
                #(let mut #names = #support::gate::<__OK, _>(#names);)*
                #body
            }
        }
    }
}

/// Whether a type is a number or bool by its name, so that no check is needed for readable errors.
pub(super) fn is_primitive(ty: &syn::Type) -> bool {
    let syn::Type::Path(syn::TypePath { qself: None, path, .. }) = ty else { return false };
    path.get_ident().is_some_and(|name| SCALARS.contains(&name.to_string().as_str()))
}

/// The types of a function's parameters.
pub(super) fn input_types(sig: &syn::Signature) -> Vec<&syn::Type> {
    let types = sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(input) => Some(&*input.ty),
        FnArg::Receiver(_) => None,
    });
    types.collect()
}
