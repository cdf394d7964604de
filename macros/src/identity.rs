//! The identities of types that derives emit.

use std::{
    env, fs,
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
    let compilation = metadata(env::args());
    quote!(&#support::Identity {
        name: ::core::concat!(
            ::core::module_path!(), "::", #name, " ", ::core::file!(), ":", ::core::line!(), ":", ::core::column!(),
            " ", #number, " ", #compilation
        ),
        parts: &[#(#parts),*],
    })
}

/// What tells crates of one name apart: all options `-C metadata` of rustc. Cargo sets one for each crate.
fn metadata(arguments: impl Iterator<Item = String>) -> String {
    let mut all = String::new();
    for argument in arguments {
        if let Some(file) = argument.strip_prefix('@') {
            // One argument in each line.
            match fs::read_to_string(file) {
                Ok(text) => all += &metadata(text.lines().map(str::to_owned)),
                Err(_) => all += file,
            }
            continue;
        }
        let prefixes = ["-C", "--codegen="];
        let option = prefixes.iter().find_map(|prefix| argument.strip_prefix(prefix));
        if let Some(value) = option.unwrap_or(&argument).trim_start().strip_prefix("metadata=") {
            all = all + value + " ";
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_of_a_crate_is_found_in_all_forms() {
        let found = |arguments: &[&str]| metadata(arguments.iter().map(|&text| text.to_owned()));
        assert_eq!(found(&["rustc", "-C", "metadata=a1", "lib.rs"]), "a1 ");
        assert_eq!(found(&["rustc", "-Cmetadata=b2", "-C", "metadata=z"]), "b2 z ");
        assert_eq!(
            found(&["rustc", "--codegen=metadata=c3", "--codegen", "metadata=d4"]),
            "c3 d4 "
        );
        assert_eq!(found(&["rustc", "lib.rs"]), "");
        let folder = env::temp_dir().join(format!("quadrants-arguments-{}", std::process::id()));
        fs::write(&folder, "-C\nmetadata=e5\n").unwrap();
        assert_eq!(found(&[&format!("@{}", folder.display())]), "e5 ");
        fs::remove_file(folder).unwrap();
    }
}
