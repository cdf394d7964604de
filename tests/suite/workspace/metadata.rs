//! The packages of the workspace as `cargo metadata` prints them.

use std::process::Command;

use serde_json::Value;

pub(super) fn packages() -> Vec<Value> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--manifest-path", manifest]);
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let Value::Array(packages) = metadata["packages"].take() else { panic!("{metadata}") };
    packages
}

/// A text of a package or a dependency; empty if there is none.
pub(super) fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}

/// The elements of an array; none if there is no array.
pub(super) fn list<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}
