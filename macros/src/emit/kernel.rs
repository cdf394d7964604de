//! What is emitted for a kernel: a function that makes a launch.

use proc_macro2::{Ident, Span, TokenStream};
use quadrants_frontend::syntax::ParamPassing;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{
    Expr, Lifetime,
    visit_mut::{self, VisitMut},
};

use super::{
    Emission,
    fragments::{header, quiet},
};
use crate::{attribute::Paths, body::CpuBody, signature::Param, spans, tokens::internal};

/// A kernel's block with `break`s of a label instead of its `return`s, and the label if there is one: the CPU body
/// continues after the user's code.
fn with_breaks(block: &syn::Block) -> (syn::Block, Option<Lifetime>) {
    struct Returns {
        label: Lifetime,
        found: bool,
    }
    impl VisitMut for Returns {
        fn visit_expr_mut(&mut self, expr: &mut Expr) {
            visit_mut::visit_expr_mut(self, expr);
            if let Expr::Return(leave) = expr {
                self.found = true;
                *expr = Expr::Break(syn::ExprBreak {
                    attrs: Vec::new(),
                    break_token: syn::Token![break](leave.return_token.span),
                    label: Some(self.label.clone()),
                    expr: leave.expr.take(),
                });
            }
        }

        // A `return` in a closure is already rejected.
        fn visit_expr_closure_mut(&mut self, _: &mut syn::ExprClosure) {}
    }
    let mut block = block.clone();
    let mut returns = Returns { label: Lifetime::new("'kernel", Span::mixed_site()), found: false };
    returns.visit_block_mut(&mut block);
    (block, returns.found.then_some(returns.label))
}

impl Emission<'_> {
    pub(super) fn kernel(&self) -> TokenStream {
        let Paths { private, body: support, .. } = self.paths;
        let header = header(self.paths, self.signature, self.item);
        let result = self.signature.result.as_ref().map_or_else(|| quote!(()), |ty| quote!(#ty));
        let arguments = self.signature.params.iter().map(|Param { name, .. }| {
            let gated = quote_spanned!(name.span()=> #support::gate::<__OK, _>(#name));
            quote!(#private::Launch::push(&mut __launch, #gated);)
        });
        let source = self.source();
        let cpu_body = self.cpu_body();
        let body = self.body_type();
        let made = quote!(#private::KernelDef::of::<#body>());
        let def = if self.generics.is_empty() {
            quote! {
                static __DEF: #private::KernelDef = #made;
                let __def = &__DEF;
            }
        } else {
            quote! {
                static __INSTANCES: #private::Monomorphizations = #private::Monomorphizations::new();
                let __def = #private::Monomorphizations::of::<#body>(&__INSTANCES);
            }
        };
        // A launch is a large value: inlined, it is made where it is used.
        let inline = |attr: &syn::Attribute| attr.path().is_ident("inline");
        let inlined = (!self.item.attrs.iter().any(inline)).then(|| quote!(#[inline(always)]));
        quote! {
            #inlined
            #header {
                #source
                #cpu_body
                #def
                #[allow(unused_mut)]
                let mut __launch: #support::Gated<__OK, #private::Launch<'launch, #result>> =
                    #private::Launch::new(__def);
                #(#arguments)*
                __launch
            }
        }
    }

    fn body_type(&self) -> TokenStream {
        if self.generics.is_empty() { quote!(__Body) } else { self.generics.carrier() }
    }

    fn cpu_body(&self) -> TokenStream {
        let Paths { private, body: support, frontend } = self.paths;
        let [cx, args, value, elements] = ["cx", "args", "value", "elements"].map(internal);
        let mut count = quote!(0usize);
        let params: TokenStream = self
            .signature
            .params
            .iter()
            .map(|Param { name, passing, ty, .. }| match passing {
                ParamPassing::Value => {
                    let mutable = quote_spanned!(name.span()=> mut);
                    // As in the source, so that rustc reports a wrong type once.
                    let value = quote_spanned!(ty.span()=> <#ty as #private::KernelValue>);
                    quote! {
                        let #mutable #name = #support::gate::<__OK, _>(
                            #value::from_scalars(&mut || #args.word())
                        );
                    }
                }
                ParamPassing::Ref | ParamPassing::RefDistinct | ParamPassing::RefMut => {
                    count =
                        quote!(::core::cmp::Ord::max(#count, #support::ElementCount::element_count(&#name)));
                    // All at the type, so that rustc reports a wrong one once.
                    let (first, last) = (spans::first(ty), spans::last(ty));
                    let (take, at_first) = (Ident::new("take", last), spans::at(support, first));
                    let tensor = quote_spanned!(first=> <#at_first::Gated<__OK, #ty> as #at_first::TensorParam>::#take);
                    let gated = quote_spanned! {first=>
                        #at_first::gate::<__OK, _>(#tensor(#args))
                    };
                    quote!(let mut #name = #gated;)
                }
            })
            .collect();
        let elements_let = self.tree.regions.first().map(|_| quote!(let #elements = #count;));
        let of = self.body_type();
        let typing = self.typing(of.clone());
        let (block, label) = with_breaks(&self.item.block);
        let (body, loops) = CpuBody::new(support, &self.signature.params, self.strict, typing)
            .kernel(&block, &quote!(#elements));
        let body = match label {
            Some(label) => quote!(#label: { #body }),
            None => body,
        };
        let body = match &self.signature.result {
            Some(ty) => quote! {
                let #value = #support::gate::<__OK, _>({ #body });
                #support::Cx::finish::<#support::Gated<__OK, #ty>>(#cx, #value);
            },
            None => body,
        };
        let quiet = quiet();
        let (declared, bounds) = (self.generics.declared(), self.generics.bounds());
        let (name, (source, identities)) = (self.item.sig.ident.to_string(), self.source_paths());
        let (item, declared) = match self.generics.is_empty() {
            true => (Some(quote!(struct #of;)), None),
            false => (None, Some(quote!(<#declared>))),
        };
        quote! {
            #item
            impl #declared #support::SiteTable for #of #bounds {
                const IDENTITIES: &'static [&'static #support::Identity] = #identities;
            }
            // SAFETY: the tree and `run` are made of the same tokens. `run` uses `cx` as the tree's function says, and
            // no token of the user's can name it.
            #quiet
            unsafe impl #declared #support::Body for #of #bounds {
                const NAME: &'static ::core::primitive::str = #name;

                fn ir() -> ::core::result::Result<#private::ir::Kernel, #private::BoxError> {
                    ::core::result::Result::Ok(#frontend::lower_checked(#source, &[#(#loops),*])?)
                }

                #[inline(always)]
                fn run<__Level: #support::Level, const __WIDE: ::core::primitive::usize>(
                    #cx: &#support::Cx<'_, __Level>,
                ) {
                    // By reference, so that its inherent methods precede those of traits in scope.
                    let #args = &mut #support::Cx::args(#cx);
                    #params
                    #elements_let
                    #body
                }
            }
        }
    }
}
