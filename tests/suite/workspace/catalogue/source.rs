//! Reads error enums and examples from their sources.

use std::{
    fs,
    path::{Path, PathBuf},
};

use syn::{Attribute, Expr, Item, ItemEnum, Lit, LitStr, Meta, Visibility};

/// A variant of an enum: its doc comment, and what it prints if the enum says so in an attribute.
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) message: Option<String>,
}

/// The public enums in a folder that are errors, or classes and reasons of errors, by their names. The rules of the
/// kernel language are not among them: `tests/ui` has their messages.
pub(super) fn error_enums(root: &Path, folder: PathBuf) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(root.join(&folder))
        .expect("the folder is readable")
        .map(|entry| folder.join(entry.expect("an entry").file_name()))
        .collect();
    entries.sort();
    for path in entries {
        if root.join(&path).is_dir() {
            found.extend(error_enums(root, path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.to_str().expect("names are UTF-8");
            let enums = enums(&root.join(&path)).into_iter().filter(is_error);
            found.extend(enums.map(|item| (name.to_owned(), item.ident.to_string())));
        }
    }
    found
}

fn enums(path: &Path) -> Vec<ItemEnum> {
    let text = fs::read_to_string(path).expect("the file is readable");
    // Parsing is slow in debug builds.
    if !text.contains("pub enum ") {
        return Vec::new();
    }
    let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let enums = file.items.into_iter().filter_map(|item| match item {
        Item::Enum(item) => Some(item),
        _ => None,
    });
    enums.collect()
}

fn is_error(item: &ItemEnum) -> bool {
    let name = item.ident.to_string();
    let ends = ["Error", "ErrorKind", "ErrorCause", "Reason", "Problem", "Failure", "Rejection"];
    matches!(item.vis, Visibility::Public(_)) && ends.iter().any(|end| name.ends_with(end))
}

/// The variants of an enum of a file, in their order.
pub(super) fn variants(path: &Path, ident: &str) -> Vec<Variant> {
    let item = enums(path).into_iter().find(|item| item.ident == ident);
    let item = item.unwrap_or_else(|| panic!("{} has no enum {ident}", path.display()));
    let variant = |variant: &syn::Variant| Variant {
        name: variant.ident.to_string(),
        doc: without_links(&doc(&variant.attrs)),
        message: variant.attrs.iter().find_map(message),
    };
    item.variants.iter().map(variant).collect()
}

/// A doc comment as one line.
fn doc(attrs: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("doc")) {
        let Meta::NameValue(value) = &attr.meta else { continue };
        let Expr::Lit(literal) = &value.value else { continue };
        let Lit::Str(line) = &literal.lit else { continue };
        lines.push(line.value().trim().to_owned());
    }
    lines.join(" ")
}

/// The text of `#[error("…")]`, with `…` for what has no name.
fn message(attr: &Attribute) -> Option<String> {
    let list = attr.meta.require_list().ok().filter(|_| attr.path().is_ident("error"))?;
    let first = list.tokens.clone().into_iter().next()?;
    let text = syn::parse_str::<LitStr>(&first.to_string()).ok()?.value();
    let text = text.replace("{{", "{").replace("}}", "}").replace("{}", "…").replace("{0}", "…");
    Some(text.replace("……", "…").replace(":?}", "}").replace(":#x}", "}"))
}

/// A doc comment without the targets of its links.
fn without_links(doc: &str) -> String {
    let mut text = String::new();
    let mut rest = doc;
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((name, after)) = after.split_once("`]") else { break };
        text += &format!("{before}`{name}`");
        rest = match after.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    text + rest
}

/// The lines of an example's body.
pub(super) fn body(name: &str) -> String {
    let text = include_str!("examples.rs");
    let start = format!("\npub(super) fn {name}() -> qd::Result<()> {{\n");
    let (_, rest) = text.split_once(&*start).unwrap_or_else(|| panic!("no example `{name}`"));
    let (body, _) = rest.split_once("\n}\n").expect("a function ends");
    body.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect()
}
