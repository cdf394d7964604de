//! The dependency rules of the workspace, read from its metadata, and the tests that docs/unsafe.md
//! and SECURITY.md name.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::metadata::{list, packages, text};

/// The workspace dependencies of each crate: unconditional ones,
/// and optional ones.
struct Layers {
    always: BTreeMap<String, BTreeSet<String>>,
    optional: BTreeMap<String, BTreeSet<String>>,
}

fn layers() -> Layers {
    let packages = packages();
    let members: BTreeSet<&str> = packages.iter().map(|package| text(package, "name")).collect();
    let of = |optional: bool| {
        let dependencies = |package| {
            let all = list(package, "dependencies").iter();
            // The kind of those that are for neither tests nor build scripts is null.
            let normal = all.filter(|d| d["kind"].is_null() && d["optional"] == optional);
            let own = normal.map(|d| text(d, "name")).filter(|name| members.contains(name));
            (text(package, "name").to_owned(), own.map(str::to_owned).collect())
        };
        packages.iter().map(dependencies).collect()
    };
    Layers { always: of(false), optional: of(true) }
}

const BACKENDS: [&str; 3] = ["quadrants-rhi-cuda", "quadrants-rhi-amdgpu", "quadrants-rhi-cpu"];

#[test]
fn rhi_and_xtask_depend_on_no_workspace_crate() {
    let layers = layers();
    for name in ["quadrants-rhi", "xtask"] {
        assert!(layers.always[name].is_empty(), "{name}: {:?}", layers.always[name]);
        assert!(layers.optional[name].is_empty(), "{name}: {:?}", layers.optional[name]);
    }
}

#[test]
fn backends_depend_on_rhi_only() {
    let layers = layers();
    for backend in BACKENDS {
        let always: Vec<_> = layers.always[backend].iter().map(String::as_str).collect();
        assert_eq!(always, ["quadrants-rhi"], "{backend}");
        for optional in &layers.optional[backend] {
            assert!(!BACKENDS.contains(&optional.as_str()), "{backend} -> {optional}");
        }
    }
}

#[test]
fn only_the_facade_tests_and_bench_depend_on_backends() {
    let layers = layers();
    let knowing: BTreeSet<&str> = layers
        .always
        .iter()
        .chain(&layers.optional)
        .filter(|(_, dependencies)| dependencies.iter().any(|d| BACKENDS.contains(&d.as_str())))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(knowing, BTreeSet::from(["quadrants", "quadrants-bench", "quadrants-tests"]));
}

#[test]
fn workspace_dependencies_match_the_architecture() {
    let layers = layers();
    let expected: &[(&str, &[&str])] = &[
        ("quadrants-ir", &[]),
        ("quadrants-source-hash", &[]),
        ("quadrants-samples", &["quadrants-ir"]),
        ("quadrants-codegen", &["quadrants-ir"]),
        ("quadrants-runtime", &["quadrants-rhi"]),
        (
            "quadrants-program",
            &["quadrants-codegen", "quadrants-ir", "quadrants-rhi", "quadrants-runtime"],
        ),
        ("quadrants-collectives", &["quadrants-program"]),
        ("quadrants-frontend", &["quadrants-ir"]),
        ("quadrants-macros", &["quadrants-frontend"]),
        ("quadrants-driver-sim", &["quadrants-ir"]),
        ("quadrants-conformance", &["quadrants-rhi"]),
    ];
    for (name, dependencies) in expected {
        let found: Vec<&str> = layers.always[*name].iter().map(String::as_str).collect();
        assert_eq!(found, *dependencies, "{name}");
    }
}

#[test]
fn only_tests_depend_on_samples() {
    let layers = layers();
    let all = layers.always.iter().chain(&layers.optional);
    let users = all.filter(|(_, of)| of.contains("quadrants-samples")).map(|(user, _)| user);
    let users: Vec<_> = users.filter(|user| **user != "quadrants-tests").collect();
    assert!(users.is_empty(), "{users:?}");
}

/// The tests that `docs/unsafe.md` and `SECURITY.md` name exist.
#[test]
fn the_unsafe_and_security_tables_name_existing_tests() {
    fn collect(folder: &Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                collect(&path, text);
            } else if name.ends_with(".rs") {
                *text += &std::fs::read_to_string(&path).expect("a source");
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let mut sources = String::new();
    collect(root, &mut sources);
    for (file, least) in [("docs/unsafe.md", 80), ("SECURITY.md", 10)] {
        let table = std::fs::read_to_string(root.join(file)).expect("the table");
        let names = table.split('`').skip(1).step_by(2).filter(|name| {
            name.matches('_').count() > 2
                && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
        });
        let mut count = 0;
        for name in names {
            count += 1;
            let exists = sources.contains(&format!("fn {name}("));
            assert!(exists, "{file}: there is no test `{name}`");
        }
        assert!(count > least, "{file}: {count}");
    }
}

/// A method of the trait `Device` with a default body would otherwise be missing in a device that passes calls on.
#[test]
fn the_recording_device_passes_every_call_on() {
    let read = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let methods = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().filter_map(|line| {
            let line = line.strip_prefix("    ")?;
            let rest = line.strip_prefix("unsafe fn ").or(line.strip_prefix("fn "))?;
            rest.split('(').next().map(str::to_owned)
        });
        lines.collect()
    };
    let contract = read("rhi/src/device.rs");
    let begin = contract.find("trait Device").expect("the trait");
    let end = begin + contract[begin..].find("\n}\n").expect("its end");
    let (wanted, found) =
        (methods(&contract[begin..end]), methods(&read("program/src/profile/device.rs")));
    assert!(wanted.len() > 30, "{wanted:?}");
    let missing: Vec<_> = wanted.difference(&found).collect();
    assert!(missing.is_empty(), "program/src/profile/device.rs lacks {missing:?}");
}
