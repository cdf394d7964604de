//! The identities of types that derives emit.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// The number of derives that this process has expanded: one process expands those of one crate.
static EXPANSIONS: AtomicU64 = AtomicU64::new(0);

/// The identity of a type with this name and these parts. Two expansions never have the same name: the path and line
/// alone would not do, because a macro can define two types of one name that differ only in their scope.
pub(crate) fn of_expansion(
    support: &TokenStream,
    name: &str,
    parts: &[TokenStream],
) -> TokenStream {
    let number = Literal::u64_unsuffixed(EXPANSIONS.fetch_add(1, Relaxed));
    quote!(&#support::Identity {
        name: ::core::concat!(
            ::core::module_path!(), "::", #name, " ", ::core::file!(), ":", ::core::line!(), ":", ::core::column!(), " ", #number
        ),
        parts: &[#(#parts),*],
    })
}
