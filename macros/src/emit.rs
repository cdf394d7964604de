//! What is emitted for a kernel or func: its source for the IR, its CPU body, and the function that callers see.

mod fragments;
mod func;
mod kernel;
mod rejected;
mod source;

use proc_macro2::{Ident, TokenStream};
use quadrants_frontend::{
    LanguageRule, Operator, check_with, operators,
    syntax::{Construct, Function, FunctionKind, Options, Param},
};
use quote::{quote, quote_spanned};
use syn::{Block, ItemFn};

use crate::{
    attribute::{Attribute, Paths},
    errors::Errors,
    generics::Generics,
    hygiene,
    rewrite::{BodyRewriter, SiteTypes},
    signature::{self, Signature},
    sites, tensor_methods,
    text::text_of,
    tree::TreeBuilder,
};

pub(crate) use fragments::{quiet, ungated};
use rejected::rejected;

/// A checked function, from which the emitted items are made.
pub(crate) struct Emission<'a> {
    paths: &'a Paths,
    signature: &'a Signature,
    generics: Generics,
    /// The user's function, with the numbers of its sites.
    item: &'a ItemFn,
    tree: TreeBuilder,
    /// The user's block with probes.
    probed: Block,
    /// The encoded syntax tree.
    bytes: Vec<u8>,
    /// The operators whose operands' types are checked.
    operators: Vec<Operator>,
    /// Whether the kernel is `strict`: no float sums are reassociated.
    strict: bool,
}

/// What a kernel or func becomes.
pub(crate) fn function(kind: FunctionKind, attribute: &Attribute, mut item: ItemFn) -> TokenStream {
    let signature = match signature::parse(kind, &item.sig) {
        Ok(signature) => signature,
        Err(error) => return rejected(kind, &attribute.paths, None, &item, error),
    };
    let check = with_values(&attribute.paths, &mut item);
    let emitted = match Emission::new(kind, attribute, &signature, &mut item) {
        Ok(emission) => match kind {
            FunctionKind::Kernel => emission.kernel(),
            FunctionKind::Func => emission.func(),
        },
        Err(error) => rejected(kind, &attribute.paths, Some(&signature), &item, error),
    };
    quote!(#check #emitted)
}

/// Adds the bound `KernelValue` for each type parameter that needs it and may not have it, and returns the check that
/// the user's bounds imply it. So rustc reports that once, at the parameter.
fn with_values(Paths { private, .. }: &Paths, item: &mut ItemFn) -> TokenStream {
    let values = signature::unproven_values(&item.sig);
    if values.is_empty() {
        return TokenStream::new();
    }
    let generics = Generics::new(&item.sig.generics);
    let (declared, bounds) = (generics.declared(), generics.bounds());
    let checks = values.iter().map(|name| {
        quote_spanned! {name.span()=>
            const _: () = {
                fn __check<#declared>() #bounds {
                    let _ = <#name as #private::KernelValue>::LAYOUT;
                }
            };
        }
    });
    let checks: TokenStream = checks.collect();
    let bound: syn::TypeParamBound = syn::parse_quote!(#private::KernelValue);
    for name in &values {
        signature::bounds_mut(&mut item.sig.generics, name).push(bound.clone());
    }
    checks
}

/// The syntax tree of a function. Adds the probes to `probed`, which is a copy of its block.
fn syntax(
    kind: FunctionKind,
    options: Options,
    signature: &Signature,
    item: &ItemFn,
    tree: &mut TreeBuilder,
    probed: &mut Block,
) -> Function {
    let params = signature.params.iter().map(|param| {
        tree.bind(&param.name);
        if param.is_tensor() {
            tree.references.push(param.name.to_string());
            let rank = param.scalar_rank().map(|rank| (param.name.to_string(), rank));
            tree.scalar_tensors.extend(rank);
        }
        Param {
            name: param.name.to_string(),
            passing: param.passing,
            mutable: param.mutable,
            by_reference: param.by_reference,
            rank: param.rank().and_then(|rank| u32::try_from(rank).ok()),
            elem: param.elem().map(text_of),
            span: tree.spans.of(&param.name),
        }
    });
    let params = params.collect();
    let result = signature.result.as_ref().map(|ty| tree.written_type(ty));
    let name = &item.sig.ident;
    let span = tree.spans.of(name);
    Function {
        kind,
        name: tensor_methods::shown_name(name),
        span,
        params,
        result,
        body: tree.block(probed),
        options,
    }
}

/// A parameter by reference whose type may be a struct that is not a tensor.
fn struct_reference<'a>(signature: &'a Signature, name: &str) -> Option<&'a signature::Param> {
    let mut params = signature.params.iter();
    params.find(|param| {
        param.is_tensor()
            && param.name == name
            && tensor_methods::may_be_struct(&param.ty)
            && !tensor_methods::has_lifetime(&param.ty)
    })
}

impl<'a> Emission<'a> {
    /// Makes the syntax tree and checks it. Numbers the sites of the function.
    pub(crate) fn new(
        kind: FunctionKind,
        Attribute { options, paths }: &'a Attribute,
        signature: &'a Signature,
        item: &'a mut ItemFn,
    ) -> syn::Result<Self> {
        let mut tree = TreeBuilder::default();
        tree.is_generic = !item.sig.generics.params.is_empty();
        let refused = hygiene::refused(&item.sig, &item.block);
        tensor_methods::name_types(&signature.params, &mut item.block);
        sites::number(&mut item.block);
        let mut probed = (*item.block).clone();
        let syntax = syntax(kind, *options, signature, item, &mut tree, &mut probed);
        let mut errors = Errors::default();
        let violations = check_with(&syntax, &|span| tree.spans.text(span)).into_iter();
        let refused_options = hygiene::refused_options(&item.block);
        let has_options = refused_options.is_some();
        errors.extend(refused_options);
        let mut by_value = Vec::new();
        for violation in violations {
            // `let Some(x) = … else` has one error.
            if has_options && violation.rule == LanguageRule::Unsupported(Construct::LetCondition) {
                continue;
            }
            let reference = match &violation.rule {
                LanguageRule::TensorAsValue(name) => struct_reference(signature, name),
                _ => None,
            };
            let Some(param) = reference else {
                let text = violation.rule.to_string().replace("`this_value", "`self");
                errors.add(tree.spans.error(violation.span, text));
                continue;
            };
            if !by_value.contains(&param.name) {
                by_value.push(param.name.clone());
                errors.add(syn::Error::new_spanned(&param.ty, signature::by_value(&param.ty)));
            }
        }
        errors.extend(refused);
        if let Some(error) = errors.0 {
            return Err(error);
        }
        let bound = tensor_methods::bound_names(&item.block);
        let params: Vec<&Ident> = signature.params.iter().map(|param| &param.name).collect();
        let operators = operators(&syntax, &|name| {
            bound.iter().chain(params.iter().copied()).filter(|bound| *bound == name).count() == 1
        });
        let bytes = syntax.encode().map_err(|e| syn::Error::new(item.sig.ident.span(), e))?;
        let (generics, strict) = (Generics::new(&item.sig.generics), options.strict);
        Ok(Self { paths, signature, generics, item, tree, probed, bytes, operators, strict })
    }
}

impl Emission<'_> {
    /// The user's block, rewritten for the CPU. `table` is the type with the identities at its sites.
    pub(crate) fn rewritten_block(&self, table: TokenStream) -> TokenStream {
        let mut rewrite = BodyRewriter::new(&self.paths.body, self.typing(table));
        rewrite.tensors = self.signature.names(true);
        rewrite.locals = self.signature.names(false);
        rewrite.block((*self.item.block).clone())
    }

    fn typing(&self, table: TokenStream) -> SiteTypes<'_> {
        SiteTypes { sites: &self.tree.sites, table, types: self.tree.types.len() }
    }

    /// What [`source`](Self::source) defines: the source, as `&'static EmittedSource`, and the identities, a slice.
    pub(crate) fn source_paths(&self) -> (TokenStream, TokenStream) {
        if self.generics.is_empty() {
            return (quote!(&__SOURCE), quote!(&__IDENTITIES));
        }
        let of = self.generics.carrier();
        (quote!(#of::__SOURCE), quote!(&#of::__IDENTITIES))
    }

    /// Whether this is a method that takes `&mut self`.
    pub(crate) fn changes_receiver(&self) -> bool {
        self.signature.params.first().is_some_and(|param| param.by_reference)
    }
}
