//! `#[func]` on an `impl` block: its functions can be called in kernels, as methods and by the type's name.
//!
//! The author's block stays as it is, but for what a processor needs. Beside it, each function's source hangs
//! on its type, under a number made of its name: so a kernel finds it by the type that rustc infers.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quadrants_frontend::{
    is_builtin_function, is_builtin_method,
    syntax::{FunctionKind, ParamPassing},
};
use quote::{ToTokens, quote};
use syn::{
    FnArg, ImplItem, ImplItemFn, ItemFn, ItemImpl, ReceiverKind, Signature, Type, parse_quote,
};

use crate::{
    attribute::Attribute,
    body::{Rewritable, Rewrite},
    emit::{Emission, Paths},
    signature::{self, Param},
    tree::conversion,
};

/// The number of a method's name: FNV-1a.
pub(crate) fn number(name: &Ident) -> u64 {
    number_of(&name.to_string())
}

/// The number of a method's or field's name.
pub(crate) fn number_of(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The block, and the sources of its functions.
pub(crate) fn expand(attribute: &Attribute, mut block: ItemImpl) -> TokenStream {
    let generic = (!block.generics.params.is_empty()).then(|| block.generics.to_token_stream());
    let of_trait = block.trait_.as_ref().map(|(path, _)| path.to_token_stream());
    let refused = of_trait
        .map(|tokens| (tokens, "a func is no function of a trait"))
        .or(generic.map(|tokens| (tokens, "the methods of a generic type cannot be funcs")));
    if let Some((tokens, message)) = refused {
        let error = syn::Error::new_spanned(tokens, message).into_compile_error();
        return quote!(#error #block);
    }
    let of = (*block.self_ty).clone();
    let mut sources = TokenStream::new();
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        match source(attribute, &of, method) {
            Ok(source) => sources.extend(source),
            Err(error) => sources.extend(error.into_compile_error()),
        }
        let support = Paths::new(&attribute.krate).body;
        let body = method.block.clone();
        let body = body.rewritten(&mut Rewrite::new(&support, false));
        method.block = parse_quote!(#body);
        method.attrs.push(parse_quote!(#[inline(always)]));
    }
    quote!(#block #sources)
}

/// What hangs on the type for one function.
fn source(attribute: &Attribute, of: &Type, method: &ImplItemFn) -> syn::Result<TokenStream> {
    let name = &method.sig.ident;
    let text = name.to_string();
    if is_builtin_method(&text) || is_builtin_function(&text) || conversion(&text).is_some() {
        let message = format!("kernels have a `{text}` of their own; give this one another name");
        return Err(syn::Error::new(name.span(), message));
    }
    let this = Ident::new("this", Span::mixed_site());
    let renamed = |tokens: TokenStream| renamed(tokens, &this, of);
    let mut sig: Signature = method.sig.clone();
    let receiver = match sig.inputs.first() {
        Some(FnArg::Receiver(receiver)) => Some(receiver.clone()),
        _ => None,
    };
    let mut others = sig.clone();
    if receiver.is_some() {
        others.inputs = others.inputs.into_iter().skip(1).collect();
    }
    let others: Signature = syn::parse2(renamed(others.to_token_stream()))?;
    let mut params = signature::parse(FunctionKind::Func, &others)?;
    sig = others;
    if let Some(receiver) = receiver {
        let mutable = receiver.mutability;
        let by_reference = match &receiver.kind {
            ReceiverKind::Value | ReceiverKind::Reference(_, None, None) => false,
            ReceiverKind::Reference(_, None, Some(_)) => true,
            _ => {
                let message = "a func takes `self`, `&self` or `&mut self`";
                return Err(syn::Error::new_spanned(receiver, message));
            }
        };
        // By value, so that probes see its type; the author's own block says what may change.
        let declared: FnArg = parse_quote!(#[allow(unused_mut)] mut #this: #of);
        sig.inputs.insert(0, declared);
        params.params.insert(
            0,
            Param {
                name: this.clone(),
                mutable: mutable.is_some(),
                passing: ParamPassing::Value,
                by_reference,
                ty: of.clone(),
            },
        );
    }
    let block: syn::Block = syn::parse2(renamed(method.block.to_token_stream()))?;
    let mut item: ItemFn = parse_quote!(
        fn of_type() {}
    );
    item.sig = sig;
    item.block = Box::new(block);
    let emission = Emission::new(FunctionKind::Func, attribute, params, item)
        .map_err(|rejected| rejected.0)?;
    let paths = Paths::new(&attribute.krate);
    let (support, frontend) = (&paths.body, &paths.frontend);
    let (source, found, number) = (emission.source(), emission.found(), number(name));
    let changes = emission.changes_receiver();
    Ok(quote! {
        #[doc(hidden)]
        #[diagnostic::do_not_recommend]
        impl #support::HasMethod<#number> for #of {
            type Source = #frontend::Source;
            const CHANGES: bool = #changes;
            fn source() -> &'static #frontend::Source {
                #source
                #found
            }
        }
    })
}

/// The tokens with other words for `self` and `Self`, which an item of its own has not.
fn renamed(tokens: TokenStream, this: &Ident, of: &Type) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(ident) if ident == "self" => {
                let mut this = this.clone();
                this.set_span(this.span().located_at(ident.span()));
                this.to_token_stream()
            }
            TokenTree::Ident(ident) if ident == "Self" => of.to_token_stream(),
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), renamed(group.stream(), this, of));
                inner.set_span(group.span());
                TokenTree::Group(inner).into()
            }
            other => other.into(),
        })
        .collect()
}
