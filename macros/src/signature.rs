//! What a kernel's or func's signature may be.

use proc_macro2::TokenStream;
use quadrants_frontend::syntax::{FunctionKind, ParamPassing};
use syn::{FnArg, Pat, PatIdent, ReturnType, Type, spanned::Spanned};

use crate::tree::SCALARS;

/// A signature, taken apart.
pub(crate) struct Signature {
    pub(crate) params: Vec<Param>,
    /// The type of the value; none for `()`.
    pub(crate) result: Option<Type>,
}

/// A parameter.
#[derive(Clone)]
pub(crate) struct Param {
    pub(crate) name: syn::Ident,
    pub(crate) mutable: bool,
    pub(crate) passing: ParamPassing,
    /// Whether it is a method's `&mut self`.
    pub(crate) by_reference: bool,
    /// The type, without the `&` of a tensor.
    pub(crate) ty: Type,
}

/// Takes a signature apart, or says all that is wrong with it.
pub(crate) fn parse(kind: FunctionKind, signature: &syn::Signature) -> syn::Result<Signature> {
    let what = match kind {
        FunctionKind::Kernel => "a kernel",
        FunctionKind::Func => "a func",
    };
    let mut errors = Errors(None);
    let mut refuse = |tokens: Option<TokenStream>, word: &str| {
        if let Some(tokens) = tokens {
            errors.add(syn::Error::new_spanned(tokens, format!("{what} cannot {word}")));
        }
    };
    use quote::ToTokens;
    refuse(signature.constness.map(|t| t.to_token_stream()), "be `const`");
    refuse(signature.asyncness.map(|t| t.to_token_stream()), "be `async`");
    refuse(
        matches!(signature.safety, syn::Safety::Unsafe(_))
            .then(|| signature.safety.to_token_stream()),
        "be `unsafe`",
    );
    refuse(signature.abi.as_ref().map(|t| t.to_token_stream()), "be `extern`");
    refuse(signature.variadic.as_ref().map(|t| t.to_token_stream()), "be variadic");
    for lifetime in signature.generics.lifetimes() {
        refuse(Some(lifetime.to_token_stream()), "have named lifetimes");
    }

    let mut params = Vec::new();
    for input in &signature.inputs {
        match param(input) {
            Ok(param) => params.push(param),
            Err(error) => errors.add(error),
        }
    }
    let result = match &signature.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => match ungrouped(ty) {
            Type::Tuple(unit) if unit.elems.is_empty() => None,
            ty @ Type::Path(_) => Some(ty.clone()),
            ty @ (Type::Tuple(_) | Type::Array(_)) if kind == FunctionKind::Func => {
                Some(ty.clone())
            }
            other => {
                errors.add(syn::Error::new(
                    other.span(),
                    match kind {
                        FunctionKind::Kernel => "a kernel returns a number or nothing",
                        FunctionKind::Func => "a func returns a value of kernels or nothing",
                    },
                ));
                None
            }
        },
    };
    match errors.0 {
        Some(error) => Err(error),
        None => Ok(Signature { params, result }),
    }
}

fn param(input: &FnArg) -> syn::Result<Param> {
    let FnArg::Typed(input) = input else {
        return Err(syn::Error::new_spanned(
            input,
            "a kernel or func is a free function; it cannot take `self`",
        ));
    };
    let Pat::Ident(PatIdent { by_ref: None, mutability, ident, subpat: None, .. }) = &*input.pat
    else {
        return Err(syn::Error::new_spanned(&input.pat, "a parameter needs a plain name"));
    };
    let (passing, ty) = match ungrouped(&input.ty) {
        Type::Reference(reference) => {
            if let Some(lifetime) = &reference.lifetime {
                return Err(syn::Error::new_spanned(
                    lifetime,
                    "a tensor parameter needs no named lifetime; leave it out",
                ));
            }
            let passing = match reference.mutability {
                Some(_) => ParamPassing::RefMut,
                None => ParamPassing::Ref,
            };
            if mutability.is_some() {
                return Err(syn::Error::new_spanned(
                    &input.pat,
                    "a tensor parameter cannot be rebound; leave out this `mut`",
                ));
            }
            (passing, ungrouped(&reference.elem))
        }
        other => (ParamPassing::Value, other),
    };
    advise(&passing, ty)?;
    match ty {
        Type::Path(_) | Type::Tuple(_) | Type::Array(_) => Ok(Param {
            name: ident.clone(),
            mutable: mutability.is_some(),
            passing,
            by_reference: false,
            ty: ty.clone(),
        }),
        other => Err(syn::Error::new_spanned(
            other,
            "a parameter is a value, or a tensor by `&` or `&mut`",
        )),
    }
}

/// The type itself, where a `macro_rules!` macro that was given it put it into an invisible group.
fn ungrouped(mut ty: &Type) -> &Type {
    while let Type::Group(group) = ty {
        ty = &group.elem;
    }
    ty
}

/// Says what is meant where a type's name shows a common slip. Names are all that a macro sees: rustc
/// finds the rest.
fn advise(passing: &ParamPassing, ty: &Type) -> syn::Result<()> {
    const OTHERS: [&str; 5] = ["u128", "i128", "isize", "char", "String"];
    let Type::Path(path) = ty else { return Ok(()) };
    let Some(last) = path.path.segments.last() else { return Ok(()) };
    let named = |names: &[&str]| names.iter().any(|name| last.ident == name);
    let refuse = |message: &str| Err(syn::Error::new_spanned(ty, message));
    match passing {
        ParamPassing::Value if last.ident == "Tensor" => refuse(
            "a kernel takes a tensor by reference: `&Tensor<…>`, or `&mut Tensor<…>` to write it",
        ),
        ParamPassing::Value if named(&OTHERS) => refuse(
            "a number in a kernel is of type f16, f32, f64, bool or an integer of up to 64 bits",
        ),
        ParamPassing::Ref | ParamPassing::RefMut if named(&SCALARS) => refuse(
            "a number is passed by value; for one that the kernel writes, take a `&mut Tensor<…, 1>` of one element",
        ),
        _ => match &last.arguments {
            syn::PathArguments::AngleBracketed(arguments) if last.ident == "Tensor" => {
                match arguments.args.first() {
                    Some(syn::GenericArgument::Type(Type::Path(element)))
                        if OTHERS.iter().any(|name| element.path.is_ident(name)) =>
                    {
                        Err(syn::Error::new_spanned(
                            element,
                            "an element of a tensor is of type f16, f32, f64, bool or an integer of up to 64 bits",
                        ))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        },
    }
}

/// Errors put together, so that all are shown at once.
struct Errors(Option<syn::Error>);

impl Errors {
    fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }
}
