//! `#[derive(KernelValue)]`: a struct as a type of values in kernels.
//!
//! The traits are unsafe to implement by hand, so that what is emitted says `unsafe`; lints for the author's own
//! code do not see that.

use proc_macro2::TokenStream;
use quadrants_frontend::name_number;
use quote::quote;
use syn::{Data, DeriveInput, Member, Path, parse_quote};

use crate::{hygiene, sites};

/// The implementation for a struct.
pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Struct(of) = &input.data else {
        return Err(syn::Error::new_spanned(
            &input.ident,
            "kernels have structs; an enum or union is no type of theirs",
        ));
    };
    let krate = facade(input)?;
    let private = quote!(#krate::__private);
    let types = quote!(#private::ir::types);
    let support = quote!(#private::body);
    let name = &input.ident;
    let text = name.to_string();
    let members: Vec<Member> = of.fields.members().collect();
    let names: Vec<_> = members
        .iter()
        .map(|member| match member {
            Member::Named(name) => hygiene::normalized(name),
            Member::Unnamed(index) => index.index.to_string(),
        })
        .collect();
    let numbers = names.iter().map(|name| name_number(name));
    let fields: Vec<_> = of.fields.iter().map(|field| &field.ty).collect();
    // Where each field of what is at `spot` is.
    let spots: Vec<_> = fields
        .iter()
        .enumerate()
        .map(|(at, ty)| {
            let at = syn::Index::from(at);
            quote!(<#ty as #private::KernelValue>::within(spot.parts.#at, spot.element, spot.choice))
        })
        .collect();
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#private::KernelValue));
    }
    // What tells the struct from all others, with its generic arguments.
    let parts: Vec<_> = generics
        .params
        .iter()
        .filter_map(|param| match param {
            syn::GenericParam::Type(of) => {
                let name = &of.ident;
                Some(quote!(<#name as #private::KernelValue>::IDENTITY))
            }
            syn::GenericParam::Const(of) => {
                let name = &of.ident;
                Some(quote!(#name as ::core::primitive::u128))
            }
            syn::GenericParam::Lifetime(_) => None,
        })
        .collect();
    let (with, arguments, bounds) = generics.split_for_impl();
    let derived = quote! {
        // Of a struct without fields nothing is taken.
        #[allow(clippy::unused_unit)]
        // SAFETY: the fields in their order, each as its own type says.
        unsafe impl #with #private::KernelValue for #name #arguments #bounds {
            const LAYOUT: #types::Type = #types::Type::Struct(&#types::Struct {
                name: #text,
                fields: &[#(#types::Field {
                    name: #names,
                    ty: <#fields as #private::KernelValue>::LAYOUT,
                }),*],
            });
            const IDENTITY: ::core::primitive::u128 = {
                let all = #support::type_identity(::core::concat!(
                    ::core::module_path!(), "::", #text, " ", ::core::file!(), ":", ::core::line!(), ":", ::core::column!()
                ));
                #(let all = #support::with_part(all, #parts);)*
                #(let all = #support::with_part(all, <#fields as #private::KernelValue>::IDENTITY);)*
                all
            };
            type Parts = (#(<#fields as #private::KernelValue>::Parts,)*);
            type Root = Self::Parts;
            type Spot = #support::Within<Self::Parts>;
            #[inline(always)]
            fn parts(values: ::core::primitive::usize, memory: &mut #support::Memory<'_>) -> Self::Parts {
                (#(<#fields as #private::KernelValue>::parts(values, memory),)*)
            }
            #[inline(always)]
            fn root(memory: &mut #support::Memory<'_>) -> Self::Parts {
                <Self as #private::KernelValue>::parts(1, memory)
            }
            #[inline(always)]
            fn element(root: Self::Parts, at: ::core::option::Option<::core::primitive::usize>) -> Self::Spot {
                <Self as #private::KernelValue>::within(root, at, 0)
            }
            #[inline(always)]
            fn within(
                parts: Self::Parts,
                element: ::core::option::Option<::core::primitive::usize>,
                choice: ::core::primitive::usize,
            ) -> Self::Spot {
                #support::Within { parts, element, choice }
            }
            #[inline(always)]
            fn read(spot: Self::Spot) -> Self {
                Self { #(#members: <#fields as #private::KernelValue>::read(#spots)),* }
            }
            #[inline(always)]
            fn write(self, spot: Self::Spot) {
                #(#private::KernelValue::write(self.#members, #spots);)*
            }
            #[inline(always)]
            fn give(self, scalars: &mut dyn ::core::ops::FnMut(#private::ir::Const)) {
                #(#private::KernelValue::give(self.#members, scalars);)*
            }
            #[inline(always)]
            fn kernel_eq(self, other: Self) -> ::core::primitive::bool {
                true #(& #private::KernelValue::kernel_eq(self.#members, other.#members))*
            }
            #[inline(always)]
            fn take(bits: &mut dyn ::core::ops::FnMut() -> ::core::primitive::u64) -> Self {
                Self { #(#members: #private::KernelValue::take(bits)),* }
            }
        }

        impl #with #support::ValuesDoNotDeref for #name #arguments #bounds {}

        #(
            // SAFETY: the field of this name, where the struct has it.
            unsafe impl #with #support::HasField<#numbers> for #name #arguments #bounds {
                type Of = #fields;
                #[inline(always)]
                fn field(
                    spot: <Self as #private::KernelValue>::Spot,
                ) -> <#fields as #private::KernelValue>::Spot {
                    #spots
                }
            }
        )*
    };
    Ok(sites::finished(derived, &private))
}

/// The path of the facade crate.
pub(crate) fn facade(input: &DeriveInput) -> syn::Result<Path> {
    let mut path = parse_quote!(::quadrants);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("device")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                path = meta.value()?.parse()?;
                Ok(())
            } else {
                Err(meta.error("the one argument is `crate = path`"))
            }
        })?;
    }
    Ok(path)
}
