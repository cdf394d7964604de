//! Calls that kernels give a meaning: parallel blocks, phases, atomics, conversions, functions of types.
//!
//! Constructs are recognized by their shape as well as by their name, because the user may rename a function. The
//! type-inference copy proves that the paths name the library's functions.

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::{
    CONVERSIONS, is_builtin_method,
    syntax::{AtomicOp, collective_named},
};
use quote::{quote, quote_spanned};
use syn::{
    Expr, ExprCall, ExprClosure, ExprMethodCall, ExprPath, GenericArgument, Path, PathArguments,
};

use super::exprs::{SCALARS, is_constant, is_type_name, name_of, unparenthesized};
use crate::{
    spans::{first, last},
    tokens::method_number,
};

/// Whether the called path ends in this name.
fn calls(call: &ExprCall, name: &str) -> bool {
    match &*call.func {
        Expr::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == name),
        _ => false,
    }
}

/// Whether a call is one of `stream_parallel`, by name or by shape.
pub(crate) fn is_stream_parallel(call: &ExprCall) -> bool {
    let by_shape = call.args.len() == 1 && matches!(call.args.first(), Some(Expr::Closure(_)));
    by_shape || calls(call, "stream_parallel")
}

/// Whether a call is one of `block_for`, by name or by shape.
pub(crate) fn is_block_for(call: &ExprCall) -> bool {
    let by_shape = call.args.len() == 3 && matches!(call.args.last(), Some(Expr::Closure(_)));
    by_shape || calls(call, "block_for")
}

pub(crate) fn is_ndrange(call: &ExprCall) -> bool {
    calls(call, "ndrange")
}

/// The number of dimensions of a grid of blocks, if an array gives its size.
pub(crate) fn grid_rank(blocks: &Expr) -> Option<usize> {
    match unparenthesized(blocks) {
        Expr::Array(counts) => Some(counts.elems.len()),
        _ => None,
    }
}

pub(crate) fn is_shared_array(method: &Ident) -> bool {
    method == "shared" || method == "shared_2d"
}

/// The closure of a phase `block.each(|t| …)`.
pub(crate) fn phase_of(call: &ExprMethodCall) -> Option<&ExprClosure> {
    (call.method == "each").then(|| closure_of(call, 1)).flatten()
}

/// The closure of a phase with a collective, such as `block.scan_add(|t| …)`.
pub(crate) fn collective_of(call: &ExprMethodCall) -> Option<&ExprClosure> {
    let (_, shuffle) = collective_named(&call.method.to_string())?;
    closure_of(call, 1 + usize::from(shuffle.is_some()))
}

/// The closure that a method of a name gets first, among this number of arguments.
fn closure_of(call: &ExprMethodCall, count: usize) -> Option<&ExprClosure> {
    match (&*call.receiver, call.args.first()) {
        (Expr::Path(path), Some(Expr::Closure(closure))) if call.args.len() == count => {
            name_of(path).map(|_| closure)
        }
        _ => None,
    }
}

/// The operation of an atomic function.
pub(crate) fn atomic_op(name: &str) -> Option<AtomicOp> {
    AtomicOp::ALL.into_iter().find(|op| op.name() == name)
}

/// The element, or the part of one, in `&mut t[i]`.
pub(crate) fn borrowed_element(argument: &mut Expr) -> Option<&mut Expr> {
    match argument {
        Expr::Paren(paren) => borrowed_element(&mut paren.expr),
        Expr::Group(group) => borrowed_element(&mut group.expr),
        Expr::Reference(syn::ExprReference { mutability: Some(_), expr, .. }) => {
            let mut inner = &mut **expr;
            while let Expr::Paren(paren) = inner {
                inner = &mut paren.expr;
            }
            matches!(inner, Expr::Index(_) | Expr::Field(_)).then_some(inner)
        }
        _ => None,
    }
}

/// The tensor, the operation and the element of an atomic that combines a value into an element, without a field.
pub(crate) fn combining_atomic(call: &ExprCall) -> Option<(Ident, AtomicOp, syn::ExprIndex)> {
    let Expr::Path(path) = &*call.func else { return None };
    let op = atomic_op(&path.path.segments.last()?.ident.to_string()).filter(|op| op.combines())?;
    let mut argument = call.args.first()?.clone();
    let Expr::Index(element) = borrowed_element(&mut argument)?.clone() else { return None };
    let Expr::Path(base) = &*element.expr else { return None };
    let tensor = base.path.get_ident()?.clone();
    (call.args.len() == 2).then_some((tensor, op, element))
}

/// A conversion between numbers, by a method of `Number`.
pub(crate) enum Conversion {
    /// `T::from_f32(x)`: from this type.
    From(&'static str),
    /// `x.to_f32()`: to this type.
    To(&'static str),
}

/// The conversion that a method of this name is.
pub(crate) fn conversion(name: &str) -> Option<Conversion> {
    let known = |ty: &str| CONVERSIONS.into_iter().find(|known| *known == ty);
    if let Some(ty) = name.strip_prefix("from_") {
        return known(ty).map(Conversion::From);
    }
    name.strip_prefix("to_").and_then(known).map(Conversion::To)
}

/// Whether a method never changes its receiver, because its name is that of a built-in one or a conversion.
pub(crate) fn keeps_receiver(method: &str) -> bool {
    is_builtin_method(method) || conversion(method).is_some()
}

/// Whether a call's path is a tuple struct, `Vector(…)`, or an associated function, `Vector::splat(…)`. Types are
/// recognized by their capital.
pub(crate) fn is_of_type(path: &ExprPath) -> bool {
    let mut last = path.path.segments.iter().rev().take(2);
    last.any(|segment| is_type_name(&segment.ident.to_string()))
}

/// Whether a path is an associated function of a scalar type as [`hygiene`](crate::hygiene) writes it: from `::core`
/// on, except for the library's `f16`.
pub(crate) fn is_scalar_method(path: &ExprPath) -> bool {
    let segments = &path.path.segments;
    let Some(scalar) = segments.iter().rev().nth(1) else { return false };
    let is_primitive = path.path.leading_colon.is_some()
        && segments.len() == 4
        && segments[0].ident == "core"
        && segments[1].ident == "primitive";
    let known = SCALARS.iter().any(|known| scalar.ident == known);
    path.qself.is_none() && known && (is_primitive || scalar.ident == "f16")
}

/// Whether a path is an associated function of a scalar type that is not built in: that of a trait with `#[func]`.
pub(crate) fn is_scalar_func(path: &ExprPath) -> bool {
    let name = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    is_scalar_method(path)
        && !is_builtin_method(&name)
        && name != "from"
        && conversion(&name).is_none()
}

/// Whether a path is that of a method of a struct of tensors: `<Type>::name`.
pub(crate) fn is_tensor_method(path: &syn::ExprPath) -> bool {
    path.path.segments.len() == 1 && path.qself.as_ref().is_some_and(|of| of.as_token.is_none())
}

/// The type with the func of a method, if a path is that of one: `<Type>::name`.
pub(crate) fn func_of(support: &TokenStream, path: &syn::ExprPath) -> Option<TokenStream> {
    let of = path.qself.as_ref().filter(|_| is_tensor_method(path))?;
    let (of, number) = (&of.ty, method_number(&path.path.segments.first()?.ident));
    Some(quote!(<#support::Gated<__OK, #of> as #support::HasTensorMethod<#number>>::Func))
}

/// The type and the name of an associated function.
pub(crate) fn split_function(path: &Path) -> Option<(Path, Ident)> {
    let mut ty = path.clone();
    let name = ty.segments.pop()?.ident;
    ty.segments.pop_punct();
    Some((ty, name))
}

/// Traits of std that have functions without `self`. A function is called by its type, so that rustc reports these.
const TRAITS_OF_STD: [&str; 4] = ["Default", "From", "FromIterator", "FromStr"];

/// Whether the generic arguments of a type, if it has any, are not written: rustc infers them.
pub(crate) fn is_inferred(ty: &Path) -> bool {
    let is_trait = |name: &Ident| TRAITS_OF_STD.iter().any(|known| name == known);
    ty.segments.last().is_some_and(|last| last.arguments.is_none() && !is_trait(&last.ident))
}

/// A function of a type that takes a value of it, so that rustc infers the generic arguments that are not written.
/// rustc infers none where a type is expected, and a macro does not know whether a type has any.
pub(crate) fn taking(support: &TokenStream, ty: &Path) -> TokenStream {
    let at = first(ty);
    quote_spanned!(at=> { #[allow(unused_imports)] use #support::TypeOfCall as _; #ty::__taking })
}

/// A path without the generic arguments of its last segment, and these, each followed by a comma.
pub(crate) fn without_arguments(path: &ExprPath) -> (ExprPath, Option<TokenStream>) {
    let mut bare = path.clone();
    let last = bare.path.segments.last_mut().map(|last| std::mem::take(&mut last.arguments));
    let arguments = match last {
        Some(PathArguments::AngleBracketed(written)) => {
            Some(written.args.into_iter().map(|argument| quote!(#argument,)).collect())
        }
        _ => None,
    };
    (bare, arguments)
}

/// The most arguments of a call for which there is a `NotAFunc`.
const MOST_ARGUMENTS: usize = 8;

/// Whether [`callee_type`] imports the type of a called function.
fn is_imported(path: &ExprPath) -> bool {
    let mut last = path.path.segments.iter().rev();
    last.next();
    path.qself.is_none() && last.all(|segment| segment.arguments.is_none())
}

/// Code about the type that has the name of a called function, which is that of a func. If there is no such type, the
/// name is that of `NotAFunc`, with the types `passing` for the arguments: a name that an inner scope imports hides
/// the outer one only as what it is.
pub(crate) fn callee_type(
    support: &TokenStream,
    path: &ExprPath,
    passing: &[TokenStream],
    code: impl FnOnce(TokenStream) -> TokenStream,
) -> TokenStream {
    if let Some(of) = func_of(support, path) {
        return code(of);
    }
    let (bare, arguments) = without_arguments(path);
    if !is_imported(path) || passing.len() > MOST_ARGUMENTS {
        return code(quote!(#bare));
    }
    let missing = match arguments {
        Some(_) => not_a_func(support, path, passing.len()),
        None => quote! {
            #[allow(unused)]
            type __Callee = #support::NotAFunc<(#(#passing,)*)>;
        },
    };
    // The import of a name that is not defined would be another error.
    let function =
        name_of(&bare).map(|name| quote!(#[allow(unused, nonstandard_style)] fn #name() {}));
    let code = code(quote_spanned!(first(path)=> __Callee));
    let import = import(&bare, "__Callee");
    quote! {{
        #missing
        {
            #function
            #import
            #code
        }
    }}
}

/// As `NotAFunc`, for a call with written generic arguments: its functions take as many. That they return `!` fits
/// every use of the value.
fn not_a_func(support: &TokenStream, path: &ExprPath, count: usize) -> TokenStream {
    let PathArguments::AngleBracketed(written) =
        &path.path.segments.last().expect("a path is not empty").arguments
    else {
        return TokenStream::new();
    };
    let parameters = written.args.iter().enumerate().map(|(at, argument)| {
        let name = Ident::new(&format!("__G{at}"), Span::mixed_site());
        let is_constant = match argument {
            GenericArgument::Const(_) => true,
            // A letter is a type, but for those that commonly are numbers.
            GenericArgument::Type(syn::Type::Path(of)) => of.path.get_ident().is_some_and(|name| {
                let text = name.to_string();
                is_constant(name) && (text.len() > 1 || ["K", "L", "M", "N"].contains(&&*text))
            }),
            _ => false,
        };
        match is_constant {
            true => quote!(const #name: ::core::primitive::usize),
            false => quote!(#name),
        }
    });
    let parameters: Vec<_> = parameters.collect();
    let arguments = (0..count).map(|_| quote!(_: impl ::core::marker::Sized));
    quote! {
        #[allow(dead_code, non_camel_case_types)]
        struct __Callee;
        // SAFETY: callers do not compile.
        #[allow(unsafe_code)]
        unsafe impl #support::Func for __Callee {
            const IS: ::core::primitive::bool = false;
        }
        #[allow(dead_code, clippy::too_many_arguments)]
        impl __Callee {
            const fn __callee_of<#(#parameters,)* __F>(
                _: &#support::Probe<__F>,
            ) -> (fn() -> #support::Callee, &'static #support::Identity) {
                (|| #support::Callee::Builtin, #support::Identity::STATED)
            }
            fn __call_at<
                #(#parameters,)*
                __Sites,
                const __SITE: ::core::primitive::usize,
                __F,
            >(
                _: #support::CallSite<__Sites, __SITE, __F>,
                #(#arguments),*
            ) -> ! {
                ::core::unreachable!()
            }
        }
    }
}

/// The import of a called function under another name. rustc reports an unknown one at the path.
fn import(path: &ExprPath, name: &str) -> TokenStream {
    let name = Ident::new(name, last(path));
    let import = quote_spanned!(first(path)=> use #path as #name;);
    quote!(#[allow(unused_imports)] #import)
}

/// A called function as a value. The path of a function in a module is imported, as by [`callee_type`], so that an
/// unknown one is one error.
pub(crate) fn callee_value(path: &ExprPath) -> TokenStream {
    let (_, arguments) = without_arguments(path);
    if !is_imported(path) || name_of(path).is_some() || arguments.is_some() {
        return quote!(#path);
    }
    let (import, name) = (import(path, "__callee"), Ident::new("__callee", first(path)));
    quote!({ #import #name })
}

/// Whether a call ends a chain that begins with an iterator, as `x.iter().map(|x| …).sum()` and `(0..n).map(|i| …)`.
pub(crate) fn is_iterator_chain(call: &syn::ExprMethodCall) -> bool {
    const ITERATORS: [&str; 3] = ["iter", "iter_mut", "into_iter"];
    const METHODS: [&str; 24] = [
        "all",
        "any",
        "chain",
        "cloned",
        "copied",
        "count",
        "enumerate",
        "filter",
        "find",
        "flat_map",
        "fold",
        "for_each",
        "last",
        "map",
        "max",
        "min",
        "position",
        "product",
        "rev",
        "skip",
        "step_by",
        "sum",
        "take",
        "zip",
    ];
    let mut receiver = unparenthesized(&call.receiver);
    let takes_closure = |call: &syn::ExprMethodCall| {
        call.args.iter().any(|arg| matches!(unparenthesized(arg), Expr::Closure(_)))
    };
    let mut is_chain = takes_closure(call) || METHODS.iter().any(|name| call.method == name);
    loop {
        match receiver {
            Expr::Range(_) => return is_chain,
            Expr::MethodCall(inner) => {
                if inner.args.is_empty() && ITERATORS.iter().any(|name| inner.method == name) {
                    return is_chain;
                }
                is_chain |= takes_closure(inner);
                receiver = unparenthesized(&inner.receiver);
            }
            _ => return false,
        }
    }
}

/// The argument of a method; of `a.total_cmp(&b)` and `a.cmp(&b)` the value, because kernels have no references to
/// values.
pub(crate) fn compared_value<'e>(method: &str, arg: &'e mut Expr) -> &'e mut Expr {
    let is_read = matches!(arg, Expr::Reference(of) if of.mutability.is_none());
    if !is_read || !matches!(method, "total_cmp" | "cmp") {
        return arg;
    }
    match arg {
        Expr::Reference(of) => &mut of.expr,
        other => other,
    }
}
