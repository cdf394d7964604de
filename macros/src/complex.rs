//! `#[device(complex)]`: the operators of complex numbers for a struct with two floats. The library's `Complex` has it.
//!
//! The lowering accepts these operators on such structs. That is sound because they are emitted here: no other
//! implementation for the same types can exist.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, GenericParam};

use crate::attribute::is_complex;

/// The operators of a struct with the attribute; `None` for other structs.
pub(crate) fn operators(
    input: &DeriveInput,
    support: &TokenStream,
) -> syn::Result<Option<TokenStream>> {
    if !is_complex(input) {
        return Ok(None);
    }
    let name = &input.ident;
    let refuse =
        || syn::Error::new_spanned(name, "a complex number is `struct Name<T> { re: T, im: T }`");
    let Data::Struct(of) = &input.data else { return Err(refuse()) };
    let of_type = match input.generics.params.first() {
        Some(GenericParam::Type(parameter)) if input.generics.params.len() == 1 => &parameter.ident,
        _ => return Err(refuse()),
    };
    let fields: Vec<String> = of
        .fields
        .iter()
        .filter(|field| matches!(&field.ty, syn::Type::Path(path) if path.path.is_ident(of_type)))
        .filter_map(|field| Some(field.ident.as_ref()?.to_string()))
        .collect();
    if fields != ["re", "im"] || of.fields.len() != 2 {
        return Err(refuse());
    }
    // As the lowering computes them (`frontend/src/lower/complex.rs`).
    let sum = quote!(Self { re: self.re + other.re, im: self.im + other.im });
    let difference = quote!(Self { re: self.re - other.re, im: self.im - other.im });
    let product = quote!(Self {
        re: self.re * other.re - self.im * other.im,
        im: self.re * other.im + self.im * other.re,
    });
    let quotient = quote!({
        let norm = other.re * other.re + other.im * other.im;
        Self {
            re: (self.re * other.re + self.im * other.im) / norm,
            im: (self.im * other.re - self.re * other.im) / norm,
        }
    });
    let scaled = quote!(Self { re: self.re * other, im: self.im * other });
    let divided = quote!(Self { re: self.re / other, im: self.im / other });
    let this = quote!(Self);
    let scalar = quote!(__T);
    let binary = [
        ("Add", "add", &this, sum),
        ("Sub", "sub", &this, difference),
        ("Mul", "mul", &this, product),
        ("Div", "div", &this, quotient),
        ("Mul", "mul", &scalar, scaled),
        ("Div", "div", &scalar, divided),
    ];
    let ident = |text: &str| syn::Ident::new(text, proc_macro2::Span::mixed_site());
    let binary = binary.into_iter().map(|(operator, method, other, value)| {
        let (assigning, assign) =
            (ident(&format!("{operator}Assign")), ident(&format!("{method}_assign")));
        let (operator, method) = (ident(operator), ident(method));
        quote! {
            impl<__T: #support::Float> ::core::ops::#operator<#other> for #name<__T> {
                type Output = Self;
                #[inline(always)]
                fn #method(self, other: #other) -> Self { #value }
            }
            impl<__T: #support::Float> ::core::ops::#assigning<#other> for #name<__T> {
                #[inline(always)]
                fn #assign(&mut self, other: #other) {
                    *self = ::core::ops::#operator::#method(*self, other);
                }
            }
        }
    });
    let of_floats = ["f32", "f64"].map(|float| {
        let float = ident(float);
        quote! {
            impl ::core::ops::Mul<#name<::core::primitive::#float>> for ::core::primitive::#float {
                type Output = #name<::core::primitive::#float>;
                #[inline(always)]
                fn mul(self, other: Self::Output) -> Self::Output {
                    #name { re: self * other.re, im: self * other.im }
                }
            }
        }
    });
    Ok(Some(quote! {
        #(#binary)*
        #(#of_floats)*
        impl<__T: #support::Float> ::core::ops::Neg for #name<__T> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self { Self { re: -self.re, im: -self.im } }
        }
    }))
}
