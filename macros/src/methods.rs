//! `#[func]` on an `impl` block or a trait: its functions can be called in kernels, as methods and by the type's name.
//!
//! The user's block stays, except that its functions call the CPU bodies. The source and the body of each function
//! are in impls for its type, under a number made of the function's name: kernels find them by the type that rustc
//! infers.

mod of_tensors;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quadrants_frontend::{
    is_builtin_method,
    syntax::{FunctionKind, ParamPassing},
};
use quote::{ToTokens, quote, quote_spanned};
use syn::{
    Expr, FnArg, Generics, ImplItem, ImplItemFn, ItemFn, ItemImpl, ItemTrait, Receiver,
    ReceiverKind, ReturnType, Signature, TraitItem, Type, parse_quote,
    visit_mut::{self, VisitMut},
};

use crate::{
    ast::{Invocation, conversion, unparenthesized},
    attribute::{Attribute, Paths},
    desugar,
    emit::{Emission, quiet, ungated},
    generics, hygiene, marks,
    signature::{self, Param, immutable},
    spans::located,
    tensor_methods,
    tokens::{idents, internal, method_number, replace_idents},
};

/// An `impl` block, and what kernels call for its functions.
pub(crate) fn expand_impl(attribute: &Attribute, mut block: ItemImpl) -> TokenStream {
    let of = (*block.self_ty).clone();
    let mut emitted = hygiene::keep_inert(&mut block.attrs);
    let of_tensors = tensor_methods::is_of_tensors(&block);
    if let Some(error) = of_tensors.then(|| of_tensors::refused(&block)).flatten() {
        return error.into_compile_error();
    }
    if let Some(error) = refused_impl(&block) {
        return error.into_compile_error();
    }
    let of_trait = block.trait_.is_some().then(|| by_type(&block));
    if let Some(by) = &of_trait {
        emitted.extend(by_item(by));
        // Only traits with `#[func]` have this item: implementations of other traits do not compile.
        block.items.push(parse_quote!(
            #[doc(hidden)]
            type WRITE_FUNC_ABOVE_THIS_IMPL = #by;
        ));
    }
    emitted.extend(hygiene::refused_type(&of).map(syn::Error::into_compile_error));
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        emitted.extend(hygiene::keep_inert(&mut method.attrs));
        desugar::bind_patterns(&mut method.sig, &mut method.block);
        desugar::func_body(&mut method.block);
        hygiene::make_unambiguous(&mut method.block);
        if of_tensors && method.sig.receiver().is_some() {
            let tokens = of_tensors::expand(attribute, &of, method);
            emitted.extend(tokens.unwrap_or_else(syn::Error::into_compile_error));
            continue;
        }
        let tokens = expand_method(attribute, &of, of_trait.as_ref(), &block.generics, method);
        emitted.extend(tokens.unwrap_or_else(|error| {
            let stub = stub(attribute, &of, of_trait.as_ref(), &block.generics, method);
            let error = error.into_compile_error();
            quote!(#error #stub)
        }));
    }
    marks::finished(quote!(#block #emitted), &attribute.paths.private)
}

/// A trait whose functions kernels can call. They call what `#[func]` emits for the methods of the type: the
/// supertraits, which are unsafe to implement. So kernels rely on nothing in an `impl` of the trait itself. A hidden
/// item makes an `impl` without `#[func]` an error, because kernels would not call its functions.
pub(crate) fn expand_trait(attribute: &Attribute, mut of: ItemTrait) -> TokenStream {
    let Paths { private, body: support, .. } = &attribute.paths;
    let mut errors = hygiene::keep_inert(&mut of.attrs);
    of.items.push(parse_quote!(
        #[doc(hidden)]
        #[allow(non_camel_case_types)]
        type WRITE_FUNC_ABOVE_THIS_IMPL;
    ));
    let (name, arguments) = (&of.ident, generics::Generics::new(&of.generics).arguments());
    // Not by `Self::`, which would need the supertraits.
    let by = quote!(<Self as #name<#arguments>>::WRITE_FUNC_ABOVE_THIS_IMPL);
    of.supertraits.push(parse_quote!(#private::KernelValue));
    for item in &of.items {
        let TraitItem::Fn(method) = item else { continue };
        let refused = refuse_generics(&method.sig).err().or_else(|| {
            let body = method.default.as_ref()?;
            let message = "a func of a trait has no body; write it in each `impl`";
            Some(syn::Error::new_spanned(body, message))
        });
        if let Some(error) = refused {
            // Without it in the supertraits, implementations have no errors.
            errors.extend(error.into_compile_error());
            continue;
        }
        let number = method_number(&method.sig.ident);
        let types = method.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(input) => Some(&input.ty),
            FnArg::Receiver(_) => None,
        });
        let types = quote!(#(#types,)*);
        let output = output_type(&method.sig.output);
        of.supertraits.push(parse_quote!(#support::HasMethod<#number, #by, Output = #output>));
        let receiver = method.sig.receiver();
        if receiver.is_some() {
            of.supertraits.push(parse_quote!(#support::Method<#number, (#types), #by>));
        }
        if receiver.is_none_or(|receiver| !is_mutable_reference(receiver)) {
            let this = receiver.map(|_| quote!(Self,));
            of.supertraits.push(parse_quote!(#support::Function<#number, (#this #types), #by>));
        }
    }
    marks::finished(quote!(#errors #of), private)
}

pub(crate) fn output_type(output: &ReturnType) -> TokenStream {
    match output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    }
}

/// The error for generic parameters of a method.
pub(crate) fn refuse_generics(sig: &Signature) -> syn::Result<()> {
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
    let is_method = sig.receiver().is_some() && sig.inputs.len() == 1;
    let message = if conversion(&text).is_some() || (text == "shape" && is_method) {
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
    let receiver_is_reference =
        receiver.as_ref().is_some_and(|of| matches!(of.kind, ReceiverKind::Reference(..)));
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
        // By value, so that probes see its type. rustc checks in the user's own block that only `mut` ones change.
        let declared: FnArg = parse_quote!(#[allow(unused_mut)] mut #this: #of);
        sig.inputs.insert(0, declared);
        let param = Param {
            name: this.clone(),
            mutable: receiver.mutability.is_some() || by_reference,
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
    let mut block = method.block.clone();
    if receiver_is_reference {
        SelfByValue.visit_block_mut(&mut block);
    }
    item.block = syn::parse2(without_self(block.to_token_stream(), this, of))?;
    Ok((item, parsed))
}

/// What kernels call for one function of an `impl` block: its source for the IR and its CPU body, by impls under its
/// name's number. The user's function is changed to call the same body.
fn expand_method(
    attribute: &Attribute,
    of: &Type,
    of_trait: Option<&Ident>,
    generics: &Generics,
    method: &mut ImplItemFn,
) -> syn::Result<TokenStream> {
    refuse_generics(&method.sig)?;
    refuse_name(&method.sig)?;
    let this = this_name(method);
    let (mut item, params) = as_function(of, generics, method, &this)?;
    let emission = Emission::new(FunctionKind::Func, attribute, &params, &mut item)?;
    let Paths { body: support, frontend, .. } = &attribute.paths;
    let number = method_number(&method.sig.ident);
    let (source, (path, identities)) = (emission.source(), emission.source_paths());
    let changes = emission.changes_receiver();
    let by = of_trait.map_or_else(|| quote!(()), ToTokens::to_token_stream);
    let gate = match generics.params.is_empty() {
        true => {
            quote!(const __OK: ::core::primitive::bool = <#of as #support::HasMethod<#number, #by>>::OK;)
        }
        false => ungated(),
    };
    let generics = generics::Generics::new(generics);
    let (with, bounds) = (generics.declared(), generics.bounds());
    let receiver = method.sig.receiver().cloned();
    let body = emission.rewritten_block(quote!(#support::MethodTable::<#of, #number, #by>));
    let body = if changes { dereferenced(body, &this) } else { body };
    let output = output_type(&method.sig.output);
    let others = &params.params[usize::from(receiver.is_some())..];
    let (names, types): (Vec<_>, Vec<_>) = others.iter().map(|p| (&p.name, &p.ty)).unzip();
    let copied = (receiver.is_some() && !changes).then(|| quote!(let mut #this = *#this;));
    let gated = receiver.iter().map(|_| &this).chain(names.iter().copied());
    let quiet = quiet();
    let inner = quote! {
        #gate
        #copied
        #(let mut #gated = #support::gate::<__OK, _>(#gated);)*
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
            unsafe impl<#with> #support::Function<#number, (Self, #(#types,)*), #by> for #of #bounds {
                #[inline(always)]
                fn call((mut #given, #(#names,)*): (Self, #(#types,)*)) -> #output {
                    <Self as #support::Method<#number, (#(#types,)*), #by>>::call(&mut #given, (#(#names,)*))
                }
            }
        }
    });
    let only_one = (of_trait.is_some() && generics.is_empty())
        .then(|| only_one(support, of, &method.sig.ident));
    let call = quote!(<Self as #support::Method<#number, (#(#types,)*), #by>>::call);
    method.block = match receiver.map(|receiver| receiver.kind) {
        Some(_) if changes => parse_quote!({ #call(self, (#(#names,)*)) }),
        Some(ReceiverKind::Value) => {
            parse_quote!({ let mut #given = self; #call(&mut #given, (#(#names,)*)) })
        }
        Some(_) => parse_quote!({ let mut #given = *self; #call(&mut #given, (#(#names,)*)) }),
        None => parse_quote!({
            <Self as #support::Function<#number, (#(#types,)*), #by>>::call((#(#names,)*))
        }),
    };
    method.sig = immutable(&method.sig);
    method.attrs.push(parse_quote!(#[allow(clippy::used_underscore_binding)]));
    method.attrs.push(parse_quote!(#[inline(always)]));
    Ok(quote! {
        // SAFETY: the source is made of the same tokens as the body below.
        #[doc(hidden)]
        #[diagnostic::do_not_recommend]
        unsafe impl<#with> #support::HasMethod<#number, #by> for #of #bounds {
            type Output = #output;
            const SOURCE: ::core::option::Option<(
                &'static #frontend::EmittedSource,
                &'static [&'static #support::Identity],
            )> = ::core::option::Option::Some({ #source (#path, #identities) });
            const MUTATES: ::core::primitive::bool = #changes;
        }
        // SAFETY: made of the same tokens as the source, by the rewriting of all CPU bodies.
        #[diagnostic::do_not_recommend]
        unsafe impl<#with> #support::#callable<#number, (#(#types,)*), #by> for #of #bounds {
            #quiet
            #[inline(always)]
            fn call(#params) -> #output {
                #support::in_func(#[inline(always)] move || -> #output { #inner })
            }
        }
        #by_path
        #only_one
    })
}

/// What a function with an error has in place of its source and its CPU body, so that rustc reports only the error.
fn stub(
    attribute: &Attribute,
    of: &Type,
    of_trait: Option<&Ident>,
    generics: &Generics,
    method: &mut ImplItemFn,
) -> TokenStream {
    let Paths { body: support, frontend, .. } = &attribute.paths;
    let (number, output) = (method_number(&method.sig.ident), output_type(&method.sig.output));
    let by = of_trait.map_or_else(|| quote!(()), ToTokens::to_token_stream);
    let generics = generics::Generics::new(generics);
    let (with, bounds) = (generics.declared(), generics.bounds());
    let types = method.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(input) => Some(&input.ty),
        FnArg::Receiver(_) => None,
    });
    let types = quote!(#(#types,)*);
    let receiver = method.sig.receiver();
    let callable = receiver.map(|_| {
        quote! {
            // SAFETY: the program does not compile.
            unsafe impl<#with> #support::Method<#number, (#types), #by> for #of #bounds {
                fn call(_: &mut Self, _: (#types)) -> #output { ::core::unreachable!() }
            }
        }
    });
    let by_path = receiver.is_none_or(|receiver| !is_mutable_reference(receiver)).then(|| {
        let this = receiver.map(|_| quote!(Self,));
        quote! {
            // SAFETY: the program does not compile.
            unsafe impl<#with> #support::Function<#number, (#this #types), #by> for #of #bounds {
                fn call(_: (#this #types)) -> #output { ::core::unreachable!() }
            }
        }
    });
    method.sig = immutable(&method.sig);
    method.attrs.push(parse_quote!(#[allow(unused_variables)]));
    method.block = parse_quote!({ ::core::unreachable!() });
    quote! {
        // SAFETY: the program does not compile.
        #[doc(hidden)]
        unsafe impl<#with> #support::HasMethod<#number, #by> for #of #bounds {
            type Output = #output;
            const SOURCE: ::core::option::Option<(
                &'static #frontend::EmittedSource,
                &'static [&'static #support::Identity],
            )> = ::core::option::Option::None;
            const MUTATES: ::core::primitive::bool = true;
        }
        #callable
        #by_path
    }
}

/// Replaces `*self` by `self`, for a `self` that is taken by reference.
struct SelfByValue;

impl VisitMut for SelfByValue {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr: inner, .. }) = expr
            && let Expr::Path(path) = unparenthesized(inner)
            && path.path.is_ident("self")
        {
            *expr = Expr::Path(path.clone());
        }
        if let Expr::Paren(paren) = expr
            && matches!(
                unparenthesized(&paren.expr),
                Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), .. })
            )
        {
            self.visit_expr_mut(&mut paren.expr);
            if matches!(&*paren.expr, Expr::Path(_)) {
                *expr = (*paren.expr).clone();
            }
            return;
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        Invocation::rewrite(call, |expr| self.visit_expr_mut(expr));
    }
}

/// The errors of an `impl` of a trait as a whole.
fn refused_impl(block: &ItemImpl) -> Option<syn::Error> {
    const OPERATORS: [&str; 24] = [
        "Add",
        "AddAssign",
        "BitAnd",
        "BitAndAssign",
        "BitOr",
        "BitOrAssign",
        "BitXor",
        "BitXorAssign",
        "Div",
        "DivAssign",
        "Index",
        "IndexMut",
        "Mul",
        "MulAssign",
        "Neg",
        "Not",
        "PartialEq",
        "PartialOrd",
        "Rem",
        "RemAssign",
        "Shl",
        "Shr",
        "Sub",
        "SubAssign",
    ];
    const OTHERS: [&str; 15] = [
        "Clone", "Debug", "Default", "Deref", "Display", "Drop", "Eq", "From", "FromStr", "Hash",
        "Into", "Iterator", "Ord", "Sum", "TryFrom",
    ];
    let (path, _) = block.trait_.as_ref()?;
    let last = &path.segments.last()?.ident;
    let named = |names: &[&str]| names.iter().any(|name| last == name);
    let method = block.items.iter().find_map(|item| match item {
        ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    });
    let method = method.unwrap_or_else(|| "name".to_owned());
    if named(&OPERATORS) {
        let message = format!(
            "kernels have no operators of your own; write `{method}` in an `impl` block without a trait, and call it \
             by its name"
        );
        return Some(syn::Error::new_spanned(path, message));
    }
    if named(&OTHERS) {
        let message = format!(
            "`{last}` is not a trait with `#[func]`; write `{method}` in an `impl` block without a trait"
        );
        return Some(syn::Error::new_spanned(path, message));
    }
    let of = match &*block.self_ty {
        Type::Path(of) => of.path.get_ident()?,
        _ => return None,
    };
    let is_parameter = block.generics.type_params().any(|param| param.ident == *of);
    let message = "a trait with `#[func]` needs an `impl` for each type; a macro can write them";
    is_parameter.then(|| syn::Error::new_spanned(of, message))
}

/// The name of the type that makes the impls for an `impl` of a trait those of the user's crate, whatever type the
/// trait is for.
fn by_type(block: &ItemImpl) -> Ident {
    let of_trait = block.trait_.as_ref().map(|(path, _)| path);
    let (of, generics) = (&block.self_ty, &block.generics);
    let text = tokens_text(quote!(#generics #of_trait for #of));
    internal(&format!("__By{:x}", quadrants_frontend::name_number(&text)))
}

/// The text of tokens, which does not depend on how rustc prints spaces.
fn tokens_text(tokens: TokenStream) -> String {
    let texts = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => {
            format!("{:?}({})", group.delimiter(), tokens_text(group.stream()))
        }
        other => format!("{other} "),
    });
    texts.collect()
}

fn by_item(by: &Ident) -> TokenStream {
    quote! {
        #[allow(
            dead_code, missing_copy_implementations, missing_debug_implementations, nonstandard_style,
            unreachable_pub
        )]
        #[doc(hidden)]
        pub struct #by;
    }
}

/// The check that a type has no other method of a name than that of a trait's `impl`. Where it has two from traits,
/// calls do not compile.
fn only_one(support: &TokenStream, of: &Type, name: &Ident) -> TokenStream {
    let number = method_number(name);
    let text = format!(
        "the type has a `{name}` of its own, which is built in or in another `impl` block, and kernels know one \
         function of a name; give this one another name"
    );
    let mut condition = Group::new(
        Delimiter::Parenthesis,
        quote!(!<#support::OwnMethod<#of, #number>>::EXISTS, #text),
    );
    condition.set_span(name.span());
    let assert = quote_spanned!(name.span()=> ::core::assert!);
    quote! {
        const _: () = {
            #[allow(unused_imports)]
            use #support::NoMethod as _;
            #assert #condition
        };
    }
}

/// A name that tokens do not contain: the tree compares the texts of names.
pub(crate) fn unused(name: &str, tokens: &impl ToTokens) -> Ident {
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

/// The name of `self` in what is emitted for a method. It has the user's hygiene, so that rustc locates operations on
/// it where the user wrote them.
fn this_name(method: &ImplItemFn) -> Ident {
    let mut this = unused("this_value", method);
    this.set_span(method.sig.ident.span());
    this
}

/// The tokens with `this` for `self` and the type for `Self`, which free functions do not have.
pub(crate) fn without_self(tokens: TokenStream, this: &Ident, of: &Type) -> TokenStream {
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
