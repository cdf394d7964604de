//! `#[derive(Device)]`: a struct as a type of values in kernels.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Member, Path, parse_quote};

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
    let name = &input.ident;
    let text = name.to_string();
    let members: Vec<Member> = of.fields.members().collect();
    let names = members.iter().map(|member| match member {
        Member::Named(name) => name.to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    });
    let fields: Vec<_> = of.fields.iter().map(|field| &field.ty).collect();
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#private::Device));
    }
    let (with, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        impl #with #private::Device for #name #arguments #bounds {
            const LAYOUT: #types::Type = #types::Type::Struct(&#types::Struct {
                name: #text,
                fields: &[#(#types::Field {
                    name: #names,
                    ty: <#fields as #private::Device>::LAYOUT,
                }),*],
            });
            #[inline(always)]
            fn give(self, scalars: &mut dyn ::core::ops::FnMut(#private::ir::Const)) {
                #(#private::Device::give(self.#members, scalars);)*
            }
            #[inline(always)]
            fn take(bits: &mut dyn ::core::ops::FnMut() -> u64) -> Self {
                Self { #(#members: #private::Device::take(bits)),* }
            }
        }
    })
}

/// The path of the facade crate.
fn facade(input: &DeriveInput) -> syn::Result<Path> {
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
