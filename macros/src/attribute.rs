//! The arguments of the attributes and derives, and the paths of the facade crate.

use proc_macro2::TokenStream;
use quadrants_frontend::syntax::{FunctionKind, Options};
use quote::{ToTokens, quote};
use syn::{DeriveInput, Meta, Path, Token, parse::Parser, parse_quote, punctuated::Punctuated};

/// The arguments of `#[kernel]` or `#[func]`.
pub(crate) struct Attribute {
    pub(crate) options: Options,
    pub(crate) paths: Paths,
}

/// Paths of what emitted code uses of the facade crate.
#[derive(Clone)]
pub(crate) struct Paths {
    pub(crate) private: TokenStream,
    /// The support code of CPU bodies.
    pub(crate) body: TokenStream,
    pub(crate) frontend: TokenStream,
}

/// The argument of a derive for a struct with the operators of complex numbers.
const COMPLEX: &str = "complex";

/// Whether a derive's attribute is `#[device(complex)]`.
pub(crate) fn is_complex(input: &DeriveInput) -> bool {
    let arguments = Punctuated::<Meta, Token![,]>::parse_terminated;
    let attributes = input.attrs.iter().filter(|attribute| attribute.path().is_ident("device"));
    let mut metas = attributes.filter_map(|attribute| attribute.parse_args_with(arguments).ok());
    metas.any(|metas| metas.iter().any(|meta| meta.path().is_ident(COMPLEX)))
}

impl Paths {
    fn new(krate: &Path) -> Self {
        let private = quote!(#krate::macro_support);
        Self { body: quote!(#private::body), frontend: quote!(#private::frontend), private }
    }

    /// The paths for a derive, whose attribute is `#[device(crate = path)]`.
    pub(crate) fn of_derive(input: &DeriveInput) -> syn::Result<Self> {
        let mut krate = parse_quote!(::quadrants);
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("device"))
        {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("crate") {
                    krate = meta.value()?.parse()?;
                    Ok(())
                } else if meta.path.is_ident(COMPLEX) {
                    Ok(())
                } else {
                    Err(meta.error("the only argument is `crate = path`"))
                }
            })?;
        }
        Ok(Self::new(&krate))
    }
}

pub(crate) fn parse(kind: FunctionKind, arguments: TokenStream) -> syn::Result<Attribute> {
    let mut options = Options::default();
    let mut krate: Path = parse_quote!(::quadrants);
    let kernel = kind == FunctionKind::Kernel;
    // `Meta` accepts the keyword `crate` as a path.
    let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
    for meta in parser.parse2(arguments)? {
        match &meta {
            Meta::Path(path) if kernel && path.is_ident("strict") => options.strict = true,
            Meta::Path(path) if kernel && path.is_ident("fast_math") => options.fast_math = true,
            Meta::NameValue(value) if value.path.is_ident("crate") => {
                krate = syn::parse2(value.value.to_token_stream())?;
            }
            _ => {
                let known = match kind {
                    FunctionKind::Kernel => "`strict`, `fast_math` and `crate = path`",
                    FunctionKind::Func => "`crate = path`",
                };
                let message = format!("unknown argument; this attribute takes {known}");
                return Err(syn::Error::new_spanned(&meta, message));
            }
        }
    }
    if options.strict && options.fast_math {
        let call_site = proc_macro2::Span::call_site();
        return Err(syn::Error::new(
            call_site,
            "`strict` and `fast_math` exclude each other; leave one of them out",
        ));
    }
    Ok(Attribute { options, paths: Paths::new(&krate) })
}
