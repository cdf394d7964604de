//! The attributes' own arguments.

use proc_macro2::TokenStream;
use quadrants_frontend::syntax::{FunctionKind, Options};
use quote::ToTokens;
use syn::{Meta, Token, parse::Parser, punctuated::Punctuated};

/// What an attribute asks for.
pub(crate) struct Attribute {
    pub(crate) options: Options,
    /// The facade crate.
    pub(crate) krate: syn::Path,
}

pub(crate) fn parse(kind: FunctionKind, arguments: TokenStream) -> syn::Result<Attribute> {
    let mut attribute =
        Attribute { options: Options::default(), krate: syn::parse_quote!(::quadrants) };
    // `crate` is a keyword, which `Meta` takes as a path all the same.
    let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
    for meta in parser.parse2(arguments)? {
        let kernel = kind == FunctionKind::Kernel;
        match &meta {
            Meta::Path(path) if kernel && path.is_ident("strict") => {
                attribute.options.strict = true
            }
            Meta::Path(path) if kernel && path.is_ident("fast_math") => {
                attribute.options.fast_math = true;
            }
            Meta::NameValue(value) if value.path.is_ident("crate") => {
                attribute.krate = syn::parse2(value.value.to_token_stream())?;
            }
            _ => {
                let known = match kind {
                    FunctionKind::Kernel => "`strict`, `fast_math` and `crate = path`",
                    FunctionKind::Func => "`crate = path`",
                };
                return Err(syn::Error::new_spanned(
                    &meta,
                    format!("unknown argument; this attribute takes {known}"),
                ));
            }
        }
    }
    if attribute.options.strict && attribute.options.fast_math {
        return Err(syn::Error::new(
            proc_macro2::Span::call_site(),
            "`strict` and `fast_math` exclude each other",
        ));
    }
    Ok(attribute)
}
