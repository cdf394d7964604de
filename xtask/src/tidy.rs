//! The repository's own lints, which neither the formatter nor clippy has, over the text of every source file and every
//! Markdown file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::shell::{self, TaskError, Workspace, at};

/// The longest source file.
const MAX_LINES: usize = 800;

/// The longest line of prose: comments in sources, and Markdown outside of tables and code blocks.
const MAX_COLUMNS: usize = 120;

/// Folders without source of ours, with code that is wrong on purpose, or with code that a macro emits.
const LEFT_OUT: [&str; 5] = [".git", "target", "generated", "ui", "snapshots"];

/// Checks the text rules, the format and clippy; all of them, also after one has failed.
pub(crate) fn run(workspace: &Workspace) -> Result<(), TaskError> {
    let mut clippy = workspace.cargo(["clippy", "--workspace", "--all-targets", "--quiet"]);
    clippy.args(["--", "--deny", "warnings"]);
    let rules = rules(workspace.root());
    let format = shell::run(&mut workspace.cargo(["fmt", "--all", "--check"]));
    let clippy = shell::run(&mut clippy);
    rules.and(format).and(clippy)
}

fn rules(root: &Path) -> Result<(), TaskError> {
    let mut files = Vec::new();
    sources(root, &mut files)?;
    files.sort();
    let mut count = 0;
    for path in &files {
        let text = fs::read_to_string(path).map_err(at(path))?;
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        let is_markdown = name.ends_with(".md");
        let mut findings = if is_markdown { Vec::new() } else { check(&text) };
        findings.extend(if is_markdown { wide_markdown(&text) } else { wide_comments(&text) });
        for finding in findings {
            println!("{name}:{finding}");
            count += 1;
        }
    }
    println!("{} files, {count} findings", files.len());
    if count == 0 { Ok(()) } else { Err(TaskError::Tidy { count }) }
}

/// Lines of Markdown prose that are too long. Tables, code blocks and lines with links may be longer.
fn wide_markdown(text: &str) -> Vec<String> {
    let mut in_code = false;
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        let exempt = in_code || fence || line.trim_start().starts_with('|') || is_link(line);
        findings.extend(too_wide(index, line).filter(|_| !exempt));
    }
    findings
}

/// Lines of comments that are too long, unless they contain a link.
fn wide_comments(text: &str) -> Vec<String> {
    let comments = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        line.starts_with("//") && !line.contains("http") && !line.contains("| ")
    });
    comments.filter_map(|(index, line)| too_wide(index, line)).collect()
}

fn is_link(line: &str) -> bool {
    line.contains("http") || line.contains("](")
}

fn too_wide(index: usize, line: &str) -> Option<String> {
    let columns = line.chars().count();
    let number = index + 1;
    (columns > MAX_COLUMNS)
        .then(|| format!("{number}: prose of {columns} columns, over {MAX_COLUMNS}"))
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), TaskError> {
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !LEFT_OUT.contains(&&*name) && !name.starts_with("target-") {
                sources(&path, files)?;
            }
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            files.push(path);
        }
    }
    Ok(())
}

/// What is wrong with a file, each with its line.
fn check(text: &str) -> Vec<String> {
    // Put together here, so that this file does not break its own rules.
    let stubs = ["todo", "unimplemented"].map(|name| format!("{name}!("));
    let marks = [["#[ign", "ore"].concat(), ["allow(dead", "_code)"].concat()];
    let lines: Vec<&str> = text.lines().collect();
    let mut findings = Vec::new();
    // A crate's page may be its README.
    if !text.starts_with("//!") && !text.starts_with("#![doc = include_str!(") {
        findings.push("1: does not begin with `//!` and why it exists".to_owned());
    }
    if lines.len() > MAX_LINES {
        findings.push(format!("{MAX_LINES}: is {} lines long, over {MAX_LINES}", lines.len()));
    }
    for (index, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or(line);
        let number = index + 1;
        if stubs.iter().chain(&marks).any(|word| code.contains(word.as_str())) {
            findings.push(format!("{number}: is unfinished, ignored or dead"));
        }
        if opens_unsafe(code) && !argued(&lines[..index]) {
            findings.push(format!("{number}: `unsafe` without a `SAFETY:` comment above it"));
        }
    }
    findings
}

/// Whether the line opens an unsafe block or an unsafe impl, outside string literals.
fn opens_unsafe(code: &str) -> bool {
    let word = ["unsa", "fe"].concat();
    code.match_indices(&word).any(|(at, _)| {
        let rest = code[at + word.len()..].trim_start();
        let odd = |quote: char| code[..at].matches(quote).count() % 2 == 1;
        let quoted = odd('"') || odd('`');
        !quoted && (rest.starts_with('{') || rest.starts_with("impl"))
    })
}

/// Whether the comment directly above, or one at most three lines up, argues the obligation.
fn argued(before: &[&str]) -> bool {
    let near = before.iter().rev().take(3).any(|line| line.contains("SAFETY:"));
    let comment = before.iter().rev().skip_while(|line| !line.trim_start().starts_with("//"));
    let comment = comment.take_while(|line| line.trim_start().starts_with("//"));
    let gap = before.iter().rev().take_while(|line| !line.trim_start().starts_with("//")).count();
    near || (gap <= 3 && comment.into_iter().any(|line| line.contains("SAFETY:")))
}

#[cfg(test)]
mod tests {
    use super::{check, wide_comments, wide_markdown};

    #[test]
    fn a_clean_file_has_no_findings() {
        assert_eq!(
            check("#![doc = include_str!(\"../README.md\")]\nmod a;\n"),
            Vec::<String>::new()
        );
        let text = "//! Why.\n\nfn f(p: *const u8) -> u8 {\n    // SAFETY: the caller gives a valid pointer.\n    unsafe { *p }\n}\n";
        assert_eq!(check(text), Vec::<String>::new());
    }

    #[test]
    fn each_rule_finds_its_violation() {
        assert!(check("fn f() {}\n")[0].starts_with("1: does not begin"));
        let unargued = "//! Why.\nfn f(p: *const u8) -> u8 {\n    unsafe { *p }\n}\n";
        assert!(check(unargued)[0].starts_with("3: `unsafe`"));
        let stub = format!("//! Why.\nfn f() {{ {}!() }}\n", "todo");
        assert!(check(&stub)[0].starts_with("2: is unfinished"));
        let long = format!("//! Why.\n{}", "// line\n".repeat(800));
        assert!(check(&long)[0].contains("is 801 lines long"));
    }

    #[test]
    fn words_in_comments_and_string_literals_are_ignored() {
        let text = "//! Why.\n// unsafe { }\nconst S: &str = \"unsafe { x }, `unsafe {}`\";\n";
        assert_eq!(check(text), Vec::<String>::new());
    }

    #[test]
    fn wide_prose_is_found_and_tables_code_and_links_are_exempt() {
        let wide = "word ".repeat(30);
        assert!(wide_markdown(&format!("# Title\n{wide}\n"))[0].starts_with("2: prose of 150"));
        let exempt = format!("| {wide} |\n```\n{wide}\n```\n[a](b) {wide}\nhttps://x.y {wide}\n");
        assert_eq!(wide_markdown(&exempt), Vec::<String>::new());
        assert_eq!(
            wide_comments(&format!("//! Why.\n    // {wide}\nlet x = \"{wide}\";\n")).len(),
            1
        );
    }

    #[test]
    fn a_safety_comment_may_span_several_lines() {
        let text = "//! Why.\n// SAFETY: one\n// two\n// three\n// four\nlet x = call(\n    unsafe { y },\n);\n";
        assert_eq!(check(text), Vec::<String>::new());
    }
}
