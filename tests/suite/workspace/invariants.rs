//! The dependency rules of the workspace, read from its metadata, and the tests that docs/unsafe.md names.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use cargo_metadata::{CargoOpt, DependencyKind, MetadataCommand};

/// The workspace dependencies of each crate: unconditional ones,
/// and optional ones.
struct Layers {
    always: BTreeMap<String, BTreeSet<String>>,
    optional: BTreeMap<String, BTreeSet<String>>,
}

fn layers() -> Layers {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .features(CargoOpt::AllFeatures)
        .no_deps()
        .exec()
        .expect("cargo metadata");
    let members: BTreeSet<String> = metadata.packages.iter().map(|p| p.name.to_string()).collect();
    let of = |optional: bool| {
        metadata
            .packages
            .iter()
            .map(|package| {
                let dependencies = package
                    .dependencies
                    .iter()
                    .filter(|d| d.kind == DependencyKind::Normal && d.optional == optional)
                    .filter(|d| members.contains(&d.name))
                    .map(|d| d.name.clone())
                    .collect();
                (package.name.to_string(), dependencies)
            })
            .collect()
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

/// The tests that `docs/unsafe.md` names exist.
#[test]
fn the_unsafe_table_names_existing_tests() {
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
    let table = std::fs::read_to_string(root.join("docs/unsafe.md")).expect("the table");
    let mut sources = String::new();
    collect(root, &mut sources);
    let names = table.split('`').skip(1).step_by(2).filter(|name| {
        name.matches('_').count() > 2
            && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
    });
    let mut count = 0;
    for name in names {
        count += 1;
        assert!(sources.contains(&format!("fn {name}(")), "there is no test `{name}`");
    }
    assert!(count > 80, "{count}");
}
