//! The signatures of kernels and funcs.

use proc_macro2::TokenStream;
use quadrants_frontend::syntax::{FunctionKind, ParamPassing};
use quote::ToTokens;
use syn::{
    Expr, ExprLit, FnArg, GenericArgument, Ident, Lit, Pat, PatIdent, PathArguments, ReturnType,
    Type, TypeParam, TypeParamBound, WherePredicate,
    punctuated::Punctuated,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{ast::SCALARS, errors::Errors, text::text_of, tokens::idents};

pub(crate) struct Signature {
    pub(crate) params: Vec<Param>,
    /// The type of the value; `None` for `()`.
    pub(crate) result: Option<Type>,
}

/// A parameter.
#[derive(Clone)]
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) mutable: bool,
    pub(crate) passing: ParamPassing,
    /// Whether it is the `&mut self` of a method.
    pub(crate) by_reference: bool,
    /// The type, without the `&` of a tensor.
    pub(crate) ty: Type,
}

impl Param {
    pub(crate) fn is_tensor(&self) -> bool {
        self.passing != ParamPassing::Value
    }

    /// The element type and the number of dimensions, if the type is written `Tensor<T, N>` with a literal `N`.
    fn tensor(&self) -> Option<(&Type, usize)> {
        let Type::Path(path) = &self.ty else { return None };
        let last = path.path.segments.last().filter(|last| last.ident == "Tensor")?;
        let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
        let mut arguments = arguments.args.iter();
        let (Some(GenericArgument::Type(of)), Some(GenericArgument::Const(rank)), None) =
            (arguments.next(), arguments.next(), arguments.next())
        else {
            return None;
        };
        let Expr::Lit(ExprLit { lit: Lit::Int(rank), .. }) = rank else { return None };
        Some((of, rank.base10_parse().ok()?))
    }

    /// The type of the elements, if the type says it.
    pub(crate) fn elem(&self) -> Option<&Type> {
        Some(self.tensor()?.0)
    }

    /// The number of dimensions, if the type says it.
    pub(crate) fn rank(&self) -> Option<usize> {
        Some(self.tensor()?.1)
    }

    /// The number of dimensions, if the type says it and the elements are scalars.
    pub(crate) fn scalar_rank(&self) -> Option<usize> {
        let (of, rank) = self.tensor()?;
        let Type::Path(of) = of else { return None };
        SCALARS.iter().any(|scalar| of.path.is_ident(scalar)).then_some(rank)
    }
}

impl Signature {
    pub(crate) fn takes_tensors(&self) -> bool {
        self.params.iter().any(Param::is_tensor)
    }

    /// The names of the parameters that are tensors, or of the others.
    pub(crate) fn names(&self, tensors: bool) -> Vec<Ident> {
        let params = self.params.iter().filter(|param| param.is_tensor() == tensors);
        params.map(|param| param.name.clone()).collect()
    }
}

/// A signature whose parameters are not `mut`.
pub(crate) fn immutable(signature: &syn::Signature) -> syn::Signature {
    let mut signature = signature.clone();
    for input in &mut signature.inputs {
        match input {
            FnArg::Receiver(receiver) => receiver.mutability = None,
            FnArg::Typed(input) => {
                if let Pat::Ident(of) = &mut *input.pat {
                    of.mutability = None;
                }
            }
        }
    }
    signature
}

/// Parses a signature, or returns all errors in it.
pub(crate) fn parse(kind: FunctionKind, signature: &syn::Signature) -> syn::Result<Signature> {
    let what = match kind {
        FunctionKind::Kernel => "a kernel",
        FunctionKind::Func => "a func",
    };
    let mut errors = Errors::default();
    let mut refuse = |tokens: &dyn ToTokens, word: &str| {
        let tokens = tokens.to_token_stream();
        if !tokens.is_empty() {
            errors.add(syn::Error::new_spanned(tokens, format!("{what} cannot {word}")));
        }
    };
    refuse(&signature.constness, "be `const`; leave that out");
    refuse(&signature.asyncness, "be `async`");
    if matches!(signature.safety, syn::Safety::Unsafe(_)) {
        refuse(&signature.safety, "be `unsafe`");
    }
    refuse(&signature.abi, "be `extern`");
    refuse(&signature.variadic, "be variadic");
    for lifetime in signature.generics.lifetimes() {
        refuse(lifetime, "have named lifetimes");
    }

    let functions: Vec<_> = function_types(signature).collect();
    for bound in &functions {
        let message = format!(
            "{what} cannot take functions or closures; write a macro with `#[func]`, or a func for each"
        );
        errors.add(syn::Error::new_spanned(bound, message));
    }
    errors.extend(refused_bounds(&signature.generics));
    for unknown in unknown_types(signature).into_iter().filter(|_| functions.is_empty()) {
        let message = format!(
            "kernels need to know more of `{unknown}`: give it a bound, such as `qd::Number`, `qd::Float` or `qd::Int` \
             for numbers, `qd::Element` for numbers and bools, or `qd::KernelValue` for all values of kernels"
        );
        errors.add(syn::Error::new(unknown.span(), message));
    }

    let mut params = Vec::new();
    for input in &signature.inputs {
        match param(kind, input) {
            Ok(param) => params.push(param),
            Err(_) if !functions.is_empty() => {}
            Err(error) => errors.add(error),
        }
    }
    let result = match &signature.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) if let Some(message) = optional(ty) => {
            errors.add(syn::Error::new_spanned(ty, message));
            None
        }
        ReturnType::Type(_, ty) => match ungrouped(ty) {
            Type::Tuple(unit) if unit.elems.is_empty() => None,
            ty @ Type::Path(_) => Some(ty.clone()),
            ty @ (Type::Tuple(_) | Type::Array(_)) => Some(ty.clone()),
            other => {
                let message = format!("{what} returns a kernel value or nothing");
                errors.add(syn::Error::new(other.span(), message));
                None
            }
        },
    };
    match errors.0 {
        Some(error) => Err(error),
        None => Ok(Signature { params, result }),
    }
}

/// The type parameters in the types of parameters and result whose bounds are traits of std only, which do not make
/// them kernel values.
fn unknown_types(signature: &syn::Signature) -> Vec<&Ident> {
    const OF_STD: [&str; 22] = [
        "Add",
        "AddAssign",
        "Clone",
        "Copy",
        "Debug",
        "Default",
        "Display",
        "Div",
        "DivAssign",
        "Eq",
        "Hash",
        "Mul",
        "MulAssign",
        "Neg",
        "Ord",
        "PartialEq",
        "PartialOrd",
        "Send",
        "Sized",
        "Sub",
        "SubAssign",
        "Sync",
    ];
    let is_of_std = |bound: &TypeParamBound| match bound {
        TypeParamBound::Trait(bound) => {
            let segments = &bound.path.segments;
            let (first, last) = (segments.first(), segments.last());
            let named = |name: &&str| last.is_some_and(|last| last.ident == name);
            first.is_some_and(|first| match segments.len() {
                1 => OF_STD.iter().any(named),
                _ => first.ident == "std" || first.ident == "core",
            })
        }
        _ => true,
    };
    let is_unknown = |param: &&TypeParam| bounds(&signature.generics, param).all(is_of_std);
    let inputs = signature.inputs.iter().map(ToTokens::to_token_stream);
    let types: TokenStream = inputs.chain([signature.output.to_token_stream()]).collect();
    let used = idents(&types);
    let params = signature.generics.type_params().filter(|param| used.contains(&param.ident));
    params.filter(is_unknown).map(|param| &param.ident).collect()
}

/// The type parameters that are types of values, or of elements of tensors, in a signature, unless a bound of the
/// library's makes them kernel values.
pub(crate) fn unproven_values(signature: &syn::Signature) -> Vec<Ident> {
    const OF_LIBRARY: [&str; 6] = ["Element", "Float", "Int", "KernelValue", "Number", "Signed"];
    /// Finds types that are one name. `T` in `T::Of` is none.
    #[derive(Default)]
    struct TypeNames<'a>(Vec<&'a Ident>);
    impl<'a> Visit<'a> for TypeNames<'a> {
        fn visit_type_path(&mut self, path: &'a syn::TypePath) {
            match path.path.get_ident() {
                Some(name) if path.qself.is_none() => self.0.push(name),
                _ => visit::visit_path(self, &path.path),
            }
        }
    }
    let is_of_library = |bound: &TypeParamBound| match bound {
        TypeParamBound::Trait(bound) => bound
            .path
            .segments
            .last()
            .is_some_and(|last| OF_LIBRARY.iter().any(|name| last.ident == name)),
        _ => false,
    };
    let mut names = TypeNames::default();
    signature.inputs.iter().for_each(|input| names.visit_fn_arg(input));
    names.visit_return_type(&signature.output);
    let params = signature.generics.type_params().filter(|param| {
        names.0.contains(&&param.ident) && !bounds(&signature.generics, param).any(is_of_library)
    });
    params.map(|param| param.ident.clone()).collect()
}

/// The errors for bounds of types that are no type parameters. For the CPU body, rustc may choose between such a bound
/// and an `impl` by the types of a call's arguments, which the IR does not see.
fn refused_bounds(generics: &syn::Generics) -> Vec<syn::Error> {
    struct Constraints(Vec<syn::Error>);
    const MESSAGE: &str = "a kernel or func has bounds of type parameters only; leave this one out, or bound a parameter";
    impl Visit<'_> for Constraints {
        fn visit_constraint(&mut self, of: &syn::Constraint) {
            self.0.push(syn::Error::new_spanned(of, MESSAGE));
        }
    }
    let mut found = Constraints(Vec::new());
    found.visit_generics(generics);
    let clause = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let refused = clause.filter_map(|predicate| match predicate {
        WherePredicate::Type(of) => {
            let is_parameter =
                |name: &Ident| generics.type_params().any(|param| param.ident == *name);
            let named = match ungrouped(&of.bounded_ty) {
                Type::Path(path) if path.qself.is_none() => path.path.get_ident(),
                _ => None,
            };
            (!named.is_some_and(is_parameter))
                .then(|| syn::Error::new_spanned(&of.bounded_ty, MESSAGE))
        }
        _ => None,
    });
    found.0.extend(refused);
    found.0
}

/// The bounds of type parameters and of `impl` types that are traits of functions.
fn function_types(signature: &syn::Signature) -> impl Iterator<Item = &TypeParamBound> {
    let of_params =
        signature.generics.type_params().flat_map(|param| bounds(&signature.generics, param));
    let of_inputs = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(input) => match ungrouped(&input.ty) {
            Type::ImplTrait(of) => Some(&of.bounds),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    });
    of_params.chain(of_inputs.flatten()).filter(|bound| match bound {
        TypeParamBound::Trait(bound) => bound
            .path
            .segments
            .last()
            .is_some_and(|last| ["Fn", "FnMut", "FnOnce"].iter().any(|name| last.ident == name)),
        _ => false,
    })
}

/// The message for a type of std that may have no value.
fn optional(ty: &Type) -> Option<&'static str> {
    let Type::Path(path) = ungrouped(ty) else { return None };
    let last = path.path.segments.last().filter(|last| !last.arguments.is_none())?;
    let is_optional = last.ident == "Option" || last.ident == "Result";
    is_optional.then_some(NO_OPTIONS)
}

/// The message about `Option` and `Result`.
pub(crate) const NO_OPTIONS: &str = "kernels have no `Option` and `Result`; use a value and a `bool`, as in `(f32, bool)`, or a value that means none";

/// The bounds of a type parameter, where it is declared and in the `where` clause.
fn bounds<'a>(
    generics: &'a syn::Generics,
    param: &'a TypeParam,
) -> impl Iterator<Item = &'a TypeParamBound> {
    let clause = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let in_clause = clause.filter_map(|predicate| match predicate {
        WherePredicate::Type(of) => match &of.bounded_ty {
            Type::Path(path) if path.path.is_ident(&param.ident) => Some(&of.bounds),
            _ => None,
        },
        _ => None,
    });
    in_clause.flatten().chain(&param.bounds)
}

/// The bounds of a type parameter where the user wrote them; clippy reports those in two places.
pub(crate) fn bounds_mut<'a>(
    generics: &'a mut syn::Generics,
    name: &Ident,
) -> &'a mut Punctuated<TypeParamBound, syn::Token![+]> {
    let clause = generics.where_clause.iter_mut().flat_map(|clause| &mut clause.predicates);
    let mut in_clause = clause.filter_map(|predicate| match predicate {
        WherePredicate::Type(of) => match &of.bounded_ty {
            Type::Path(path) if path.path.is_ident(name) => Some(&mut of.bounds),
            _ => None,
        },
        _ => None,
    });
    let mut params = generics.params.iter_mut().filter_map(|param| match param {
        syn::GenericParam::Type(param) if param.ident == *name => Some(&mut param.bounds),
        _ => None,
    });
    in_clause.next().or_else(|| params.next()).expect("a parameter of the function")
}

fn param(kind: FunctionKind, input: &FnArg) -> syn::Result<Param> {
    let refuse = |tokens: &dyn ToTokens, message: &str| {
        Err(syn::Error::new_spanned(tokens.to_token_stream(), message))
    };
    let FnArg::Typed(input) = input else {
        return refuse(input, "a kernel or func is a free function; it cannot take `self`");
    };
    let Pat::Ident(PatIdent { by_ref: None, mutability, ident, subpat: None, .. }) = &*input.pat
    else {
        return refuse(&input.pat, "a parameter needs a plain name");
    };
    let (passing, ty) = match ungrouped(&input.ty) {
        Type::Reference(reference) => {
            if let Some(lifetime) = &reference.lifetime {
                let message = "a tensor parameter needs no named lifetime; leave it out";
                return refuse(lifetime, message);
            }
            if mutability.is_some() {
                let message = "a tensor parameter cannot be rebound; leave out this `mut`";
                return refuse(&input.pat, message);
            }
            let passing = match reference.mutability {
                Some(_) => ParamPassing::RefMut,
                None if is_distinct(&reference.elem) => ParamPassing::RefDistinct,
                None => ParamPassing::Ref,
            };
            (passing, ungrouped(&reference.elem))
        }
        other => (ParamPassing::Value, other),
    };
    check_type(kind, passing, ty)?;
    match ty {
        Type::Path(_) | Type::Tuple(_) | Type::Array(_) => Ok(Param {
            name: ident.clone(),
            mutable: mutability.is_some(),
            passing,
            by_reference: false,
            ty: ty.clone(),
        }),
        Type::ImplTrait(of) => {
            let (name, bounds) = (text_of(ident), text_of(&of.bounds));
            let message =
                format!("write the parameter's type by a name: `<T: {bounds}>` and `{name}: T`");
            refuse(of, &message)
        }
        Type::Slice(of) => {
            let message = "kernels have no slices; take a `&Tensor<…, 1>`, or an array by value";
            refuse(of, message)
        }
        other => refuse(other, "a parameter is a value, or a tensor by `&` or `&mut`"),
    }
}

/// Whether a type is called `Distinct`. The launch finds out what it is.
fn is_distinct(ty: &Type) -> bool {
    let last = match ungrouped(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    };
    last.is_some_and(|last| last.ident == "Distinct")
}

/// The type in the invisible groups of `macro_rules!` macros.
fn ungrouped(mut ty: &Type) -> &Type {
    while let Type::Group(group) = ty {
        ty = &group.elem;
    }
    ty
}

/// Whether a type is one of std that owns memory of the host. Without arguments, a name is that of a type of the
/// user's.
pub(crate) fn owns_host_memory(ty: &Type) -> bool {
    let Type::Path(path) = ungrouped(ty) else { return false };
    path.path.segments.last().is_some_and(|last| {
        ["Vec", "Box", "Rc", "Arc", "HashMap"].iter().any(|name| last.ident == name)
            && !last.arguments.is_empty()
    })
}

/// The message for a kernel value that a function takes by reference.
pub(crate) fn by_value(ty: &Type) -> String {
    let ty = text_of(ty);
    format!(
        "kernels and funcs take tensors by reference, and other values without: write `{ty}` without `&`; a func that changes one returns it"
    )
}

/// Explains common mistakes that the names of types show; rustc finds the others.
fn check_type(kind: FunctionKind, passing: ParamPassing, ty: &Type) -> syn::Result<()> {
    const OTHERS: [&str; 4] = ["u128", "i128", "char", "String"];
    let by_value = |ty: &Type| Err(syn::Error::new_spanned(ty, by_value(ty)));
    let Type::Path(path) = ty else {
        let is_value = matches!(ty, Type::Tuple(_) | Type::Array(_));
        return if is_value && passing != ParamPassing::Value { by_value(ty) } else { Ok(()) };
    };
    let Some(last) = path.path.segments.last() else { return Ok(()) };
    if passing != ParamPassing::Value
        && ["Vector", "Matrix", "Complex"].iter().any(|name| last.ident == name)
    {
        return by_value(ty);
    }
    if let Some(message) = optional(ty) {
        return Err(syn::Error::new_spanned(ty, message));
    }
    let named = |names: &[&str]| names.iter().any(|name| last.ident == name);
    let refused = match passing {
        ParamPassing::Value if last.ident == "Tensor" => {
            "a kernel takes a tensor by reference: `&Tensor<…>`, or `&mut Tensor<…>` to write it"
        }
        ParamPassing::Value if last.ident == "String" => "kernels have no strings; pass numbers",
        ParamPassing::Ref | ParamPassing::RefMut if named(&["str", "String"]) => {
            "kernels have no strings; pass numbers"
        }
        _ if owns_host_memory(ty) => {
            "kernels have no memory of the host but tensors; take a `&Tensor<…>`, or a `&mut Tensor<…>` to write it"
        }
        ParamPassing::Value if named(&OTHERS) => {
            "a number in a kernel is of type f16, f32, f64, bool or an integer of up to 64 bits"
        }
        ParamPassing::RefMut if named(&SCALARS) && kind == FunctionKind::Func => {
            "a func takes a number by value; return the new one, as in `x = f(x)`"
        }
        ParamPassing::Ref | ParamPassing::RefMut if named(&SCALARS) => {
            "a number is passed by value; for one that the kernel writes, take a `&mut Tensor<…, 1>` of one element"
        }
        _ => "",
    };
    if !refused.is_empty() {
        return Err(syn::Error::new_spanned(ty, refused));
    }
    if let syn::PathArguments::AngleBracketed(arguments) = &last.arguments
        && last.ident == "Tensor"
        && let Some(syn::GenericArgument::Type(Type::Path(element))) = arguments.args.first()
        && OTHERS.iter().any(|name| element.path.is_ident(name))
    {
        let message =
            "an element of a tensor is of type f16, f32, f64, bool or an integer of up to 64 bits";
        return Err(syn::Error::new_spanned(element, message));
    }
    Ok(())
}

/// The parameters of a function that are `&mut` references.
pub(crate) fn mutable_references(signature: &syn::Signature) -> Vec<Ident> {
    let params = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(syn::PatType { pat, ty, .. }) => match (&**pat, &**ty) {
            (Pat::Ident(of), syn::Type::Reference(reference)) if reference.mutability.is_some() => {
                Some(of.ident.clone())
            }
            _ => None,
        },
        FnArg::Receiver(_) => None,
    });
    params.collect()
}
