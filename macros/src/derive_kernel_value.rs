//! `#[derive(KernelValue)]`: a struct as a kernel value. Enums are in [`enums`](crate::enums).
//!
//! The emitted impls say `unsafe` because the traits are unsafe to implement by hand. The lint `unsafe_code` in the
//! user's crate does not apply to them.

use proc_macro2::{Ident, TokenStream};
use quadrants_frontend::name_number;
use quote::{ToTokens, quote, quote_spanned};
use syn::{Data, DeriveInput, Member, Type, parse_quote, spanned::Spanned as _};

use crate::{
    attribute::Paths,
    complex, enums,
    errors::Errors,
    hygiene, identity, marks, storage,
    tokens::{idents, internal},
};

/// The implementation for a struct or an enum. With an error, one that is never used, so that rustc reports nothing
/// about uses of the type.
pub(crate) fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    checked(input).or_else(|error| {
        let has_lifetime = input.generics.lifetimes().next().is_some();
        if has_lifetime || matches!(input.data, Data::Union(_)) {
            return Err(error);
        }
        let (stub, error) = (stub(input)?, error.into_compile_error());
        Ok(quote!(#error #stub))
    })
}

/// The implementation that a type with an error has.
fn stub(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Paths { private, body: support, .. } = Paths::of_derive(input)?;
    let name = &input.ident;
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#private::KernelValue));
    }
    let (with, arguments, bounds) = generics.split_for_impl();
    let number = quote!(<::core::primitive::i32 as #private::KernelValue>);
    Ok(quote! {
        // SAFETY: the program does not compile.
        #[allow(unused)]
        unsafe impl #with #private::KernelValue for #name #arguments #bounds {
            const LAYOUT: #private::ir::types::Type = #number::LAYOUT;
            const TYPE_IDENTITY: &'static #support::Identity = #number::TYPE_IDENTITY;
            type Same = Self;
            type Components = #number::Components;
            type Storage = #number::Storage;
            type Location = #number::Location;
            fn components(values: ::core::primitive::usize, memory: &mut #support::Memory<'_>) -> Self::Components {
                ::core::unreachable!()
            }
            fn storage(memory: &mut #support::Memory<'_>) -> Self::Storage { ::core::unreachable!() }
            fn element_location(
                storage: Self::Storage,
                at: ::core::option::Option<::core::primitive::usize>,
            ) -> Self::Location {
                ::core::unreachable!()
            }
            fn nested_location(
                components: Self::Components,
                element: ::core::option::Option<::core::primitive::usize>,
                offset: ::core::primitive::usize,
            ) -> Self::Location {
                ::core::unreachable!()
            }
            fn read(location: Self::Location) -> Self { ::core::unreachable!() }
            fn write(self, location: Self::Location) {}
            fn push_scalars(self, scalars: &mut dyn ::core::ops::FnMut(#private::ir::Const)) {}
            fn kernel_eq(self, other: Self) -> ::core::primitive::bool { ::core::unreachable!() }
            fn from_scalars(bits: &mut dyn ::core::ops::FnMut() -> ::core::primitive::u64) -> Self {
                ::core::unreachable!()
            }
        }
    })
}

fn checked(input: &DeriveInput) -> syn::Result<TokenStream> {
    let of = match &input.data {
        Data::Struct(of) => of,
        Data::Enum(of) => return enums::derive(input, of),
        Data::Union(_) => {
            let message =
                "structs and enums without fields are kernel values; kernels have no unions";
            return Err(syn::Error::new_spanned(&input.ident, message));
        }
    };
    refuse_references(input, of)?;
    let Paths { private, body: support, .. } = Paths::of_derive(input)?;
    let operators = complex::operators(input, &support)?;
    let kind = internal(if operators.is_some() { "Complex" } else { "Struct" });
    let types = quote!(#private::ir::types);
    let name = &input.ident;
    let text = name.to_string();
    let members: Vec<Member> = of.fields.members().collect();
    let names = members.iter().map(|member| match member {
        Member::Named(name) => hygiene::normalized(name),
        Member::Unnamed(index) => index.index.to_string(),
    });
    let names: Vec<_> = names.collect();
    let numbers = names.iter().map(|name| name_number(name));
    let fields: Vec<_> = of.fields.iter().map(|field| &field.ty).collect();
    let parameters: Vec<_> = input.generics.params.iter().map(parameter_name).collect();
    let is_generic = |ty: &Type| {
        let names = idents(ty);
        parameters.iter().any(|parameter| names.contains(parameter))
    };
    // The check of a field is at its type, so that rustc reports there that it is not a kernel value. All else sees an
    // error type then, and is silent.
    let concrete = fields.iter().filter(|ty| !is_generic(ty));
    let checks = concrete
        .map(|ty| quote_spanned!(ty.span()=> let _ = <#ty as #private::KernelValue>::LAYOUT;));
    let checks: Vec<_> = checks.collect();
    let types_of_fields = fields.iter().map(|ty| match is_generic(ty) {
        true => ty.to_token_stream(),
        false => quote_spanned!(ty.span()=> #support::Gated<__OK, #ty>),
    });
    let types_of_fields: Vec<_> = types_of_fields.collect();
    let values = fields
        .iter()
        .zip(&types_of_fields)
        .map(|(ty, gated)| quote_spanned!(ty.span()=> <#gated as #private::KernelValue>));
    let values: Vec<_> = values.collect();
    // The location of each field of the struct at `location`.
    let locations = values.iter().enumerate().map(|(at, value)| {
        let at = syn::Index::from(at);
        quote!(#value::nested_location(location.components.#at, location.element, location.offset))
    });
    let locations: Vec<_> = locations.collect();
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#private::KernelValue));
    }
    // The generic arguments in the struct's identity.
    let parts = generics.params.iter().filter_map(|param| match param {
        syn::GenericParam::Type(syn::TypeParam { ident, .. }) => {
            Some(quote!(#support::TypePart::Type(<#ident as #private::KernelValue>::TYPE_IDENTITY)))
        }
        syn::GenericParam::Const(syn::ConstParam { ident, .. }) => {
            Some(quote!(#support::TypePart::Number(#ident as ::core::primitive::u128)))
        }
        syn::GenericParam::Lifetime(_) => None,
    });
    let of_fields =
        values.iter().map(|value| quote!(#support::TypePart::Type(#value::TYPE_IDENTITY)));
    let parts: Vec<_> = parts.chain(of_fields).collect();
    let identity = identity::of_expansion(&support, &text, &parts);
    // Written out: a projection from `Self` would be a second error if the struct is not a kernel value.
    let components = quote!((#(#values::Components,)*));
    let location = quote!(#support::AggregateRef<#components>);
    let storage_items = storage::items(&support, &values, &components, &location);
    let (with, arguments, bounds) = generics.split_for_impl();
    let derived = quote! {
        // A struct without fields has the unit type as components.
        #[allow(clippy::unused_unit)]
        // SAFETY: the fields in their order, each as its own type defines it.
        unsafe impl #with #private::KernelValue for #name #arguments #bounds {
            const LAYOUT: #types::Type = #types::Type::Struct(&#types::Struct {
                name: #text,
                fields: &[#(#types::Field {
                    name: #names,
                    ty: #values::LAYOUT,
                }),*],
                kind: #types::StructKind::#kind,
            });
            const TYPE_IDENTITY: &'static #support::Identity = #identity;
            #storage_items
            #[inline(always)]
            fn read(location: #location) -> Self {
                Self { #(#members: #values::read(#locations)),* }
            }
            #[inline(always)]
            fn write(self, location: #location) {
                #(#values::write(self.#members, #locations);)*
            }
            #[inline(always)]
            fn push_scalars(self, scalars: &mut dyn ::core::ops::FnMut(#private::ir::Const)) {
                #(#values::push_scalars(self.#members, scalars);)*
            }
            #[inline(always)]
            fn kernel_eq(self, other: Self) -> ::core::primitive::bool {
                true #(& #values::kernel_eq(self.#members, other.#members))*
            }
            #[inline(always)]
            fn from_scalars(bits: &mut dyn ::core::ops::FnMut() -> ::core::primitive::u64) -> Self {
                Self { #(#members: #values::from_scalars(bits)),* }
            }
        }

        impl #with #support::ValuesDoNotDeref for #name #arguments #bounds {}

        #(
            // SAFETY: the type and the location of the struct's field with this name.
            unsafe impl #with #support::HasField<#numbers> for #name #arguments #bounds {
                type Of = #types_of_fields;
                type Whole = #location;
                #[inline(always)]
                fn field(location: #location) -> <#types_of_fields as #private::KernelValue>::Location {
                    #locations
                }
            }
        )*
    };
    let derived = quote! {
        const _: () = {
            const __OK: ::core::primitive::bool = { #(#checks)* true };
            #derived
        };

        #operators
    };
    Ok(marks::finished(derived, &private))
}

fn parameter_name(of: &syn::GenericParam) -> Ident {
    match of {
        syn::GenericParam::Type(of) => of.ident.clone(),
        syn::GenericParam::Const(of) => of.ident.clone(),
        syn::GenericParam::Lifetime(of) => of.lifetime.ident.clone(),
    }
}

/// The errors for references: kernel values have none.
fn refuse_references(input: &DeriveInput, of: &syn::DataStruct) -> syn::Result<()> {
    let message = "a kernel value has no references; kernels take tensors as parameters";
    let mut errors = Errors::default();
    for field in &of.fields {
        if let Type::Reference(reference) = &field.ty {
            errors.add(syn::Error::new_spanned(reference, message));
        }
    }
    if let (None, Some(lifetime)) = (&errors.0, input.generics.lifetimes().next()) {
        errors.add(syn::Error::new_spanned(lifetime, message));
    }
    errors.0.map_or(Ok(()), Err)
}
