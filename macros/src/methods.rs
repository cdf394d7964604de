//! `#[func]` on an `impl` block: its functions can be called in kernels, as methods and by the type's name.
//!
//! The author's block stays as it is, but for what a processor needs. Beside it, each function's source hangs
//! on its type, under a number made of its name: so a kernel finds it by the type that rustc infers.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quadrants_frontend::{
    is_builtin_function, is_builtin_method, name_number,
    syntax::{FunctionKind, ParamPassing},
};
use quote::{ToTokens, quote};
use syn::{
    FnArg, ImplItem, ImplItemFn, ItemFn, ItemImpl, ItemTrait, Pat, ReceiverKind, Signature,
    TraitItem, Type, ext::IdentExt, parse_quote,
};

use crate::{
    attribute::Attribute,
    body::{Rewritable, Rewrite, internal},
    emit::{Emission, Paths, in_scope, quiet, ungated},
    generics::Generics,
    reading,
    signature::{self, Param},
    tree::conversion,
};

/// The number of a method's name.
pub(crate) fn number(name: &Ident) -> u64 {
    name_number(&name.to_string())
}

/// The block, and the sources of its functions.
pub(crate) fn expand(attribute: &Attribute, mut block: ItemImpl) -> TokenStream {
    let of = (*block.self_ty).clone();
    let (mut sources, mut twins) = (reading::inert(&mut block.attrs), TokenStream::new());
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        sources.extend(reading::inert(&mut method.attrs));
        reading::unambiguous(&mut method.block);
        match source(attribute, &of, &block.generics, method) {
            Ok(source) => {
                sources.extend(source);
                twins.extend(twin_of(attribute, &of, &block.generics, method));
            }
            Err(error) => sources.extend(error.into_compile_error()),
        }
    }
    let (generics, bounds) = (Generics::new(&block.generics), &block.generics.where_clause);
    let declared = generics.declared();
    quote!(#block #sources impl<#declared> #of #bounds { #twins })
}

/// What kernels call in a func's place: of another name, so that no method of a trait, and none of the type
/// beside a trait's func, is called instead.
pub(crate) fn twin(name: &Ident) -> Ident {
    Ident::new(&format!("__func_{}", name.unraw()), name.span())
}

/// The twin of a func, which has its body; the func calls it.
fn twin_of(
    attribute: &Attribute,
    of: &Type,
    generics: &syn::Generics,
    method: &mut ImplItemFn,
) -> TokenStream {
    let support = Paths::new(&attribute.krate).body;
    let (name, number) = (twin(&method.sig.ident), number(&method.sig.ident));
    let body = method.block.clone().rewritten(&mut Rewrite::new(&support));
    let (quiet, in_scope) = (quiet(), in_scope(&support));
    let gate = if generics.params.is_empty() {
        quote!(const __OK: bool = <#of as #support::HasMethod<#number>>::OK;)
    } else {
        ungated()
    };
    let mut sig = method.sig.clone();
    sig.ident = name.clone();
    let names = method.sig.inputs.iter().map(|input| match input {
        FnArg::Receiver(receiver) => receiver.self_token.to_token_stream(),
        FnArg::Typed(input) => match &*input.pat {
            Pat::Ident(of) => of.ident.to_token_stream(),
            other => other.to_token_stream(),
        },
    });
    method.block = parse_quote!({ Self::#name(#(#names),*) });
    method.sig = immutable(&method.sig);
    method.attrs.push(parse_quote!(#[allow(clippy::used_underscore_binding)]));
    method.attrs.push(parse_quote!(#[inline(always)]));
    quote! {
        #quiet
        #[allow(dead_code, private_interfaces)]
        #[doc(hidden)]
        #[inline(always)]
        pub #sig {
            #gate
            const __CHECKED: bool = true;
            #in_scope
            #body
        }
    }
}

/// A signature whose parameters are not `mut`.
pub(crate) fn immutable(sig: &Signature) -> Signature {
    let mut sig = sig.clone();
    for input in &mut sig.inputs {
        match input {
            FnArg::Receiver(receiver) => receiver.mutability = None,
            FnArg::Typed(input) => {
                if let Pat::Ident(of) = &mut *input.pat {
                    of.mutability = None;
                }
            }
        }
    }
    sig
}

/// A trait whose functions kernels can call: who implements it, by a block with `#[func]`, gives their sources.
pub(crate) fn expand_trait(attribute: &Attribute, mut of: ItemTrait) -> TokenStream {
    let Paths { private, body: support, frontend } = Paths::new(&attribute.krate);
    let (mut errors, mut twins) = (TokenStream::new(), Vec::new());
    of.supertraits.push(parse_quote!(#private::Device));
    for item in &of.items {
        let TraitItem::Fn(method) = item else { continue };
        let refused = no_parameters(&method.sig).err().or_else(|| {
            let body = method.default.as_ref()?;
            let message = "a func of a trait has no body; write it in each `impl`";
            Some(syn::Error::new_spanned(body, message))
        });
        errors.extend(refused.map(syn::Error::into_compile_error));
        let number = number(&method.sig.ident);
        twins.push(twin_of_trait(method));
        of.supertraits.push(parse_quote!(#support::HasMethod<#number, Source = #frontend::Source>));
    }
    of.items.extend(twins);
    quote!(#errors #of)
}

/// The twin of a trait's func, which calls what implements it.
fn twin_of_trait(method: &syn::TraitItemFn) -> TraitItem {
    let name = &method.sig.ident;
    let mut sig = method.sig.clone();
    sig.ident = twin(name);
    let mut names = Vec::with_capacity(sig.inputs.len());
    for (at, input) in sig.inputs.iter_mut().enumerate() {
        names.push(match input {
            FnArg::Receiver(receiver) => receiver.self_token.to_token_stream(),
            FnArg::Typed(input) => {
                let name = internal(&format!("argument{at}"));
                *input.pat = parse_quote!(#name);
                name.to_token_stream()
            }
        });
    }
    parse_quote! {
        #[allow(dead_code, private_interfaces)]
        #[doc(hidden)]
        #[inline(always)]
        #sig { Self::#name(#(#names),*) }
    }
}

fn no_parameters(sig: &Signature) -> syn::Result<()> {
    match sig.generics.params.first() {
        Some(param) => Err(syn::Error::new_spanned(
            param,
            "a method that is a func has no generic parameters but those of its `impl`; write a `#[func]` by itself",
        )),
        None => Ok(()),
    }
}

/// A type as it can stand in expressions too: `Pair::<T>`.
fn in_expressions(of: &Type) -> TokenStream {
    let Type::Path(of) = of else { return of.to_token_stream() };
    let mut of = of.clone();
    for segment in &mut of.path.segments {
        if let syn::PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
            arguments.colon2_token = Some(Default::default());
        }
    }
    of.to_token_stream()
}

/// What hangs on the type for one function.
fn source(
    attribute: &Attribute,
    of: &Type,
    generics: &syn::Generics,
    method: &ImplItemFn,
) -> syn::Result<TokenStream> {
    let name = &method.sig.ident;
    let text = name.to_string();
    no_parameters(&method.sig)?;
    if is_builtin_method(&text) || is_builtin_function(&text) || conversion(&text).is_some() {
        let message = format!("kernels have a `{text}` of their own; give this one another name");
        return Err(syn::Error::new(name.span(), message));
    }
    let this = unused("this", &method.to_token_stream());
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
    let mut others: Signature = syn::parse2(renamed(others.to_token_stream()))?;
    others.generics = generics.clone();
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
    let generics = Generics::new(generics);
    let (declared, bounds) = (generics.declared(), generics.bounds());
    Ok(quote! {
        #[doc(hidden)]
        #[diagnostic::do_not_recommend]
        impl<#declared> #support::HasMethod<#number> for #of #bounds {
            type Source = #frontend::Source;
            const CHANGES: bool = #changes;
            const SOURCE: &'static #frontend::Source = { #source #found };
        }
    })
}

/// A name that tokens do not have: the tree knows names by their text alone.
fn unused(name: &str, tokens: &TokenStream) -> Ident {
    let name = Ident::new(name, Span::mixed_site());
    match has(tokens, &name) {
        true => unused(&format!("{name}_"), tokens),
        false => name,
    }
}

fn has(tokens: &TokenStream, name: &Ident) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => has(&group.stream(), name),
        _ => false,
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
            TokenTree::Ident(ident) if ident == "Self" => in_expressions(of),
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), renamed(group.stream(), this, of));
                inner.set_span(group.span());
                TokenTree::Group(inner).into()
            }
            other => other.into(),
        })
        .collect()
}
