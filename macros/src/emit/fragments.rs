//! Tokens that several emitted items share.

use proc_macro2::{Ident, TokenStream};
use quadrants_frontend::syntax::ParamPassing;
use quote::quote;
use syn::{ItemFn, Visibility, WhereClause};

use crate::{
    attribute::Paths,
    generics::Generics,
    signature::{Param, Signature},
};

/// The gate of a generic function. It is always open, because a constant of the function cannot depend on its type
/// parameters. So rustc may report errors in its body twice.
pub(crate) fn ungated() -> TokenStream {
    quote!(
        const __OK: ::core::primitive::bool = true;
    )
}

/// Silences lints that rustc reports in the type-inference copy, where the user's lint levels apply. Lints for unused
/// names stay: in that copy, the probes use all names.
pub(crate) fn quiet() -> TokenStream {
    quote! {
        #[allow(
            deprecated, nonstandard_style, path_statements, trivial_casts, trivial_numeric_casts,
            unreachable_code, unused_braces, unused_comparisons, unused_labels, unused_must_use,
            unused_mut, unused_parens, unused_qualifications, unused_unsafe, clippy::all,
            clippy::pedantic
        )]
    }
}

/// A kernel's function as its callers see it, up to its body.
pub(super) fn header(paths: &Paths, signature: &Signature, item: &ItemFn) -> TokenStream {
    let private = &paths.private;
    let ItemFn { attrs, vis, sig, .. } = item;
    let name = &sig.ident;
    let generics = Generics::new(&sig.generics);
    let (declared, bounds) = (generics.declared(), generics.bounds());
    let declared = (!generics.is_empty()).then(|| quote!(, #declared));
    let params = signature.params.iter().map(|Param { name, passing, ty, .. }| match passing {
        ParamPassing::Value => quote!(#name: #ty),
        ParamPassing::Ref | ParamPassing::RefDistinct => quote!(#name: &'launch #ty),
        ParamPassing::RefMut => quote!(#name: &'launch mut #ty),
    });
    let result = signature.result.as_ref().map_or_else(|| quote!(()), |ty| quote!(#ty));
    quote! {
        #(#attrs)*
        #vis fn #name<'launch #declared>(#(#params),*) -> #private::Launch<'launch, #result> #bounds
    }
}

/// The type that `#[func]` emits under the name of a func.
pub(super) fn func_type(visibility: &Visibility, name: &Ident) -> TokenStream {
    quote! {
        #[allow(non_camel_case_types)]
        #[doc(hidden)]
        #visibility struct #name {}
    }
}

/// The function that kernels call for a func.
pub(super) fn call_at(
    support: &TokenStream,
    declared: &TokenStream,
    params: &TokenStream,
    inputs: Option<&[&syn::Type]>,
    output: &syn::ReturnType,
    bounds: Option<&WhereClause>,
    body: &TokenStream,
) -> TokenStream {
    let function = inputs.map(|inputs| quote!(: ::core::ops::Fn(#(#inputs),*) #output));
    // Where generic arguments are written, the site cannot be among them; it is in the first argument.
    quote! {
        #[allow(unused, clippy::too_many_arguments)]
        #[doc(hidden)]
        #[inline(always)]
        pub fn __call_at<
            #declared
            __Sites: #support::SiteTable,
            const __SITE: ::core::primitive::usize,
            __F #function,
        >(
            _: #support::CallSite<__Sites, __SITE, __F>,
            #params
        ) #output #bounds { #body }
    }
}
