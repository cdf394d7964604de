//! Compares `docs/configuration.md` with the environment variables that the sources read.

use std::{collections::BTreeSet, fs, path::Path};

/// Variables that tests use to communicate with child processes of their own.
const INTERNAL: [&str; 7] = [
    "QUADRANTS_CUDARC_CHECK",
    "QUADRANTS_TEST_CHILD",
    "QUADRANTS_TEST_AGAIN",
    "QUADRANTS_TEST_EXPORT",
    "QUADRANTS_TEST_HIPRTC_CHILD",
    "QUADRANTS_TEST_THREADS_CHILD",
    "QUADRANTS_SIM_TEST_FAILS",
];

/// Set by a build script for the compiler, not by users.
const BUILD: [&str; 1] = ["QUADRANTS_SOURCES"];

/// The names in `text` that begin with `QUADRANTS_` and stand between `open` and `close`.
fn names(text: &str, open: char, close: char) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices("QUADRANTS_") {
        let end =
            text[at..].find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        let name = &text[at..end.map_or(text.len(), |end| at + end)];
        let is_whole = text[..at].ends_with(open) && text[at + name.len()..].starts_with(close);
        // The prefix alone is no variable.
        if is_whole && !name.ends_with('_') {
            names.insert(name.to_owned());
        }
    }
    names
}

/// Collects such names from the string literals of all Rust sources below `folder`, except this one.
fn read_sources(folder: &Path, names_read: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !name.starts_with("target") {
                read_sources(&path, names_read);
            }
        } else if name.ends_with(".rs") && name != "configuration.rs" {
            names_read.extend(names(&fs::read_to_string(&path).unwrap(), '"', '"'));
        }
    }
}

#[test]
fn the_configuration_page_lists_all_environment_variables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = root.join("docs/configuration.md");
    if !page.is_file() {
        println!("skipped: this is a packaged crate, without the repository's documentation");
        return;
    }
    let listed = names(&fs::read_to_string(page).unwrap(), '`', '`');
    let mut read = BTreeSet::new();
    read_sources(&root, &mut read);
    for name in INTERNAL.iter().chain(&BUILD) {
        assert!(read.remove(*name), "{name} is no longer read anywhere: remove it from this test");
    }
    let missing: Vec<_> = read.difference(&listed).collect();
    assert!(missing.is_empty(), "docs/configuration.md does not list {missing:?}");
    let stale: Vec<_> = listed.difference(&read).collect();
    assert!(stale.is_empty(), "docs/configuration.md lists {stale:?}, which no source reads");
}
