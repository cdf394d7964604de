//! `#[derive(Tensors)]`: a struct of tensors as one parameter of kernels.

use proc_macro2::{Delimiter, Group, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput, Fields, Type, spanned::Spanned};

use crate::{attribute::Paths, hygiene, identity, marks, spans};

/// An expression that fails to compile, at the type, if kernels cannot take tensors of it.
pub(crate) fn tensor_check(support: &TokenStream, ty: &Type) -> TokenStream {
    let (first, last) = (spans::first(ty), spans::last(ty));
    let at = spans::at(support, first);
    // As where its type in the IR is stated, so that rustc reports a type that is not a tensor once.
    let of = quote_spanned!(ty.span()=> <#ty as #support::TensorParam>);
    let mut argument = Group::new(Delimiter::Parenthesis, quote!(#of::REFUSED));
    argument.set_span(last);
    quote_spanned!(first=> #at::accept #argument)
}

/// The implementation for a struct.
pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let fields = match &input.data {
        Data::Struct(of) => match &of.fields {
            Fields::Named(fields) if !fields.named.is_empty() => &fields.named,
            other => {
                let message = "a struct of tensors needs named fields";
                return Err(syn::Error::new(other.span(), message));
            }
        },
        _ => return Err(syn::Error::new_spanned(&input.ident, "`Tensors` is for structs")),
    };
    if let Some(other) = input.generics.type_params().next() {
        let message = "a struct of tensors can have only lifetime parameters";
        return Err(syn::Error::new_spanned(other, message));
    }
    let Paths { private, body: support, .. } = Paths::of_derive(input)?;
    let (mut names, mut tensors, mut writable) = (Vec::new(), Vec::new(), Vec::new());
    let mut visibilities = Vec::new();
    for field in fields {
        let Type::Reference(reference) = &field.ty else {
            let message = "a field of a struct of tensors is `&Tensor<…>` or `&mut Tensor<…>`";
            return Err(syn::Error::new_spanned(&field.ty, message));
        };
        names.push(&field.ident);
        visibilities.push(&field.vis);
        tensors.push(&reference.elem);
        writable.push(reference.mutability.is_some());
    }
    let texts = names.iter().map(|name| name.as_ref().map(hygiene::normalized));
    let given = names.iter().zip(&writable).map(|(name, writable)| match writable {
        true => quote!(&mut *self.#name),
        false => quote!(&*self.#name),
    });
    let of = &input.ident;
    let parts: Vec<_> = tensors
        .iter()
        .map(|ty| quote!(#support::TypePart::Type(<#ty as #support::TensorParam>::TYPE_IDENTITY)))
        .collect();
    let checks = tensors.iter().map(|ty| tensor_check(&support, ty));
    let identity = identity::of_expansion(&support, &of.to_string(), &parts);
    // An attribute after the derive could change the fields that the derive has read.
    let same_fields = quote! {
        let #of { #(#names: _),* } = self;
        #(let _: &#tensors = &*self.#names;)*
    };
    let (with, arguments, bounds) = input.generics.split_for_impl();
    let mut launched = input.generics.clone();
    launched.params.insert(0, syn::parse_quote!('launch));
    let (launched, ..) = launched.split_for_impl();
    let derived = quote! {
        const _: () = {
            #[allow(missing_docs, unreachable_pub)]
            #[derive(Clone, Copy)]
            pub struct Views {
                #(#visibilities #names: <#tensors as #support::TensorParam>::View,)*
            }

            impl #support::ElementCount for Views {
                #[inline(always)]
                fn element_count(&self) -> ::core::primitive::usize {
                    let mut most = 0;
                    #(most = ::core::cmp::Ord::max(most, #support::ElementCount::element_count(&self.#names));)*
                    most
                }
            }

            impl #support::WithCheckMode for Views {
                #[inline(always)]
                fn with_check_mode(self, check_mode: #support::CheckMode) -> Self {
                    Self { #(#names: #support::WithCheckMode::with_check_mode(self.#names, check_mode),)* }
                }
            }

            // SAFETY: the type and the view have the fields in their order.
            unsafe impl #with #support::TensorParam for #of #arguments #bounds {
                type View = Views;

                const PARAM: #private::ir::types::ParamType = #private::ir::types::ParamType::Struct {
                    fields: &[#(#support::tensor_field::<#tensors>(#texts, #writable)),*],
                    writable: true,
                };

                // The derive checks the fields.
                const REFUSED: ::core::option::Option<&'static ::core::primitive::str> =
                    ::core::option::Option::None;

                const TYPE_IDENTITY: &'static #support::Identity = #identity;

                #[inline(always)]
                fn take(
                    args: &mut #support::ArgumentReader<'_>,
                ) -> Views {
                    Views { #(#names: <#tensors as #support::TensorParam>::take(args)),* }
                }
            }

            impl #with #support::ValuesDoNotDeref for #of #arguments #bounds {}

            #(const _: () = #checks;)*

            impl #launched #private::Arg<'launch> for &'launch mut #of #arguments #bounds {
                fn push_to(self, args: &mut #private::ArgList<'launch>) {
                    #same_fields
                    #(#private::Arg::push_to(#given, args);)*
                }
            }

            impl #launched #private::Arg<'launch> for &'launch #of #arguments #bounds {
                fn push_to(self, args: &mut #private::ArgList<'launch>) {
                    #same_fields
                    #(#private::Arg::push_to(&*self.#names, args);)*
                }
            }
        };
    };
    Ok(marks::finished(derived, &private))
}
