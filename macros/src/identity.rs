//! The identities of types that derives emit.

use std::{
    env,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// The number of derives that this process has expanded: one process expands those of one crate.
static EXPANSIONS: AtomicU64 = AtomicU64::new(0);

/// The identity of a type with this name and these parts. Two expansions never have the same name. The path and line
/// alone would not do: a macro can define two types of one name that differ only in their scope, and two versions of a
/// crate can be in one program.
pub(crate) fn of_expansion(
    support: &TokenStream,
    name: &str,
    parts: &[TokenStream],
) -> TokenStream {
    let number = Literal::u64_unsuffixed(EXPANSIONS.fetch_add(1, Relaxed));
    let compilation = metadata(env::args()).unwrap_or_default();
    quote!(&#support::Identity {
        name: ::core::concat!(
            ::core::module_path!(), "::", #name, " ", ::core::file!(), ":", ::core::line!(), ":", ::core::column!(),
            " ", #number, " ", #compilation
        ),
        parts: &[#(#parts),*],
    })
}

/// What tells crates of one name apart: the option `-C metadata` of rustc, which Cargo sets for each crate.
fn metadata(arguments: impl Iterator<Item = String>) -> Option<String> {
    let option = |argument: String| {
        let option = argument.strip_prefix("-C").unwrap_or(&argument);
        option.strip_prefix("metadata=").map(str::to_owned)
    };
    arguments.filter_map(option).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_of_a_crate_is_found_in_both_forms() {
        let found = |arguments: &[&str]| metadata(arguments.iter().map(|&text| text.to_owned()));
        assert_eq!(found(&["rustc", "-C", "metadata=a1", "lib.rs"]).as_deref(), Some("a1"));
        assert_eq!(found(&["rustc", "-Cmetadata=b2"]).as_deref(), Some("b2"));
        assert_eq!(found(&["rustc", "lib.rs"]), None);
    }
}
