//! Type and const parameters, as emitted code repeats them.
//!
//! An item inside a function cannot use the function's parameters. So the constants of a generic function are
//! associated constants of a type with the same parameters, `__Of<…>`: one set per instantiation.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{GenericParam, WhereClause};

/// The parameters of a function, or those of the `impl` block of a method.
pub(crate) struct Generics {
    params: Vec<GenericParam>,
    bounds: Option<WhereClause>,
}

impl Generics {
    pub(crate) fn new(of: &syn::Generics) -> Self {
        let mut params: Vec<_> = of.params.iter().cloned().collect();
        for param in &mut params {
            match param {
                GenericParam::Type(param) => param.default = None,
                GenericParam::Const(param) => param.default = None,
                GenericParam::Lifetime(_) => {}
            }
        }
        Self { params, bounds: of.where_clause.clone() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.params.is_empty()
    }

    /// `T: Float, const N: usize,`
    pub(crate) fn declared(&self) -> TokenStream {
        self.params.iter().map(|param| quote!(#param,)).collect()
    }

    /// `T, N,`
    pub(crate) fn arguments(&self) -> TokenStream {
        let names = self.params.iter().map(|param| match param {
            GenericParam::Type(param) => param.ident.to_token_stream(),
            GenericParam::Const(param) => param.ident.to_token_stream(),
            GenericParam::Lifetime(param) => param.lifetime.to_token_stream(),
        });
        quote!(#(#names,)*)
    }

    /// The names of the const parameters.
    pub(crate) fn constants(&self) -> impl Iterator<Item = &Ident> {
        self.params.iter().filter_map(|param| match param {
            GenericParam::Const(param) => Some(&param.ident),
            _ => None,
        })
    }

    pub(crate) fn bounds(&self) -> Option<&WhereClause> {
        self.bounds.as_ref()
    }

    /// The type `__Of<…>` with these parameters, as a path.
    pub(crate) fn carrier(&self) -> TokenStream {
        let arguments = self.arguments();
        quote!(__Of::<#arguments>)
    }

    /// The declaration of `__Of<…>`.
    pub(crate) fn carrier_item(&self) -> TokenStream {
        self.item(&Ident::new("__Of", Span::call_site()))
    }

    /// The declaration of a type with these parameters.
    pub(crate) fn item(&self, name: &Ident) -> TokenStream {
        let params = self.params.iter().map(|param| match param {
            GenericParam::Type(param) => param.ident.to_token_stream(),
            other => other.to_token_stream(),
        });
        let types = self.params.iter().filter_map(|param| match param {
            GenericParam::Type(param) => Some(&param.ident),
            _ => None,
        });
        quote! {
            struct #name<#(#params),*>(::core::marker::PhantomData<(#(#types,)*)>);
        }
    }
}
