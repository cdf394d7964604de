//! `#[func]` on an `impl` block or a trait: its functions can be called in kernels, as methods and by the type's name.
//!
//! The author's block stays, except that its functions call the CPU bodies. The source and the body of each function
//! are in impls for its type, under a number made of the function's name: kernels find them by the type that rustc
//! infers.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quadrants_frontend::{
    is_builtin_function, is_builtin_method,
    syntax::{FunctionKind, ParamPassing},
};
use quote::{ToTokens, quote};
use syn::{
    FnArg, Generics, ImplItem, ImplItemFn, ItemFn, ItemImpl, ItemTrait, Receiver, ReceiverKind,
    ReturnType, Signature, TraitItem, Type, parse_quote,
};

use crate::{
    ast::conversion,
    attribute::{Attribute, Paths},
    desugar,
    emit::{Emission, quiet, ungated},
    generics, hygiene,
    signature::{self, Param, immutable},
    sites,
    spans::located,
    tokens::{idents, internal, method_number, replace_idents},
};

/// An `impl` block, and what kernels call for its functions.
pub(crate) fn expand_impl(attribute: &Attribute, mut block: ItemImpl) -> TokenStream {
    let of = (*block.self_ty).clone();
    let mut emitted = hygiene::keep_inert(&mut block.attrs);
    if block.trait_.is_some() {
        // Only traits with `#[func]` have this item: implementations of other traits do not compile.
        block.items.push(parse_quote!(
            #[doc(hidden)]
            const WRITE_FUNC_ABOVE_THIS_IMPL: () = ();
        ));
    }
    emitted.extend(hygiene::refused_type(&of).map(syn::Error::into_compile_error));
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        emitted.extend(hygiene::keep_inert(&mut method.attrs));
        desugar::func_body(&mut method.block);
        hygiene::make_unambiguous(&mut method.block);
        let tokens = expand_method(attribute, &of, &block.generics, method);
        emitted.extend(tokens.unwrap_or_else(syn::Error::into_compile_error));
    }
    sites::finished(quote!(#block #emitted), &attribute.paths.private)
}

/// A trait whose functions kernels can call. They call what `#[func]` emits for the methods of the type: the
/// supertraits, which are unsafe to implement. So kernels rely on nothing in an `impl` of the trait itself. A hidden
/// item makes an `impl` without `#[func]` an error, because kernels would not call its functions.
pub(crate) fn expand_trait(attribute: &Attribute, mut of: ItemTrait) -> TokenStream {
    let Paths { private, body: support, .. } = &attribute.paths;
    let mut errors = hygiene::keep_inert(&mut of.attrs);
    of.items.push(parse_quote!(
        #[doc(hidden)]
        const WRITE_FUNC_ABOVE_THIS_IMPL: ();
    ));
    of.supertraits.push(parse_quote!(#private::KernelValue));
    for item in &of.items {
        let TraitItem::Fn(method) = item else { continue };
        let refused = refuse_generics(&method.sig).err().or_else(|| {
            let body = method.default.as_ref()?;
            let message = "a func of a trait has no body; write it in each `impl`";
            Some(syn::Error::new_spanned(body, message))
        });
        errors.extend(refused.map(syn::Error::into_compile_error));
        let number = method_number(&method.sig.ident);
        let types = method.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(input) => Some(&input.ty),
            FnArg::Receiver(_) => None,
        });
        let callable = if method.sig.receiver().is_some() { "Method" } else { "Function" };
        let callable = internal(callable);
        let output = output_type(&method.sig.output);
        of.supertraits.push(parse_quote!(#support::HasMethod<#number, Output = #output>));
        of.supertraits.push(parse_quote!(#support::#callable<#number, (#(#types,)*)>));
    }
    sites::finished(quote!(#errors #of), private)
}

fn output_type(output: &ReturnType) -> TokenStream {
    match output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    }
}

/// The error for generic parameters of a method.
fn refuse_generics(sig: &Signature) -> syn::Result<()> {
    match sig.generics.params.first() {
        Some(param) => Err(syn::Error::new_spanned(
            param,
            "a method that is a func can use only the generic parameters of its `impl`; write a `#[func]` by itself",
        )),
        None => Ok(()),
    }
}

/// The error for a name that kernels have already.
fn refuse_name(sig: &Signature) -> syn::Result<()> {
    let text = sig.ident.to_string();
    let mutates = sig.receiver().is_some_and(is_mutable_reference);
    let message = if is_builtin_function(&text) || conversion(&text).is_some() {
        format!("kernels have a built-in `{text}`; give this function another name")
    } else if is_builtin_method(&text) && sig.receiver().is_none() {
        format!(
            "kernels have a built-in method `{text}`; give this function another name, or a `self`"
        )
    } else if is_builtin_method(&text) && mutates {
        format!(
            "kernels have a built-in `{text}`, which changes nothing; take `self`, or give this function another name"
        )
    } else {
        return Ok(());
    };
    Err(syn::Error::new(sig.ident.span(), message))
}

fn is_mutable_reference(receiver: &Receiver) -> bool {
    matches!(receiver.kind, ReceiverKind::Reference(_, _, Some(_)))
}

/// A method as a free function: its item with a parameter `this` for `self`, and its parsed signature.
fn as_function(
    of: &Type,
    generics: &Generics,
    method: &ImplItemFn,
    this: &Ident,
) -> syn::Result<(ItemFn, signature::Signature)> {
    let mut sig = method.sig.clone();
    let receiver = sig.receiver().cloned();
    if receiver.is_some() {
        sig.inputs = sig.inputs.into_iter().skip(1).collect();
    }
    let mut sig: Signature = syn::parse2(without_self(sig.to_token_stream(), this, of))?;
    sig.generics = generics.clone();
    let mut parsed = signature::parse(FunctionKind::Func, &sig)?;
    if let Some(receiver) = receiver {
        let by_reference = match &receiver.kind {
            ReceiverKind::Value | ReceiverKind::Reference(_, None, None) => false,
            ReceiverKind::Reference(_, None, Some(_)) => true,
            _ => {
                let message = "a func takes `self`, `&self` or `&mut self`";
                return Err(syn::Error::new_spanned(receiver, message));
            }
        };
        // By value, so that probes see its type. rustc checks in the author's own block that only `mut` ones change.
        let declared: FnArg = parse_quote!(#[allow(unused_mut)] mut #this: #of);
        sig.inputs.insert(0, declared);
        let param = Param {
            name: this.clone(),
            mutable: receiver.mutability.is_some(),
            passing: ParamPassing::Value,
            by_reference,
            ty: of.clone(),
        };
        parsed.params.insert(0, param);
    }
    if let Some(tensor) = parsed.params.iter().find(|param| param.is_tensor()) {
        let message =
            "a method that is a func takes values; for tensors, write a `#[func]` by itself";
        return Err(syn::Error::new_spanned(&tensor.ty, message));
    }
    let mut item: ItemFn = parse_quote!(
        fn of_type() {}
    );
    item.sig = sig;
    item.block = syn::parse2(without_self(method.block.to_token_stream(), this, of))?;
    Ok((item, parsed))
}

/// What kernels call for one function of an `impl` block: its source for the IR and its CPU body, by impls under its
/// name's number. The author's function is changed to call the same body.
fn expand_method(
    attribute: &Attribute,
    of: &Type,
    generics: &Generics,
    method: &mut ImplItemFn,
) -> syn::Result<TokenStream> {
    refuse_generics(&method.sig)?;
    refuse_name(&method.sig)?;
    let this = unused("this_value", &*method);
    let (mut item, params) = as_function(of, generics, method, &this)?;
    let emission = Emission::new(FunctionKind::Func, attribute, &params, &mut item)?;
    let Paths { body: support, frontend, .. } = &attribute.paths;
    let number = method_number(&method.sig.ident);
    let (source, (path, identities)) = (emission.source(), emission.source_paths());
    let changes = emission.changes_receiver();
    let gate = match generics.params.is_empty() {
        true => {
            quote!(const __OK: ::core::primitive::bool = <#of as #support::HasMethod<#number>>::OK;)
        }
        false => ungated(),
    };
    let generics = generics::Generics::new(generics);
    let (with, bounds) = (generics.declared(), generics.bounds());
    let receiver = method.sig.receiver().cloned();
    let body = emission.rewritten_block(quote!(#support::MethodTable::<#of, #number>));
    let body = if changes { dereferenced(body, &this) } else { body };
    let output = output_type(&method.sig.output);
    let others = &params.params[usize::from(receiver.is_some())..];
    let (names, types): (Vec<_>, Vec<_>) = others.iter().map(|p| (&p.name, &p.ty)).unzip();
    let copied = (receiver.is_some() && !changes).then(|| quote!(let mut #this = *#this;));
    let quiet = quiet();
    let inner = quote! {
        #gate
        #copied
        #body
    };
    let given = internal("given");
    let (callable, params) = match receiver.is_some() {
        true => (internal("Method"), quote!(#this: &mut Self, (#(mut #names,)*): (#(#types,)*))),
        false => (internal("Function"), quote!((#(mut #names,)*): (#(#types,)*))),
    };
    // By path, a method is called with the receiver first, which is a copy.
    let by_path = (receiver.is_some() && !changes).then(|| {
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
    let call = quote!(<Self as #support::Method<#number, (#(#types,)*)>>::call);
    method.block = match receiver.map(|receiver| receiver.kind) {
        Some(_) if changes => parse_quote!({ #call(self, (#(#names,)*)) }),
        Some(ReceiverKind::Value) => {
            parse_quote!({ let mut #given = self; #call(&mut #given, (#(#names,)*)) })
        }
        Some(_) => parse_quote!({ let mut #given = *self; #call(&mut #given, (#(#names,)*)) }),
        None => parse_quote!({
            <Self as #support::Function<#number, (#(#types,)*)>>::call((#(#names,)*))
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
                &'static [&'static #support::Identity],
            )> = ::core::option::Option::Some({ #source (#path, #identities) });
            const MUTATES: ::core::primitive::bool = #changes;
        }
        // SAFETY: made of the same tokens as the source, by the rewriting of all CPU bodies.
        #[diagnostic::do_not_recommend]
        unsafe impl<#with> #support::#callable<#number, (#(#types,)*)> for #of #bounds {
            #quiet
            #[inline(always)]
            fn call(#params) -> #output { #inner }
        }
        #by_path
    })
}

/// A name that tokens do not contain: the tree compares the texts of names.
fn unused(name: &str, tokens: &impl ToTokens) -> Ident {
    let (mut name, used) = (internal(name), idents(tokens));
    while used.contains(&name) {
        name = internal(&format!("{name}_"));
    }
    name
}

/// A type as it can be in expressions: `Pair::<T>`.
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

/// The tokens with `this` for `self` and the type for `Self`, which free functions do not have.
fn without_self(tokens: TokenStream, this: &Ident, of: &Type) -> TokenStream {
    replace_idents(tokens, &|ident, out| {
        if ident == "self" {
            out.push(located(this, ident.span()).into());
        } else if ident == "Self" {
            out.extend(in_expressions(of));
        } else {
            out.push(ident.into());
        }
    })
}

fn dereferenced(tokens: TokenStream, this: &Ident) -> TokenStream {
    replace_idents(tokens, &|ident, out| {
        if ident == *this {
            let mut group = Group::new(Delimiter::Parenthesis, quote!(*#ident));
            group.set_span(ident.span());
            out.push(TokenTree::Group(group));
        } else {
            out.push(ident.into());
        }
    })
}
