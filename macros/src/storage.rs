//! What derived implementations of `KernelValue` have in common: how an aggregate is placed in memory.

use proc_macro2::TokenStream;
use quote::quote;

/// The types and methods of an implementation of `KernelValue` that place an aggregate in memory: its parts in their
/// order, each as its own implementation, of `values`, defines it.
pub(crate) fn items(
    support: &TokenStream,
    values: &[TokenStream],
    components: &TokenStream,
    location: &TokenStream,
) -> TokenStream {
    quote! {
        type Same = Self;
        type Components = #components;
        type Storage = #components;
        type Location = #location;
        #[inline(always)]
        fn components(values: ::core::primitive::usize, memory: &mut #support::Memory<'_>) -> #components {
            (#(#values::components(values, memory),)*)
        }
        #[inline(always)]
        fn storage(memory: &mut #support::Memory<'_>) -> #components {
            (#(#values::components(1, memory),)*)
        }
        #[inline(always)]
        fn element_location(storage: #components, at: ::core::option::Option<::core::primitive::usize>) -> #location {
            #support::AggregateRef { components: storage, element: at, offset: 0 }
        }
        #[inline(always)]
        fn nested_location(
            components: #components,
            element: ::core::option::Option<::core::primitive::usize>,
            offset: ::core::primitive::usize,
        ) -> #location {
            #support::AggregateRef { components, element, offset }
        }
    }
}
