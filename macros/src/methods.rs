//! `#[func]` on an `impl` block: its functions can be called in kernels, as methods and by the type's name.
//!
//! The author's block stays as it is, but for what a processor needs. Beside it, each function's source hangs
//! on its type, under a number made of its name: so a kernel finds it by the type that rustc infers.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quadrants_frontend::{
    is_builtin_function, is_builtin_method, name_number,
    syntax::{FunctionKind, ParamPassing},
};
use quote::{ToTokens, quote};
use syn::{
    FnArg, ImplItem, ImplItemFn, ItemFn, ItemImpl, ItemTrait, ReceiverKind, ReturnType, Signature,
    TraitItem, Type, parse_quote,
};

use crate::{
    attribute::Attribute,
    body::{Rewritable, Rewrite, internal},
    emit::{Emission, Paths, quiet, ungated},
    generics::Generics,
    hygiene,
    signature::{self, Param},
    sites,
    tree::conversion,
};

/// The number of a method's name.
pub(crate) fn number(name: &Ident) -> u64 {
    use syn::ext::IdentExt;
    name_number(&name.unraw().to_string())
}

/// The block, and what kernels call for its functions.
pub(crate) fn expand(attribute: &Attribute, mut block: ItemImpl) -> TokenStream {
    let of = (*block.self_ty).clone();
    let mut emitted = hygiene::inert(&mut block.attrs);
    if block.trait_.is_some() {
        // No other trait has this item, so that this attribute makes nothing of theirs.
        block.items.push(parse_quote!(
            #[doc(hidden)]
            const WRITE_FUNC_ABOVE_THIS_IMPL: () = ();
        ));
    }
    emitted.extend(hygiene::refused_type(&of).map(syn::Error::into_compile_error));
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        emitted.extend(hygiene::inert(&mut method.attrs));
        hygiene::unambiguous(&mut method.block);
        match of_type(attribute, &of, &block.generics, method) {
            Ok(tokens) => emitted.extend(tokens),
            Err(error) => emitted.extend(error.into_compile_error()),
        }
    }
    sites::finished(quote!(#block #emitted), &Paths::new(&attribute.krate).private)
}

/// A signature whose parameters are not `mut`.
pub(crate) fn immutable(sig: &Signature) -> Signature {
    let mut sig = sig.clone();
    for input in &mut sig.inputs {
        match input {
            FnArg::Receiver(receiver) => receiver.mutability = None,
            FnArg::Typed(input) => {
                if let syn::Pat::Ident(of) = &mut *input.pat {
                    of.mutability = None;
                }
            }
        }
    }
    sig
}

/// A trait whose functions kernels can call. What they call is what `#[func]` emits for the methods of the type: the
/// supertraits, which are unsafe to implement. So an `impl` of the trait promises nothing. A hidden item keeps one
/// without `#[func]` from compiling, since kernels would not call what is written there.
pub(crate) fn expand_trait(attribute: &Attribute, mut of: ItemTrait) -> TokenStream {
    let Paths { private, body: support, .. } = Paths::new(&attribute.krate);
    let mut errors = hygiene::inert(&mut of.attrs);
    of.items.push(parse_quote!(
        #[doc(hidden)]
        const WRITE_FUNC_ABOVE_THIS_IMPL: ();
    ));
    of.supertraits.push(parse_quote!(#private::KernelValue));
    for item in &of.items {
        let TraitItem::Fn(method) = item else { continue };
        let refused = no_parameters(&method.sig).err().or_else(|| {
            let body = method.default.as_ref()?;
            let message = "a func of a trait has no body; write it in each `impl`";
            Some(syn::Error::new_spanned(body, message))
        });
        errors.extend(refused.map(syn::Error::into_compile_error));
        let number = number(&method.sig.ident);
        let has_receiver = matches!(method.sig.inputs.first(), Some(FnArg::Receiver(_)));
        let types = method.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(input) => Some(&input.ty),
            FnArg::Receiver(_) => None,
        });
        let called =
            Ident::new(if has_receiver { "Method" } else { "Function" }, Span::mixed_site());
        let output = output_of(&method.sig.output);
        of.supertraits.push(parse_quote!(#support::HasMethod<#number, Output = #output>));
        of.supertraits.push(parse_quote!(#support::#called<#number, (#(#types,)*)>));
    }
    sites::finished(quote!(#errors #of), &private)
}

fn output_of(output: &ReturnType) -> TokenStream {
    match output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
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

/// What kernels call for one function of an `impl` block: its source for the IR and its body for the CPU, by one impl
/// under its name. The author's function calls that body too.
fn of_type(
    attribute: &Attribute,
    of: &Type,
    generics: &syn::Generics,
    method: &mut ImplItemFn,
) -> syn::Result<TokenStream> {
    let name = method.sig.ident.clone();
    no_parameters(&method.sig)?;
    refuse_name(&method.sig)?;
    let this = unused("this_value", &method.to_token_stream());
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
    for param in &params.params {
        if param.passing != ParamPassing::Value {
            let message =
                "a method that is a func takes values; for tensors, write a `#[func]` by itself";
            return Err(syn::Error::new_spanned(&param.ty, message));
        }
    }
    let block: syn::Block = syn::parse2(renamed(method.block.to_token_stream()))?;
    let mut item: ItemFn = parse_quote!(
        fn of_type() {}
    );
    item.sig = sig;
    item.block = Box::new(block);
    let declared: Vec<Param> = params.params.iter().map(Param::clone).collect();
    let emission = Emission::new(FunctionKind::Func, attribute, params, item)
        .map_err(|rejected| rejected.0)?;
    let body = emission.block();
    let paths = Paths::new(&attribute.krate);
    let support = &paths.body;
    let (source, found, number) = (emission.source(), emission.found(), number(&name));
    let (identities, frontend) = (emission.identities(), &paths.frontend);
    let changes = emission.changes_receiver();
    let is_generic = !generics.params.is_empty();
    let generics = Generics::new(generics);
    let (with, bounds) = (generics.declared(), generics.bounds());
    let has_receiver = matches!(method.sig.inputs.first(), Some(FnArg::Receiver(_)));
    let mut rewrite =
        Rewrite::new(support, emission.typing(quote!(#support::MethodTable::<#of, #number>)));
    rewrite.locals = declared.iter().map(|param| param.name.clone()).collect();
    let body = body.rewritten(&mut rewrite);
    let body = if changes { dereferenced(body, &this) } else { body };
    let gate = match is_generic {
        true => ungated(),
        false => {
            quote!(const __OK: ::core::primitive::bool = <#of as #support::HasMethod<#number>>::OK;)
        }
    };
    let output = output_of(&method.sig.output);
    let others = &declared[usize::from(has_receiver)..];
    let (names, types): (Vec<_>, Vec<_>) = others.iter().map(|p| (&p.name, &p.ty)).unzip();
    let copied = (has_receiver && !changes).then(|| quote!(let mut #this = *#this;));
    let quiet = quiet();
    let inner = quote! {
        #gate
        const __CHECKED: ::core::primitive::bool = true;
        #copied
        #body
    };
    let given = internal("given");
    let called = if has_receiver {
        // By path it is called with the receiver first, which is a copy.
        let as_function = (!changes).then(|| {
            quote! {
                // SAFETY: it is the method.
                #[diagnostic::do_not_recommend]
                unsafe impl<#with> #support::Function<#number, (Self, #(#types,)*)> for #of #bounds {
                    #[inline(always)]
                    fn call((mut #given, #(#names,)*): (Self, #(#types,)*)) -> #output {
                        <Self as #support::Method<#number, (#(#types,)*)>>::call(&mut #given, (#(#names,)*))
                    }
                }
            }
        });
        quote! {
            // SAFETY: made of the same tokens as the source, by the one rewriting.
            #[diagnostic::do_not_recommend]
            unsafe impl<#with> #support::Method<#number, (#(#types,)*)> for #of #bounds {
                #quiet
                #[inline(always)]
                fn call(#this: &mut Self, (#(mut #names,)*): (#(#types,)*)) -> #output { #inner }
            }
            #as_function
        }
    } else {
        quote! {
            // SAFETY: made of the same tokens as the source, by the one rewriting.
            #[diagnostic::do_not_recommend]
            unsafe impl<#with> #support::Function<#number, (#(#types,)*)> for #of #bounds {
                #quiet
                #[inline(always)]
                fn call((#(mut #names,)*): (#(#types,)*)) -> #output { #inner }
            }
        }
    };
    let receiver = method.sig.inputs.first().and_then(|input| match input {
        FnArg::Receiver(receiver) => Some(receiver),
        FnArg::Typed(_) => None,
    });
    let of_method = quote!(<Self as #support::Method<#number, (#(#types,)*)>>::call);
    let own: Vec<_> = others.iter().map(|param| &param.name).collect();
    method.block = match receiver.map(|receiver| (&receiver.kind, changes)) {
        Some((_, true)) => parse_quote!({ #of_method(self, (#(#own,)*)) }),
        Some((ReceiverKind::Value, false)) => {
            parse_quote!({ let mut #given = self; #of_method(&mut #given, (#(#own,)*)) })
        }
        Some(_) => parse_quote!({ let mut #given = *self; #of_method(&mut #given, (#(#own,)*)) }),
        None => parse_quote!({
            <Self as #support::Function<#number, (#(#types,)*)>>::call((#(#own,)*))
        }),
    };
    method.sig = immutable(&method.sig);
    method.attrs.push(parse_quote!(#[allow(clippy::used_underscore_binding)]));
    method.attrs.push(parse_quote!(#[inline(always)]));
    Ok(quote! {
        // SAFETY: the source is made of the same tokens as the body below.
        #[doc(hidden)]
        #[diagnostic::do_not_recommend]
        unsafe impl<#with> #support::HasMethod<#number> for #of #bounds {
            type Output = #output;
            const SOURCE: ::core::option::Option<(
                &'static #frontend::Source,
                &'static [::core::primitive::u128],
            )> = ::core::option::Option::Some({ #source (#found, #identities) });
            const MUTATES: ::core::primitive::bool = #changes;
        }
        #called
    })
}

/// The names that a func of a type cannot have.
fn refuse_name(sig: &Signature) -> syn::Result<()> {
    let name = &sig.ident;
    let text = name.to_string();
    let mutates = matches!(sig.inputs.first(), Some(FnArg::Receiver(receiver))
        if matches!(receiver.kind, ReceiverKind::Reference(_, _, Some(_))));
    let has_receiver = matches!(sig.inputs.first(), Some(FnArg::Receiver(_)));
    let message = if is_builtin_function(&text) || conversion(&text).is_some() {
        format!("kernels have a `{text}` of their own; give this one another name")
    } else if is_builtin_method(&text) && !has_receiver {
        format!(
            "kernels have a method `{text}` of their own; give this function another name, or a `self`"
        )
    } else if is_builtin_method(&text) && mutates {
        format!(
            "kernels have a `{text}` of their own, which changes nothing; take `self`, or give this one another name"
        )
    } else {
        return Ok(());
    };
    Err(syn::Error::new(name.span(), message))
}

/// The tokens with `(*this)` for `this`.
fn dereferenced(tokens: TokenStream, this: &Ident) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Ident(ident) if ident == *this => {
                let mut inner = Group::new(Delimiter::Parenthesis, quote!(*#ident));
                inner.set_span(ident.span());
                TokenTree::Group(inner)
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), dereferenced(group.stream(), this));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            other => other,
        })
        .collect()
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
