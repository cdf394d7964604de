//! The preprocessor of the book: relative links to files outside of it become links to the repository.

use std::{
    io::{self, Read, Write},
    path::{Component, Path, PathBuf},
};

use serde_json::Value;

use crate::shell::{TaskError, Workspace, at};

/// Where the book has its sources, from the root of the repository.
const SOURCES: &str = "docs/book/src";

/// Reads `[context, book]` from standard input and writes the book, as mdBook asks of preprocessors.
pub(crate) fn preprocess(workspace: &Workspace) -> Result<(), TaskError> {
    let mut text = String::new();
    let stdio = Path::new("standard input and output");
    io::stdin().read_to_string(&mut text).map_err(at(stdio))?;
    let message = |source| TaskError::Message { source };
    let [_context, mut book]: [Value; 2] = serde_json::from_str(&text).map_err(message)?;
    rewrite(workspace.root(), &mut book);
    io::stdout().write_all(book.to_string().as_bytes()).map_err(at(stdio))
}

/// Rewrites the contents of all chapters below a value.
fn rewrite(root: &Path, value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| rewrite(root, value)),
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if name == "content" => *text = with_urls(root, text),
                    value => rewrite(root, value),
                }
            }
        }
        _ => {}
    }
}

/// The text of a page with its links to files outside of the book rewritten.
fn with_urls(root: &Path, page: &str) -> String {
    let mut made = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, link)) = rest.split_once("](../") {
        let (target, after) = link.split_once(')').unwrap_or((link, ""));
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = normalized(&Path::new(SOURCES).join("..").join(path));
        let kind = if root.join(&path).is_dir() { "tree" } else { "blob" };
        let mark = if anchor.is_empty() { "" } else { "#" };
        let repository = env!("CARGO_PKG_REPOSITORY");
        made += before;
        made += &format!("]({repository}/{kind}/main/{}{mark}{anchor})", path.display());
        rest = after;
    }
    made + rest
}

/// The path without `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_become_urls_and_others_stay() {
        let workspace = Workspace::find();
        let page = "[a](../../configuration.md#simulator) [b](errors.md#x) [c](../../../tests/suite),\n[d](https://x.y)";
        let made = with_urls(workspace.root(), page);
        let repository = env!("CARGO_PKG_REPOSITORY");
        let expected = format!(
            "[a]({repository}/blob/main/docs/configuration.md#simulator) [b](errors.md#x) \
             [c]({repository}/tree/main/tests/suite),\n[d](https://x.y)"
        );
        assert_eq!(made, expected);
    }

    #[test]
    fn nested_chapters_are_rewritten() {
        let chapter = |text: &str, nested: Value| serde_json::json!({"Chapter": {"content": text, "sub_items": nested}});
        let mut book = serde_json::json!({
            "items": [chapter("[a](../../glossary.md)", serde_json::json!([chapter("[b](../../unsafe.md)", Value::Null)]))]
        });
        rewrite(Workspace::find().root(), &mut book);
        let text = book.to_string();
        assert!(text.contains("blob/main/docs/unsafe.md") && !text.contains("../"), "{text}");
    }
}
