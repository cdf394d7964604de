//! The type-inference copy of a function, and its source for the IR: the syntax tree, and the types that the probes
//! found.

use std::collections::HashSet;

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream};
use quadrants_frontend::{Operator, Projection, Root, syntax::ParamPassing};
use quote::{quote, quote_spanned};
use syn::{Index, ReturnType, spanned::Spanned};

use super::{Emission, fragments::ungated, func::is_primitive};
use crate::{
    ast::{
        ExpectedType, callee_type, is_constant, is_inferred, name_of, taking, without_arguments,
    },
    attribute::Paths,
    signature::Param,
    spans::{self, located},
    tensors::tensor_check,
    text::text_of,
    tokens::{internal, method_number},
    tree::{FuncEntry, TypeEntry},
};

impl Emission<'_> {
    /// Defines the source and the identities at the function's sites.
    pub(crate) fn source(&self) -> TokenStream {
        let Paths { private, body: support, frontend } = self.paths;
        let generic = !self.generics.is_empty();
        // The constants are in a function, or associated with the type that has its parameters.
        let at = |name: TokenStream| if generic { quote!(Self::#name) } else { name };
        let all_probed = at(quote!(__PROBED));
        let (types, mut identities) = self.probed_types();
        let (calls, call_identities) = self.probed_calls();
        identities.extend(call_identities);
        let numbers = (0..calls.len()).map(Index::from);
        let funcs = (0..calls.len()).map(|number| quote!(#all_probed.1[#number]));
        // Which calls are by a path, and whether that is one of a func.
        let by_path = self.tree.funcs.iter().enumerate().filter_map(|(at, entry)| match entry {
            FuncEntry::Path { path, .. } => Some((Index::from(at), path)),
            _ => None,
        });
        let (paths, called): (Vec<_>, Vec<_>) = by_path.unzip();
        let path_count = paths.len();
        // In a generic function, the constant itself checks that.
        let checks = called.iter().enumerate().filter(|_| !generic).map(|(at, path)| {
            let (at, span) = (Index::from(at), spans::first(path));
            let check = func_check(path, &quote_spanned!(span=> __PROBED.3[#at]));
            quote_spanned!(span=> const _: () = { #check };)
        });
        let tensors = self.signature.params.iter().filter(|param| !generic && param.is_tensor());
        let tensors = tensors.map(|param| {
            let check = tensor_check(support, &param.ty);
            quote_spanned!(param.ty.span()=> const _: () = #check;)
        });
        let checks: Vec<_> =
            tensors.chain(checks).chain((!generic).then(|| self.operator_checks())).collect();
        let (type_count, call_count, identity_count) = (types.len(), calls.len(), identities.len());
        let kinds: Vec<_> = self.param_types().collect();
        let result = self.signature.result.as_ref().map(|ty| {
            let value = quote_spanned!(ty.span()=> <#ty as #private::KernelValue>);
            quote!(let _ = #value::LAYOUT;)
        });
        let signature_check = (!generic).then(|| {
            quote!(const __SIGNATURE: ::core::primitive::bool = { let _ = __PARAMS; #result true };)
        });
        let consts = self.tree.consts.iter();
        let consts = consts.map(|path| match self.maybe_unknown(path) {
            Some(name) => unknown_or_constant(private, support, name),
            None => quote_spanned!(path.span()=> || #private::constant(#path)),
        });
        let (probes, proofs) = (self.probes(), self.proofs());
        let params = self.signature.params.len();
        let bytes = Literal::byte_string(&self.bytes);
        let inputs = &self.item.sig.inputs;
        let output = match &self.item.sig.output {
            ReturnType::Default => quote!(-> ()),
            output => quote!(#output),
        };
        let probed = &self.probed;
        let (types_found, params_found) = (at(quote!(__TYPES)), at(quote!(__PARAMS)));
        let constants = quote! {
            const __PARAMS: [#private::ir::types::ParamType; #params] = [#(#kinds),*];
            #signature_check
            const __PROBED: (
                [#private::ir::types::Type; #type_count],
                [fn() -> #support::Callee; #call_count],
                [&'static #support::Identity; #identity_count],
                [::core::primitive::bool; #path_count],
            ) = {
                #[allow(unused_imports)]
                use #support::in_scope::*;
                #probes
                #[allow(unused_unsafe, unused_variables, unused_assignments, unused_qualifications, clippy::no_effect, clippy::unit_arg, clippy::unnecessary_operation, clippy::needless_range_loop, clippy::manual_memcpy, clippy::manual_swap, clippy::explicit_counter_loop, clippy::match_single_binding, clippy::redundant_pattern, clippy::precedence)]
                let _ = |#inputs| #output #probed;
                #proofs
                let __calls = (#(#calls,)*);
                ([#(#types),*], [#(__calls.#numbers.0),*], [#(#identities),*], [#(__calls.#paths.2),*])
            };
            const __IDENTITIES: [&'static #support::Identity; #identity_count] = #all_probed.2;
            const __TYPES: [#private::ir::types::Type; #type_count] = #all_probed.0;
        };
        let file = match self.tree.spans.file() {
            Some(file) => quote!(#file),
            None => quote!(::core::file!()),
        };
        let source = quote! {
            #frontend::EmittedSource {
                file: #file,
                tree: #bytes,
                params: || #params_found.to_vec(),
                types: || #types_found.to_vec(),
                funcs: &[#(#funcs),*],
                consts: &[#(#consts),*],
            }
        };
        if !generic {
            return quote! {
                #constants
                #(#checks)*
                const __OK: ::core::primitive::bool = { let _ = (__TYPES, __PARAMS); true };
                static __SOURCE: #frontend::EmittedSource = #source;
            };
        }
        let (item, of) = (self.generics.carrier_item(), self.generics.carrier());
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let ungated = ungated();
        quote! {
            #item
            impl<#declared> #of #bounds {
                #constants
                const __SOURCE: &'static #frontend::EmittedSource = &#source;
            }
            #ungated
        }
    }

    /// The types of the parameters in the IR.
    fn param_types(&self) -> impl Iterator<Item = TokenStream> {
        let Paths { private, body: support, .. } = self.paths;
        self.signature.params.iter().map(move |Param { passing, ty, .. }| match passing {
            ParamPassing::Value => {
                let value = quote_spanned!(ty.span()=> <#ty as #private::KernelValue>);
                quote!(#private::ir::types::ParamType::Value(#value::LAYOUT))
            }
            ParamPassing::Ref | ParamPassing::RefDistinct | ParamPassing::RefMut => {
                let writable = *passing == ParamPassing::RefMut;
                let tensor = quote_spanned!(ty.span()=> <#ty as #support::TensorParam>);
                let param = quote!(#tensor::PARAM.passed(#writable));
                // By itself, if it can be: what depends on a constant with an error has notes about it.
                match self.generics.is_empty() {
                    true => param,
                    false => {
                        let check = tensor_check(support, ty);
                        quote!({ #check; #param })
                    }
                }
            }
        })
    }

    /// The name that a path is, if constants are not named so: it may be unknown.
    fn maybe_unknown<'b>(&self, path: &'b syn::Expr) -> Option<&'b Ident> {
        let syn::Expr::Path(path) = path else { return None };
        let is_generic = |name: &Ident| self.generics.constants().any(|constant| constant == name);
        name_of(path).filter(|name| !is_constant(name) && !is_generic(name))
    }

    fn probes(&self) -> TokenStream {
        let (support, maker) = (&self.paths.body, internal("probes"));
        let of_types = self.tree.types.iter().filter_map(|entry| match entry {
            TypeEntry::Probe { probe, .. } => Some(probe),
            TypeEntry::Written(_) | TypeEntry::Number(_) => None,
        });
        let of_funcs = self.tree.funcs.iter().map(|entry| match entry {
            FuncEntry::Path { probe, .. } => probe,
            FuncEntry::Associated { result, .. }
            | FuncEntry::Method { result, .. }
            | FuncEntry::OfTensors { result, .. } => result,
        });
        let probes: Vec<_> = of_types.chain(of_funcs).collect();
        if probes.is_empty() {
            return TokenStream::new();
        }
        // Of an error type if a type of the signature is an error, which rustc then reports once.
        let ok = if self.generics.is_empty() { quote!(__SIGNATURE) } else { quote!(true) };
        quote! {
            let #maker: #support::Gated<#ok, #support::Probes> = #support::Probes;
            #(let #probes = &#maker.probe();)*
        }
    }

    /// The types of the tree, and their identities.
    fn probed_types(&self) -> (Vec<TokenStream>, Vec<TokenStream>) {
        let Paths { private, body: support, .. } = self.paths;
        let all = self.tree.types.iter().map(|entry| match entry {
            TypeEntry::Probe { probe, binding, expected } => {
                // With one hygiene, so that rustc reports a wrong type once.
                let probe = located(probe, binding.span());
                let span = probe.span();
                let support = spans::at(support, span);
                let function = match expected {
                    ExpectedType::Any => "type_of",
                    ExpectedType::Printed => "printed_type_of",
                    ExpectedType::PrintedNumber => "printed_number_type_of",
                    ExpectedType::PrintedInteger => "printed_integer_type_of",
                };
                let function = Ident::new(function, span);
                (
                    quote_spanned!(span=> #support::#function(#probe)),
                    quote_spanned!(span=> #support::identity_of(#probe)),
                )
            }
            TypeEntry::Written(ty) => (
                quote_spanned!(ty.span()=> <#ty as #private::KernelValue>::LAYOUT),
                quote!(#support::Identity::STATED),
            ),
            TypeEntry::Number(ty) => (
                quote_spanned!(ty.span()=> #support::number_type::<#ty>()),
                quote!(#support::Identity::STATED),
            ),
        });
        all.unzip()
    }

    /// The callees of the tree, and the identities of their arguments.
    fn probed_calls(&self) -> (Vec<TokenStream>, Vec<TokenStream>) {
        let (support, generic) = (&self.paths.body, !self.generics.is_empty());
        let all = self.tree.funcs.iter().enumerate().map(|(at, entry)| {
            let index = Index::from(at);
            let identity = quote!(__calls.#index.1);
            match entry {
                FuncEntry::Path { probe, path } => {
                    let (_, arguments) = without_arguments(path);
                    let arguments = arguments.map(|arguments| quote!(::<#arguments _>));
                    let callee = |of: TokenStream| {
                        let at = probe.span();
                        let is_func = quote_spanned!(at=> <#of as #support::Func>::IS);
                        let check = generic.then(|| func_check(path, &is_func));
                        quote_spanned! {at=> {
                            #check
                            let (callee, identity) = <#of>::__callee_of #arguments (#probe);
                            (callee, identity, #is_func)
                        }}
                    };
                    (callee_type(support, path, &[], callee), identity)
                }
                FuncEntry::OfTensors { result, ty, name } => {
                    let number = method_number(name);
                    let result = located(result, name.span());
                    let support = spans::at(support, result.span());
                    let callee = quote_spanned! {result.span()=>
                        #support::tensor_method_of::<#number, #ty, _>(#result)
                    };
                    (callee, identity)
                }
                FuncEntry::Associated { result, ty, name } => {
                    let number = method_number(name);
                    let result = located(result, name.span());
                    let callee = if is_inferred(ty) {
                        let of = taking(support, ty);
                        quote_spanned! {ty.span()=>
                            #support::function_by_type::<#number, _, _, _, _>(#of, #result)
                        }
                    } else {
                        quote_spanned!(ty.span()=> #support::function_of::<#number, #ty, _, _, _>(#result))
                    };
                    (callee, identity)
                }
                FuncEntry::Method { probe, result, name } => {
                    let (number, span) = (method_number(name), name.span());
                    let (probe, result) = (located(probe, span), located(result, span));
                    // With one hygiene, so that rustc reports the method's bounds once.
                    let support = spans::at(support, probe.span());
                    let callee = quote_spanned! {probe.span()=>
                        (#support::method_of::<#number, _, _, _>(#probe, #result), #support::Identity::STATED)
                    };
                    // The receiver's type is among the types.
                    (callee, quote!(#support::Identity::STATED))
                }
            }
        });
        all.unzip()
    }

    /// A statement that compiles only if kernels have the operators for the types of their operands.
    fn operator_checks(&self) -> TokenStream {
        let mut seen = HashSet::new();
        let checks = self.operators.iter().filter_map(|operator| {
            let operands = operator.operands.iter().filter(|(root, projections)| {
                let is_number = match *root {
                    Root::Type(_) => false,
                    Root::Param(at) => is_primitive(&self.signature.params[at].ty),
                    Root::ElementOf(at) => self.signature.params[at].scalar_rank().is_some(),
                };
                !is_number && seen.insert(format!("{root:?} {projections:?} {}", operator.orders))
            });
            let operands: Vec<_> = operands.collect();
            (!operands.is_empty()).then(|| self.operator_check(operator, &operands))
        });
        let checks: Vec<_> = checks.collect();
        match checks.is_empty() {
            true => TokenStream::new(),
            false => quote!(const _: () = { #(#checks)* };),
        }
    }

    /// A statement that panics unless kernels have an operator for the types of operands.
    fn operator_check(
        &self,
        operator: &Operator,
        operands: &[&(Root, Vec<Projection>)],
    ) -> TokenStream {
        let (support, orders) = (&self.paths.body, operator.orders);
        let accepted = operands.iter().map(|(root, projections)| {
            let of = match *root {
                Root::Type(ty) => {
                    let ty = Index::from(ty as usize);
                    quote!(__PROBED.0[#ty])
                }
                Root::Param(at) | Root::ElementOf(at) => {
                    let at = Index::from(at);
                    quote!(#support::value_of(__PARAMS[#at]))
                }
            };
            let part = projections.iter().fold(of, |of, projection| match projection {
                Projection::Field(name) => quote!(#support::field_of(#of, #name)),
                Projection::Element => quote!(#support::element_of(#of)),
            });
            quote!(#support::has_operators(#part, #orders))
        });
        let text = match orders {
            true => {
                "kernels order numbers only; compare parts of these values, or write a method with `#[func]`"
            }
            false => {
                "kernels have no operators of your own; write a method with `#[func]` and call it by its name"
            }
        };
        let (first, last) = self.tree.spans.ends(operator.span);
        let mut condition = Group::new(Delimiter::Parenthesis, quote!(#(#accepted)&&*, #text));
        condition.set_span(last);
        quote_spanned!(first=> ::core::assert! #condition;)
    }

    /// Statements that compile only if the paths of constructs name the library's items.
    fn proofs(&self) -> TokenStream {
        let Paths { private, body: support, .. } = self.paths;
        let tree = &self.tree;
        let mut proofs = TokenStream::new();
        // No function can be in a pattern: so the paths name the library's structs.
        for path in &tree.regions {
            let name = Ident::new("stream_parallel", spans::first(path));
            proofs.extend(in_scope_or(
                private,
                &name,
                path,
                |path| quote!(let _ = |#path(_): #private::dsl::stream_parallel<fn()>| {};),
            ));
        }
        for path in &tree.grids {
            let name = Ident::new("block_for", spans::first(path));
            let grid = quote!(#private::dsl::block_for<::core::primitive::usize, fn(#private::dsl::Block)>);
            proofs.extend(in_scope_or(
                private,
                &name,
                path,
                |path| quote!(let _ = |#path(..): #grid| {};),
            ));
        }
        for path in &tree.spaces {
            let name = Ident::new("ndrange", spans::first(path));
            let space = quote!(#private::dsl::ndrange<[::core::primitive::usize; 1]>);
            proofs.extend(in_scope_or(
                private,
                &name,
                path,
                |path| quote!(let _ = |#path(..): #space| {};),
            ));
        }
        // Atomics are functions; two functions have one type only if they are the same.
        for (name, path) in &tree.atomics {
            let (path, _) = without_arguments(path);
            proofs.extend(in_scope_or(private, name, &path, |path| {
                quote_spanned! {name.span()=>
                    let _ = || #support::same_function(#private::dsl::#name::<i32>, #path);
                }
            }));
        }
        for half in &tree.halves {
            proofs.extend(
                quote_spanned!(half.span()=> let _ = |half: #half| -> #private::f16 { half };),
            );
        }
        proofs
    }
}

/// A statement that compiles only if a called function is a func.
fn func_check(path: &syn::ExprPath, is_func: &TokenStream) -> TokenStream {
    let path_text = text_of(path);
    let text = format!(
        "`{path_text}` is not a `#[func]`; kernels and funcs call only functions with that attribute"
    );
    // rustc underlines from the first to the last token.
    let mut condition = Group::new(Delimiter::Parenthesis, quote!(#is_func, #text));
    condition.set_span(spans::last(path));
    quote_spanned!(spans::first(path)=> ::core::assert! #condition;)
}

/// A proof about a path, of the library's item `name` instead if the path is a name that is not in scope: the probed
/// copy reports that. The import finds no types, as that of the name is always the one of the inner scope.
fn in_scope_or(
    private: &TokenStream,
    name: &Ident,
    path: &syn::ExprPath,
    proof: impl FnOnce(&TokenStream) -> TokenStream,
) -> TokenStream {
    let Some(found) = path.path.get_ident() else { return proof(&quote!(#path)) };
    let at = found.span();
    let proof = proof(&quote_spanned!(at=> __Item));
    let import = quote_spanned!(at=> use #found as __Item;);
    quote_spanned! {at=> {
        #[allow(unused_imports)]
        use #private::dsl::#name as __Item;
        {
            #[allow(dead_code, nonstandard_style)]
            struct #found {}
            #[allow(unused_imports)]
            #import
            #proof
        }
    }}
}

/// The constant of a name, or a placeholder where there is none: the type-inference copy reports an unknown name with
/// the locals that resemble it. The import finds constants only, as its type is always that of the inner scope.
fn unknown_or_constant(private: &TokenStream, support: &TokenStream, name: &Ident) -> TokenStream {
    let import = quote_spanned!(name.span()=> use #name as __Constant;);
    quote_spanned! {name.span()=> || {
        #[allow(dead_code, nonstandard_style)]
        const __Constant: #support::UnknownConstant = #support::UnknownConstant;
        {
            #[allow(dead_code, nonstandard_style)]
            struct #name {}
            #[allow(unused_imports)]
            #import
            #private::constant(__Constant)
        }
    }}
}
