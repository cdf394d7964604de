//! The probed copy of a function, and its source for the IR: the syntax tree, and the types that the probes found.

use proc_macro2::{Literal, TokenStream};
use quadrants_frontend::syntax::ParamPassing;
use quote::{quote, quote_spanned};
use syn::{Index, ReturnType, spanned::Spanned};

use super::{Emission, fragments::ungated};
use crate::{
    ast::without_arguments,
    attribute::Paths,
    signature::Param,
    spans::located,
    tokens::method_number,
    tree::{Expected, FuncEntry, TypeEntry},
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
        let (type_count, call_count, identity_count) = (types.len(), calls.len(), identities.len());
        let kinds = self.signature.params.iter().map(|Param { passing, ty, .. }| match passing {
            ParamPassing::Value => {
                let value = quote_spanned!(ty.span()=> <#ty as #private::KernelValue>);
                quote!(#private::ir::types::ParamType::Value(#value::LAYOUT))
            }
            ParamPassing::Ref | ParamPassing::RefMut => {
                let writable = *passing == ParamPassing::RefMut;
                let tensor = quote_spanned!(ty.span()=> <#ty as #support::TensorParam>);
                quote!(#tensor::PARAM.passed(#writable))
            }
        });
        let consts = self.tree.consts.iter();
        let consts = consts.map(|path| quote_spanned!(path.span()=> || #private::constant(#path)));
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
            const __PROBED: (
                [#private::ir::types::Type; #type_count],
                [fn() -> #support::Callee; #call_count],
                [&'static #support::Identity; #identity_count],
            ) = {
                #[allow(unused_imports)]
                use #support::in_scope::*;
                #probes
                #[allow(unused_unsafe, unused_variables, unused_assignments, unused_qualifications, clippy::no_effect, clippy::unit_arg, clippy::unnecessary_operation)]
                let _ = |#inputs| #output #probed;
                #proofs
                let __calls = (#(#calls,)*);
                ([#(#types),*], [#(__calls.#numbers.0),*], [#(#identities),*])
            };
            const __IDENTITIES: [&'static #support::Identity; #identity_count] = #all_probed.2;
            const __TYPES: [#private::ir::types::Type; #type_count] = #all_probed.0;
            const __PARAMS: [#private::ir::types::ParamType; #params] = [#(#kinds),*];
        };
        let source = quote! {
            #frontend::Source {
                file: ::core::file!(),
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
                const __OK: ::core::primitive::bool = { let _ = (__TYPES, __PARAMS); true };
                static __SOURCE: #frontend::Source = #source;
            };
        }
        let (item, of) = (self.generics.carrier_item(), self.generics.carrier());
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let ungated = ungated();
        quote! {
            #item
            impl<#declared> #of #bounds {
                #constants
                const __SOURCE: &'static #frontend::Source = &#source;
            }
            #ungated
        }
    }

    fn probes(&self) -> TokenStream {
        let support = &self.paths.body;
        let of_types = self.tree.types.iter().filter_map(|entry| match entry {
            TypeEntry::Probe { probe, .. } => Some(probe),
            TypeEntry::Written(_) | TypeEntry::Number(_) => None,
        });
        let of_funcs = self.tree.funcs.iter().map(|entry| match entry {
            FuncEntry::Path { probe, .. } => probe,
            FuncEntry::Associated { result, .. } | FuncEntry::Method { result, .. } => result,
        });
        let probes = of_types.chain(of_funcs);
        quote!(#(let #probes = &#support::Probe::new();)*)
    }

    /// The types of the tree, and their identities.
    fn probed_types(&self) -> (Vec<TokenStream>, Vec<TokenStream>) {
        let Paths { private, body: support, .. } = self.paths;
        let all = self.tree.types.iter().map(|entry| match entry {
            TypeEntry::Probe { probe, binding, expected } => {
                let span = binding.span();
                // rustc reports an argument whose type is wrong.
                let probe = located(probe, span);
                let ty = match expected {
                    Expected::Any => quote_spanned!(span=> #support::type_of(#probe)),
                    Expected::Linear => quote_spanned!(span=> #support::linear_type_of(#probe)),
                    Expected::Printed => quote_spanned!(span=> #support::printed_type_of(#probe)),
                };
                (ty, quote_spanned!(span=> #support::identity_of(#probe)))
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
        let support = &self.paths.body;
        let all = self.tree.funcs.iter().enumerate().map(|(at, entry)| {
            let index = Index::from(at);
            let identity = quote!(__calls.#index.1);
            match entry {
                FuncEntry::Path { probe, path } => {
                    let (bare, arguments) = without_arguments(path);
                    let arguments = arguments.map(|arguments| quote!(::<#arguments _>));
                    let callee = quote_spanned! {probe.span()=> {
                        let () = <#bare as #support::Func>::IS;
                        <#bare>::__callee_of #arguments (#probe)
                    }};
                    (callee, identity)
                }
                FuncEntry::Associated { result, ty, name } => {
                    let number = method_number(name);
                    let result = located(result, name.span());
                    let callee = quote_spanned! {ty.span()=>
                        #support::function_of::<#number, #ty, _, _>(#result)
                    };
                    (callee, identity)
                }
                FuncEntry::Method { probe, result, name } => {
                    let (number, span) = (method_number(name), name.span());
                    let (probe, result) = (located(probe, span), located(result, span));
                    let callee = quote_spanned! {span=>
                        (#support::method_of::<#number, _, _>(#probe, #result), #support::Identity::STATED)
                    };
                    // The receiver's type is among the types.
                    (callee, quote!(#support::Identity::STATED))
                }
            }
        });
        all.unzip()
    }

    /// Statements that compile only if the paths of constructs name the library's items.
    fn proofs(&self) -> TokenStream {
        let Paths { private, body: support, .. } = self.paths;
        let tree = &self.tree;
        let mut proofs = TokenStream::new();
        // No function can be in a pattern: so the paths name the library's structs.
        for path in &tree.regions {
            proofs.extend(quote!(let _ = |#path(_): #private::dsl::stream_parallel<fn()>| {};));
        }
        for path in &tree.grids {
            let grid = quote!(#private::dsl::block_for<::core::primitive::usize, fn(#private::dsl::Block)>);
            proofs.extend(quote!(let _ = |#path(..): #grid| {};));
        }
        for path in &tree.spaces {
            let space = quote!(#private::dsl::ndrange<[::core::primitive::usize; 1]>);
            proofs.extend(quote!(let _ = |#path(..): #space| {};));
        }
        // Atomics are functions; two functions have one type only if they are the same.
        for (name, path) in &tree.atomics {
            let (path, _) = without_arguments(path);
            proofs.extend(quote_spanned! {name.span()=>
                let _ = || #support::same_function(#private::dsl::#name::<i32>, #path);
            });
        }
        for half in &tree.halves {
            proofs.extend(
                quote_spanned!(half.span()=> let _ = |half: #half| -> #private::f16 { half };),
            );
        }
        proofs
    }
}
