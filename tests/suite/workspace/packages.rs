//! What every crate needs that is published, and that nothing else is. `cargo xtask package` packs and builds them.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::metadata::{list, packages, text};

fn is_public(package: &Value) -> bool {
    package["publish"].is_null()
}

#[test]
fn public_crates_have_their_metadata_and_licences() {
    for package in packages().iter().filter(|package| is_public(package)) {
        let name = text(package, "name");
        for key in ["description", "license", "repository", "readme", "rust_version"] {
            assert!(!text(package, key).is_empty(), "{name} has no {key}");
        }
        // The limits of crates.io.
        let keywords = list(package, "keywords");
        assert!((1..=5).contains(&keywords.len()), "{name}");
        assert!((1..=5).contains(&list(package, "categories").len()), "{name}");
        assert!(keywords.iter().all(|word| word.as_str().is_some_and(|w| w.len() <= 20)), "{name}");
        let folder = Path::new(text(package, "manifest_path")).parent().expect("a folder");
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(folder.join(file).is_file(), "{name} has no {file}");
        }
    }
}

/// Cargo refuses to publish dependencies without a version. It leaves out those of tests.
#[test]
fn public_crates_depend_on_public_crates() {
    let packages = packages();
    let public: BTreeSet<&str> = packages
        .iter()
        .filter(|package| is_public(package))
        .map(|package| text(package, "name"))
        .collect();
    assert!(public.len() > 10, "{public:?}");
    for package in packages.iter().filter(|package| is_public(package)) {
        let all = list(package, "dependencies").iter();
        for dependency in all.filter(|dependency| !dependency["path"].is_null()) {
            let name = text(dependency, "name");
            let has_version = text(dependency, "req") != "*";
            let is_left_out = dependency["kind"] == "dev" && !has_version;
            let is_published = public.contains(name) && has_version;
            assert!(is_left_out || is_published, "{} -> {name}", text(package, "name"));
        }
    }
}

#[test]
fn crates_for_the_repository_are_not_public() {
    let private =
        ["samples", "tests", "test-macros", "bench", "examples", "source-fuzz", "library-examples"];
    let private = private.map(|name| format!("quadrants-{name}"));
    for package in packages() {
        let name = text(&package, "name");
        let is_private = name == "xtask" || private.iter().any(|private| private == name);
        assert_eq!(is_private, !is_public(&package), "{name}");
    }
}
