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
    // Where each field of what is at `location` is.
    let locations: Vec<_> = fields
        .iter()
        .enumerate()
        .map(|(at, ty)| {
            let at = syn::Index::from(at);
            quote!(<#ty as #private::KernelValue>::nested_location(location.components.#at, location.element, location.offset))
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
                Some(quote!(<#name as #private::KernelValue>::TYPE_IDENTITY))
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
            const TYPE_IDENTITY: ::core::primitive::u128 = {
                let all = #support::type_identity(::core::concat!(
                    ::core::module_path!(), "::", #text, " ", ::core::file!(), ":", ::core::line!(), ":", ::core::column!()
                ));
                #(let all = #support::with_part(all, #parts);)*
                #(let all = #support::with_part(all, <#fields as #private::KernelValue>::TYPE_IDENTITY);)*
                all
            };
            type Components = (#(<#fields as #private::KernelValue>::Components,)*);
            type Storage = Self::Components;
            type Location = #support::AggregateRef<Self::Components>;
            #[inline(always)]
            fn components(values: ::core::primitive::usize, memory: &mut #support::Memory<'_>) -> Self::Components {
                (#(<#fields as #private::KernelValue>::components(values, memory),)*)
            }
            #[inline(always)]
            fn storage(memory: &mut #support::Memory<'_>) -> Self::Components {
                <Self as #private::KernelValue>::components(1, memory)
            }
            #[inline(always)]
            fn element_location(storage: Self::Components, at: ::core::option::Option<::core::primitive::usize>) -> Self::Location {
                <Self as #private::KernelValue>::nested_location(storage, at, 0)
            }
            #[inline(always)]
            fn nested_location(
                components: Self::Components,
                element: ::core::option::Option<::core::primitive::usize>,
                offset: ::core::primitive::usize,
            ) -> Self::Location {
                #support::AggregateRef { components, element, offset }
            }
            #[inline(always)]
            fn read(location: Self::Location) -> Self {
                Self { #(#members: <#fields as #private::KernelValue>::read(#locations)),* }
            }
            #[inline(always)]
            fn write(self, location: Self::Location) {
                #(#private::KernelValue::write(self.#members, #locations);)*
            }
            #[inline(always)]
            fn push_scalars(self, scalars: &mut dyn ::core::ops::FnMut(#private::ir::Const)) {
                #(#private::KernelValue::push_scalars(self.#members, scalars);)*
            }
            #[inline(always)]
            fn kernel_eq(self, other: Self) -> ::core::primitive::bool {
                true #(& #private::KernelValue::kernel_eq(self.#members, other.#members))*
            }
            #[inline(always)]
            fn from_scalars(bits: &mut dyn ::core::ops::FnMut() -> ::core::primitive::u64) -> Self {
                Self { #(#members: #private::KernelValue::from_scalars(bits)),* }
            }
        }

        impl #with #support::ValuesDoNotDeref for #name #arguments #bounds {}

        #(
            // SAFETY: the field of this name, where the struct has it.
            unsafe impl #with #support::HasField<#numbers> for #name #arguments #bounds {
                type Of = #fields;
                #[inline(always)]
                fn field(
                    location: <Self as #private::KernelValue>::Location,
                ) -> <#fields as #private::KernelValue>::Location {
                    #locations
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
