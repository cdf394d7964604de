//! `#[derive(KernelValue)]` of an enum without fields: a kernel value that consists of its discriminant.
//!
//! In kernels the value is a struct with one number. Only variants, parameters and results of funcs are such values, so
//! the number always is a discriminant. Tensors cannot have them as elements, because their memory may hold any number.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{DataEnum, DeriveInput, Expr, Fields, Lit, ext::IdentExt};

use crate::{attribute::Paths, identity, marks, storage};

/// The implementation for an enum.
pub(crate) fn derive(input: &DeriveInput, of: &DataEnum) -> syn::Result<TokenStream> {
    let refuse = |tokens: &dyn quote::ToTokens, message: &str| {
        Err(syn::Error::new_spanned(tokens.to_token_stream(), message))
    };
    if let Some(variant) =
        of.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit))
    {
        return refuse(
            &variant.fields,
            "an enum in kernels has variants without fields; write a struct with such an enum and the fields",
        );
    }
    if let Some(parameter) = input.generics.params.first() {
        return refuse(parameter, "an enum in kernels has no generic parameters");
    }
    let Some(first) = of.variants.first().map(|variant| &variant.ident) else {
        return refuse(&input.ident, "an enum in kernels needs a variant");
    };
    let Paths { private, body: support, .. } = Paths::of_derive(input)?;
    let (name, text) = (&input.ident, input.ident.to_string());
    let types = quote!(#private::ir::types);
    let number = Ident::new(number_type(input, of), Span::mixed_site());
    let number = quote!(::core::primitive::#number);
    let variants: Vec<_> = of.variants.iter().map(|variant| &variant.ident).collect();
    let names = variants.iter().map(|name| name.unraw().to_string());
    let identity = identity::of_expansion(&support, &text, &[]);
    let of_number = quote!(<#number as #private::KernelValue>);
    // Written out: a projection from `Self` would be a second error if the enum is not a kernel value.
    let components = quote!((#of_number::Components,));
    let location = quote!(#support::AggregateRef<#components>);
    let values = [of_number.clone()];
    let storage_items = storage::items(&support, &values, &components, &location);
    let derived = quote! {
        // SAFETY: as derived for a struct of one number, the discriminant. A number that is not a discriminant is read
        // as the first variant.
        unsafe impl #private::KernelValue for #name {
            const LAYOUT: #types::Type = #types::Type::Struct(&#types::Struct {
                name: #text,
                fields: &[#types::Field { name: "discriminant", ty: #of_number::LAYOUT }],
                kind: #types::StructKind::Enum(&[#(#types::Variant {
                    name: #names,
                    number: #name::#variants as ::core::primitive::i64,
                }),*]),
            });
            const TYPE_IDENTITY: &'static #support::Identity = #identity;
            #storage_items
            #[inline(always)]
            fn read(location: #location) -> Self {
                let number = #of_number::read(
                    #of_number::nested_location(location.components.0, location.element, location.offset)
                );
                #(if number == Self::#variants as #number { return Self::#variants; })*
                Self::#first
            }
            #[inline(always)]
            fn write(self, location: #location) {
                #of_number::write(
                    self as #number,
                    #of_number::nested_location(location.components.0, location.element, location.offset)
                )
            }
            #[inline(always)]
            fn push_scalars(self, scalars: &mut dyn ::core::ops::FnMut(#private::ir::Const)) {
                #of_number::push_scalars(self as #number, scalars)
            }
            #[inline(always)]
            fn kernel_eq(self, other: Self) -> ::core::primitive::bool {
                self as #number == other as #number
            }
            #[inline(always)]
            fn from_scalars(bits: &mut dyn ::core::ops::FnMut() -> ::core::primitive::u64) -> Self {
                let number = #of_number::from_scalars(bits);
                #(if number == Self::#variants as #number { return Self::#variants; })*
                Self::#first
            }
        }

        impl #support::ValuesDoNotDeref for #name {}
    };
    Ok(marks::finished(derived, &private))
}

/// The type of the number that holds every discriminant: `i32` if the source shows that it is enough.
fn number_type(input: &DeriveInput, of: &DataEnum) -> &'static str {
    let has_repr = input.attrs.iter().any(|attribute| attribute.path().is_ident("repr"));
    let is_small = |value: &Expr| match value {
        Expr::Lit(syn::ExprLit { lit: Lit::Int(number), .. }) => {
            number.base10_parse::<u16>().is_ok()
        }
        _ => false,
    };
    let all_small = of.variants.iter().all(|variant| {
        variant.discriminant.as_ref().is_none_or(|(_, discriminant)| is_small(discriminant))
    });
    if all_small && !has_repr && of.variants.len() < usize::from(u16::MAX) { "i32" } else { "i64" }
}
